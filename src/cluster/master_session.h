// MasterSession — a client's session on this server: its graph, which the client extends, and the session that runs it.
//
// Counted: the master's table, and each call in flight. Any number of calls may come at once.
#pragma once
#include "cluster/worker.h"
#include "proto/messages.h"
#include "run/trace.h"
#include "session/session.h"
#include "thread/cancellation.h"

typedef struct MasterSession MasterSession;

enum { MASTER_HANDLE = 17 };  // 16 hexadecimal digits and a NUL

// Of CreateSession's GraphDef, ConfigProto and target. In the worker's environment, unless the configuration isolates the session's
// state; over all tasks of a cluster that has others, for which it waits until the cancellation is set.
FALLIBLE Status *master_session_new(const CreateSessionRequestProto *request, Worker *worker, Cancellation *cancellation,
                                    MasterSession **out);
Str master_session_handle(const MasterSession *session);
MasterSession *master_session_retain(MasterSession *session);
void master_session_release(MasterSession *session);
// Cancels what runs; later steps are refused. Its memory goes with the last reference.
void master_session_close(MasterSession *session);

// Adds nodes to the graph. ABORTED where its version is another.
FALLIBLE Status *master_session_extend(MasterSession *session, Str graph_def, int64_t version, int64_t *out_version);
FALLIBLE Status *master_session_devices(MasterSession *session, Arena *arena, ListDevicesResponseProto *out);

// What a step gave, until it has been sent: messages that view tensors.
typedef struct {
    Arena arena;
    VEC(Tensor) tensors;
    RunMetadataProto metadata;
    Trace trace;                 // what metadata views
    bool traced;
} StepResults;
void step_results_clear(StepResults *results);
static inline void step_results_auto(StepResults *results) {
    step_results_clear(results);
}

// A step, or a part of one. `cancellation` ends it; its messages live in `results`.
FALLIBLE Status *master_session_run(MasterSession *session, const RunStepRequestProto *request,
                                    Cancellation *cancellation, StepResults *results, RunStepResponseProto *out);
FALLIBLE Status *master_session_partial(MasterSession *session, const PartialRunSetupRequestProto *request, Arena *arena,
                                        Str *out_handle);
FALLIBLE Status *master_session_make_callable(MasterSession *session, const CallableOptionsProto *options,
                                              int64_t *out_handle);
FALLIBLE Status *master_session_run_callable(MasterSession *session, const RunCallableRequestProto *request,
                                             Cancellation *cancellation, StepResults *results,
                                             RunCallableResponseProto *out);
FALLIBLE Status *master_session_release_callable(MasterSession *session, int64_t handle);
