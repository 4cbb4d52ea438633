// Summary — see summary.h: the values of TensorBoard's summaries: numbers, histograms with TensorFlow's buckets,
// pictures.
#include "file/summary.h"

#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "proto/tensor_proto.h"
#include "tensor/dtype.h"

double summary_number(const Tensor *t, int64_t i) {
#define OF(dtype, Type) case dtype: return (double)((const Type *)t->data)[i];
    switch (t->dtype) {
    case DT_half: return half_to_float(((const Half *)t->data)[i]);
    case DT_bfloat16: return bfloat16_to_float(((const Bfloat16 *)t->data)[i]);
    OF(DT_float, float) OF(DT_double, double) OF(DT_int8, int8_t) OF(DT_int16, int16_t) OF(DT_int32, int32_t)
    OF(DT_int64, int64_t) OF(DT_uint8, uint8_t) OF(DT_uint16, uint16_t) OF(DT_uint32, uint32_t)
    OF(DT_uint64, uint64_t) OF(DT_bool, bool)
    default: return NAN;
    }
#undef OF
}

Status *summary_scalar(Str tag, const Tensor *value, Summary_Value *out) {
    NEED(tensor_count(value) == 1 && dtype_is_plain(value->dtype) && !dtype_is_complex(value->dtype), INVALID_ARGUMENT,
         "%.*s: %s%s is not one number", STR_ARGS(tag), dtype_name(value->dtype), shape_text(&value->shape));
    *out = (Summary_Value){.tag = tag, .which = Summary_Value_simple_value,
                           .simple_value = (float)summary_number(value, 0)};
    return OK;
}

// ---------------------------------------- histograms

// Bucket limits are 1e-12 · 1.1^i below 1e20, then the largest number; the same below zero; and zero.
enum { MOST_POSITIVE = 1000 };

typedef struct {
    double limits[2 * MOST_POSITIVE + 1], counts[2 * MOST_POSITIVE + 1];
    size_t n;
} Buckets;

static void buckets_init(Buckets *buckets) {
    double positive[MOST_POSITIVE];
    size_t n = 0;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
        positive[n++] = limit;
    positive[n++] = DBL_MAX;
    for (size_t i = 0; i < n; i++) {
        buckets->limits[i] = -positive[n - 1 - i];
        buckets->limits[n + 1 + i] = positive[i];
    }
    buckets->limits[n] = 0;
    buckets->n = 2 * n + 1;
}

