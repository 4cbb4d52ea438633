// Export — a Graph as GraphDef; see graph_def.h. Fields are written one by one: a function's bytes are there already.
#include "graph/graph_def.h"

enum { LENGTH_DELIMITED = 2 };

static void add_varint(Text *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        text_char(out, (char)(value | 0x80));
    text_char(out, (char)value);
}

static void add_field(Text *out, uint32_t number, Str bytes) {
    add_varint(out, (uint64_t)number << 3 | LENGTH_DELIMITED);
    add_varint(out, bytes.n);
    text_add(out, bytes);
}

// `abroad`: for another process, which may be TensorFlow: what only this library's plans know (a read of a reference)
// is written as the op that means the same there.
static Status *export_node(const Node *node, bool abroad, Text *encoded, Text *out) {
    AUTO(arena) Arena arena = {0};
    NodeDef def;
    TRY(node_to_proto(node, &arena, &def));
    if (abroad && node_op(node) && (node_op(node)->flags & OP_REF_READ))
        def.op = STR("Identity");
    encoded->n = 0;
    TRY(PROTO_ENCODE(NodeDef, &def, encoded));
    add_field(out, GraphDef_node, text_str(encoded));
    return OK;
}

// In the order in which nodes were added, which is the order in which TensorFlow gives them back.
static Status *export_nodes(const Graph *graph, size_t first, Text *out) {
    AUTO(text) Text encoded = {0};
    for (size_t i = first; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            TRY(export_node(graph->nodes.p[i], false, &encoded, out));
    return OK;
}

Status *graph_marked_to_proto(const Graph *graph, int32_t mark, Text *out) {
    AUTO(text) Text encoded = {0};
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i] && graph->nodes.p[i]->mark == mark)
            TRY(export_node(graph->nodes.p[i], true, &encoded, out));
    return graph_rest_to_proto(graph, graph->nodes.n, out);
}

static Status *export_library(const Graph *graph, Text *out) {
    const FunctionLibrary *library = graph->functions;
    AUTO(text) Text all = {0};
    AUTO(text) Text one = {0};
    for (size_t i = 0; i < library->order.n; i++)
        add_field(&all, FunctionDefLibraryProto_function, library->order.p[i]->bytes);
    for (size_t i = 0; i < library->gradient_order.n; i++) {
        const FunctionGradient *from = library->gradient_order.p[i];
        GradientDef def = {.function_name = from->function, .gradient_func = from->gradient};
        one.n = 0;
        TRY(PROTO_ENCODE(GradientDef, &def, &one));
        add_field(&all, FunctionDefLibraryProto_gradient, text_str(&one));
    }
    for (size_t i = 0; i < library->registered.n; i++) {
        const FunctionGradient *from = &library->registered.p[i];
        RegisteredGradientProto def = {.registered_op_type = from->function, .gradient_func = from->gradient};
        one.n = 0;
        TRY(PROTO_ENCODE(RegisteredGradientProto, &def, &one));
        add_field(&all, FunctionDefLibraryProto_registered_gradients, text_str(&one));
    }
    NEED_MEMORY(!all.failed);
    add_field(out, GraphDef_library, text_str(&all));
    return OK;
}

Status *graph_to_proto(const Graph *graph, Text *out) {
    return graph_rest_to_proto(graph, 0, out);
}

Status *graph_rest_to_proto(const Graph *graph, size_t first, Text *out) {
    TRY(export_nodes(graph, first, out));
    TRY(export_library(graph, out));
    VersionDef versions = {.producer = graph->versions.producer, .min_consumer = graph->versions.min_consumer};
    versions.bad_consumers.p = graph->versions.bad_consumers.p;
    versions.bad_consumers.n = graph->versions.bad_consumers.n;
    AUTO(text) Text encoded = {0};
    TRY(PROTO_ENCODE(VersionDef, &versions, &encoded));
    add_field(out, GraphDef_versions, text_str(&encoded));
    NEED_MEMORY(!out->failed && !encoded.failed);
    return OK;
}
