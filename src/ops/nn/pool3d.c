// Pooling over volumes — windows reduced to their greatest or mean element, and the gradients.
#define SELF "ops/nn/pool3d.c"
#include "ops/nn/geometry.h"
#include "ops/nn/staging.h"

#ifdef T  // ---------------------------------------- loops, once per compute type

// What one window does with channel c: `x` is the volume, `at` the offsets of the window's n voxels.
static void FN(window)(const Volume3 *v, Use3 use, const int64_t *at, int64_t n, const Arrays3 *arrays, int64_t to) {
    const T *x = arrays->x, *dy = arrays->dy;
    T *out = arrays->out;
    for (int64_t c = 0; c < v->channels; c++) {
        int64_t best = 0;
        T sum = 0;
        for (int64_t i = 0; i < n && (use == USE_MAX || use == USE_MAX_GRAD || use == USE_MAX_GRAD_GRAD); i++)
            if (x[at[i] + c] > x[at[best] + c])
                best = i;
        if (use == USE_MAX)
            out[to + c] = n ? x[at[best] + c] : -(T)INFINITY;
        else if (use == USE_MAX_GRAD && n)
            out[at[best] + c] += dy[to + c];
        else if (use == USE_MAX_GRAD_GRAD)
            out[to + c] = n ? dy[at[best] + c] : 0;
        else if (use == USE_MEAN) {
            for (int64_t i = 0; i < n; i++)
                sum += x[at[i] + c];
            out[to + c] = n ? sum / (T)n : 0;
        } else if (use == USE_MEAN_GRAD)
            for (int64_t i = 0; i < n; i++)
                out[at[i] + c] += dy[to + c] / (T)n;
    }
}

#else  // ---------------------------------------- geometry
typedef enum { USE_MAX, USE_MAX_GRAD, USE_MAX_GRAD_GRAD, USE_MEAN, USE_MEAN_GRAD } Use3;

typedef struct {
    int64_t batch, channels, in[3], out[3], window[3], stride[3], before[3];
} Volume3;

typedef struct {
    const void *x, *dy;   // of one volume
    void *out;
} Arrays3;

// Op.row: which inputs are the volumes and the gradient; -1 for none.
typedef struct {
    Use3 use;
    int x, dy;
} Pool3Row;

typedef struct {
    Volume3 v;
    Use3 use;
    DType compute;
    int in_x, in_dy;
    Stage x, dy, out;
    size_t at_offsets;
} Pool3;

#define FN(name) JOIN3(name, DTYPE_NAME)
#define JOIN3(a, b) JOIN3_(a, b)
#define JOIN3_(a, b) a##_##b
#define T float
#define DTYPE_NAME float
#include SELF
#undef T
#undef DTYPE_NAME
#define T double
#define DTYPE_NAME double
#include SELF
#undef T
#undef DTYPE_NAME

static bool in_planes(const Node *node) {
    return str_is(node_str(node, "data_format"), "NCDHW");
}

static Status *five(const Node *node, const char *name, bool planes, int64_t out[3]) {
    const AttrValue *list = node_list(node, name);
    NEED(list->n == 5, INVALID_ARGUMENT, "%s must specify 5 dimensions, got %d", name, list->n);
    for (int i = 0; i < 5; i++)
        NEED(list->is[i] > 0 && list->is[i] <= INT32_MAX, INVALID_ARGUMENT, "%s must be positive, got %lld", name,
             (long long)list->is[i]);
    NEED(list->is[0] == 1 && list->is[planes ? 1 : 4] == 1, UNIMPLEMENTED,
         "Pooling is not yet supported on the batch nor on the channels");
    for (int i = 0; i < 3; i++)
        out[i] = list->is[i + (planes ? 2 : 1)];
    return OK;
}

// The shape of the pool of volumes of shape `x`, as far as known, and its geometry.
static Status *volumes(const Node *node, const Shape *x, Shape *y, Volume3 *v) {
    bool planes = in_planes(node);
    int first = planes ? 2 : 1, c = planes ? 1 : 4;
    *v = (Volume3){0};
    *y = (Shape){5, {UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM}};
    TRY(five(node, "ksize", planes, v->window));
    TRY(five(node, "strides", planes, v->stride));
    NEED(x->rank < 0 || x->rank == 5, INVALID_ARGUMENT, "input must be 5-dimensional, got %s", shape_text(x));
    if (x->rank < 0)
        return OK;
    v->batch = y->dims[0] = x->dims[0];
    v->channels = y->dims[c] = x->dims[c];
    bool same = str_is(node_str(node, "padding"), "SAME");
    for (int i = 0; i < 3; i++) {
        Sliding axis = {.stride = {v->stride[i]}, .dilation = {1}, .padding = same ? PADDING_SAME : PADDING_VALID};
        v->in[i] = x->dims[first + i];
        TRY(sliding_extent(&axis, 0, v->in[i], v->window[i], &v->out[i], &v->before[i]));
        NEED(same || v->in[i] < 0 || v->out[i] > 0, INVALID_ARGUMENT, "a window of %lld does not fit an input of %lld",
             (long long)v->window[i], (long long)v->in[i]);
        y->dims[first + i] = v->out[i];
    }
    return OK;
}

