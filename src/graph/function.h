// Function — a named graph with typed arguments and results; FunctionLibrary — those of one graph.
//
// A function is kept as the bytes of the FunctionDef that it came as; only its signature is decoded. Its body is made
// into nodes where it is inlined or called, since libraries hold a thousand functions that never run. A function's name
// is an op type in its graph.
#pragma once
#include "graph/graph.h"
#include "proto/messages.h"

struct Function {
    _Atomic int32_t references;
    Arena arena;
    TensorList tensors;         // defaults in the signature
    Str bytes;                  // the serialized FunctionDef, in the arena
    OpType type;                // name, signature, .function = this
};

// `function` is differentiated by `gradient`, another function. The names lie in the graph's arena.
typedef struct {
    Str function, gradient;
} FunctionGradient;

typedef struct FunctionLibrary {
    Map functions;              // Str -> Function *, each holding a reference
    VEC(Function *) order;      // as they came
    VEC(Function *) removed;    // nodes may still be of their type
    Map gradients;              // Str -> FunctionGradient *
    VEC(FunctionGradient *) gradient_order;
    VEC(FunctionGradient) registered;  // the gradient of an op type, by function: kept for export
} FunctionLibrary;

void function_library_free(FunctionLibrary *library);

// Takes a copy of the bytes. INVALID_ARGUMENT naming the function.
FALLIBLE Status *function_new(Str def_bytes, Function **out);
Function *function_retain(Function *function);
void function_release(Function *function);
static inline void function_auto(Function **function) {
    function_release(*function);
}
// The whole definition, decoded into the arena; views the function's bytes.
FALLIBLE Status *function_body(const Function *function, Arena *arena, const FunctionDef **out);
Function *function_find(const Graph *graph, Str name);
// Keeps a reference. Idempotent for an equal definition; INVALID_ARGUMENT for another one of the same name, or for the
// name of an op.
FALLIBLE Status *function_add(Graph *graph, Function *function);
FALLIBLE Status *function_remove(Graph *graph, Str name);  // NOT_FOUND
// Names the function that computes the gradient of another; INVALID_ARGUMENT where it has a different one already.
FALLIBLE Status *function_set_gradient(Graph *graph, Str function, Str gradient);
// Adds what another graph's library has: functions, shared, and which is whose gradient.
FALLIBLE Status *function_add_library(Graph *graph, const Graph *from);
Str function_gradient(const Graph *graph, Str function);   // empty where there is none

// Makes the body in `graph` under `prefix/`: argument i (of the flat list) is replaced by arguments[i] (or, where
// arguments is NULL, becomes an _Arg node), placeholders in attributes by `attrs` of the calling node. Result i comes
// out in results[i]; nodes of control results in `controls`. Every body node that reads nothing of the body gets
// `before` as control input, if given. Calls inside the body stay calls. All or nothing. The count of nodes in a graph
// is limited: RESOURCE_EXHAUSTED.
typedef struct {
    Graph *graph;
    Str prefix;
    const Output *arguments;
    int32_t n_arguments;
    const AttrEntry *attrs;
    int32_t n_attrs;
    Node *before;
    Str device;                 // for body nodes that ask for none
    Output *results;            // room for the flat count of results
    int32_t n_results;
    Node **controls;            // set: of the graph's arena
    int32_t n_controls;
} Inlining;
FALLIBLE Status *function_inline(const Function *function, Inlining *inlining);
enum { MAX_GRAPH_NODES = 1 << 26 };

// A part of a graph as a function. Edges from outside the part must be among the inputs.
typedef struct {
    Str name;
    bool append_hash;                 // "_" and the hash of the definition behind the name
    Node *const *nodes;
    int n_nodes;                      // -1: every node but those of the inputs, which then have one output each
    const Output *inputs, *outputs;
    int n_inputs, n_outputs;
    const char *const *output_names;  // NULL: from the nodes' names
    Node *const *controls;            // nodes that a call must have run
    int n_controls;
    const char *const *control_names;
    Str description;
} FunctionSpec;
// INVALID_ARGUMENT: inputs that are references or repeated, edges from elsewhere, names given twice.
FALLIBLE Status *function_from_graph(const Graph *graph, const FunctionSpec *spec, Function **out);
