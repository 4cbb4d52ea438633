// Reductions — Sum, Mean, Prod, Max, Min, All, Any, EuclideanNorm, L2Loss: dimensions folded away.
//
// loops/reduce.c does the folding; here are axes, empty and unchanged shapes, and gradients. The gradient of a product
// is dy times the product of all others, from both sides: dividing by x would fail where x is 0.
#include "loops/reduce.h"
#include "ops/array/moving.h"

// ---------------------------------------- shapes

static Status *reduce_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    bool keep = node_bool(s->node, "keep_dims");
    if (in->rank < 0)
        return OK;
    Shape out = {.rank = in->rank};
    if (!s->value[1]) {
        bool none = shape_count(&s->in[1]) == 0;
        for (int i = 0; i < in->rank; i++)
            out.dims[i] = none ? in->dims[i] : UNKNOWN_DIM;
        if (keep || none)
            s->out[0] = out;
        else if (in->rank == 1 && shape_count(&s->in[1]) == 1)
            s->out[0] = SCALAR_SHAPE;
        return OK;
    }
    uint32_t axes;
    TRY(axes_to_bits(s->value[1], in->rank, "Invalid reduction dimension: axis", &axes));
    out.rank = 0;
    for (int i = 0; i < in->rank; i++) {
        if (!(axes & BIT(i)))
            out.dims[out.rank++] = in->dims[i];
        else if (keep)
            out.dims[out.rank++] = 1;
    }
    s->out[0] = out;
    return OK;
}

// ---------------------------------------- kernel

typedef struct {
    ReducePlan plan;
    int64_t cost;    // ns
    uint32_t axes;   // bits of the dimensions folded
} Reduction;

static void reduce_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Reduction *own = k->own;
    reduce_run(&own->plan, k->in[0]->data, k->out[0]->data, k->scratch, first, last);
}

static Status *reduction_run(Kernel *k) {
    const Reduction *own = k->own;
    if (own->plan.units)
        kernel_share(k, own->plan.units, own->cost, reduce_range, k);
    reduce_finish(&own->plan, k->out[0]->data, k->scratch);
    return OK;
}

// Of no elements at all: what the loops, which compute small integers as int32, would get wrong.
static Status *empty_run(Kernel *k) {
    bool most = *(const ReduceOp *)node_op(k->node)->row == REDUCE_MIN;
    int16_t value = k->out[0]->dtype == DT_int8 ? (most ? INT8_MAX : INT8_MIN) : most ? INT16_MAX : INT16_MIN;
    fill_run(&value, dtype_size(k->out[0]->dtype), k->out[0]->data, tensor_count(k->out[0]));
    return OK;
}

// Nothing is folded away: the gradients of sums of like shapes end here.
static Status *same_run(Kernel *k) {
    if (k->out[0]->data != k->in[0]->data)
        memcpy(k->out[0]->data, k->in[0]->data, tensor_bytes(k->in[0]));
    return OK;
}

static Status *plan_reduction(Prepare *p, ReduceOp op, uint32_t axes) {
    Reduction *own = p->own;
    const Tensor *in = p->in[0];
    bool empty = shape_count(&in->shape) == 0;
    if (empty && op == REDUCE_MEAN && dtype_is_complex(in->dtype))
        op = REDUCE_SUM;  // TensorFlow's answer is 0, where it is NaN for real numbers
    if (empty && (op == REDUCE_MAX || op == REDUCE_MIN) && (in->dtype == DT_int8 || in->dtype == DT_int16))
        p->run = empty_run;
    NEED(reduce_prepare(op, in->dtype, &in->shape, axes, &own->plan), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(in->dtype));
    if (own->plan.folded == 1 && op != REDUCE_NORM && op != REDUCE_SQUARES) {
        p->run = same_run;
        p->equal_input = 1;
    }
    p->scratch = reduce_scratch(&own->plan);
    int64_t count = shape_count(&in->shape), each = own->plan.load ? 400 : 20 * (int64_t)dtype_size(in->dtype);
    p->cost = own->cost = kernel_cost(count, each, count * (int64_t)dtype_size(in->dtype)) + own->plan.outputs * 10;
    return OK;
}

