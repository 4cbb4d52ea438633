// FusedBatchNorm — images normalised channel by channel, by the batch's own statistics or by given ones; the gradient.
//
// The moments are summed in parts whose number depends on the shape alone, so that threads don't change the bits.
//
// Each pass goes over its rows against the direction of the one before, so that it begins with what is still in the
// cache: of large images (25 MB each in ResNet-50) that is most of what the second pass reads.
#include "ops/nn/batch_norm.h"
#include "loops/tuning.h"

enum { MOST_PARTS = 64 };
enum { VECTOR_MEAN, VECTOR_VARIANCE, VECTOR_A, VECTOR_B, VECTOR_D, VECTOR_GATE_A, VECTOR_GATE_B, VECTOR_ZEROS,
      VECTORS };

// ---------------------------------------- shapes

static int channel_axis(const Node *node, const Shape *x) {
    Str format = node_str(node, "data_format");
    return str_is(format, "NCHW") || str_is(format, "NCDHW") ? 1 : x->rank - 1;
}

static Status *check_rank(const Node *node, const Shape *x) {
    int rank = node_str(node, "data_format").n == 5 ? 5 : 4;
    NEED(x->rank < 0 || x->rank == rank, INVALID_ARGUMENT, "input must be %d-dimensional, got %s", rank, shape_text(x));
    return OK;
}

// The vector of channels that x and the vectors among the inputs agree upon.
static Status *channels_of(const Shapes *s, int x, const int *vectors, int n, Shape *out) {
    const Shape *images = &s->in[x];
    TRY(check_rank(s->node, images));
    *out = SHAPE(images->rank < 0 ? UNKNOWN_DIM : images->dims[channel_axis(s->node, images)]);
    for (int i = 0; i < n; i++)
        NEED(shape_compatible(out, &s->in[vectors[i]]), INVALID_ARGUMENT,
             "input %d must have as many elements as there are channels: %s, but has shape %s", vectors[i],
             shape_text(out), shape_text(&s->in[vectors[i]]));
    return OK;
}

static bool uses_given(const Node *node) {
    return !node_bool(node, "is_training") || node_float(node, "exponential_avg_factor") != 1.0f;
}

Status *norm_shape(Shapes *s) {
    Shape channels;
    TRY(channels_of(s, 0, (const int[]){1, 2, 3, 4}, uses_given(s->node) ? 4 : 2, &channels));
    for (int i = 3; i <= 4; i++)
        NEED(s->in[i].rank < 0 || s->in[i].rank == 1, INVALID_ARGUMENT, "input %d must be 1-dimensional, got %s", i,
             shape_text(&s->in[i]));
    s->out[0] = s->in[0];
    for (int i = 5; i < s->n_in; i++)
        TRY(shape_merge(&s->in[i], &s->out[0], &s->out[0]));
    for (int i = 1; i < 5; i++)
        s->out[i] = channels;
    if (s->n_out > 5)
        s->out[5] = SCALAR_SHAPE;
    return OK;
}

Status *norm_grad_shape(Shapes *s) {
    Shape channels;
    TRY(channels_of(s, 1, (const int[]){2, 3, 4, 6}, s->n_in > 6 ? 4 : 3, &channels));
    TRY(shape_merge(&s->in[0], &s->in[1], &s->out[0]));
    s->out[1] = s->out[2] = channels;
    s->out[3] = s->out[4] = SHAPE(0);
    return OK;
}

Status *norm_recompute_shape(Shapes *s) {
    Shape channels;
    TRY(channels_of(s, 1, (const int[]){2, 3, 4, 5}, 4, &channels));
    return shape_merge(&s->in[0], &s->in[1], &s->out[0]);
}

// ---------------------------------------- geometry

// x as four dimensions, which staging can turn: [n, c, rest, 1] for planes.
static Shape four(const Shape *x, bool planes) {
    if (!planes || x->rank < 4)
        return *x;
    return SHAPE(x->dims[0], x->dims[1], shape_span(x, 2, x->rank), 1);
}

