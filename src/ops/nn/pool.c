// Pooling — windows reduced to their greatest or mean element, and the gradients. loops/pool.c has the loops; here are
// the ops' attributes, types and shapes.
#include "graph/rewrite.h"
#include "ops/nn/pool.h"

#include "graph/build.h"
#include "graph/extents.h"

// ---------------------------------------- geometry

static int axes_of(const Node *node) {
    const PoolRow *row = node_op(node)->row;
    return row && row->volumes ? 3 : 2;
}

Status *pool_sliding(const Node *node, const Tensor *ksize, const Tensor *strides, bool *known, Sliding *out) {
    const PoolRow *row = node_op(node)->row;
    *known = true;
    if (!row || !row->sizes_are_inputs)
        return sliding_of_pool(node, axes_of(node), NULL, NULL, out);
    *known = ksize && strides && ksize->data && strides->data;
    if (!*known)
        return OK;
    int64_t k[4], s[4];
    NEED(tensor_count(ksize) == 4 && tensor_count(strides) == 4, INVALID_ARGUMENT,
         "ksize and strides must have 4 elements, got %s and %s", shape_text(&ksize->shape),
         shape_text(&strides->shape));
    for (int i = 0; i < 4; i++) {
        k[i] = tensor_int(ksize, i);
        s[i] = tensor_int(strides, i);
    }
    return sliding_of_pool(node, 2, k, s, out);
}

Status *pool_output_shape(Shapes *s) {
    Sliding sliding;
    bool known;
    TRY(pool_sliding(s->node, s->value[s->n_in - 2 < 0 ? 0 : s->n_in - 2], s->value[s->n_in - 1], &known, &sliding));
    if (known)
        TRY(pool_shape(&sliding, &s->in[0], &s->out[0]));
    for (int i = 1; i < s->n_out; i++)
        s->out[i] = s->out[0];
    return OK;
}

// Half and bfloat16 are widened: the result of a maximum is the same, means lose less.
static DType pool_compute(DType dtype) {
    switch (dtype) {
    case DT_half: case DT_bfloat16: return DT_float;
    case DT_int8: case DT_int16: case DT_uint8: case DT_uint16: return DT_int32;
    case DT_uint32: return DT_int64;
    default: return dtype;
    }
}

