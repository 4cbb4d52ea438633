// Summaries — values as serialised Summary messages, for event files.
#include <float.h>
#include <math.h>

#include "base/number.h"
#include "ops/string/strings.h"
#include "proto/tensor_proto.h"

static double number_at(const Tensor *t, int64_t i) {
#define OF(dtype, Type) case dtype: return (double)((const Type *)t->data)[i];
    switch (t->dtype) {
    case DT_half: return half_to_float(((const Half *)t->data)[i]);
    case DT_bfloat16: return bfloat16_to_float(((const Bfloat16 *)t->data)[i]);
    OF(DT_float, float) OF(DT_double, double) OF(DT_int8, int8_t) OF(DT_int16, int16_t) OF(DT_int32, int32_t)
    OF(DT_int64, int64_t) OF(DT_uint8, uint8_t) OF(DT_uint16, uint16_t) OF(DT_uint32, uint32_t)
    OF(DT_uint64, uint64_t)
    default: return NAN;
    }
#undef OF
}

static Status *put_summary(Kernel *k, Summary_Value *values, size_t n) {
    AUTO(text) Text text = {0};
    SummaryProto summary = {0};
    summary.value.p = values;
    summary.value.n = n;
    TRY(proto_encode(&message_SummaryProto, &summary, &text));
    return string_put_text(k->out[0], 0, &text);
}

// ---------------------------------------- ScalarSummary

static Status *scalar_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    int64_t n = tensor_count(k->in[0]);
    NEED(shape_equal(&k->in[0]->shape, &k->in[1]->shape), INVALID_ARGUMENT,
         "tags and values are not the same shape: %s != %s", shape_text(&k->in[0]->shape),
         shape_text(&k->in[1]->shape));
    Summary_Value *values = ARENA_ARRAY(&arena, Summary_Value, n);
    NEED_MEMORY(values || !n);
    for (int64_t i = 0; i < n; i++)
        values[i] = (Summary_Value){.tag = string_at(k->in[0], i), .which = Summary_Value_simple_value,
                                    .simple_value = (float)number_at(k->in[1], i)};
    return put_summary(k, values, (size_t)n);
}

const Op op_ScalarSummary = {
    .signature = "ScalarSummary(tags: string, values: T) -> summary: string; T: reals",
    .doc = "A Summary with each value under its tag.", .shape = shape_scalar, .cpu = ANY_TYPE(scalar_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- HistogramSummary

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

static Status *count_values(const Tensor *values, Str tag, Buckets *buckets, HistogramProto *out) {
    buckets_init(buckets);
    *out = (HistogramProto){.min = DBL_MAX, .max = -DBL_MAX, .num = (double)tensor_count(values)};
    for (int64_t i = 0, n = tensor_count(values); i < n; i++) {
        double value = number_at(values, i);
        NEED(!isnan(value), INVALID_ARGUMENT, "Nan in summary histogram for: %.*s", STR_ARGS(tag));
        NEED(!isinf(value), INVALID_ARGUMENT, "Infinity in summary histogram for: %.*s", STR_ARGS(tag));
        buckets_add(buckets, value);
        out->min = fmin(out->min, value);
        out->max = fmax(out->max, value);
        out->sum += value;
        out->sum_squares += value * value;
    }
    out->bucket_limit.p = buckets->limits;
    out->bucket.p = buckets->counts;
    out->bucket_limit.n = out->bucket.n = buckets_shorten(buckets);
    return OK;
}

static Status *histogram_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    HistogramProto histogram;
    Str tag = string_at(k->in[0], 0);
    Buckets *buckets = ARENA_NEW(&arena, Buckets);
    NEED_MEMORY(buckets);
    TRY(count_values(k->in[1], tag, buckets, &histogram));
    Summary_Value value = {.tag = tag, .which = Summary_Value_histo, .histo = &histogram};
    return put_summary(k, &value, 1);
}

const Op op_HistogramSummary = {
    .signature = "HistogramSummary(tag: string, values: T) -> summary: string; T: reals = float",
    .doc = "A Summary with how often values of each size occur.", .needs = "scalar(tag)", .shape = shape_scalar,
    .cpu = ANY_TYPE(histogram_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- TensorSummaryV2

static Status *tensor_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value value = {.tag = string_at(k->in[0], 0), .which = Summary_Value_tensor};
    TRY(tensor_to_proto(&arena, k->in[1], &value.tensor));
    TRY(PROTO_DECODE(SummaryMetadataProto, &arena, string_at(k->in[2], 0), &value.metadata));
    return put_summary(k, &value, 1);
}

const Op op_TensorSummaryV2 = {
    .signature = "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> summary: string; "
                 "T: type",
    .doc = "A Summary with a tensor and what is to be done with it.",
    .needs = "scalar(tag), scalar(serialized_summary_metadata)", .shape = shape_scalar, .cpu = ANY_TYPE(tensor_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- MergeSummary

static Status *merge_one(Str bytes, Arena *arena, Map *seen, Text *out) {
    SummaryProto *summary;
    TRY(status_prefix(PROTO_DECODE(SummaryProto, arena, bytes, &summary), "Could not parse one of the summary inputs"));
    for (size_t i = 0; i < summary->value.n; i++) {
        Str tag = summary->value.p[i].tag;
        if (!tag.n)
            continue;
        NEED(!map_find(seen, tag), INVALID_ARGUMENT, "duplicate tag %.*s found in summary inputs", STR_ARGS(tag));
        NEED_MEMORY(map_set(seen, tag, summary));
    }
    text_add(out, bytes);  // messages one behind the other are their union
    return OK;
}

static Status *merge_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text text = {0};
    Map seen = {0};
    Status *status = OK;
    for (int i = 0; i < k->n_in && !status; i++)
        for (int64_t j = 0; j < tensor_count(k->in[i]) && !status; j++)
            status = merge_one(string_at(k->in[i], j), &arena, &seen, &text);
    map_clear(&seen);
    TRY(status);
    return string_put_text(k->out[0], 0, &text);
}

const Op op_MergeSummary = {
    .signature = "MergeSummary(inputs: N * string) -> summary: string; N: int >= 1",
    .doc = "The values of several Summaries in one; a tag comes once.", .shape = shape_scalar,
    .cpu = ANY_TYPE(merge_run), .flags = OP_NO_GRADIENT,
};
