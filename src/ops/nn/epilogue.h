// Epilogues of nodes — what the contracted forms of convolutions and products do behind them (attribute fused_ops), and
// which nodes the planner may put there.
//
// fused_ops: "BiasAdd", then "Add", then one activation, each if it is there. `args` has the bias and what is added.
#pragma once
#include "graph/build.h"
#include "loops/elementwise.h"
#include "loops/epilogue.h"
#include "ops/op.h"

// Reads fused_ops and leakyrelu_alpha. UNIMPLEMENTED where it is another sequence; INVALID_ARGUMENT where num_args
// differs.
FALLIBLE Status *epilogue_of_node(const Node *node, Epilogue *out);
static inline bool epilogue_is_empty(const Epilogue *e) {
    return !e->bias && !e->sum && !e->activation;
}
// Op.simplify of these ops: where fused_ops says what their kernel doesn't do (FusedBatchNorm with its four vectors as
// args, an activation of other graph optimizers, with `sums` false Add, too), the op and what follows it as nodes of
// their own. Until then epilogue_of_node tells of such a node that it is `apart`.
void epilogue_simplify(Formula *f, const char *op, bool sums);
// Op.simplify of BiasAdd and of activations: behind a convolution or product that was only given another shape (layers
// over sequences are written so) they stand in front of the new shape, where they may join it.
void epilogue_before_reshape(Formula *f);
// The loop of an activation that is none of "none" and "relu by the product itself".
FALLIBLE Status *epilogue_activation(const Epilogue *epilogue, DType dtype, ElementwiseLoop *out);

// Contraction.takes of ops whose output has its channels last or, with data_format NCHW, second. With `sums` a tensor
// of the output's shape may be added.
bool epilogue_takes(Node *const *chain, int n, const Node *next, bool sums);
// Contraction.write: the root's inputs, the args; the root's attributes, as far as the new op has them.
Status *epilogue_write(NodeBuilder *builder, Node *const *chain, int n);
