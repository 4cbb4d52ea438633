// Summary pictures — see summary_pictures in summary.h: tensors brought to bytes, and these to PNG files.
//
// Numbers are scaled in their own type, as TensorFlow does: half rounds at each step.
#include <float.h>
#include <math.h>

#include "file/png.h"
#include "file/summary.h"

typedef struct {
    DType dtype;
    double scale, offset;
} Scaling;

static bool is_finite(const Tensor *pictures, int64_t at, int64_t depth) {
    bool finite = true;
    for (int64_t c = 0; c < depth; c++)
        finite &= isfinite(summary_number(pictures, at + c)) != 0;
    return finite;
}

// From 0 to the largest where nothing is negative; else around the middle. Pixels that are not finite don't count.
static Scaling scaling_of(const Tensor *pictures, int64_t first, int64_t pixels, int64_t depth) {
    float least = INFINITY, most = -INFINITY;
    for (int64_t i = first; i < first + pixels * depth; i += depth)
        for (int64_t c = 0; c < depth && (c || is_finite(pictures, i, depth)); c++) {
            float value = (float)summary_number(pictures, i + c);
            least = fminf(least, value);
            most = fmaxf(most, value);
        }
    bool centred = least < 0;
    float wide = centred ? fmaxf(fabsf(least), fabsf(most)) : most;
    float scale = wide < 1e-6f ? 0 : (centred ? 127.0f : 255.0f) / wide;
    if (pictures->dtype == DT_half)
        scale = half_to_float(half_from_float(scale));
    return (Scaling){pictures->dtype, (double)scale, centred ? 128 : 0};
}

static uint8_t byte_of(const Scaling *scaling, double value) {
    if (scaling->dtype == DT_half) {
        float scaled = half_to_float(half_from_float((float)value * (float)scaling->scale));
        value = (double)half_to_float(half_from_float(scaled + (float)scaling->offset));
    } else if (scaling->dtype == DT_float) {
        value = (double)((float)value * (float)scaling->scale + (float)scaling->offset);
    } else {
        value = value * scaling->scale + scaling->offset;
    }
    return value >= 255 ? 255 : value > 0 ? (uint8_t)value : 0;
}

static void bytes_of(const Tensor *pictures, int64_t first, int64_t pixels, int64_t depth, const uint8_t *bad, uint8_t *out) {
    Scaling scaling = scaling_of(pictures, first, pixels, depth);
    for (int64_t i = first; i < first + pixels * depth; i += depth, out += depth) {
        bool finite = is_finite(pictures, i, depth);
        for (int64_t c = 0; c < depth; c++)
            out[c] = finite ? byte_of(&scaling, summary_number(pictures, i + c)) : bad[c];
    }
}

static Status *check_pictures(const Tensor *pictures, const Tensor *bad) {
    const Shape *shape = &pictures->shape;
    bool good = shape->rank == 4 && (shape->dims[3] == 1 || shape->dims[3] == 3 || shape->dims[3] == 4);
    NEED(good, INVALID_ARGUMENT, "Tensor must be 4-D with last dim 1, 3, or 4, not %s", shape_text(shape));
    int64_t pixels;
    NEED(mul_i64(shape->dims[1], shape->dims[2], &pixels) && pixels < 1 << 29 && shape->dims[0] < INT32_MAX,
         INVALID_ARGUMENT, "Tensor too large for summary %s", shape_text(shape));
    NEED(pixels > 0 || !shape->dims[0], INVALID_ARGUMENT, "pictures without pixels: %s", shape_text(shape));
    NEED(bad->dtype == DT_uint8 && bad->shape.rank == 1, INVALID_ARGUMENT, "bad_color must be a vector of uint8, got %s %s",
         dtype_name(bad->dtype), shape_text(&bad->shape));
    NEED(pictures->dtype == DT_uint8 || bad->shape.dims[0] >= shape->dims[3], INVALID_ARGUMENT,
         "expected depth <= bad_color.size, got depth = %lld, bad_color.size = %lld", (long long)shape->dims[3],
         (long long)bad->shape.dims[0]);
    return OK;
}

Status *summary_pictures(Arena *arena, Str tag, const Tensor *pictures, const Tensor *bad, int64_t most,
                         Summary_Value **out, size_t *out_n) {
    TRY(check_pictures(pictures, bad));
    const int64_t *dims = pictures->shape.dims;
    PictureShape shape = {1, dims[1], dims[2], dims[3]};
    int64_t n = min_i64(dims[0], most), size = dims[1] * dims[2] * dims[3];
    Summary_Value *values = ARENA_ARRAY(arena, Summary_Value, n + 1);
    uint8_t *bytes = arena_alloc(arena, (size_t)size);
    NEED_MEMORY(values && bytes);
    for (int64_t i = 0; i < n; i++) {
        AUTO(text) Text file = {0};
        const uint8_t *samples = bytes;
        if (pictures->dtype == DT_uint8)
            samples = (const uint8_t *)pictures->data + i * size;
        else
            bytes_of(pictures, i * size, dims[1] * dims[2], dims[3], bad->data, bytes);
        TRY(png_encode(samples, shape, 8, -1, &file));
        Str encoded = str_copy(arena, text_str(&file));
        Str name = most > 1 ? str_format(arena, "%.*s/image/%lld", STR_ARGS(tag), (long long)i)
                            : str_format(arena, "%.*s/image", STR_ARGS(tag));
        NEED_MEMORY(!file.failed && encoded.p && name.p);
        TRY(summary_image(arena, name, encoded, dims[1], dims[2], (int)dims[3], &values[i]));
    }
    *out = values;
    *out_n = (size_t)n;
    return OK;
}
