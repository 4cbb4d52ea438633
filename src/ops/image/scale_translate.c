// ScaleAndTranslate — pictures scaled and moved by floats, under one of eight kernels, and the gradient.
//
// Each output row is a sum of input rows, then each of its pixels a sum of its columns: TensorFlow's order, to the bit.
#include <float.h>

#include "loops/cast.h"
#include "ops/image/resize.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

// ---------------------------------------- kernels, of a distance >= 0

static float lanczos(float x, float radius) {
    const float pi = 3.14159265359f;
    if (x > radius)
        return 0;
    return x <= 1e-3f ? 1 : radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}
static float lanczos_1(float x) {
    return lanczos(x, 1);
}
static float lanczos_3(float x) {
    return lanczos(x, 3);
}
static float lanczos_5(float x) {
    return lanczos(x, 5);
}
static float gaussian(float x) {
    const float sigma = 0.5f;
    return x >= 1.5f ? 0 : (float)exp((double)(-x * x) / (2.0 * (double)sigma * (double)sigma));
}
static float box(float x) {
    return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0;
}
static float triangle(float x) {
    return x < 1 ? 1 - x : 0;
}
static float keys_cubic(float x) {
    if (x >= 2)
        return 0;
    return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : (1.5f * x - 2.5f) * x * x + 1;
}
static float mitchell_cubic(float x) {
    if (x >= 2)
        return 0;
    if (x >= 1)
        return ((-7.0f / 18.0f * x + 2) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
    return (7.0f / 6.0f * x - 2) * x * x + 8.0f / 9.0f;
}

static const struct {
    const char *name;
    float (*weight)(float x);
    float radius;
} kernels[] = {
    {"lanczos1", lanczos_1, 1},     {"lanczos3", lanczos_3, 3}, {"lanczos5", lanczos_5, 5},
    {"gaussian", gaussian, 1.5f},   {"box", box, 1},            {"triangle", triangle, 1},
    {"keyscubic", keys_cubic, 2},   {"mitchellcubic", mitchell_cubic, 2},
};

typedef struct {
    int kind;
    bool antialias;
    DType dtype;
    CastLoop to_float;
    bool casts;
} Sampling;

static Status *sampling_prepare(Prepare *p) {
    Sampling *own = p->own;
    Str name = node_str(p->node, "kernel_type");
    int n = (int)(sizeof kernels / sizeof *kernels);
    while (own->kind < n && !str_is(name, kernels[own->kind].name))
        own->kind++;
    NEED(own->kind < n, INVALID_ARGUMENT, "Unrecognized kernel type: %.*s", STR_ARGS(name));
    own->antialias = node_bool(p->node, "antialias");
    own->dtype = p->in[0]->dtype;
    own->casts = own->dtype != DT_float;
    NEED(!own->casts || cast_find(own->dtype, DT_float, &own->to_float), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(own->dtype));
    p->cost = kernel_cost(shape_count(&p->out[0]->shape), 8000, 0);
    return OK;
}

// ---------------------------------------- spans: which inputs make an output, and their parts

typedef struct {
    int64_t n, size;       // outputs, and the most inputs of one
    int32_t *starts;       // [n]
    float *weights;        // [n][size]
} Spans;

static Status *spans_new(Arena *arena, int64_t n, int64_t size, Spans *out) {
    size_t count;
    NEED(mul_size((size_t)n, (size_t)max_i64(size, 1), &count), RESOURCE_EXHAUSTED, "too large");
    *out = (Spans){n, size, ARENA_ARRAY(arena, int32_t, n), ARENA_ARRAY(arena, float, count)};
    NEED_MEMORY(out->starts && out->weights);
    return OK;
}

static int64_t inside(float at, int64_t n) {
    return at >= (float)(n - 1) ? n - 1 : at > 0 ? (int64_t)at : 0;
}

static void span_fill(const Sampling *own, float sample, float stretch, int64_t in, int64_t x, Spans *out) {
    float reach = kernels[own->kind].radius * stretch, sum = 0, narrow = 1.0f / stretch;
    int64_t start = inside(ceilf(sample - reach - 0.5f), in), end = inside(floorf(sample + reach - 0.5f), in) + 1;
    float *weights = out->weights + x * out->size;
    end = min_i64(end, start + out->size);
    for (int64_t i = start; i < end; i++) {
        float place = (float)i + 0.5f - sample;
        weights[i - start] = kernels[own->kind].weight(fabsf(place * narrow));
        sum += weights[i - start];
    }
    float whole = fabsf(sum) >= 1000.0f * FLT_MIN ? 1.0f / sum : 0;
    for (int64_t i = 0; i < end - start; i++)
        weights[i] = whole != 0 ? weights[i] * whole : 0;
    out->starts[x] = (int32_t)start;
}

static Status *spans_find(const Sampling *own, Arena *arena, int64_t n, int64_t in, float scale, float move, Spans *out) {
    float back = 1.0f / scale, back_move = -back * move, stretch = own->antialias && back > 1 ? back : 1;
    double size = 2 * ceil((double)(kernels[own->kind].radius * stretch)) + 1;
    TRY(spans_new(arena, n, size < (double)in ? (int64_t)size : in, out));
    for (int64_t x = 0; x < n; x++) {
        float sample = ((float)x + 0.5f) * back + back_move;
        if (sample >= 0 && sample <= (float)in)
            span_fill(own, sample, stretch, in, x, out);
    }
    return OK;
}

// The same the other way: which outputs take from an input.
static Status *spans_turn(const Spans *spans, Arena *arena, int64_t in, Spans *out) {
    int64_t *firsts = ARENA_ARRAY(arena, int64_t, in), most = 0;
    NEED_MEMORY(firsts);
    for (int64_t i = 0; i < in; i++)
        firsts[i] = -1;
#define EACH_WEIGHT                                                                       \
    for (int64_t o = 0; o < spans->n; o++)                                                \
        for (int64_t j = 0, i = spans->starts[o]; j < spans->size && i < in; j++, i++)    \
            if (spans->weights[o * spans->size + j] != 0)
    EACH_WEIGHT {
        firsts[i] = firsts[i] < 0 ? o : firsts[i];
        most = max_i64(most, o - firsts[i] + 1);
    }
    TRY(spans_new(arena, in, most, out));
    for (int64_t i = 0; i < in; i++)
        out->starts[i] = (int32_t)max_i64(firsts[i], 0);
    EACH_WEIGHT
        out->weights[i * most + o - firsts[i]] += spans->weights[o * spans->size + j];
#undef EACH_WEIGHT
    return OK;
}

// ---------------------------------------- sums

typedef struct {
    const Sampling *own;
    const Spans *rows, *columns;
    int64_t in_h, in_w, channels;
    const char *in;
    float *out, *scratch;    // two rows of the input for each row of the output that is at work
    int64_t unit_rows;
} Work;

static void add_row(const float *restrict in, float weight, float *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] += weight * in[i];
}

