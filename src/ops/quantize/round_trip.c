// QuantizeAndDequantize, V2, V3, V4 — floats as they come back from a few bits of a scale that fits them.
#define SELF "ops/quantize/round_trip.c"
#ifndef T
#include "ops/op.h"

typedef struct {
    int64_t outer, slices, inner;  // [outer, slices, inner]: a slice has a range of its own
    int64_t bits;                  // 0: an input's
    bool is_signed, given, narrow, half_up;
    int low, high;                 // which inputs; low -1: the attributes
    double attr_low, attr_high;
} Trip;

static Status *trip_prepare(Prepare *p) {
    Trip *own = p->own;
    const Node *node = p->node;
    bool gradient = p->n_out == 3;
    const Shape *shape = &p->in[gradient]->shape;
    int64_t axis = node_attr_find(node, "axis") ? node_int(node, "axis") : -1;
    NEED(axis >= -1 && axis < shape->rank, INVALID_ARGUMENT, "Axis should be in [-1, %d), got %lld", shape->rank,
         (long long)axis);
    own->slices = axis < 0 ? 1 : shape->dims[axis];
    own->outer = axis < 0 ? 1 : shape_span(shape, 0, (int)axis);
    own->inner = axis < 0 ? shape_count(shape) : shape_span(shape, (int)axis + 1, shape->rank);
    own->low = p->n_in == 1 ? -1 : 1 + gradient;
    own->high = own->low + 1;
    for (int i = own->low; own->low >= 0 && i <= own->high; i++) {
        const Shape *range = &p->in[i]->shape;
        NEED(axis < 0 ? shape_count(range) == 1 : range->rank == 1 && range->dims[0] == own->slices, INVALID_ARGUMENT,
             "the range must have shape %s, got %s", axis < 0 ? "[]" : shape_text(&SHAPE(own->slices)), shape_text(range));
    }
    p->cost = kernel_cost(shape_count(shape), 3000, 0);
    if (gradient)
        return OK;
    own->is_signed = node_bool(node, "signed_input");
    own->given = node_bool(node, "range_given");
    own->narrow = node_attr_find(node, "narrow_range") && node_bool(node, "narrow_range");
    own->half_up = node_attr_find(node, "round_mode") && str_is(node_str(node, "round_mode"), "HALF_UP");
    if (p->n_in == 1) {
        own->attr_low = (double)node_float(node, "input_min");
        own->attr_high = (double)node_float(node, "input_max");
    }
    own->bits = p->n_in == 4 ? 0 : node_int(node, "num_bits");
    NEED(p->n_in == 4 || (own->bits > 0 && own->bits < (own->is_signed ? 62 : 63)), INVALID_ARGUMENT,
         "num_bits is out of range: %lld with signed_input %d", (long long)own->bits, own->is_signed);
    return OK;
}

// Steps per unit, and a range that these make whole.
typedef struct {
    double low, high, scale, inverse;
} Scale;

static Scale scale_of(const Trip *own, int64_t bits, double low, double high) {
    double least = own->is_signed ? -ldexp(1, (int)bits - 1) + own->narrow : 0;
    double most = ldexp(1, (int)bits - own->is_signed) - 1;
    double by_low = least * low > 0 ? least / low : HUGE_VAL, by_high = most * high > 0 ? most / high : HUGE_VAL;
    Scale s = {.low = low, .high = high, .scale = by_low < by_high ? by_low : by_high};
    if (isinf(s.scale))  // zeros stay zeros
        return (Scale){0};
    s.inverse = 1 / s.scale;
    if (by_low < by_high)
        s.high = most * s.inverse;
    else
        s.low = least * s.inverse;
    return s;
}

#define EACH_FLOAT
#include "ops/each_dtype.h"

static Status *trip_grad_shape(Shapes *s) {
    TRY(shape_merge(&s->in[0], &s->in[1], &s->out[0]));
    s->out[1] = s->in[2];
    s->out[2] = s->in[3];
    return OK;
}

static Status *trip_shape(Shapes *s) {
    const AttrValue *attr = node_attr_find(s->node, "axis");
    const Shape *in = &s->in[0];
    int64_t axis = attr ? attr->i : -1;
    NEED(axis >= -1, INVALID_ARGUMENT, "axis should be at least -1, got %lld", (long long)axis);
    NEED(in->rank < 0 || axis < in->rank, INVALID_ARGUMENT, "axis %lld is not one of %s", (long long)axis, shape_text(in));
    s->out[0] = *in;
    for (int i = 1; i < s->n_in && i < 3; i++) {
        const Shape *range = &s->in[i];
        NEED(range->rank < 0 || range->rank == (axis < 0 ? 0 : 1), INVALID_ARGUMENT, "the range must have rank %d, got %s",
             axis < 0 ? 0 : 1, shape_text(range));
        if (axis >= 0 && axis < MAX_RANK && in->rank > axis && range->rank == 1)
            NEED(in->dims[axis] < 0 || range->dims[0] < 0 || in->dims[axis] == range->dims[0], INVALID_ARGUMENT,
                 "the range %s does not fit axis %lld of %s", shape_text(range), (long long)axis, shape_text(in));
    }
    return OK;
}

static void straight_through(Formula *f) {
    f->dx[0] = f->dy[0];
}
static void inside_grad(Formula *f) {
    f->dx[0] = Like("QuantizeAndDequantizeV4Grad", f->dy[0], f->x[0], f->x[1], f->x[2]);
    f->dx[1] = At(f->dx[0], 1);
    f->dx[2] = At(f->dx[0], 2);
}

