// Step — the private state of one run of an executor's plan: slots, kernels ready to call, memory. Recycled, never
// shared.
//
// A step belongs to the thread that runs it. Only completions come from other threads: they are queued under the step's
// lock and taken by the owner, so nothing else in here is locked.
#pragma once
#include "run/executor.h"
#include "thread/cancellation.h"

typedef struct Step Step;

// What the run list holds of one node: which kernel, and the slots to empty behind it.
typedef struct {
    Kernel *kernel;
    const int32_t *drops;
    int32_t n_drops;
    int32_t node;
} StepItem;

// The arrays with which a step runs one specialisation: made at the first run, kept as long as the specialisation is.
typedef struct Bound {
    Specialisation *specialisation;             // retained; NULL: the step's own, to run dynamically or be propagated
    Tensor *slots;            // plan->n_slots
    Kernel *kernels;          // plan->n_nodes
    StepItem *items;          // specialisation->n_run
    int32_t *held;            // slots that have a buffer of their own; the others lie in `memory`
    int32_t n_held;
    const char **memories;    // where slots and kernels look for the packed arenas
    bool pointed;             // false: they are to be pointed anew
    struct Bound *next;       // of the same hash
    Arena arena;
} Bound;

// The packed arena of one memory, for all specialisations of the step: as large as the largest that it has run.
typedef struct {
    char *data;
    Buffer *buffer;           // NULL where it rests (tensor/blocks.h), or nothing has lain there yet
    size_t bytes;             // of the largest arena yet
} StepMemory;

struct Step {
    StepContext context;      // first: k->step is the step
    const Plan *plan;         // the executor's
    Executor *executor;       // held by whoever runs the step
    Specialisation *specialisation;  // what it is bound to; NULL: runs dynamically
    Bound *bound;             // whose arrays it uses
    Tensor *slots;            // of `bound`
    Kernel *kernels;          // of `bound`
    Prepared *prepared;       // plan->n_nodes: what dynamic nodes were last prepared for
    StepMemory *memories;     // by plan->memories
    bool rests;               // some of it is not here: to be had again before the step runs
    Bound **bounds;           // by hash: all that it has run
    size_t bounds_mask, n_bounds;
    Bound *unbound;           // its own arrays; NULL until it runs dynamically
    uint32_t evictions_seen;  // executor->cache->evictions when it last let go of what was dropped
    Cancellation cancellation;
    struct Waits *waits;      // run/waits.c; NULL until a list waits
    struct Propagation *propagation;  // run/propagate.c; NULL in list mode
    bool sees;                // of a loop's body: what can't be told beforehand is, by what was seen
    const Tensor *seen;       // the slots of an iteration that ran dynamically with such feeds; NULL: none yet
    struct LoopRun **loops;   // by plan->loops; made when they first run (run/loop.c)
    Step **clusters;          // by plan->clusters: for the host; made when they first run (run/cluster.c)
    struct Copies *copies;    // between its memories; made by the first (run/copies.c)
    CancelWatch watch;        // ends what waits at its rendezvous, where it has one
    const struct StepOptions *options;
    uint64_t next_id, ids_end;  // what its next runs are called
    Arena arena;
};

// How a step shall run.
typedef struct StepOptions {
    int64_t deadline;                    // NO_DEADLINE
    Cancellation *parent;                // the session's: cancelled when it closes
    struct ResourceTable *resources;
    const struct Caller *caller;
    int inter_threads, intra_threads;
    int depth;                           // of function calls
    uint64_t step_id;                    // that a call is part of; 0: a step of its own
    struct Trace *trace;                 // run/trace.h; NULL: none
    int place;                           // of the calling thread (thread/place.h)
    struct Rendezvous *rendezvous;       // where it meets the step's other parts (run/rendezvous.h); NULL: it has none
} StepOptions;

// Runs the executor's plan once. `feeds` are plan->n_feeds values in the plan's order, kept by the caller;
// `out_fetches` get plan->n_fetches tensors, each with a buffer that nobody else holds. Errors name the node that
// failed.
FALLIBLE Status *step_run(Executor *executor, const StepOptions *options, const Tensor *const *feeds,
                          Tensor *out_fetches);

// ---- the parts, for partial runs
FALLIBLE Status *step_take(Executor *executor, const StepOptions *options, Step **out);
void step_free(Step *step);
// Waits for what the devices of the step have queued. Takes and returns the status; an error of theirs where that is
// OK.
FALLIBLE Status *step_sync(const Step *step, Status *status);
// A copy of a fetched value that has been computed, in host memory.
FALLIBLE Status *step_copy_fetch(const Step *step, const PlanEnd *end, Tensor *out);
FALLIBLE Status *step_run_list(Step *step, const Tensor *const *feeds);
FALLIBLE Status *step_run_propagated(Step *step, const Tensor *const *feeds);

// A partial run: some feeds now, some fetches now; the rest of the step waits. NULL feeds and fetches are not part of
// it. What is started and has not ended when the fetches are there goes on; the last call waits for all.
FALLIBLE Status *step_continue(Step *step, const Tensor *const *feeds, Tensor *const *fetches, bool last);
// Whether the fetches can be had: INVALID_ARGUMENT where one waits for a feed that came neither earlier (`fed`, by
// feed) nor now.
FALLIBLE Status *step_check_part(const Step *step, const bool *fed, const Tensor *const *feeds, Tensor *const *fetches);
// Ends a partial run before or after its last part: what still runs is cancelled and waited for.
void step_free_partial(Step *step);
