// Trace — see trace.h: a row for each kernel that ran, as TensorFlow's StepStats want it.
//
// Rows are added from any thread under one lock, after the clock was read; names are copied since the plan may go
// before the trace is written.
#define _GNU_SOURCE  // gettid
#include "run/trace.h"

#include <unistd.h>

#include "base/clock.h"
#include "graph/graph_def.h"

void trace_begin(Trace *trace) {
    *trace = (Trace){.start = clock_now(), .wall = clock_wall()};
    mutex_init(&trace->lock);
}

void trace_clear(Trace *trace) {
    vec_clear(&trace->rows);
    vec_clear(&trace->graphs);
    arena_clear(&trace->arena);
    mutex_clear(&trace->lock);
}

// "name = Op(input, input)", as TensorFlow's timelines read it.
static Str label_of(Arena *arena, const Node *node) {
    AUTO(text) Text text = {0};
    text_format(&text, "%.*s = %.*s(", NODE_ARGS(node));
    for (int i = 0; i < node->n_inputs && node->inputs; i++)
        if (node->inputs[i].node)
            text_format(&text, "%s%.*s", i ? ", " : "", STR_ARGS(node->inputs[i].node->name));
    text_char(&text, ')');
    return text.failed ? (Str){0} : str_copy(arena, text_str(&text));
}

static int64_t bytes_of_outputs(const Kernel *k) {
    int64_t bytes = 0;
    for (int i = 0; i < k->n_out; i++)
        if (k->out[i]->data && shape_is_known(&k->out[i]->shape))
            bytes += (int64_t)tensor_bytes(k->out[i]);
    return bytes;
}

// What came, how much of it, from where and to where.
static Str label_of_recv(Arena *arena, const Node *node, int64_t bytes) {
    return str_format(arena, "[%lldB] %.*s from %.*s to %.*s", (long long)bytes, STR_ARGS(node_str(node, "tensor_name")),
                      STR_ARGS(node_str(node, "send_device")), STR_ARGS(node_str(node, "recv_device")));
}

// A trace without memory loses rows and says so (`failed`); the step goes on.
static void push(Trace *trace, TraceRow row) REQUIRES(trace->lock) {
    if (!row.name.p || !row.label.p || !row.device.p || !vec_push(&trace->rows, row))
        trace->failed = true;
}

void trace_add(Trace *trace, const Binding *binding, const Kernel *k, int64_t start) {
    const Node *node = binding->node;
    bool receives = node_flow(node) == FLOW_RECV;
    TraceRow row = {.start = start, .end = clock_now(), .bytes = bytes_of_outputs(k),
                    .thread = (uint32_t)gettid()};
    if (node_flow(node) == FLOW_SEND)
        return;
    mutex_lock(&trace->lock);
    row.name = str_copy(&trace->arena, receives ? STR("RecvTensor") : node->name);
    row.label = receives ? label_of_recv(&trace->arena, node, row.bytes) : label_of(&trace->arena, node);
    row.device = str_copy(&trace->arena, str_of(binding->device->name));
    push(trace, row);
    mutex_unlock(&trace->lock);
}

void trace_add_row(Trace *trace, const TraceRow *from, int64_t since_1970, int64_t lasted) {
    TraceRow row = *from;
    row.start = trace->start + since_1970 - trace->wall * 1000;
    row.end = row.start + lasted;
    mutex_lock(&trace->lock);
    row.name = str_copy(&trace->arena, from->name);
    row.label = str_copy(&trace->arena, from->label);
    row.device = str_copy(&trace->arena, from->device);
    push(trace, row);
    mutex_unlock(&trace->lock);
}

void trace_add_graph(Trace *trace, Str graph_def) {
    if (!trace->keeps_graphs)
        return;
    mutex_lock(&trace->lock);
    Str copy = str_copy(&trace->arena, graph_def);
    trace->failed |= !copy.p || !vec_push(&trace->graphs, copy);
    mutex_unlock(&trace->lock);
}

void trace_add_plan(Trace *trace, const Plan *plan) {
    AUTO(text) Text text = {0};
    if (!trace->keeps_graphs)
        return;
    Status *status = graph_to_proto(plan->graph, &text);
    if (!status)
        trace_add_graph(trace, text_str(&text));
    trace->failed |= status != NULL;
    status_free(status);
}
