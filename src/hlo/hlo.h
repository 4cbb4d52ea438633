// Hlo — how an op is written as StableHLO: its `.hlo` function reads the node's inputs, computes with the words below
// and gives its outputs.
//
//     static Status *softmax_hlo(Hlo *h) {                       // exp(x - max) / sum
//         HloValue x = hlo_in(h, 0), e = hlo_exp(h, hlo_sub(h, x, hlo_reduce(h, "maximum", x, LAST(x), KEEP)));
//         return hlo_out(h, 0, hlo_div(h, e, hlo_reduce(h, "add", e, LAST(x), KEEP)));
//     }
//
// Each word adds one operation, or a few, to the text and gives its value. The first error stays in h->status; after it
// words do nothing and give a value that may be used like any other, so a formula needs no checks. Shapes are known: a
// module is written for given ones. Operands of two and three broadcast as NumPy's do. A `Shape` serves as any list of up
// to eight integers. Values live as long as the module is being written. One thread at a time.
#pragma once
#include "graph/graph.h"

typedef const struct HloArray {
    DType dtype;
    Shape shape;
    int32_t id, part;     // %id, or %id#part of an operation with several results; part -1
} *HloValue;

struct Hlo {
    const Node *node;     // the node that is being written: its attributes are read as ever (node_int ...)
    int32_t n_in, n_out;  // flat
    Status *status;       // the first error
};

// ---------------------------------------- the node

HloValue hlo_in(Hlo *h, int i);                     // of a variable: its value
const Shape *hlo_in_shape(Hlo *h, int i);           // without reading it
const Tensor *hlo_known(Hlo *h, int i);             // the value, where it is known on the host; else NULL
// The same where it must be: UNIMPLEMENTED.
FALLIBLE Status *hlo_need(Hlo *h, int i, const Tensor **out);
// The same as numbers, 0 or nothing where it isn't: element `at`, a list, an axis of x, or the bits of several.
double hlo_need_number(Hlo *h, int i, int64_t at);
Shape hlo_need_list(Hlo *h, int i);
int hlo_need_axis(Hlo *h, int i, int rank);
uint32_t hlo_need_axes(Hlo *h, int i, int rank);
const Shape *hlo_out_shape(Hlo *h, int i);          // what the shape function says; rank -1 where it left that open
DType hlo_out_type(Hlo *h, int i);
// Sets output i and gives the first error so far. INTERNAL where it has another type or shape than was said.
FALLIBLE Status *hlo_out(Hlo *h, int i, HloValue value);
FALLIBLE Status *hlo_out_ints(Hlo *h, int i, Shape numbers);  // numbers that the host knows
void hlo_fail(Hlo *h, Status *status);
void hlo_list_add(Hlo *h, Shape *list, int64_t number);   // UNIMPLEMENTED where it is full

// Input i is a variable: its new value. It may have another shape.
void hlo_assign(Hlo *h, int i, HloValue value);
// Output `out` is the variable that input i is: a reference.
FALLIBLE Status *hlo_out_variable(Hlo *h, int out, int i);
// What TensorFlow answers with an error: the step fails with the node's name and this text (literal) where an element of
// `good` is false.
void hlo_check(Hlo *h, HloValue good, Code code, const char *text);
void hlo_check_range(Hlo *h, HloValue indices, int64_t limit, const char *text);  // 0 <= index < limit
// The node's random stream, which then goes so many blocks further: key and counter, [6] uint32.
HloValue hlo_stream(Hlo *h, uint64_t blocks);

// ---------------------------------------- constants

HloValue hlo_number(Hlo *h, double value, DType dtype);            // scalars. Infinities of integers: the extremes
HloValue hlo_like(Hlo *h, double value, HloValue like);            // of that type
HloValue hlo_int(Hlo *h, int64_t value, DType dtype);
HloValue hlo_fill(Hlo *h, double value, DType dtype, Shape shape);
HloValue hlo_tensor(Hlo *h, const Tensor *value);
HloValue hlo_floats(Hlo *h, const float *values, Shape shape);     // copied
HloValue hlo_iota(Hlo *h, DType dtype, Shape shape, int axis);

// ---------------------------------------- elementwise

