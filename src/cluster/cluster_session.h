// ClusterSession — a session whose steps run on several tasks: this one's master places and cuts each graph, hands every task
// its part once, and then starts all parts of a step at the same time.
#pragma once
#include "cluster/worker.h"
#include "session/session.h"

typedef struct {
    Str config;    // the client's ConfigProto, which may bring a cluster of its own
    Str target;    // where the client has found this task: "grpc://localhost:2222"
    Str handle;    // of the session
} ClusterSessionOptions;

// Waits for the tasks that the filters allow (all, without filters) until the cancellation is set. The worker outlives the
// session. UNAVAILABLE, INVALID_ARGUMENT.
FALLIBLE Status *cluster_session_new(Graph *graph, Mutex *graph_lock, const ClusterSessionOptions *options, Worker *worker,
                                     Cancellation *cancellation, Session **out);
