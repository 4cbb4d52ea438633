// Convolutions — Conv2D, DepthwiseConv2dNative and the gradients of both by input and by filter.
//
// A depthwise filter [h, w, in, multiplier] lies in memory as [h, w, 1, in * multiplier]: a convolution in as many
// groups as there are channels. Images in planes (NCHW, NCDHW) are turned into pixels first and back afterwards.
#include "ops/nn/conv.h"

// ---------------------------------------- shapes

// The shape that a host input of sizes says; `dy` and `filter` fill in what a pair of height and width leaves out.
static Status *complete_sizes(const Sliding *sliding, const ConvRow *row, const Shape *given, const Shape *dy,
                              const Shape *filter, Shape *out) {
    if (row->pass == CONV_INPUT && !row->depthwise && !row->volumes && given->rank == 2) {
        Shape full = {.rank = 4};
        full.dims[sliding->n] = dy->rank == 4 ? dy->dims[sliding->n] : UNKNOWN_DIM;
        full.dims[sliding->c] = filter->rank == 4 ? filter->dims[2] : UNKNOWN_DIM;
        full.dims[sliding->axis[0]] = given->dims[0];
        full.dims[sliding->axis[1]] = given->dims[1];
        *out = full;
        return shape_check(out);
    }
    int rank = sliding->axes + 2;
    NEED(given->rank < 0 || given->rank == rank, INVALID_ARGUMENT, "sizes must have %d elements, got %d", rank,
         given->rank);
    Shape unknown = {rank, {UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM}};
    *out = given->rank < 0 ? unknown : *given;
    return OK;
}

Status *conv_output_shape(Shapes *s) {
    const ConvRow *row = node_op(s->node)->row;
    Sliding sliding;
    TRY(sliding_of_conv(s->node, conv_axes(row), &sliding));
    if (row->pass == CONV_FORWARD)
        return conv_shape(&sliding, &s->in[0], &s->in[1], row->depthwise, &s->out[0]);
    Shape given, result;
    if (row->like)
        given = s->in[row->sizes];
    else
        TRY(shapes_input_shape(s, row->sizes, &given));
    const Shape *dy = &s->in[2], *other = &s->in[row->pass == CONV_INPUT ? 1 : 0];
    TRY(complete_sizes(&sliding, row, &given, dy, other, &result));
    NEED(dy->rank < 0 || dy->rank == sliding.axes + 2, INVALID_ARGUMENT, "out_backprop must be %d-dimensional, got %s",
         sliding.axes + 2, shape_text(dy));
    const Shape *x = row->pass == CONV_INPUT ? &result : other, *filter = row->pass == CONV_INPUT ? other : &result;
    TRY(conv_check_gradient(&sliding, x, filter, row->depthwise, dy));
    s->out[0] = result;
    return OK;
}

// ---------------------------------------- geometry

static int64_t multiplications(const WindowShape *w) {
    double n = (double)w->batch * (double)w->out_h * (double)w->out_w * (double)w->out_c * (double)w->filter_h *
               (double)w->filter_w * (double)(w->in_c / w->groups) * (double)max_i64(1, w->out_d) *
               (double)max_i64(1, w->filter_d);
    return n < 1e17 ? (int64_t)n : (int64_t)1e17;
}

// Shapes of x, filter and y, of which the pass makes one.
static Status *find_shapes(const Prepare *p, const ConvRow *row, Sliding *sliding, Shape *x, Shape *filter, Shape *y) {
    TRY(sliding_of_conv(p->node, conv_axes(row), sliding));
    NEED(shape_is_known(&p->out[0]->shape), INVALID_ARGUMENT, "the sizes of the output must not be negative");
    Shape made = p->out[0]->shape, a = p->in[row->a]->shape, b = p->in[row->b]->shape;
    *x = row->pass == CONV_INPUT ? made : a;
    *filter = row->pass == CONV_FORWARD ? b : row->pass == CONV_INPUT ? a : made;
    *y = row->pass == CONV_FORWARD ? made : b;
    return row->pass == CONV_FORWARD ? OK : conv_check_gradient(sliding, x, filter, row->depthwise, y);
}

static Status *run_int32(Kernel *k);

