// Conv3D — convolutions over volumes, and their gradients by volume and by filter.
//
// Direct loops: each tap of the filter that falls inside adds a small product over the channels. Volumes in planes
// (NCDHW) are turned into voxels first and back afterwards.
#define SELF "ops/nn/conv3d.c"
#include "ops/nn/geometry.h"
#include "ops/nn/staging.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#if defined(T) && (defined(IS_VOLUME_TYPE))  // ---------------------------------------- loops, once per compute type

// One tap: x is a voxel of the volume, y one of the result, w the tap's [in_c, out_c].
static void FN(tap)(const Volume *v, ConvPass pass, T *x, T *w, T *y) {
    for (int64_t i = 0; i < v->in_c; i++) {
        T *row = w + i * v->out_c, sum = 0;
        if (pass == CONV_FORWARD)
            for (int64_t o = 0; o < v->out_c; o++)
                y[o] += x[i] * row[o];
        else if (pass == CONV_FILTER)
            for (int64_t o = 0; o < v->out_c; o++)
                row[o] += x[i] * y[o];
        else {
            for (int64_t o = 0; o < v->out_c; o++)
                sum += y[o] * row[o];
            x[i] += sum;
        }
    }
}

// Filter rows z in [z0, z1) of every output voxel of one volume.
static void FN(volume)(const Work *work, int64_t n, int64_t z0, int64_t z1) {
    const Volume *v = work->v;
    T *x = (T *)work->x + n * v->in[0] * v->in[1] * v->in[2] * v->in_c;
    T *y = (T *)work->y + n * v->out[0] * v->out[1] * v->out[2] * v->out_c;
    int64_t at[3], from[3], p[3];
    for (at[0] = 0; at[0] < v->out[0]; at[0]++)
        for (at[1] = 0; at[1] < v->out[1]; at[1]++)
            for (at[2] = 0; at[2] < v->out[2]; at[2]++, y += v->out_c) {
                for (int a = 0; a < 3; a++)
                    from[a] = at[a] * v->stride[a] - v->before[a];
                for (int64_t z = z0; z < z1; z++)
                    for (int64_t r = 0; r < v->window[1]; r++)
                        for (int64_t c = 0; c < v->window[2]; c++) {
                            p[0] = from[0] + z * v->dilation[0];
                            p[1] = from[1] + r * v->dilation[1];
                            p[2] = from[2] + c * v->dilation[2];
                            if (p[0] < 0 || p[0] >= v->in[0] || p[1] < 0 || p[1] >= v->in[1] || p[2] < 0 || p[2] >= v->in[2])
                                continue;
                            int64_t tap = (z * v->window[1] + r) * v->window[2] + c;
                            FN(tap)(v, work->pass, x + ((p[0] * v->in[1] + p[1]) * v->in[2] + p[2]) * v->in_c,
                                    (T *)work->w + tap * v->in_c * v->out_c, y);
                        }
            }
}

#elif !defined(T)  // ---------------------------------------- geometry
typedef struct {
    int64_t batch, in_c, out_c, in[3], out[3], window[3], stride[3], dilation[3], before[3];
} Volume;

typedef struct {
    ConvPass pass;
    int a, b, sizes;   // inputs; the one that gives the output's shape, or -1
    bool like;         // the older ops: `sizes` is a tensor of the output's shape
} Row3;

typedef struct {
    Volume v;
    ConvPass pass;
    DType compute;
    int in_a, in_b;
    Stage a, b, out;
} Conv3;

typedef struct {
    const Volume *v;
    ConvPass pass;
    void *x, *w, *y;
    size_t clear;      // bytes of what one unit makes
    bool is_double;
} Work;

#define FN(name) JOIN3(name, DTYPE_NAME)
#define JOIN3(a, b) JOIN3_(a, b)
#define JOIN3_(a, b) a##_##b
#define IS_VOLUME_TYPE
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
    const AttrValue *format = node_attr_find(node, "data_format");
    return format && str_is(format->s, "NCDHW");
}

