// Formula ops — the words that formulas are written with: one macro per op, with `f` ambient.
//
// Arguments are Outputs, results too: `At(x, i)` is another output of the same node. Axes, perms and shapes are Outputs
// (`Ints(0, 2)`, `Int(-1)`); flags and types are C values. `Like(op, x, ...)` makes any op with the attributes that
// f->node has by the same name; `Op(op, x, ...)` one without attributes; `OpWith(op, ATTRS(...), x, ...)` one with
// these. A row lies in one line and aligned, so that the file reads as a table.
#pragma once
#include "formula/formula.h"

static inline Output formula_1(Formula *f, const char *op, Output x) {
    return formula_op(f, op, &x, 1, NULL);
}
static inline Output formula_2(Formula *f, const char *op, Output x, Output y) {
    return formula_op(f, op, (Output[]){x, y}, 2, NULL);
}
static inline Output formula_3(Formula *f, const char *op, Output x, Output y, Output z) {
    return formula_op(f, op, (Output[]){x, y, z}, 3, NULL);
}
static inline Output formula_4(Formula *f, const char *op, Output x, Output y, Output z, Output w) {
    return formula_op(f, op, (Output[]){x, y, z, w}, 4, NULL);
}
static inline Output formula_of_list(Formula *f, const char *op, const Output *list, int n, const FormulaAttr *attrs) {
    return (Output){formula_node(f, op, &(FormulaArg){list, n, true}, 1, attrs), 0};
}
static inline Output formula_list_and(Formula *f, const char *op, const Output *list, int n, Output last) {
    return (Output){formula_node(f, op, (FormulaArg[]){{list, n, true}, {&last, 1, false}}, 2, NULL), 0};
}

// Any op. The arguments of these three are expanded twice: don't nest them deeply.
#define EDGES(...)               (const Output[]){__VA_ARGS__}, (int)(sizeof((Output[]){__VA_ARGS__}) / sizeof(Output))
#define ATTRS(...)               (const FormulaAttr[]){__VA_ARGS__, {0}}
#define Op(op, ...)              formula_op(f, (op), EDGES(__VA_ARGS__), NULL)
#define OpWith(op, attrs, ...)   formula_op(f, (op), EDGES(__VA_ARGS__), attrs)
#define Like(op, ...)            formula_alike(f, (op), EDGES(__VA_ARGS__))
#define At(x, i)                 ((Output){(x).node, (i)})
#define NONE                     ((Output){0})
#define TYPE_ATTR(name, dtype)   {(name), ATTR_OF_TYPE(dtype)}
#define BOOL_ATTR(name, value)   {(name), ATTR_OF_BOOL(value)}
#define INT_ATTR(name, value)    {(name), ATTR_OF_INT(value)}

// Constants
#define Scalar(value, like)      formula_scalar(f, (value), (like))             // of like's type
#define Number(value, dtype)     formula_number(f, (value), (dtype))
#define Int(value)               formula_int(f, (value), DT_int32)
#define Int64(value)             formula_int(f, (value), DT_int64)
#define Ints(...)                formula_ints(f, (const int64_t[]){__VA_ARGS__}, \
                                              (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), DT_int32)
#define NoInts                   formula_ints(f, NULL, 0, DT_int32)

// Arithmetic
#define Add(x, y)                formula_2(f, "AddV2", (x), (y))
#define Sub(x, y)                formula_2(f, "Sub", (x), (y))
#define Mul(x, y)                formula_2(f, "Mul", (x), (y))
#define Div(x, y)                formula_2(f, "RealDiv", (x), (y))
#define FloorDiv(x, y)           formula_2(f, "FloorDiv", (x), (y))
#define FloorMod(x, y)           formula_2(f, "FloorMod", (x), (y))
#define DivNoNan(x, y)           formula_2(f, "DivNoNan", (x), (y))
#define MulNoNan(x, y)           formula_2(f, "MulNoNan", (x), (y))
#define Xdivy(x, y)              formula_2(f, "Xdivy", (x), (y))
#define Xlogy(x, y)              formula_2(f, "Xlogy", (x), (y))
#define Xlog1py(x, y)            formula_2(f, "Xlog1py", (x), (y))
#define Pow(x, y)                formula_2(f, "Pow", (x), (y))
#define Maximum(x, y)            formula_2(f, "Maximum", (x), (y))
#define Minimum(x, y)            formula_2(f, "Minimum", (x), (y))
#define SquaredDifference(x, y)  formula_2(f, "SquaredDifference", (x), (y))
#define AddN(list, n)            formula_of_list(f, "AddN", (list), (n), NULL)

