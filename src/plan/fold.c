// Constant folding — computes at planning time what depends on constants alone.
//
// Folded are stateless nodes of one output, up to 10 MiB (TensorFlow's bound), or larger ones whose result takes no
// more than the constants that nobody else reads: these are dropped. So are what constants say of shapes that weren't
// known, and what reads no more than the shape of a scalar: the one that a gradient begins with waits for no loss.
//
// The result is a Const node in the old one's place. A node that fails is left alone: it fails again when it runs, if
// it ever does.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/pass.h"

enum { MOST_BYTES = 10 << 20 };

// `value` is set for constants of the graph and for what this pass made, both before any reader is looked at.
static bool is_constant_node(const Node *node) {
    return node->value != NULL;
}

// Not only waited for, as one that has been folded may still be.
static bool is_read(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index != CONTROL)
            return true;
    return false;
}

static const Shape *shape_of(Output edge) {
    return &edge.node->output_shapes[edge.index];
}

// Only the shapes of scalars: a loss is one, whatever is fed, while other inferred shapes may yet be fed differently.
// What switches may leave out must stay behind the switch.
static bool reads_shapes_of_scalars(const Node *node, bool flows) {
    if (flows || !(node_op(node)->flags & OP_FROM_SHAPES))
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (shape_of(node->inputs[i])->rank != 0 ||
            dtype_is_ref(node->inputs[i].node->output_types[node->inputs[i].index]))
            return false;
    return true;
}

// The most bytes that a result may have: what it replaces, if that is much. A transposed weight of 200 MiB takes the
// place of the weight; a broadcast scalar doesn't grow to 200 MiB.
static size_t most_bytes(const Node *node) {
    size_t replaced = 0;
    for (int i = 0; i < node->n_inputs; i++) {
        const Node *from = node->inputs[i].node;
        if (is_constant_node(from) && from->uses.n == 1)
            replaced += tensor_bytes(from->value);
    }
    return replaced > MOST_BYTES ? replaced : MOST_BYTES;
}

// `open` means state in the session, except where it is only a cache. A resource or variant has no constant form. A
// node that waits for another has a place in the order and keeps it (control.c takes what waits it can, then this pass
// runs again).
static bool may_fold(const Node *node, bool flows) {
    const Op *op = node_op(node);
    if (!op || !op->cpu || op->flow != FLOW_NONE || (op->open && !(op->flags & OP_CACHES)) || node_is_stateful(node) ||
        node->n_outputs != 1 || node->n_controls || op->update || op->replace || op->read || !node->n_inputs)
        return false;
    if (dtype_is_ref(node->output_types[0]) || dtype_kind(node->output_types[0]) == KIND_OBJECT)
        return false;
    if (reads_shapes_of_scalars(node, flows))
        return true;
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].index != 0 || !is_constant_node(node->inputs[i].node))
            return false;
    // Asked before it is computed, where the shape tells; where it doesn't, compute() asks afterwards.
    size_t bytes = 0;
    const Shape *shape = &node->output_shapes[0];
    if (shape_is_known(shape)) {
        Status *status = shape_bytes(shape, node->output_types[0], &bytes);
        bool large = status || bytes > most_bytes(node);
        status_free(status);
        return !large;
    }
    return true;
}

// By the same invoke() as a dynamic node of a step, on the first device, which is the host's, with one thread: the
// step's pool isn't known yet. No deadline, since nobody can cancel a plan in the making.
static Status *compute(Draft *draft, const Node *node, Tensor *out) {
    AUTO(arena) Arena arena = {0};
    Binding binding;
    TRY(binding_init(&binding, node, draft->options->devices->devices[0], &arena));
    Tensor *inputs = ARENA_ARRAY(&arena, Tensor, node->n_inputs), **in = ARENA_ARRAY(&arena, Tensor *, node->n_inputs);
    NEED_MEMORY(inputs && in);
    for (int i = 0; i < node->n_inputs; i++) {
        Output from = node->inputs[i];
        inputs[i] = from.node->value ? *from.node->value : (Tensor){.dtype = output_base_type(from),
                                                                    .shape = *shape_of(from)};
        in[i] = &inputs[i];
    }
    StepContext context = {.threads = 1, .deadline = NO_DEADLINE};
    Tensor result = {0}, *outs[1] = {&result};
    Kernel kernel = {.in = in, .out = outs, .n_in = binding.n_in, .n_out = 1, .node = node, .step = &context};
    Prepared prepared = {0};
    Status *status = invoke(&binding, &prepared, &kernel, 0);
    prepared_clear(&prepared);
    if (!status && (!result.buffer || tensor_bytes(&result) > most_bytes(node)))
        status = status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "too large to fold");
    if (status)
        tensor_clear(&result);
    else
        *out = result;
    return status;
}

static Status *set_value(Graph *graph, Node *node, const Tensor *value) {
    node->value = ARENA_NEW(&graph->arena, Tensor);
    NEED_MEMORY(node->value);
    *node->value = *value;
    return OK;
}

// A node of its own, since the old one may be a target, or waited for.
static Status *put_constant(Draft *draft, Node *node, const Tensor *value) {
    AUTO(builder) NodeBuilder builder;
    AUTO(arena) Arena arena = {0};
    builder_init(&builder, draft->graph, STR("Const"), str_format(&arena, "%.*s/_folded", STR_ARGS(node->name)));
    builder_place(&builder, node);
    builder_attr(&builder, STR("value"), &(AttrValue){.kind = ATTR_TENSOR, .tensor = (Tensor *)(uintptr_t)value});
    builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(value->dtype));
    Node *constant;
    TRY(builder_finish(&builder, &constant));
    TRY(set_value(draft->graph, constant, node_attr_find(constant, "value")->tensor));
    return graph_replace_output((Output){node, 0}, (Output){constant, 0});
}

static Status *fold_node(Draft *draft, Node *node, bool flows) {
    const AttrValue *value = node->n_inputs || node->n_controls ? NULL : node_attr_find(node, "value");
    if (value && value->kind == ATTR_TENSOR && !node_is_stateful(node) && node->n_outputs == 1)
        return set_value(draft->graph, node, value->tensor);
    if (!may_fold(node, flows) || !is_read(node))
        return OK;
    Tensor result;
    Status *status = compute(draft, node, &result);
    if (status) {
        status_free(status);
        return OK;
    }
    // Its readers come later in the order and must see it as a constant already.
    status = put_constant(draft, node, &result);
    tensor_clear(&result);
    return status;
}

// Inference is asked only where something is missing: most graphs come with shapes from import.
static bool is_shaped(const Node *node) {
    for (int i = 0; i < node->n_outputs; i++)
        if (!shape_is_known(&node->output_shapes[i]))
            return false;
    return true;
}

// A shape that can't be is found when the node runs, if it ever does.
static void infer(Node *node) {
    if (node_op(node) && node_flow(node) == FLOW_NONE && node->n_inputs && !is_shaped(node))
        status_free(node_infer_shapes(node));
}

Status *pass_fold(Draft *draft) {
    Node **order = malloc((draft->graph->nodes.n + 1) * sizeof *order);
    NEED_MEMORY(order);
    size_t n;
    bool flows = draft_has_flow(draft);
    Status *status = graph_order(draft->graph, order, &n);
    for (size_t i = 0; !status && i < n; i++) {
        infer(order[i]);
        status = fold_node(draft, order[i], flows);
    }
    free(order);
    return status;
}
