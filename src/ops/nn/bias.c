// Bias — a value per channel, added to every pixel; and the gradient, the sum over all pixels.
//
// A broadcast in all but name: with channels innermost rows of the bias are added to rows of pixels, with channels
// first one number to each plane.
#include "loops/broadcast.h"
#include "loops/reduce.h"
#include "loops/tuning.h"
#include "ops/nn/epilogue.h"
#include "ops/op.h"

static bool in_planes(const Node *node) {
    const AttrValue *format = node_attr_find(node, "data_format");
    return format && str_is(format->s, "NCHW");
}

static int channel_axis(const Node *node, const Shape *value) {
    return in_planes(node) ? 1 : value->rank - 1;
}

// ---------------------------------------- adding

// Few channels make short rows: the bias is repeated to a pattern of some length, and added to runs of that length.
enum { PATTERN = 2048 };

typedef struct {
    ElementwiseLoop loop;
    BroadcastPlan broadcast;   // planes, and rows that are long enough
    int64_t count, repeats;    // elements; biases in a pattern, 0 where there is none
    int64_t channels, cost;    // cost: ns
} Bias;

static Status *bias_shape(Shapes *s) {
    const Shape *value = &s->in[0], *bias = &s->in[1];
    s->out[0] = *value;
    if (value->rank < 0)
        return OK;
    int axis = channel_axis(s->node, value);
    int64_t channels = value->dims[axis];
    NEED(bias->rank != 1 || bias->dims[0] < 0 || channels < 0 || bias->dims[0] == channels, INVALID_ARGUMENT,
         "Must provide as many biases as the channel dimension of the input: %s vs. %s", shape_text(bias),
         shape_text(value));
    if (bias->rank == 1 && channels < 0)
        s->out[0].dims[axis] = bias->dims[0];
    return OK;
}

static void pattern_units(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Bias *own = k->own;
    int64_t length = own->repeats * own->channels, size = own->loop.in_size;
    const char *value = k->in[0]->data;
    char *out = k->out[0]->data;
    for (int64_t unit = first; unit < last; unit++) {
        int64_t from = unit * length, n = min_i64(length, own->count - from);
        (void)elementwise_run(&own->loop, value + from * size, k->scratch, out + from * size, n, 1, 1);
    }
}

static Status *pattern_run(Kernel *k) {
    const Bias *own = k->own;
    size_t row = (size_t)own->channels * own->loop.in_size;
    for (int64_t i = 0; i < own->repeats; i++)
        memcpy((char *)k->scratch + (size_t)i * row, k->in[1]->data, row);
    int64_t length = own->repeats * own->channels;
    kernel_share(k, div_up(own->count, length), own->cost, pattern_units, k);
    return OK;
}

static Status *bias_prepare(Prepare *p) {
    Bias *own = p->own;
    const Shape *value = &p->in[0]->shape;
    int axis = channel_axis(p->node, value);
    Shape bias = {.rank = value->rank - axis};
    for (int i = 0; i < bias.rank; i++)
        bias.dims[i] = i ? 1 : value->dims[axis];
    NEED(elementwise_find(&elementwise_Add, p->in[0]->dtype, &own->loop), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    broadcast_prepare(value, &bias, value, &own->broadcast);
    own->count = shape_count(value);
    own->channels = value->dims[axis];
    int64_t each = elementwise_picoseconds(&elementwise_Add, &own->loop);
    p->cost = own->cost = kernel_cost(own->count, each, 2 * own->count * own->loop.in_size);
    if (bias.rank == 1 && own->channels > 0 && own->channels < TUNED_BIAS_ROW && own->count > 2 * PATTERN) {
        own->repeats = PATTERN / own->channels;
        p->scratch = (size_t)(own->repeats * own->channels) * own->loop.in_size;
        p->run = pattern_run;
    }
    return OK;
}

static void bias_units(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Bias *own = k->own;
    (void)broadcast_run(&own->broadcast, &own->loop, k->in[0]->data, k->in[1]->data, k->out[0]->data, first, last);
}

static Status *bias_run(Kernel *k) {
    const Bias *own = k->own;
    kernel_share(k, own->broadcast.units, own->cost, bias_units, k);
    return OK;
}

static void bias_grad(Formula *f) {
    f->dx[0] = f->dy[0];
    f->dx[1] = Like("BiasAddGrad", f->dy[0]);
}

#define FORMATS "; data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\""
static COLD Status *bias_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    return hlo_out(h, 0, hlo_add(h, x, hlo_along(h, hlo_in(h, 1), x, channel_axis(h->node, &x->shape))));
}

