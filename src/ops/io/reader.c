// Readers — made at their first use; their reads wait for names from a queue without holding a thread.
#include <stdlib.h>

#include "base/vec.h"
#include "ops/io/reader_kinds.h"
#include "ops/op.h"
#include "proto/messages.h"
#include "resource/handle.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} ReaderNode;

typedef struct {
    const ReaderKind *kind;
    ReaderSpec spec;
} Making;

static Status *create(void *arg, Resource **out) {
    const Making *making = arg;
    void *state;
    TRY(reader_kind_state(&making->spec, &state));
    Reader *reader;
    TRY(reader_new(making->kind, state, &reader));
    *out = (Resource *)reader;
    return OK;
}

static Status *make_reader(Opening *o, Making making) {
    ReaderNode *state = o->state;
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name, &reader_type,
                                create, &making, &resource));
    return handle_tensor(resource, kernel_device_name(o->node), DT_INVALID, UNKNOWN_SHAPE, &state->handle);
}

static Status *open_whole_file(Opening *o) {
    return make_reader(o, (Making){.kind = &whole_file_reader});
}

static Status *open_identity(Opening *o) {
    return make_reader(o, (Making){.kind = &identity_reader});
}

static Status *read_size(const Node *node, const char *attr, int64_t *out) {
    int64_t value = node_int(node, attr);
    NEED(value >= 0, INVALID_ARGUMENT, "%s must be >= 0 not %lld", attr, (long long)value);
    *out = value;
    return OK;
}

static Status *open_text_line(Opening *o) {
    Making making = {.kind = &text_line_reader};
    TRY(read_size(o->node, "skip_header_lines", &making.spec.skipped));
    return make_reader(o, making);
}

static Status *open_tf_record(Opening *o) {
    Making making = {.kind = &tf_record_reader};
    TRY(file_coding_find(node_str(o->node, "compression_type"), &making.spec.coding));
    return make_reader(o, making);
}

static Status *open_fixed(Opening *o, Making making) {
    making.kind = &fixed_length_reader;
    TRY(read_size(o->node, "header_bytes", &making.spec.header));
    TRY(read_size(o->node, "record_bytes", &making.spec.record));
    TRY(read_size(o->node, "footer_bytes", &making.spec.footer));
    TRY(read_size(o->node, "hop_bytes", &making.spec.hop));
    return make_reader(o, making);
}

static Status *open_fixed_length(Opening *o) {
    return open_fixed(o, (Making){0});
}

static Status *open_fixed_length_coded(Opening *o) {
    Making making = {0};
    TRY(file_coding_find(node_str(o->node, "encoding"), &making.spec.coding));
    return open_fixed(o, making);
}

static void close_reader(void *state) {
    tensor_clear(&((ReaderNode *)state)->handle);
}

static Status *handle_run(Kernel *k) {
    const ReaderNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a reader needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *reader_handle(const void *state) {
    return &((const ReaderNode *)state)->handle;
}

#define READER(Name, handle, attrs, opens, text)                                                                    \
    const Op op_##Name = {                                                                                          \
        .signature = #Name "() -> reader_handle: " handle "; " attrs, .doc = text, .shape = shape_scalar,           \
        .open = opens, .close = close_reader, .state_size = sizeof(ReaderNode), .value = reader_handle,             \
        .cpu = ANY_TYPE(handle_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,                         \
    };
#define READERS(Name, attrs, more, deprecated, opens, more_opens, text)              \
    READER(Name, "ref string", attrs "; stateful" deprecated, opens, text)           \
    READER(Name##V2, "resource", attrs more "; stateful", more_opens, text)
#define NAMES "container: string = \"\"; shared_name: string = \"\""
#define SINCE_26(Name) "; deprecated(26, \"use " #Name "V2\")"
READERS(WholeFileReader, NAMES, "", "", open_whole_file, open_whole_file,
        "A reader of whole files: the key is the file's name, the value its bytes.")
READERS(IdentityReader, NAMES, "", SINCE_26(IdentityReader), open_identity, open_identity,
        "A reader whose keys and values are the strings of the queue.")
READERS(TextLineReader, "skip_header_lines: int = 0; " NAMES, "", SINCE_26(TextLineReader), open_text_line,
        open_text_line, "A reader of lines: the key is the file's name and the line's number.")
READERS(TFRecordReader, NAMES "; compression_type: string = \"\"", "", SINCE_26(TFRecordReader), open_tf_record,
        open_tf_record, "A reader of the records of TFRecord files: the key is the file's name and the record's place.")
READERS(FixedLengthRecordReader, "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; "
        NAMES, "; encoding: string = \"\"", SINCE_26(FixedLengthRecordReader), open_fixed_length,
        open_fixed_length_coded, "A reader of records of so many bytes: the key is the file's name and the record's number.")

// ---------------------------------------- reading

static Status *find_reader(Kernel *k, Reader **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &reader_type, &resource));
    *out = reader_of(resource);
    return OK;
}

