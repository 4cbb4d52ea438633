// Deref — where an op reads the value of a reference, the read becomes a node of its own, in front of its reader.
//
// TensorFlow reads a reference when the consumer runs, not when the variable's node does. So each reader gets its own
// read, which waits for all that the reader waits for, and nothing merges them: reading is stateful.
#include "graph/build.h"
#include "plan/pass.h"

static bool waits_for_nothing(const Node *node) {
    return node->n_inputs == 0 && node->n_controls == 0;
}

// What is fetched is what the variable is in the end: TensorFlow hands out the memory itself. Not where there is
// control flow: an update that does not take place must not take the read with it.
static void wait_for_updates(NodeBuilder *builder, const Draft *draft, const Node *variable) {
    const Graph *graph = draft->graph;
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i] && node_flow(graph->nodes.p[i]) >= FLOW_SWITCH &&
            node_flow(graph->nodes.p[i]) <= FLOW_LOOP_COND)
            return;
    for (size_t i = 0; i < variable->uses.n; i++) {
        Use use = variable->uses.p[i];
        if (use.input >= 0 && node_input_is_ref(use.node, use.input) && !(node_op(use.node)->flags & OP_REF_READ))
            builder_control(builder, use.node);
    }
}

static Status *read_before(Draft *draft, Node *reader, int input) {
    Output from = reader->inputs[input];
    AUTO(arena) Arena arena = {0};
    Str name = str_format(&arena, "%.*s/_read/%d", STR_ARGS(reader->name), input);
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, draft->graph, STR("_ReadRef"), name);
    builder_device(&builder, from.node->device);
    builder_input(&builder, from);
    for (int i = 0; i < reader->n_controls; i++)
        builder_control(&builder, reader->controls[i]);
    // A Merge runs at its first input, and some of them come later than its output.
    for (int i = 0; i < reader->n_inputs && node_flow(reader) == FLOW_NONE; i++) {
        Node *other = reader->inputs[i].node;
        if (i != input && !waits_for_nothing(other) && other != from.node)
            builder_control(&builder, other);
    }
    if (node_flow(reader) == FLOW_RETVAL)
        wait_for_updates(&builder, draft, from.node);
    Node *read;
    TRY(builder_finish(&builder, &read));
    read->output_shapes[0] = from.node->output_shapes[from.index];
    return node_set_input(reader, input, (Output){read, 0});
}

// Control flow moves references as they are; so does whoever takes one.
static bool passes_reference(const Node *node) {
    Flow flow = node_flow(node);
    return flow >= FLOW_SWITCH && flow <= FLOW_LOOP_COND && dtype_is_ref(node->output_types[0]);
}

Status *pass_deref(Draft *draft) {
    Graph *graph = draft->graph;
    size_t n = graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *node = graph->nodes.p[i];
        if (!node || passes_reference(node))
            continue;
        for (int in = 0; in < node->n_inputs; in++) {
            Output from = node->inputs[in];
            if (dtype_is_ref(from.node->output_types[from.index]) && !node_input_is_ref(node, in))
                TRY(read_before(draft, node, in));
        }
    }
    return OK;
}
