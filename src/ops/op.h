// What an op's file needs: the Op struct, shape helpers, what a kernel sees, formulas. An op's file looks like this one,
// math/cross.c; ops/README.md has it at more length, and a formula and a row beside it:
//
//     // Cross — the cross product of vectors of three elements.
//     #define SELF "ops/math/cross.c"
//     #include "ops/op.h"
//
//     #ifdef T  // ---------------------------------------- kernel, once per dtype
//     static Status *FN(cross)(Kernel *k) { ... }
//     #else     // ---------------------------------------- schema and gradient
//     #define EACH_REAL
//     #include "ops/each_dtype.h"
//     const Op op_Cross = {
//         .signature = "Cross(a: T, b: T) -> product: T; T: reals",
//         .doc = "...", .needs = "...", .shape = shape_same_all, .grad = cross_grad, .cpu = KERNELS(REALS, cross),
//     };
//     #endif
//
// An op whose kernel doesn't depend on the dtype needs neither SELF nor each_dtype.h. Each op is written out like that;
// what several of a file have in common is a macro of fields (`#define ROWS_FIELDS .prepare = ..., .own_size = ...`). A
// macro that makes whole ops is for families of five rows and more, and REF_AND_RESOURCE for pairs.
#pragma once
#include <math.h>

#include "base/checked.h"
#include "formula/ops.h"
#include "graph/shapes.h"
#include "hlo/hlo.h"
#include "kernel/kernel.h"

// A function that no step waits for, in a file whose kernels are: compiled for size.
#define COLD __attribute__((cold))

// Two ops with one kernel: TensorFlow has most ops on a queue, table or stack by a reference to its handle and, with
// another name, by a resource. `arguments` goes on behind the handle; `bits` are the flags of both.
#define REF_AND_RESOURCE(Ref, Resource, handle, arguments, bits, ...)                                            \
    const Op op_##Ref = {                                                                                        \
        .signature = #Ref "(" handle ": ref string" arguments, .flags = OP_STATEFUL | OP_NO_GRADIENT | (bits),   \
        __VA_ARGS__                                                                                              \
    };                                                                                                           \
    const Op op_##Resource = {                                                                                   \
        .signature = #Resource "(" handle ": resource" arguments "; stateful", .flags = OP_NO_GRADIENT | (bits), \
        __VA_ARGS__                                                                                              \
    };