static Status *find_both(Kernel *k, Reader **out_reader, Queue **out_queue) {
    AUTO(resource) Resource *reader = NULL, *queue = NULL;
    TRY(kernel_resource(k, 0, &reader_type, &reader));
    TRY(kernel_resource(k, 1, &queue_type, &queue));
    *out_reader = reader_of(resource_retain(reader));
    *out_queue = queue_of(resource_retain(queue));
    return OK;
}

static void kernel_over(void *arg, Status *status) {
    kernel_done(arg, status);
}

static Status *put_scalar(Kernel *k, int output, Str text) {
    Tensor tensor = {0};
    TRY(tensor_new(DT_string, SCALAR_SHAPE, &tensor));
    if (!tstring_assign(tensor.data, text)) {
        tensor_clear(&tensor);
        return OUT_OF_MEMORY;
    }
    kernel_set_output(k, output, tensor);
    return OK;
}

static Status *put_one(void *arg, Str key, Str value) {
    TRY(put_scalar(arg, 0, key));
    return put_scalar(arg, 1, value);
}

static Status *read_one(Kernel *k) {
    Reader *reader;
    Queue *queue;
    TRY(find_both(k, &reader, &queue));
    reader_read(reader, queue, k->step->cancellation, put_one, kernel_over, k);
    resource_release((Resource *)queue);
    resource_release((Resource *)reader);
    return OK;
}

// Records on their way into two tensors whose length is known at the end.
typedef struct {
    Kernel *k;
    VEC(TString) keys, values;
} Batch;

static Status *put_next(void *arg, Str key, Str value) {
    Batch *batch = arg;
    TString empty = {0};
    NEED_MEMORY(vec_push(&batch->keys, empty) && tstring_assign(&batch->keys.p[batch->keys.n - 1], key));
    NEED_MEMORY(vec_push(&batch->values, empty) && tstring_assign(&batch->values.p[batch->values.n - 1], value));
    return OK;
}

static Status *put_strings(Kernel *k, int output, TString *strings, size_t n) {
    Tensor tensor = {0};
    TRY(tensor_new(DT_string, SHAPE((int64_t)n), &tensor));
    if (n) {
        memcpy(tensor.data, strings, n * sizeof *strings);
        memset(strings, 0, n * sizeof *strings);
    }
    kernel_set_output(k, output, tensor);
    return OK;
}

static void batch_over(void *arg, Status *status) {
    Batch *batch = arg;
    Kernel *k = batch->k;
    if (!status)
        status = put_strings(k, 0, batch->keys.p, batch->keys.n);
    if (!status)
        status = put_strings(k, 1, batch->values.p, batch->values.n);
    for (size_t i = 0; i < batch->keys.n; i++)
        tstring_clear(&batch->keys.p[i]);
    for (size_t i = 0; i < batch->values.n; i++)
        tstring_clear(&batch->values.p[i]);
    vec_clear(&batch->keys);
    vec_clear(&batch->values);
    free(batch);
    kernel_done(k, status);
}

static Status *read_up_to(Kernel *k) {
    int64_t most = tensor_int(k->in[2], 0);
    NEED(most >= 0, INVALID_ARGUMENT, "num_records must be >= 0 not %lld", (long long)most);
    Batch *batch = calloc(1, sizeof *batch);
    NEED_MEMORY(batch);
    batch->k = k;
    Reader *reader;
    Queue *queue;
    Status *status = find_both(k, &reader, &queue);
    if (status) {
        free(batch);
        return status;
    }
    reader_read_up_to(reader, queue, most, k->step->cancellation, put_next, batch_over, batch);
    resource_release((Resource *)queue);
    resource_release((Resource *)reader);
    return OK;
}

// A start that fails before anything began is done at once.
#define STARTS(name, call)                   \
    static void name(Kernel *k) {            \
        Status *status = call;               \
        if (status)                          \
            kernel_done(k, status);          \
    }
STARTS(start_read, read_one(k))
STARTS(start_read_up_to, read_up_to(k))

#define READ_FIELDS                                                                                       \
    .doc = "The next record of the reader, which takes files from the queue; waits while it is empty.",  \
    .shape = shape_scalar, .start = start_read
const Op op_ReaderRead = {
    .signature = "ReaderRead(reader_handle: ref string, queue_handle: ref string) -> key: string, value: string",
    READ_FIELDS, .flags = OP_STATEFUL | OP_NO_GRADIENT,
};
const Op op_ReaderReadV2 = {
    .signature = "ReaderReadV2(reader_handle: resource, queue_handle: resource) -> key: string, value: string; stateful",
    READ_FIELDS, .flags = OP_NO_GRADIENT,
};

