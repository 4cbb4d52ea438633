// MulSum — what products that are summed become.
#pragma once
#include "graph/build.h"
#include "graph/extents.h"
#include "ops/op.h"

extern const Contraction products_summed;  // of Mul
bool is_constant_ones(const Tensor *value);  // float or double; false for NULL
