// The environment: every MILLRACE_ variable there is, asked before anything runs.
#pragma once
#include "session/session.h"

// INVALID_ARGUMENT where one of them holds a word that means nothing.
FALLIBLE Status *environment_check(void);
// session_new behind that question: the way in which this folder opens sessions.
FALLIBLE Status *environment_session(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out);