// The norm of complex numbers: squares of absolute values, summed in real numbers. One output at a time.
static Status *complex_norm_run(Kernel *k) {
    const Reduction *own = k->own;
    const Tensor *in = k->in[0], *out = k->out[0];
    int64_t n = tensor_count(in);
    double *sums = k->scratch;
    memset(sums, 0, (size_t)tensor_count(out) * sizeof *sums);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (int d = in->shape.rank - 1; d >= 0; d--) {
            int64_t index = rest % in->shape.dims[d];
            rest /= in->shape.dims[d];
            if (own->axes & BIT(d))
                continue;
            at += index * step;
            step *= in->shape.dims[d];
        }
        double re = in->dtype == DT_complex64 ? (double)((const float *)in->data)[2 * i]
            : ((const double *)in->data)[2 * i];
        double im = in->dtype == DT_complex64 ? (double)((const float *)in->data)[2 * i + 1]
                                              : ((const double *)in->data)[2 * i + 1];
        sums[at] += re * re + im * im;
    }
    for (int64_t i = 0; i < tensor_count(out); i++) {
        if (out->dtype == DT_complex64)
            ((Complex64 *)out->data)[i] = (float)sqrt(sums[i]);
        else
            ((Complex128 *)out->data)[i] = sqrt(sums[i]);
    }
    return OK;
}

static Status *reduction_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    const ReduceOp *op = node_op(p->node)->row;
    uint32_t axes;
    TRY(axes_to_bits(p->in[1], p->in[0]->shape.rank, "Invalid reduction dimension: axis", &axes));
    ((Reduction *)p->own)->axes = axes;
    if (*op == REDUCE_NORM && dtype_is_complex(p->in[0]->dtype)) {
        p->run = complex_norm_run;
        p->scratch = (size_t)shape_count(&p->out[0]->shape) * sizeof(double) + sizeof(double);
        return OK;
    }
    return plan_reduction(p, *op, axes);
}

// ---------------------------------------- gradients

// The reduced axes, in ascending order; -1 where they aren't constants or the rank isn't known.
static int known_axes(Formula *f, int64_t *out) {
    int rank = output_shape(f->x[0])->rank;
    const Tensor *axes = f->x[1].node ? output_constant(f->x[1]) : NULL;
    uint32_t bits = 0;
    if (rank < 0 || !axes)
        return -1;
    Status *status = axes_to_bits(axes, rank, "axis", &bits);
    if (status) {
        formula_fail(f, status);
        return -1;
    }
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (bits & BIT(i))
            out[n++] = i;
    return n;
}

// The shape of x with 1 where it was reduced, computed from values.
static Output kept_shape(Formula *f) {
    Output shape = ShapeOf(f->x[0]);
    Output rank = Rank(f->x[0]);
    Output axes = Reshape(FloorMod(Add(Cast(f->x[1], DT_int32), rank), rank), Ints(-1));
    Output lists[] = {Range(Int(0), rank, Int(1)), axes, shape, OnesLike(axes)};
    return (Output){formula_node(f, "DynamicStitch", (FormulaArg[]){{lists, 2, true}, {lists + 2, 2, true}}, 2, NULL),
                    0};
}

// y or dy with the reduced dimensions put back, with one element each.
static Output put_back(Formula *f, Output y) {
    int64_t axes[MAX_RANK];
    if (node_bool(f->node, "keep_dims"))
        return y;
    int n = known_axes(f, axes);
    if (n < 0)
        return Reshape(y, kept_shape(f));
    for (int i = 0; i < n; i++)
        y = ExpandDims(y, Int(axes[i]));
    return y;
}

static void sum_grad(Formula *f) {  // every element gets dy
    f->dx[0] = BroadcastTo(put_back(f, f->dy[0]), ShapeOf(f->x[0]));
}

static void mean_grad(Formula *f) {  // dy / (elements folded into one)
    Output x = f->x[0], dy = f->dy[0], folded;
    int64_t in = shape_count(output_shape(x)), out = shape_count(output_shape(f->y[0]));
    if (in >= 0 && out > 0)
        folded = Scalar((double)(in / out), dy);
    else
        folded = Cast(FloorDiv(SizeOf(x), Maximum(SizeOf(f->y[0]), Int(1))), output_type(dy));
    f->dx[0] = BroadcastTo(Div(put_back(f, dy), folded), ShapeOf(x));
}

