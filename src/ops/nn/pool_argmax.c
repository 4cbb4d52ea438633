// Pooling by position — MaxPoolWithArgmax, its gradient, and the second gradient of MaxPool.
//
// A position is (y * in_w + x) * channels + c in its image, or in the whole batch with include_batch_in_index.
#include "ops/nn/pool.h"

typedef struct {
    const Pool *pool;
    const void *x, *grad;
    void *out;
    int64_t *positions;
    Lanes lanes;
} Work;

static int64_t image_size(const WindowShape *w) {
    return max_i64(1, w->in_d) * w->in_h * w->in_w * w->in_c;
}
static int64_t pooled_size(const WindowShape *w) {
    return max_i64(1, w->out_d) * w->out_h * w->out_w * w->in_c;
}

static Status *reserve_positions(Prepare *p, Pool *pool) {
    size_t bytes;
    NEED(mul_size((size_t)(pool->window.batch * pooled_size(&pool->window)), sizeof(int64_t), &bytes),
         RESOURCE_EXHAUSTED, "too many elements");
    pool->at_positions = round_up(p->scratch, 64);
    p->scratch = pool->at_positions + bytes;
    return OK;
}

// Positions as the op's own index type, int32 or int64.
static void read_positions(const Tensor *from, int64_t *to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] = tensor_int(from, i);
}

static Status *prepare_plain(Prepare *p, const Shape *x, DType dtype, Pool *pool) {
    Sliding sliding;
    TRY(pool_prepare_window(p, x, dtype, pool, &sliding));
    NEED(sliding.depth_window == 1, UNIMPLEMENTED, "Pooling by position is not supported along the channels");
    const AttrValue *include = node_attr_find(p->node, "include_batch_in_index");
    pool->include_batch = include && include->b;
    return reserve_positions(p, pool);
}

// ---------------------------------------- MaxPoolWithArgmax

static Status *argmax_prepare(Prepare *p) {
    Pool *pool = p->own;
    DType dtype = p->in[0]->dtype;
    TRY(prepare_plain(p, &p->in[0]->shape, dtype, pool));
    TRY(stage_input(p, dtype, pool->compute, &p->in[0]->shape, false, &pool->x));
    TRY(stage_output(p, dtype, pool->compute, &p->out[0]->shape, false, &pool->out));
    lanes_prepare(p, max_pool_work(pool->compute, &pool->window), pool->window.batch, &pool->lanes);
    return OK;
}

static void argmax_images(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Pool *pool = work->pool;
    int lane = lanes_take(&work->lanes);
    max_pool_argmax(pool->compute, &pool->window, pool->include_batch, work->x, work->out, work->positions,
                    lanes_memory(&work->lanes, lane), first, last);
    lanes_give(&work->lanes, lane);
}

