// Pad — the shape of padded tensors, and what sums know of them: a sum of nothing else is one node (pad_sum.c).
#pragma once
#include "ops/op.h"

// What is known of in + sign * (before + after), given the shape and, or NULL, the value of paddings.
FALLIBLE Status *padded_shape(const Shape *in, const Shape *paddings, const Tensor *value, int sign, Shape *out_shape);
// Whether a node is a Pad with zeros.
bool is_padded(const Node *node);
