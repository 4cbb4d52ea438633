// ResizeBicubic — pictures of another size, each pixel on a cubic curve through sixteen, and the gradient.
//
// The curve comes from a table of 1,024 steps, as TensorFlow's does: its pixels are the table's.
#include <float.h>

#include "loops/cast.h"
#include "ops/image/resize.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

enum { STEPS = 1 << 10 };

// One output coordinate: the four input ones around it, and their parts.
typedef struct {
    int64_t at[4];
    float part[4];
} Taps;

typedef struct {
    int64_t batch, in_h, in_w, out_h, out_w, channels;
    Taps *rows, *columns;
    CastLoop to_float;
    bool casts;
    size_t size;           // bytes of an element
    int64_t unit_rows, units;
} Cubic;

// Of the two sides of the kernel of sharpness a: up to one pixel away, and from one to two.
static float near_part(double a, int64_t step) {
    float x = (float)((double)step / STEPS);
    return (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
}
static float far_part(double a, int64_t step) {
    float x = (float)((double)(float)((double)step / STEPS) + 1.0);
    return (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x - 4 * a);
}

static void find_taps(bool half, float scale, int64_t in, int64_t out, Taps *taps) {
    double a = half ? -0.5 : -0.75;
    for (int64_t i = 0; i < out; i++, taps++) {
        float place = half ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
        int64_t low = (int64_t)floorf(place);
        int64_t step = lrintf((place - (float)low) * STEPS);
        *taps = (Taps){.part = {far_part(a, step), near_part(a, step), near_part(a, STEPS - step), far_part(a, STEPS - step)}};
        for (int j = 0; j < 4; j++) {
            taps->at[j] = max_i64(0, min_i64(low - 1 + j, in - 1));
            if (half && taps->at[j] != low - 1 + j)  // what lies outside does not count; else the border is repeated
                taps->part[j] = 0;
        }
        float sum = taps->part[0] + taps->part[1] + taps->part[2] + taps->part[3];
        for (int j = 0; half && fabsf(sum) >= 1000.0f * FLT_MIN && j < 4; j++)
            taps->part[j] *= 1.0f / sum;
    }
}

static Status *plan_cubic(Prepare *p, const Shape *large, const Shape *small, Cubic *own) {
    bool half = node_bool(p->node, "half_pixel_centers");
    float down, across;
    *own = (Cubic){.batch = large->dims[0], .in_h = large->dims[1], .in_w = large->dims[2], .out_h = small->dims[1],
                   .out_w = small->dims[2], .channels = large->dims[3]};
    TRY(resize_scale(p, own->in_h, own->out_h, &down));
    TRY(resize_scale(p, own->in_w, own->out_w, &across));
    own->rows = arena_alloc(p->arena, (size_t)own->out_h * sizeof(Taps));
    own->columns = arena_alloc(p->arena, (size_t)own->out_w * sizeof(Taps));
    NEED_MEMORY(own->rows && own->columns);
    find_taps(half, down, own->in_h, own->out_h, own->rows);
    find_taps(half, across, own->in_w, own->out_w, own->columns);
    p->cost = kernel_cost(shape_count(small), 8000, 0);
    return OK;
}

// Output rows are shared out in pieces, each with five rows of scratch: four read, one of their sum.
static Status *cubic_prepare(Prepare *p) {
    enum { PIECES = 16 };
    Cubic *own = p->own;
    DType dtype = p->in[0]->dtype;
    TRY(plan_cubic(p, &p->in[0]->shape, &p->out[0]->shape, own));
    own->casts = dtype != DT_float;
    own->size = dtype_size(dtype);
    NEED(!own->casts || cast_find(dtype, DT_float, &own->to_float), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(dtype));
    own->unit_rows = max_i64(1, div_up(own->out_h, PIECES));
    own->units = own->batch * div_up(own->out_h, own->unit_rows);
    size_t bytes;
    NEED(mul_size((size_t)(own->in_w * own->channels) * 5 * sizeof(float), (size_t)own->units, &bytes),
         RESOURCE_EXHAUSTED, "too many elements");
    p->scratch = bytes;
    return OK;
}

typedef struct {
    const Cubic *own;
    const char *in;
    float *out, *scratch;
} Work;

static void add_rows(const float *restrict a, const float *restrict b, const float *restrict c, const float *restrict d,
                     const float *part, float *restrict out, int64_t n) {
    float w = part[0], x = part[1], y = part[2], z = part[3];
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] * w + b[i] * x + c[i] * y + d[i] * z;
}

static void add_columns(const Cubic *own, const float *row, float *out) {
    int64_t n = own->channels;
    for (int64_t x = 0; x < own->out_w; x++, out += n) {
        const Taps *taps = &own->columns[x];
        const float *a = row + taps->at[0] * n, *b = row + taps->at[1] * n, *c = row + taps->at[2] * n,
                    *d = row + taps->at[3] * n;
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i] * taps->part[0] + b[i] * taps->part[1] + c[i] * taps->part[2] + d[i] * taps->part[3];
    }
}

