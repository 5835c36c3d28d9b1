#!/usr/bin/env bash
# The built-in model avatars: a codec and a captioned prior on 20,000 drawn portraits of 64×64, and their figures.
#
#   recipes/avatars.sh PORTRAITS [OUT]       OUT is runs/avatars unless named
#
# PORTRAITS is a folder made by  uv run tools/fetch_avatars.py PORTRAITS. After a stop, run it again to continue.
source "$(dirname "$0")/common.sh"
portraits=$1 out=${2:-runs/avatars}

unmask weights get lpips-vgg
unmask weights get inception

# The emoji's codec knows edges and colours already. Hair that parts to the left is not mirrored: styles look one way.
train codec "$out/codec" "$portraits" --init emoji --images.no-flip --loop.steps 450 --optim.lr 4e-4 --optim.warmup 30 \
    --optim.cooldown 150 --loop.validate-every 450
unmask export "$out/codec/best" --to half --out "$out/codec-half"
unmask encode "$out/codec-half" "$portraits" --images.no-flip --out "$out/avatars.codes"
train prior "$out/prior" "$out/codec-half" "$out/avatars.codes" --prior.width 256 --prior.heads 8 --prior.merge 2 \
    --prior.dropout 0.05 --diffusion.loss mlm --diffusion.times cosine --optim.kind muon --optim.lr 2e-3 \
    --optim.batch 32 --optim.warmup 60 --optim.cooldown 800 --optim.ema-decay 0.995 --loop.steps 4000 \
    --loop.validate-every 500 --diffusion.validation-draws 1
unmask export "$out/prior/best" --to half --out "$out/model"

unmask sample "$out/model" --count 48 --out "$out/samples" --grid "$out/samples.png"
unmask evaluate "$out/model" "$portraits" --count 400 --metrics fid,kid,prdc,diversity --out "$out/evaluation"
unmask retrieve "$out/model" "$portraits" --split validation --count 100 --samples 1 --out "$out/retrieval"
