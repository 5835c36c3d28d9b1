#!/usr/bin/env bash
# The paper's models at its scale, 256×256: LSUN Churches, LSUN Bedroom, FFHQ.
#
#   recipes/paper.sh churches data/church_outdoor_train_lmdb [OUT]
#   recipes/paper.sh bedrooms data/bedroom_train_lmdb        OUT is runs/NAME unless named
#   recipes/paper.sh ffhq data/ffhq-256                      a folder of the 70,000 aligned faces
#   GPUS=8 recipes/paper.sh churches …                       eight on one machine
#
# On one GPU these are the paper's settings. On several every GPU has the paper's batch, and steps and learning
# rates change as said below; that has not been tried. Time, memory, data: recipes/README.md.
# After a stop, run the same command again to continue.
source "$(dirname "$0")/common.sh"
name=$1
data=$2
out=${3:-runs/$name}

# Steps of codec and prior, warm-up of the prior and its learning rate; steps between looks at held-out images.
look=5000
case $name in
    churches) codec_steps=2200000 prior_steps=2000000 warmup=10000 lr=2e-4 ;;
    bedrooms) codec_steps=2200000 prior_steps=2000000 warmup=10000 lr=2e-4 look=$((100000 / gpus)) ;; # 150,000 are held out
    ffhq) codec_steps=1400000 prior_steps=2000000 warmup=30000 lr=1e-4 ;;
    *)
        echo "there is no recipe $name; there are churches, bedrooms and ffhq" >&2
        exit 2
        ;;
esac

codec=(--loop.validate-every "$look")
prior=(--loop.validate-every "$look")
if [ "$gpus" -gt 1 ]; then
    # As many images in all: steps, warm-up and the discriminator's start are divided by the number of GPUs. The
    # codec's learning rate is the paper's 4.5e-6 times the batch. The prior's grows by the square root only.
    codec+=(
        --loop.steps $((codec_steps / gpus)) --loss.adversarial-start $((30001 / gpus))
        --optim.lr "$(python3 -c "print(1.8e-5 * $gpus)")"
    )
    prior+=(
        --loop.steps $((prior_steps / gpus)) --optim.warmup $((warmup / gpus))
        --optim.lr "$(python3 -c "print($lr * $gpus ** 0.5)")"
    )
fi

unmask weights get lpips-vgg
unmask weights get inception

train codec "$out/codec" "$data" --preset "$name" "${codec[@]}"
many encode "$out/codec/best" "$data" --out "$out/$name.codes"
train prior "$out/prior" "$out/codec/best" "$out/$name.codes" --preset "$name" "${prior[@]}"

# The paper's metrics: bits per code, FID at temperatures 1 and 0.9 in 256 steps, at 1 in 50, PRDC, neighbours.
many score "$out/prior/best" "$data" --steps 256 --csv "$out/bits.csv"
many evaluate "$out/prior/best" "$data" --what reconstructions --out "$out/evaluation-codec"
many evaluate "$out/prior/best" "$data" --count 50000 --batch 64 --settings paper --steps all,50 \
    --temperature 0.9,1 --out "$out/evaluation"
many neighbours "$out/prior/best" "$data" --by inception --settings paper --temperature 0.9 \
    --out "$out/neighbours.png"
