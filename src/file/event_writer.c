// EventWriter — see event_writer.h: the event files that TensorBoard reads: records, each an Event message.
#define _GNU_SOURCE
#include "file/event_writer.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "file/disk.h"
#include "file/record.h"
#include "proto/tensor_proto.h"
#include "thread/mutex.h"

struct EventWriter {
    Mutex lock;
    Text path;
    Text gathered;       // guarded by lock, as all below
    int fd;
    int64_t n, most;     // events gathered
    int64_t flushed, flush_ns;
    Status *broken;      // why nothing more is written
};

static double now(void) {
    return (double)clock_wall() * 1e-6;
}

// ---------------------------------------- the file

static Status *flush(EventWriter *writer) REQUIRES(writer->lock) {
    if (!writer->broken && writer->gathered.n)
        writer->broken = disk_append(writer->fd, text_str(&writer->gathered), text_str(&writer->path));
    writer->gathered.n = 0;
    writer->n = 0;
    writer->flushed = clock_now();
    return status_copy(writer->broken);
}

static Status *add(EventWriter *writer, Str bytes) REQUIRES(writer->lock) {
    record_write(bytes, &writer->gathered);
    NEED_MEMORY(!writer->gathered.failed);
    writer->n++;
    return writer->n > writer->most || clock_now() - writer->flushed > writer->flush_ns ? flush(writer)
                                                                                       : status_copy(writer->broken);
}

Status *event_writer_add(EventWriter *writer, EventProto *event) {
    AUTO(text) Text bytes = {0};
    if (event->wall_time <= 0)
        event->wall_time = now();
    TRY(PROTO_ENCODE(EventProto, event, &bytes));
    mutex_lock(&writer->lock);
    Status *status = add(writer, text_str(&bytes));
    mutex_unlock(&writer->lock);
    return status;
}

Status *event_writer_flush(EventWriter *writer) {
    mutex_lock(&writer->lock);
    Status *status = flush(writer);
    mutex_unlock(&writer->lock);
    return status;
}

Str event_writer_path(const EventWriter *writer) {
    return text_str(&writer->path);
}

static Status *begin(EventWriter *writer, Str logdir, Str suffix) {
    static _Atomic unsigned serial;
    char host[65] = "localhost";
    gethostname(host, sizeof host - 1);
    text_add(&writer->path, logdir);
    text_format(&writer->path, "/events.out.tfevents.%010lld.%s.%d.%u", (long long)(clock_wall() / 1000000), host,
                (int)getpid(), serial++);
    text_add(&writer->path, suffix);
    NEED_MEMORY(!writer->path.failed);
    TRY(disk_create(text_str(&writer->path), &writer->fd));
    SourceMetadataProto source = {.writer = STR("millrace")};
    EventProto first = {.which = EventProto_file_version, .file_version = STR("brain.Event:2"),
                        .source_metadata = &source};
    TRY(event_writer_add(writer, &first));
    return event_writer_flush(writer);
}

Status *event_writer_new(Str logdir, const EventWriterOptions *options, EventWriter **out) {
    EventWriter *writer = calloc(1, sizeof *writer);
    NEED_MEMORY(writer);
    mutex_init(&writer->lock);
    writer->fd = -1;
    writer->most = options->most > 0 ? options->most : 1000;
    writer->flush_ns = (options->flush_ms > 0 ? options->flush_ms : 2000) * CLOCK_MS;
    writer->flushed = clock_now();
    Status *status = begin(writer, logdir.n ? logdir : STR("."), options->suffix);
    if (status)
        event_writer_free(writer);
    else
        *out = writer;
    return status;
}

void event_writer_free(EventWriter *writer) {
    if (!writer)
        return;
    if (writer->fd >= 0)
        status_free(event_writer_flush(writer));
    disk_close(writer->fd);
    status_free(writer->broken);
    text_clear(&writer->path);
    text_clear(&writer->gathered);
    mutex_clear(&writer->lock);
    free(writer);
}

// ---------------------------------------- kinds of events

