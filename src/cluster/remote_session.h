// Remote session — a session on a server: what it is asked goes to the server's MasterService.
//
// Nothing is sent before the first run: then the whole graph, later what is new of it. Steps run at once, from any thread.
#pragma once
#include "session/session.h"

typedef struct {
    const char *address;     // "host:port"
    Str config;              // a serialized ConfigProto; empty: none
    int64_t timeout_ms;      // of every step, and of opening; 0: none
} RemoteOptions;

// No server need be there yet. `graph_lock` guards the graph.
FALLIBLE Status *remote_session_new(Graph *graph, Mutex *graph_lock, const RemoteOptions *options, Session **out);
