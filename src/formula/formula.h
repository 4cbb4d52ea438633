// Formula — graph fragments that read like the formula: gradients, expansions of composed ops, optimizers, layers.
//
//     static void softmax_grad(Formula *f) {            // dx = (dy - sum(dy * y)) * y
//         Output y = f->y[0], dy = f->dy[0];
//         f->dx[0] = Mul(Sub(dy, SumLast(Mul(dy, y))), y);
//     }
//
// `f` is ambient: the PascalCase macros of formula/ops.h add a node of that op and give its output. The first error stays
// in f->status; after it every call gives an output without a node and does nothing, so a formula needs no checks.
#pragma once
#include "graph/build.h"

enum { FORMULA_NAME = 256 };

struct Formula {
    Graph *graph;
    const Node *node;        // the node to differentiate or expand; NULL in free formulas
    Output *x, *y, *dy;      // its inputs, outputs, and the gradients of its outputs ({NULL} where there is none)
    Output *dx;              // to set: gradients of its inputs; {NULL} where there is none
    Output *dx_indices;      // with an IndexedSlices gradient: dx[i] are the rows, dx_indices[i] which, dx_shape[i] of what
    Output *dx_shape;
    Output *results;         // to set by an expansion: one per output
    int n_x, n_y;
    Str scope;               // names of new nodes begin with "scope/"
    Str device;
    Node *before;            // control input of new nodes without data inputs, or NULL
    Status *status;          // the first error
};

// Adds a node. Inputs are the op's arguments in order; a list argument is one INPUT_LIST. Attributes end with {0}.
typedef struct {
    const Output *edges;     // of an argument: n == 1 and !is_list for a plain one
    int n;
    bool is_list;
} FormulaArg;
typedef struct {
    const char *name;
    AttrValue value;
} FormulaAttr;
Node *formula_node(Formula *f, const char *op, const FormulaArg *args, int n_args, const FormulaAttr *attrs, int n_attrs);
Output formula_op(Formula *f, const char *op, const Output *in, int n_in, const FormulaAttr *attrs, int n_attrs);
void formula_fail(Formula *f, Status *status);      // keeps the first error, frees later ones

// Constants. `like` decides the type. Values are converted; a scalar for shape [].
Output formula_scalar(Formula *f, double value, Output like);
Output formula_int(Formula *f, int64_t value, DType dtype);
Output formula_ints(Formula *f, const int64_t *values, int n, DType dtype);
Output formula_tensor(Formula *f, const Tensor *value);

DType output_type(Output output);                   // base type
const Shape *output_shape(Output output);           // as inferred