#define SIGNED "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; "
#define ROUNDED "round_mode: {\"HALF_TO_EVEN\", \"HALF_UP\"} = \"HALF_TO_EVEN\"; narrow_range: bool = false; axis: int = -1"
#define OF_TRIP .prepare = trip_prepare, .own_size = sizeof(Trip)
#define THERE_AND_BACK .shape = trip_shape, .cpu = KERNELS(FLOATS, trip), OF_TRIP

const Op op_QuantizeAndDequantize = {
    .signature = "QuantizeAndDequantize(input: T) -> output: T; " SIGNED "input_min: float = 0; input_max: float = 0; "
                 "T: floats; deprecated(22, \"use QuantizeAndDequantizeV2\")",
    .doc = "Each element as the nearest of 2^num_bits steps.", .grad = straight_through, THERE_AND_BACK,
};
const Op op_QuantizeAndDequantizeV2 = {
    .signature = "QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T) -> output: T; " SIGNED "T: floats; " ROUNDED,
    .doc = "Each element as the nearest of 2^num_bits steps.", .grad = straight_through, THERE_AND_BACK,
};
const Op op_QuantizeAndDequantizeV3 = {
    .signature = "QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> output: T; "
                 "signed_input: bool = true; range_given: bool = true; T: floats; narrow_range: bool = false; "
                 "axis: int = -1",
    .doc = "Each element as the nearest of 2^num_bits steps.", .needs = "scalar(num_bits)", .grad = straight_through,
    .host = BIT(3), THERE_AND_BACK,
};
const Op op_QuantizeAndDequantizeV4 = {
    .signature = "QuantizeAndDequantizeV4(input: T, input_min: T, input_max: T) -> output: T; " SIGNED "T: floats; " ROUNDED,
    .doc = "Each element as the nearest of 2^num_bits steps; the gradient passes inside of the range alone.",
    .grad = inside_grad, THERE_AND_BACK,
};
const Op op_QuantizeAndDequantizeV4Grad = {
    .signature = "QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T) -> input_backprop: T, "
                 "input_min_backprop: T, input_max_backprop: T; T: floats; axis: int = -1",
    .doc = "Gradient of QuantizeAndDequantizeV4.", .needs = "same_shape(gradients, input)", .shape = trip_grad_shape,
    .cpu = KERNELS(FLOATS, trip_grad), .flags = OP_NO_GRADIENT, OF_TRIP,
};

#else  // ---------------------------------------- kernels, once per dtype

static T *FN(slice)(const Trip *own, void *data, int64_t outer, int64_t slice) {
    return (T *)data + (outer * own->slices + slice) * own->inner;
}

// The range that is given, or that of the slice's elements.
static Status *FN(range)(const Kernel *k, int64_t slice, double *low, double *high) {
    const Trip *own = k->own;
    if (own->given) {
        *low = own->low < 0 ? own->attr_low : (double)LOAD(((const T *)k->in[own->low]->data)[slice]);
        *high = own->low < 0 ? own->attr_high : (double)LOAD(((const T *)k->in[own->high]->data)[slice]);
        NEED(*low <= *high, INVALID_ARGUMENT, "Invalid range: input_min %g > input_max %g", *low, *high);
        return OK;
    }
    *low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (int64_t o = 0; o < own->outer; o++) {
        const T *x = FN(slice)(own, k->in[0]->data, o, slice);
        for (int64_t i = 0; i < own->inner; i++) {
            *low = fmin(*low, (double)LOAD(x[i]));
            *high = fmax(*high, (double)LOAD(x[i]));
        }
    }
    return OK;
}

static Status *FN(trip)(Kernel *k) {
    const Trip *own = k->own;
    int64_t bits = own->bits;
    if (!bits) {
        bits = tensor_int(k->in[3], 0);
        NEED(bits > 0 && bits < (own->is_signed ? 62 : 63), INVALID_ARGUMENT,
             "num_bits is out of range: %lld with signed_input %d", (long long)bits, own->is_signed);
    }
    for (int64_t slice = 0; slice < own->slices && tensor_count(k->in[0]); slice++) {
        double low, high;
        TRY(FN(range)(k, slice, &low, &high));
        Scale s = scale_of(own, bits, low, high);
        for (int64_t o = 0; o < own->outer; o++) {
            const T *x = FN(slice)(own, k->in[0]->data, o, slice);
            T *y = FN(slice)(own, k->out[0]->data, o, slice);
            for (int64_t i = 0; i < own->inner; i++) {
                double v = (double)LOAD(x[i]);
                if (own->given)
                    v = v < s.low ? s.low : v > s.high ? s.high : v;
                v *= s.scale;
                y[i] = STORE((ACC)((own->half_up ? floor(v + 0.5) : rint(v)) * s.inverse));
            }
        }
    }
    return OK;
}

static Status *FN(trip_grad)(Kernel *k) {
    const Trip *own = k->own;
    for (int64_t slice = 0; slice < own->slices; slice++) {
        ACC low = LOAD(((const T *)k->in[own->low]->data)[slice]), high = LOAD(((const T *)k->in[own->high]->data)[slice]);
        for (int64_t o = 0; o < own->outer; o++) {
            const T *dy = FN(slice)(own, k->in[0]->data, o, slice), *x = FN(slice)(own, k->in[1]->data, o, slice);
            T *dx = FN(slice)(own, k->out[0]->data, o, slice);
            for (int64_t i = 0; i < own->inner; i++)
                dx[i] = LOAD(x[i]) >= low && LOAD(x[i]) <= high ? dy[i] : STORE((ACC)0);
        }
    }
    memset(k->out[1]->data, 0, tensor_bytes(k->out[1]));
    memset(k->out[2]->data, 0, tensor_bytes(k->out[2]));
    return OK;
}
#endif
