#!/usr/bin/env bash
# Every training of docs/experiments.md: one small prior on the emoji codes, one thing changed at a time.
#
#   recipes/experiments.sh [CODEC]
#
# About 40 minutes on two quiet cores. Say it again after a stop: finished runs are passed over, others resumed.
set -euo pipefail

codec=${1:-runs/codec-emoji/best}
out=runs/experiments
plain=(
    --preset emoji
    --prior.width 128 --prior.depth 4 --prior.heads 4 --prior.dropout 0 --prior.init torch
    --diffusion.no-stratified --diffusion.validation-draws 4
    --optim.batch 16 --optim.lr 1e-3 --optim.warmup 50 --optim.cooldown 0
    --loop.steps 600 --loop.log-every 50 --loop.validate-every 100 --loop.save-every 100
)

run() {
    local name=$1
    shift
    if [ -e "$out/$name/config.json" ]; then
        unmask train prior --resume "$out/$name"
    else
        unmask train prior "$codec" emoji "${plain[@]}" "$@" --out "$out/$name"
    fi
}

run reweighted
run elbo --loss elbo
run mlm --loss mlm
run autoregressive --kind autoregressive
run gpt2-init --prior.init gpt2
run stratified --diffusion.stratified
run rotary --prior.positions rotary
run qk-norm --prior.qk-norm
run label-smoothing --diffusion.label-smoothing 0.1
run dropout --prior.dropout 0.1
