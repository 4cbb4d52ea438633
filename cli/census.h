// Census — what a graph and the functions that it calls are made of, counted in the file's own bytes: nothing is built
// or run.
#pragma once
#include "cli.h"
#include "wire.h"

enum { MOST_OPS = 4096, MOST_FUNCTIONS = 65536 };

typedef struct {
    char op[128], where[320];   // `where`: the first such node, "node" or "function/node"
    int64_t n;
    bool runs, known;
} Count;

typedef struct {
    int64_t n, elements;
    double bytes;
} Amount;

typedef struct {
    Bytes name, function;       // FunctionDef
    bool reached;
} FunctionPart;

typedef struct {
    Count ops[MOST_OPS];
    int n_ops;
    FunctionPart *functions;
    int n_functions, n_reached;
    int64_t nodes, function_nodes;
    Amount variables, constants;
} Census;

bool census_take(Bytes graph_def, Census *out);   // false after a message
void census_clear(Census *census);
int census_missing(const Census *census);         // how many kinds of operation can't run
const char *wire_shape(Bytes shape);              // of a TensorShapeProto, "[? 28]"; valid until the eighth next call