static Status *prepare_images(Prepare *p, const Shape *x, DType dtype, Norm *own) {
    int axis = channel_axis(p->node, x);
    own->channels = x->dims[axis];
    own->rows = own->channels ? shape_span(x, 0, axis) * shape_span(x, axis + 1, x->rank) : 0;
    own->epsilon = (double)node_float(p->node, "epsilon");
    own->training = node_bool(p->node, "is_training");
    own->parts = min_i64(MOST_PARTS, max_i64(1, own->rows * own->channels / TUNED_NORM_PART));
    own->parts = max_i64(1, min_i64(own->parts, own->rows));
    bool planes = axis == 1;
    Shape shape = four(x, planes);
    TRY(stage_input(p, dtype, DT_float, &shape, planes, &own->x));
    TRY(stage_input(p, dtype, DT_float, &shape, planes, &own->dy));
    TRY(stage_output(p, dtype, DT_float, &shape, planes, &own->out));
    own->at_sums = round_up(p->scratch, 64);
    own->at_vectors = round_up(own->at_sums + (size_t)(own->parts * 2 * own->channels) * sizeof(double), 64);
    p->scratch = own->at_vectors + (size_t)(VECTORS * own->channels) * sizeof(float);
    p->cost = own->rows * own->channels * 2;
    return OK;
}

// What activation_mode says; plain ops have none.
static Status *prepare_relu(const Prepare *p, bool *out) {
    const AttrValue *mode = node_attr_find(p->node, "activation_mode");
    *out = mode && str_is(mode->s, "Relu");
    NEED(!mode || *out || str_is(mode->s, "Identity"), UNIMPLEMENTED, "no kernel for activation_mode %.*s",
         STR_ARGS(mode->s));
    return OK;
}

Status *norm_prepare(Prepare *p) {
    Norm *own = p->own;
    NEED(p->out[1]->dtype == DT_float, UNIMPLEMENTED, "no kernel for statistics of type %s",
         dtype_name(p->out[1]->dtype));
    own->factor = (double)node_float(p->node, "exponential_avg_factor");
    own->has_side = p->n_in > 5;
    NEED(p->n_in <= 6, UNIMPLEMENTED, "%d side inputs", p->n_in - 5);
    TRY(prepare_relu(p, &own->relu));
    TRY(prepare_images(p, &p->in[0]->shape, p->in[0]->dtype, own));
    bool planes = channel_axis(p->node, &p->in[0]->shape) == 1;
    Shape shape = four(&p->in[0]->shape, planes);
    return own->has_side ? stage_input(p, p->in[0]->dtype, DT_float, &shape, planes, &own->side) : OK;
}

Status *norm_recompute_prepare(Prepare *p) {
    Norm *own = p->own;
    TRY(prepare_relu(p, &own->relu));
    TRY(prepare_images(p, &p->in[1]->shape, p->in[1]->dtype, own));
    own->has_side = p->n_in > 6;
    p->scratch -= own->at_vectors - own->at_sums;
    own->at_vectors = own->at_sums;
    p->cost = 0;    // as a rule there is nothing to do
    return OK;
}

Status *norm_grad_prepare(Prepare *p) {
    Norm *own = p->own;
    NEED(p->n_out <= 5, UNIMPLEMENTED, "gradients of side inputs");
    TRY(prepare_relu(p, &own->relu));
    return prepare_images(p, &p->in[1]->shape, p->in[1]->dtype, own);
}

// ---------------------------------------- kernels

typedef struct {
    const Norm *own;
    const float *x, *dy, *side;
    float *out;
    const float *shift_x, *shift_y;      // of the moments
    const float *first, *second;         // what is multiplied: first - shift_x, second - shift_y
    NormGate gate;
    double *sums;
    float *vectors;
} Work;

static float *vector(const Work *work, int which) {
    return work->vectors + which * work->own->channels;
}

static void open_work(Kernel *k, Work *work) {
    const Norm *own = k->own;
    work->own = own;
    work->sums = (double *)((char *)k->scratch + own->at_sums);
    work->vectors = (float *)((char *)k->scratch + own->at_vectors);
    memset(vector(work, VECTOR_ZEROS), 0, (size_t)own->channels * sizeof(float));
}

