// Nodes that save and restore — see save_node.h.
#include "job/save_node.h"

Status *save_node_add(Graph *graph, const char *op, Str name, const char *end, const Output *inputs, int n,
                      const AttrEntry *attrs, int n_attrs, Node **out) {
    AUTO(text) Text wanted = {0};
    Str unique;
    text_format(&wanted, "save/%.*s/%s", STR_ARGS(name), end);
    NEED_MEMORY(!wanted.failed);
    TRY(graph_unique_name(graph, text_str(&wanted), &unique));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, graph, str_of(op), unique);
    for (int i = 0; i < n; i++)
        builder_input(&builder, inputs[i]);
    for (int i = 0; i < n_attrs; i++)
        builder_attr(&builder, attrs[i].name, &attrs[i].value);
    return builder_finish(&builder, out);
}
