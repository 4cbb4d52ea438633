// Elementwise — one element in, one element out: typed loops for every unary, binary and comparison op.
//
// Loops exist for compute types only (float, double, int32, int64, uint32, uint64, complex64, complex128, bool). half,
// bfloat16 and the small integers pass through tiles that stay in L1: elementwise_run converts in, computes, converts
// out. Results are TensorFlow's: Maximum and Minimum propagate NaN, FloorMod has the divisor's sign, integers wrap.
// An input may be the output where the elements have the same size; otherwise they must not overlap.
#pragma once
#include "tensor/dtype.h"

// A row of unary.def, binary.def or compare.def. There is one constant per row, elementwise_Add and so on; declared here
// are those that ops outside the families name. The others' declarations stand beside their only user, and no header
// lists all rows, so that a new row leaves the users of this header alone.
typedef struct {
    const char *name;        // of TensorFlow's op
    uint16_t index;          // elementwise_index.h
    uint8_t arity;           // 1 or 2
    bool to_bool;            // the result is bool
    bool to_real;            // the result is the real type of a complex one
    bool is_long;            // tens of instructions
} ElementwiseOp;
#define ELEMENTWISE(Name) extern const ElementwiseOp elementwise_##Name
ELEMENTWISE(Add);
ELEMENTWISE(Sub);
ELEMENTWISE(Mul);
ELEMENTWISE(Div);
ELEMENTWISE(Minimum);
ELEMENTWISE(Maximum);
ELEMENTWISE(Equal);
ELEMENTWISE(Conj);
ELEMENTWISE(Square);
ELEMENTWISE(Sigmoid);
ELEMENTWISE(Tanh);

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
bool elementwise_find(const ElementwiseOp *op, DType dtype, ElementwiseLoop *out);
// The op of that name in TensorFlow ("AddV2", "InvGrad" and other twins included); NULL where there is none.
const ElementwiseOp *elementwise_named(Str name);
const ElementwiseOp *elementwise_at(int index);  // NULL behind the last
// What an element takes where memory is no matter, roughly.
int elementwise_picoseconds(const ElementwiseOp *op, const ElementwiseLoop *loop);

// Runs the loop on elements as they lie in memory. Returns the faults.
int64_t elementwise_run(const ElementwiseLoop *loop, const void *a, const void *b, void *out, int64_t n, int64_t sa,
                        int64_t sb);

// out[i] = condition[i * sc] ? a[i * sa] : b[i * sb], for any plain type by its size: 1, 2, 4, 8 or 16 bytes.
typedef void (*SelectFn)(const bool *condition, const void *a, const void *b, void *out, int64_t n, int64_t sc,
                         int64_t sa, int64_t sb);
SelectFn elementwise_select(size_t element_size);  // NULL for another size
