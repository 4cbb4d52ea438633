// FakeQuantWithMinMaxArgs, FakeQuantWithMinMaxVars, FakeQuantWithMinMaxVarsPerChannel — floats as they come back from a few
// bits, for training; and the gradients.
#include "ops/op.h"

// The ranges are the attributes' (no ranges among the inputs), one for all elements, or one for each channel.
typedef struct {
    int64_t count, channels;
    int first_range;             // the input that is the lower ends; -1: none
    float low, high;
    int bits;
    bool narrow, gradient;
} Fake;

// A range moved so that zero is one of the steps.
typedef struct {
    float low, high, step, inverse, zero;
    bool empty;                  // [0, 0]: all is zero
} Steps;

static Steps steps_of(const Fake *own, float low, float high) {
    float first = own->narrow ? 1 : 0, last = (float)((1 << own->bits) - 1);
    Steps s = {.empty = low == 0 && high == 0, .step = (high - low) / (last - first)};
    float at = first - low / s.step, zero = at < first ? first : at > last ? last : roundf(at);
    s.low = (first - zero) * s.step;
    s.high = (last - zero) * s.step;
    s.inverse = 1 / s.step;
    s.zero = floorf(-s.low * s.inverse + 0.5f);
    return s;
}

static Steps steps_of_channel(const Kernel *k, int64_t channel) {
    const Fake *own = k->own;
    if (own->first_range < 0) {
        Steps s = steps_of(own, own->low, own->high);
        s.empty = false;
        return s;
    }
    return steps_of(own, ((const float *)k->in[own->first_range]->data)[channel],
                    ((const float *)k->in[own->first_range + 1]->data)[channel]);
}

static Status *fake_prepare(Prepare *p) {
    Fake *own = p->own;
    const Shape *in = &p->in[0]->shape;
    int64_t bits = node_int(p->node, "num_bits");
    NEED(bits >= 2 && bits <= 16, INVALID_ARGUMENT, "num_bits must be between 2 and 16, inclusive, got %lld",
         (long long)bits);
    own->bits = (int)bits;
    own->narrow = node_bool(p->node, "narrow_range");
    own->gradient = p->n_in == 2 || p->n_in == 4;
    own->first_range = p->n_in < 3 ? -1 : own->gradient ? 2 : 1;
    own->channels = own->first_range < 0 ? 1 : shape_count(&p->in[own->first_range]->shape);
    own->count = shape_count(in);
    if (own->first_range < 0) {
        own->low = (float)node_float(p->node, "min");
        own->high = (float)node_float(p->node, "max");
        NEED(own->low < own->high, INVALID_ARGUMENT, "min has to be smaller than max, was: %g >= %g", (double)own->low,
             (double)own->high);
    }
    p->cost = kernel_cost(own->count, 1500, own->count * 8);
    return OK;
}

static Status *fake_run(Kernel *k) {
    const Fake *own = k->own;
    const float *x = k->in[0]->data;
    float *y = k->out[0]->data;
    for (int64_t c = 0; c < own->channels; c++) {
        Steps s = steps_of_channel(k, c);
        for (int64_t i = c; i < own->count; i += own->channels) {
            float inside = x[i] < s.high ? x[i] : s.high;
            inside = (inside > s.low ? inside : s.low) - s.low;
            inside = own->first_range < 0 ? inside * s.inverse : inside / s.step;  // as TensorFlow rounds, to the bit
            y[i] = s.empty ? 0 : floorf(inside - s.zero + 0.5f) * s.step;
        }
    }
    return OK;
}

// Inside of the range the gradient passes; what is below belongs to the lower end, what is above to the upper one.
static Status *gradient_run(Kernel *k) {
    const Fake *own = k->own;
    const float *dy = k->in[0]->data, *x = k->in[1]->data;
    float *dx = k->out[0]->data;
    for (int64_t c = 0; c < own->channels; c++) {
        Steps s = steps_of_channel(k, c);
        double below = 0, above = 0;
        for (int64_t i = c; i < own->count; i += own->channels) {
            bool low = x[i] < s.low, high = x[i] > s.high, inside = x[i] >= s.low && x[i] <= s.high;
            dx[i] = s.empty || inside ? dy[i] : 0;
            below += low ? (double)dy[i] : 0;
            above += high ? (double)dy[i] : 0;
        }
        if (k->n_out == 3) {
            ((float *)k->out[1]->data)[c] = s.empty ? 0 : (float)below;
            ((float *)k->out[2]->data)[c] = s.empty ? 0 : (float)above;
        }
    }
    return OK;
}