Status *conv_prepare_op(Prepare *p) {
    const ConvRow *row = node_op(p->node)->row;
    Conv *conv = p->own;
    Sliding sliding;
    Shape x, filter, y;
    TRY(find_shapes(p, row, &sliding, &x, &filter, &y));
    TRY(conv_window(&sliding, &x, &filter, row->depthwise, &conv->window));
    conv->pass = row->pass;
    conv->in_a = row->a;
    conv->in_b = row->b;
    DType dtype = p->out[0]->dtype, compute = staging_float(dtype);
    bool filter_first = row->pass == CONV_INPUT, filter_second = row->pass == CONV_FORWARD;
    TRY(stage_input(p, dtype, compute, &p->in[row->a]->shape, sliding.planes && !filter_first, &conv->a));
    TRY(stage_input(p, dtype, compute, &p->in[row->b]->shape, sliding.planes && !filter_second, &conv->b));
    TRY(stage_output(p, dtype, compute, &p->out[0]->shape, sliding.planes && row->pass != CONV_FILTER, &conv->out));
    int64_t work = multiplications(&conv->window);
    p->cost = work / 16;
    if (dtype == DT_int32) {
        p->cost = work;
        p->run = run_int32;
        return OK;
    }
    // To one channel from 16 at 2 x 128 x 128 takes the library 2.4 ms at AVX2.
    bool narrow = row->pass == CONV_FORWARD && conv_is_narrow(&conv->window);
    if (compute == DT_float && !narrow && conv_prepare_winograd(p, conv))
        return OK;
    if (compute == DT_float && !narrow)
        TRY(conv_prepare_library(p, conv, work));
    if (conv->library)
        return OK;
    if (conv->tail)
        *conv_within(conv) = conv_wanted_simply(conv);
    NEED(conv_prepare(row->pass, compute, &conv->window, &conv->plan), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(dtype));
    p->implementation = "loops";
    lanes_prepare(p, conv->plan.scratch, conv->plan.units, &conv->lanes);
    conv->unit_cost = conv->plan.units ? max_i64(1, p->cost / conv->plan.units) : 1;
    return OK;
}

// ---------------------------------------- kernels

typedef struct {
    const Conv *conv;
    const void *a, *b;
    ConvOut out;
    Lanes lanes;
} Work;

static void conv_units(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const ConvPlan *plan = &work->conv->plan;
    int lane = lanes_take(&work->lanes);
    void *scratch = lanes_memory(&work->lanes, lane);
    if (plan->pass == CONV_FORWARD)
        conv_forward(plan, work->a, work->b, work->out.bias, work->out.relu, work->out.to, scratch, first, last);
    else if (plan->pass == CONV_INPUT)
        conv_input(plan, work->b, work->a, work->out.to, scratch, first, last);
    else
        conv_filter(plan, work->a, work->b, work->out.to, scratch, first, last);
    lanes_give(&work->lanes, lane);
}

Status *conv_load_packed(const Conv *conv, Kernel *k, Buffer **kept, const void **a, const void **b) {
    *a = stage_load(&conv->a, k, k->in[conv->in_a]->data);
    *b = stage_load(&conv->b, k, k->in[conv->in_b]->data);
    if (conv->pass == CONV_FILTER)
        return OK;
    if (conv->pass == CONV_INPUT) {  // what is packed, the filter, comes first here
        const void *filter = *a;
        *a = *b;
        *b = filter;
    }
    return packing_load(&conv->packing, k, *b, kept, b);
}

Status *conv_run(Kernel *k) {
    const Conv *conv = k->own;
    Work work = {.conv = conv};
    work.a = stage_load(&conv->a, k, k->in[conv->in_a]->data);
    work.b = stage_load(&conv->b, k, k->in[conv->in_b]->data);
    work.out = conv_begin(conv, k);
    lanes_open(k, &conv->lanes, &work.lanes);
    kernel_parallel(k, conv->plan.units, conv->unit_cost, conv_units, &work);
    conv_end(conv, k);
    return OK;
}

// ---------------------------------------- int32: one product at a time, wrapping

typedef struct {
    const WindowShape *w;
    const uint32_t *x, *filter, *dy;  // of these the pass reads two
    uint32_t *out;
} IntWork;