static void moments_parts(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Norm *own = work->own;
    int64_t c = own->channels;
    for (int64_t part = first; part < last; part++) {
        int64_t from = own->rows * part / own->parts, to = own->rows * (part + 1) / own->parts;
        double *sums = work->sums + part * 2 * c;
        memset(sums, 0, (size_t)(2 * c) * sizeof *sums);
        batch_norm_moments(DT_float, work->first + from * c, work->second + from * c, work->shift_x, work->shift_y,
                           work->gate, to - from, c, sums);
    }
}

// Leaves the sums over all rows in the first part; parts are added in their order, whichever thread made them.
static void moments(Kernel *k, Work *work) {
    const Norm *own = work->own;
    kernel_parallel(k, own->parts, own->rows / own->parts * own->channels + 1, moments_parts, work);
    for (int64_t part = 1; part < own->parts; part++)
        for (int64_t i = 0; i < 2 * own->channels; i++)
            work->sums[i] += work->sums[part * 2 * own->channels + i];
}

// Where the block of rows begins that ends at `last`.
static int64_t block_before(const Norm *own, int64_t first, int64_t last) {
    return max_i64(first, last - max_i64(1, TUNED_NORM_BLOCK / own->channels));
}

static void norm_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    int64_t c = work->own->channels;
    while (first < last) {
        int64_t from = block_before(work->own, first, last), at = from * c;
        batch_norm_rows(DT_float, work->x + at, vector(work, VECTOR_A), vector(work, VECTOR_B),
                        work->side ? work->side + at : NULL, work->out + at, last - from, c, work->own->relu);
        last = from;
    }
}

// The running averages of the batch's statistics, the variance without its bias (Bessel's correction), as TensorFlow
// returns it; the normalisation itself uses the biased one.
static void running_averages(Kernel *k, const Work *work) {
    const Norm *own = work->own;
    const float *mean = vector(work, VECTOR_MEAN), *variance = vector(work, VECTOR_VARIANCE);
    float *out_mean = k->out[1]->data, *out_variance = k->out[2]->data;
    double unbias = (double)own->rows / (double)max_i64(1, own->rows - 1), f = own->factor;
    for (int64_t c = 0; c < own->channels; c++) {
        double fresh = (double)variance[c] * unbias;
        bool keeps = f != 1;
        out_mean[c] = (float)(keeps ? (1 - f) * (double)((const float *)k->in[3]->data)[c] + f * (double)mean[c]
                                    : (double)mean[c]);
        out_variance[c] = (float)(keeps ? (1 - f) * (double)((const float *)k->in[4]->data)[c] + f * fresh : fresh);
    }
}

// A batch without pixels: its statistics are NaN, as TensorFlow's are, not the zeros of an empty sum.
static void no_rows(Kernel *k, const Norm *own) {
    for (int i = 1; i < 5; i++)
        for (int64_t c = 0; c < own->channels; c++)
            ((float *)k->out[i]->data)[c] = i < 3 ? NAN : 0;
}

static void statistics(Kernel *k, Work *work) {
    const Norm *own = work->own;
    float *mean = vector(work, VECTOR_MEAN), *variance = vector(work, VECTOR_VARIANCE);
    size_t bytes = (size_t)own->channels * sizeof(float);
    if (own->training) {
        work->first = work->second = work->shift_x = work->shift_y = work->x;
        moments(k, work);
        batch_norm_statistics(DT_float, work->sums, work->x, own->rows, own->channels, mean, variance);
        running_averages(k, work);
    } else {
        memcpy(mean, k->in[3]->data, bytes);
        memcpy(variance, k->in[4]->data, bytes);
        memcpy(k->out[1]->data, mean, bytes);
        memcpy(k->out[2]->data, variance, bytes);
    }
    memcpy(k->out[3]->data, mean, bytes);
    memcpy(k->out[4]->data, variance, bytes);
}

