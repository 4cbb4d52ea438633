// ClusterSession — a session whose steps run on several tasks: this one's master places and cuts each graph, hands every task
// its part once, and then starts all parts of a step at the same time.
#pragma once
#include "cluster/worker.h"
#include "session/session.h"

// Waits for the tasks that the filters allow (all, without filters) until the cancellation is set. `config` is the client's
// ConfigProto. The worker outlives the session. UNAVAILABLE, INVALID_ARGUMENT.
FALLIBLE Status *cluster_session_new(Graph *graph, Mutex *graph_lock, Str config, Worker *worker, Str handle,
                                     Cancellation *cancellation, Session **out);
