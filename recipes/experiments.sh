#!/usr/bin/env bash
# The trainings of docs/experiments.md: one small prior on the emoji codes, with changes one by one and together.
#
#   recipes/experiments.sh CODEC [NAME ...]        all of them, or those that are named
#
# A run takes about four minutes on a quiet core. After a stop, run the same command again to continue.
source "$(dirname "$0")/common.sh"

codec=$1
shift
wanted=" $* "
out=runs/experiments
# The paper's prior, but smaller: what the preset has beyond the paper is switched off.
plain=(
    --preset emoji --engine.threads 1 --engine.precision 32 --images.shift 0
    --prior.width 128 --prior.depth 4 --prior.heads 4
    --prior.positions learned --prior.init torch --prior.dropout 0
    --diffusion.no-stratified --diffusion.validation-draws 4
    --optim.batch 16 --optim.lr 1e-3 --optim.warmup 50 --optim.cooldown 0
    --loop.steps 600 --loop.log-every 50 --loop.validate-every 200 --loop.save-every 100
)

run() {
    local name=$1
    shift
    if [[ $wanted = "  " || $wanted = *" $name "* ]]; then
        train prior "$out/$name" "$codec" emoji-3d "${plain[@]}" "$@"
    fi
}

run reweighted
run elbo --loss elbo
run autoregressive --kind autoregressive
run gpt2-init --prior.init gpt2
run stratified --diffusion.stratified
run rotary --prior.positions rotary
run qk-norm --prior.qk-norm
run label-smoothing --diffusion.label-smoothing 0.1
run dropout --prior.dropout 0.1
run mlm --loss mlm
run rotary-gpt2 --prior.positions rotary --prior.init gpt2
run rotary-gpt2-autoregressive --prior.positions rotary --prior.init gpt2 --kind autoregressive