// Functions of one argument
#define Neg(x)                   formula_1(f, "Neg", (x))
#define Abs(x)                   formula_1(f, "Abs", (x))
#define Sign(x)                  formula_1(f, "Sign", (x))
#define Square(x)                formula_1(f, "Square", (x))
#define Sqrt(x)                  formula_1(f, "Sqrt", (x))
#define Rsqrt(x)                 formula_1(f, "Rsqrt", (x))
#define Reciprocal(x)            formula_1(f, "Reciprocal", (x))
#define Exp(x)                   formula_1(f, "Exp", (x))
#define Expm1(x)                 formula_1(f, "Expm1", (x))
#define Log(x)                   formula_1(f, "Log", (x))
#define Log1p(x)                 formula_1(f, "Log1p", (x))
#define Sin(x)                   formula_1(f, "Sin", (x))
#define Cos(x)                   formula_1(f, "Cos", (x))
#define Sinh(x)                  formula_1(f, "Sinh", (x))
#define Cosh(x)                  formula_1(f, "Cosh", (x))
#define Tanh(x)                  formula_1(f, "Tanh", (x))
#define Sigmoid(x)               formula_1(f, "Sigmoid", (x))
#define Softplus(x)              formula_1(f, "Softplus", (x))
#define Relu(x)                  formula_1(f, "Relu", (x))
#define Erf(x)                   formula_1(f, "Erf", (x))
#define Digamma(x)               formula_1(f, "Digamma", (x))
#define Lgamma(x)                formula_1(f, "Lgamma", (x))
#define Floor(x)                 formula_1(f, "Floor", (x))
#define Conj(x)                  (dtype_is_complex(output_type(x)) ? formula_1(f, "Conj", (x)) : (x))
#define RealPart(x, dtype)       OpWith("Real", ATTRS(TYPE_ATTR("Tout", (dtype))), (x))
#define ImagPart(x, dtype)       OpWith("Imag", ATTRS(TYPE_ATTR("Tout", (dtype))), (x))
#define Complex(x, y, dtype)     OpWith("Complex", ATTRS(TYPE_ATTR("Tout", (dtype))), (x), (y))

// Gradients that are ops: of y = op(x), from y (or x) and dy
#define TanhGrad(y, dy)          formula_2(f, "TanhGrad", (y), (dy))
#define SigmoidGrad(y, dy)       formula_2(f, "SigmoidGrad", (y), (dy))
#define SqrtGrad(y, dy)          formula_2(f, "SqrtGrad", (y), (dy))
#define RsqrtGrad(y, dy)         formula_2(f, "RsqrtGrad", (y), (dy))
#define ReciprocalGrad(y, dy)    formula_2(f, "ReciprocalGrad", (y), (dy))
#define ReluGrad(dy, x)          formula_2(f, "ReluGrad", (dy), (x))
#define Relu6Grad(dy, x)         formula_2(f, "Relu6Grad", (dy), (x))
#define EluGrad(dy, y)           formula_2(f, "EluGrad", (dy), (y))
#define SeluGrad(dy, y)          formula_2(f, "SeluGrad", (dy), (y))
#define SoftplusGrad(dy, x)      formula_2(f, "SoftplusGrad", (dy), (x))
#define SoftsignGrad(dy, x)      formula_2(f, "SoftsignGrad", (dy), (x))

// Comparisons and choice
#define Less(x, y)               formula_2(f, "Less", (x), (y))
#define LessEqual(x, y)          formula_2(f, "LessEqual", (x), (y))
#define Greater(x, y)            formula_2(f, "Greater", (x), (y))
#define GreaterEqual(x, y)       formula_2(f, "GreaterEqual", (x), (y))
#define Equal(x, y)              formula_2(f, "Equal", (x), (y))
#define NotEqual(x, y)           formula_2(f, "NotEqual", (x), (y))
#define LogicalAnd(x, y)         formula_2(f, "LogicalAnd", (x), (y))
#define LogicalOr(x, y)          formula_2(f, "LogicalOr", (x), (y))
#define LogicalNot(x)            formula_1(f, "LogicalNot", (x))
#define Select(c, x, y)          formula_3(f, "SelectV2", (c), (x), (y))  // broadcasts

// Reductions; `keep`: reduced axes stay, with one element
#define Sum(x, axes, keep)       formula_reduce(f, "Sum", (x), (axes), (keep))
#define Prod(x, axes, keep)      formula_reduce(f, "Prod", (x), (axes), (keep))
#define Max(x, axes, keep)       formula_reduce(f, "Max", (x), (axes), (keep))
#define Min(x, axes, keep)       formula_reduce(f, "Min", (x), (axes), (keep))
#define Mean(x, axes, keep)      formula_reduce(f, "Mean", (x), (axes), (keep))
#define SumLast(x)               Sum((x), Int(-1), true)                  // along the last axis, kept
#define SumTo(x, like)           formula_sum_to(f, (x), (like))           // what broadcasting `like` added is summed away
#define Cumsum(x, axis, exclusive, reverse) \
    formula_op(f, "Cumsum", (const Output[]){(x), (axis)}, 2, \
               ATTRS(BOOL_ATTR("exclusive", (exclusive)), BOOL_ATTR("reverse", (reverse))))

