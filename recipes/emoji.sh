#!/usr/bin/env bash
# The built-in model: a codec and a prior on the built-in pictures in the style 3d, 64×64, and their figures.
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
# The set is small, and the training bound ran ahead of the held-out one: on with pictures that are also moved.
prior+=(--images.shift 2 --optim.warmup 200)
long=(--loop.steps 4200 --optim.cooldown 1800 --loop.validate-every 500)
train prior "$out/prior-moved" "${prior[@]}" "${long[@]}" --init "$out/prior-start/best"
train prior "$out/prior-longer" "${prior[@]}" "${long[@]}" --init "$out/prior-moved/best"
# Once more, for the pictures: the bound does not improve any further. The last validation is a fine one: its curve is
# what --schedule optimal plans with.
train prior "$out/prior" "${prior[@]}" --loop.steps 3000 --optim.cooldown 1400 --init "$out/prior-longer/best" \
    --diffusion.validation-draws 64 --loop.validate-every 3000
unmask export "$out/prior/best" --to half --out "$out/model"

unmask sample "$out/model" --count 64 --steps 64 --schedule optimal --remask 1 --temperature 0.9 --out "$out/samples" --grid "$out/samples.png"
unmask neighbours "$out/model" emoji-3d --pictures "$out/samples" --out "$out/neighbours.png"
"$(dirname "$0")/results.sh" "$out/model" emoji-3d