// `in`: scale and offset.
static Status *apply(Kernel *k, Work *work, const float *mean, const float *variance, Tensor *const *in) {
    const Norm *own = work->own;
    batch_norm_factors(DT_float, mean, variance, in[0]->data, in[1]->data, own->epsilon, own->channels,
                       vector(work, VECTOR_A), vector(work, VECTOR_B));
    kernel_parallel(k, own->rows, own->channels, norm_rows, work);
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

Status *norm_run(Kernel *k) {
    const Norm *own = k->own;
    if (k->n_out > 5)
        *(float *)k->out[5]->data = 0;
    if (!own->rows) {
        no_rows(k, own);
        return OK;
    }
    Work work = {.x = stage_load(&own->x, k, k->in[0]->data), .out = stage_target(&own->out, k, k->out[0]->data)};
    if (own->has_side)
        work.side = stage_load(&own->side, k, k->in[5]->data);
    open_work(k, &work);
    statistics(k, &work);
    return apply(k, &work, vector(&work, VECTOR_MEAN), vector(&work, VECTOR_VARIANCE), k->in + 1);
}

Status *norm_recompute_run(Kernel *k) {
    const Norm *own = k->own;
    if (!own->rows)
        return OK;
    Work work = {.x = stage_load(&own->x, k, k->in[1]->data), .out = stage_target(&own->out, k, k->out[0]->data)};
    if (own->has_side)
        work.side = k->in[6]->data;
    open_work(k, &work);
    return apply(k, &work, k->in[4]->data, k->in[5]->data, k->in + 2);
}

static void norm_grad_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    int64_t c = work->own->channels;
    while (first < last) {
        int64_t from = block_before(work->own, first, last), at = from * c;
        batch_norm_grad_rows(DT_float, work->dy + at, work->x + at, vector(work, VECTOR_A), vector(work, VECTOR_B),
                             vector(work, VECTOR_D), work->gate, work->out + at, last - from, c);
        last = from;
    }
}

// The relu lets through where the forward pass gave more than 0: that is found again from x, by the same factors.
static NormGate open_gate(const Kernel *k, const Work *work) {
    const Norm *own = work->own;
    if (!own->relu)
        return (NormGate){0};
    NormGate gate = {vector(work, VECTOR_GATE_A), vector(work, VECTOR_GATE_B)};
    batch_norm_factors(DT_float, k->in[3]->data, k->in[4]->data, k->in[2]->data, k->in[6]->data, own->epsilon,
                       own->channels, vector(work, VECTOR_GATE_A), vector(work, VECTOR_GATE_B));
    return gate;
}

