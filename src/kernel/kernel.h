// Kernel — what one call of an op's kernel sees: checked inputs, allocated outputs, prepared geometry.
//
// The machine has checked `needs`, computed the shapes, allocated the outputs and locked the variables before it calls.
// A kernel checks only what only it can see (an index, a divisor, bytes being decoded) and returns a Status; the
// machine adds the node's name. It never reads an attribute: prepare did.
#pragma once
#include "graph/graph.h"
#include "thread/cancellation.h"

typedef struct StepContext StepContext;
typedef struct Resource Resource;

struct Kernel {
    const void *own;          // what prepare filled; shared by all steps of a plan, read-only
    Tensor *const *in;        // n_in; a variable input declared in update/replace/read is the variable's value
    Tensor *const *out;       // n_out; allocated in the shape that the shape function gave, unless OP_DYNAMIC_SHAPE
                              // left it open
    void *scratch;            // the bytes that prepare asked for, 64-aligned; never NULL, so that none can be added to
    RunFn *run;               // the function being called
    void *state;              // of this node in this session (Op.open)
    StepContext *step;
    const Node *node;         // for messages; attributes are prepare's business
    int16_t n_in, n_out;
    uint32_t index;           // the machine's: which node of the plan this is
    void *frame;              // the machine's: which iteration
};

// What of a device its kernels see: every Device begins with it (device/device.h).
typedef struct DeviceBase {
    Allocator *allocator;      // what it returns may be read by the host only where allocator->host
    char name[96];             // "/job:localhost/replica:0/task:0/device:CPU:0"
} DeviceBase;
// Of a node of a plan; NULL: it is folded, and runs where folding does.
static inline const DeviceBase *kernel_device(const Node *node) {
    return (const DeviceBase *)node->placed;
}
// Its full name; empty where there is none.
static inline Str kernel_device_name(const Node *node) {
    return node->placed ? str_of(kernel_device(node)->name) : (Str){"", 0};
}

// What a step offers to its kernels. The machine's own members are behind it (run/step.h).
struct StepContext {
    Cancellation *cancellation;
    int64_t deadline;                     // of clock_now(); NO_DEADLINE
    int threads;                          // a kernel uses at most so many, itself included
    uint64_t step_id;                     // that no other step of the process has; in a function called, the
                                          // caller's. 0 while a node is folded
    struct ResourceTable *resources;      // of the session's environment
    const struct Caller *caller;          // calls functions (kernel/call.h); NULL where none can be called
    int depth;                            // of function calls
    struct Trace *trace;                  // where it is noted what ran when (run/trace.h); NULL: nowhere
    void (*done)(Kernel *kernel, Status *status);  // what kernel_done calls
    // To and from the other parts of the step, under a key that says all but the iteration: input 0 is sent; output 0 is
    // received, and then kernel_done is called.
    Status *(*send)(Kernel *kernel, Str key);
    void (*receive)(Kernel *kernel, Str key);
};

// Allocates output i, which the shape function left unknown (OP_DYNAMIC_SHAPE), in host memory: on another device the
// machine brings it inside when the kernel has returned. The shape must agree with what is known.
FALLIBLE Status *kernel_output(Kernel *k, int i, Shape shape);
// Output i is this tensor: takes over the reference. For values that have their own buffer (a dequeued element).
void kernel_set_output(Kernel *k, int i, Tensor value);
// Input i with a buffer of its own, to keep beyond the step: retained if it has one, copied otherwise.
FALLIBLE Status *kernel_keep(Kernel *k, int i, Tensor *out);
// Runs fn(arg, first, last) over [0, units), on idle threads if `units * cost_ns` pays for waking them
// (loops/tuning.def).
void kernel_parallel(Kernel *k, int64_t units, int64_t cost_ns, void (*fn)(void *arg, int64_t first, int64_t last),
                     void *arg);
// The same where all units together take `total_ns`: for units that take less than one.
void kernel_share(Kernel *k, int64_t units, int64_t total_ns, void (*fn)(void *arg, int64_t first, int64_t last),
                  void *arg);
// ns to compute so many elements of so many picoseconds each, and to move so many bytes: small tensors lie in the
// cache.
int64_t kernel_cost(int64_t elements, int64_t picoseconds, int64_t bytes);
// CANCELLED or DEADLINE_EXCEEDED where the step shall not go on: for loops whose length is not known beforehand, now
// and then.
FALLIBLE Status *context_check(const StepContext *context);
// Ends what a StartFn began. Takes the status. From any thread, exactly once.
void kernel_done(Kernel *k, Status *status);
// The resource behind the handle in input i, of that type name; retained. NOT_FOUND, INVALID_ARGUMENT.
struct ResourceType;
FALLIBLE Status *kernel_resource(Kernel *k, int i, const struct ResourceType *type, Resource **out);

// Prepare — once per node and input shapes: attributes -> geometry. Errors are the node's.
struct Prepare {
    const Node *node;
    const Tensor *const *in;      // type and shape; data only for host inputs whose value is known
    const Tensor *const *out;     // type and shape; rank -1 where it is open
    int n_in, n_out;
    void *own;                    // own_size zeroed bytes to fill
    void *persistent;             // set: what the node's next prepare, for other shapes, finds here; first NULL
    Arena *lasting;               // the memory of `persistent`
    Arena *arena;                 // lives as long as `own`
    size_t scratch;               // set: bytes of scratch per call
    int64_t cost;                 // set: estimated ns of one call; 0: small
    int equal_input;              // set: 1 + the input that output 0 equals; where they can share memory
                                  // there is no call
    size_t equal_at;              // set: or a part of it that lies together, and begins at that byte, a multiple of 64
    int64_t reordered;            // set: bytes that a call lays out anew: weights that changed, planes as pixels
    const char *implementation;   // set: which implementation was chosen, for people; lives as long as `own`
    RunFn *run;                   // comes with the row of the dtype; may be replaced by a faster one
    int threads;                  // the most that a call may use
    struct PrepareCleanup *cleanups;  // the machine's
};
// Calls fn(arg) when `own` is dropped: for library objects.
FALLIBLE Status *prepare_cleanup(Prepare *p, void (*fn)(void *), void *arg);
// The value of integer host input i, element j; only where its data is known.
int64_t prepare_input_int(const Prepare *p, int i, int64_t j);

// Opening — makes the state of one node in one session. Where it fails the machine closes all the same: `close` lets go of
// what `open` had filled by then, and finds zeros elsewhere.
struct Opening {
    const Node *node;
    Str name;                     // of the node in the session's graph: of one name there is one state
    struct ResourceTable *resources;
    void *state;                  // op->state_size zeroed bytes to fill
};

// Messages of kernels: no node name, the machine adds it.
#define KERNEL_INDEX_ERROR(what, at, value, limit)                                                            \
    FAIL(INVALID_ARGUMENT, "%s[%lld] = %lld is not in [0, %lld)", (what), (long long)(at), (long long)(value), \
         (long long)(limit))

// The kernel of ops whose outputs the machine makes by itself: those that only rename memory (Op.alias), and NoOp.
Status *kernel_nothing(Kernel *k);
// Whether output 0 is input 0 under another name, perhaps in another shape, and nothing else is done.
static inline bool op_only_renames(const Op *op) {
    return op && (op->alias & BIT(0)) && op->cpu && op->cpu->run == kernel_nothing;
}
