// Propagation — runs a plan with control flow: frames, iterations, dead values, started operations.
//
// One thread, the step's caller, does all the bookkeeping; kernels that start or block end by a completion, which any
// thread may queue. So no count in here is atomic.
#pragma once
#include "run/kernels.h"
#include "thread/mutex.h"

typedef struct Iteration Iteration;
typedef struct Frame Frame;

// One iteration of one loop (or, in frame 0, the step): its values and who still waits for what.
struct Iteration {
    Frame *frame;
    int64_t number;
    int32_t outstanding;     // nodes queued or running, child frames, and 1 while it is being made
    int32_t *pending;        // by node place
    int32_t *readers;        // by slot place: who has yet to read it
    uint16_t *dead;          // by node place: dead inputs so far of a Merge; of others, whether there is one
    uint8_t *merged;         // by node place, for Merge: MERGE_*
    int32_t *which;          // by node place, for Merge: the input that came alive
    Tensor *slots;           // by slot place
    Frame **children;        // by child index
    Iteration *next;         // the following iteration, or the next free one
};

// One run of a loop, entered from one iteration of its parent.
struct Frame {
    const PlanFrame *plan;
    int32_t index;           // in plan->frames
    Iteration *parent;       // NULL for the step
    Iteration *oldest, *newest;
    int32_t active;          // iterations in flight
    int32_t entered;         // Enter nodes that have fired
    Tensor *constants;       // by position in plan->constants
    uint8_t *constant_state; // 0: not here yet, 1: alive, 2: dead
    VEC(struct Deferred) deferred;  // NextIteration beyond the window
    uint8_t *exited;         // by position in plan->exits
};

typedef struct Deferred {
    int32_t node;
    Tensor value;
} Deferred;

typedef struct {
    int32_t node;
    Iteration *iteration;
} Ready;

// A kernel that runs on its own: its call outlives the loop that began it.
typedef struct Started {
    Kernel kernel;
    Tensor **pointers;
    Prepared prepared;
    int32_t node;
    Iteration *iteration;
    Status *status;
    struct Started *next;
} Started;

typedef struct Propagation {
    Step *step;
    const Plan *plan;
    Frame *root;
    VEC(Ready) ready;
    Iteration **free_iterations;  // by frame index
    Tensor **pointers;            // room for the widest node
    int32_t started;              // whose completion is outstanding
    Status *status;               // the first error
    Mutex lock;
    Condition completed;
    Started *done;                // guarded by lock
    _Atomic bool any_done;        // looked at without the lock
} Propagation;

Iteration *iteration_new(Propagation *p, Frame *frame);  // NULL when memory is out
void iteration_free(Propagation *p, Iteration *iteration);
Frame *frame_new(Propagation *p, int32_t index, Iteration *parent);
void frame_free(Propagation *p, Frame *frame);
enum { MERGE_ALIVE = 1, MERGE_FIRED = 2 };
