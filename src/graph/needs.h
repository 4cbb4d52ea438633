// Needs — an op's conditions on its inputs, in one string, checked at import where shapes are known and always before
// the kernel runs. So a kernel has no second copy of them.
//
//     "rank(logits) >= 1, vector(axis), same_shape(a, b), dim(x, -1) == dim(y, 0), nonempty(x), each(paddings) >= 0"
//
// Conditions are separated by commas. rank(x), dim(x, i), size(x) (elements) and plain integers are compared with
// == >= <= > < !=; scalar(x), vector(x), matrix(x), scalar_or_vector(x), one(x) (a single element), nonempty(x),
// same_shape(x, y), same_rank(x, y); each(x) compares every element of a host integer input. For a list argument the
// condition holds for each of its tensors. What is unknown yet passes.
#pragma once
#include "graph/graph.h"

typedef struct Needs Needs;

// Compiles the string; INTERNAL with the place where it is malformed (found by the op suite, never by input).
FALLIBLE Status *needs_compile(const char *text, const Signature *signature, Arena *arena, Needs **out);
// INVALID_ARGUMENT: "rank(logits) >= 1 is required, but logits has shape []" (the caller adds node and op).
FALLIBLE Status *needs_check(const Needs *needs, const Node *node, const Shape *in, const Tensor *const *value);