static Status *up_to_shape(Shapes *s) {
    s->out[0] = s->out[1] = SHAPE(UNKNOWN_DIM);
    return OK;
}

#define READ_UP_TO_FIELDS                                                                       \
    .doc = "Up to so many records of the reader; fewer where a file ends.", .shape = up_to_shape, \
    .needs = "scalar(num_records)", .start = start_read_up_to, .host = BIT(2)
const Op op_ReaderReadUpTo = {
    .signature = "ReaderReadUpTo(reader_handle: ref string, queue_handle: ref string, num_records: int64) -> "
                 "keys: string, values: string",
    READ_UP_TO_FIELDS, .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_DYNAMIC_SHAPE,
};
const Op op_ReaderReadUpToV2 = {
    .signature = "ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64) -> "
                 "keys: string, values: string; stateful",
    READ_UP_TO_FIELDS, .flags = OP_NO_GRADIENT | OP_DYNAMIC_SHAPE,
};

// ---------------------------------------- asking

static Status *put_count(Kernel *k, int64_t (*count)(const Reader *)) {
    Reader *reader;
    TRY(find_reader(k, &reader));
    *(int64_t *)k->out[0]->data = count(reader);
    resource_release((Resource *)reader);
    return OK;
}

static Status *records_run(Kernel *k) {
    return put_count(k, reader_records);
}

static Status *works_run(Kernel *k) {
    return put_count(k, reader_works);
}

REF_AND_RESOURCE(ReaderNumRecordsProduced, ReaderNumRecordsProducedV2, "reader_handle", ") -> records_produced: int64", 0,
                 .doc = "How many records the reader has given.", .shape = shape_scalar, .cpu = ANY_TYPE(records_run),
                 .host_out = BIT(0))
REF_AND_RESOURCE(ReaderNumWorkUnitsCompleted, ReaderNumWorkUnitsCompletedV2, "reader_handle",
                 ") -> units_completed: int64", 0, .doc = "How many files the reader has read to their end.",
                 .shape = shape_scalar, .cpu = ANY_TYPE(works_run), .host_out = BIT(0))

// ---------------------------------------- its state

static Status *act(Kernel *k, ReaderActFn *fn) {
    Reader *reader;
    TRY(find_reader(k, &reader));
    reader_act(reader, k->step->cancellation, fn, kernel_over, k);
    resource_release((Resource *)reader);
    return OK;
}

static Status *reset(Reader *reader, void *arg) {
    (void)arg;
    reader_reset(reader);
    return OK;
}

static Status *save(Reader *reader, void *arg) {
    Kernel *k = arg;
    ReaderState state = reader_state(reader);
    ReaderBaseStateProto proto = {.work_started = state.started, .work_finished = state.finished,
                                  .num_records_produced = state.records, .current_work = state.work};
    if (state.is_within) {
        proto.offset = state.position.offset;
        proto.number = state.position.number;
    }
    AUTO(text) Text bytes = {0};
    TRY(PROTO_ENCODE(ReaderBaseStateProto, &proto, &bytes));
    NEED_MEMORY(!bytes.failed);
    return put_scalar(k, 0, text_str(&bytes));
}

static Status *restore(Reader *reader, void *arg) {
    const Kernel *k = arg;
    AUTO(arena) Arena arena = {0};
    ReaderBaseStateProto *proto;
    Str bytes = tstring_str(k->in[1]->data), name = ((const Resource *)reader)->name;
    Status *status = PROTO_DECODE(ReaderBaseStateProto, &arena, bytes, &proto);
    if (status) {
        reader_reset(reader);
        return status_prefix(status_with_code(status, INVALID_ARGUMENT), "Could not parse state for the reader '%.*s'",
                             STR_ARGS(name));
    }
    ReaderState state = {.started = proto->work_started, .finished = proto->work_finished,
                         .records = proto->num_records_produced, .work = proto->current_work,
                         .is_within = true, .position = {proto->offset, proto->number}};
    status = reader_restore(reader, state);
    if (status)
        reader_reset(reader);
    return status;
}

STARTS(start_reset, act(k, reset))
STARTS(start_save, act(k, save))
STARTS(start_restore, act(k, restore))

REF_AND_RESOURCE(ReaderReset, ReaderResetV2, "reader_handle", ")", 0,
                 .doc = "Brings the reader back to where it began.", .shape = shape_none, .start = start_reset)
REF_AND_RESOURCE(ReaderSerializeState, ReaderSerializeStateV2, "reader_handle", ") -> state: string", 0,
                 .doc = "Where the reader stands, within a file, too.", .shape = shape_scalar, .start = start_save)
REF_AND_RESOURCE(ReaderRestoreState, ReaderRestoreStateV2, "reader_handle", ", state: string)", 0,
                 .doc = "Brings the reader to where it stood when the state was taken.", .needs = "scalar(state)",
                 .shape = shape_none, .start = start_restore)