static Status *five(const Node *node, const char *name, bool planes, int64_t out[3]) {
    const AttrValue *list = node_list(node, name);
    NEED(list->n == 5, INVALID_ARGUMENT, "%s must specify 5 dimensions, got %d", name, list->n);
    for (int i = 0; i < 5; i++)
        NEED(list->is[i] > 0 && list->is[i] <= INT32_MAX, INVALID_ARGUMENT, "%s must be positive, got %lld", name,
             (long long)list->is[i]);
    NEED(list->is[0] == 1 && list->is[planes ? 1 : 4] == 1, INVALID_ARGUMENT, "%s of batch and channels must be 1", name);
    for (int i = 0; i < 3; i++)
        out[i] = list->is[i + (planes ? 2 : 1)];
    return OK;
}

// Checks all that is known of x, filter and y; `y` and `v` are what follows.
static Status *volumes(const Node *node, const Shape *x, const Shape *filter, Shape *y, Volume *v) {
    bool planes = in_planes(node);
    int c = planes ? 1 : 4, first = planes ? 2 : 1;
    *v = (Volume){0};
    *y = (Shape){5, {UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM}};
    TRY(five(node, "strides", planes, v->stride));
    TRY(five(node, "dilations", planes, v->dilation));
    NEED(x->rank < 0 || x->rank == 5, INVALID_ARGUMENT, "input must be 5-dimensional, got %s", shape_text(x));
    NEED(filter->rank < 0 || filter->rank == 5, INVALID_ARGUMENT, "filter must be 5-dimensional, got %s", shape_text(filter));
    if (x->rank < 0 || filter->rank < 0)
        return OK;
    NEED(x->dims[c] != 0 && filter->dims[3] != 0 && filter->dims[4] != 0, INVALID_ARGUMENT,
         "input and filter must have channels, got %s and %s", shape_text(x), shape_text(filter));
    NEED(x->dims[c] < 0 || filter->dims[3] < 0 || x->dims[c] == filter->dims[3], INVALID_ARGUMENT,
         "input depth must be equal to filter depth: %s vs. %s", shape_text(x), shape_text(filter));
    v->batch = y->dims[0] = x->dims[0];
    v->in_c = x->dims[c];
    v->out_c = y->dims[c] = filter->dims[4];
    for (int i = 0; i < 3; i++) {
        Sliding axis = {.stride = {v->stride[i]}, .dilation = {v->dilation[i]},
                        .padding = str_is(node_str(node, "padding"), "SAME") ? PADDING_SAME : PADDING_VALID};
        v->in[i] = x->dims[first + i];
        v->window[i] = filter->dims[i];
        TRY(sliding_extent(&axis, 0, v->in[i], v->window[i], &v->out[i], &v->before[i]));
        y->dims[first + i] = v->out[i];
    }
    return shape_is_known(y) ? shape_check(y) : OK;
}

static Status *check_gradient(const Node *node, const Row3 *row, const Shape *made, const Shape *other, const Shape *dy,
                              Volume *v) {
    Shape y;
    TRY(volumes(node, row->pass == CONV_INPUT ? made : other, row->pass == CONV_INPUT ? other : made, &y, v));
    NEED(shape_compatible(&y, dy), INVALID_ARGUMENT, "out_backprop has shape %s, expected %s", shape_text(dy),
         shape_text(&y));
    return OK;
}

static Status *conv3d_shape(Shapes *s) {
    const Row3 *row = node_op(s->node)->row;
    Volume v;
    if (row->pass == CONV_FORWARD)
        return volumes(s->node, &s->in[0], &s->in[1], &s->out[0], &v);
    Shape made;
    if (row->like)
        made = s->in[row->sizes];
    else
        TRY(shapes_input_shape(s, row->sizes, &made));
    TRY(check_gradient(s->node, row, &made, &s->in[row->pass == CONV_INPUT ? 1 : 0], &s->in[2], &v));
    s->out[0] = made;
    return OK;
}