HloValue hlo_unary(Hlo *h, const char *op, HloValue x);            // "abs", "chlo.erf": result of x's type
HloValue hlo_binary(Hlo *h, const char *op, HloValue x, HloValue y);
HloValue hlo_compare(Hlo *h, const char *direction, HloValue x, HloValue y);   // EQ NE GE GT LE LT: bool
HloValue hlo_select(Hlo *h, HloValue condition, HloValue x, HloValue y);
HloValue hlo_cast(Hlo *h, HloValue x, DType dtype);                // to bool: x != 0
HloValue hlo_wide(Hlo *h, HloValue x);                             // half and bfloat16 as float
HloValue hlo_bitcast(Hlo *h, HloValue x, DType dtype, Shape shape);
HloValue hlo_to(Hlo *h, const char *op, HloValue x, DType dtype);  // an op of one operand with another type: "real"
HloValue hlo_complex(Hlo *h, HloValue re, HloValue im);
HloValue hlo_real(Hlo *h, HloValue x);
HloValue hlo_imag(Hlo *h, HloValue x);
HloValue hlo_conj(Hlo *h, HloValue x);                             // x where it isn't complex
HloValue hlo_divisor(Hlo *h, HloValue y);      // of integers: checked not to be 0

#define hlo_abs(h, x)    hlo_unary((h), "abs", (x))
#define hlo_neg(h, x)    hlo_unary((h), "negate", (x))
#define hlo_exp(h, x)    hlo_unary((h), "exponential", (x))
#define hlo_expm1(h, x)  hlo_unary((h), "exponential_minus_one", (x))
#define hlo_log(h, x)    hlo_unary((h), "log", (x))
#define hlo_log1p(h, x)  hlo_unary((h), "log_plus_one", (x))
#define hlo_sqrt(h, x)   hlo_unary((h), "sqrt", (x))
#define hlo_rsqrt(h, x)  hlo_unary((h), "rsqrt", (x))
#define hlo_tanh(h, x)   hlo_unary((h), "tanh", (x))
#define hlo_sigmoid(h, x) hlo_unary((h), "logistic", (x))
#define hlo_sign(h, x)   hlo_unary((h), "sign", (x))
#define hlo_floor(h, x)  hlo_unary((h), "floor", (x))
#define hlo_not(h, x)    hlo_unary((h), "not", (x))
#define hlo_square(h, x) hlo_mul((h), (x), (x))
#define hlo_add(h, x, y) hlo_binary((h), "add", (x), (y))
#define hlo_sub(h, x, y) hlo_binary((h), "subtract", (x), (y))
#define hlo_mul(h, x, y) hlo_binary((h), "multiply", (x), (y))
#define hlo_div(h, x, y) hlo_binary((h), "divide", (x), (y))
#define hlo_rem(h, x, y) hlo_binary((h), "remainder", (x), (y))
#define hlo_pow(h, x, y) hlo_binary((h), "power", (x), (y))
#define hlo_max(h, x, y) hlo_binary((h), "maximum", (x), (y))
#define hlo_min(h, x, y) hlo_binary((h), "minimum", (x), (y))
#define hlo_and(h, x, y) hlo_binary((h), "and", (x), (y))
#define hlo_or(h, x, y)  hlo_binary((h), "or", (x), (y))
#define hlo_xor(h, x, y) hlo_binary((h), "xor", (x), (y))
#define hlo_eq(h, x, y)  hlo_compare((h), "EQ", (x), (y))
#define hlo_ne(h, x, y)  hlo_compare((h), "NE", (x), (y))
#define hlo_lt(h, x, y)  hlo_compare((h), "LT", (x), (y))
#define hlo_le(h, x, y)  hlo_compare((h), "LE", (x), (y))
#define hlo_gt(h, x, y)  hlo_compare((h), "GT", (x), (y))
#define hlo_ge(h, x, y)  hlo_compare((h), "GE", (x), (y))
// With a number on one side
#define hlo_plus(h, x, number)   hlo_add((h), (x), hlo_like((h), (number), (x)))
#define hlo_times(h, x, number)  hlo_mul((h), (x), hlo_like((h), (number), (x)))
#define hlo_minus(h, number, x)  hlo_sub((h), hlo_like((h), (number), (x)), (x))    // number - x
#define hlo_is(h, direction, x, number) hlo_compare((h), (direction), (x), hlo_like((h), (number), (x)))

// ---------------------------------------- reductions: over the axes whose bits are set

enum { DROP = 0, KEEP = 1 };                                       // reduced axes go, or stay with one element
#define LAST(x)      (1u << ((x)->shape.rank - 1))
#define ALL_AXES(x)  ((1u << (x)->shape.rank) - 1)
// "add" "multiply" "maximum" "minimum" "and" "or". Sums and products of half and bfloat16 are made in float.
HloValue hlo_reduce(Hlo *h, const char *op, HloValue x, uint32_t axes, int keep);
HloValue hlo_mean(Hlo *h, HloValue x, uint32_t axes, int keep);
// Where the greatest (GT) or least (LT) element along the axis is: the first of equals.
HloValue hlo_arg(Hlo *h, const char *direction, HloValue x, int axis, DType index);
// Sorted along the last axis (stable; LT: up, GT: down), and where each was (int32).
void hlo_sort(Hlo *h, const char *direction, HloValue x, HloValue *out_sorted, HloValue *out_indices);

