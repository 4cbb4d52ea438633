// LocalSession, inside — what whole steps and partial runs share.
#pragma once
#include "session/bind.h"
#include "session/calls.h"
#include "session/local.h"
#include "session/plans.h"

typedef struct LocalSession {
    Session session;               // first: what clients hold
    Graph *graph;
    Mutex *graph_lock;
    SessionConfig config;
    WorkerEnvironment *environment;
    NodeStates states;
    Calls calls;                   // plans of functions (session/calls.h)
    Cancellation cancellation;
    StepOptions options;           // what every step starts from
    SpecialisationCache *cache;             // of all executors
    PlanTable plans;               // read by all; written under the lock
    _Atomic uint64_t edit;         // graph->edit that the plans were made at
    _Atomic size_t n_seen;         // nodes of the graph when a plan was last made
    _Atomic bool closed;
    Mutex lock;                    // guards the making of plans
    Condition idle;
    Readers readers;               // steps in flight, by the place of the thread that began them
} LocalSession;

static inline LocalSession *local_session_of(Session *session) {
    return (LocalSession *)session;
}

extern const SessionType local_session_type;

// Counts a step in and out. CANCELLED: the session is closed.
FALLIBLE Status *local_session_begin(LocalSession *session, int place, Ticket *out);
void local_session_end(LocalSession *session, int place, Ticket ticket);
FALLIBLE Status *local_session_bind(LocalSession *session, const StepSignature *signature, bool partial,
                                    Executor **out);
int64_t local_session_deadline(const LocalSession *session, const RunSettings *settings);

// ---- local_partial.c
FALLIBLE Status *local_partial_begin(Session *session, const StepSignature *signature, PartialRun **out);
FALLIBLE Status *local_partial_run(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out);
bool local_partial_is_over(const PartialRun *run);
void local_partial_end(PartialRun *run);