// A volume as four dimensions, which staging can turn.
static Shape four(const Shape *x, bool planes) {
    return planes ? SHAPE(x->dims[0], x->dims[1], shape_span(x, 2, 5), 1) : *x;
}

static Status *conv3d_prepare(Prepare *p) {
    const Row3 *row = node_op(p->node)->row;
    Conv3 *own = p->own;
    Shape made = p->out[0]->shape, y;
    NEED(shape_is_known(&made), INVALID_ARGUMENT, "the sizes of the output must not be negative");
    if (row->pass == CONV_FORWARD)
        TRY(volumes(p->node, &p->in[0]->shape, &p->in[1]->shape, &y, &own->v));
    else
        TRY(check_gradient(p->node, row, &made, &p->in[row->pass == CONV_INPUT ? 1 : 0]->shape, &p->in[2]->shape, &own->v));
    own->pass = row->pass;
    own->in_a = row->a;
    own->in_b = row->b;
    bool planes = in_planes(p->node);
    DType dtype = p->out[0]->dtype;
    own->compute = staging_float(dtype);
    bool filter_a = row->pass == CONV_INPUT, filter_b = row->pass == CONV_FORWARD;
    Shape a = p->in[row->a]->shape, b = p->in[row->b]->shape;
    a = four(&a, planes && !filter_a);
    b = four(&b, planes && !filter_b);
    made = four(&made, planes && row->pass != CONV_FILTER);
    TRY(stage_input(p, dtype, own->compute, &a, planes && !filter_a, &own->a));
    TRY(stage_input(p, dtype, own->compute, &b, planes && !filter_b, &own->b));
    TRY(stage_output(p, dtype, own->compute, &made, planes && row->pass != CONV_FILTER, &own->out));
    double work = (double)own->out.count * (double)own->v.window[0] * (double)own->v.window[1] *
                  (double)own->v.window[2] * (double)own->v.in_c;
    p->cost = work < 1e17 ? (int64_t)work : (int64_t)1e17;
    return OK;
}

// ---------------------------------------- kernels

static void run_volume(const Work *work, int64_t n, int64_t z0, int64_t z1) {
    (work->is_double ? volume_double : volume_float)(work, n, z0, z1);
}

static void volume_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    char *made = work->pass == CONV_FORWARD ? work->y : work->x;
    for (int64_t n = first; n < last; n++) {
        memset(made + (size_t)n * work->clear, 0, work->clear);
        run_volume(work, n, 0, work->v->window[0]);
    }
}

// One layer of the filter over the whole batch.
static void filter_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    for (int64_t z = first; z < last; z++) {
        memset((char *)work->w + (size_t)z * work->clear, 0, work->clear);
        for (int64_t n = 0; n < work->v->batch; n++)
            run_volume(work, n, z, z + 1);
    }
}

