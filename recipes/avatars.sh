#!/usr/bin/env bash
# The built-in model avatars: a codec and a captioned prior on 20,000 drawn portraits of 64×64, and their metrics.
#
#   recipes/avatars.sh PORTRAITS [OUT]       OUT is runs/avatars unless named
#
# PORTRAITS is a folder made by  uv run tools/fetch_avatars.py PORTRAITS. Minutes of one core with bfloat16: the codec 9,
# encoding 4, the prior 160, the decoder 20. After a stop, run it again to continue.
source "$(dirname "$0")/common.sh"
portraits=$1 out=${2:-runs/avatars}

unmask weights get lpips-vgg
unmask weights get inception
unmask weights get lpips-alex

# The emoji's codec knows edges and colours already. Hair that parts to the left is not mirrored: styles look one way.
train codec "$out/codec" "$portraits" --init emoji --images.no-flip --loop.steps 450 --optim.lr 4e-4 --optim.warmup 30 \
    --optim.cooldown 150 --loop.validate-every 450
unmask export "$out/codec/best" --to half --out "$out/codec-half"
unmask encode "$out/codec-half" "$portraits" --images.no-flip --out "$out/avatars.codes"
# The prior, in two runs: the second begins with the weights of the first, and lets the learning rate fall.
prior=("$out/codec-half" "$out/avatars.codes" --prior.dropout 0.05 --diffusion.loss mlm --diffusion.times cosine
    --optim.kind muon --optim.lr 2e-3 --optim.batch 32 --optim.warmup 60 --optim.ema-decay 0.995
    --diffusion.validation-draws 1)
train prior "$out/prior-start" "${prior[@]}" --prior.width 256 --prior.heads 8 --prior.merge 2 --optim.cooldown 0 \
    --loop.steps 1200 --loop.validate-every 400
unmask export "$out/prior-start/best" --to half --out "$out/start-half"
train prior "$out/prior" "${prior[@]}" --init "$out/start-half" --optim.cooldown 2300 --loop.steps 6400 \
    --loop.validate-every 800
# A sharper decoder, against a discriminator. Encoder and codebook stay, so codes and the prior do too.
train codec "$out/decoder" "$portraits" --init "$out/prior/best" --train decoder --images.no-flip \
    --loss.adversarial hinge --loss.adversarial-start 200 --loss.adaptive-max 0.3 --loss.discriminator-width 32 \
    --optim.batch 8 --optim.lr 3e-4 --optim.warmup 40 --optim.cooldown 400 --loop.steps 750 --loop.validate-every 750
unmask export "$out/decoder/last" --to half --out "$out/model"

unmask sample "$out/model" --count 48 --out "$out/samples" --grid "$out/samples.png"
unmask evaluate "$out/model" "$portraits" --count 400 --split validation --metrics fid,kid,prdc,diversity \
    --out "$out/evaluation"
unmask retrieve "$out/model" "$portraits" --count 100 --samples 1 --out "$out/retrieval"
unmask neighbours "$out/model" "$portraits" --pictures "$out/samples" --by pixels --out "$out/neighbours.png"