static void sum_rows(const Work *work, int64_t n, int64_t y, float *row, float *memory) {
    const Spans *rows = work->rows;
    int64_t width = work->in_w * work->channels, start = rows->starts[y];
    memset(row, 0, (size_t)width * sizeof *row);
    for (int64_t i = 0; i < min_i64(rows->size, work->in_h - start); i++) {
        const char *at = work->in + (size_t)((n * work->in_h + start + i) * width) * dtype_size(work->own->dtype);
        const float *in = (const float *)(const void *)at;
        if (work->own->casts) {
            cast_run(&work->own->to_float, at, memory, width);
            in = memory;
        }
        add_row(in, rows->weights[y * rows->size + i], row, width);
    }
}

static void sum_columns(const Work *work, const float *row, float *out) {
    const Spans *columns = work->columns;
    int64_t n = work->channels;
    for (int64_t x = 0; x < columns->n; x++, out += n) {
        int64_t start = columns->starts[x], size = min_i64(columns->size, work->in_w - start);
        const float *in = row + start * n, *weights = columns->weights + x * columns->size;
        for (int64_t c = 0; c < n; c++)
            out[c] = 0;
        for (int64_t i = 0; i < size; i++, in += n)
            for (int64_t c = 0; c < n; c++)
                out[c] += weights[i] * in[c];
    }
}

static void sum_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    int64_t width = work->in_w * work->channels, height = work->rows->n, pieces = div_up(height, work->unit_rows);
    for (int64_t unit = first; unit < last; unit++) {
        float *row = work->scratch + unit * 2 * width;
        int64_t n = unit / pieces, y = unit % pieces * work->unit_rows;
        for (int64_t end = min_i64(height, y + work->unit_rows); y < end; y++) {
            sum_rows(work, n, y, row, row + width);
            sum_columns(work, row, work->out + (n * height + y) * work->columns->n * work->channels);
        }
    }
}

static Status *sum_all(Kernel *k, Arena *arena, Work *work, int64_t batch) {
    enum { PIECES = 16 };
    int64_t height = work->rows->n, width = work->in_w * work->channels;
    work->unit_rows = max_i64(1, div_up(height, PIECES));
    int64_t units = batch * div_up(height, work->unit_rows);
    size_t bytes;
    NEED(mul_size((size_t)width * 2 * sizeof(float), (size_t)units, &bytes), RESOURCE_EXHAUSTED, "too large");
    work->scratch = arena_alloc(arena, bytes);
    NEED_MEMORY(work->scratch);
    int64_t cost = work->unit_rows * (width * work->rows->size + work->columns->n * work->channels * work->columns->size);
    kernel_parallel(k, units, max_i64(1, cost), sum_units, work);
    return OK;
}