static Status *argmax_run(Kernel *k) {
    const Pool *pool = k->own;
    bool narrow = k->out[1]->dtype == DT_int32;
    Work work = {.pool = pool, .x = stage_load(&pool->x, k, k->in[0]->data),
                 .out = stage_target(&pool->out, k, k->out[0]->data),
                 .positions = narrow ? (int64_t *)((char *)k->scratch + pool->at_positions) : k->out[1]->data};
    lanes_open(k, &pool->lanes, &work.lanes);
    if (pool->out.count)
        kernel_parallel(k, pool->window.batch, pool->image_cost, argmax_images, &work);
    for (int64_t i = 0; narrow && i < pool->out.count; i++)
        ((int32_t *)k->out[1]->data)[i] = (int32_t)work.positions[i];
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

static void argmax_grad(Formula *f) {
    f->dx[0] = Like("MaxPoolGradWithArgmax", f->x[0], f->dy[0], f->y[1]);
}

#define ARGMAX_ATTRIBUTES                                                                             \
    POOL_WINDOWS PLAIN_PADDING "include_batch_in_index: bool = false; Targmax: {int32, int64}; T: reals"
const Op op_MaxPoolWithArgmax = {
    .signature = "MaxPoolWithArgmax(input: T) -> output: T, argmax: Targmax; " POOL_WINDOWS
                 "Targmax: {int32, int64} = int64; " PLAIN_PADDING "include_batch_in_index: bool = false; "
                 "T: reals",
    .doc = "The greatest element of each window, and where it is.", .shape = pool_output_shape, .grad = argmax_grad,
    .prepare = argmax_prepare, .cpu = ANY_TYPE(argmax_run), POOL_FIELDS,
};

// ---------------------------------------- from images and back by position

// Where element i of the pooled batch comes from in the whole batch of images; INVALID_ARGUMENT outside its image.
static Status *check_positions(const Pool *pool, int64_t *positions) {
    const WindowShape *w = &pool->window;
    int64_t image = image_size(w), pooled = pooled_size(w);
    for (int64_t n = 0; n < w->batch; n++)
        for (int64_t i = 0; i < pooled; i++) {
            int64_t *at = &positions[n * pooled + i], least = pool->include_batch ? n * image : 0;
            NEED(*at >= least && *at < least + image, INVALID_ARGUMENT, "argmax %lld is not in [%lld, %lld)",
                 (long long)*at, (long long)least, (long long)(least + image));
            *at += n * image - least;
        }
    return OK;
}

static Status *by_position_shape(Shapes *s, bool to_images) {
    Sliding sliding;
    bool known;
    Shape pooled;
    TRY(pool_sliding(s->node, NULL, NULL, &known, &sliding));
    TRY(pool_shape(&sliding, &s->in[0], &pooled));
    const Shape *grad = &s->in[1];
    NEED(shape_compatible(to_images ? &pooled : &s->in[0], grad), INVALID_ARGUMENT,
         "grad of shape %s does not belong to an input of shape %s", shape_text(grad), shape_text(&s->in[0]));
    NEED(shape_compatible(&pooled, &s->in[2]), INVALID_ARGUMENT, "Expected argmax shape to be %s, but got %s",
         shape_text(&pooled), shape_text(&s->in[2]));
    s->out[0] = to_images ? s->in[0] : pooled;
    return OK;
}

static Status *scatter_shape(Shapes *s) {
    return by_position_shape(s, true);
}
static Status *gather_shape(Shapes *s) {
    return by_position_shape(s, false);
}

static Status *by_position_prepare(Prepare *p) {
    Pool *pool = p->own;
    DType dtype = p->in[0]->dtype;
    TRY(prepare_plain(p, &p->in[0]->shape, dtype, pool));
    TRY(stage_input(p, dtype, pool->compute, &p->in[1]->shape, false, &pool->dy));
    return stage_output(p, dtype, pool->compute, &p->out[0]->shape, false, &pool->out);
}

static void gather(DType dtype, const void *from, const int64_t *positions, void *to, int64_t n) {
    size_t size = dtype_size(dtype);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + (size_t)i * size, (const char *)from + (size_t)positions[i] * size, size);
}

static void scatter_add(DType dtype, const void *from, const int64_t *positions, void *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = positions[i];
        switch (dtype) {
        case DT_float: ((float *)to)[at] += ((const float *)from)[i]; break;
        case DT_double: ((double *)to)[at] += ((const double *)from)[i]; break;
        case DT_int32: ((uint32_t *)to)[at] += ((const uint32_t *)from)[i]; break;
        default: ((uint64_t *)to)[at] += ((const uint64_t *)from)[i]; break;
        }
    }
}

