#!/usr/bin/env bash
# Fashion-MNIST: one model with its ten labels, one without, one with 64 groups of similar pictures; their metrics.
#
#   apt-get install dataset-fashion-mnist
#   recipes/fashion.sh [OUT [DATA]]          OUT is runs/fashion unless named, DATA where Debian puts the set
#
# Some 4 minutes of one core for each training; the comparisons were not timed. After a stop, run it again to
# continue. What came of it: docs/results.md.
source "$(dirname "$0")/common.sh"
out=${1:-runs/fashion}
data=${2:-/usr/share/datasets/fashion-mnist}
count=${COUNT:-256}
# The 10,000 test pictures, of which 9,500 are trained on: enough for a study of minutes.
pictures=$data/t10k-images-idx3-ubyte.gz

unmask weights get lpips-vgg
unmask weights get inception

# Clothes are photographed from one side: no mirror images.
train codec "$out/codec" "$pictures" --preset emoji --images.size 32 --images.no-flip \
    --codec.width 32 --codec.quantizer.codebook-size 256 --optim.batch 16 --optim.lr 6e-4 --optim.warmup 64 \
    --optim.cooldown 150 --loop.steps 450 --loop.validate-every 450
prior=("$out/codec/best" "$pictures" --preset emoji --images.no-flip --engine.precision 32
    --prior.width 128 --prior.depth 4 --prior.heads 4 --prior.dropout 0 --diffusion.validation-draws 4
    --optim.batch 64 --optim.lr 2e-3 --optim.warmup 50 --optim.cooldown 200 --loop.steps 600 --loop.validate-every 600)
train prior "$out/prior" "${prior[@]}"
train prior "$out/prior-plain" "${prior[@]}" --images.captions none
# By the codec's latents, since Inception, which is not in this folder, takes ten minutes for so many pictures.
UNMASK_CACHE="$out/cache" train prior "$out/prior-clusters" "${prior[@]}" --images.captions clusters:64

# What the prior itself knows of labels, by both of its conditionals.
unmask classify "$out/prior" "$pictures" --csv "$out/classified.csv"
unmask classify "$out/prior" "$pictures" --by picture --count 200 --draws 8
# Samples with labels as frequent as in the training; guidance 0 is the same model told nothing.
evaluate=("$pictures" --split validation --settings paper --steps 16 --count "$count")
unmask evaluate "$out/prior" "${evaluate[@]}" --guidance 0,1,2,3,5 --out "$out/guidance"
unmask evaluate "$out/prior-plain" "${evaluate[@]}" --out "$out/plain"
unmask evaluate "$out/prior-clusters" "${evaluate[@]}" --guidance 0,1,2,3,5 --out "$out/clusters"
unmask sample "$out/prior" --settings paper --guidance 2 --count 64 --grid "$out/samples.png" --out "$out/samples"
python "$(dirname "$0")/../tools/judge_samples.py" "$out/prior" "$pictures" "$out/classifier.safetensors" \
    "$out"/guidance/samples/*
