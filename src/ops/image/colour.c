// Colour — colours by hue, saturation and value: RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation; AdjustContrastv2.
//
// Each operation rounds as TensorFlow's does: a hue near 0 or 1, and in sixteen bits any hue, shows it.
#define SELF "ops/image/colour.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- kernels, once per dtype
#ifdef IS_SIXTEEN_BITS
#define R(x) LOAD(STORE(x))
#else
#define R(x) (x)
#endif

static void FN(hsv_of_rgb)(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const T *in = (const T *)k->in[0]->data + 3 * first;
    T *out = (T *)k->out[0]->data + 3 * first;
    const ACC sixth = R((ACC)1 / (ACC)6), third = R((ACC)2 / (ACC)6), two_thirds = R((ACC)4 / (ACC)6);
    for (int64_t i = first; i < last; i++, in += 3, out += 3) {
        ACC r = LOAD(in[0]), g = LOAD(in[1]), b = LOAD(in[2]), h = 0;
        ACC most = r > g ? r : g, least = r < g ? r : g;
        most = most > b ? most : b;
        least = least < b ? least : b;
        ACC range = R(most - least), norm = R(R((ACC)1 / range) * sixth);
        if (range > 0) {
            if (r == most)
                h = R(norm * R(g - b));
            else if (g == most)
                h = R(R(norm * R(b - r)) + third);
            else
                h = R(R(norm * R(r - g)) + two_thirds);
        }
        out[0] = STORE(h < 0 ? h + 1 : h);
        out[1] = STORE(most > 0 ? range / most : 0);
        out[2] = STORE(most);
    }
}

// One of the three, whose ramp is |6 h - at| times sign, plus lift.
static ACC FN(part_of_hue)(ACC dh, ACC at, ACC sign, ACC lift) {
    ACC away = R(dh - at);
    ACC ramp = R(sign * (away < 0 ? -away : away) + lift);
    return ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
}

static void FN(rgb_of_hsv)(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const T *in = (const T *)k->in[0]->data + 3 * first;
    T *out = (T *)k->out[0]->data + 3 * first;
    for (int64_t i = first; i < last; i++, in += 3, out += 3) {
        ACC s = LOAD(in[1]), v = LOAD(in[2]), dh = R(LOAD(in[0]) * 6), rest = R(1 - s);
        ACC parts[] = {FN(part_of_hue)(dh, 3, 1, -1), FN(part_of_hue)(dh, 2, -1, 2), FN(part_of_hue)(dh, 4, -1, 2)};
        for (int c = 0; c < 3; c++)
            out[c] = STORE(R(rest + R(s * parts[c])) * v);
    }
}

static Status *FN(hsv)(Kernel *k) {
    kernel_parallel(k, tensor_count(k->in[0]) / 3, 12, FN(hsv_of_rgb), k);
    return OK;
}
static Status *FN(rgb)(Kernel *k) {
    kernel_parallel(k, tensor_count(k->in[0]) / 3, 12, FN(rgb_of_hsv), k);
    return OK;
}
#undef R
#else     // ---------------------------------------- schemas and gradient
#define EACH_FLOAT
#include "ops/each_dtype.h"
#include "ops/nn/staging.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

static Output one_hot(Formula *f, Output index, DType dtype) {
    return formula_op(f, "OneHot", (const Output[]){index, Int(3), Number(1, dtype), Number(0, dtype)}, 4, NULL);
}

// With M and m the places of the largest and the smallest (of equals the first, the last), N and n those after the largest in
// the order red, green, blue, and range = max - min: dV = M, dS = M min / max^2 - m / max, dH = (N - n) / (6 range)
// - (x_N - x_n) (M - m) / (6 range^2). As in TensorFlow a colour of 0 takes no part in S, nor in H where it is the largest.
static void hsv_grad(Formula *f) {
    Output x = f->x[0], dy = f->dy[0];
    DType dtype = output_type(x);
    Output most = Max(x, Int(-1), true), least = Min(x, Int(-1), true), range = Sub(most, least);
    Output first = Op("ArgMax", x, Int(-1));
    Output last = Sub(Int64(2), Op("ArgMin", Op("ReverseV2", x, Ints(-1)), Int(-1)));
    Output large = one_hot(f, first, dtype), small = one_hot(f, last, dtype);
    Output after = one_hot(f, FloorMod(Add(first, Int64(1)), Int64(3)), dtype);
    Output before = one_hot(f, FloorMod(Add(first, Int64(2)), Int64(3)), dtype), zero = Scalar(0, x);
    Output there = Cast(Greater(x, zero), dtype), lit = Cast(Greater(most, zero), dtype);
    Output saturation = Mul(there, Sub(DivNoNan(Mul(large, least), Square(most)), DivNoNan(small, most)));
    Output turn = Sub(after, before), across = SumLast(Mul(x, turn));
    Output hue = Sub(DivNoNan(turn, range), DivNoNan(Mul(across, Sub(large, small)), Square(range)));
    hue = Mul(Mul(hue, lit), Scalar(1.0 / 6, x));
    Output parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = formula_op(f, "GatherV2", (const Output[]){dy, Ints(i), Int(-1)}, 3, NULL);
    f->dx[0] = Add(Add(Mul(parts[0], hue), Mul(parts[1], saturation)), Mul(parts[2], large));
}

