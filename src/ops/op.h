// What an op's file needs: the Op struct, shape helpers, what a kernel sees, formulas. An op's file looks like this:
//
//     // Softmax — exponentials of each row, scaled to sum to one.
//     #define SELF "ops/nn/softmax.c"
//     #include "ops/op.h"
//
//     #ifdef T  // ---------------------------------------- kernel, once per dtype
//     static Status *FN(softmax)(Kernel *k) { ... }
//     #else     // ---------------------------------------- schema and gradient
//     #define EACH_FLOAT
//     #include "ops/each_dtype.h"
//     const Op op_Softmax = { .signature = "...", .cpu = KERNELS(FLOATS, softmax), ... };
//     #endif
//
// An op whose kernel doesn't depend on the dtype needs neither SELF nor each_dtype.h.
#pragma once
#include <math.h>

#include "base/checked.h"
#include "formula/ops.h"
#include "graph/shapes.h"
#include "kernel/kernel.h"
