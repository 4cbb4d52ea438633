// LocalSession — a session whose steps run in this process: its state, and the plans of the signatures that it runs.
#pragma once
#include "run/step.h"
#include "session/session.h"

// Like session_new.
FALLIBLE Status *local_session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out);

// ---- of local sessions alone, for tests
// The plan for a signature with what its steps share; retained.
FALLIBLE Status *local_session_executor(Session *session, const StepSignature *signature, Executor **out);
// What its plans take at the moment, and how many were taken out and wait for the steps that run them.
typedef struct {
    size_t plans, bytes, retired;
} PlansUse;
PlansUse local_session_plans_use(Session *session);
