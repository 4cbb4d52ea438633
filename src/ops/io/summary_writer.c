// Summary writers — event files as resources: made by name, written to by ops, closed.
#include "file/event_writer.h"
#include "file/summary.h"
#include "ops/string/strings.h"
#include "resource/handle.h"

typedef struct {
    Resource resource;
    EventWriter *events;
} SummaryWriter;

static void writer_clear(Resource *resource) {
    event_writer_free(((SummaryWriter *)resource)->events);
}

static const ResourceType summary_writer_type = {.name = "tensorflow::SummaryWriterInterface", .size = sizeof(SummaryWriter),
                                                 .clear = writer_clear};

// ---------------------------------------- the handle

typedef struct {
    Tensor handle;
} WriterNode;

static Status *writer_open(Opening *o) {
    Str name = node_str(o->node, "shared_name");
    return handle_tensor_named(node_str(o->node, "container"), name.n ? name : o->name,
                               str_of(summary_writer_type.name), kernel_device_name(o->node), DT_INVALID,
                               (Shape){.rank = UNKNOWN_RANK}, &((WriterNode *)o->state)->handle);
}

static void writer_close(void *state) {
    tensor_clear(&((WriterNode *)state)->handle);
}

static Status *writer_run(Kernel *k) {
    const WriterNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a summary writer needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

const Op op_SummaryWriter = {
    .signature = "SummaryWriter() -> writer: resource; shared_name: string = \"\"; container: string = \"\"; stateful",
    .doc = "The name of an event file that CreateSummaryFileWriter makes.", .shape = shape_scalar,
    .cpu = ANY_TYPE(writer_run), .open = writer_open, .close = writer_close, .state_size = sizeof(WriterNode),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- making and closing

static Status *create(void *arg, Resource **out) {
    const Kernel *k = arg;
    AUTO(resource) Resource *resource = NULL;
    EventWriterOptions options = {.most = *(const int32_t *)k->in[2]->data, .flush_ms = *(const int32_t *)k->in[3]->data,
                                  .suffix = string_at(k->in[4], 0)};
    TRY(resource_new(&summary_writer_type, &resource));
    TRY(event_writer_new(string_at(k->in[1], 0), &options, &((SummaryWriter *)resource)->events));
    *out = resource_retain(resource);
    return OK;
}

static Status *create_run(Kernel *k) {
    const Handle *handle;
    AUTO(resource) Resource *resource = NULL;
    TRY(handle_get(k->in[0], 0, &handle));
    return resource_find_or_create(k->step->resources, handle->container, handle->name, &summary_writer_type, create, k,
                                   &resource);
}

const Op op_CreateSummaryFileWriter = {
    .signature = "CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, "
                 "filename_suffix: string); stateful",
    .doc = "Makes the event file, in that directory, if the writer has none yet.",
    .needs = "scalar(logdir), scalar(max_queue), scalar(flush_millis), scalar(filename_suffix)", .shape = shape_none,
    .cpu = ANY_TYPE(create_run), .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

static Status *find_writer(Kernel *k, Resource **out) {
    return kernel_resource(k, 0, &summary_writer_type, out);
}

static Status *flush_run(Kernel *k) {
    AUTO(resource) Resource *writer = NULL;
    TRY(find_writer(k, &writer));
    return event_writer_flush(((SummaryWriter *)writer)->events);
}

const Op op_FlushSummaryWriter = {
    .signature = "FlushSummaryWriter(writer: resource); stateful", .doc = "Writes what was gathered.",
    .shape = shape_none, .cpu = ANY_TYPE(flush_run), .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

static Status *close_run(Kernel *k) {
    AUTO(resource) Resource *writer = NULL;
    TRY(find_writer(k, &writer));
    return resource_remove(k->step->resources, writer);
}

const Op op_CloseSummaryWriter = {
    .signature = "CloseSummaryWriter(writer: resource); stateful",
    .doc = "Writes what was gathered, and lets go of the event file.", .shape = shape_none, .cpu = ANY_TYPE(close_run),
    .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

// ---------------------------------------- writing

static Status *write_values(Kernel *k, Summary_Value *values, size_t n) {
    AUTO(resource) Resource *writer = NULL;
    TRY(find_writer(k, &writer));
    return event_writer_summary(((SummaryWriter *)writer)->events, tensor_int(k->in[1], 0), values, n);
}

#define WRITES .shape = shape_none, .flags = OP_BLOCKS | OP_NO_GRADIENT

static Status *write_scalar_run(Kernel *k) {
    Summary_Value value;
    TRY(summary_scalar(string_at(k->in[2], 0), k->in[3], &value));
    return write_values(k, &value, 1);
}

const Op op_WriteScalarSummary = {
    .signature = "WriteScalarSummary(writer: resource, step: int64, tag: string, value: T); T: {float, double, int32, uint8, "
                 "int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; stateful",
    .doc = "Writes a number under its tag.", .needs = "scalar(step), scalar(tag), scalar(value)",
    .cpu = ANY_TYPE(write_scalar_run), WRITES,
};

static Status *write_histogram_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value value;
    TRY(summary_histogram(&arena, string_at(k->in[2], 0), k->in[3], &value));
    return write_values(k, &value, 1);
}

const Op op_WriteHistogramSummary = {
    .signature = "WriteHistogramSummary(writer: resource, step: int64, tag: string, values: T); T: {float, double, int32, "
                 "uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool} = float; stateful",
    .doc = "Writes how often values of each size occur.", .needs = "scalar(step), scalar(tag)",
    .cpu = ANY_TYPE(write_histogram_run), WRITES,
};

static Status *write_tensor_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value value;
    SummaryMetadataProto *metadata = NULL;
    Str bytes = string_at(k->in[4], 0);
    if (bytes.n)
        TRY(PROTO_DECODE(SummaryMetadataProto, &arena, bytes, &metadata));
    TRY(summary_tensor(&arena, string_at(k->in[3], 0), k->in[2], metadata, &value));
    return write_values(k, &value, 1);
}

const Op op_WriteSummary = {
    .signature = "WriteSummary(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string); T: type; "
                 "stateful",
    .doc = "Writes a tensor and what is to be done with it.",
    .needs = "scalar(step), scalar(tag), scalar(summary_metadata)", .cpu = ANY_TYPE(write_tensor_run), WRITES,
};

static Status *write_proto_run(Kernel *k) {
    AUTO(text) Text bytes = {0};
    AUTO(arena) Arena arena = {0};
    SummaryProto *summary;
    for (int64_t i = 0, n = tensor_count(k->in[2]); i < n; i++) {
        Str part = string_at(k->in[2], i);
        Status *status = PROTO_DECODE(SummaryProto, &arena, part, &summary);
        TRY(status_prefix(status_with_code(status, DATA_LOSS),
                          "Bad tf.compat.v1.Summary binary proto tensor string at index %lld", (long long)i));
        text_add(&bytes, part);  // messages one behind the other are their union
    }
    NEED_MEMORY(!bytes.failed);
    TRY(PROTO_DECODE(SummaryProto, &arena, text_str(&bytes), &summary));
    return write_values(k, summary->value.p, summary->value.n);
}

const Op op_WriteRawProtoSummary = {
    .signature = "WriteRawProtoSummary(writer: resource, step: int64, tensor: string); stateful",
    .doc = "Writes serialized Summaries as one.", .needs = "scalar(step)", .cpu = ANY_TYPE(write_proto_run), WRITES,
};

static Status *write_graph_run(Kernel *k) {
    AUTO(resource) Resource *writer = NULL;
    AUTO(arena) Arena arena = {0};
    Str bytes = string_at(k->in[2], 0);
    GraphDef *graph;
    Status *status = PROTO_DECODE(GraphDef, &arena, bytes, &graph);
    TRY(status_prefix(status_with_code(status, DATA_LOSS), "Bad tf.GraphDef binary proto scalar string"));
    TRY(find_writer(k, &writer));
    EventProto event = {.step = tensor_int(k->in[1], 0), .which = EventProto_graph_def, .graph_def = bytes};
    return event_writer_add(((SummaryWriter *)writer)->events, &event);
}

const Op op_WriteGraphSummary = {
    .signature = "WriteGraphSummary(writer: resource, step: int64, tensor: string); stateful",
    .doc = "Writes a serialized graph.", .needs = "scalar(step), scalar(tensor)", .cpu = ANY_TYPE(write_graph_run), WRITES,
};

typedef struct {
    int64_t most;
} Most;

static Status *write_audio_prepare(Prepare *p) {
    ((Most *)p->own)->most = node_int(p->node, "max_outputs");
    return OK;
}

static Status *write_audio_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value *values;
    size_t n;
    TRY(summary_audio(&arena, string_at(k->in[2], 0), k->in[3], *(const float *)k->in[4]->data,
                      ((const Most *)k->own)->most, &values, &n));
    return write_values(k, values, n);
}

const Op op_WriteAudioSummary = {
    .signature = "WriteAudioSummary(writer: resource, step: int64, tag: string, tensor: float, sample_rate: float); "
                 "max_outputs: int >= 1 = 3; stateful",
    .doc = "Writes sounds as WAV files.", .needs = "scalar(step), scalar(tag), scalar(sample_rate)",
    .prepare = write_audio_prepare, .own_size = sizeof(Most), .cpu = ANY_TYPE(write_audio_run), WRITES,
};

static Status *write_image_prepare(Prepare *p) {
    ((Most *)p->own)->most = node_int(p->node, "max_images");
    return OK;
}

static Status *write_image_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Summary_Value *values;
    size_t n;
    TRY(summary_pictures(&arena, string_at(k->in[2], 0), k->in[3], k->in[4], ((const Most *)k->own)->most, &values, &n));
    return write_values(k, values, n);
}

const Op op_WriteImageSummary = {
    .signature = "WriteImageSummary(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8); max_images: int "
                 ">= 1 = 3; T: {uint8, double, float, half} = float; stateful",
    .doc = "Writes pictures as PNG files.", .needs = "scalar(step), scalar(tag)", .prepare = write_image_prepare,
    .own_size = sizeof(Most), .cpu = ANY_TYPE(write_image_run), WRITES,
};
