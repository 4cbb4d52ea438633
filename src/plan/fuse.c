// Fuse — elementwise chains become one node that goes over memory once.
//
// A node takes in the elementwise producers that nobody else reads. What they compute is computed for the chain's whole
// output, so a producer joins only where its own output is as large: the same known extents, or unknown ones that may be
// equal. Small outputs are left alone; there a chain costs more than its nodes.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/pass.h"

enum { MOST_STEPS = 32, MOST_INPUTS = 16, LEAST_ELEMENTS = 512 };

typedef struct {
    Node *steps[MOST_STEPS];    // producers before readers
    Output inputs[MOST_INPUTS];
    int n_steps, n_inputs;
} Chain;

static bool is_fusible(const Draft *draft, const Node *node) {
    const Op *op = node_op(node);
    if (!op || !(op->flags & OP_ELEMENTWISE) || node->n_outputs != 1 || node->n_controls ||
        node->type->signature.n_attrs != 1)
        return false;
    DType type = node->output_types[0];
    if (type != DT_float && type != DT_double)
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (output_base_type(node->inputs[i]) != type)
            return false;
    int64_t count = shape_count(&node->output_shapes[0]);
    if (count >= 0 && count < LEAST_ELEMENTS)
        return false;
    const Device *device = device_set_find(draft->options->devices, node->device);
    return device && device->type->host;
}

static bool may_be_equal(const Shape *a, const Shape *b) {
    if (a->rank < 0 || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

static bool only_read_by(const Node *node, const Node *reader) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].node != reader || node->uses.p[i].index == CONTROL)
            return false;
    return node->uses.n > 0;
}

static int step_of(const Chain *chain, const Node *node) {
    for (int i = 0; i < chain->n_steps; i++)
        if (chain->steps[i] == node)
            return i;
    return -1;
}

static bool add_input(Chain *chain, Output edge) {
    for (int i = 0; i < chain->n_inputs; i++)
        if (output_equal(chain->inputs[i], edge))
            return true;
    if (chain->n_inputs == MOST_INPUTS)
        return false;
    chain->inputs[chain->n_inputs++] = edge;
    return true;
}

// Adds `node` behind what it takes in; depth is bounded by the number of steps. A producer that no longer fits stays
// outside, as an input. False where even the node itself doesn't fit; the chain is as it was then.
static bool collect(const Draft *draft, Chain *chain, Node *node, const Node *root, int waiting) {
    Chain before = *chain;
    for (int i = 0; i < node->n_inputs; i++) {
        Node *from = node->inputs[i].node;
        if (step_of(chain, from) >= 0)
            continue;
        bool joins = chain->n_steps + waiting + 2 <= MOST_STEPS && is_fusible(draft, from) && only_read_by(from, node) &&
                     !draft_is_target(draft, from) &&
                     may_be_equal(&from->output_shapes[0], &root->output_shapes[0]) &&
                     str_equal(from->device, root->device) && from->output_types[0] == root->output_types[0];
        if (!(joins && collect(draft, chain, from, root, waiting + 1)) && !add_input(chain, node->inputs[i])) {
            *chain = before;
            return false;
        }
    }
    chain->steps[chain->n_steps++] = node;
    return true;
}

static int64_t operand(const Chain *chain, Output edge) {
    int step = step_of(chain, edge.node);
    if (step >= 0)
        return -1 - step;
    for (int i = 0; i < chain->n_inputs; i++)
        if (output_equal(chain->inputs[i], edge))
            return i;
    return 0;
}

static Status *make_fused(Draft *draft, const Chain *chain, Node *root) {
    Str ops[MOST_STEPS];
    int64_t args[2 * MOST_STEPS];
    for (int s = 0; s < chain->n_steps; s++) {
        const Node *step = chain->steps[s];
        ops[s] = step->type->name;
        args[2 * s] = operand(chain, step->inputs[0]);
        args[2 * s + 1] = step->n_inputs > 1 ? operand(chain, step->inputs[1]) : args[2 * s];
    }
    AttrValue ops_value = {.kind = ATTR_STRING, .is_list = true, .n = chain->n_steps, .ss = ops};
    AttrValue args_value = {.kind = ATTR_INT, .is_list = true, .n = 2 * chain->n_steps, .is = args};
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, draft->graph, STR("_Fused"), str_format(&arena, "%.*s/_fused", STR_ARGS(root->name)));
    builder_device(&builder, root->device);
    builder_input_list(&builder, chain->inputs, chain->n_inputs);
    builder_attr(&builder, STR("ops"), &ops_value);
    builder_attr(&builder, STR("args"), &args_value);
    Node *fused;
    TRY(builder_finish(&builder, &fused));
    fused->output_shapes[0] = root->output_shapes[0];
    return graph_replace_output((Output){root, 0}, (Output){fused, 0});
}

Status *pass_fuse(Draft *draft) {
    size_t n;
    Node **order = malloc((draft->graph->nodes.n + 1) * sizeof *order);
    NEED_MEMORY(order);
    Status *status = graph_order(draft->graph, order, &n);
    for (size_t i = 0; !status && i < n; i++)
        order[i]->mark = 0;
    // Readers first, so that a chain begins at its end.
    for (size_t i = n; !status && i--;) {
        Node *root = order[i];
        if (root->mark || draft_is_target(draft, root) || !root->uses.n || !is_fusible(draft, root))
            continue;
        Chain chain = {0};
        if (!collect(draft, &chain, root, root, 0) || chain.n_steps < 2)
            continue;
        for (int s = 0; s < chain.n_steps; s++)
            chain.steps[s]->mark = 1;
        status = make_fused(draft, &chain, root);
    }
    free(order);
    return status;
}
