// Elementwise — one element in, one element out: typed loops for every unary, binary and comparison op.
//
// Loops exist for compute types only (float, double, int32, int64, uint32, uint64, complex64, complex128, bool). half,
// bfloat16 and the small integers pass through tiles that stay in L1: elementwise_run converts in, computes, converts
// out. Results are TensorFlow's: Maximum and Minimum propagate NaN, FloorMod has the divisor's sign, integers wrap.
// An input may be the output where the elements have the same size; otherwise they must not overlap.
#pragma once
#include "tensor/dtype.h"

typedef enum {
#define UNARY(name, kinds, expression) ELEMENTWISE_##name,
#define UNARY_LONG UNARY
#define UNARY_TO_BOOL UNARY
#define UNARY_TO_REAL UNARY
#define UNARY_GUARDED(name, kinds, expression, guard, careful) ELEMENTWISE_##name,
#define UNARY_ALSO(name, kinds, expression)
#define BINARY(name, kinds, expression) ELEMENTWISE_##name,
#define BINARY_HOT BINARY
#define BINARY_HOT_ALSO(name, kinds, expression)
#define BINARY_LONG BINARY
#define BINARY_ALSO(name, kinds, expression)
#define COMPARE(name, kinds, expression) ELEMENTWISE_##name,
#define COMPARE_ALSO(name, kinds, expression)
#define TWIN(name)
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"
#include "loops/elementwise_undef.h"
    ELEMENTWISE_OPS
} ElementwiseOp;

// out[i] = op(a[i * sa], b[i * sb]) for 0 <= i < n, in elements of the compute type; sa and sb are 0 or 1. A unary op
// ignores b. `param` is what the op's row says (a slope, a tolerance, the width of a shifted integer).
// Returns the number of faults, elements that have no result (they become 0): an integer divided by zero, an integer
// raised to a negative power. Other ops return 0.
typedef int64_t (*ElementwiseFn)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,
                                 double param);

typedef void (*ConvertFn)(const void *from, void *to, int64_t n);

typedef struct {
    ElementwiseFn fn;
    ConvertFn load, store;   // NULL: the loop reads (writes) memory directly
    DType in, out;           // the types in memory; out is bool for comparisons, real for Real, Imag, Abs and Angle
    DType compute;           // the type of the loop's inputs
    uint8_t in_size, out_size, compute_size;
    uint8_t arity;           // 1 or 2
    double param;            // set by elementwise_find for shifts (bits of the type); the caller's for slopes
} ElementwiseLoop;

// The loop of an op for a type, on this CPU's level; false where the op does not take the type.
bool elementwise_find(ElementwiseOp op, DType dtype, ElementwiseLoop *out);
// The op of that name in TensorFlow ("AddV2", "InvGrad" and other twins included); ELEMENTWISE_OPS where there is none.
ElementwiseOp elementwise_named(Str name);
const char *elementwise_name(ElementwiseOp op);
// What an element takes where memory is no matter, roughly.
int elementwise_picoseconds(ElementwiseOp op, const ElementwiseLoop *loop);

// Runs the loop on elements as they lie in memory. Returns the faults.
int64_t elementwise_run(const ElementwiseLoop *loop, const void *a, const void *b, void *out, int64_t n, int64_t sa,
                        int64_t sb);

// out[i] = condition[i * sc] ? a[i * sa] : b[i * sb], for any plain type by its size: 1, 2, 4, 8 or 16 bytes.
typedef void (*SelectFn)(const bool *condition, const void *a, const void *b, void *out, int64_t n, int64_t sc,
                         int64_t sa, int64_t sb);
SelectFn elementwise_select(size_t element_size);  // NULL for another size
