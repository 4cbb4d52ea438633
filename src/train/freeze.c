// Freeze — see freeze.h.
#include "train/freeze.h"

#include "formula/formula.h"

// Rows of a variable, read without the rest of it.
static bool is_gather(const Node *node) {
    return str_is(node->type->name, "ResourceGather") && node->inputs[0].node &&
           str_is(node->inputs[0].node->type->name, "VarHandleOp");
}

// Where a variable's value comes in: the reading of a resource, or the variable itself where it is a reference.
static bool is_read(const Node *node) {
    if (str_is(node->type->name, "ReadVariableOp"))
        return node->inputs[0].node && str_is(node->inputs[0].node->type->name, "VarHandleOp");
    return node->n_outputs == 1 && node->n_inputs == 0 && dtype_is_ref(node->output_types[0]);
}

enum { NOT_NEEDED, NEEDED };

typedef VEC(const Node *) Stack;

// A reading of the whole variable that the node reads rows of, or NULL.
static const Node *whole_of(const Graph *graph, const Node *gather) {
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (node && is_read(node) && node->n_inputs && node->inputs[0].node == gather->inputs[0].node)
            return node;
    }
    return NULL;
}

static bool need(Stack *stack, uint8_t *needed, const Node *node) {
    if (!node || needed[node->id] != NOT_NEEDED)
        return true;
    needed[node->id] = NEEDED;
    return vec_push(stack, node);
}

// Marks by id what the outputs need; the variables' handles and initial values are not among that.
static Status *mark(const Graph *graph, const Output *outputs, int n, uint8_t *needed) {
    Stack stack = {0};
    bool good = true;
    for (int i = 0; i < n; i++)
        good = good && need(&stack, needed, outputs[i].node);
    while (good && stack.n) {
        const Node *node = stack.p[--stack.n];
        if (is_read(node))
            continue;
        if (is_gather(node)) {
            const Node *whole = whole_of(graph, node);
            if (!whole)
                vec_clear(&stack);
            NEED(whole, UNIMPLEMENTED, "'%.*s' (%.*s) reads rows of a variable that nothing reads as a whole",
                 NODE_ARGS(node));
            good = need(&stack, needed, whole);
        }
        for (int i = is_gather(node); i < node->n_inputs; i++)
            good = good && need(&stack, needed, node->inputs[i].node);
        for (int i = 0; i < node->n_controls; i++)
            good = good && need(&stack, needed, node->controls[i]);
    }
    vec_clear(&stack);
    NEED_MEMORY(good);
    return OK;
}

Status *freeze_reads(const Graph *graph, const Output *outputs, int n, OutputList *reads) {
    AUTO(arena) Arena arena = {0};
    uint8_t *needed = ARENA_ARRAY(&arena, uint8_t, graph->nodes.n + 1);
    NEED_MEMORY(needed);
    TRY(mark(graph, outputs, n, needed));
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (needed[i] != NOT_NEEDED && is_read(graph->nodes.p[i]))
            NEED_MEMORY(vec_push(reads, ((Output){graph->nodes.p[i], 0})));
    return OK;
}

// ---------------------------------------- writing

static Status *write_constant(Graph *to, const Node *node, const Tensor *value, Node **out) {
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, to, STR("Const"), node->name);
    builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(value->dtype));
    builder_attr(&builder, STR("value"), &(AttrValue){.kind = ATTR_TENSOR, .tensor = (Tensor *)value});
    return builder_finish(&builder, out);
}

// The same rows of the constant.
static Status *write_gather(const Graph *graph, Graph *to, const Node *node, Node *const *written, Node **out) {
    Formula f = {.graph = to, .scope = node->name};
    Output axis = formula_int(&f, 0, DT_int32);
    if (f.status)
        return f.status;
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, to, STR("GatherV2"), node->name);
    builder_device(&builder, node->device);
    builder_input(&builder, (Output){written[whole_of(graph, node)->id], 0});
    builder_input(&builder, (Output){written[node->inputs[1].node->id], node->inputs[1].index});
    builder_input(&builder, axis);
    builder_attr(&builder, STR("batch_dims"), &ATTR_OF_INT(node_int(node, "batch_dims")));
    return builder_finish(&builder, out);
}

static Status *write_node(Graph *to, const Node *node, Node *const *written, Node **out) {
    NEED(!node->type->function, UNIMPLEMENTED, "'%.*s' calls the function %.*s: a frozen graph can't yet",
         NODE_ARGS(node));
    AUTO(arena) Arena arena = {0};
    Output *inputs = ARENA_ARRAY(&arena, Output, node->n_inputs);
    NEED_MEMORY(inputs);
    for (int i = 0; i < node->n_inputs; i++)
        inputs[i] = (Output){node->inputs[i].node ? written[node->inputs[i].node->id] : NULL, node->inputs[i].index};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, to, node->type->name, node->name);
    builder_device(&builder, node->device);
    builder_flat_inputs(&builder, inputs, node->n_inputs);
    for (int i = 0; i < node->n_controls; i++)
        if (written[node->controls[i]->id])
            builder_control(&builder, written[node->controls[i]->id]);
    for (int i = 0; i < node->n_attrs; i++)
        builder_attr(&builder, node->attrs[i].name, &node->attrs[i].value);
    return builder_finish(&builder, out);
}

// The back edges of loops, whose sources were not there yet.
static Status *close_loops(const Graph *graph, Node *const *written) {
    for (size_t i = 0; i < graph->nodes.n; i++)
        for (int input = 0; written[i] && input < written[i]->n_inputs; input++)
            if (!written[i]->inputs[input].node) {
                Output from = graph->nodes.p[i]->inputs[input];
                TRY(node_set_input(written[i], input, (Output){written[from.node->id], from.index}));
            }
    return OK;
}

static Status *write_all(const Graph *graph, const uint8_t *needed, const OutputList *reads, const Tensor *values,
                         Node **written, Graph *to) {
    for (size_t i = 0; i < reads->n; i++)
        TRY(write_constant(to, reads->p[i].node, &values[i], &written[reads->p[i].node->id]));
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (!node || needed[i] == NOT_NEEDED || written[i])
            continue;
        if (is_gather(node))
            TRY(write_gather(graph, to, node, written, &written[i]));
        else
            TRY(write_node(to, node, written, &written[i]));
    }
    return close_loops(graph, written);
}

Status *freeze_write(const Graph *graph, const Output *outputs, int n, const OutputList *reads, const Tensor *values,
                     Graph **out) {
    AUTO(arena) Arena arena = {0};
    uint8_t *needed = ARENA_ARRAY(&arena, uint8_t, graph->nodes.n + 1);
    Node **written = ARENA_ARRAY(&arena, Node *, graph->nodes.n + 1);
    NEED_MEMORY(needed && written);
    TRY(mark(graph, outputs, n, needed));
    Graph *to;
    TRY(graph_new(&to));
    Status *status = write_all(graph, needed, reads, values, written, to);
    if (status)
        graph_release(to);
    else
        *out = to;
    return status;
}
