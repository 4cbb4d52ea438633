// ResizeArea — pictures of another size, each pixel the mean of the part of the picture that it covers.
//
// Rows are shortened first, each once; then they are added up. That is TensorFlow's order of additions, to the bit.
#include "loops/cast.h"
#include "ops/image/resize.h"

// What one output coordinate covers: [start, end), the first and the last in part.
typedef struct {
    int64_t start, end;
    float first, last;
} Span;

typedef struct {
    int64_t batch, in_h, in_w, out_h, out_w, channels;
    float down, across;    // input pixels per output pixel
    Span *columns;
    CastLoop to_float;
    bool casts;
    size_t size;           // bytes of an element
    int64_t unit_rows, units;
} Area;

// How much of pixel v lies between `from` and `to`, which are `scale` apart.
static float share_of(int64_t v, float from, float to, float scale) {
    if ((float)v < from)
        return (float)(v + 1) > to ? scale : (float)(v + 1) - from;
    return (float)(v + 1) > to ? to - (float)v : 1;
}

static Span span_of(int64_t i, float scale) {
    float from = (float)i * scale, to = (float)(i + 1) * scale;
    Span span = {.start = (int64_t)floorf(from), .end = (int64_t)ceilf(to)};
    span.first = share_of(span.start, from, to, scale);
    span.last = share_of(span.end - 1, from, to, scale);
    return span;
}

static Status *area_prepare(Prepare *p) {
    enum { PIECES = 16 };
    Area *own = p->own;
    const Shape *in = &p->in[0]->shape, *out = &p->out[0]->shape;
    DType dtype = p->in[0]->dtype;
    *own = (Area){.batch = in->dims[0], .in_h = in->dims[1], .in_w = in->dims[2], .out_h = out->dims[1],
                  .out_w = out->dims[2], .channels = in->dims[3], .casts = dtype != DT_float, .size = dtype_size(dtype)};
    TRY(resize_scale(p, own->in_h, own->out_h, &own->down));
    TRY(resize_scale(p, own->in_w, own->out_w, &own->across));
    if (own->down == 0)  // corners aligned, and one row
        own->down = 1.0f / (float)own->out_h;
    if (own->across == 0)
        own->across = 1.0f / (float)own->out_w;
    NEED(!own->casts || cast_find(dtype, DT_float, &own->to_float), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(dtype));
    own->columns = arena_alloc(p->arena, (size_t)own->out_w * sizeof(Span));
    NEED_MEMORY(own->columns);
    for (int64_t x = 0; x < own->out_w; x++)
        own->columns[x] = span_of(x, own->across);
    own->unit_rows = max_i64(1, div_up(own->out_h, PIECES));
    own->units = own->batch * div_up(own->out_h, own->unit_rows);
    size_t bytes;
    NEED(mul_size((size_t)((own->in_w + own->out_w) * own->channels) * sizeof(float), (size_t)own->units, &bytes),
         RESOURCE_EXHAUSTED, "too many elements");
    p->scratch = bytes;
    p->cost = kernel_cost(shape_count(in) + shape_count(out), 1000, 0);
    return OK;
}

typedef struct {
    const Area *own;
    const char *in;
    float *out, *scratch;
} Work;

static int64_t inside(int64_t at, int64_t n) {
    return max_i64(0, min_i64(at, n - 1));
}

// Sums of three channels stay in registers.
static void shorten_colours(const Area *own, const float *row, float *out) {
    for (int64_t x = 0; x < own->out_w; x++, out += 3) {
        const Span *span = &own->columns[x];
        const float *at = row + 3 * inside(span->start, own->in_w);
        float a = at[0] * span->first, b = at[1] * span->first, c = at[2] * span->first;
        for (int64_t i = span->start + 1; i < span->end - 1; i++) {
            at = row + 3 * inside(i, own->in_w);
            a += at[0], b += at[1], c += at[2];
        }
        if (span->start + 1 != span->end) {
            at = row + 3 * inside(span->end - 1, own->in_w);
            a += at[0] * span->last, b += at[1] * span->last, c += at[2] * span->last;
        }
        out[0] = a, out[1] = b, out[2] = c;
    }
}

static void shorten_any(const Area *own, const float *row, float *out) {
    int64_t n = own->channels;
    for (int64_t x = 0; x < own->out_w; x++, out += n) {
        const Span *span = &own->columns[x];
        const float *first = row + n * inside(span->start, own->in_w), *last = row + n * inside(span->end - 1, own->in_w);
        for (int64_t c = 0; c < n; c++)
            out[c] = first[c] * span->first;
        for (int64_t i = span->start + 1; i < span->end - 1; i++) {
            const float *at = row + n * inside(i, own->in_w);
            for (int64_t c = 0; c < n; c++)
                out[c] += at[c];
        }
        for (int64_t c = 0; span->start + 1 != span->end && c < n; c++)
            out[c] += last[c] * span->last;
    }
}

// Row y of picture n as wide as the output; `memory` is a row of the input.
static void shorten(const Work *work, int64_t n, int64_t y, float *memory, float *out) {
    const Area *own = work->own;
    const char *at = work->in + (size_t)((n * own->in_h + y) * own->in_w * own->channels) * own->size;
    const float *row = (const float *)(const void *)at;
    if (own->casts) {
        cast_run(&own->to_float, at, memory, own->in_w * own->channels);
        row = memory;
    }
    if (own->channels == 3)
        shorten_colours(own, row, out);
    else
        shorten_any(own, row, out);
}

static void area_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Area *own = work->own;
    int64_t pieces = div_up(own->out_h, own->unit_rows), width = own->out_w * own->channels;
    float whole = (float)(1.0 / (double)(own->down * own->across));
    for (int64_t unit = first; unit < last; unit++) {
        float *memory = work->scratch + unit * (own->in_w + own->out_w) * own->channels;
        float *row = memory + own->in_w * own->channels;
        int64_t held = -1, n = unit / pieces, y = unit % pieces * own->unit_rows;
        for (int64_t end = min_i64(own->out_h, y + own->unit_rows); y < end; y++) {
            Span span = span_of(y, own->down);
            float from = (float)y * own->down, to = (float)(y + 1) * own->down;
            float *out = work->out + (n * own->out_h + y) * width;
            memset(out, 0, (size_t)width * sizeof *out);
            for (int64_t i = span.start; i < span.end; i++) {
                float share = share_of(i, from, to, own->down);
                if (inside(i, own->in_h) != held)
                    shorten(work, n, held = inside(i, own->in_h), memory, row);
                for (int64_t x = 0; x < width; x++)
                    out[x] += row[x] * share;
            }
            for (int64_t x = 0; x < width; x++)
                out[x] *= whole;
        }
    }
}

static Status *area_run(Kernel *k) {
    const Area *own = k->own;
    Work work = {own, k->in[0]->data, k->out[0]->data, k->scratch};
    if (own->units && own->channels)
        kernel_parallel(k, own->units, max_i64(1, (own->in_h / max_i64(1, own->out_h) + 1) * own->unit_rows *
                                                      (own->in_w + own->out_w) * own->channels),
                        area_units, &work);
    return OK;
}

const Op op_ResizeArea = {
    .signature = "ResizeArea(images: T, size: int32) -> resized_images: float; T: {int8, uint8, int16, uint16, int32, "
                 "int64, half, float, double, bfloat16}; align_corners: bool = false",
    .doc = "Pictures of another size, each pixel the mean of what it covers.", .shape = resize_shape, .host = BIT(1),
    .prepare = area_prepare, .own_size = sizeof(Area), .cpu = ANY_TYPE(area_run), .same_rows = 1,
};
