// Shapes — what a shape function sees: the shapes of a node's inputs, and the values of those that are known by now.
//
// The same function runs when the node is added to a graph (little is known), when a plan is specialised (nearly
// everything is) and just before a dynamic node runs (all is).
#pragma once
#include "graph/graph.h"

struct Shapes {
    const Node *node;
    const Shape *in;                // n_in
    const Tensor *const *value;     // n_in; NULL where the value is not known, else host memory
    // n_in; what a resource input's handle says, or the variable behind it where that is at hand; NULL where nothing is
    // known
    const HandleShape *const *handle;
    Shape *out;                     // n_out, unknown at first
    HandleShape **handle_out;       // n_out; set for outputs that are handles
    int32_t n_in, n_out;
    Arena *arena;                   // for handle_out
    int partial_depth;              // the machine's, as is the next: how far values were followed upstream
    int *partial_budget;
};

// An input that is a shape vector (or a size scalar): what is known of it. Unknown value, known length n: n unknown
// dims.
FALLIBLE Status *shapes_input_shape(Shapes *s, int input, Shape *out);
// The value of a scalar integer input; false where unknown.
bool shapes_input_int(Shapes *s, int input, int64_t *out);

// Shape functions that serve many ops.
Status *shape_unchanged(Shapes *s);         // every output has the shape of input 0
Status *shape_scalar(Shapes *s);            // every output is a scalar
Status *shape_broadcast_all(Shapes *s);     // NumPy broadcasting of all inputs
Status *shape_same_all(Shapes *s);          // the inputs agree; the output is what all of them know
Status *shape_from_attr(Shapes *s);         // attr "shape"
Status *shape_none(Shapes *s);              // no outputs, or nothing known of them