static void extreme_grad(Formula *f) {  // dy, shared out evenly among the elements that are the extreme
    Output x = f->x[0], y = put_back(f, f->y[0]), dy = put_back(f, f->dy[0]);
    Output chosen = Cast(Equal(y, x), output_type(dy));
    f->dx[0] = Mul(Div(chosen, Sum(chosen, f->x[1], true)), dy);
}

static Output others_product(Formula *f, Output x, Output axis, bool behind) {
    return OpWith("Cumprod", ATTRS(BOOL_ATTR("exclusive", true), BOOL_ATTR("reverse", behind)), x, axis);
}

// The product of all others along an axis: of those before and of those behind.
static Output others(Formula *f, Output x, Output axis) {
    return Conj(Mul(others_product(f, x, axis, false), others_product(f, x, axis, true)));
}

// Where axes or rank aren't known: the reduced dimensions are brought to the front and become one.
static void prod_grad_unknown(Formula *f) {
    Output x = f->x[0], rank = Rank(x), zero = Int(0);
    Output reduced = Reshape(FloorMod(Add(Cast(f->x[1], DT_int32), rank), rank), Ints(-1));
    Output kept = formula_2(f, "ListDiff", Range(zero, rank, Int(1)), reduced);
    Output perm = Concat(((Output[]){reduced, kept}), 2, zero), shape = ShapeOf(x);
    Output counts[] = {Prod(Gather(shape, reduced, zero), zero, false), Prod(Gather(shape, kept, zero), zero, false)};
    Output turned = Transpose(x, perm);
    Output product = Reshape(others(f, Reshape(turned, Pack(counts, 2, 0)), zero), ShapeOf(turned));
    f->dx[0] = Mul(put_back(f, f->dy[0]), Transpose(product, InvertPermutation(perm)));
}

// One axis after the other: dx = dy * (product of the others).
static void prod_grad(Formula *f) {
    int64_t axes[MAX_RANK];
    Output x[MAX_RANK + 1] = {f->x[0]};
    int n = known_axes(f, axes);
    if (n < 0) {
        prod_grad_unknown(f);
        return;
    }
    Output dx = put_back(f, f->dy[0]);
    for (int i = 0; i < n; i++)
        x[i + 1] = Prod(x[i], Int(axes[i]), true);
    for (int i = n - 1; i >= 0; i--)
        dx = Mul(dx, others(f, x[i], Int(axes[i])));
    f->dx[0] = dx;
}

static void norm_grad(Formula *f) {  // dy x / y
    Output y = put_back(f, f->y[0]), dy = put_back(f, f->dy[0]);
    f->dx[0] = Mul(f->x[0], DivNoNan(dy, y));
}

// ---------------------------------------- the ops


static COLD Status *reduction_hlo(Hlo *h) {
    static const char *const words[] = {
        [REDUCE_SUM] = "add", [REDUCE_MEAN] = "mean", [REDUCE_PROD] = "multiply", [REDUCE_MAX] = "maximum",
        [REDUCE_MIN] = "minimum", [REDUCE_NORM] = "norm", [REDUCE_ALL] = "and", [REDUCE_ANY] = "or",
    };
    HloValue x = hlo_in(h, 0);
    ReduceOp op = *(const ReduceOp *)node_op(h->node)->row;
    uint32_t axes = hlo_need_axes(h, 1, x->shape.rank);
    int keep = node_bool(h->node, "keep_dims") ? KEEP : DROP;
    if (op == REDUCE_MEAN)
        return hlo_out(h, 0, hlo_mean(h, x, axes, keep));
    if (op == REDUCE_NORM) {
        HloValue squares = hlo_reduce(h, "add", hlo_mul(h, x, hlo_conj(h, x)), axes, keep);
        squares = dtype_is_integer(x->dtype) ? hlo_cast(h, squares, DT_double) : squares;
        return hlo_out(h, 0, hlo_cast(h, hlo_sqrt(h, squares), x->dtype));
    }
    return hlo_out(h, 0, hlo_reduce(h, words[op], x, axes, keep));
}

