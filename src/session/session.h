// Session — a graph that runs, here or on a server: what its clients call, whichever kind it is.
//
// Counted owners: the client, and each run in flight. Any number of threads may run at once; a closed session refuses
// new steps with CANCELLED and cancels those in flight. The graph may grow meanwhile; whoever changes it holds
// `graph_lock`.
#pragma once
#include "plan/plan.h"
#include "session/worker_environment.h"
#include "thread/mutex.h"

typedef struct Session Session;
typedef struct PartialRun PartialRun;

// What of a ConfigProto the session obeys, and what it runs in.
typedef struct SessionConfig {
    int intra_threads;                  // of one kernel; 0: as many as the process may use
    int inter_threads;                  // kernels of one step at once (run/README.md); likewise. 1 and 1: no thread is
                                        // made
    DeviceCount devices[8];             // where the environment is its own
    int n_devices;
    WorkerEnvironment *environment;     // shared with other sessions, and retained; NULL: one of its own
    bool soft_placement;
    bool log_placement;
    int64_t timeout_ms;                 // of every step; 0: none
    uint32_t passes;                    // BIT(PASS_*)
    uint64_t rewrites_off;              // rewrite_bit of those that are switched off
    size_t plan_bytes;                  // what plans may take before those used least recently go; 0: see plans.h
} SessionConfig;
SessionConfig session_config_default(void);
// A serialized ConfigProto over the defaults. INVALID_ARGUMENT "Unparseable ConfigProto".
FALLIBLE Status *session_config_parse(Str proto, SessionConfig *config);

typedef struct {
    int64_t timeout_ms;                 // 0: the session's
    struct Cancellation *cancellation;  // ends the step; NULL: none. It has no parent: the session becomes it, until its owner
                                        // clears it, before the session goes
    struct Trace *trace;                // gets what ran when (run/trace.h), also of a step that fails; NULL: none
} RunSettings;
extern const RunSettings run_settings_default;

// What clients see of a device.
typedef struct {
    Str name, type;                     // "/job:localhost/replica:0/task:0/device:CPU:0", "CPU"
    int64_t memory;                     // bytes
    uint64_t incarnation;
} SessionDevice;

// What each kind of session does about the calls below, whose contracts are theirs.
typedef struct SessionType {
    Status *(*run)(Session *session, const StepSignature *signature, const RunSettings *settings,
                   const Tensor *const *feeds, Tensor *out);
    Status *(*call)(Session *session, const FuncRef *function, const RunSettings *settings,
                    const Tensor *arguments, int n_arguments, Tensor *out_results, int n_results);
    Status *(*partial_begin)(Session *session, const StepSignature *signature, PartialRun **out);
    Status *(*partial_run)(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out);
    bool (*partial_is_over)(const PartialRun *run);
    void (*partial_end)(PartialRun *run);
    Status *(*extend)(Session *session);
    Status *(*list_devices)(Session *session, Arena *arena, SessionDevice **out, int *out_n);
    Status *(*plan)(Session *session, const StepSignature *signature, Plan **out);
    Status *(*save_states)(Session *session, Text *out);    // NULL: it has none of its own
    Status *(*load_states)(Session *session, Str bytes);
    void (*close)(Session *session);
    void (*free)(Session *session);
} SessionType;

// Every kind of session, and of partial run, begins with its type.
struct Session {
    const SessionType *type;
};
struct PartialRun {
    const SessionType *type;
};

// A session of this process (session/local.h). INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
FALLIBLE Status *session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out);

// One step. `feeds` match signature->feeds; `out` has room for the fetches and is untouched on failure.
FALLIBLE static inline Status *session_run(Session *session, const StepSignature *signature,
                                           const RunSettings *settings, const Tensor *const *feeds, Tensor *out) {
    return session->type->run(session, signature, settings, feeds, out);
}
// One call of a function, as a step of its own. NOT_FOUND: the library has none of that name.
FALLIBLE static inline Status *session_call(Session *session, const FuncRef *function,
                                            const RunSettings *settings, const Tensor *arguments, int n_arguments,
                                            Tensor *out_results, int n_results) {
    return session->type->call(session, function, settings, arguments, n_arguments, out_results, n_results);
}

// A step in several calls: all its feeds and fetches are named at the beginning, then given and taken piece by piece.
FALLIBLE static inline Status *session_partial_begin(Session *session, const StepSignature *signature,
                                                     PartialRun **out) {
    return session->type->partial_begin(session, signature, out);
}
FALLIBLE static inline Status *session_partial_run(PartialRun *run, const StepSignature *part,
                                                   const Tensor *const *feeds, Tensor *out) {
    return run->type->partial_run(run, part, feeds, out);
}
// Whether a call has failed in running, rather than been refused: what follows is refused, too. Of its caller's own
// calls.
static inline bool session_partial_is_over(const PartialRun *run) {
    return run->type->partial_is_over(run);
}
static inline void session_partial_end(PartialRun *run) {
    if (run)
        run->type->partial_end(run);
}

// The nodes that the graph has got since are part of the session: a session that sees its graph does nothing here.
FALLIBLE static inline Status *session_extend(Session *session) {
    return session->type->extend(session);
}
// Its devices, in the arena.
FALLIBLE static inline Status *session_list_devices(Session *session, Arena *arena, SessionDevice **out, int *out_n) {
    return session->type->list_devices(session, arena, out, out_n);
}
// The plan for a signature, retained: for `millrace plan` and tests. Its feeds and fetches are in the order of the
// first call that named these edges. UNIMPLEMENTED where plans are made elsewhere.
FALLIBLE static inline Status *session_plan(Session *session, const StepSignature *signature, Plan **out) {
    return session->type->plan(session, signature, out);
}
// What besides variables goes on from step to step: where its nodes' streams of random numbers are. Appended, and taken
// back in a session of the same graph, before or after its first step, while none runs.
FALLIBLE static inline Status *session_save_states(Session *session, Text *out) {
    return session->type->save_states ? session->type->save_states(session, out) : OK;
}
FALLIBLE static inline Status *session_load_states(Session *session, Str bytes) {
    return session->type->load_states ? session->type->load_states(session, bytes) : OK;
}
// Cancels what runs; later runs answer CANCELLED "Session has been closed.".
static inline void session_close(Session *session) {
    session->type->close(session);
}
// Closes, waits for steps in flight, frees.
static inline void session_free(Session *session) {
    if (session)
        session->type->free(session);
}