static Status *conv3d_run(Kernel *k) {
    const Conv3 *own = k->own;
    const Volume *v = &own->v;
    void *a = (void *)(uintptr_t)stage_load(&own->a, k, k->in[own->in_a]->data);
    void *b = (void *)(uintptr_t)stage_load(&own->b, k, k->in[own->in_b]->data);
    void *out = stage_target(&own->out, k, k->out[0]->data);
    Work work = {.v = v, .pass = own->pass, .is_double = own->compute == DT_double};
    work.x = own->pass == CONV_INPUT ? out : a;
    work.w = own->pass == CONV_FORWARD ? b : own->pass == CONV_INPUT ? a : out;
    work.y = own->pass == CONV_FORWARD ? out : b;
    int64_t units = own->pass == CONV_FILTER ? v->window[0] : v->batch;
    work.clear = units ? (size_t)(own->out.count / units) * dtype_size(own->compute) : 0;
    kernel_parallel(k, units, 100000, own->pass == CONV_FILTER ? filter_units : volume_units, &work);
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

// ---------------------------------------- schemas and gradients

static void conv3d_grad(Formula *f) {
    Output x = f->x[0], filter = f->x[1], dy = f->dy[0];
    f->dx[0] = Like("Conv3DBackpropInputV2", ShapeOf(x), filter, dy);
    f->dx[1] = Like("Conv3DBackpropFilterV2", x, ShapeOf(filter), dy);
}
static void conv3d_input_grad(Formula *f) {
    Output filter = f->x[1], dy = f->x[2], dz = f->dy[0];
    f->dx[1] = Like("Conv3DBackpropFilterV2", dz, ShapeOf(filter), dy);
    f->dx[2] = Like("Conv3D", dz, filter);
}
static void conv3d_filter_grad(Formula *f) {
    Output x = f->x[0], dy = f->x[2], dz = f->dy[0];
    f->dx[0] = Like("Conv3DBackpropInputV2", ShapeOf(x), dz, dy);
    f->dx[2] = Like("Conv3D", x, dz);
}

static const Row3 forward_row = {CONV_FORWARD, 0, 1, -1, false};
static const Row3 input_row = {CONV_INPUT, 1, 2, 0, false}, filter_row = {CONV_FILTER, 0, 2, 1, false};
static const Row3 input_like_row = {CONV_INPUT, 1, 2, 0, true}, filter_like_row = {CONV_FILTER, 0, 2, 1, true};

#define ALL_FLOATS "T: {half, bfloat16, float, double}; "
#define VOLUME_ATTRIBUTES "strides: list(int) >= 5; padding: {\"SAME\", \"VALID\"}; "
#define VOLUME_FORMATS "data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"; "
#define DILATIONS "dilations: list(int) = [1, 1, 1, 1, 1]"
#define CONV3D_FIELDS \
    .shape = conv3d_shape, .prepare = conv3d_prepare, .own_size = sizeof(Conv3), .cpu = ANY_TYPE(conv3d_run)
const Op op_Conv3D = {
    .signature = "Conv3D(input: T, filter: T) -> output: T; " ALL_FLOATS VOLUME_ATTRIBUTES VOLUME_FORMATS DILATIONS,
    .doc = "Slides the filter over volumes: each output sums the products of a window.", .grad = conv3d_grad,
    .row = &forward_row, CONV3D_FIELDS,
};
const Op op_Conv3DBackpropInputV2 = {
    .signature = "Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> output: T; " ALL_FLOATS
                 VOLUME_ATTRIBUTES VOLUME_FORMATS DILATIONS "; Tshape: {int32, int64} = int32",
    .doc = "Gradient of Conv3D by its volumes.", .grad = conv3d_input_grad, .host = BIT(0), .row = &input_row,
    CONV3D_FIELDS,
};
const Op op_Conv3DBackpropFilterV2 = {
    .signature = "Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> output: T; " ALL_FLOATS
                 VOLUME_ATTRIBUTES VOLUME_FORMATS DILATIONS,
    .doc = "Gradient of Conv3D by its filter.", .grad = conv3d_filter_grad, .host = BIT(1), .row = &filter_row,
    CONV3D_FIELDS,
};
const Op op_Conv3DBackpropInput = {
    .signature = "Conv3DBackpropInput(input: T, filter: T, out_backprop: T) -> output: T; T: {half, float, double}; "
                 VOLUME_ATTRIBUTES DILATIONS "; deprecated(10, \"use Conv3DBackpropInputV2\")",
    .doc = "Gradient of Conv3D by its volumes; the older Conv3DBackpropInputV2.", .row = &input_like_row, CONV3D_FIELDS,
};
const Op op_Conv3DBackpropFilter = {
    .signature = "Conv3DBackpropFilter(input: T, filter: T, out_backprop: T) -> output: T; T: {half, float, double}; "
                 VOLUME_ATTRIBUTES DILATIONS "; deprecated(10, \"use Conv3DBackpropFilterV2\")",
    .doc = "Gradient of Conv3D by its filter; the older Conv3DBackpropFilterV2.", .row = &filter_like_row, CONV3D_FIELDS,
};
#endif
