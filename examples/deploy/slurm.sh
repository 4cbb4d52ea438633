#!/bin/bash
# Two parameter tasks and three workers: sbatch slurm.sh python3 train.py
#SBATCH --job-name=train
#SBATCH --ntasks=5
#SBATCH --cpus-per-task=2
#SBATCH --requeue
#SBATCH --signal=TERM@60

# The port of the first task on each host; jobs that share hosts need others. Processes are numbered host by host.
PORT=${PORT:-2222}
srun --distribution=block --wait=30 --kill-on-bad-exit=0 \
    millrace server --jobs ps=2,worker --port "$PORT" -- "$@"
