// Binary — every op that makes one element of two, with broadcasting: a row of binary.def each.
#include "ops/math/elementwise.h"

#define NOTHING NONE  // the gradient is zero by nature

static Output pow_dx(Formula *f, Output x, Output y, Output dy) {  // y x^(y - 1)
    return Mul(dy, Mul(Conj(y), Pow(Conj(x), Sub(Conj(y), Scalar(1, y)))));
}

static Output pow_dy(Formula *f, Output x, Output z, Output dy) {  // z log(x), and 0 where x <= 0
    bool is_complex = dtype_is_complex(output_type(x));
    Output positive = is_complex ? NotEqual(x, ZerosLike(x)) : Greater(x, ZerosLike(x));
    Output safe = Select(positive, x, OnesLike(x));
    return Mul(dy, Mul(Conj(z), Select(positive, Log(Conj(safe)), ZerosLike(x))));
}

static Output not_zero(Formula *f, Output x) {  // 1 where x isn't 0
    return Cast(NotEqual(x, ZerosLike(x)), output_type(x));
}

// ---------------------------------------- for devices that compile

static COLD HloValue exponent(Hlo *h, HloValue y) {
    if (dtype_kind(y->dtype) == KIND_INT)
        hlo_check(h, hlo_is(h, "GE", y, 0), INVALID_ARGUMENT, "Integers to negative integer powers are not allowed");
    return y;
}

static COLD HloValue unless_zero(Hlo *h, HloValue x, HloValue result) {
    return hlo_select(h, hlo_is(h, "EQ", x, 0), hlo_like(h, 0, x), result);
}

static COLD HloValue truncated(Hlo *h, HloValue x) {  // towards zero
    if (!dtype_is_float(x->dtype))
        return x;
    return hlo_select(h, hlo_is(h, "LT", x, 0), hlo_unary(h, "ceil", x), hlo_floor(h, x));
}

// Where the remainder isn't 0 and has another sign than the divisor.
static COLD HloValue goes_over(Hlo *h, HloValue rest, HloValue y) {
    HloValue signs = hlo_ne(h, hlo_is(h, "LT", rest, 0), hlo_is(h, "LT", y, 0));
    return hlo_and(h, hlo_is(h, "NE", rest, 0), signs);
}

static COLD HloValue quotient_down(Hlo *h, HloValue x, HloValue y) {
    HloValue q = hlo_div(h, x, y);
    if (!dtype_is_integer(x->dtype))
        return hlo_floor(h, q);
    return hlo_sub(h, q, hlo_cast(h, goes_over(h, hlo_rem(h, x, y), y), x->dtype));
}

static COLD HloValue rest_up(Hlo *h, HloValue x, HloValue y) {
    HloValue rest = hlo_rem(h, x, y);
    return hlo_select(h, goes_over(h, rest, y), hlo_add(h, rest, y), rest);
}

static COLD HloValue squared(Hlo *h, HloValue x) {  // of a complex number: by its conjugate
    if (!dtype_is_complex(x->dtype))
        return hlo_square(h, x);
    HloValue size = hlo_to(h, "abs", x, x->dtype == DT_complex64 ? DT_float : DT_double);
    return hlo_cast(h, hlo_square(h, size), x->dtype);
}

static COLD HloValue cubed(Hlo *h, HloValue x) {
    return hlo_mul(h, hlo_square(h, x), x);
}

static COLD HloValue shift(Hlo *h, HloValue y) {  // as far as the type is wide
    HloValue most = hlo_like(h, (double)(8 * dtype_size(y->dtype) - 1), y);
    return hlo_max(h, hlo_min(h, y, most), hlo_like(h, 0, y));
}

#define BINARY_HLO(Name, formula)                       \
    static COLD Status *Name##_hlo(Hlo *h) {            \
        HloValue x = hlo_in(h, 0), y = hlo_in(h, 1);    \
        return hlo_out(h, 0, formula);                  \
    }

// ---------------------------------------- the rows

