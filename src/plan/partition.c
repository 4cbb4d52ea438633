// Partition — puts CopyOut and CopyIn where an edge crosses from one memory to another, inside a task.
//
// One tensor goes once per destination device: all its readers there share one CopyIn. It is ordered behind its CopyOut
// by a control edge, so it never waits, and it takes part in loops like any node. Values that both ends keep in host
// memory (int32, strings, resources, declared host inputs and outputs) cross without a copy. Between tasks it is
// cut.c's.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/pass.h"

// `host_out` counts arguments of the signature, an edge outputs of the node: they differ where an argument is a list.
static bool output_on_host(const Device *device, Output edge, const Node *from) {
    const Op *op = node_op(from);
    for (int arg = 0; op && op->host_out && arg < from->type->signature.n_outputs && arg < MAX_ARGS; arg++) {
        int first, count;
        node_output_span(from, arg, &first, &count);
        if ((op->host_out & BIT(arg)) && edge.index >= first && edge.index < first + count)
            return true;
    }
    return device_hosts(device, dtype_base(from->output_types[edge.index]));
}

static bool input_on_host(const Device *device, const Node *node, int input) {
    const Op *op = node_op(node);
    for (int arg = 0; op && op->host && arg < node->type->signature.n_inputs && arg < MAX_ARGS; arg++) {
        int first, count;
        node_input_span(node, arg, &first, &count);
        if ((op->host & BIT(arg)) && input >= first && input < first + count)
            return true;
    }
    return device_hosts(device, node_input_type(node, input));
}

// A CopyIn of `edge` in the memory of `node`'s device (or in host memory), made for its first reader there. A reader
// that declares a host input reads on the host though its device has its own memory: that is another copy, with its own
// key.
static Status *copy_in(Draft *draft, Output edge, const Node *reader, bool to_host, Map *made, Arena *arena,
                       Node **out) {
    Str to = str_of(reader->placed->name);
    Str key = str_format(arena, "%.*s:%d;%.*s;%s", STR_ARGS(edge.node->name), edge.index, STR_ARGS(to),
                         to_host ? "host" : "device");
    NEED_MEMORY(key.p);
    *out = map_find(made, key);
    if (*out)
        return OK;
    AttrValue name = ATTR_OF_STRING(key);
    AttrValue type = ATTR_OF_TYPE(dtype_base(edge.node->output_types[edge.index]));
    AUTO(builder) NodeBuilder out_of;
    builder_init(&out_of, draft->graph, to_host ? STR("_HostCopyOut") : STR("_CopyOut"),
                 str_format(arena, "_copy_out/%.*s", STR_ARGS(key)));
    builder_input(&out_of, edge);
    builder_place(&out_of, edge.node);
    builder_attr(&out_of, STR("key"), &name);
    Node *before;
    TRY(builder_finish(&out_of, &before));
    AUTO(builder) NodeBuilder into;
    builder_init(&into, draft->graph, to_host ? STR("_HostCopyIn") : STR("_CopyIn"),
                 str_format(arena, "_copy_in/%.*s", STR_ARGS(key)));
    builder_place(&into, reader);
    builder_control(&into, before);
    builder_attr(&into, STR("T"), &type);
    builder_attr(&into, STR("key"), &name);
    TRY(builder_finish(&into, out));
    (*out)->output_shapes[0] = edge.node->output_shapes[edge.index];
    NEED_MEMORY(map_set(made, key, *out));
    return OK;
}

// Copies are added behind the nodes that are walked; they need no crossing themselves.
static Status *cross_edges(Draft *draft, Map *made, Arena *arena) {
    size_t n = draft->graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (!node)
            continue;
        const Device *to = node->placed;
        for (int in = 0; in < node->n_inputs; in++) {
            Output edge = node->inputs[in];
            const Device *from = edge.node->placed;
            if (dtype_is_ref(edge.node->output_types[edge.index]) && to->type->compiler)
                continue;  // a handle: who reads the variable knows where its value is
            bool from_host = from->type->host || output_on_host(from, edge, edge.node);
            bool to_host = to->type->host || input_on_host(to, node, in);
            if ((from == to && from_host == to_host) || (from_host && to_host))
                continue;
            Node *copy;
            TRY(copy_in(draft, edge, node, to_host, made, arena, &copy));
            TRY(node_set_input(node, in, (Output){copy, 0}));
        }
    }
    return OK;
}

Status *pass_partition(Draft *draft) {
    // The common case, without a walk over the graph.
    bool one_memory = true;
    for (int d = 0; d < draft->options->devices->n; d++)
        one_memory &= draft->options->devices->devices[d]->type->host;
    if (one_memory)
        return OK;
    AUTO(arena) Arena arena = {0};
    AUTO(map) Map made = {0};
    return cross_edges(draft, &made, &arena);
}
