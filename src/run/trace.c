// Trace — see trace.h.
#define _GNU_SOURCE  // gettid
#include "run/trace.h"

#include <unistd.h>

#include "base/clock.h"

void trace_begin(Trace *trace) {
    *trace = (Trace){.start = clock_now(), .wall = clock_wall()};
    mutex_init(&trace->lock);
}

void trace_clear(Trace *trace) {
    vec_clear(&trace->rows);
    arena_clear(&trace->arena);
    mutex_clear(&trace->lock);
}

// As TensorFlow's timelines read it.
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

void trace_add(Trace *trace, const Binding *binding, const Kernel *k, int64_t start) {
    TraceRow row = {.start = start, .end = clock_now(), .bytes = bytes_of_outputs(k),
                    .thread = (uint32_t)gettid()};
    mutex_lock(&trace->lock);
    row.name = str_copy(&trace->arena, binding->node->name);
    row.label = label_of(&trace->arena, binding->node);
    row.device = str_copy(&trace->arena, str_of(binding->device->name));
    if (!row.name.p || !row.label.p || !row.device.p || !vec_push(&trace->rows, row))
        trace->failed = true;
    mutex_unlock(&trace->lock);
}