Status *pool_prepare_window(Prepare *p, const Shape *x, DType dtype, Pool *pool, Sliding *sliding) {
    bool known;
    TRY(pool_sliding(p->node, p->in[p->n_in - 2 < 0 ? 0 : p->n_in - 2], p->in[p->n_in - 1], &known, sliding));
    NEED(known, INTERNAL, "ksize and strides must be known");
    TRY(pool_check_kernel(sliding, x));
    TRY(pool_window(sliding, x, &pool->window));
    pool->planes = sliding->planes && sliding->axes == 2;
    pool->turns = sliding->planes && sliding->axes == 3;
    pool->compute = pool_compute(dtype);
    NEED(max_pool_takes(pool->compute), UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    WindowShape *w = &pool->window;
    double work = (double)w->out_h * (double)w->out_w * (double)w->filter_h * (double)w->filter_w * (double)w->in_c *
                  (double)max_i64(1, w->out_d) * (double)max_i64(1, w->filter_d);
    pool->image_cost = work < 1e15 ? max_i64(1, (int64_t)work / 4) : (int64_t)1e15;
    p->cost = max_i64(1, w->batch) < INT64_MAX / pool->image_cost ? w->batch * pool->image_cost : INT64_MAX;
    return OK;
}

// A pool along the channels is one along the width of rows of channels.
static void along_channels(const Sliding *sliding, Pool *pool) {
    WindowShape w = pool->window;
    w.batch *= w.in_h;
    w.in_h = w.out_h = w.in_w;
    w.in_w = w.in_c;
    w.out_w = w.in_c / sliding->depth_window;
    w.in_c = w.out_c = 1;
    w.filter_w = w.stride_w = sliding->depth_window;
    w.pad_top = w.pad_left = 0;
    pool->window = w;
}

// ---------------------------------------- forward

static Status *forward_prepare(Prepare *p) {
    Pool *pool = p->own;
    Sliding sliding;
    DType dtype = p->in[0]->dtype;
    TRY(pool_prepare_window(p, &p->in[0]->shape, dtype, pool, &sliding));
    bool turn = pool->turns || (sliding.planes && sliding.depth_window > 1);
    if (sliding.depth_window > 1) {
        along_channels(&sliding, pool);
        pool->planes = false;
    }
    TRY(stage_input(p, dtype, pool->compute, &p->in[0]->shape, turn, &pool->x));
    return stage_output(p, dtype, pool->compute, &p->out[0]->shape, turn, &pool->out);
}

Status *pool_max_prepare(Prepare *p) {
    Pool *pool = p->own;
    TRY(forward_prepare(p));
    lanes_prepare(p, max_pool_work(pool->compute, &pool->window), pool_units(&pool->window, pool->planes),
                  &pool->lanes);
    return OK;
}

Status *pool_avg_prepare(Prepare *p) {
    Sliding sliding;
    TRY(sliding_of_pool(p->node, axes_of(p->node), NULL, NULL, &sliding));
    NEED(sliding.depth_window == 1, UNIMPLEMENTED, "AvgPool along the channels is not supported");
    return forward_prepare(p);
}

typedef struct {
    Kernel *k;
    const Pool *pool;
    const void *x, *y, *dy;
    void *out;
    Lanes lanes;
} Work;

static void max_units(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Pool *pool = work->pool;
    int lane = lanes_take(&work->lanes);
    max_pool(pool->compute, &pool->window, pool->planes, work->x, work->out, lanes_memory(&work->lanes, lane), first,
             last);
    lanes_give(&work->lanes, lane);
}

static void avg_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Pool *pool = work->pool;
    avg_pool(pool->compute, &pool->window, pool->planes, work->x, work->out, first, last);
}

