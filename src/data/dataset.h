// Dataset — what elements there are and how to get them: an immutable description, the element of a variant tensor.
// Source — one pass over a dataset, whose elements are pulled one by one.
//
// A pull never waits: where an element is not there yet (somebody fetches it in the background) it says PULLED_LATER and
// wakes whoever pulled once it pays to pull again. So a source keeps what it has so far, and a thread is held only while
// there is something to compute. A source belongs to who opened it and is pulled by one thread at a time.
#pragma once
#include "data/tuple.h"
#include "graph/attr.h"
#include "kernel/background.h"
#include "kernel/kernel.h"

typedef struct Dataset Dataset;
typedef struct DatasetType DatasetType;
typedef struct Source Source;
typedef struct Pull Pull;
typedef struct Position Position;

enum {
    DATASET_DEPTH = 1000,        // datasets of datasets, and sources within sources; a level takes some 300 bytes of stack
    DATASET_COMPONENTS = 4096,   // tensors of an element
    CARDINALITY_INFINITE = -1,
    CARDINALITY_UNKNOWN = -2,
};

// A function of the graph's library with the values that its last arguments have.
typedef struct {
    FuncRef name;
    Tensor *captured;
    int n_captured;
} DatasetFunction;

struct Dataset {
    Object object;               // first: what variants hold
    const DatasetType *type;
    int depth;
    DType *dtypes;               // of an element, as are the next
    Shape *shapes;
    int n_components;
    Dataset **inputs;            // a reference each
    int n_inputs;
    DatasetFunction function;    // the one that most have
    VEC(Tensor) captured;        // what all functions captured, to be released
    TensorList tensors;          // of attributes
    Arena arena;                 // of all that
};

typedef enum {
    PULLED,         // an element
    PULLED_END,     // there is none any more
    PULLED_LATER,   // there is none yet: pull->wake was taken, and will be called once
} Pulled;

struct DatasetType {
    const char *name;            // "Batch"
    size_t size, source_size;    // of the structs that begin with a Dataset, a Source; 0: no more than these
    // How many of the op's first inputs are datasets; all of a list counts as one.
    int n_inputs;
    bool same;                   // elements are input 0's, whatever the node says
    const char *function;        // the attribute that names `Dataset.function`, with the argument that it captures; NULL
    // Reads the op's other inputs into the dataset. NULL: there are none. On failure `clear` is called.
    Status *(*fill)(Kernel *k, Dataset *dataset);
    void (*clear)(Dataset *dataset);
    // Elements that there will be; NULL: as many as of input 0.
    int64_t (*cardinality)(const Dataset *dataset);
    // Begins a pass. NULL: opens input 0. On failure `close` is called.
    Status *(*open)(Source *source);
    // `out` has room for the dataset's components, and is written only where an element comes.
    Status *(*next)(Source *source, const Pull *pull, Tensor *out, Pulled *how);
    void (*close)(Source *source);  // the input is closed afterwards; NULL for nothing
    // Where a source stands (position.h). NULL: where its input does, if it has a struct of its own, nobody can tell.
    Status *(*position)(Source *source, Position *p);
    Status *(*shared)(const Dataset *dataset, Position *p);  // what passes have in common; NULL: nothing
};

// What the sources of one pass share, and what goes on in the background for them. Counted: tasks hold references.
typedef struct {
    _Atomic int32_t references;
    Background *background;
    Cancellation cancellation;   // of what runs in the background
} Pipeline;

FALLIBLE Status *pipeline_new(Background *background, Pipeline **out);
Pipeline *pipeline_retain(Pipeline *pipeline);
void pipeline_release(Pipeline *pipeline);

struct Source {
    const DatasetType *type;
    const Dataset *dataset;      // retained
    Pipeline *pipeline;          // retained
    Source *input;               // of input 0, where there is such a thing
    int depth;
};

// Who is told that it pays to pull again: fn(arg) is called once for each PULLED_LATER, from any thread, with no lock
// held. Then the one reference that came with it is the callee's; a source that is closed before gives it to `drop`.
typedef struct {
    void (*fn)(void *arg);
    void (*drop)(void *arg);
    void *arg;
} Wake;

static inline void wake_call(Wake *wake) {
    Wake called = *wake;
    *wake = (Wake){0};
    if (called.fn)
        called.fn(called.arg);
}
static inline void wake_drop(Wake *wake) {
    Wake dropped = *wake;
    *wake = (Wake){0};
    if (dropped.fn)
        dropped.drop(dropped.arg);
}

struct Pull {
    Cancellation *cancellation;  // of functions that are called; may be NULL
    int64_t deadline;
    int depth;                   // of function calls
    struct Trace *trace;
    Wake wake;
};

// ---- making

// The kernel of all ops that make datasets: node_op(node)->row is the DatasetType.
Status *dataset_run(Kernel *k);
// The dataset that it makes. One reference.
FALLIBLE Status *dataset_make(Kernel *k, Dataset **out);
// A scalar variant tensor that holds the dataset, whose reference it takes over, also on failure.
FALLIBLE Status *dataset_tensor(Dataset *dataset, Tensor *out);
// The dataset in a variant tensor, borrowed. INVALID_ARGUMENT.
FALLIBLE Status *dataset_get(const Tensor *tensor, Dataset **out);
// Elements of these types and shapes: for those whose nodes don't say.
FALLIBLE Status *dataset_set_components(Dataset *dataset, int n, const DType *dtypes, const Shape *shapes);
// Without a node, and so without inputs and functions yet. One reference.
FALLIBLE Status *dataset_new(const DatasetType *type, int n, const DType *dtypes, const Shape *shapes, Dataset **out);
// The function that an attribute names, with the tensors of the list argument `captured`.
FALLIBLE Status *dataset_read_function(Kernel *k, Dataset *dataset, const char *attribute, const char *captured,
                                       DatasetFunction *out);
static inline Dataset *dataset_retain(const Dataset *dataset) {
    return (Dataset *)object_retain((Object *)(uintptr_t)dataset);
}
static inline void dataset_release(const Dataset *dataset) {
    object_release((Object *)(uintptr_t)dataset);
}
// A scalar input of the op by the name of its argument.
FALLIBLE Status *dataset_int(const Kernel *k, const char *argument, int64_t *out);
int64_t dataset_cardinality(const Dataset *dataset);

// ---- pulling

// One reference; `parent` is NULL for the first of a pipeline.
FALLIBLE Status *source_open(const Dataset *dataset, Pipeline *pipeline, const Source *parent, Source **out);
void source_close(Source *source);  // may be NULL
// The next element; its types are as the dataset says, and its shapes fit. Errors end nothing: the next pull goes on.
FALLIBLE Status *source_next(Source *source, const Pull *pull, Tensor *out, Pulled *how);
// Calls the function on the arguments and what it captured. Results have references of their own.
FALLIBLE Status *source_call(const Source *source, const Pull *pull, const DatasetFunction *function,
                             const Tensor *arguments, int n_arguments, Tensor *out, int n_out);
// Of a function's only result, which must be a scalar of type bool, or int64.
FALLIBLE Status *source_call_scalar(const Source *source, const Pull *pull, const DatasetFunction *function,
                                    const Tensor *arguments, int n_arguments, DType dtype, int64_t *out);
// The dataset that a function returns, opened.
FALLIBLE Status *source_call_open(const Source *source, const Pull *pull, const DatasetFunction *function,
                                  const Tensor *arguments, int n_arguments, Source **out);
