// Formula — graph fragments that read like the formula: gradients, expansions of composed ops, optimizers, layers.
//
//     static void softmax_grad(Formula *f) {            // dx = (dy - sum(dy * y)) * y
//         Output y = f->y[0], dy = f->dy[0];
//         f->dx[0] = Mul(Sub(dy, SumLast(Mul(dy, y))), y);
//     }
//
// `f` is ambient: the PascalCase macros of formula/ops.h add a node of that op and give its output. The first error
// stays in f->status; after it every call gives an output without a node and does nothing, so a formula needs no
// checks.
#pragma once
#include "graph/build.h"

enum { FORMULA_NAME = 256 };

struct Formula {
    Graph *graph;
    const Node *node;        // the node to differentiate or expand; NULL in free formulas
    Output *x, *y, *dy;      // its inputs, outputs, and the gradients of its outputs: {NULL} for one that has no gradient
                             // by its type, zeros for one that merely nobody used
    uint32_t dy_used;        // BIT(i): somebody used output i, and dy[i] is more than zeros
    Output *dx;              // to set: gradients of its inputs; {NULL} where there is none
    Output *dx_indices;      // with an IndexedSlices gradient: dx[i] are the rows, dx_indices[i] which,
                             // dx_shape[i] of what
    Output *dx_shape;
    Output *results;         // to set by an expansion: one per output
    int n_x, n_y;
    Str scope;               // names of new nodes begin with "scope/"
    Str device;
    Node *before;            // control input of new nodes without data inputs, or NULL
    Status *status;          // the first error
};

typedef struct {
    const Output *edges;     // of one argument: n == 1 and !is_list for a plain one
    int n;
    bool is_list;
} FormulaArg;
typedef struct {
    const char *name;        // NULL ends the list
    AttrValue value;
} FormulaAttr;

// Adds a node named "scope/op", or "scope/op_1" ... Types and numbers are inferred from the inputs; `attrs` may be
// NULL. NULL once something has failed.
Node *formula_node(Formula *f, const char *op, const FormulaArg *args, int n_args, const FormulaAttr *attrs);
// Output 0 of a node with `n_in` plain inputs.
Output formula_op(Formula *f, const char *op, const Output *in, int n_in, const FormulaAttr *attrs);
// The same with every attribute of f->node that the op has too and that doesn't follow from the inputs: strides,
// padding ...
Output formula_alike(Formula *f, const char *op, const Output *in, int n_in);
void formula_fail(Formula *f, Status *status);      // keeps the first error, frees later ones

// Constants. `like` decides the type. Values are converted; a scalar for shape [].
Output formula_scalar(Formula *f, double value, Output like);
Output formula_number(Formula *f, double value, DType dtype);
Output formula_int(Formula *f, int64_t value, DType dtype);
Output formula_ints(Formula *f, const int64_t *values, int n, DType dtype);
Output formula_tensor(Formula *f, const Tensor *value);

// What takes more than one node.
Output formula_sum_to(Formula *f, Output x, Output like);  // undoes broadcasting: sums x to the shape of `like`
Output formula_shape(Formula *f, Output x, DType dtype);   // a constant where it is known
Output formula_zeros(Formula *f, Output like);

DType output_type(Output output);                   // base type; DT_INVALID for no output
const Shape *output_shape(Output output);           // as inferred; unknown for no output
bool formula_is_zero(Output output);                // {NULL}: there is no gradient