// A value belongs to the first bucket whose limit is above it.
static void buckets_add(Buckets *buckets, double value) {
    size_t low = 0, high = buckets->n - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (buckets->limits[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    buckets->counts[low]++;
}

// Empty buckets in a row become one; `limits` and `counts` are overwritten by what is told. How many there are.
static size_t buckets_shorten(Buckets *buckets) {
    size_t n = 0;
    for (size_t i = 0; i < buckets->n; n++) {
        double limit = buckets->limits[i], count = buckets->counts[i];
        i++;
        while (count <= 0 && i < buckets->n && buckets->counts[i] <= 0)
            limit = buckets->limits[i++];
        buckets->limits[n] = limit;
        buckets->counts[n] = count;
    }
    return n;
}

Status *summary_histogram(Arena *arena, Str tag, const Tensor *values, Summary_Value *out) {
    Buckets *buckets = ARENA_NEW(arena, Buckets);
    HistogramProto *histogram = ARENA_NEW(arena, HistogramProto);
    NEED_MEMORY(buckets && histogram);
    buckets_init(buckets);
    *histogram = (HistogramProto){.min = DBL_MAX, .max = -DBL_MAX, .num = (double)tensor_count(values)};
    for (int64_t i = 0, n = tensor_count(values); i < n; i++) {
        double value = summary_number(values, i);
        NEED(!isnan(value), INVALID_ARGUMENT, "Nan in summary histogram for: %.*s", STR_ARGS(tag));
        NEED(!isinf(value), INVALID_ARGUMENT, "Infinity in summary histogram for: %.*s", STR_ARGS(tag));
        buckets_add(buckets, value);
        histogram->min = fmin(histogram->min, value);
        histogram->max = fmax(histogram->max, value);
        histogram->sum += value;
        histogram->sum_squares += value * value;
    }
    histogram->bucket_limit.p = buckets->limits;
    histogram->bucket.p = buckets->counts;
    histogram->bucket_limit.n = histogram->bucket.n = buckets_shorten(buckets);
    *out = (Summary_Value){.tag = tag, .which = Summary_Value_histo, .histo = histogram};
    return OK;
}

// ---------------------------------------- tensors

Status *summary_tensor(Arena *arena, Str tag, const Tensor *tensor, SummaryMetadataProto *metadata,
                       Summary_Value *out) {
    Summary_Value value = {.tag = tag, .which = Summary_Value_tensor, .metadata = metadata};
    TRY(tensor_to_proto(arena, tensor, &value.tensor));
    *out = value;
    return OK;
}

Status *summary_text(Arena *arena, Str tag, const Tensor *text, Summary_Value *out) {
    SummaryMetadata_PluginData *plugin = ARENA_NEW(arena, SummaryMetadata_PluginData);
    SummaryMetadataProto *metadata = ARENA_NEW(arena, SummaryMetadataProto);
    NEED_MEMORY(plugin && metadata);
    NEED(text->dtype == DT_string, INVALID_ARGUMENT, "%.*s: a text is of strings, not of %s", STR_ARGS(tag),
         dtype_name(text->dtype));
    *plugin = (SummaryMetadata_PluginData){.plugin_name = STR("text")};
    *metadata = (SummaryMetadataProto){.plugin_data = plugin, .data_class = 2};  // a tensor
    return summary_tensor(arena, tag, text, metadata, out);
}

// ---------------------------------------- sounds

static int16_t sample_of(float value) {
    float scaled = roundf(value * 32768);
    return scaled >= 32767 ? 32767 : scaled >= -32768 ? (int16_t)scaled : -32768;  // a NaN is the lowest, too
}

static void put16(char **p, uint32_t value) {
    *(*p)++ = (char)value;
    *(*p)++ = (char)(value >> 8);
}

static void put32(char **p, uint32_t value) {
    put16(p, value & 0xffff);
    put16(p, value >> 16);
}

static void put_text(char **p, const char *text) {
    while (*text)
        *(*p)++ = *text++;
}

enum { WAV_HEAD = 44 };

static Status *encode_wav(Arena *arena, const float *samples, int64_t frames, int64_t channels, uint32_t rate,
                          Str *out) {
    int64_t n;
    NEED(channels <= UINT16_MAX && mul_i64(frames, channels, &n) && n <= (UINT32_MAX - WAV_HEAD) / 2, INVALID_ARGUMENT,
         "a WAV file holds no %lld frames of %lld channels", (long long)frames, (long long)channels);
    size_t bytes = WAV_HEAD + (size_t)n * 2;
    char *file = arena_alloc(arena, bytes), *p = file;
    NEED_MEMORY(file);
    put_text(&p, "RIFF");
    put32(&p, (uint32_t)bytes - 8);
    put_text(&p, "WAVEfmt ");
    put32(&p, 16);
    put16(&p, 1);
    put16(&p, (uint32_t)channels);
    put32(&p, rate);
    put32(&p, rate * (uint32_t)channels * 2);
    put16(&p, (uint32_t)channels * 2);
    put16(&p, 16);
    put_text(&p, "data");
    put32(&p, (uint32_t)n * 2);
    for (int64_t i = 0; i < n; i++)
        put16(&p, (uint16_t)sample_of(samples[i]));
    *out = (Str){file, bytes};
    return OK;
}

Status *summary_audio(Arena *arena, Str tag, const Tensor *sounds, float rate, int64_t most, Summary_Value **out,
                      size_t *out_n) {
    const Shape *shape = &sounds->shape;
    NEED((shape->rank == 2 || shape->rank == 3) && sounds->dtype == DT_float, INVALID_ARGUMENT,
         "Tensor must be 3-D or 2-D, got: %s", shape_text(shape));
    NEED(rate > 0 && rate < 4e9f, INVALID_ARGUMENT, "sample_rate must be > 0");
    int64_t n = shape->dims[0] < most ? shape->dims[0] : most;
    int64_t frames = shape->dims[1], channels = shape->rank == 3 ? shape->dims[2] : 1;
    Summary_Value *values = ARENA_ARRAY(arena, Summary_Value, n + 1);
    Summary_Audio *audio = ARENA_ARRAY(arena, Summary_Audio, n + 1);
    NEED_MEMORY(values && audio);
    for (int64_t i = 0; i < n; i++) {
        audio[i] = (Summary_Audio){.sample_rate = rate, .num_channels = channels, .length_frames = frames,
                                   .content_type = STR("audio/wav")};
        TRY(encode_wav(arena, (const float *)sounds->data + i * frames * channels, frames, channels, (uint32_t)rate,
                       &audio[i].encoded_audio_string));
        Str name = most > 1 ? str_format(arena, "%.*s/audio/%lld", STR_ARGS(tag), (long long)i)
                            : str_format(arena, "%.*s/audio", STR_ARGS(tag));
        NEED_MEMORY(name.p);
        values[i] = (Summary_Value){.tag = name, .which = Summary_Value_audio, .audio = &audio[i]};
    }
    *out = values;
    *out_n = (size_t)n;
    return OK;
}

// ---------------------------------------- pictures

Status *summary_image(Arena *arena, Str tag, Str encoded, int64_t height, int64_t width, int channels,
                      Summary_Value *out) {
    Summary_Image *image = ARENA_NEW(arena, Summary_Image);
    NEED_MEMORY(image);
    NEED(height > 0 && width > 0 && height <= INT32_MAX && width <= INT32_MAX && channels >= 1 && channels <= 4,
         INVALID_ARGUMENT, "%.*s: a picture of %lld x %lld and %d channels", STR_ARGS(tag), (long long)height,
         (long long)width, channels);
    *image = (Summary_Image){.height = (int32_t)height, .width = (int32_t)width, .colorspace = channels,
                             .encoded_image_string = encoded};
    *out = (Summary_Value){.tag = tag, .which = Summary_Value_image, .image = image};
    return OK;
}
