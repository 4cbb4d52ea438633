// _FusedConv2D, _FusedConv3D, _FusedDepthwiseConv2dNative — a convolution and what follows it: bias, sum, activation,
// in one node.
//
// The implementation that was chosen does what it can while it writes its output (ConvTail.within); the rest is done
// here, over the output. A sum that it does itself is laid into the output first, or lies there already.
#include "loops/broadcast.h"
#include "ops/nn/conv.h"

struct ConvTail {
    Epilogue all, within;
    int in_bias, in_sum;
    Stage bias, sum;
    size_t at_bias, bias_bytes;       // a copy in the scratch, for where the output was given its memory
    size_t sum_bytes;
    size_t at_own;                    // the convolution by itself, where the sum is added here
    bool spreads_own, spreads_sum;    // ... and where they broadcast
    size_t at_spread_own, at_spread_sum;
    CopyPlan spread_own, spread_sum;
    ElementwiseLoop add, activation;
    int64_t count;
};

// ---------------------------------------- planning

Epilogue *conv_within(const Conv *conv) {
    return conv->tail ? &conv->tail->within : NULL;
}

Epilogue conv_wanted(const Conv *conv) {
    const ConvTail *tail = conv->tail;
    if (!tail)
        return (Epilogue){0};
    Epilogue wanted = tail->all;
    if (tail->spreads_own || tail->spreads_sum)
        wanted = (Epilogue){.bias = wanted.bias};
    return wanted;
}

Epilogue conv_wanted_simply(const Conv *conv) {
    Epilogue wanted = {0};
    if (conv->tail)
        wanted.bias = conv->tail->all.bias;
    if (conv->tail && !conv->tail->all.sum && conv->tail->all.activation == ACTIVATION_RELU)
        wanted.activation = ACTIVATION_RELU;
    return wanted;
}

static size_t reserve(Prepare *p, size_t bytes) {
    size_t at = round_up(p->scratch, 64);
    p->scratch = at + bytes;
    return at;
}

// What of the epilogue is known before an implementation is chosen.
static Status *begin_tail(Prepare *p, Conv *conv) {
    ConvTail *tail = ARENA_NEW(p->arena, ConvTail);
    NEED_MEMORY(tail);
    TRY(epilogue_of_node(p->node, &tail->all));
    NEED(!tail->all.apart, UNIMPLEMENTED, "fused_ops that were not written out as nodes");
    NEED(p->n_in == 2 + tail->all.bias + tail->all.sum, UNIMPLEMENTED, "%d inputs", p->n_in);
    DType dtype = p->out[0]->dtype, compute = staging_float(dtype);
    for (int i = 2; i < p->n_in; i++)
        NEED(p->in[i]->dtype == dtype, UNIMPLEMENTED, "args of type %s", dtype_name(p->in[i]->dtype));
    Sliding sliding;
    const ConvRow *row = node_op(p->node)->row;
    TRY(sliding_of_conv(p->node, conv_axes(row), &sliding));
    tail->in_bias = 2;
    tail->in_sum = 2 + tail->all.bias;
    tail->count = shape_count(&p->out[0]->shape);
    if (tail->all.bias) {
        const Shape *bias = &p->in[tail->in_bias]->shape;
        TRY(stage_input(p, dtype, compute, bias, false, &tail->bias));
        tail->bias_bytes = (size_t)shape_count(bias) * dtype_size(compute);
        tail->at_bias = reserve(p, tail->bias_bytes);
    }
    if (tail->all.sum) {
        const Shape *sum = &p->in[tail->in_sum]->shape;
        Shape own;
        TRY(conv_shape(&sliding, &p->in[0]->shape, &p->in[1]->shape, row->depthwise, &own));
        tail->spreads_own = !shape_equal(&own, &p->out[0]->shape);
        tail->spreads_sum = !shape_equal(sum, &p->out[0]->shape);
        NEED(!sliding.planes || !(tail->spreads_own || tail->spreads_sum), UNIMPLEMENTED,
             "sums that broadcast over planes");
        TRY(stage_input(p, dtype, compute, sum, sliding.planes, &tail->sum));
        tail->sum_bytes = (size_t)shape_count(sum) * dtype_size(compute);
        copy_broadcast(&own, &p->out[0]->shape, dtype_size(compute), &tail->spread_own);
        copy_broadcast(sum, &p->out[0]->shape, dtype_size(compute), &tail->spread_sum);
    }
    conv->tail = tail;
    return OK;
}

