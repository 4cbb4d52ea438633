// Unary — every op that makes one element of one: a row of unary.def each.
#include "ops/math/elementwise.h"

#define NOTHING NONE  // the gradient is zero by nature

static COLD HloValue rounded(Hlo *h, HloValue x) {  // halves to even; integers are round
    if (dtype_is_complex(x->dtype))
        return hlo_complex(h, rounded(h, hlo_real(h, x)), rounded(h, hlo_imag(h, x)));
    return dtype_is_float(x->dtype) ? hlo_unary(h, "round_nearest_even", x) : x;
}

#define UNARY_HLO(Name, formula)               \
    static COLD Status *Name##_hlo(Hlo *h) {   \
        HloValue x = hlo_in(h, 0);             \
        return hlo_out(h, 0, formula);         \
    }
#define UNARY(Name, in, out, types, text, gradient, formula)         \
    UNARY_HLO(Name, formula)                                         \
    static void Name##_grad(Formula *f) {                            \
        Output x = f->x[0], y = f->y[0], dy = f->dy[0];              \
        (void)x, (void)y, (void)dy;                                  \
        f->dx[0] = gradient;                                         \
    }                                                                \
    ELEMENTWISE_ROW(Name)
#define UNARY_TO_BOOL(Name, types, text, formula) UNARY_HLO(Name, formula) ELEMENTWISE_ROW(Name)
#include "ops/math/unary.def"
#undef UNARY
#undef UNARY_TO_BOOL

#define UNARY(Name, in, out, types, text, gradient, formula)                                               \
    const Op op_##Name = {                                                                                 \
        .signature = #Name "(" #in ": T) -> " #out ": T; T: {" types "}", .doc = text,                     \
        .shape = shape_unchanged, .grad = Name##_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0),              \
        .hlo = Name##_hlo, .flags = OP_ELEMENTWISE, .row = &Name##_row,                                    \
    };
#define UNARY_TO_BOOL(Name, types, text, formula)                                                          \
    const Op op_##Name = {                                                                                 \
        .signature = #Name "(x: T) -> y: bool; T: {" types "}", .doc = text, .shape = shape_unchanged,     \
        ELEMENTWISE_FAMILY, .hlo = Name##_hlo, .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &Name##_row, \
    };
#include "ops/math/unary.def"
#undef UNARY
#undef UNARY_TO_BOOL

UNARY_HLO(LogicalNot, hlo_not(h, x))
ELEMENTWISE_ROW(LogicalNot)
const Op op_LogicalNot = {
    .signature = "LogicalNot(x: bool) -> y: bool", .doc = "Whether the element is false.", .shape = shape_unchanged,
    ELEMENTWISE_FAMILY, .hlo = LogicalNot_hlo, .inplace = BIT(0), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT,
    .row = &LogicalNot_row,
};

static void Conj_grad(Formula *f) {
    f->dx[0] = Conj(f->dy[0]);
}

UNARY_HLO(Conj, hlo_conj(h, x))
ELEMENTWISE_ROW(Conj)
const Op op_Conj = {
    .signature = "Conj(input: T) -> output: T; T: {complexes, variant} = complex64",
    .doc = "Complex conjugate.", .shape = shape_unchanged, .grad = Conj_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0),
    .hlo = Conj_hlo, .flags = OP_ELEMENTWISE, .row = &Conj_row,
};