static COLD Status *l2_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    return hlo_out(h, 0, hlo_times(h, hlo_reduce(h, "add", hlo_square(h, x), ALL_AXES(x), DROP), 0.5));
}

#define REDUCTION(Name, WORD, types, text, gradient)                                                             \
    static const ReduceOp Name##_row = REDUCE_##WORD;                                                            \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(input: T, reduction_indices: Tidx) -> output: T; keep_dims: bool = false; T: " types \
                           "; Tidx: {int32, int64} = int32",                                                     \
        .doc = text, .needs = "scalar_or_vector(reduction_indices)", .shape = reduce_shape, .grad = gradient,     \
        .prepare = reduction_prepare, .own_size = sizeof(Reduction), .cpu = ANY_TYPE(reduction_run),              \
        .hlo = reduction_hlo,                                                                                    \
        .inplace = BIT(0), .host = BIT(1), .row = &Name##_row,                                                    \
    };
REDUCTION(Sum, SUM, "numbers", "Sum of the elements along the given axes.", sum_grad)
REDUCTION(Mean, MEAN, "numbers", "Mean of the elements along the given axes.", mean_grad)
REDUCTION(Prod, PROD, "numbers", "Product of the elements along the given axes.", prod_grad)
REDUCTION(Max, MAX, "{reals, quantized}", "Largest element along the given axes.", extreme_grad)
REDUCTION(Min, MIN, "{reals, quantized}", "Smallest element along the given axes.", extreme_grad)
REDUCTION(EuclideanNorm, NORM, "numbers", "Square root of the sum of squares along the given axes.", norm_grad)

static const ReduceOp All_row = REDUCE_ALL;
const Op op_All = {
    .signature = "All(input: bool, reduction_indices: Tidx) -> output: bool; keep_dims: bool = false; "
                 "Tidx: {int32, int64} = int32",
    .doc = "Whether all elements along the given axes are true.", .needs = "scalar_or_vector(reduction_indices)",
    .shape = reduce_shape, .prepare = reduction_prepare, .own_size = sizeof(Reduction),
    .cpu = ANY_TYPE(reduction_run), .host = BIT(1), .flags = OP_NO_GRADIENT, .row = &All_row, .hlo = reduction_hlo,
};
static const ReduceOp Any_row = REDUCE_ANY;
const Op op_Any = {
    .signature = "Any(input: bool, reduction_indices: Tidx) -> output: bool; keep_dims: bool = false; "
                 "Tidx: {int32, int64} = int32",
    .doc = "Whether some element along the given axes is true.", .needs = "scalar_or_vector(reduction_indices)",
    .shape = reduce_shape, .prepare = reduction_prepare, .own_size = sizeof(Reduction),
    .cpu = ANY_TYPE(reduction_run), .host = BIT(1), .flags = OP_NO_GRADIENT, .row = &Any_row, .hlo = reduction_hlo,
};

// ---------------------------------------- L2Loss

static Status *l2_prepare(Prepare *p) {
    return plan_reduction(p, REDUCE_SQUARES, BIT(MAX_RANK) - 1);
}

static Status *l2_run(Kernel *k) {
    TRY(reduction_run(k));
    void *y = k->out[0]->data;
    switch (k->out[0]->dtype) {
    case DT_half: *(Half *)y = half_from_float(half_to_float(*(Half *)y) / 2); break;
    case DT_bfloat16: *(Bfloat16 *)y = bfloat16_from_float(bfloat16_to_float(*(Bfloat16 *)y) / 2); break;
    case DT_double: *(double *)y /= 2; break;
    default: *(float *)y /= 2; break;
    }
    return OK;
}

static void l2_grad(Formula *f) {
    f->dx[0] = Mul(f->x[0], f->dy[0]);
}

const Op op_L2Loss = {
    .signature = "L2Loss(t: T) -> output: T; T: floats_half_first",
    .doc = "Half the sum of the squares of all elements.", .shape = shape_scalar, .grad = l2_grad,
    .prepare = l2_prepare, .own_size = sizeof(Reduction), .cpu = ANY_TYPE(l2_run), .hlo = l2_hlo,
};
