// Propagation — runs a plan with control flow: frames, iterations, dead values, started operations.
//
// One thread, the step's caller, does all the bookkeeping; kernels that start or block end by a completion, which any
// thread may queue. So no count in here is atomic.
#pragma once
#include "run/kernels.h"
#include "thread/mutex.h"

typedef struct Iteration Iteration;
typedef struct Frame Frame;

// A value on its way. Slots share it: what Switch, Merge, Enter, NextIteration and Exit pass on is a pointer.
typedef struct Value {
    Tensor tensor;
    int32_t holders;         // slots, constants of frames and deferred values
    struct Value *next;      // among the free ones, whose tensors have neither buffer nor data
} Value;

// One iteration of one loop (or, in frame 0, the step): its values and who still waits for what.
struct Iteration {
    Frame *frame;
    int64_t number;
    int32_t outstanding;     // nodes queued or running, child frames, and 1 while it is being made
    IterationSlot *slots;    // by slot place
    IterationNode *nodes;    // by node place
    Frame **children;        // by child index
    Iteration *next;         // the following iteration, or the next free one
};

typedef struct Deferred {
    const PlanNode *node;
    Value *value;
} Deferred;

// One run of a loop, entered from one iteration of its parent.
struct Frame {
    const PlanFrame *plan;
    uint64_t id;             // the same in all parts of the step that run this loop (exchange.c); 0: the step itself
    int32_t index;           // in plan->frames
    Iteration *parent;       // NULL for the step
    Iteration *oldest, *newest;
    int32_t active;          // iterations in flight
    int32_t entered;         // Enter nodes that have fired
    Value **constants;       // by position in plan->constants; NULL: not here yet, or dead
    uint8_t *constant_dead;  // by the same
    VEC(Deferred) deferred;  // NextIteration beyond the window
    uint8_t *exited;         // by position in plan->exits
};

typedef struct {
    const PlanNode *node;
    Iteration *iteration;
} Ready;

// A kernel that runs on its own: its call outlives the loop that began it.
typedef struct Started {
    Kernel kernel;
    Tensor **pointers;
    Prepared prepared;
    Prepared *node_prepared; // the node's own, where it runs only once in a step; NULL: the one above
    bool beside;             // on another thread: counted in Propagation.beside
    bool dead;               // what it received is
    int64_t since;           // when it began, for a trace
    const PlanNode *node;
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
    Value *free_values;
    Kernel kernel;                // of the node at hand
    Tensor **pointers;            // its inputs and outputs: room for the widest node
    int32_t started;              // whose completion is outstanding
    int32_t beside;               // of these: on another thread
    bool branches;                // heavy kernels may go to another thread
    Status *status;               // the first error
    Tensor *const *wanted;        // of a partial run: it goes on as long as one of these fetches isn't there; NULL: as long
                                  // as anything is started
    Mutex lock;
    Condition completed;
    Started *done;                // guarded by lock
    _Atomic bool any_done;        // looked at without the lock
} Propagation;

Iteration *iteration_new(Propagation *p, Frame *frame);  // NULL when memory is out
void iteration_free(Propagation *p, Iteration *iteration);
Frame *frame_new(Propagation *p, int32_t index, Iteration *parent);
void frame_free(Propagation *p, Frame *frame);
bool values_grow(Propagation *p);  // more free values; false when memory is out

// A value without a tensor yet, held once; NULL when memory is out.
static inline Value *value_new(Propagation *p) {
    if (__builtin_expect(!p->free_values, 0) && !values_grow(p))
        return NULL;
    Value *value = p->free_values;
    p->free_values = value->next;
    value->holders = 1;
    return value;
}

static inline void value_release(Propagation *p, Value *value) {
    if (--value->holders)
        return;
    buffer_release(value->tensor.buffer);
    value->tensor.buffer = NULL;
    value->tensor.data = NULL;
    value->next = p->free_values;
    p->free_values = value;
}

static inline void slot_empty(Propagation *p, IterationSlot *slot) {
    if (slot->value)
        value_release(p, slot->value);
    slot->value = NULL;
}

// The slot holds the value too, if somebody will read it there.
static inline void slot_hold(Propagation *p, IterationSlot *slot, Value *value) {
    if (slot->readers <= 0)
        return;
    value->holders++;
    slot_empty(p, slot);
    slot->value = value;
}