static Status *agree(const char *what, const Shape *expected, const Shape *got) {
    NEED(shape_compatible(expected, got), INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", what,
         shape_text(expected), shape_text(got));
    return OK;
}

static Status *pool3_shape(Shapes *s) {
    const Pool3Row *row = node_op(s->node)->row;
    Shape x = s->in[0], y;
    Volume3 v;
    if (row->use == USE_MEAN_GRAD)
        TRY(shapes_input_shape(s, 0, &x));
    TRY(volumes(s->node, &x, &y, &v));
    if (row->use == USE_MAX_GRAD || row->use == USE_MAX_GRAD_GRAD)
        TRY(agree("orig_output", &y, &s->in[1]));
    if (row->use != USE_MAX && row->use != USE_MEAN)
        TRY(agree("grad", row->use == USE_MAX_GRAD_GRAD ? &x : &y, &s->in[row->dy]));
    s->out[0] = row->use == USE_MAX_GRAD || row->use == USE_MEAN_GRAD ? x : y;
    return OK;
}

static Shape four(const Shape *x, bool planes) {
    return planes ? SHAPE(x->dims[0], x->dims[1], shape_span(x, 2, 5), 1) : *x;
}

static Status *pool3_prepare(Prepare *p) {
    const Pool3Row *row = node_op(p->node)->row;
    Pool3 *own = p->own;
    DType dtype = p->out[0]->dtype;
    bool planes = in_planes(p->node);
    NEED(shape_is_known(&p->out[0]->shape), INVALID_ARGUMENT, "orig_input_shape must not be negative");
    Shape x = row->use == USE_MEAN_GRAD ? p->out[0]->shape : p->in[0]->shape, y, four_x, four_dy, four_out;
    TRY(volumes(p->node, &x, &y, &own->v));
    own->use = row->use;
    own->in_x = row->x;
    own->in_dy = row->dy;
    own->compute = staging_float(dtype);
    NEED(own->compute == DT_float || own->compute == DT_double, UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    if (row->x >= 0) {
        four_x = four(&p->in[row->x]->shape, planes);
        TRY(stage_input(p, p->in[row->x]->dtype, own->compute, &four_x, planes, &own->x));
    }
    if (row->dy >= 0) {
        four_dy = four(&p->in[row->dy]->shape, planes);
        TRY(stage_input(p, dtype, own->compute, &four_dy, planes, &own->dy));
    }
    four_out = four(&p->out[0]->shape, planes);
    TRY(stage_output(p, dtype, own->compute, &four_out, planes, &own->out));
    // A window never has more voxels inside than the volume.
    const Volume3 *v = &own->v;
    int64_t most = min_i64(v->window[0], v->in[0]) * min_i64(v->window[1], v->in[1]) * min_i64(v->window[2], v->in[2]);
    NEED(most < INT64_MAX / 64, RESOURCE_EXHAUSTED, "a window of %lld voxels is too large", (long long)most);
    own->at_offsets = round_up(p->scratch, 64);
    p->scratch = own->at_offsets + (size_t)max_i64(1, most) * sizeof(int64_t);
    double work = (double)own->out.count * (double)most;
    p->cost = work < 1e17 ? (int64_t)work : (int64_t)1e17;
    return OK;
}

// ---------------------------------------- kernels

// The offsets of the voxels of one window that lie inside; returns how many.
static int64_t inside(const Volume3 *v, const int64_t at[3], int64_t *offsets) {
    int64_t from[3], to[3], n = 0;
    for (int a = 0; a < 3; a++) {
        int64_t begin = at[a] * v->stride[a] - v->before[a];
        from[a] = max_i64(0, begin);
        to[a] = min_i64(v->in[a], begin + v->window[a]);
    }
    for (int64_t z = from[0]; z < to[0]; z++)
        for (int64_t y = from[1]; y < to[1]; y++)
            for (int64_t x = from[2]; x < to[2]; x++)
                offsets[n++] = ((z * v->in[1] + y) * v->in[2] + x) * v->channels;
    return n;
}

static void run_volume(const Pool3 *own, const Arrays3 *arrays, int64_t *offsets) {
    const Volume3 *v = &own->v;
    int64_t at[3], to = 0;
    for (at[0] = 0; at[0] < v->out[0]; at[0]++)
        for (at[1] = 0; at[1] < v->out[1]; at[1]++)
            for (at[2] = 0; at[2] < v->out[2]; at[2]++, to += v->channels) {
                int64_t n = inside(v, at, offsets);
                (own->compute == DT_double ? window_double : window_float)(v, own->use, offsets, n, arrays, to);
            }
}

static Status *pool3_run(Kernel *k) {
    const Pool3 *own = k->own;
    const Volume3 *v = &own->v;
    const char *x = own->in_x >= 0 ? stage_load(&own->x, k, k->in[own->in_x]->data) : NULL;
    const char *dy = own->in_dy >= 0 ? stage_load(&own->dy, k, k->in[own->in_dy]->data) : NULL;
    char *out = stage_target(&own->out, k, k->out[0]->data);
    int64_t size = (int64_t)dtype_size(own->compute), *offsets = (int64_t *)((char *)k->scratch + own->at_offsets);
    int64_t batch = max_i64(1, v->batch), x_step = own->x.count / batch * size, dy_step = own->dy.count / batch * size;
    int64_t out_step = own->out.count / batch * size;
    memset(out, 0, (size_t)(own->out.count * size));
    for (int64_t n = 0; n < v->batch && own->out.count; n++) {
        Arrays3 arrays = {x ? x + n * x_step : NULL, dy ? dy + n * dy_step : NULL, out + n * out_step};
        run_volume(own, &arrays, offsets);
    }
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

// ---------------------------------------- schemas

static void max_grad(Formula *f) {
    f->dx[0] = Like("MaxPool3DGrad", f->x[0], f->y[0], f->dy[0]);
}
static void max_grad_grad(Formula *f) {
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = Like("MaxPool3DGradGrad", f->x[0], f->x[1], f->dy[0]);
}
static void max_grad_grad_grad(Formula *f) {
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = Like("MaxPool3DGrad", f->x[0], f->x[1], f->dy[0]);
}
static void mean_grad(Formula *f) {
    f->dx[0] = Like("AvgPool3DGrad", ShapeOf(f->x[0]), f->dy[0]);
}
static void mean_grad_grad(Formula *f) {
    f->dx[1] = Like("AvgPool3D", f->dy[0]);
}

static const Pool3Row max_row = {USE_MAX, 0, -1}, max_grad_row = {USE_MAX_GRAD, 0, 2};
static const Pool3Row max_grad_grad_row = {USE_MAX_GRAD_GRAD, 0, 2};
static const Pool3Row mean_row = {USE_MEAN, 0, -1}, mean_grad_row = {USE_MEAN_GRAD, -1, 1};

#define WINDOWS_3D                                                                               \
    "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {\"SAME\", \"VALID\"}; "            \
    "data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"; "
#define POOL3_FIELDS \
    .shape = pool3_shape, .prepare = pool3_prepare, .own_size = sizeof(Pool3), .cpu = ANY_TYPE(pool3_run)
const Op op_MaxPool3D = {
    .signature = "MaxPool3D(input: T) -> output: T; " WINDOWS_3D "T: {half, bfloat16, float}",
    .doc = "The greatest element of each window of the volumes.", .grad = max_grad, .row = &max_row, POOL3_FIELDS,
};
const Op op_MaxPool3DGrad = {
    .signature = "MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> output: T; " WINDOWS_3D
                 "T: {half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float",
    .doc = "Gradient of MaxPool3D: goes to the first greatest element of each window.", .grad = max_grad_grad,
    .row = &max_grad_row, POOL3_FIELDS,
};
const Op op_MaxPool3DGradGrad = {
    .signature = "MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T; " WINDOWS_3D
                 "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
    .doc = "Second gradient of MaxPool3D: what lies at the greatest element of each window.", .row = &max_grad_grad_row,
    .grad = max_grad_grad_grad, POOL3_FIELDS,
};
const Op op_AvgPool3D = {
    .signature = "AvgPool3D(input: T) -> output: T; " WINDOWS_3D "T: {half, bfloat16, float, double}",
    .doc = "The mean of each window of the volumes; only elements inside count.", .grad = mean_grad, .row = &mean_row,
    POOL3_FIELDS,
};
const Op op_AvgPool3DGrad = {
    .signature = "AvgPool3DGrad(orig_input_shape: int32, grad: T) -> output: T; " WINDOWS_3D
                 "T: {half, bfloat16, float, double}",
    .doc = "Gradient of AvgPool3D: shared out among the elements of each window.", .grad = mean_grad_grad,
    .host = BIT(0), .row = &mean_grad_row, POOL3_FIELDS,
};
#endif
