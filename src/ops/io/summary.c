// Summaries — values as serialised Summary messages, for event files.
#include "file/summary.h"
#include "ops/string/strings.h"
#include "proto/tensor_proto.h"

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
                                    .simple_value = (float)summary_number(k->in[1], i)};
    return put_summary(k, values, (size_t)n);
}

const Op op_ScalarSummary = {
    .signature = "ScalarSummary(tags: string, values: T) -> summary: string; T: reals",
    .doc = "A Summary with each value under its tag.", .shape = shape_scalar, .cpu = ANY_TYPE(scalar_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- HistogramSummary

static Status *histogram_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value value;
    TRY(summary_histogram(&arena, string_at(k->in[0], 0), k->in[1], &value));
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

// ---------------------------------------- TensorSummary

static Status *tensor_v1_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value value;
    TRY(summary_tensor(&arena, STR(""), k->in[0], NULL, &value));
    value.node_name = k->node->name;
    return put_summary(k, &value, 1);
}

const Op op_TensorSummary = {
    .signature = "TensorSummary(tensor: T) -> summary: string; T: type; description: string = \"\"; labels: list(string) = []; "
                 "display_name: string = \"\"",
    .doc = "A Summary with a tensor under the name of the node.", .shape = shape_scalar, .cpu = ANY_TYPE(tensor_v1_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- AudioSummary

typedef struct {
    int64_t most;
    float rate;
} Audio;

static Status *audio_prepare(Prepare *p) {
    Audio *own = p->own;
    own->most = node_int(p->node, "max_outputs");
    own->rate = node_attr_find(p->node, "sample_rate") ? node_float(p->node, "sample_rate") : 0;
    return OK;
}

static Status *audio_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    const Audio *own = k->own;
    Summary_Value *values;
    size_t n;
    float rate = k->n_in > 2 ? *(const float *)k->in[2]->data : own->rate;
    TRY(summary_audio(&arena, string_at(k->in[0], 0), k->in[1], rate, own->most, &values, &n));
    return put_summary(k, values, n);
}

const Op op_AudioSummary = {
    .signature = "AudioSummary(tag: string, tensor: float) -> summary: string; sample_rate: float; max_outputs: int >= 1 = 3; "
                 "deprecated(15, \"use AudioSummaryV2\")",
    .doc = "A Summary with sounds as WAV files.", .needs = "scalar(tag)", .shape = shape_scalar,
    .prepare = audio_prepare, .own_size = sizeof(Audio), .cpu = ANY_TYPE(audio_run), .flags = OP_NO_GRADIENT,
};

const Op op_AudioSummaryV2 = {
    .signature = "AudioSummaryV2(tag: string, tensor: float, sample_rate: float) -> summary: string; max_outputs: int >= 1 = 3",
    .doc = "A Summary with sounds as WAV files.", .needs = "scalar(tag), scalar(sample_rate)", .shape = shape_scalar,
    .prepare = audio_prepare, .own_size = sizeof(Audio), .cpu = ANY_TYPE(audio_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- ImageSummary

typedef struct {
    int64_t most;
    const Tensor *bad;    // the colour of what is no number
} Pictures;

static Status *picture_prepare(Prepare *p) {
    Pictures *own = p->own;
    own->most = node_int(p->node, "max_images");
    own->bad = node_attr_find(p->node, "bad_color")->tensor;
    return OK;
}

static Status *picture_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    const Pictures *own = k->own;
    Summary_Value *values;
    size_t n;
    TRY(summary_pictures(&arena, string_at(k->in[0], 0), k->in[1], own->bad, own->most, &values, &n));
    return put_summary(k, values, n);
}

const Op op_ImageSummary = {
    .signature = "ImageSummary(tag: string, tensor: T) -> summary: string; max_images: int >= 1 = 3; T: {uint8, float, half, "
                 "double} = float; bad_color: tensor = uint8[4] {255, 0, 0, 255}",
    .doc = "A Summary with pictures as PNG files.", .needs = "scalar(tag)", .shape = shape_scalar,
    .prepare = picture_prepare, .own_size = sizeof(Pictures), .cpu = ANY_TYPE(picture_run), .flags = OP_NO_GRADIENT,
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