// Visits every product of one output pixel: forward adds x * filter to y, backward dy * filter to dx.
static void int_pixel(const IntWork *work, bool forward, int64_t n, int64_t oy, int64_t ox) {
    const WindowShape *w = work->w;
    int64_t in_c = w->in_c / w->groups, out_c = w->out_c / w->groups,
        y_at = ((n * w->out_h + oy) * w->out_w + ox) * w->out_c;
    for (int64_t fy = 0; fy < w->filter_h; fy++)
        for (int64_t fx = 0; fx < w->filter_w; fx++) {
            int64_t y = oy * w->stride_h - w->pad_top + fy * w->dilation_h;
            int64_t x = ox * w->stride_w - w->pad_left + fx * w->dilation_w;
            if (y < 0 || y >= w->in_h || x < 0 || x >= w->in_w)
                continue;
            int64_t x_at = ((n * w->in_h + y) * w->in_w + x) * w->in_c;
            const uint32_t *filter = work->filter + (fy * w->filter_w + fx) * in_c * w->out_c;
            for (int64_t i = 0; i < in_c; i++)
                for (int64_t o = 0; o < w->out_c; o++) {
                    int64_t channel = o / out_c * in_c + i;
                    if (forward)
                        work->out[y_at + o] += work->x[x_at + channel] * filter[i * w->out_c + o];
                    else
                        work->out[x_at + channel] += work->dy[y_at + o] * filter[i * w->out_c + o];
                }
        }
}

static void int_images(void *arg, int64_t first, int64_t last) {
    const IntWork *work = arg;
    const WindowShape *w = work->w;
    bool forward = work->x != NULL;
    int64_t image = forward ? w->out_h * w->out_w * w->out_c : w->in_h * w->in_w * w->in_c;
    if (image > 0)
        memset(work->out + first * image, 0, (size_t)((last - first) * image) * sizeof(uint32_t));
    for (int64_t n = first; n < last; n++)
        for (int64_t y = 0; y < w->out_h; y++)
            for (int64_t x = 0; x < w->out_w; x++)
                int_pixel(work, forward, n, y, x);
}

// Integers have no library and no transforms: plain loops, for graphs that ask.
static Status *run_int32(Kernel *k) {
    const Conv *conv = k->own;
    const void *a = stage_load(&conv->a, k, k->in[conv->in_a]->data);
    const void *b = stage_load(&conv->b, k, k->in[conv->in_b]->data);
    bool forward = conv->pass == CONV_FORWARD;
    IntWork work = {.w = &conv->window, .x = forward ? a : NULL, .filter = forward ? b : a, .dy = forward ? NULL : b,
                    .out = stage_target(&conv->out, k, k->out[0]->data)};
    int64_t batch = conv->window.batch;
    kernel_parallel(k, batch, max_i64(1, multiplications(&conv->window) / max_i64(1, batch)), int_images, &work);
    stage_store(&conv->out, k, k->out[0]->data);
    return OK;
}

// ---------------------------------------- schemas and gradients

static void conv2d_grad(Formula *f) {
    Output x = f->x[0], filter = f->x[1], dy = f->dy[0];
    f->dx[0] = Like("Conv2DBackpropInput", ShapeOf(x), filter, dy);
    f->dx[1] = Like("Conv2DBackpropFilter", x, ShapeOf(filter), dy);
}

static void conv2d_input_grad(Formula *f) {  // both are linear in their other input
    Output filter = f->x[1], dy = f->x[2], dz = f->dy[0];
    f->dx[1] = Like("Conv2DBackpropFilter", dz, ShapeOf(filter), dy);
    f->dx[2] = Like("Conv2D", dz, filter);
}

static void conv2d_filter_grad(Formula *f) {
    Output x = f->x[0], dy = f->x[2], dz = f->dy[0];
    f->dx[0] = Like("Conv2DBackpropInput", ShapeOf(x), dz, dy);
    f->dx[2] = Like("Conv2D", x, dz);
}

static void depthwise_grad(Formula *f) {
    Output x = f->x[0], filter = f->x[1], dy = f->dy[0];
    f->dx[0] = Like("DepthwiseConv2dNativeBackpropInput", ShapeOf(x), filter, dy);
    f->dx[1] = Like("DepthwiseConv2dNativeBackpropFilter", x, ShapeOf(filter), dy);
}