#define BINARY(Name, types, more, text, da, db, formula)                          \
    BINARY_HLO(Name, formula)                                                     \
    static void Name##_grad(Formula *f) {                                         \
        Output x1 = f->x[0], x2 = f->x[1], y = f->y[0], dy = f->dy[0];            \
        (void)x1, (void)x2, (void)y, (void)dy;                                    \
        Output d1 = da, d2 = db;                                                  \
        f->dx[0] = formula_is_zero(d1) ? NONE : SumTo(d1, x1);                    \
        f->dx[1] = formula_is_zero(d2) ? NONE : SumTo(d2, x2);                    \
    }                                                                             \
    ELEMENTWISE_ROW(Name)
#define COMPARE(Name, types, more, text, formula) BINARY_HLO(Name, formula) ELEMENTWISE_ROW(Name)
#define TWIN(Name, a, b, out, types, text, da, db, formula)                       \
    BINARY_HLO(Name, formula)                                                     \
    static void Name##_grad(Formula *f) {                                         \
        Output x1 = f->x[0], x2 = f->x[1], y = f->y[0], dy = f->dy[0];            \
        (void)x1, (void)x2, (void)y, (void)dy;                                    \
        f->dx[0] = da;                                                            \
        f->dx[1] = db;                                                            \
    }                                                                             \
    ELEMENTWISE_ROW(Name)
#include "ops/math/binary.def"
#undef BINARY
#undef COMPARE
#undef TWIN

#define BINARY(Name, types, more, text, da, db, formula)                                                         \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(x: T, y: T) -> z: T; T: {" types "}" more, .doc = text, .shape = shape_broadcast_all, \
        .grad = Name##_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE,             \
        .hlo = Name##_hlo, .row = &Name##_row,                                                                    \
    };
#define COMPARE(Name, types, more, text, formula)                                                                   \
    const Op op_##Name = {                                                                                          \
        .signature = #Name "(x: T, y: T) -> z: bool; T: {" types "}" more, .doc = text, .shape = shape_broadcast_all, \
        ELEMENTWISE_FAMILY, .hlo = Name##_hlo, .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &Name##_row,         \
    };
#define TWIN(Name, a, b, out, types, text, da, db, formula)                                                      \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(" #a ": T, " #b ": T) -> " #out ": T; T: {" types "}", .doc = text,                 \
        .needs = "same_shape(" #a ", " #b ")", .shape = shape_same_all, .grad = Name##_grad, ELEMENTWISE_FAMILY,  \
        .hlo = Name##_hlo, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE, .row = &Name##_row,              \
    };
#include "ops/math/binary.def"
#undef BINARY
#undef COMPARE
#undef TWIN

BINARY_HLO(LogicalAnd, hlo_and(h, x, y))
ELEMENTWISE_ROW(LogicalAnd)
const Op op_LogicalAnd = {
    .signature = "LogicalAnd(x: bool, y: bool) -> z: bool; commutative",
    .doc = "Whether both elements are true.", .shape = shape_broadcast_all, ELEMENTWISE_FAMILY,
    .hlo = LogicalAnd_hlo, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &LogicalAnd_row,
};
BINARY_HLO(LogicalOr, hlo_or(h, x, y))
ELEMENTWISE_ROW(LogicalOr)
const Op op_LogicalOr = {
    .signature = "LogicalOr(x: bool, y: bool) -> z: bool; commutative",
    .doc = "Whether either element is true.", .shape = shape_broadcast_all, ELEMENTWISE_FAMILY,
    .hlo = LogicalOr_hlo, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &LogicalOr_row,
};

static void Atan2_grad(Formula *f) {  // of y and x: dz x / (x^2 + y^2), -dz y / (x^2 + y^2)
    Output y = f->x[0], x = f->x[1], over = Div(f->dy[0], Add(Square(x), Square(y)));
    f->dx[0] = SumTo(Mul(x, over), y);
    f->dx[1] = SumTo(Neg(Mul(y, over)), x);
}

BINARY_HLO(Atan2, hlo_binary(h, "atan2", x, y))
ELEMENTWISE_ROW(Atan2)
const Op op_Atan2 = {
    .signature = "Atan2(y: T, x: T) -> z: T; T: floats",
    .doc = "Angle of the point (x, y) in its quadrant.", .shape = shape_broadcast_all, .grad = Atan2_grad,
    ELEMENTWISE_FAMILY, .hlo = Atan2_hlo, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE, .row = &Atan2_row,
};
