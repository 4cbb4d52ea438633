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

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_CLUSTER_H_ */
