# What both jobs share: one torchrun on each node, one process on each GPU. Sourced from the root of the clone.
set -euo pipefail

# The launch is named by the job's number, which a requeue keeps. By it the same command goes on with the run that it
# began, after a failed process, a lost node, or hours in the queue. Fewer nodes than were asked for are enough from
# MIN_NODES on.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 # after a restart, processes agree anew where they meet
nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
first=${nodes%%$'\n'*} # not by head, which may end before scontrol has said all: the job would end with it
srun --ntasks-per-node 1 torchrun --nnodes "${MIN_NODES:-$SLURM_NNODES}:$SLURM_NNODES" \
    --nproc-per-node "$SLURM_GPUS_ON_NODE" --max-restarts 3 --rdzv-backend c10d --rdzv-endpoint "$first:29400" \
    --rdzv-id "unmask-$SLURM_JOB_ID" -m unmask "$@" &
step=$!

# Two minutes before the time is up SLURM sends USR1, and TERM when another job takes the place. Trainings save after
# their step; sampling and encoding go on from what is on disk. Then the job waits for its next turn.
requeue() {
    trap '' USR1 TERM
    kill -TERM "$step"
    wait "$step" || true
    scontrol requeue "$SLURM_JOB_ID"
    exit 0
}
trap requeue USR1 TERM

wait "$step"
