// Epilogues of nodes — what the fused forms of convolutions and products do behind them (attribute fused_ops). Which
// nodes become part of one, ops/rewrite/epilogue.c says.
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
// The loop of an activation that is none of "none" and "relu by the product itself".
FALLIBLE Status *epilogue_activation(const Epilogue *epilogue, DType dtype, ElementwiseLoop *out);

// ---- parts by name

// The activation's name, as a literal; NULL where the part is none that a kernel does on its way out.
const char *epilogue_activation_name(Str part);
// How many of `args` the part reads.
int epilogue_args(Str part);
// Parts that TensorFlow's graph optimizers write and that stand as nodes of their own here (ops/rewrite/epilogue.c).
#define EPILOGUE_NORM "FusedBatchNorm"
#define EPILOGUE_GELU "GeluApproximate"
#define EPILOGUE_EXACT_GELU "GeluExact"

// Whether the channels lie before the planes.
static inline bool node_in_planes(const Node *node) {
    const AttrValue *format = node_attr_find(node, "data_format");
    return format && (str_is(format->s, "NCHW") || str_is(format->s, "NCDHW"));
}
