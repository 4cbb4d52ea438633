// Binding — a node on a device: which kernel it runs. Prepared — a binding for given input shapes, ready to run.
//
// This is the one road from a node to its kernel: needs, shapes, allocation, prepare, run. Folding, specialised nodes,
// dynamic nodes and eager calls all take it; a plan merely keeps what it found on the way.
#pragma once
#include "device/device.h"

// What an op declares of each argument, spread over the flat inputs (a list is several) and outputs.
enum {
    EDGE_HOST = 1 << 0,     // lives in host memory
    EDGE_KEEP = 1 << 1,     // the kernel may keep the input beyond the step
    EDGE_UPDATE = 1 << 2,   // a variable, written in place
    EDGE_REPLACE = 1 << 3,  // a variable, given a new value
    EDGE_READ = 1 << 4,     // a variable, read while locked
    EDGE_IN_PLACE = 1 << 5, // output 0 may be written over the input
    EDGE_ALIAS = 1 << 6,    // output i is input i's buffer
    EDGE_SHAPE_ONLY = 1 << 7,  // the kernel reads the input's shape, never its data
    EDGE_VARIABLE = EDGE_UPDATE | EDGE_REPLACE | EDGE_READ,
};

typedef struct Binding {
    const Node *node;
    const Op *op;
    const Device *device;
    RunFn *run;            // NULL where the op only starts
    StartFn *start;
    uint8_t *in_flags;     // n_in, EDGE_*
    uint8_t *out_flags;    // n_out
    int16_t n_in, n_out;
    int16_t n_variables;   // inputs that are variables to lock
    bool direct;           // `run` may be called as it is: no variables, no wrapping by the device
} Binding;

// Chooses the kernel. UNIMPLEMENTED naming the node where the op has none for its types on this device.
FALLIBLE Status *binding_init(Binding *binding, const Node *node, const Device *device, Arena *arena);
// The element type by which kernel rows are chosen: the op's first type attribute; DT_INVALID for none.
DType binding_dtype(const Node *node);
// The kernel that computes what input 0 is from the other inputs; NULL where the op isn't one of these (OP_RECOMPUTES).
RunFn *binding_recompute(const Binding *binding);
// Whether the device has a kernel for the node.
bool binding_exists(const Node *node, const Device *device);

enum {
    WATCHED_VALUES = 8,  // host inputs of up to so many integers are part of the guard
    GUARD_WORDS = 6,     // that lie with what a call reads anyway
};

typedef struct {
    int16_t input, n;
    int64_t values[WATCHED_VALUES];
} Watched;

#define OUT_OPEN SIZE_MAX

// What a call reads lies in the first two cache lines and in what `own` points to; the rest is behind `making`.
typedef struct Prepared {
    RunFn *run;
    void *own;
    size_t scratch;
    const int64_t *guard;        // the shapes it was prepared for: each input's rank, then its extents; NULL: `words`
    int64_t words[GUARD_WORDS];
    size_t bytes;                // of output 0; OUT_OPEN where the kernel allocates
    uint32_t lend;               // BIT(i): output 0 may be written over input i, if nobody else reads that
    uint8_t dtype;               // DType of output 0
    int8_t like;                 // an input in the shape of output 0; -1: none
    bool reusable;               // false: not prepared, or a host input was too large to watch: prepare each time
    bool plain;                  // one output, in host memory, allocated by the machine; the kernel is called directly
    int16_t n_watched;
    Shape *out;                  // n_out; where not fully known the kernel allocates
    size_t *out_bytes;           // n_out
    struct Preparation *making;
} Prepared;

// What made it: the memory of all the above.
typedef struct Preparation {
    Arena *arena;
    Arena *lasting;              // of what the node's prepare keeps from one to the next
    void *persistent;
    Shape *in;                   // n_in; NULL once it is made, unless some are variables
    Watched *watched;            // host inputs whose values were read
    int64_t cost;                // estimated ns; 0: small
    int equal_input;             // 1 + the input that output 0 equals; 0: none does
    size_t equal_at;             // or of which it is the part that begins at that byte
    int64_t reordered;           // bytes that a call lays out anew, at most
    const char *implementation;  // the implementation that was chosen; NULL: there is but one
    struct PrepareCleanup *cleanups;
} Preparation;

// Checks needs, runs the shape function and prepare. The shapes of `in` are known; in[i]->data is NULL where the value
// is not, and then an output shape that depends on it stays open and op->prepare is told so.
FALLIBLE Status *prepared_init(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads);
// The same, once and for all: its memory is the arena's, so that what many nodes' calls read lies close together.
FALLIBLE Status *prepared_init_in(Arena *arena, Prepared *prepared, const Binding *binding, Tensor *const *in,
                                  int threads);
void prepared_clear(Prepared *prepared);
// Estimated ns of one call; 0: small, or not prepared.
static inline int64_t prepared_cost(const Prepared *prepared) {
    return prepared->making ? prepared->making->cost : 0;
}
// The guard: was `prepared` made for these shapes and host values?
bool prepared_values_fit(const Prepared *prepared, Tensor *const *in);
static inline bool prepared_fits(const Prepared *prepared, const Binding *binding, Tensor *const *in) {
    if (!prepared->reusable)
        return false;
    const int64_t *word = prepared->guard ? prepared->guard : prepared->words;
    for (int i = 0; i < binding->n_in; i++) {
        const Shape *shape = &in[i]->shape;
        if (*word++ != shape->rank)
            return false;
        for (int d = 0; d < shape->rank; d++)
            if (*word++ != shape->dims[d])
                return false;
    }
    return !prepared->n_watched || prepared_values_fit(prepared, in);
}

// Runs the kernel of a prepared node whose outputs are allocated: locks variables (k->in[i] then is the variable's
// value instead of its handle), lets the device wrap the call. Nodes with binding->direct need none of it.
FALLIBLE Status *binding_run(const Binding *binding, const Prepared *prepared, Kernel *k);
// What k->scratch is where a kernel asked for none.
extern char no_scratch[];
// What binding_run answers, doing nothing, where a variable has another shape than prepared for: go on dynamically from
// here.
extern Status *const GUARD_FAILED;

// One node the dynamic way: guard or prepare, allocate, run. k->in and k->out are set by the caller;
// outputs come zeroed. Inputs in `last` (BIT(i)) are not read afterwards: their buffers may be reused.
FALLIBLE Status *invoke(const Binding *binding, Prepared *prepared, Kernel *k, uint32_t last);

// "{{node name}} (Op): " before the message.
FALLIBLE Status *node_error(const Node *node, Status *status);
