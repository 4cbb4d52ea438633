// Step statistics — see step_stats.h: a trace as TensorFlow's StepStats message.
//
// Times count from the step's beginning, in microseconds since 1970.
#include "session/step_stats.h"

enum { NS_PER_US = 1000 };

// Older readers take microseconds, newer ones nanoseconds: both are filled. A node is scheduled when it starts, since
// none waits for a thread here.
static NodeExecStatsProto stats_of(const Trace *trace, const TraceRow *row, NodeOutputProto *output) {
    int64_t since = row->start - trace->start, lasted = row->end - row->start, start = trace->wall * NS_PER_US + since;
    NodeExecStatsProto stats = {
        .node_name = row->name, .timeline_label = row->label, .thread_id = row->thread,
        .all_start_micros = start / NS_PER_US, .all_start_nanos = start,
        .op_end_rel_micros = lasted / NS_PER_US, .op_end_rel_nanos = lasted,
        .all_end_rel_micros = lasted / NS_PER_US, .all_end_rel_nanos = lasted,
        .scheduled_micros = start / NS_PER_US, .scheduled_nanos = start,
    };
    stats.output.p = output;
    stats.output.n = output->tensor_description ? 1 : 0;
    return stats;
}

// The bytes of all outputs together stand at the first: a trace keeps one number for a kernel.
static Status *describe(Arena *arena, int64_t bytes, NodeOutputProto *out) {
    if (!bytes)
        return OK;
    out->tensor_description = ARENA_NEW(arena, TensorDescriptionProto);
    NEED_MEMORY(out->tensor_description);
    out->tensor_description->allocation_description = ARENA_NEW(arena, AllocationDescriptionProto);
    NEED_MEMORY(out->tensor_description->allocation_description);
    out->tensor_description->allocation_description->requested_bytes = bytes;
    out->tensor_description->allocation_description->allocated_bytes = bytes;
    return OK;
}

// The rows of the device of row `first`.
static Status *add_device(const Trace *trace, size_t first, Arena *arena, bool *taken, DeviceStepStatsProto *out) {
    Str device = trace->rows.p[first].device;
    size_t n = 0;
    for (size_t i = first; i < trace->rows.n; i++)
        n += str_equal(trace->rows.p[i].device, device);
    NodeExecStatsProto *stats = ARENA_ARRAY(arena, NodeExecStatsProto, n);
    NodeOutputProto *outputs = ARENA_ARRAY(arena, NodeOutputProto, n);
    NEED_MEMORY(stats && outputs);
    *out = (DeviceStepStatsProto){.device = device};
    out->node_stats.p = stats;
    for (size_t i = first; i < trace->rows.n; i++) {
        const TraceRow *row = &trace->rows.p[i];
        size_t at = out->node_stats.n;
        if (!str_equal(row->device, device))
            continue;
        taken[i] = true;
        TRY(describe(arena, row->bytes, &outputs[at]));
        stats[at] = stats_of(trace, row, &outputs[at]);
        out->node_stats.n++;
    }
    return OK;
}

// Devices in the order in which they first ran something. Few, so each is gathered by a walk over the rows.
Status *step_stats_message(const Trace *trace, Arena *arena, StepStatsProto **out) {
    StepStatsProto *stats = ARENA_NEW(arena, StepStatsProto);
    bool *taken = ARENA_ARRAY(arena, bool, trace->rows.n);
    DeviceStepStatsProto *devices = ARENA_ARRAY(arena, DeviceStepStatsProto, trace->rows.n);
    NEED_MEMORY(!trace->failed && stats && taken && devices);
    stats->dev_stats.p = devices;
    for (size_t i = 0; i < trace->rows.n; i++)
        if (!taken[i])
            TRY(add_device(trace, i, arena, taken, &devices[stats->dev_stats.n++]));
    *out = stats;
    return OK;
}

// ---------------------------------------- of other tasks

static int64_t bytes_of(const NodeExecStatsProto *node) {
    int64_t bytes = 0;
    for (size_t i = 0; i < node->output.n; i++) {
        const TensorDescriptionProto *tensor = node->output.p[i].tensor_description;
        if (tensor && tensor->allocation_description)
            bytes += tensor->allocation_description->requested_bytes;
    }
    return bytes;
}

void step_stats_add(const StepStatsProto *stats, Trace *trace) {
    for (size_t d = 0; d < stats->dev_stats.n; d++) {
        const DeviceStepStatsProto *device = &stats->dev_stats.p[d];
        for (size_t i = 0; i < device->node_stats.n; i++) {
            const NodeExecStatsProto *node = &device->node_stats.p[i];
            TraceRow row = {.name = node->node_name, .label = node->timeline_label, .device = device->device,
                            .bytes = bytes_of(node), .thread = node->thread_id};
            int64_t lasted = node->all_end_rel_nanos ? node->all_end_rel_nanos : node->all_end_rel_micros * NS_PER_US;
            trace_add_row(trace, &row, node->all_start_nanos ? node->all_start_nanos
                                                              : node->all_start_micros * NS_PER_US, lasted);
        }
    }
}

Status *step_graphs_message(const Trace *trace, Arena *arena, RunMetadataProto *out) {
    GraphDef *graphs = ARENA_ARRAY(arena, GraphDef, trace->graphs.n), *graph;
    NEED_MEMORY(graphs && !trace->failed);
    for (size_t i = 0; i < trace->graphs.n; i++) {
        TRY(PROTO_DECODE(GraphDef, arena, trace->graphs.p[i], &graph));
        graphs[i] = *graph;
    }
    out->partition_graphs.p = graphs;
    out->partition_graphs.n = trace->graphs.n;
    return OK;
}
