// Cluster text — who is in a cluster, as people and schedulers write it, made a ServerDef.
#pragma once
#include "proto/messages.h"

// `cluster` is "ps=host:port;worker=host:port,host:port", or JSON as TF_CONFIG holds it: {"cluster": {"worker": [..]},
// "task": {"type": "worker", "index": 0}}, or what stands there for "cluster" alone. Empty: a cluster of one task,
// "local", on any port of localhost. `job` and `task` win over what the text says; NULL and -1: nothing. `port` 0: that of
// the task's address. The message lives in the arena. INVALID_ARGUMENT.
FALLIBLE Status *cluster_text_parse(Str cluster, const char *job, int task, int port, Arena *arena, ServerDef **out);