Status *norm_grad_run(Kernel *k) {
    const Norm *own = k->own;
    if (!own->rows) {
        memset(k->out[1]->data, 0, tensor_bytes(k->out[1]));
        memset(k->out[2]->data, 0, tensor_bytes(k->out[2]));
        return OK;
    }
    Work work = {.dy = stage_load(&own->dy, k, k->in[0]->data), .x = stage_load(&own->x, k, k->in[1]->data),
                 .out = stage_target(&own->out, k, k->out[0]->data)};
    open_work(k, &work);
    work.first = work.dy;
    work.second = work.x;
    work.shift_x = vector(&work, VECTOR_ZEROS);
    work.shift_y = k->in[3]->data;
    work.gate = open_gate(k, &work);
    moments(k, &work);
    batch_norm_grad_factors(DT_float, work.sums, k->in[3]->data, k->in[4]->data, k->in[2]->data, own->epsilon,
                            own->training, own->rows, own->channels, k->out[1]->data, k->out[2]->data,
                            vector(&work, VECTOR_A), vector(&work, VECTOR_B), vector(&work, VECTOR_D));
    kernel_parallel(k, own->rows, own->channels, norm_grad_rows, &work);
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

// ---------------------------------------- for devices that compile

typedef struct {
    uint32_t axes;          // all but the channels
    int channel;
    double rows;
} HloNorm;

static COLD HloNorm hlo_norm_of(Hlo *h, HloValue x) {
    HloNorm norm = {.channel = channel_axis(h->node, &x->shape), .rows = 1};
    norm.axes = ALL_AXES(x) & ~BIT(norm.channel);
    for (int i = 0; i < x->shape.rank; i++)
        norm.rows *= i == norm.channel ? 1 : (double)x->shape.dims[i];
    return norm;
}

// (1 - factor) given + factor fresh
static COLD HloValue running(Hlo *h, HloValue fresh, int given, double factor) {
    return factor == 1 ? fresh : hlo_add(h, hlo_times(h, hlo_in(h, given), 1 - factor), hlo_times(h, fresh, factor));
}

static COLD Status *norm_hlo(Hlo *h) {
    HloValue x = hlo_cast(h, hlo_in(h, 0), DT_float);
    TRY(h->status);
    HloNorm norm = hlo_norm_of(h, x);
    NEED(norm.rows > 0 && hlo_out_type(h, 1) == DT_float, UNIMPLEMENTED, "no images, or statistics of another type");
    bool training = node_bool(h->node, "is_training");
    double factor = (double)node_float(h->node, "exponential_avg_factor");
    HloValue mean = training ? hlo_mean(h, x, norm.axes, DROP) : hlo_in(h, 3);
    HloValue apart = hlo_sub(h, x, hlo_along(h, mean, x, norm.channel));
    HloValue variance = training ? hlo_mean(h, hlo_square(h, apart), norm.axes, DROP) : hlo_in(h, 4);
    HloValue scale = hlo_mul(h, hlo_rsqrt(h, hlo_plus(h, variance, (double)node_float(h->node, "epsilon"))), hlo_in(h, 1));
    HloValue y = hlo_add(h, hlo_mul(h, apart, hlo_along(h, scale, x, norm.channel)), hlo_along(h, hlo_in(h, 2), x, norm.channel));
    HloValue unbiased = hlo_times(h, variance, norm.rows / fmax(1, norm.rows - 1));
    TRY(hlo_out(h, 0, hlo_cast(h, y, hlo_out_type(h, 0))));
    TRY(hlo_out(h, 1, training ? running(h, mean, 3, factor) : mean));
    TRY(hlo_out(h, 2, training ? running(h, unbiased, 4, factor) : variance));
    TRY(hlo_out(h, 3, mean));
    if (h->n_out > 5)
        TRY(hlo_out(h, 5, hlo_number(h, 0, DT_float)));
    return hlo_out(h, 4, variance);
}

// In training the moments, which are given, are part of what is differentiated.
static COLD Status *norm_grad_hlo(Hlo *h) {
    HloValue dy = hlo_cast(h, hlo_in(h, 0), DT_float), x = hlo_cast(h, hlo_in(h, 1), DT_float), scale = hlo_in(h, 2);
    TRY(h->status);
    HloNorm norm = hlo_norm_of(h, x);
    NEED(norm.rows > 0, UNIMPLEMENTED, "no images");
    bool training = node_bool(h->node, "is_training");
    HloValue mean = hlo_in(h, 3), variance = hlo_in(h, 4);
    HloValue apart = hlo_sub(h, x, hlo_along(h, mean, x, norm.channel));
    HloValue inverse = hlo_rsqrt(h, hlo_plus(h, variance, (double)node_float(h->node, "epsilon")));
    HloValue normal = hlo_mul(h, apart, hlo_along(h, inverse, x, norm.channel));
    HloValue d_offset = hlo_reduce(h, "add", dy, norm.axes, DROP);
    HloValue d_scale = hlo_reduce(h, "add", hlo_mul(h, dy, normal), norm.axes, DROP);
    HloValue inside = dy;
    if (training) {
        HloValue share = hlo_mul(h, normal, hlo_along(h, hlo_times(h, d_scale, 1 / norm.rows), x, norm.channel));
        HloValue level = hlo_along(h, hlo_times(h, d_offset, 1 / norm.rows), x, norm.channel);
        inside = hlo_sub(h, hlo_sub(h, dy, level), share);
    }
    HloValue dx = hlo_mul(h, inside, hlo_along(h, hlo_mul(h, scale, inverse), x, norm.channel));
    TRY(hlo_out(h, 0, hlo_cast(h, dx, hlo_out_type(h, 0))));
    TRY(hlo_out(h, 1, d_scale));
    TRY(hlo_out(h, 2, d_offset));
    TRY(hlo_out(h, 3, hlo_fill(h, 0, DT_float, SHAPE(0))));
    return hlo_out(h, 4, hlo_fill(h, 0, DT_float, SHAPE(0)));
}

// ---------------------------------------- schemas

static void norm_grad(Formula *f, const char *op) {
    bool training = node_bool(f->node, "is_training");
    Output mean = training ? f->y[3] : f->x[3], variance = training ? f->y[4] : f->x[4];
    const Output in[] = {f->dy[0], f->x[0], f->x[1], mean, variance, f->n_y > 5 ? f->y[5] : NONE};
    Output gradient = formula_alike(f, op, in, f->n_y > 5 ? 6 : 5);
    for (int i = 0; i < 3; i++)
        f->dx[i] = At(gradient, i);
}
static void norm_grad_1(Formula *f) {
    norm_grad(f, "FusedBatchNormGrad");
}
static void norm_grad_2(Formula *f) {
    norm_grad(f, "FusedBatchNormGradV2");
}
static void norm_grad_3(Formula *f) {
    norm_grad(f, "FusedBatchNormGradV3");
}

// The second gradient, of what the statistics of x itself give: those among the inputs are results of the same x. With
// n(u) = u - mean(u) - xh mean(u xh), s = 1 / sqrt(var + epsilon), xh = (x - mean) s, the gradient is dx = scale s
// n(dy).
typedef struct {
    Output axes, s, xh;
} Normal;

static Output channel_mean(Formula *f, const Normal *of, Output u) {
    return Mean(u, of->axes, true);
}

static Output without_normal(Formula *f, const Normal *of, Output u) {
    return Sub(Sub(u, channel_mean(f, of, u)), Mul(of->xh, channel_mean(f, of, Mul(u, of->xh))));
}

// A vector of channels as one that broadcasts over the images.
static Output over_images(Formula *f, Output vector, int rank, bool channels_first) {
    const int64_t dims[] = {1, -1, 1, 1, 1};
    return channels_first ? Reshape(vector, formula_ints(f, dims, rank, DT_int32)) : vector;
}

// a, b, c: the gradients of dx, dscale, doffset.
typedef struct {
    Output dy, scale, a, b, c;
} Second;

static void second_in_training(Formula *f, const Normal *of, const Second *in, Output *out) {
    Output n_dy = without_normal(f, of, in->dy), scaled = Mul(in->scale, of->s);
    out[0] = Add(Add(Mul(scaled, without_normal(f, of, in->a)), Mul(in->b, of->xh)), in->c);
    Output turned = Mul(of->xh, channel_mean(f, of, Mul(in->a, n_dy)));
    Output both = Add(Mul(channel_mean(f, of, Mul(in->dy, of->xh)), without_normal(f, of, in->a)),
                      Mul(channel_mean(f, of, Mul(in->a, of->xh)), n_dy));
    out[1] = Mul(of->s, Sub(Mul(in->b, n_dy), Mul(scaled, Add(turned, both))));
    out[2] = Mul(Mul(in->a, n_dy), of->s);
}

static void second_with_given(Formula *f, const Normal *of, const Second *in, Output *out) {
    out[0] = Add(Add(Mul(in->a, Mul(in->scale, of->s)), Mul(in->b, of->xh)), in->c);
    out[1] = Mul(Mul(in->b, in->dy), of->s);
    out[2] = Mul(Mul(in->a, in->dy), of->s);
}

static void norm_grad_grad(Formula *f) {
    DType dtype = output_type(f->x[2]);
    bool first = node_str(f->node, "data_format").p[1] == 'C', training = node_bool(f->node, "is_training");
    int rank = (int)node_str(f->node, "data_format").n;
    const int64_t last_axes[] = {0, 1, 2, 3}, first_axes[] = {0, 2, 3, 4};
    Normal of = {.axes = formula_ints(f, first ? first_axes : last_axes, rank - 1, DT_int32)};
    Output x = Cast(f->x[1], dtype), epsilon = Scalar((double)node_float(f->node, "epsilon"), f->x[2]);
    Output mean = training ? Mean(x, of.axes, true) : over_images(f, f->x[3], rank, first);
    Output centred = Sub(x, mean);
    Output variance = training ? Mean(Square(centred), of.axes, true) : over_images(f, f->x[4], rank, first);
    of.s = Rsqrt(Add(variance, epsilon));
    of.xh = Mul(centred, of.s);
    Second in = {Cast(f->x[0], dtype), over_images(f, f->x[2], rank, first), Cast(f->dy[0], dtype),
                 over_images(f, f->dy[1], rank, first), over_images(f, f->dy[2], rank, first)};
    Output out[3];
    if (training)
        second_in_training(f, &of, &in, out);
    else
        second_with_given(f, &of, &in, out);
    f->dx[0] = Cast(out[0], output_type(f->x[0]));
    f->dx[1] = Cast(out[1], output_type(f->x[1]));
    f->dx[2] = Sum(out[2], of.axes, false);
}

#define FORMATS_2D "data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"; is_training: bool = true"
#define FORMATS_3D "data_format: {\"NHWC\", \"NCHW\", \"NDHWC\", \"NCDHW\"} = \"NHWC\"; is_training: bool = true"
#define NORM_ATTRIBUTES "; epsilon: float = 0.0001; exponential_avg_factor: float = 1; "
#define NORM_FIELDS                                                                                              \
    .doc = "Normalises images channel by channel.", .shape = norm_shape, .prepare = norm_prepare,                 \
    .own_size = sizeof(Norm), .cpu = ANY_TYPE(norm_run), .inplace = BIT(0), .same_rows = 1,     \
    .hlo = norm_hlo
#define NORM_GRAD_FIELDS                                                                                         \
    .doc = "Gradient of FusedBatchNorm.", .needs = "same_shape(y_backprop, x)", .shape = norm_grad_shape,          \
    .prepare = norm_grad_prepare, .own_size = sizeof(Norm), .cpu = ANY_TYPE(norm_grad_run), .inplace = BIT(0),    \
    .same_rows = 1, .grad = norm_grad_grad, .hlo = norm_grad_hlo

const Op op_FusedBatchNorm = {
    .signature = "FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T) -> y: T, batch_mean: T, "
                 "batch_variance: T, reserve_space_1: T, reserve_space_2: T; T: {float}" NORM_ATTRIBUTES FORMATS_2D,
    .grad = norm_grad_1, NORM_FIELDS,
};
const Op op_FusedBatchNormV2 = {
    .signature = "FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, batch_mean: U, "
                 "batch_variance: U, reserve_space_1: U, reserve_space_2: U; T: {half, bfloat16, float}; U: {float}"
                 NORM_ATTRIBUTES FORMATS_2D,
    .grad = norm_grad_2, NORM_FIELDS,
};
const Op op_FusedBatchNormV3 = {
    .signature = "FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, batch_mean: U, "
                 "batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U; "
                 "T: {half, bfloat16, float}; U: {bfloat16, float}" NORM_ATTRIBUTES FORMATS_3D,
    .grad = norm_grad_3, NORM_FIELDS,
};
const Op op_FusedBatchNormGrad = {
    .signature = "FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> "
                 "x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T; "
                 "T: {float}; epsilon: float = 0.0001; " FORMATS_2D,
    NORM_GRAD_FIELDS,
};
const Op op_FusedBatchNormGradV2 = {
    .signature = "FusedBatchNormGradV2(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U) -> "
                 "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U; "
                 "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; " FORMATS_2D,
    NORM_GRAD_FIELDS,
};
const Op op_FusedBatchNormGradV3 = {
    .signature = "FusedBatchNormGradV3(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, "
                 "reserve_space_3: U) -> x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, "
                 "reserve_space_5: U; T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; " FORMATS_3D,
    NORM_GRAD_FIELDS,
};
