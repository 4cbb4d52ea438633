// EventWriter — a file of events that TensorBoard shows: LOGDIR/events.out.tfevents.SECONDS.HOST.PID.NUMBER.
//
// Events are records (file/record.h), gathered and appended by event_writer_flush; a killed process loses what was gathered
// since, and leaves whole records. Any thread may call.
#pragma once
#include "proto/messages.h"
#include "tensor/tensor.h"

typedef struct EventWriter EventWriter;

typedef struct {
    int64_t most;          // events gathered before they are written; 0: 1000
    int64_t flush_ms;      // or time that passed since they were; 0: 2000
    Str suffix;            // of the file's name
} EventWriterOptions;

// Makes the directory and the file, which begins with the version. PERMISSION_DENIED ...
FALLIBLE Status *event_writer_new(Str logdir, const EventWriterOptions *options, EventWriter **out);
void event_writer_free(EventWriter *writer);   // flushes
// Where the file is; lives as long as the writer.
Str event_writer_path(const EventWriter *writer);
// Its wall_time is set to now where it is 0. After a failure to write, all that follow fail.
FALLIBLE Status *event_writer_add(EventWriter *writer, EventProto *event);
FALLIBLE Status *event_writer_flush(EventWriter *writer);

// Values of one step; SummaryProto by another name.
FALLIBLE Status *event_writer_summary(EventWriter *writer, int64_t step, Summary_Value *values, size_t n);
FALLIBLE Status *event_writer_scalar(EventWriter *writer, int64_t step, Str tag, double value);
// A serialized GraphDef, for the dashboard of graphs.
FALLIBLE Status *event_writer_graph(EventWriter *writer, Str graph_def);
// A serialized RunMetadata under a name of its own: the times of the graph's nodes.
FALLIBLE Status *event_writer_run_metadata(EventWriter *writer, int64_t step, Str tag, Str run_metadata);

// What a run was made with: a number or a text each.
typedef struct {
    Str name;
    Str text;
    double number;
    bool is_text;
} HyperParameter;
// Before the first step.
FALLIBLE Status *event_writer_hparams(EventWriter *writer, const HyperParameter *parameters, size_t n);
// After the last one: whether it went well.
FALLIBLE Status *event_writer_hparams_end(EventWriter *writer, bool success);
