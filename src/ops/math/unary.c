// Unary — every op that makes one element of one: a row of unary.def each.
#include "ops/math/elementwise.h"

#define NOTHING NONE  // the gradient is zero by nature

#define UNARY(Name, in, out, types, text, gradient)                        \
    static void Name##_grad(Formula *f) {                            \
        Output x = f->x[0], y = f->y[0], dy = f->dy[0];              \
        (void)x, (void)y, (void)dy;                                  \
        f->dx[0] = gradient;                                               \
    }                                                                \
    ELEMENTWISE_ROW(Name)
#define UNARY_TO_BOOL(Name, types, text) ELEMENTWISE_ROW(Name)
#include "ops/math/unary.def"
#undef UNARY
#undef UNARY_TO_BOOL

#define UNARY(Name, in, out, types, text, gradient)                                                              \
    const Op op_##Name = {                                                                                 \
        .signature = #Name "(" #in ": T) -> " #out ": T; T: {" types "}", .doc = text,                     \
        .shape = shape_unchanged, .grad = Name##_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0),              \
        .flags = OP_ELEMENTWISE, .row = &Name##_row,                                                       \
    };
#define UNARY_TO_BOOL(Name, types, text)                                                                   \
    const Op op_##Name = {                                                                                 \
        .signature = #Name "(x: T) -> y: bool; T: {" types "}", .doc = text, .shape = shape_unchanged,     \
        ELEMENTWISE_FAMILY, .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &Name##_row,                  \
    };
#include "ops/math/unary.def"
#undef UNARY
#undef UNARY_TO_BOOL

ELEMENTWISE_ROW(LogicalNot)
const Op op_LogicalNot = {
    .signature = "LogicalNot(x: bool) -> y: bool", .doc = "Whether the element is false.", .shape = shape_unchanged,
    ELEMENTWISE_FAMILY, .inplace = BIT(0), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &LogicalNot_row,
};

static void Conj_grad(Formula *f) {
    f->dx[0] = Conj(f->dy[0]);
}

ELEMENTWISE_ROW(Conj)
const Op op_Conj = {
    .signature = "Conj(input: T) -> output: T; T: {complexes, variant} = complex64",
    .doc = "Complex conjugate.", .shape = shape_unchanged, .grad = Conj_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0),
    .flags = OP_ELEMENTWISE, .row = &Conj_row,
};
