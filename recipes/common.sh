# What recipes share; sourced, not run.
set -euo pipefail

# A training that is interrupted saves and ends well, and the next command must not begin.
trap 'exit 130' INT
trap 'exit 143' TERM

gpus=${GPUS:-1}

# unmask, or on several GPUs one process for each.
many() {
    if [ "$gpus" -gt 1 ]; then
        torchrun --standalone --nproc-per-node "$gpus" -m unmask "$@"
    else
        unmask "$@"
    fi
}

# train STAGE RUN WORDS...: train into a run, continue one that was stopped, leave a finished one alone.
train() {
    local stage=$1 run=$2
    shift 2
    if [ -e "$run/finished" ]; then
        return
    elif [ -e "$run/config.json" ]; then
        many train "$stage" --resume "$run"
    else
        many train "$stage" "$@" --out "$run"
    fi
    touch "$run/finished"
}
