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

#define BINARY(Name, types, more, text, da, db)                                   \
    static void Name##_grad(Formula *f) {                                         \
        Output x1 = f->x[0], x2 = f->x[1], y = f->y[0], dy = f->dy[0];            \
        (void)x1, (void)x2, (void)y, (void)dy;                                    \
        Output d1 = da, d2 = db;                                                  \
        f->dx[0] = formula_is_zero(d1) ? NONE : SumTo(d1, x1);                    \
        f->dx[1] = formula_is_zero(d2) ? NONE : SumTo(d2, x2);                    \
    }                                                                             \
    ELEMENTWISE_ROW(Name)
#define COMPARE(Name, types, more, text) ELEMENTWISE_ROW(Name)
#define TWIN(Name, a, b, out, types, text, da, db)                                \
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

#define BINARY(Name, types, more, text, da, db)                                                                  \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(x: T, y: T) -> z: T; T: {" types "}" more, .doc = text, .shape = shape_broadcast_all, \
        .grad = Name##_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE,             \
        .row = &Name##_row,                                                                                       \
    };
#define COMPARE(Name, types, more, text)                                                                            \
    const Op op_##Name = {                                                                                          \
        .signature = #Name "(x: T, y: T) -> z: bool; T: {" types "}" more, .doc = text, .shape = shape_broadcast_all, \
        ELEMENTWISE_FAMILY, .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &Name##_row,                            \
    };
#define TWIN(Name, a, b, out, types, text, da, db)                                                                     \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(" #a ": T, " #b ": T) -> " #out ": T; T: {" types "}", .doc = text,                 \
        .needs = "same_shape(" #a ", " #b ")", .shape = shape_same_all, .grad = Name##_grad, ELEMENTWISE_FAMILY,  \
        .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE, .row = &Name##_row,                                 \
    };
#include "ops/math/binary.def"
#undef BINARY
#undef COMPARE
#undef TWIN

ELEMENTWISE_ROW(LogicalAnd)
const Op op_LogicalAnd = {
    .signature = "LogicalAnd(x: bool, y: bool) -> z: bool; commutative",
    .doc = "Whether both elements are true.", .shape = shape_broadcast_all, ELEMENTWISE_FAMILY,
    .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &LogicalAnd_row,
};
ELEMENTWISE_ROW(LogicalOr)
const Op op_LogicalOr = {
    .signature = "LogicalOr(x: bool, y: bool) -> z: bool; commutative",
    .doc = "Whether either element is true.", .shape = shape_broadcast_all, ELEMENTWISE_FAMILY,
    .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &LogicalOr_row,
};

static void Atan2_grad(Formula *f) {  // of y and x: dz x / (x^2 + y^2), -dz y / (x^2 + y^2)
    Output y = f->x[0], x = f->x[1], over = Div(f->dy[0], Add(Square(x), Square(y)));
    f->dx[0] = SumTo(Mul(x, over), y);
    f->dx[1] = SumTo(Neg(Mul(y, over)), x);
}

ELEMENTWISE_ROW(Atan2)
const Op op_Atan2 = {
    .signature = "Atan2(y: T, x: T) -> z: T; T: floats",
    .doc = "Angle of the point (x, y) in its quadrant.", .shape = shape_broadcast_all, .grad = Atan2_grad,
    ELEMENTWISE_FAMILY, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE, .row = &Atan2_row,
};
