// Scheduler — the cluster of the processes that a scheduler has started, and which of them this one is.
//
// OpenMPI's mpirun, process managers that speak PMI (MPICH), Slurm's srun and Kubernetes' Indexed Jobs tell each process its
// number in variables of its environment; Slurm also tells where the others are.
#pragma once
#include "base/status.h"
#include "base/str.h"

// The value of a variable of the environment, NULL where there is none: getenv.
typedef char *SchedulerVariable(const char *name);

// Writes what TF_CONFIG would hold. `jobs`, "ps=2,worker": the first two processes are of the one job, the rest of the other;
// one job at most has no number. `hosts` in Slurm's notation, "a,n[1-3,07]", each with as many processes as the others; empty:
// Slurm's own, or localhost where all processes are on one machine. Each process has the port `port` + its number on its host.
// NOT_FOUND where no scheduler is; INVALID_ARGUMENT.
FALLIBLE Status *scheduler_cluster(SchedulerVariable *variable, Str jobs, Str hosts, int port, Text *out);
