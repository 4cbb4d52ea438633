// LeakyRelu, LeakyReluGrad, ApproximateEqual, ClipByValue — elementwise ops with a parameter or a third input.
#include "ops/math/elementwise.h"

ELEMENTWISE(ApproximateEqual);
ELEMENTWISE(LeakyRelu);
ELEMENTWISE(LeakyReluGrad);

static void leaky_grad(Formula *f) {
    f->dx[0] = Like("LeakyReluGrad", f->dy[0], f->x[0]);
}
static void leaky_grad_grad(Formula *f) {
    f->dx[0] = Like("LeakyReluGrad", f->dy[0], f->x[1]);
    f->dx[1] = ZerosLike(f->x[1]);
}

static const ElementwiseRow LeakyRelu_row = {&elementwise_LeakyRelu, "alpha"};
static COLD HloValue leaky(Hlo *h, HloValue x, HloValue y) {  // y where x is positive, else alpha y
    return hlo_select(h, hlo_is(h, "GT", x, 0), y, hlo_times(h, y, (double)node_float(h->node, "alpha")));
}
static COLD Status *leaky_hlo(Hlo *h) {
    return hlo_out(h, 0, leaky(h, hlo_in(h, 0), hlo_in(h, 0)));
}
static COLD Status *leaky_grad_hlo(Hlo *h) {
    return hlo_out(h, 0, leaky(h, hlo_in(h, 1), hlo_in(h, 0)));
}
static COLD Status *approximate_hlo(Hlo *h) {
    HloValue d = hlo_sub(h, hlo_in(h, 0), hlo_in(h, 1));
    d = dtype_is_complex(d->dtype) ? hlo_to(h, "abs", d, hlo_real(h, d)->dtype) : hlo_abs(h, d);
    return hlo_out(h, 0, hlo_is(h, "LT", d, (double)node_float(h->node, "tolerance")));
}
static COLD Status *clip_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_max(h, hlo_min(h, hlo_in(h, 0), hlo_in(h, 2)), hlo_in(h, 1)));
}

const Op op_LeakyRelu = {
    .signature = "LeakyRelu(features: T) -> activations: T; alpha: float = 0.2; T: floats_half_first = float",
    .doc = "The element where it is positive, else alpha times it.", .shape = shape_unchanged, .grad = leaky_grad,
    ELEMENTWISE_FAMILY, .inplace = BIT(0), .flags = OP_ELEMENTWISE, .row = &LeakyRelu_row, .hlo = leaky_hlo,
};
static const ElementwiseRow LeakyReluGrad_row = {&elementwise_LeakyReluGrad, "alpha"};
const Op op_LeakyReluGrad = {
    .signature = "LeakyReluGrad(gradients: T, features: T) -> backprops: T; alpha: float = 0.2; "
                 "T: floats_half_first = float",
    .doc = "Gradient of LeakyRelu: the gradient, times alpha where the feature is not positive.",
    .needs = "same_shape(gradients, features)", .shape = shape_same_all, .grad = leaky_grad_grad, ELEMENTWISE_FAMILY,
    .inplace = BIT(0) | BIT(1), .flags = OP_ELEMENTWISE, .row = &LeakyReluGrad_row, .hlo = leaky_grad_hlo,
};

static const ElementwiseRow ApproximateEqual_row = {&elementwise_ApproximateEqual, "tolerance"};
const Op op_ApproximateEqual = {
    .signature =
        "ApproximateEqual(x: T, y: T) -> z: bool; T: numbers; "
                 "tolerance: float = 1e-05; commutative",
    .doc = "Whether the elements differ by less than the tolerance.", .needs = "same_shape(x, y)",
    .shape = shape_same_all, ELEMENTWISE_FAMILY, .flags = OP_ELEMENTWISE | OP_NO_GRADIENT, .row = &ApproximateEqual_row,
    .hlo = approximate_hlo,
};

// ---------------------------------------- ClipByValue

typedef struct {
    ElementwiseLoop low, high;
    int64_t step_low, step_high;
} Clipping;

static void clip_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Clipping *own = k->own;
    int64_t size = own->low.in_size;
    char *out = (char *)k->out[0]->data + first * size;
    elementwise_run(&own->high, (const char *)k->in[0]->data + first * size,
                    (const char *)k->in[2]->data + first * own->step_high * size, out, last - first, 1, own->step_high);
    elementwise_run(&own->low, out, (const char *)k->in[1]->data + first * own->step_low * size, out, last - first, 1,
                    own->step_low);
}

static Status *clip_run(Kernel *k) {
    kernel_parallel(k, tensor_count(k->out[0]), 1, clip_range, k);
    return OK;
}

static Status *clip_shape(Shapes *s) {
    for (int i = 1; i < 3; i++)
        NEED(s->in[i].rank <= 0 || shape_count(&s->in[i]) == 1 || shape_compatible(&s->in[i], &s->in[0]),
             INVALID_ARGUMENT,
             "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: %s, "
             "got %s", shape_text(&s->in[0]), shape_text(&s->in[i]));
    s->out[0] = s->in[0];
    return OK;
}

static Status *clip_prepare(Prepare *p) {
    Clipping *own = p->own;
    DType dtype = p->in[0]->dtype;
    NEED(elementwise_find(&elementwise_Maximum, dtype, &own->low) &&
         elementwise_find(&elementwise_Minimum, dtype, &own->high),
         UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    own->step_low = shape_count(&p->in[1]->shape) != 1;
    own->step_high = shape_count(&p->in[2]->shape) != 1;
    p->cost = shape_count(&p->in[0]->shape);
    return OK;
}

static void clip_grad(Formula *f) {
    Output x = f->x[0], low = f->x[1], high = f->x[2], dy = f->dy[0], zero = ZerosLike(dy);
    Output below = Less(x, low), above = Greater(x, high);
    f->dx[0] = Select(LogicalOr(below, above), zero, dy);
    f->dx[1] = SumTo(Select(below, dy, zero), low);
    f->dx[2] = SumTo(Select(above, dy, zero), high);
}

const Op op_ClipByValue = {
    .signature = "ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> output: T; T: numbers",
    .doc = "The elements, brought between a least and a greatest value.", .shape = clip_shape, .grad = clip_grad,
    .prepare = clip_prepare, .own_size = sizeof(Clipping), .cpu = ANY_TYPE(clip_run), .hlo = clip_hlo,
};
