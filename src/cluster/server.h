// Server — one task of a cluster: it listens, and its master runs the sessions of whoever connects.
//
// Without TLS and secret everyone who can reach the port can run any graph, files included: so it listens on the address
// that the cluster names for its task, which is a loopback address unless told otherwise.
#pragma once
#include "base/env_var.h"
#include "base/status.h"
#include "base/str.h"

typedef struct Server Server;

extern const EnvVar lane_variable;  // MILLRACE_LANE (tensor_lane.c)

// Of a serialized ServerDef: which task of which cluster it is. INVALID_ARGUMENT where the task isn't in the cluster or the
// protocol isn't grpc. Nothing listens yet.
FALLIBLE Status *server_new(Str server_def, Server **out);
// Listens. UNAVAILABLE, with the address, where it can't. Once started it is started.
FALLIBLE Status *server_start(Server *server);
// Ends sessions and steps. A stopped server doesn't start again: FAILED_PRECONDITION.
FALLIBLE Status *server_stop(Server *server);
// Begins no more sessions and steps, UNAVAILABLE, and waits for those that run, here and on behalf of other tasks; what they
// need of this task is served meanwhile. DEADLINE_EXCEEDED when some still do: it may be called again, or the server stopped.
FALLIBLE Status *server_drain(Server *server, int64_t deadline);
// Waits until another thread stops it.
FALLIBLE Status *server_join(Server *server);
// "grpc://localhost:2222": what clients connect to, with the port that it listens on.
const char *server_target(const Server *server);
void server_free(Server *server);
