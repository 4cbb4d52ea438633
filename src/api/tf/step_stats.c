// Step statistics — see step_stats.h. Times count from the step's beginning, in microseconds since 1970 as TensorFlow has them.
#include "api/tf/step_stats.h"

enum { NS_PER_US = 1000 };

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

// The bytes of all outputs together stand at the first.
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

static Status *add_device(const Trace *trace, Str device, Arena *arena, bool *taken, DeviceStepStatsProto *out) {
    NodeExecStatsProto *stats = ARENA_ARRAY(arena, NodeExecStatsProto, trace->rows.n);
    NodeOutputProto *outputs = ARENA_ARRAY(arena, NodeOutputProto, trace->rows.n);
    NEED_MEMORY(stats && outputs);
    *out = (DeviceStepStatsProto){.device = device};
    out->node_stats.p = stats;
    for (size_t i = 0; i < trace->rows.n; i++) {
        const TraceRow *row = &trace->rows.p[i];
        if (taken[i] || !str_equal(row->device, device))
            continue;
        taken[i] = true;
        TRY(describe(arena, row->bytes, &outputs[i]));
        stats[out->node_stats.n++] = stats_of(trace, row, &outputs[i]);
    }
    return OK;
}

Status *step_stats_fill(const Trace *trace, TF_Buffer *out) {
    enum { MOST_DEVICES = 64 };
    AUTO(arena) Arena arena = {0};
    NEED_MEMORY(!trace->failed);
    bool *taken = ARENA_ARRAY(&arena, bool, trace->rows.n);
    DeviceStepStatsProto *devices = ARENA_ARRAY(&arena, DeviceStepStatsProto, MOST_DEVICES);
    NEED_MEMORY(taken && devices);
    StepStatsProto stats = {0};
    stats.dev_stats.p = devices;
    for (size_t i = 0; i < trace->rows.n && stats.dev_stats.n < MOST_DEVICES; i++)
        if (!taken[i])
            TRY(add_device(trace, trace->rows.p[i].device, &arena, taken, &devices[stats.dev_stats.n++]));
    RunMetadataProto metadata = {.step_stats = &stats};
    return buffer_fill_message(out, &message_RunMetadataProto, &metadata);
}
