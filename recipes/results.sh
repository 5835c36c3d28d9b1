#!/usr/bin/env bash
# The metrics of a model, each below the command that gives it: runs/results/results.md.
#
#   recipes/results.sh MODEL [DATA]          DATA is emoji-3d unless named
#   COUNT=5000 recipes/results.sh MODEL      samples for each temperature, 3000 unless said
#
# After a stop, run the same command again to continue: samples and features that are there are kept.
set -euo pipefail

model=$1
data=${2:-emoji-3d}
count=${COUNT:-3000}
out=runs/results

run() {
    printf '\n```\n$ unmask %s\n' "$*"
    unmask "$@"
    printf '```\n'
}

mkdir -p "$out"
{
    printf '# Results\n\nOf the model `%s` on `%s`. Made by `COUNT=%s recipes/results.sh %s %s`. ' \
        "$model" "$data" "$count" "$model" "$data"
    printf 'What the metrics mean, and when they compare: [evaluation](evaluation.md).\n'
    printf '\n## Likelihood of validation images\n'
    run score "$model" "$data" --pixels
    run score "$model" "$data" --pixels --bits 5
    printf '\n## Reconstructions of validation images\n'
    run reconstruct "$model" "$data" --out "$out/reconstructions.png"
    run evaluate "$model" "$data" --what reconstructions --out "$out/reconstructions"
    printf '\n## Validation images themselves: what samples could reach\n'
    run evaluate "$model" "$data" --what validation --out "$out/validation"
    printf '\n## Samples by temperature\n'
    run evaluate "$model" "$data" --count "$count" --metrics fid,kid,prdc,diversity \
        --settings paper --steps 12 --schedule optimal --temperature 0.7,0.9,1.1 --out "$out/temperature"
    printf '\n## Samples with and without remasking\n'
    run evaluate "$model" "$data" --count 400 --metrics fid,kid,prdc,diversity \
        --settings paper --steps 64 --schedule optimal --temperature 0.8,0.9,1 --remask 0,1 --out "$out/remasking"
    printf '\n## Samples by steps\n'
    run evaluate "$model" "$data" --count 200 --metrics fid,kid,prdc \
        --settings paper --steps 8,12,24 --schedule optimal --temperature 0.9 --out "$out/steps"
} > "$out/results.md"
echo "$out/results.md"