// What the chosen implementation leaves to be done.
static Status *end_tail(Prepare *p, const Conv *conv) {
    ConvTail *tail = conv->tail;
    DType compute = staging_float(p->out[0]->dtype);
    const WindowShape *w = &conv->window;
    size_t size = dtype_size(compute), whole = (size_t)tail->count * size;
    int64_t pixels = w->batch * w->out_h * w->out_w * max_i64(1, w->out_d);
    if (tail->all.sum && !tail->within.sum) {
        NEED(elementwise_find(&elementwise_Add, compute, &tail->add), INTERNAL, "no loop for sums");
        tail->at_own = reserve(p, (size_t)(pixels * w->out_c) * size);
        tail->at_spread_own = reserve(p, tail->spreads_own ? whole : 0);
        tail->at_spread_sum = reserve(p, tail->spreads_sum ? whole : 0);
    }
    return tail->all.activation ? epilogue_activation(&tail->all, compute, &tail->activation) : OK;
}

static Status *fused_prepare(Prepare *p) {
    Conv *conv = p->own;
    TRY(begin_tail(p, conv));
    TRY(conv_prepare_op(p));
    return end_tail(p, conv);
}

// ---------------------------------------- while the kernel runs

ConvOut conv_begin(const Conv *conv, Kernel *k) {
    const ConvTail *tail = conv->tail;
    ConvOut out = {.to = stage_target(&conv->out, k, k->out[0]->data)};
    if (!tail)
        return out;
    out.relu = tail->within.activation == ACTIVATION_RELU;
    if (tail->all.bias) {
        out.bias = stage_load(&tail->bias, k, k->in[tail->in_bias]->data);
        if (out.bias == k->out[0]->data)
            out.bias = memcpy((char *)k->scratch + tail->at_bias, out.bias, tail->bias_bytes);
    }
    if (tail->within.sum) {
        const void *sum = stage_load(&tail->sum, k, k->in[tail->in_sum]->data);
        if (sum != out.to)
            memcpy(out.to, sum, tail->sum_bytes);
    } else if (tail->all.sum) {
        out.to = (char *)k->scratch + tail->at_own;
    }
    return out;
}

typedef struct {
    const ElementwiseLoop *loop;
    const char *a, *b;   // b NULL: one input
    char *out;
} Pass;

static void pass_range(void *arg, int64_t first, int64_t last) {
    const Pass *pass = arg;
    int64_t at = first * pass->loop->in_size;
    (void)elementwise_run(pass->loop, pass->a + at, pass->b ? pass->b + at : NULL, pass->out + at, last - first, 1, 1);
}

static const void *spread(Kernel *k, bool spreads, const CopyPlan *plan, const void *from, size_t at) {
    if (!spreads)
        return from;
    void *to = (char *)k->scratch + at;
    copy_run(plan, from, to, 0, plan->units);
    return to;
}

void conv_end(const Conv *conv, Kernel *k) {
    const ConvTail *tail = conv->tail;
    void *out = stage_target(&conv->out, k, k->out[0]->data);
    if (tail && tail->all.sum && !tail->within.sum) {
        const void *own = (char *)k->scratch + tail->at_own;
        const void *sum = stage_load(&tail->sum, k, k->in[tail->in_sum]->data);
        Pass pass = {.loop = &tail->add, .out = out};
        pass.a = spread(k, tail->spreads_own, &tail->spread_own, own, tail->at_spread_own);
        pass.b = spread(k, tail->spreads_sum, &tail->spread_sum, sum, tail->at_spread_sum);
        kernel_parallel(k, tail->count, 1, pass_range, &pass);
    }
    if (tail && tail->all.activation && !tail->within.activation) {
        Pass pass = {.loop = &tail->activation, .a = out, .out = out};
        kernel_parallel(k, tail->count, 1, pass_range, &pass);
    }
    stage_store(&conv->out, k, k->out[0]->data);
}

