// cluster.h — what Millrace offers beyond TensorFlow's C interface for clusters. Its rules are those of millrace.h.
#ifndef MILLRACE_CLUSTER_H_
#define MILLRACE_CLUSTER_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ServerDef of a task, serialized into an empty buffer: for TF_NewServer. `cluster` is
 * "ps=HOST:PORT;worker=HOST:PORT,HOST:PORT" or JSON as the variable TF_CONFIG holds it; NULL or empty: a cluster of one task,
 * "local", on any port of localhost. `job` (NULL: as the text says, or the only one) and `task` (-1: as the text says, or 0)
 * tell which of its tasks; `port` 0: that of the task's address. INVALID_ARGUMENT. */
MR_EXPORT void mr_server_def(const char *cluster, const char *job, int task, int port, TF_Buffer *out, TF_Status *status);

/* Has a server begin no more sessions and steps (clients get UNAVAILABLE), and waits `ms` milliseconds at most for those that run,
 * also on behalf of other tasks, which are served what they need meanwhile. DEADLINE_EXCEEDED where some still do: call it
 * again, or TF_ServerStop. */
MR_EXPORT void mr_server_drain(TF_Server *server, int64_t ms, TF_Status *status);

/* What TF_CONFIG would hold, into an empty buffer, followed by a NUL that `length` does not count: for processes that Slurm,
 * OpenMPI, another process manager that speaks PMI, or a Kubernetes Indexed Job has started. `jobs`, "ps=2,worker": the first
 * two of them are parameter tasks, the rest workers; NULL: all workers. `hosts`: where they are, in Slurm's notation,
 * "a,node[1-3]", each with as many as the others; NULL: as the scheduler says. The first on a host has the port `port`.
 * NOT_FOUND where no scheduler has started this process; INVALID_ARGUMENT. */
MR_EXPORT void mr_scheduler_cluster(const char *jobs, const char *hosts, int port, TF_Buffer *out, TF_Status *status);

/* Who is in a cluster, and which of its tasks a program is. */
typedef struct mr_cluster mr_cluster;
/* `text` as for mr_server_def; NULL: what TF_CONFIG holds. INVALID_ARGUMENT. */
MR_EXPORT mr_cluster *mr_cluster_new(const char *text, TF_Status *status);
MR_EXPORT void mr_cluster_delete(mr_cluster *cluster);
MR_EXPORT const char *mr_cluster_job(const mr_cluster *cluster);    /* "worker" */
MR_EXPORT int mr_cluster_task(const mr_cluster *cluster);
/* How many tasks a job has; 0: there is none of that name. */
MR_EXPORT int mr_cluster_num_tasks(const mr_cluster *cluster, const char *job);
/* "host:port" of a task; NULL where there is none. Lives as long as the cluster. */
MR_EXPORT const char *mr_cluster_address(const mr_cluster *cluster, const char *job, int task);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_CLUSTER_H_ */
