// Function — a named graph with typed arguments and results; FunctionLibrary — those of one graph.
//
// A function is kept as the FunctionDef that it came as; its body is made into nodes only where it is inlined or called,
// since libraries hold a thousand functions that never run. A function's name is an op type in its graph.
#pragma once
#include "graph/graph.h"
#include "proto/messages.h"

struct Function {
    _Atomic int32_t references;
    Arena arena;
    TensorList tensors;         // defaults in the signature
    Str bytes;                  // the serialized FunctionDef, owned
    const FunctionDef *def;     // decoded: views into `bytes`
    OpType type;                // name, signature, .function = this
    Str gradient;               // the function that computes its gradient, or empty
};

typedef struct FunctionLibrary {
    Map functions;              // Str -> Function *, each holding a reference
    VEC(Function *) order;      // as they came
} FunctionLibrary;

// Takes a copy of the bytes. INVALID_ARGUMENT naming the function.
FALLIBLE Status *function_new(Str def_bytes, Function **out);
Function *function_retain(Function *function);
void function_release(Function *function);
Function *function_find(const Graph *graph, Str name);
// Idempotent for an equal definition; INVALID_ARGUMENT for another one of the same name.
FALLIBLE Status *function_add(Graph *graph, Function *function);
FALLIBLE Status *function_remove(Graph *graph, Str name);

// Makes the body in `graph` under `prefix/`: argument i is replaced by arguments[i] (or, where arguments is NULL, becomes
// an _Arg node), placeholders in attributes by `attrs` of the calling node. Result i comes out in results[i]; nodes of
// control results in `*controls`. Every body node without inputs gets `before` as control input, if given. Depth and node
// budget are checked: RESOURCE_EXHAUSTED.
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
    Node **controls;            // of the graph's arena
    int32_t n_controls;
} Inlining;
FALLIBLE Status *function_inline(const Function *function, Inlining *inlining);