static Status *colour_prepare(Prepare *p) {
    const Shape *shape = &p->in[0]->shape;
    NEED(shape->dims[shape->rank - 1] == 3, FAILED_PRECONDITION, "input must have 3 channels but input only has %lld",
         (long long)shape->dims[shape->rank - 1]);
    p->cost = shape_count(shape) * 4;
    return OK;
}

#define OF_COLOURS .needs = "rank(images) >= 1", .shape = shape_unchanged, .prepare = colour_prepare

const Op op_RGBToHSV = {
    .signature = "RGBToHSV(images: T) -> output: T; T: floats_half_first = float",
    .doc = "Hue, saturation and value of colours, all in [0, 1].", OF_COLOURS, .grad = hsv_grad, .cpu = KERNELS(FLOATS, hsv),
};
const Op op_HSVToRGB = {
    .signature = "HSVToRGB(images: T) -> output: T; T: floats_half_first = float",
    .doc = "Colours of hue, saturation and value.", OF_COLOURS, .cpu = KERNELS(FLOATS, rgb), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- adjusting: in float

typedef struct {
    int64_t pictures, pixels, channels;
    Stage in, out;
} Adjusting;

static Status *adjust_prepare(Prepare *p) {
    Adjusting *own = p->own;
    const Shape *shape = &p->in[0]->shape;
    int rank = shape->rank;
    own->channels = shape->dims[rank - 1];
    own->pixels = shape->dims[rank - 3] * shape->dims[rank - 2];
    own->pictures = own->pixels > 0 && own->channels > 0 ? shape_count(shape) / (own->pixels * own->channels) : 0;
    TRY(stage_input(p, p->in[0]->dtype, DT_float, shape, false, &own->in));
    TRY(stage_output(p, p->in[0]->dtype, DT_float, shape, false, &own->out));
    p->cost = shape_count(shape) * 5;
    return OK;
}

typedef struct {
    const float *in;
    float *out, by;
    int64_t pixels, channels;
} Work;

// Red, green and blue from large to small, on each side of the circle.
static const int8_t order[6][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 1, 0}, {2, 0, 1}, {0, 2, 1}};

// Least and largest of three, and where on the circle of six sides the colour lies.
static float hue_of(const float *c, float *least, float *most) {
    float r = c[0], g = c[1], b = c[2];
    int side = r < g ? b < r ? 1 : b > g ? 3 : 2 : b < g ? 0 : b > r ? 4 : 5;
    *most = c[order[side][0]];
    *least = c[order[side][2]];
    if (*most == *least)
        return 0;
    float part = (c[order[side][1]] - *least) / (*most - *least);
    return (float)side + (side % 2 ? 1 - part : part);
}

static void colour_of_hue(float hue, float least, float most, float *out) {
    int side = hue >= 0 && hue < 6 ? (int)hue : 5;
    float part = hue - (float)side;
    if (side % 2)
        part = 1 - part;
    out[order[side][0]] = most;
    out[order[side][1]] = least + part * (most - least);
    out[order[side][2]] = least;
}

static void turn_hues(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    for (int64_t i = first; i < last; i++) {
        float least, most, hue = hue_of(work->in + 3 * i, &least, &most) + work->by * 6;
        if (!(fabsf(hue) < 600))
            hue = fmodf(hue, 6);
        while (hue < 0)
            hue += 6;
        while (hue >= 6)
            hue -= 6;
        colour_of_hue(hue, least, most, work->out + 3 * i);
    }
}

static void saturate(const float *in, float by, float *out) {
    float most = fmaxf(in[0], fmaxf(in[1], in[2])), range = most - fminf(in[0], fminf(in[1], in[2]));
    float saturation = most > 0 ? range / most : 0, norm = 1.0f / (6.0f * range), hue;
    if (in[0] == most)
        hue = norm * (in[1] - in[2]);
    else if (in[1] == most)
        hue = (float)((double)(norm * (in[2] - in[0])) + 2.0 / 6.0);
    else
        hue = (float)((double)(norm * (in[0] - in[1])) + 4.0 / 6.0);
    if (range <= 0)
        hue = 0;
    if (hue < 0)
        hue += 1;
    float scaled = saturation * by;
    saturation = scaled > 0 ? scaled < 1 ? scaled : 1 : 0;
    float chroma = saturation * most, rest = most - chroma, turned = hue * 6, fold = turned;
    while (fold <= 0)
        fold += 2;
    while (fold >= 2)
        fold -= 2;
    float middle = chroma * (1 - fabsf(fold - 1));
    out[0] = out[1] = out[2] = rest;
    if (!(turned >= 0 && turned < 6))
        return;
    out[order[(int)turned][0]] = chroma + rest;
    out[order[(int)turned][1]] = middle + rest;
}