Status *event_writer_summary(EventWriter *writer, int64_t step, Summary_Value *values, size_t n) {
    SummaryProto summary = {0};
    summary.value.p = values;
    summary.value.n = n;
    EventProto event = {.step = step, .which = EventProto_summary, .summary = &summary};
    return event_writer_add(writer, &event);
}

Status *event_writer_scalar(EventWriter *writer, int64_t step, Str tag, double value) {
    Summary_Value one = {.tag = tag, .which = Summary_Value_simple_value, .simple_value = (float)value};
    return event_writer_summary(writer, step, &one, 1);
}

Status *event_writer_graph(EventWriter *writer, Str graph_def) {
    EventProto event = {.which = EventProto_graph_def, .graph_def = graph_def};
    return event_writer_add(writer, &event);
}

Status *event_writer_run_metadata(EventWriter *writer, int64_t step, Str tag, Str run_metadata) {
    TaggedRunMetadataProto tagged = {.tag = tag, .run_metadata = run_metadata};
    EventProto event = {.step = step, .which = EventProto_tagged_run_metadata, .tagged_run_metadata = &tagged};
    return event_writer_add(writer, &event);
}

// ---------------------------------------- hyperparameters

// The plugin's own messages are written by hand: they lie in the content of a value's metadata.
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void put_varint(Text *out, uint64_t value) {
    for (; value >= 128; value >>= 7)
        text_char(out, (char)(value | 128));
    text_char(out, (char)value);
}

static void put_bytes(Text *out, uint32_t field, Str bytes) {
    put_varint(out, field << 3 | BYTES);
    put_varint(out, bytes.n);
    text_add(out, bytes);
}

static void put_double(Text *out, uint32_t field, double value) {
    put_varint(out, field << 3 | FIXED64);
    text_add(out, (Str){(const char *)&value, sizeof value});
}

// An empty tensor whose metadata says it all: HParamsPluginData in `content`.
static Status *add_plugin_data(EventWriter *writer, Str tag, const Text *content) {
    NEED_MEMORY(!content->failed);
    AUTO(arena) Arena arena = {0};
    AUTO(tensor) Tensor nothing = {0};
    TRY(tensor_new(DT_float, SHAPE(0), &nothing));
    SummaryMetadata_PluginData plugin = {.plugin_name = STR("hparams"), .content = text_str(content)};
    SummaryMetadataProto metadata = {.plugin_data = &plugin, .data_class = 2};
    Summary_Value value = {.tag = tag, .which = Summary_Value_tensor, .metadata = &metadata};
    TRY(tensor_to_proto(&arena, &nothing, &value.tensor));
    return event_writer_summary(writer, 0, &value, 1);
}

// SessionStartInfo: 1 map of names to google.protobuf.Value (2 number, 3 string), 5 the time.
Status *event_writer_hparams(EventWriter *writer, const HyperParameter *parameters, size_t n) {
    AUTO(text) Text content = {0};
    AUTO(text) Text info = {0};
    for (size_t i = 0; i < n; i++) {
        AUTO(text) Text value = {0};
        AUTO(text) Text entry = {0};
        if (parameters[i].is_text)
            put_bytes(&value, 3, parameters[i].text);
        else
            put_double(&value, 2, parameters[i].number);
        put_bytes(&entry, 1, parameters[i].name);
        put_bytes(&entry, 2, text_str(&value));
        NEED_MEMORY(!value.failed && !entry.failed);
        put_bytes(&info, 1, text_str(&entry));
    }
    put_double(&info, 5, now());
    NEED_MEMORY(!info.failed);
    put_bytes(&content, 3, text_str(&info));
    return add_plugin_data(writer, STR("_hparams_/session_start_info"), &content);
}

// SessionEndInfo: 1 the status (1 success, 2 failure), 2 the time.
Status *event_writer_hparams_end(EventWriter *writer, bool success) {
    AUTO(text) Text content = {0};
    AUTO(text) Text info = {0};
    put_varint(&info, 1 << 3 | VARINT);
    put_varint(&info, success ? 1 : 2);
    put_double(&info, 2, now());
    NEED_MEMORY(!info.failed);
    put_bytes(&content, 4, text_str(&info));
    return add_plugin_data(writer, STR("_hparams_/session_end_info"), &content);
}
