#!/usr/bin/env bash
# The built-in model fruit: a codec and a captioned prior on 1,393 photographs of fruit, in random crops of 64×64, and a wide canvas.
#
#   recipes/fruit.sh PHOTOS [OUT]            OUT is runs/fruit unless named
#
# PHOTOS is a folder made by  uv run tools/fetch_fruit.py PHOTOS. After a stop, run it again to continue.
source "$(dirname "$0")/common.sh"
photos=$1 out=${2:-runs/fruit}

unmask weights get lpips-vgg

# The emoji's codec knows edges and colours already: a few hundred steps teach it photographs.
train codec "$out/codec" "$photos" --init emoji --images.crop random --images.scale 1.5 2.5 --loop.steps 320 \
    --optim.lr 4e-4 --optim.warmup 30 --optim.cooldown 110 --loop.validate-every 320
unmask export "$out/codec/best" --to half --out "$out/codec-half"
train prior "$out/prior" "$out/codec-half" "$photos" --images.crops 10 --images.no-flip --prior.dropout 0.05 \
    --diffusion.loss mlm --diffusion.times cosine --optim.kind muon --optim.lr 2e-3 --optim.batch 32 --optim.warmup 60 \
    --optim.cooldown 900 --optim.ema-decay 0.995 --loop.steps 3300 --loop.validate-every 1100
unmask export "$out/prior/best" --to half --out "$out/model"

unmask sample "$out/model" --count 16 --steps 48 --schedule cosine --temperature 0.85 --remask 1 --guidance 1 \
    --out "$out/samples" --grid "$out/samples.png"
unmask canvas "$out/model" --size 512x128 --steps 32 --schedule cosine --temperature 0.85 --remask 1 --out "$out/canvas.png"
