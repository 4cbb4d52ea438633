// Pad — the shape of padded tensors, and what sums know of them: a sum of nothing else is one node (pad_sum.c).
#pragma once
#include "graph/build.h"
#include "ops/op.h"

// What is known of in + sign * (before + after), given the shape and, or NULL, the value of paddings.
FALLIBLE Status *padded_shape(const Shape *in, const Shape *paddings, const Tensor *value, int sign, Shape *out_shape);
// Whether a node is a Pad with zeros.
bool is_padded(const Node *node);
// The intake of sums: `before` is padded, and can be summed as it lies.
bool pad_sum_takes(const Node *node, const Node *before);
FALLIBLE Status *pad_sum_write(NodeBuilder *builder, const Node *node);
