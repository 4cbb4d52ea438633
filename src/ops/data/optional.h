// Optional — an element or none, as a value: what a variant holds.
#pragma once
#include "data/tuple.h"

// A scalar variant tensor that holds the element, whose tensors it takes over, also on failure. NULL: none.
FALLIBLE Status *optional_tensor(Tensor *element, int n, Tensor *out);
