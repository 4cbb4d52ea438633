// Op — everything the machine knows of an operation: one constant per op, written in one place.
//
// The machine (import, planner, executor, session, eager) sees an op only through this struct and never asks for its
// name. What a kernel sees is in kernel/kernel.h; how a gradient is written is in formula/formula.h.
#pragma once
#include "graph/signature.h"

typedef struct Kernel Kernel;    // kernel/kernel.h: one call of a kernel
typedef struct Prepare Prepare;  // kernel/kernel.h: attributes and shapes -> geometry, once per node and shapes
typedef struct Opening Opening;  // kernel/kernel.h: the state of one node in one session
typedef struct Shapes Shapes;    // graph/shapes.h: input shapes and known values -> output shapes
typedef struct Rewrite Rewrite;  // graph/rewrite.h: nodes that come to the same by less
typedef struct Formula Formula;  // formula/formula.h: a fragment of graph that reads like the formula
typedef struct Hlo Hlo;          // hlo/hlo.h: a program for devices that compile, being written

typedef Status *RunFn(Kernel *kernel);      // to the end, now
typedef void StartFn(Kernel *kernel);       // begins; calls kernel_done(kernel, status) exactly once, now or later
typedef Status *ShapeFn(Shapes *shapes);
typedef Status *PartialFn(Shapes *shapes, Shape *value);  // a vector's elements as extents; a scalar's as a vector of
                                                          // one
typedef Status *PrepareFn(Prepare *prepare);
typedef void FormulaFn(Formula *formula);
typedef Status *HloFn(Hlo *hlo);

// A kernel for one element type: the type of the op's first type attribute. DT_INVALID serves every type.
typedef struct {
    DType dtype;
    RunFn *run;
} KernelRow;

// What one type of device has for an op. The CPU's stands in the op itself, others' in the folder of the device type.
typedef struct {
    const KernelRow *rows;       // until {0, NULL}; NULL: none
    PrepareFn *prepare;          // may be NULL
    size_t own_size;             // bytes of what prepare fills
} Kernels;

// What control flow a node is. `run` obeys these tags and knows no op.
typedef enum {
    FLOW_NONE,
    FLOW_SWITCH,      // input 0 goes to output `input 1`; the other output is dead
    FLOW_MERGE,       // the first live input; output 1 is its index
    FLOW_ENTER,       // into the child frame named by attr frame_name
    FLOW_EXIT,        // out of the frame, when live
    FLOW_NEXT,        // into the next iteration of the frame
    FLOW_LOOP_COND,   // an identity whose value decides whether the frame goes on
    FLOW_TRIGGER,     // ControlTrigger: runs when its control inputs are done, even where they are dead
    FLOW_SEND,        // to another part of the step: runs even where its input is dead, and carries the dead bit
    FLOW_RECV,        // from another part of the step
    FLOW_COPY_OUT,    // from one memory to another, inside a part
    FLOW_COPY_IN,
    FLOW_ARG,         // a function's argument: filled by the caller
    FLOW_RETVAL,      // a function's result
    FLOW_CALL,        // calls the function named by attr f: inlined by the planner unless it is recursive
    FLOW_IF,          // functional conditional: lowered to Switch and Merge
    FLOW_WHILE,       // functional loop: lowered to a frame
    FLOW_LOOP,        // a loop as one node: the planner's, attr body says which of the plan's loops (plan/loops.h)
    FLOW_CLUSTER,     // what a device compiles, as one node: the planner's, attr body says which (plan/claim.h)
} Flow;

enum {
    MAX_ARGS = 32,                 // inputs and outputs that the masks below can name; later ones have no flags

    OP_STATEFUL = 1 << 0,          // two nodes with equal inputs may differ: never folded, merged or dropped as unused
                                   // state
    OP_DYNAMIC_SHAPE = 1 << 1,              // some output's shape depends on data: the kernel allocates it with kernel_output
    OP_BLOCKS = 1 << 2,            // waits for the outside (file I/O): runs on an elastic thread
    OP_FROM_SHAPES = 1 << 3,       // reads only its inputs' shapes, never their data (Shape, Rank, Size ...)
    OP_CHEAP = 1 << 4,             // never worth another thread, whatever its size
    OP_REF_READ = 1 << 5,          // takes a reference and gives its value (the planner inserts it)
    OP_NO_GRADIENT = 1 << 6,       // the gradient is zero by nature, not for want of a formula
    OP_ELEMENTWISE = 1 << 7,       // a row of the tile machine: may be fused into one loop
    OP_IDENTITY = 1 << 8,          // the output is the input, in every respect
    OP_CACHES = 1 << 9,            // its state only saves work: the kernel does without
    OP_READS = 1 << 10,            // stateful only in that it reads a variable
    OP_WRITES = 1 << 11,           // gives a variable another value, other than by `update` and `replace`
    OP_TAKES_BACK = 1 << 12,       // gives a value that was put away before, in the buffer that it had then
    OP_RECOMPUTES = 1 << 13,       // the kernel computes what input 0 is, to the bit, from the other inputs alone; the
                                   // node is an alias of input 0 wherever that is still kept
    OP_OTHER_TYPES = 1 << 14,      // variables are not of the first type attribute's type: the kernel checks theirs
};

#define BIT(i) (1u << (i))