static Status *gradient_shape(Shapes *s) {
    TRY(shape_merge(&s->in[0], &s->in[1], &s->out[0]));
    for (int i = 1; i < s->n_out; i++)
        s->out[i] = s->in[2];
    return OK;
}

static void args_grad(Formula *f) {
    f->dx[0] = Like("FakeQuantWithMinMaxArgsGradient", f->dy[0], f->x[0]);
}
static void vars_grad(Formula *f) {
    f->dx[0] = Like("FakeQuantWithMinMaxVarsGradient", f->dy[0], f->x[0], f->x[1], f->x[2]);
    f->dx[1] = At(f->dx[0], 1);
    f->dx[2] = At(f->dx[0], 2);
}
static void channels_grad(Formula *f) {
    f->dx[0] = Like("FakeQuantWithMinMaxVarsPerChannelGradient", f->dy[0], f->x[0], f->x[1], f->x[2]);
    f->dx[1] = At(f->dx[0], 1);
    f->dx[2] = At(f->dx[0], 2);
}

#define BITS "; num_bits: int = 8; narrow_range: bool = false"
#define ENDS "; min: float = -6; max: float = 6; num_bits: int = 8; narrow_range: bool = false"
#define OF_FAKE .prepare = fake_prepare, .own_size = sizeof(Fake)
#define FORWARD .shape = shape_unchanged, .cpu = ANY_TYPE(fake_run), OF_FAKE
#define BACKWARD .shape = gradient_shape, .cpu = ANY_TYPE(gradient_run), .flags = OP_NO_GRADIENT, OF_FAKE

const Op op_FakeQuantWithMinMaxArgs = {
    .signature = "FakeQuantWithMinMaxArgs(inputs: float) -> outputs: float" ENDS,
    .doc = "Each element as the nearest of 2^num_bits steps between min and max.", .grad = args_grad, FORWARD,
};
const Op op_FakeQuantWithMinMaxVars = {
    .signature = "FakeQuantWithMinMaxVars(inputs: float, min: float, max: float) -> outputs: float" BITS,
    .doc = "Each element as the nearest of 2^num_bits steps between min and max.", .needs = "scalar(min), scalar(max)",
    .grad = vars_grad, FORWARD,
};
const Op op_FakeQuantWithMinMaxVarsPerChannel = {
    .signature = "FakeQuantWithMinMaxVarsPerChannel(inputs: float, min: float, max: float) -> outputs: float" BITS,
    .doc = "Each element as the nearest of 2^num_bits steps between its channel's min and max.",
    .needs = "rank(inputs) >= 1, vector(min), vector(max), dim(inputs, -1) == dim(min, 0), dim(inputs, -1) == dim(max, 0)",
    .grad = channels_grad, FORWARD,
};
const Op op_FakeQuantWithMinMaxArgsGradient = {
    .signature = "FakeQuantWithMinMaxArgsGradient(gradients: float, inputs: float) -> backprops: float" ENDS,
    .doc = "Gradient of FakeQuantWithMinMaxArgs.", .needs = "same_shape(gradients, inputs)", BACKWARD,
};
const Op op_FakeQuantWithMinMaxVarsGradient = {
    .signature = "FakeQuantWithMinMaxVarsGradient(gradients: float, inputs: float, min: float, max: float) -> "
                 "backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float" BITS,
    .doc = "Gradient of FakeQuantWithMinMaxVars.", .needs = "same_shape(gradients, inputs), scalar(min), scalar(max)",
    BACKWARD,
};
const Op op_FakeQuantWithMinMaxVarsPerChannelGradient = {
    .signature = "FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float, inputs: float, min: float, max: float) -> "
                 "backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float" BITS,
    .doc = "Gradient of FakeQuantWithMinMaxVarsPerChannel.",
    .needs = "same_shape(gradients, inputs), rank(inputs) >= 1, vector(min), vector(max), dim(inputs, -1) == dim(min, 0), "
             "dim(inputs, -1) == dim(max, 0)",
    BACKWARD,
};