// ---------------------------------------- schemas

static Status *fused_shape(Shapes *s) {
    TRY(conv_output_shape(s));
    Epilogue e;
    TRY(epilogue_of_node(s->node, &e));
    Shape *out = &s->out[0];
    const ConvRow *row = node_op(s->node)->row;
    Sliding sliding;
    TRY(sliding_of_conv(s->node, conv_axes(row), &sliding));
    int channels = sliding.c;
    if (e.bias && s->n_in > 2) {
        const Shape *bias = &s->in[2];
        NEED(bias->rank < 0 || bias->rank == 1, INVALID_ARGUMENT, "the bias must be a vector, got %s",
             shape_text(bias));
        NEED(bias->rank < 0 || out->rank < 0 || bias->dims[0] < 0 || out->dims[channels] < 0 ||
                 bias->dims[0] == out->dims[channels],
             INVALID_ARGUMENT, "Must provide as many biases as the channel dimension of the input: %s vs. %s",
             shape_text(bias), shape_text(out));
    }
    if (e.sum && s->n_in > 2 + e.bias) {
        Shape own = *out;
        TRY(shape_broadcast(&own, &s->in[2 + e.bias], out));
    }
    return OK;
}

#define OF_IMAGES                                                                               \
    "; padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}; explicit_paddings: list(int) = []; "       \
    "data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"; dilations: list(int) = [1, 1, 1, 1]; "
#define OF_VOLUMES                                                                              \
    " >= 5; padding: {\"SAME\", \"VALID\"}; data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"; "  \
    "dilations: list(int) = [1, 1, 1, 1, 1]; padding_list: list(int) = []; "

static const ConvRow conv2d_row = {CONV_FORWARD, false, 0, 1, .sizes = -1};
static const ConvRow depthwise_row = {CONV_FORWARD, true, 0, 1, .sizes = -1};
static const ConvRow conv3d_row = {CONV_FORWARD, false, 0, 1, .sizes = -1, .volumes = true};

#define FUSED_ATTRIBUTES "fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2"
#define FUSED_FIELDS                                                                                         \
    .doc = "A convolution, then what fused_ops says: BiasAdd, Add and an activation.", .shape = fused_shape, \
    .prepare = fused_prepare, .own_size = sizeof(Conv), .cpu = ANY_TYPE(conv_run), .inplace = BIT(2),        \
    .open = packed_open, .close = packed_close, .state_size = sizeof(PackedState), .flags = OP_CACHES, .same_rows = 1

const Op op__FusedConv2D = {
    .signature = "_FusedConv2D(input: T, filter: T, args: TArgs, host_args: num_host_args * float) -> output: T; "
                 "T: floats_half_first; TArgs: list(type) >= 0; num_args: int >= 0; num_host_args: int >= 0 = 0; "
                 "filter_format: {\"HWIO\"} = \"HWIO\"; use_cudnn_on_gpu: bool = true; strides: list(int)" OF_IMAGES
                 FUSED_ATTRIBUTES,
    .row = &conv2d_row, FUSED_FIELDS,
};
const Op op__FusedConv3D = {
    .signature = "_FusedConv3D(input: T, filter: T, args: num_args * T) -> output: T; T: {bfloat16, float, half}; "
                 "num_args: int >= 0; strides: list(int)" OF_VOLUMES FUSED_ATTRIBUTES,
    .row = &conv3d_row, FUSED_FIELDS,
};
const Op op__FusedDepthwiseConv2dNative = {
    .signature = "_FusedDepthwiseConv2dNative(input: T, filter: T, args: num_args * T) -> output: T; "
                 "T: floats_half_first; num_args: int >= 0; strides: list(int)" OF_IMAGES FUSED_ATTRIBUTES,
    .row = &depthwise_row, FUSED_FIELDS,
};
