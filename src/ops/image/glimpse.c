// ExtractGlimpse — windows of pictures around given places; what lies outside of a picture is noise, or zero.
//
// Places are the corner's or the centre's, in pixels or in parts of the picture, as the attributes and the version say.
#include "loops/random.h"
#include "ops/image/resize.h"

typedef enum { NOISE_UNIFORM, NOISE_GAUSSIAN, NOISE_ZERO } Noise;

typedef struct {
    int version;
    bool centered, normalized;
    Noise noise;
} Glimpse;

static Status *glimpse_shape(Shapes *s) {
    Shape image = s->in[0], size;
    NEED(image.rank < 0 || image.rank == 4, INVALID_ARGUMENT, "input must be 4-D, got %s", shape_text(&image));
    TRY(resize_extents(s, 1, 2, 0, &size));
    int64_t batch = image.rank < 0 ? UNKNOWN_DIM : image.dims[0];
    if (batch < 0 && s->in[2].rank == 2)
        batch = s->in[2].dims[0];
    s->out[0] = SHAPE(batch, size.dims[0], size.dims[1], image.rank < 0 ? UNKNOWN_DIM : image.dims[3]);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *glimpse_prepare(Prepare *p) {
    Glimpse *own = p->own;
    Str noise = node_str(p->node, "noise");
    bool uniform = node_bool(p->node, "uniform_noise");
    NEED(!uniform || !noise.n || str_is(noise, "uniform"), INVALID_ARGUMENT,
         "The uniform_noise and noise could not be specified at the same time");
    NEED(!noise.n || str_is(noise, "uniform") || str_is(noise, "gaussian") || str_is(noise, "zero"), INVALID_ARGUMENT,
         "The noise could only be uniform, gaussian, or zero, got %.*s", STR_ARGS(noise));
    own->noise = noise.n ? str_is(noise, "uniform") ? NOISE_UNIFORM : str_is(noise, "zero") ? NOISE_ZERO : NOISE_GAUSSIAN
        : uniform        ? NOISE_UNIFORM
                         : NOISE_GAUSSIAN;
    own->version = (int)(intptr_t)node_op(p->node)->row;
    own->centered = node_bool(p->node, "centered");
    own->normalized = node_bool(p->node, "normalized");
    p->cost = shape_count(&p->out[0]->shape);
    return OK;
}

// Where the window begins, in pixels.
static int64_t begin_of(const Glimpse *own, float at, int64_t extent, int64_t window) {
    bool half_window = own->version == 1 || (own->normalized && own->centered);
    if (own->normalized)
        at *= (float)extent;
    if (own->centered && (own->version == 1 || own->normalized))
        at /= 2.0f;
    if (own->centered)
        at += (float)extent / 2.0f;
    if (half_window)
        at -= (float)window / 2.0f;
    return at > -1e15f && at < 1e15f ? (int64_t)at : INT64_MIN / 4;
}

// Which part of the window has a picture under it: [at, at + n) of the window is [from, from + n) of the picture.
typedef struct {
    int64_t at, from, n;
    bool whole;
} Overlap;

static Overlap overlap_of(int64_t begin, int64_t extent, int64_t window) {
    Overlap overlap = {.from = begin, .n = window, .whole = true};
    if (begin < 0) {
        int64_t n = max_i64(0, window + begin);
        overlap = (Overlap){.at = window - n, .n = n};
    } else if (begin + window >= extent) {
        overlap = (Overlap){.from = begin, .n = max_i64(0, extent - begin)};
    }
    overlap.n = min_i64(overlap.n, extent);
    return overlap;
}

typedef struct {
    float least, most, mean, deviation;
} Spread;

// Of every `step`-th of n values.
static Spread spread_of(const float *values, int64_t n, int64_t step) {
    Spread spread = {INFINITY, -INFINITY, 0, 0};
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i += step) {
        spread.least = fminf(spread.least, values[i]);
        spread.most = fmaxf(spread.most, values[i]);
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    double count = (double)div_up(n, step), mean = sum / count;
    spread.mean = (float)mean;
    spread.deviation = (float)sqrt(fmax(0, squares / count - mean * mean));
    return spread;
}

static void fill_noise(const Glimpse *own, const float *image, int64_t pixels, int64_t channels, Philox philox, float *out,
                       int64_t n) {
    if (own->noise == NOISE_ZERO) {
        memset(out, 0, (size_t)n * sizeof *out);
        return;
    }
    bool uniform = own->noise == NOISE_UNIFORM;
    (void)random_fill(&philox, uniform ? RANDOM_UNIFORM : RANDOM_NORMAL, DT_float, out, 0, n);
    Spread all = uniform ? spread_of(image, pixels * channels, 1) : (Spread){0};
    for (int64_t c = 0; c < channels; c++) {
        Spread one = uniform ? all : spread_of(image + c, pixels * channels - c, channels);
        for (int64_t i = c; i < n; i += channels)
            out[i] = uniform ? one.least + out[i] * (one.most - one.least)
                             : fmaxf(fminf(one.mean + out[i] * one.deviation, one.most), one.least);
    }
}

static Status *glimpse_run(Kernel *k) {
    const Glimpse *own = k->own;
    const Shape *in = &k->in[0]->shape, *out = &k->out[0]->shape;
    int64_t height = in->dims[1], width = in->dims[2], channels = in->dims[3], n = out->dims[1] * out->dims[2] * channels;
    if (!tensor_count(k->out[0]))
        return OK;
    NEED(height > 0 && width > 0, INVALID_ARGUMENT, "input must have a height and a width, got %s", shape_text(in));
    Philox philox = philox_seeded(87654321, 1);
    for (int64_t i = 0; i < in->dims[0]; i++) {
        const float *place = (const float *)k->in[2]->data + 2 * i;
        const float *image = (const float *)k->in[0]->data + i * height * width * channels;
        float *window = (float *)k->out[0]->data + i * n;
        Overlap rows = overlap_of(begin_of(own, place[0], height, out->dims[1]), height, out->dims[1]);
        Overlap columns = overlap_of(begin_of(own, place[1], width, out->dims[2]), width, out->dims[2]);
        if (!rows.whole || !columns.whole)
            fill_noise(own, image, height * width, channels, philox, window, n);
        philox_skip(&philox, random_reserved((uint64_t)n));
        for (int64_t y = 0; columns.n && y < rows.n; y++)
            memcpy(window + ((rows.at + y) * out->dims[2] + columns.at) * channels,
                   image + ((rows.from + y) * width + columns.from) * channels,
                   (size_t)(columns.n * channels) * sizeof(float));
    }
    return OK;
}

#define GLIMPSES(number)                                                                                                 \
    .needs = "rank(input) == 4, vector(size), dim(size, 0) == 2, matrix(offsets), dim(offsets, 1) == 2, "                \
             "dim(offsets, 0) == dim(input, 0)",                                                                         \
    .shape = glimpse_shape, .prepare = glimpse_prepare, .own_size = sizeof(Glimpse), .cpu = ANY_TYPE(glimpse_run),       \
    .row = (const void *)(intptr_t)(number), .host = BIT(1), .flags = OP_NO_GRADIENT

const Op op_ExtractGlimpse = {
    .signature = "ExtractGlimpse(input: float, size: int32, offsets: float) -> glimpse: float; centered: bool = true; "
                 "normalized: bool = true; uniform_noise: bool = true; noise: string = \"uniform\"",
    .doc = "Windows of pictures around places; every kind of place is the centre's.", GLIMPSES(1),
};
const Op op_ExtractGlimpseV2 = {
    .signature = "ExtractGlimpseV2(input: float, size: int32, offsets: float) -> glimpse: float; centered: bool = true; "
                 "normalized: bool = true; uniform_noise: bool = true; noise: string = \"uniform\"",
    .doc = "Windows of pictures at places.", GLIMPSES(2),
};