typedef struct Op {
    const char *signature;       // graph/signature.h; the name is what stands before '('
    const char *doc;             // one sentence, present tense
    const char *needs;           // conditions on shapes and host values, checked before the kernel: graph/needs.h
    ShapeFn *shape;              // NULL: outputs of unknown shape
    FormulaFn *grad;             // NULL with OP_NO_GRADIENT: zero; NULL without: "No gradient defined"
    FormulaFn *expand;           // a composed op: what it stands for
    HloFn *hlo;                  // what devices that compile are given; NULL: what `expand` makes, or the op stays on
                                 // the host
    union {
        Kernels kernels;         // the CPU's
        struct {                 // the same by the names that ops' files write
            const KernelRow *cpu;    // NULL with no `start`: not implemented
            PrepareFn *prepare;
            size_t own_size;
        };
    };
    StartFn *start;              // instead of rows: an asynchronous kernel, of whichever device; it waits for the
                                 // outside
    Status *(*open)(Opening *);  // state of one node in one session; NULL: none
    void (*close)(void *state);  // what open filled, even where it failed (kernel/kernel.h)
    size_t state_size;           // zeroed before open
    uint16_t lasting_at, lasting_size;  // the bytes of a state that a checkpoint keeps: plain ones; size 0: none
    void (*draw)(void *state, uint64_t blocks, uint32_t out[6]);  // the state's random stream as it stands: key, counter.
                                 // It then goes so many blocks further. NULL: it has none
    const Tensor *(*value)(const void *state);  // output 0, where it stays the same from open to close; NULL: run the
                                                // kernel
    uint32_t host;               // BIT(i): input i is read on the host (small integers: shapes, axes, indices)
    uint32_t host_out;           // BIT(i): output i is written on the host
    uint32_t alias;              // BIT(i): output i is input i's buffer, perhaps in another shape
    uint32_t inplace;            // BIT(i): output 0 may be written over input i, if nobody else needs it
    uint32_t keeps;              // BIT(i): the kernel may keep input i beyond the step (kernel_keep)
    uint32_t update;             // BIT(i): input i is a variable, locked and written in place
    uint32_t replace;            // BIT(i): input i is a variable whose whole value is replaced
    uint32_t read;               // BIT(i): input i is a variable, read without a copy while locked
    uint32_t shape_only;         // BIT(i): of input i the kernel reads the shape, never the data
    uint32_t flags;              // OP_*
    Flow flow;
    const void *row;             // for families: the row of their .def that this op is (elementwise loops ...)
    uint8_t same_rows;           // 1 + the input whose first extent output 0 has; 0: not known (shape_unchanged says
                                 // it)
    PartialFn *partial;          // what is known of output 0, read as a shape or a size, before its value is
} Op;

// Helpers of a kernel table: KERNELS(FLOATS, softmax) names softmax_float, softmax_double ...
#define KERNEL_ROW_(dtype, fn) {DT_##dtype, fn##_##dtype},
#define KERNELS(set, fn) (const KernelRow[]){set(KERNEL_ROW_, fn){DT_INVALID, NULL}}
#define ANY_TYPE(fn) (const KernelRow[]){{DT_INVALID, fn}, {DT_INVALID, NULL}}
#define FLOATS(X, a) X(half, a) X(bfloat16, a) X(float, a) X(double, a)
#define INTEGERS(X, a) \
    X(int8, a) X(int16, a) X(int32, a) X(int64, a) X(uint8, a) X(uint16, a) X(uint32, a) X(uint64, a)
#define COMPLEXES(X, a) X(complex64, a) X(complex128, a)
#define REALS(X, a) FLOATS(X, a) INTEGERS(X, a)
#define NUMBERS(X, a) REALS(X, a) COMPLEXES(X, a)

typedef struct Function Function;  // graph/function.h

// The type of a node: an op with its parsed signature, or a function of the graph's library. Lives for ever, or as long
// as its graph.
typedef struct OpType {
    Str name;
    Signature signature;
    const Op *op;              // NULL: known by its signature only, or a function
    struct Needs *needs;       // compiled; NULL for none
    Str rule;                  // what a graph takes of it, instead of its needs and its function; empty for none
    ShapeFn *shape;            // the op's, or that of the op it is like; NULL for none
    Function *function;        // the function that a node of this type calls
    struct DynamicKernel *dynamic;  // kernels registered at run time (kernel/registry.h)
    const struct RewriteRow *rewrites;  // that may begin at such a node (graph/rewrite.h); NULL: none
} OpType;

// Says which ops and which rewrites of them (graph/rewrite.h; may be NULL) were compiled in: tables that end with NULL.
// Called by whoever links them (api/, the test programs), any number of times with the same tables, before anything else
// of the graph.
void op_table_set(const Op *const *table, const Rewrite *const *rewrites);
// The type of that name, compiled ops first, then registered ones, then the list of known signatures. Takes a lock and
// parses the signature the first time only.
FALLIBLE Status *op_type_find(Str name, const OpType **out);  // NOT_FOUND
// Adds an op made at run time (a plug-in's): ALREADY_EXISTS where the name is taken. The Op and its texts live for
// ever.
FALLIBLE Status *op_register(const Op *op, const OpType **out);
// Visits the ops that were compiled in, in the table's order, then those registered: NULL after the last.
const Op *op_at(size_t index);
Str op_name(const Op *op);