// Four rows in a row lie at four places.
static const float *row_at(const Work *work, int64_t n, int64_t y, float *memory, int64_t held[4]) {
    const Cubic *own = work->own;
    int64_t width = own->in_w * own->channels;
    const char *at = work->in + (size_t)((n * own->in_h + y) * width) * own->size;
    if (!own->casts)
        return (const float *)(const void *)at;
    float *row = memory + y % 4 * width;
    if (held[y % 4] != y)
        cast_run(&own->to_float, at, row, width);
    held[y % 4] = y;
    return row;
}

static void cubic_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Cubic *own = work->own;
    int64_t pieces = div_up(own->out_h, own->unit_rows), width = own->in_w * own->channels;
    for (int64_t unit = first; unit < last; unit++) {
        float *memory = work->scratch + unit * width * 5, *sum = memory + 4 * width;
        int64_t held[4] = {-1, -1, -1, -1}, n = unit / pieces, y = unit % pieces * own->unit_rows;
        for (int64_t end = min_i64(own->out_h, y + own->unit_rows); y < end; y++) {
            const Taps *taps = &own->rows[y];
            const float *rows[4];
            for (int j = 0; j < 4; j++)
                rows[j] = row_at(work, n, taps->at[j], memory, held);
            add_rows(rows[0], rows[1], rows[2], rows[3], taps->part, sum, width);
            add_columns(own, sum, work->out + (n * own->out_h + y) * own->out_w * own->channels);
        }
    }
}

static Status *cubic_run(Kernel *k) {
    const Cubic *own = k->own;
    Work work = {own, k->in[0]->data, k->out[0]->data, k->scratch};
    if (own->units && own->channels)
        kernel_parallel(k, own->units, max_i64(1, own->unit_rows * (own->out_w * 4 + own->in_w) * own->channels),
                        cubic_units, &work);
    return OK;
}

// ---------------------------------------- gradient: dy shared out among sixteen pixels

static Status *cubic_grad_prepare(Prepare *p) {
    Cubic *own = p->own;
    TRY(plan_cubic(p, &p->out[0]->shape, &p->in[0]->shape, own));
    own->size = dtype_size(p->out[0]->dtype);
    return OK;
}

static void share_out(const Cubic *own, const float *dy, const Taps *row, const Taps *column, char *dx) {
    for (int i = 0; i < 16; i++) {
        char *to = dx + (size_t)((row->at[i / 4] * own->in_w + column->at[i % 4]) * own->channels) * own->size;
        for (int64_t c = 0; c < own->channels; c++) {
            if (own->size == sizeof(double))
                ((double *)(void *)to)[c] += (double)dy[c] * (double)row->part[i / 4] * (double)column->part[i % 4];
            else
                ((float *)(void *)to)[c] += dy[c] * row->part[i / 4] * column->part[i % 4];
        }
    }
}

static void cubic_grad_images(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Cubic *own = work->own;
    for (int64_t n = first; n < last; n++) {
        const float *dy = (const float *)(const void *)work->in + n * own->out_h * own->out_w * own->channels;
        size_t bytes = (size_t)(own->in_h * own->in_w * own->channels) * own->size;
        char *dx = (char *)work->out + (size_t)n * bytes;
        memset(dx, 0, bytes);
        for (int64_t y = 0; y < own->out_h; y++)
            for (int64_t x = 0; x < own->out_w; x++, dy += own->channels)
                share_out(own, dy, &own->rows[y], &own->columns[x], dx);
    }
}

static Status *cubic_grad_run(Kernel *k) {
    const Cubic *own = k->own;
    Work work = {own, k->in[0]->data, k->out[0]->data, NULL};
    if (own->channels)
        kernel_parallel(k, own->batch, max_i64(1, 16 * own->out_h * own->out_w * own->channels), cubic_grad_images, &work);
    return OK;
}

// ---------------------------------------- schemas

static void cubic_formula(Formula *f) {
    DType type = output_type(f->x[0]);
    if (type == DT_float || type == DT_double)
        f->dx[0] = Like("ResizeBicubicGrad", f->dy[0], f->x[0]);
}

const Op op_ResizeBicubic = {
    .signature = "ResizeBicubic(images: T, size: int32) -> resized_images: float; T: {int8, uint8, int16, uint16, int32, "
                 "int64, half, float, double, bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false",
    .doc = "Pictures of another size, each pixel on a cubic curve through sixteen.", .shape = resize_shape,
    .host = BIT(1), .grad = cubic_formula, .prepare = cubic_prepare, .own_size = sizeof(Cubic),
    .cpu = ANY_TYPE(cubic_run), .same_rows = 1,
};
const Op op_ResizeBicubicGrad = {
    .signature = "ResizeBicubicGrad(grads: float, original_image: T) -> output: T; T: {float, double}; align_corners: "
                 "bool = false; half_pixel_centers: bool = false",
    .doc = "Gradient of ResizeBicubic.", .shape = resize_grad_shape, .prepare = cubic_grad_prepare,
    .own_size = sizeof(Cubic), .cpu = ANY_TYPE(cubic_grad_run), .same_rows = 1,
};