const Op op_BiasAdd = {
    .signature = "BiasAdd(value: T, bias: T) -> output: T; T: numbers" FORMATS,
    .doc = "Adds a value per channel.", .needs = "rank(value) >= 2, vector(bias)", .shape = bias_shape,
    .grad = bias_grad, .prepare = bias_prepare, .own_size = sizeof(Bias), .inplace = BIT(0),
    .cpu = ANY_TYPE(bias_run), .same_rows = 1, .hlo = bias_hlo,
};

static void bias_v1_expand(Formula *f) {
    f->results[0] = formula_2(f, "BiasAdd", f->x[0], f->x[1]);
}

const Op op_BiasAddV1 = {
    .signature = "BiasAddV1(value: T, bias: T) -> output: T; T: numbers",
    .doc = "Adds a value per channel.", .needs = "rank(value) >= 2, vector(bias)", .shape = bias_shape,
    .expand = bias_v1_expand, .same_rows = 1,
};

// ---------------------------------------- the gradient

static Status *sum_shape(Shapes *s) {
    const Shape *dy = &s->in[0];
    s->out[0] = SHAPE(dy->rank < 0 ? UNKNOWN_DIM : dy->dims[channel_axis(s->node, dy)]);
    return OK;
}

typedef struct {
    ReducePlan plan;
    int64_t cost;    // ns
} BiasSum;

static Status *sum_prepare(Prepare *p) {
    BiasSum *own = p->own;
    ReducePlan *plan = &own->plan;
    const Shape *dy = &p->in[0]->shape;
    uint32_t axes = (BIT(dy->rank) - 1) & ~BIT(channel_axis(p->node, dy));
    NEED(reduce_prepare(REDUCE_SUM, p->in[0]->dtype, dy, axes, plan), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    p->scratch = reduce_scratch(plan);
    int64_t count = shape_count(dy), each = plan->load ? 400 : 20 * (int64_t)plan->element;
    p->cost = own->cost = kernel_cost(count, each, count * (int64_t)plan->element);
    return OK;
}

static void sum_units(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const BiasSum *own = k->own;
    reduce_run(&own->plan, k->in[0]->data, k->out[0]->data, k->scratch, first, last);
}

static Status *sum_run(Kernel *k) {
    const BiasSum *own = k->own;
    kernel_share(k, own->plan.units, own->cost, sum_units, k);
    reduce_finish(&own->plan, k->out[0]->data, k->scratch);
    return OK;
}

static void sum_grad(Formula *f) {  // each pixel of dy gets the gradient of its channel
    f->dx[0] = Like("BiasAdd", ZerosLike(f->x[0]), f->dy[0]);
}

static COLD Status *bias_grad_hlo(Hlo *h) {
    HloValue dy = hlo_in(h, 0);
    return hlo_out(h, 0, hlo_reduce(h, "add", dy, ALL_AXES(dy) & ~BIT(channel_axis(h->node, &dy->shape)), DROP));
}

const Op op_BiasAddGrad = {
    .signature = "BiasAddGrad(out_backprop: T) -> output: T; T: numbers" FORMATS,
    .doc = "Gradient of BiasAdd by the bias: the sum over all but the channels.", .needs = "rank(out_backprop) >= 2",
    .shape = sum_shape, .grad = sum_grad, .prepare = sum_prepare, .own_size = sizeof(BiasSum),
    .cpu = ANY_TYPE(sum_run), .hlo = bias_grad_hlo,
};