static Status *by_position_run(Kernel *k, bool to_images) {
    const Pool *pool = k->own;
    const WindowShape *w = &pool->window;
    int64_t n = w->batch * pooled_size(w), *positions = (int64_t *)((char *)k->scratch + pool->at_positions);
    read_positions(k->in[2], positions, n);
    TRY(check_positions(pool, positions));
    const void *grad = stage_load(&pool->dy, k, k->in[1]->data);
    void *out = stage_target(&pool->out, k, k->out[0]->data);
    if (to_images) {
        memset(out, 0, (size_t)pool->out.count * dtype_size(pool->compute));
        scatter_add(pool->compute, grad, positions, out, n);
    } else {
        gather(pool->compute, grad, positions, out, n);
    }
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

static Status *scatter_run(Kernel *k) {
    return by_position_run(k, true);
}
static Status *gather_run(Kernel *k) {
    return by_position_run(k, false);
}

static void scatter_grad(Formula *f) {
    f->dx[1] = Like("MaxPoolGradGradWithArgmax", f->x[0], f->dy[0], f->x[2]);
}

const Op op_MaxPoolGradWithArgmax = {
    .signature = "MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T; " ARGMAX_ATTRIBUTES,
    .doc = "Gradient of MaxPoolWithArgmax.", .shape = scatter_shape, .prepare = by_position_prepare,
    .cpu = ANY_TYPE(scatter_run), POOL_FIELDS, .grad = scatter_grad,
};
const Op op_MaxPoolGradGradWithArgmax = {
    .signature = "MaxPoolGradGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T; " ARGMAX_ATTRIBUTES,
    .doc = "Second gradient of MaxPoolWithArgmax: what lies at argmax.", .shape = gather_shape,
    .prepare = by_position_prepare, .cpu = ANY_TYPE(gather_run), POOL_FIELDS,
};

// ---------------------------------------- MaxPoolGradGrad

Status *pool_grad_grad_shape(Shapes *s) {
    Sliding sliding;
    bool known;
    Shape pooled;
    TRY(pool_sliding(s->node, s->value[s->n_in - 2], s->value[s->n_in - 1], &known, &sliding));
    s->out[0] = s->in[1];
    NEED(shape_compatible(&s->in[0], &s->in[2]), INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s",
         shape_text(&s->in[0]), shape_text(&s->in[2]));
    if (!known)
        return OK;
    TRY(pool_shape(&sliding, &s->in[0], &pooled));
    NEED(shape_compatible(&pooled, &s->in[1]), INVALID_ARGUMENT, "Expected orig_output shape to be %s, but got %s",
         shape_text(&pooled), shape_text(&s->in[1]));
    s->out[0] = pooled;
    return OK;
}

// Images in planes are turned into pixels, so that positions mean the same everywhere.
Status *pool_grad_grad_prepare(Prepare *p) {
    Pool *pool = p->own;
    DType dtype = p->in[0]->dtype;
    TRY(prepare_plain(p, &p->in[0]->shape, dtype, pool));
    pool->include_batch = true;
    bool turns = pool->planes || pool->turns;
    TRY(stage_input(p, dtype, pool->compute, &p->in[0]->shape, turns, &pool->x));
    TRY(stage_input(p, dtype, pool->compute, &p->in[2]->shape, turns, &pool->dy));
    TRY(stage_output(p, dtype, pool->compute, &p->out[0]->shape, turns, &pool->out));
    lanes_prepare(p, max_pool_work(pool->compute, &pool->window), pool->window.batch, &pool->lanes);
    return OK;
}

Status *pool_grad_grad_run(Kernel *k) {
    const Pool *pool = k->own;
    Work work = {.pool = pool, .x = stage_load(&pool->x, k, k->in[0]->data),
                 .out = stage_target(&pool->out, k, k->out[0]->data),
                 .positions = (int64_t *)((char *)k->scratch + pool->at_positions)};
    const void *grad = stage_load(&pool->dy, k, k->in[2]->data);
    lanes_open(k, &pool->lanes, &work.lanes);
    if (pool->out.count) {
        kernel_parallel(k, pool->window.batch, pool->image_cost, argmax_images, &work);
        gather(pool->compute, grad, work.positions, work.out, pool->out.count);
    }
    stage_store(&pool->out, k, k->out[0]->data);
    return OK;
}

static void grad_grad_formula(Formula *f) {
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = Like("MaxPoolGrad", f->x[0], f->x[1], f->dy[0]);
}
static void grad_grad_v2_formula(Formula *f) {
    const Output in[] = {f->x[0], f->x[1], f->dy[0], f->x[3], f->x[4]};
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = formula_alike(f, "MaxPoolGradV2", in, 5);
}

const Op op_MaxPoolGradGrad = {
    .signature = "MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T; " POOL_WINDOWS PLAIN_PADDING
                 TWO_FORMATS "; T: reals",
    .doc = "Second gradient of MaxPool: what lies at the greatest element of each window.",
    .shape = pool_grad_grad_shape,
    .grad = grad_grad_formula, .prepare = pool_grad_grad_prepare, .cpu = ANY_TYPE(pool_grad_grad_run), POOL_FIELDS,
};
const Op op_MaxPoolGradGradV2 = {
    .signature =
        "MaxPoolGradGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> output: T; "
                 PLAIN_PADDING TWO_FORMATS "; T: reals",
    .doc = "Second gradient of MaxPoolV2: what lies at the greatest element of each window.",
    .shape = pool_grad_grad_shape,
    .grad = grad_grad_v2_formula, .prepare = pool_grad_grad_prepare, .cpu = ANY_TYPE(pool_grad_grad_run),
    .host = BIT(3) | BIT(4),
    .row = &pool_sizes_are_inputs, POOL_FIELDS,
};