static void saturate_all(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    for (int64_t i = first; i < last; i++)
        saturate(work->in + 3 * i, work->by, work->out + 3 * i);
}

// The sum of a picture's pixels by halves: `sums` has room for them all, and ends with the sum in its first.
static void sum_pixels(const float *in, int64_t pixels, int64_t channels, float *sums) {
    const float *from = in;
    for (int64_t left = pixels; from == in || left > 1;) {
        int64_t right = left / 2, kept = left - right;
        for (int64_t i = 0; i < right * channels; i++)
            sums[i] = from[i + kept * channels] + from[i];
        if (from == in && kept > right)
            memcpy(sums + right * channels, in + right * channels, (size_t)channels * sizeof *in);
        from = sums;
        left = kept;
    }
}

static void contrast_pictures(void *arg, int64_t first, int64_t last) {
    enum { PATTERN = 240 };  // means, repeated: most numbers of channels go into it
    const Work *work = arg;
    int64_t n = work->pixels * work->channels, step = work->channels;
    float share = 1.0f / (float)work->pixels, pattern[PATTERN];
    for (int64_t i = first; i < last; i++) {
        const float *in = work->in + i * n;
        float *out = work->out + i * n;
        sum_pixels(in, work->pixels, work->channels, out);
        for (int64_t c = 0; c < step; c++)
            out[c] *= share;
        int64_t wide = step <= PATTERN ? PATTERN / step * step : 0;
        for (int64_t j = 0; j < wide; j++)
            pattern[j] = out[j % step];
        int64_t j = n;  // from behind: the means stand in the first pixel
        for (; wide && j > wide; j -= wide)
            for (int64_t c = 0; c < wide; c++)
                out[j - wide + c] = pattern[c] + work->by * (in[j - wide + c] - pattern[c]);
        for (; j > 0; j -= step)
            for (int64_t c = 0; c < step; c++)
                out[j - step + c] = out[c] + work->by * (in[j - step + c] - out[c]);
    }
}

static Status *adjust(Kernel *k, int64_t units, int64_t cost, void (*fn)(void *arg, int64_t first, int64_t last)) {
    const Adjusting *own = k->own;
    if (!tensor_count(k->out[0]))
        return OK;
    Work work = {stage_load(&own->in, k, k->in[0]->data), stage_target(&own->out, k, k->out[0]->data),
                 *(const float *)k->in[1]->data, own->pixels, own->channels};
    kernel_parallel(k, units, cost, fn, &work);
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

static Status *hue_run(Kernel *k) {
    return adjust(k, tensor_count(k->in[0]) / 3, 10, turn_hues);
}
static Status *saturation_run(Kernel *k) {
    return adjust(k, tensor_count(k->in[0]) / 3, 15, saturate_all);
}
static Status *contrast_run(Kernel *k) {
    const Adjusting *own = k->own;
    return adjust(k, own->pictures, max_i64(1, own->pixels * own->channels), contrast_pictures);
}

#define ADJUSTS \
    .shape = shape_unchanged, .prepare = adjust_prepare, .own_size = sizeof(Adjusting), .flags = OP_NO_GRADIENT

const Op op_AdjustHue = {
    .signature = "AdjustHue(images: T, delta: float) -> output: T; T: {half, float} = float",
    .doc = "Colours turned by a part of the circle.", .needs = "rank(images) >= 3, scalar(delta), dim(images, -1) == 3",
    .cpu = ANY_TYPE(hue_run), ADJUSTS,
};
const Op op_AdjustSaturation = {
    .signature = "AdjustSaturation(images: T, scale: float) -> output: T; T: {half, float} = float",
    .doc = "Colours whose saturation is multiplied.", .needs = "rank(images) >= 3, scalar(scale), dim(images, -1) == 3",
    .cpu = ANY_TYPE(saturation_run), ADJUSTS,
};
const Op op_AdjustContrastv2 = {
    .signature = "AdjustContrastv2(images: T, contrast_factor: float) -> output: T; T: {half, float} = float",
    .doc = "Pictures whose distance from their mean, by channel, is multiplied.",
    .needs = "rank(images) >= 3, scalar(contrast_factor)", .cpu = ANY_TYPE(contrast_run), ADJUSTS,
};
#endif
