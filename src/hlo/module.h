// Module — the StableHLO text of some nodes of a graph, for given shapes: what a device compiles.
//
// The text is one function @main. Its arguments are the inputs and variables that are read, constants too large for the
// text, and the random streams of its nodes; its results the outputs asked for, the variables' new values, and one i1 for
// each check that TensorFlow makes. Pure: no lock, no device, no change of the graph; any thread, as long as the graph
// stays as it is.
#pragma once
#include "graph/graph.h"

// A variable that members read or assign, by reference or by resource.
typedef struct {
    DType dtype;
    Shape shape;              // of its value; rank -1: it has none yet, and may only be assigned
} HloVariable;

// An edge from outside that members read.
typedef struct {
    Output edge;
    int32_t variable;         // the edge is a handle of that variable; -1: a value
    DType dtype;              // of a value
    Shape shape;              // known
    const Tensor *known;      // its value, where the host knows it; else NULL. It is not read as an argument then
} HloInput;

typedef struct {
    Node *const *members;     // in an order that respects edges. What they read is a member's or an input
    int32_t n_members;
    const HloInput *inputs;
    int32_t n_inputs;
    const HloVariable *variables;
    int32_t n_variables;
    const Output *outputs;    // of members. A reference or handle to a variable stands for its value at the end
    int32_t n_outputs;
    const int32_t *donates;   // of each input: the output that may take its memory, -1: none. NULL: none. Variables are
                              // always donated to their new value where that has the same shape
    // Runs a stateless node on the host: small integers, shapes. `in` have values, or only shapes where the op reads no
    // more (OP_FROM_SHAPES). Each `out` is then the caller's. NULL, or an error: the node is written instead.
    Status *(*compute)(void *context, const Node *node, const Tensor *const *in, Tensor *out);
    // What the op refuses when it is prepared for these shapes and, where they are known, values: INVALID_ARGUMENT. NULL: no
    // one asks.
    Status *(*check)(void *context, const Node *node, const Tensor *const *in);
    void *context;
    size_t max_text;          // bytes; 0: 64 MiB
    size_t max_constant;      // bytes of a constant in the text, larger ones are arguments; 0: 1,024
    bool fast_products;       // products of float may be made of less: TF32, bfloat16 passes
} HloSpec;

typedef enum { HLO_INPUT, HLO_VARIABLE, HLO_CONSTANT, HLO_STREAM } HloArgumentKind;
typedef struct {
    HloArgumentKind kind;
    int32_t index;            // of the spec's inputs or variables
    DType dtype;
    Shape shape;
    Tensor constant;          // HLO_CONSTANT: the module holds a reference
    const Node *node;         // HLO_STREAM: whose; [6] uint32: key, counter (loops/random.h)
    uint64_t blocks;          // HLO_STREAM: how far its stream goes
} HloArgument;

typedef enum { HLO_OUTPUT, HLO_ASSIGNED, HLO_CHECKED } HloResultKind;
typedef struct {
    HloResultKind kind;
    int32_t index;            // of the spec's outputs or variables
    DType dtype;              // bool for HLO_CHECKED: false where the step fails
    Shape shape;
    int32_t argument;         // whose memory it takes; -1: none
    const Node *node;         // HLO_CHECKED: the member, what fails and why
    Code code;
    const char *message;
} HloResult;

typedef struct {
    Text text;
    HloArgument *arguments;   // in the order of @main
    HloResult *results;
    int32_t n_arguments, n_results;
    Arena arena;
} HloModule;

// UNIMPLEMENTED naming the node that can't be written for these types, shapes and values; INVALID_ARGUMENT what its op
// refuses; RESOURCE_EXHAUSTED where the text is longer than it may be.
FALLIBLE Status *hlo_module(const HloSpec *spec, HloModule *out);
void hlo_module_clear(HloModule *module);
static inline void hlo_module_auto(HloModule *module) {
    hlo_module_clear(module);
}

// Whether the node may be a member: its op has `.hlo`, an `.expand` that leads to such, or only names its input; the types
// are XLA's; so it is with the functions that it calls. hlo_module may still find that it can't for these shapes.
bool hlo_emits(const Node *node);