typedef struct {
    Shape size, stride, low, high;  // of each axis of x; low and high may be negative
    Shape dilation;                 // rank 0: none
} HloWindow;
HloValue hlo_window(Hlo *h, const char *op, HloValue x, const HloWindow *window);
// dy goes to the first of the greatest elements of each window; the sum of what goes there.
HloValue hlo_select_and_scatter(Hlo *h, HloValue x, HloValue dy, const HloWindow *window);

// ---------------------------------------- shapes

HloValue hlo_reshape(Hlo *h, HloValue x, Shape shape);
HloValue hlo_broadcast(Hlo *h, HloValue x, Shape shape);                   // as NumPy
HloValue hlo_spread(Hlo *h, HloValue x, Shape shape, Shape axes);          // dimension i of x goes to axes.dims[i]
HloValue hlo_along(Hlo *h, HloValue vector, HloValue x, int axis);         // a vector over that axis of x
HloValue hlo_transpose(Hlo *h, HloValue x, Shape perm);
HloValue hlo_reverse(Hlo *h, HloValue x, uint32_t axes);
HloValue hlo_slice(Hlo *h, HloValue x, Shape begin, Shape end, const Shape *stride);
HloValue hlo_part(Hlo *h, HloValue x, int axis, int64_t begin, int64_t end);  // a slice of one axis
HloValue hlo_dynamic_slice(Hlo *h, HloValue x, const HloValue *begin, Shape sizes);  // scalars; clamped
HloValue hlo_update_slice(Hlo *h, HloValue x, HloValue update, const HloValue *begin);
// `value` NULL: zeros. Negative low and high crop; `interior` may be NULL.
HloValue hlo_pad(Hlo *h, HloValue x, HloValue value, Shape low, Shape high, const Shape *interior);
HloValue hlo_concat(Hlo *h, const HloValue *list, int n, int axis);
HloValue hlo_expand(Hlo *h, HloValue x, int axis);                         // a dimension of 1 there
HloValue hlo_flat(Hlo *h, HloValue x);                                     // a vector

// ---------------------------------------- products

// Contracted and batch axes in the same order; the result: batch, a's others, b's others.
HloValue hlo_dot(Hlo *h, HloValue a, HloValue b, Shape a_batch, Shape b_batch, Shape a_axes, Shape b_axes);
typedef struct {
    const char *dims;            // "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
    int n;                       // spatial axes
    int64_t stride[3], low[3], high[3], x_dilation[3], kernel_dilation[3];  // dilations of 0 are 1
    int64_t groups, batch_groups;                                           // 0 is 1
} HloConv;
HloValue hlo_conv(Hlo *h, HloValue x, HloValue kernel, const HloConv *conv, Shape out);
HloValue hlo_cholesky(Hlo *h, HloValue x);                                 // lower; the rest is not defined
HloValue hlo_triangular_solve(Hlo *h, HloValue a, HloValue b, bool lower, bool adjoint);
HloValue hlo_fft(Hlo *h, HloValue x, const char *kind, Shape lengths, DType dtype, Shape out);

// ---------------------------------------- indices: those out of range are the caller's to check

HloValue hlo_take(Hlo *h, HloValue x, HloValue indices, int axis, int batch);      // as GatherV2
HloValue hlo_take_nd(Hlo *h, HloValue x, HloValue indices);                        // as GatherNd
// "add" ... or NULL: replaces. Rows (axis 0) or, with `nd`, what the last axis of indices says. Those out of range are
// left out.
HloValue hlo_put(Hlo *h, const char *op, HloValue x, HloValue indices, HloValue updates, bool nd);

// ---------------------------------------- control flow

// state = body(i, state) for i in [0, n): i is an int32 scalar. The states keep their types and shapes.
typedef void HloBody(Hlo *h, HloValue i, HloValue *state, void *context);
void hlo_loop(Hlo *h, int64_t n, HloValue *state, int n_state, HloBody *body, void *context);
// The `.hlo` of calls, conditionals and loops whose functions the node names.
Status *hlo_call(Hlo *h);
Status *hlo_if(Hlo *h);
Status *hlo_case(Hlo *h);
Status *hlo_while(Hlo *h);
// The `.hlo` of ops that hand on input 0.
Status *hlo_identity(Hlo *h);
