// Binary — every op that makes one element of two, with broadcasting: a row of binary.def each.
#include "ops/math/elementwise.h"
#include "ops/math/mul_sum.h"
#include "ops/nn/conv_scaled.h"

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

// ---------------------------------------- what is spread along the last axis

// A column times a row of ones: the column, side by side with itself.
static bool is_product_with_ones(const Node *node) {
    return str_is(node->type->name, "MatMul") && !node_bool(node, "transpose_a") &&
           is_constant_ones(output_constant(node->inputs[1]));
}

// What `spread` repeats along its last axis, with an extent of 1 there: that of BroadcastTo, of a product with ones,
// and of what these are called in other shapes. Nothing where it doesn't.
static Output unspread(Formula *f, Output spread, int depth) {
    const Node *node = spread.node;
    const Op *op = node_op(node);
    Output from = op && node->n_inputs ? node->inputs[0] : (Output){0};
    if (!from.node || node->n_outputs != 1 || node->n_controls || output_type(from) != output_type(spread) || !depth)
        return (Output){0};
    Shape out = *output_shape(spread), in = *output_shape(from);
    if (!shape_is_known(&out) || !shape_is_known(&in) || !out.rank || !in.rank || out.dims[out.rank - 1] < 2)
        return (Output){0};
    int64_t repeats = out.dims[out.rank - 1], width = in.dims[in.rank - 1];
    out.dims[out.rank - 1] = 1;
    if (str_is(node->type->name, "BroadcastTo") || is_product_with_ones(node))
        return shape_equal(&in, &out) ? from : (Output){0};
    bool renames = (op->alias & BIT(0)) && op->cpu && op->cpu->run == kernel_nothing;
    Output column = renames && width == repeats ? unspread(f, from, depth - 1) : (Output){0};
    return column.node ? Reshape(column, formula_ints(f, out.dims, out.rank, DT_int64)) : column;
}

// x to a constant power that is a product, a root or their inverse; TensorFlow's rewriting does the same.
static Output simple_power(Formula *f) {
    static const struct {
        double power;
        const char *op;
    } roots[] = {{0.5, "Sqrt"}, {-0.5, "Rsqrt"}, {-1, "Reciprocal"}};
    Output x = f->x[0];
    const Tensor *y = output_constant(f->x[1]);
    DType dtype = output_type(x);
    if (!y || y->shape.rank || (dtype != DT_float && dtype != DT_double))
        return (Output){0};
    double power = dtype == DT_float ? (double)*(const float *)y->data : *(const double *)y->data;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (power == roots[i].power)
            return formula_1(f, roots[i].op, x);
    return power == 2 ? formula_1(f, "Square", x) : power == 3 ? Mul(formula_1(f, "Square", x), x) : (Output){0};
}

// Beside a value of that extent it needn't be: the op spreads it itself.
static void simplify(Formula *f, const char *op) {
    enum { DEPTH = 4 };
    Str name = f->node->type->name;
    if (str_is(name, "Mul"))
        f->results[0] = conv_simplify_product(f);
    else if (str_is(name, "Add") || str_is(name, "AddV2"))
        f->results[0] = conv_simplify_sum(f);
    else if (str_is(name, "Pow"))
        f->results[0] = simple_power(f);
    if (f->results[0].node)
        return;
    for (int i = 0; i < 2; i++) {
        const Shape *mine = output_shape(f->x[i]), *other = output_shape(f->x[1 - i]);
        if (mine->rank < 1 || other->rank < 1 || mine->dims[mine->rank - 1] != other->dims[other->rank - 1])
            continue;
        Output column = unspread(f, f->x[i], DEPTH);
        if (column.node) {
            f->results[0] = formula_2(f, op, i ? f->x[0] : column, i ? column : f->x[1]);
            return;
        }
    }
}

#define BINARY(Name, types, more, text, da, db)                                   \
    static void Name##_grad(Formula *f) {                                         \
        Output x1 = f->x[0], x2 = f->x[1], y = f->y[0], dy = f->dy[0];            \
        (void)x1, (void)x2, (void)y, (void)dy;                                    \
        Output d1 = da, d2 = db;                                                  \
        f->dx[0] = formula_is_zero(d1) ? NONE : SumTo(d1, x1);                    \
        f->dx[1] = formula_is_zero(d2) ? NONE : SumTo(d2, x2);                    \
    }                                                                             \
    static void Name##_simplify(Formula *f) {                                     \
        simplify(f, #Name);                                                       \
    }                                                                             \
    static const ElementwiseRow Name##_row = {ELEMENTWISE_##Name, NULL};
#define COMPARE(Name, types, more, text) static const ElementwiseRow Name##_row = {ELEMENTWISE_##Name, NULL};
#define TWIN(Name, a, b, out, types, text, da, db)                                \
    static void Name##_grad(Formula *f) {                                         \
        Output x1 = f->x[0], x2 = f->x[1], y = f->y[0], dy = f->dy[0];            \
        (void)x1, (void)x2, (void)y, (void)dy;                                    \
        f->dx[0] = da;                                                            \
        f->dx[1] = db;                                                            \
    }                                                                             \
    static const ElementwiseRow Name##_row = {ELEMENTWISE_##Name, NULL};
#include "ops/math/binary.def"
#undef BINARY
#undef COMPARE
#undef TWIN

#define BINARY(Name, types, more, text, da, db)                                                                  \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(x: T, y: T) -> z: T; T: {" types "}" more, .doc = text, .shape = shape_broadcast_all, \
        .grad = Name##_grad, ELEMENTWISE_FAMILY, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE,             \
        .row = &Name##_row, .simplify = Name##_simplify, .contraction = &products_summed,                          \
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

#define LOGICAL(Name, text)                                                                                        \
    static const ElementwiseRow Name##_row = {ELEMENTWISE_##Name, NULL};                                           \
    const Op op_##Name = {                                                                                         \
        .signature = #Name "(x: bool, y: bool) -> z: bool; commutative", .doc = text, .shape = shape_broadcast_all, \
        ELEMENTWISE_FAMILY, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE | OP_NO_GRADIENT,                   \
        .row = &Name##_row,                                                                                        \
    };
LOGICAL(LogicalAnd, "Whether both elements are true.")
LOGICAL(LogicalOr, "Whether either element is true.")

static void Atan2_grad(Formula *f) {  // of y and x: dz x / (x^2 + y^2), -dz y / (x^2 + y^2)
    Output y = f->x[0], x = f->x[1], over = Div(f->dy[0], Add(Square(x), Square(y)));
    f->dx[0] = SumTo(Mul(x, over), y);
    f->dx[1] = SumTo(Neg(Mul(y, over)), x);
}

static const ElementwiseRow Atan2_row = {ELEMENTWISE_Atan2, NULL};
const Op op_Atan2 = {
    .signature = "Atan2(y: T, x: T) -> z: T; T: {bfloat16, half, float, double}",
    .doc = "Angle of the point (x, y) in its quadrant.", .shape = shape_broadcast_all, .grad = Atan2_grad,
    ELEMENTWISE_FAMILY, .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE, .row = &Atan2_row,
};
