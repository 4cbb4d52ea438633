// Held — the element of a variant tensor that is a tensor itself.
#pragma once
#include "tensor/tensor.h"

// Takes the tensor over, also on failure. One reference.
FALLIBLE Status *held_new(Tensor tensor, Object **out);
// Element i of a variant tensor, borrowed. INVALID_ARGUMENT where it holds no tensor.
FALLIBLE Status *held_get(const Tensor *variant, int64_t i, const Tensor **out);