static void depthwise_input_grad(Formula *f) {
    Output filter = f->x[1], dy = f->x[2], dz = f->dy[0];
    f->dx[1] = Like("DepthwiseConv2dNativeBackpropFilter", dz, ShapeOf(filter), dy);
    f->dx[2] = Like("DepthwiseConv2dNative", dz, filter);
}

static void depthwise_filter_grad(Formula *f) {
    Output x = f->x[0], dy = f->x[2], dz = f->dy[0];
    f->dx[0] = Like("DepthwiseConv2dNativeBackpropInput", ShapeOf(x), dz, dy);
    f->dx[2] = Like("DepthwiseConv2dNative", x, dz);
}

#define CONV_ATTRIBUTES                                                                                            \
    "padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}; explicit_paddings: list(int) = []; "                             \
    "data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"; dilations: list(int) = [1, 1, 1, 1]"
#define CONV2D_ATTRIBUTES "strides: list(int); use_cudnn_on_gpu: bool = true; " CONV_ATTRIBUTES
#define CONV_OP(Name, arguments, types, attributes, text, conv_row, host_mask, gradient, rows)                     \
    const Op op_##Name = {                                                                                         \
        .signature = #Name "(" arguments ") -> output: T; T: {" types "}; " attributes, .doc = text,               \
        .shape = conv_output_shape, .grad = gradient, .prepare = conv_prepare_op, .own_size = sizeof(Conv),         \
        .cpu = ANY_TYPE(conv_run), .host = host_mask, .row = conv_row, .open = packed_open, .close = packed_close,  \
        .state_size = sizeof(PackedState), .flags = OP_CACHES, .same_rows = rows, .hlo = conv_hlo,                  \
    };

static const ConvRow conv2d_row = {CONV_FORWARD, false, 0, 1, .sizes = -1},
    depthwise_row = {CONV_FORWARD, true, 0, 1, .sizes = -1};
static const ConvRow conv2d_input_row = {CONV_INPUT, false, 1, 2, .sizes = 0},
    depthwise_input_row = {CONV_INPUT, true, 1, 2, .sizes = 0};
static const ConvRow conv2d_filter_row = {CONV_FILTER, false, 0, 2, .sizes = 1};
static const ConvRow depthwise_filter_row = {CONV_FILTER, true, 0, 2, .sizes = 1};

CONV_OP(Conv2D, "input: T, filter: T", "floats_half_first, int32", CONV2D_ATTRIBUTES,
        "Slides the filter over the images: each output sums the products of a window.", &conv2d_row, 0, conv2d_grad, 1)
CONV_OP(Conv2DBackpropInput, "input_sizes: int32, filter: T, out_backprop: T", "floats_half_first, int32",
        CONV2D_ATTRIBUTES,
        "Gradient of Conv2D by its images.", &conv2d_input_row, BIT(0), conv2d_input_grad, 3)
CONV_OP(Conv2DBackpropFilter, "input: T, filter_sizes: int32, out_backprop: T", "floats_half_first", CONV2D_ATTRIBUTES,
        "Gradient of Conv2D by its filter.", &conv2d_filter_row, BIT(1), conv2d_filter_grad, 0)
CONV_OP(DepthwiseConv2dNative, "input: T, filter: T", "floats_half_first", "strides: list(int); " CONV_ATTRIBUTES,
        "Convolves each channel with filters of its own.", &depthwise_row, 0, depthwise_grad, 1)
CONV_OP(DepthwiseConv2dNativeBackpropInput, "input_sizes: int32, filter: T, out_backprop: T", "floats_half_first",
        "strides: list(int); " CONV_ATTRIBUTES, "Gradient of DepthwiseConv2dNative by its images.",
        &depthwise_input_row, BIT(0), depthwise_input_grad, 3)
CONV_OP(DepthwiseConv2dNativeBackpropFilter, "input: T, filter_sizes: int32, out_backprop: T", "floats_half_first",
        "strides: list(int); " CONV_ATTRIBUTES, "Gradient of DepthwiseConv2dNative by its filter.",
        &depthwise_filter_row, BIT(1), depthwise_filter_grad, 0)