// Products
#define MatMul(a, b, ta, tb)     formula_product(f, "MatMul", "transpose_a", "transpose_b", (a), (b), (ta), (tb))
#define BatchMatMul(a, b, ta, tb) formula_product(f, "BatchMatMulV2", "adj_x", "adj_y", (a), (b), (ta), (tb))

// Shapes
#define ShapeOf(x)               formula_shape(f, (x), DT_int32)
#define ShapeOf64(x)             formula_shape(f, (x), DT_int64)
#define Rank(x)                  formula_1(f, "Rank", (x))
#define SizeOf(x)                formula_1(f, "Size", (x))
#define Reshape(x, shape)        formula_2(f, "Reshape", (x), (shape))
#define ReshapeLike(x, like)     Reshape((x), ShapeOf(like))
#define ExpandDims(x, axis)      formula_2(f, "ExpandDims", (x), (axis))
#define BroadcastTo(x, shape)    formula_2(f, "BroadcastTo", (x), (shape))
#define BroadcastGradientArgs(s, t) formula_2(f, "BroadcastGradientArgs", (s), (t))

// Moving elements
#define Identity(x)              formula_1(f, "Identity", (x))
#define StopGradient(x)          formula_1(f, "StopGradient", (x))
#define ZerosLike(x)             formula_1(f, "ZerosLike", (x))
#define OnesLike(x)              formula_1(f, "OnesLike", (x))
#define Fill(shape, value)       formula_2(f, "Fill", (shape), (value))
#define Range(from, to, step)    formula_3(f, "Range", (from), (to), (step))
#define Cast(x, dtype)           formula_cast(f, (x), (dtype))            // nothing where the type is right
#define Transpose(x, perm)       formula_2(f, "Transpose", (x), (perm))
#define InvertPermutation(perm)  formula_1(f, "InvertPermutation", (perm))
#define Concat(list, n, axis)    formula_list_and(f, "ConcatV2", (list), (n), (axis))
#define Pack(list, n, at)        formula_of_list(f, "Pack", (list), (n), ATTRS(INT_ATTR("axis", (at))))
#define Unpack(x, count, at)     formula_op(f, "Unpack", &(const Output){(x).node, (x).index}, 1, \
                                            ATTRS(INT_ATTR("num", (count)), INT_ATTR("axis", (at))))
#define Split(x, axis, count)    formula_op(f, "Split", (const Output[]){(axis), (x)}, 2, ATTRS(INT_ATTR("num_split", (count))))
#define Slice(x, begin, size)    formula_3(f, "Slice", (x), (begin), (size))
#define StridedSlice(x, begin, end, strides) formula_4(f, "StridedSlice", (x), (begin), (end), (strides))
#define Pad(x, paddings)         formula_2(f, "Pad", (x), (paddings))
#define Tile(x, multiples)       formula_2(f, "Tile", (x), (multiples))
#define Reverse(x, axes)         formula_2(f, "ReverseV2", (x), (axes))
#define Gather(x, indices, axis) formula_3(f, "GatherV2", (x), (indices), (axis))
#define GatherNd(x, indices)     formula_2(f, "GatherNd", (x), (indices))
#define ScatterNd(indices, x, shape) formula_3(f, "ScatterNd", (indices), (x), (shape))
#define SegmentSum(x, ids)       formula_2(f, "SegmentSum", (x), (ids))
#define UnsortedSegmentSum(x, ids, n) formula_3(f, "UnsortedSegmentSum", (x), (ids), (n))
#define MatrixDiag(x)            formula_1(f, "MatrixDiag", (x))
#define MatrixDiagPart(x)        formula_1(f, "MatrixDiagPart", (x))
#define MatrixBandPart(x, lower, upper) formula_3(f, "MatrixBandPart", (x), (lower), (upper))

static inline Output formula_reduce(Formula *f, const char *op, Output x, Output axes, bool keep) {
    return formula_op(f, op, (Output[]){x, axes}, 2, ATTRS(BOOL_ATTR("keep_dims", keep)));
}
static inline Output formula_product(Formula *f, const char *op, const char *first, const char *second, Output a,
                                     Output b, bool ta, bool tb) {
    return formula_op(f, op, (Output[]){a, b}, 2, ATTRS(BOOL_ATTR(first, ta), BOOL_ATTR(second, tb)));
}
static inline Output formula_cast(Formula *f, Output x, DType dtype) {
    return output_type(x) == dtype ? x : formula_op(f, "Cast", &x, 1, ATTRS(TYPE_ATTR("DstT", dtype)));
}
