#!/usr/bin/env bash
# The built-in model: a codec and a captioned prior of the built-in images, 64×64, and their metrics. The prior
# begins with the style 3d, learns captions from all six styles, and ends with 3d again.
#
#   recipes/emoji.sh [OUT]                   OUT is runs/emoji unless named
#
# Hours on two cores: recipes/README.md. After a stop, run it again to continue.
source "$(dirname "$0")/common.sh"
out=${1:-runs/emoji}

# For the codec's loss, for FID, for neighbours: fetched once, known by their checksums.
unmask weights get lpips-vgg
unmask weights get inception
unmask weights get lpips-alex

# In float32, as what is shipped was trained; without this, CPUs that have bfloat16 take it and less time.
preset=(--preset emoji --engine.precision 32)
train codec "$out/codec" emoji-3d "${preset[@]}" --optim.cooldown 450
# Half the size; the prior then learns the codes of the very codec that is shipped.
unmask export "$out/codec/best" --to half --out "$out/codec-half"
prior=("$out/codec-half" emoji-3d "${preset[@]}")
train prior "$out/prior-start" "${prior[@]}" --loop.steps 3200 --optim.cooldown 1000 --optim.warmup 300 \
    --loop.validate-every 500
# The set is small, and the training bound ran ahead of the held-out one: on with images that are also moved.
prior+=(--images.shift 2 --optim.warmup 200)
long=(--loop.steps 4200 --optim.cooldown 1800 --loop.validate-every 500)
train prior "$out/prior-moved" "${prior[@]}" "${long[@]}" --init "$out/prior-start/best"
train prior "$out/prior-longer" "${prior[@]}" "${long[@]}" --init "$out/prior-moved/best"
# Once more, for the images: the bound does not improve any further.
train prior "$out/prior" "${prior[@]}" --loop.steps 3000 --optim.cooldown 1400 --init "$out/prior-longer/best" \
    --diffusion.validation-draws 64 --loop.validate-every 3000

# A decoder for all six styles, against a discriminator. Encoder and codebook stay, so codes and the prior do too.
train codec "$out/sharp" emoji --init "$out/prior/best" --train decoder --preset emoji --loss.adversarial hinge \
    --loss.adversarial-start 100 --loss.adaptive-max 0.3 --loss.discriminator-width 32 --optim.batch 8 \
    --optim.lr 2e-4 --optim.warmup 40 --optim.cooldown 500 --loop.steps 1700
unmask export "$out/sharp/best" --to half --out "$out/sharp-half"

# Captions, from all six styles; then the style 3d again, whose images are moved.
words=(--preset emoji --loss mlm --diffusion.times cosine --optim.batch 32 --optim.lr 6e-4)
unmask encode "$out/sharp-half" emoji --out "$out/emoji.codes"
train prior "$out/words" "$out/sharp-half" "$out/emoji.codes" --init "$out/sharp-half" "${words[@]}" \
    --optim.warmup 60 --optim.cooldown 0 --loop.steps 3000 --diffusion.validation-draws 1
unmask encode "$out/sharp-half" emoji-3d --images.shift 2 --out "$out/3d.codes"
train prior "$out/words-3d" "$out/sharp-half" "$out/3d.codes" --init "$out/words/last" "${words[@]}" \
    --optim.warmup 100 --optim.cooldown 900 --optim.ema-decay 0.98 --loop.steps 2150 --diffusion.validation-draws 2
unmask export "$out/words-3d/best" --to half --out "$out/model"

unmask sample "$out/model" --count 64 --out "$out/samples" --grid "$out/samples.png"
unmask neighbours "$out/model" emoji-3d --pictures "$out/samples" --out "$out/neighbours.png"
"$(dirname "$0")/results.sh" "$out/model" emoji-3d
