#!/usr/bin/env bash
# Fashion-MNIST: one model with its ten labels, one without, one with 64 groups of similar images; their metrics.
#
#   apt-get install dataset-fashion-mnist
#   recipes/fashion.sh [OUT [DATA]]          OUT is runs/fashion unless named, DATA where Debian puts the set
#
# Minutes of one core: the codec 8, the priors 7, 4 and 8, metrics an estimated 30. After a stop, run it again to continue.
# What came of it: docs/results.md.
source "$(dirname "$0")/common.sh"
out=${1:-runs/fashion}
pictures=${2:-/usr/share/datasets/fashion-mnist}/train-images-idx3-ubyte.gz
count=${COUNT:-500}

unmask weights get lpips-vgg
unmask weights get inception

# Clothes are photographed from one side: no mirror images.
train codec "$out/codec" "$pictures" --preset emoji --images.size 32 --images.no-flip \
    --codec.width 32 --codec.multipliers 1 2 4 --codec.quantizer.codebook-size 256 --optim.batch 16 --optim.lr 6e-4 \
    --optim.warmup 64 --optim.cooldown 300 --loop.steps 900 --loop.validate-every 900
# Of the images held out from the codec 1,200 are enough for metrics.
prior=("$out/codec/best" "$pictures" --preset emoji --images.no-flip --images.validation 0.02 --loss mlm
    --prior.width 128 --prior.depth 4 --prior.heads 2 --prior.dropout 0 --diffusion.validation-draws 2
    --optim.batch 64 --optim.lr 2e-3 --optim.warmup 60 --optim.cooldown 400 --loop.steps 1200 --loop.validate-every 1200)
train prior "$out/prior" "${prior[@]}"
train prior "$out/prior-plain" "${prior[@]}" --images.captions none
# By the codec's latents: Inception, which is not in this folder, would take two hours of a core for 60,000 images.
UNMASK_CACHE="$out/cache" train prior "$out/prior-clusters" "${prior[@]}" --images.captions clusters:64

# What the prior itself knows of labels, by both of its conditionals.
unmask classify "$out/prior" "$pictures" --csv "$out/classified.csv"
unmask classify "$out/prior" "$pictures" --by picture --count 200 --draws 8
# Samples with captions as frequent as in the training; guidance 0 is the same model without them.
evaluate=("$pictures" --split validation --settings paper --steps 16 --count "$count")
unmask evaluate "$out/prior" "${evaluate[@]}" --guidance 0,1,2,3,5 --by-label --out "$out/guidance"
unmask evaluate "$out/prior-plain" "${evaluate[@]}" --out "$out/plain"
unmask evaluate "$out/prior-clusters" "${evaluate[@]}" --guidance 0,1,2,3 --out "$out/clusters"
# Judged by a small classifier, with a sheet by label of each guidance beside the samples.
python "$(dirname "$0")/../tools/judge_samples.py" "$out/prior" "$pictures" "$out/classifier.safetensors" \
    "$out"/guidance/samples/*/