static Status *read_pair(const Tensor *pair, const char *name, bool positive, float out[2]) {
    for (int i = 0; i < 2; i++) {
        out[i] = ((const float *)pair->data)[i];
        NEED(!positive || out[i] > 0, INVALID_ARGUMENT, "%s must be greater than zero, got %g", name, (double)out[i]);
    }
    return OK;
}

// The spans of the way from [in_h, in_w] to [out_h, out_w].
static Status *find_both(Kernel *k, Arena *arena, const Shape *in, const Shape *out, Spans *rows, Spans *columns) {
    const Sampling *own = k->own;
    float scale[2], move[2];
    int first = k->n_in - 2;
    TRY(read_pair(k->in[first], "scale", true, scale));
    TRY(read_pair(k->in[first + 1], "translation", false, move));
    NEED(in->dims[1] > 0 && in->dims[2] > 0, INVALID_ARGUMENT, "input image must be of non-zero size");
    NEED(in->dims[3] > 0, INVALID_ARGUMENT, "image must have at least one channel");
    NEED(in->dims[1] < INT32_MAX && in->dims[2] < INT32_MAX, INVALID_ARGUMENT, "input sizes must be below 2^31");
    TRY(spans_find(own, arena, out->dims[1], in->dims[1], scale[0], move[0], rows));
    return spans_find(own, arena, out->dims[2], in->dims[2], scale[1], move[1], columns);
}

static Status *sampling_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Spans rows, columns;
    const Shape *in = &k->in[0]->shape, *out = &k->out[0]->shape;
    TRY(find_both(k, &arena, in, out, &rows, &columns));
    if (!shape_count(out))
        return OK;
    Work work = {.own = k->own, .rows = &rows, .columns = &columns, .in_h = in->dims[1], .in_w = in->dims[2],
                 .channels = in->dims[3], .in = k->in[0]->data, .out = k->out[0]->data};
    return sum_all(k, &arena, &work, in->dims[0]);
}

static Status *sampling_grad_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Spans rows, columns, turned_rows, turned_columns;
    const Shape *in = &k->in[0]->shape, *out = &k->out[0]->shape;  // of dy and of dx
    TRY(find_both(k, &arena, out, in, &rows, &columns));
    TRY(spans_turn(&rows, &arena, out->dims[1], &turned_rows));
    TRY(spans_turn(&columns, &arena, out->dims[2], &turned_columns));
    if (!shape_count(out))
        return OK;
    Work work = {.own = k->own, .rows = &turned_rows, .columns = &turned_columns, .in_h = in->dims[1],
                 .in_w = in->dims[2], .channels = in->dims[3], .in = k->in[0]->data, .out = k->out[0]->data};
    return sum_all(k, &arena, &work, in->dims[0]);
}

// ---------------------------------------- schemas

static void sampling_formula(Formula *f) {
    if (output_type(f->x[0]) == DT_float)
        f->dx[0] = Like("ScaleAndTranslateGrad", f->dy[0], f->x[0], f->x[2], f->x[3]);
}

#define SAMPLES .prepare = sampling_prepare, .own_size = sizeof(Sampling)
#define PAIRS "vector(scale), dim(scale, 0) == 2, vector(translation), dim(translation, 0) == 2"

const Op op_ScaleAndTranslate = {
    .signature = "ScaleAndTranslate(images: T, size: int32, scale: float, translation: float) -> resized_images: float; "
                 "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}; kernel_type: string = "
                 "\"lanczos3\"; antialias: bool = true",
    .doc = "Pictures scaled by floats and moved, under a kernel.", .needs = "rank(images) == 4, " PAIRS,
    .shape = resize_shape, .host = BIT(1), .grad = sampling_formula, .cpu = ANY_TYPE(sampling_run), SAMPLES,
};
const Op op_ScaleAndTranslateGrad = {
    .signature = "ScaleAndTranslateGrad(grads: T, original_image: T, scale: float, translation: float) -> output: T; "
                 "T: {float}; kernel_type: string = \"lanczos3\"; antialias: bool = true",
    .doc = "Gradient of ScaleAndTranslate.",
    .needs = "rank(grads) == 4, rank(original_image) == 4, dim(grads, 0) == dim(original_image, 0), "
             "dim(grads, 3) == dim(original_image, 3), " PAIRS,
    .shape = resize_grad_shape, .cpu = ANY_TYPE(sampling_grad_run), SAMPLES,
};
