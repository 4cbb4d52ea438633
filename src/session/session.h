// Session — a graph that runs: its devices, its state, and the plans of the signatures that it runs.
//
// Counted owners: the client, and each run in flight. Any number of threads may run at once; a closed session refuses
// new steps with CANCELLED and cancels those in flight. The graph may grow meanwhile; whoever changes it holds
// `graph_lock`.
#pragma once
#include "plan/plan.h"
#include "plan/states.h"
#include "run/step.h"

typedef struct Session Session;

// What of a ConfigProto the session obeys.
typedef struct SessionConfig {
    int intra_threads;                  // of one kernel; 0: as many as the process may use
    int inter_threads;                  // kernels of one step at once (run/README.md); likewise. 1 and 1: no thread is
                                        // made
    DeviceCount devices[8];
    int n_devices;
    bool soft_placement;
    bool log_placement;
    int64_t timeout_ms;                 // of every step; 0: none
    uint32_t passes;                    // BIT(PASS_*)
    size_t plan_bytes;                  // what plans may take before those used least recently go; 0: see plans.h
} SessionConfig;
SessionConfig session_config_default(void);
// A serialized ConfigProto over the defaults. INVALID_ARGUMENT "Unparseable ConfigProto".
FALLIBLE Status *session_config_parse(Str proto, SessionConfig *config);

FALLIBLE Status *session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out);
// Cancels what runs; later runs answer CANCELLED "Session has been closed.".
void session_close(Session *session);
// Closes, waits for steps in flight, frees.
void session_free(Session *session);
const DeviceSet *session_devices(const Session *session);

typedef struct {
    int64_t timeout_ms;                 // 0: the session's
    struct Trace *trace;                // gets what ran when (run/trace.h), also of a step that fails; NULL: none
} RunSettings;
extern const RunSettings run_settings_default;

// One step. `feeds` match signature->feeds; `out` has room for the fetches and is untouched on failure.
FALLIBLE Status *session_run(Session *session, const StepSignature *signature, const RunSettings *settings,
                             const Tensor *const *feeds, Tensor *out);
// The plan for a signature, retained: for `millrace plan` and tests. Its feeds and fetches are in the order of the
// first call that named these edges.
FALLIBLE Status *session_plan(Session *session, const StepSignature *signature, Plan **out);

// What its plans take at the moment, and how many were taken out and wait for the steps that run them.
typedef struct {
    size_t plans, bytes, retired;
} PlansUse;
PlansUse session_plans_use(Session *session);

// A step in several calls: all its feeds and fetches are named at the beginning, then given and taken piece by piece.
typedef struct PartialRun PartialRun;
FALLIBLE Status *session_partial_begin(Session *session, const StepSignature *signature, PartialRun **out);
FALLIBLE Status *session_partial_run(PartialRun *run, const StepSignature *part, const Tensor *const *feeds,
                                     Tensor *out);
// Whether a call has failed in running, rather than been refused: what follows is refused, too. Of its caller's own
// calls.
bool session_partial_is_over(const PartialRun *run);
void session_partial_end(PartialRun *run);
