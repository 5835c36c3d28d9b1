#!/usr/bin/env bash
# docs/results.md: every figure of a model, each below the command that gives it.
#
#   recipes/results.sh MODEL [DATA]          DATA is emoji unless named
#   COUNT=5000 recipes/results.sh MODEL      samples for each setting, 1000 unless said
#
# Say it again after a stop: samples and features that are there are not computed again.
set -euo pipefail

model=$1
data=${2:-emoji}
count=${COUNT:-1000}
out=runs/results
page=docs/results.md

run() {
    printf '\n```\n$ unmask %s\n' "$*"
    unmask "$@"
    printf '```\n'
}

mkdir -p "$out"
{
    printf '# Results\n\nOf the model `%s` on `%s`. Made by `COUNT=%s recipes/results.sh %s %s`. ' \
        "$model" "$data" "$count" "$model" "$data"
    printf 'What the figures mean, and when they compare: [evaluation](evaluation.md).\n'
    printf '\n## Likelihood of held-out pictures\n'
    run score "$model" "$data" --draws 64 --pixels
    run score "$model" "$data" --draws 64 --pixels --bits 5
    printf '\n## Reconstructions of held-out pictures\n'
    run reconstruct "$model" "$data" --out "$out/reconstructions.png"
    run evaluate "$model" "$data" --what reconstructions --out "$out/reconstructions"
    printf '\n## Samples by steps and temperature\n'
    run evaluate "$model" "$data" --count "$count" --metrics fid,kid,prdc \
        --steps 16,50,all --temperature 0.8,0.9,1 --out "$out/steps"
    printf '\n## Diversity by temperature\n'
    run evaluate "$model" "$data" --count "$count" --metrics prdc,diversity \
        --steps 50 --temperature 0.5,0.7,0.8,0.9,1 --out "$out/diversity"
    printf '\n## Nearest training pictures\n'
    run neighbours "$model" "$data" --samples 64 --steps 50 --temperature 0.9 --out "$out/neighbours.png"
} > "$out/results.md"
mv "$out/results.md" "$page"
echo "$page"
