// Scaled convolutions — factors and sums of the output channels that become part of a constant filter and its bias.
#pragma once
#include "ops/op.h"

// The convolution of a constant filter that makes `edge`, which nobody else reads, or NULL. `*out_bias`: the constant
// that a BiasAdd adds in between, or {NULL}.
const Node *conv_behind(Output edge, Output *out_bias);
// That convolution with its output channels times the constant `s`, a vector of them or a single number.
Output conv_scaled(Formula *f, const Node *conv, Output s);

// What a Mul and an Add of f->node come to; {NULL}: nothing less.
Output conv_simplify_product(Formula *f);
Output conv_simplify_sum(Formula *f);