static Status *forward_run(Kernel *k, void (*fn)(void *, int64_t, int64_t)) {
    const Pool *pool = k->own;
    Work work = {.k = k, .pool = pool, .x = stage_load(&pool->x, k, k->in[0]->data),
                 .out = stage_target(&pool->out, k, k->out[0]->data)};
    lanes_open(k, &pool->lanes, &work.lanes);
    int64_t units = pool_units(&pool->window, pool->planes);
    if (pool->out.count)
        kernel_parallel(k, units, max_i64(1, pool->image_cost / (units / pool->window.batch)), fn, &work);
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

Status *pool_max_run(Kernel *k) {
    return forward_run(k, max_units);
}
Status *pool_avg_run(Kernel *k) {
    return forward_run(k, avg_units);
}

// ---------------------------------------- rematerialised: behind its first input _MaxPoolRecompute reads what MaxPool did

static bool can_recompute(const Match *match, const Node *next) {
    const Node *pool = match->nodes[0];
    (void)next;
    return pool->output_types[0] == DT_float && str_is(node_str(pool, "data_format"), "NHWC");
}

static Status *recompute_write(NodeBuilder *builder, const Match *match) {
    static const char *const names[] = {"T", "ksize", "strides", "padding", "explicit_paddings"};
    const Node *pool = match->nodes[0];
    builder_input(builder, pool->inputs[0]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        builder_attr(builder, str_of(names[i]), node_attr_find(pool, names[i]));
    return OK;
}

const Rewrite rewrite_max_pool_recompute = {
    .name = "recompute-max-pool", .kind = REWRITE_REMATERIALISE, .roots = ROOTS("MaxPool"), .op = "_MaxPoolRecompute",
    .takes = can_recompute, .write = recompute_write,
};

static Status *recompute_prepare(Prepare *p) {
    Prepare behind = *p;
    behind.in++;
    behind.n_in--;
    TRY(pool_max_prepare(&behind));
    p->scratch = behind.scratch;
    p->cleanups = behind.cleanups;
    return OK;
}

static Status *recompute_run(Kernel *k) {
    Kernel behind = *k;
    behind.in++;
    behind.n_in--;
    return pool_max_run(&behind);
}

// ---------------------------------------- gradients

static void grad_parallel(Kernel *k, const Pool *pool, int64_t units, void (*fn)(void *, int64_t, int64_t),
                          Work *work) {
    kernel_parallel(k, units, max_i64(1, pool->image_cost / (units / pool->window.batch)), fn, work);
}

static void max_grad_units(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Pool *pool = work->pool;
    int lane = lanes_take(&work->lanes);
    max_pool_grad(pool->compute, &pool->window, pool->planes, work->x, work->dy, work->out,
                  lanes_memory(&work->lanes, lane), first, last);
    lanes_give(&work->lanes, lane);
}

Status *pool_grad_shape(Shapes *s) {
    Sliding sliding;
    bool known;
    Shape y;
    TRY(pool_sliding(s->node, s->value[s->n_in - 2], s->value[s->n_in - 1], &known, &sliding));
    s->out[0] = s->in[0];
    if (!known)
        return OK;
    TRY(pool_shape(&sliding, &s->in[0], &y));
    NEED(shape_compatible(&y, &s->in[1]), INVALID_ARGUMENT, "Expected orig_output shape to be %s, but got %s",
         shape_text(&y), shape_text(&s->in[1]));
    NEED(shape_compatible(&y, &s->in[2]), INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s", shape_text(&y),
         shape_text(&s->in[2]));
    return OK;
}

Status *pool_max_grad_prepare(Prepare *p) {
    Pool *pool = p->own;
    Sliding sliding;
    DType dtype = p->in[0]->dtype;
    TRY(pool_prepare_window(p, &p->in[0]->shape, dtype, pool, &sliding));
    NEED(sliding.depth_window == 1, UNIMPLEMENTED, "MaxPoolGrad is not yet supported along the channels");
    TRY(stage_input(p, dtype, pool->compute, &p->in[0]->shape, pool->turns, &pool->x));
    TRY(stage_input(p, p->in[2]->dtype, pool->compute, &p->in[2]->shape, pool->turns, &pool->dy));
    TRY(stage_output(p, p->out[0]->dtype, pool->compute, &p->out[0]->shape, pool->turns, &pool->out));
    lanes_prepare(p, max_pool_work(pool->compute, &pool->window), pool_grad_units(&pool->window, pool->planes),
                  &pool->lanes);
    return OK;
}

Status *pool_max_grad_run(Kernel *k) {
    const Pool *pool = k->own;
    Work work = {.k = k, .pool = pool, .x = stage_load(&pool->x, k, k->in[0]->data),
                 .dy = stage_load(&pool->dy, k, k->in[2]->data), .out = stage_target(&pool->out, k, k->out[0]->data)};
    lanes_open(k, &pool->lanes, &work.lanes);
    if (pool->out.count)
        grad_parallel(k, pool, pool_grad_units(&pool->window, pool->planes), max_grad_units, &work);
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

Status *pool_avg_grad_shape(Shapes *s) {
    Sliding sliding;
    Shape x, y;
    TRY(sliding_of_pool(s->node, axes_of(s->node), NULL, NULL, &sliding));
    NEED(sliding.depth_window == 1, UNIMPLEMENTED, "AvgPoolGrad along the channels is not supported");
    TRY(shapes_input_shape(s, 0, &x));
    int rank = sliding.axes + 2;
    NEED(x.rank < 0 || x.rank == rank, INVALID_ARGUMENT, "orig_input_shape must have %d elements, got %d", rank,
         x.rank);
    TRY(pool_shape(&sliding, &x, &y));
    NEED(shape_compatible(&y, &s->in[1]), INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s", shape_text(&y),
         shape_text(&s->in[1]));
    s->out[0] = x;
    return OK;
}

Status *pool_avg_grad_prepare(Prepare *p) {
    Pool *pool = p->own;
    Sliding sliding;
    Shape y;
    DType dtype = p->in[1]->dtype;
    NEED(shape_is_known(&p->out[0]->shape), INVALID_ARGUMENT, "orig_input_shape must not be negative");
    TRY(pool_prepare_window(p, &p->out[0]->shape, dtype, pool, &sliding));
    TRY(pool_shape(&sliding, &p->out[0]->shape, &y));
    NEED(shape_equal(&y, &p->in[1]->shape), INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s",
         shape_text(&y), shape_text(&p->in[1]->shape));
    TRY(stage_input(p, dtype, pool->compute, &p->in[1]->shape, pool->turns, &pool->dy));
    return stage_output(p, dtype, pool->compute, &p->out[0]->shape, pool->turns, &pool->out);
}

// Every element that is within 1e-5 of the greatest of a window gets the gradient, as in TensorFlow over volumes.
Status *pool_share_prepare(Prepare *p) {
    Pool *pool = p->own;
    TRY(pool_max_grad_prepare(p));
    return stage_input(p, p->in[1]->dtype, pool->compute, &p->in[1]->shape, pool->turns, &pool->y);
}

static void share_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Pool *pool = work->pool;
    max_pool_share(pool->compute, &pool->window, work->x, work->y, work->dy, work->out, first, last);
}

Status *pool_share_run(Kernel *k) {
    const Pool *pool = k->own;
    Work work = {.k = k, .pool = pool, .x = stage_load(&pool->x, k, k->in[0]->data),
                 .y = stage_load(&pool->y, k, k->in[1]->data), .dy = stage_load(&pool->dy, k, k->in[2]->data),
                 .out = stage_target(&pool->out, k, k->out[0]->data)};
    if (pool->out.count)
        grad_parallel(k, pool, pool_row_units(&pool->window), share_units, &work);
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

static void avg_grad_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Pool *pool = work->pool;
    avg_pool_grad(pool->compute, &pool->window, pool->planes, work->dy, work->out, first, last);
}

Status *pool_avg_grad_run(Kernel *k) {
    const Pool *pool = k->own;
    Work work = {.k = k, .pool = pool, .dy = stage_load(&pool->dy, k, k->in[1]->data),
                 .out = stage_target(&pool->out, k, k->out[0]->data)};
    if (pool->out.count)
        grad_parallel(k, pool, avg_pool_grad_units(&pool->window, pool->planes), avg_grad_units, &work);
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

// ---------------------------------------- schemas

static void max_formula(Formula *f) {
    f->dx[0] = Like("MaxPoolGrad", f->x[0], f->y[0], f->dy[0]);
}
static void max_v2_formula(Formula *f) {
    const Output in[] = {f->x[0], f->y[0], f->dy[0], f->x[1], f->x[2]};
    f->dx[0] = formula_alike(f, "MaxPoolGradV2", in, 5);
}
static void max_grad_formula(Formula *f) {  // which element was the greatest does not change
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = Like("MaxPoolGradGrad", f->x[0], f->x[1], f->dy[0]);
}
static void max_grad_v2_formula(Formula *f) {
    const Output in[] = {f->x[0], f->x[1], f->dy[0], f->x[3], f->x[4]};
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = formula_alike(f, "MaxPoolGradGradV2", in, 5);
}
static void avg_formula(Formula *f) {
    f->dx[0] = Like("AvgPoolGrad", ShapeOf(f->x[0]), f->dy[0]);
}
static void avg_grad_formula(Formula *f) {
    f->dx[1] = Like("AvgPool", f->dy[0]);
}

const PoolRow pool_sizes_are_inputs = {.sizes_are_inputs = true};

#define ANY_PADDING "padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}; explicit_paddings: list(int) = []; "
#define THREE_FORMATS "data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\""

const Op op_MaxPool = {
    .signature =
        "MaxPool(input: T) -> output: T; "
        "T: {floats_half_first, int32, int64, uint8, int16, int8, uint16, qint8} = float; "
        POOL_WINDOWS ANY_PADDING THREE_FORMATS,
    .doc = "The greatest element of each window.", .shape = pool_output_shape, .grad = max_formula,
    .prepare = pool_max_prepare, .cpu = ANY_TYPE(pool_max_run), .same_rows = 1,
    POOL_FIELDS, .hlo = pool_max_hlo,
};
const Op op__MaxPoolRecompute = {
    .signature = "_MaxPoolRecompute(output: T, input: T) -> recomputed: T; T: {float} = float; " POOL_WINDOWS ANY_PADDING
                 "data_format: {\"NHWC\"} = \"NHWC\"",
    .doc = "output, which is the pool of the input and may be found again from it.", .shape = shape_unchanged,
    .prepare = recompute_prepare, .cpu = ANY_TYPE(recompute_run), .alias = BIT(0),
    .flags = OP_RECOMPUTES | OP_NO_GRADIENT, POOL_FIELDS,
};
const Op op_MaxPoolV2 = {
    .signature = "MaxPoolV2(input: T, ksize: int32, strides: int32) -> output: T; "
                 "T: {floats_half_first, int32, int64, uint8, int16, int8, uint16, qint8} = float; "
                 PLAIN_PADDING THREE_FORMATS,
    .doc = "The greatest element of each window.", .shape = pool_output_shape, .grad = max_v2_formula,
    .prepare = pool_max_prepare, .cpu = ANY_TYPE(pool_max_run), .host = BIT(1) | BIT(2),
    .row = &pool_sizes_are_inputs, POOL_FIELDS, .hlo = pool_max_hlo,
};
const Op op_MaxPoolGrad = {
    .signature =
        "MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> output: T; " POOL_WINDOWS ANY_PADDING TWO_FORMATS
                 "; T: reals = float",
    .doc = "Gradient of MaxPool: goes to the first greatest element of each window.", .shape = pool_grad_shape,
    .grad = max_grad_formula, .shape_only = BIT(1), .prepare = pool_max_grad_prepare,
    .cpu = ANY_TYPE(pool_max_grad_run), POOL_FIELDS, .hlo = pool_max_grad_hlo,
};
const Op op_MaxPoolGradV2 = {
    .signature = "MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> output: T; "
                 PLAIN_PADDING TWO_FORMATS "; T: reals = float",
    .doc = "Gradient of MaxPoolV2: goes to the first greatest element of each window.", .shape = pool_grad_shape,
    .grad = max_grad_v2_formula, .shape_only = BIT(1), .prepare = pool_max_grad_prepare, .cpu = ANY_TYPE(pool_max_grad_run),
    .host = BIT(3) | BIT(4), .row = &pool_sizes_are_inputs, POOL_FIELDS, .hlo = pool_max_grad_hlo,
};
const Op op_AvgPool = {
    .signature = "AvgPool(value: T) -> output: T; " POOL_WINDOWS PLAIN_PADDING TWO_FORMATS
                 "; T: floats_half_first",
    .doc = "The mean of each window; only elements inside the image count.", .shape = pool_output_shape,
    .grad = avg_formula, .prepare = pool_avg_prepare, .cpu = ANY_TYPE(pool_avg_run), .same_rows = 1, POOL_FIELDS,
    .hlo = pool_avg_hlo,
};
const Op op_AvgPoolGrad = {
    .signature = "AvgPoolGrad(orig_input_shape: int32, grad: T) -> output: T; " POOL_WINDOWS PLAIN_PADDING TWO_FORMATS
                 "; T: floats_half_first",
    .doc = "Gradient of AvgPool: shared out among the elements of each window.", .shape = pool_avg_grad_shape,
    .grad = avg_grad_formula, .prepare = pool_avg_grad_prepare, .cpu = ANY_TYPE(pool_avg_grad_run), .host = BIT(0),
    POOL_FIELDS, .hlo = pool_avg_grad_hlo,
};
