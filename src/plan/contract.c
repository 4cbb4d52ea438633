// Contract — convolutions and products take in what follows them, sums and updates of variables the products before them:
// one node, which goes over its output once.
//
// Which ops can, and what they take, the ops say themselves (Op.contraction, Op.intake). Here is what holds for all: a node
// joins where it is the only reader of the one before it, on the same device, and where nothing else waits for either.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/pass.h"

enum { MOST_TAKEN = 4 };

bool draft_is_target(const Draft *draft, const Node *node) {
    for (int i = 0; i < draft->n_targets; i++)
        if (draft->targets[i] == node)
            return true;
    return false;
}

// The node that alone reads `node`, once; NULL where others do, or wait for it.
static Node *only_reader(const Draft *draft, const Node *node) {
    if (node->n_outputs != 1 || node->uses.n != 1 || node->uses.p[0].index == CONTROL || draft_is_target(draft, node))
        return NULL;
    return node->uses.p[0].node;
}

// Somebody waits for the node itself, not for its value.
static bool is_waited_for(const Draft *draft, const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == CONTROL)
            return true;
    return draft_is_target(draft, node);
}

static int collect(const Draft *draft, Node *root, Node *chain[MOST_TAKEN]) {
    const Contraction *contraction = node_op(root)->contraction;
    int n = 1;
    chain[0] = root;
    while (n < MOST_TAKEN) {
        Node *next = only_reader(draft, chain[n - 1]);
        if (!next || next->n_controls || next->n_outputs != 1 || !str_equal(next->device, root->device) ||
            !contraction->takes(chain, n, next))
            break;
        chain[n++] = next;
    }
    while (n > 1 && is_waited_for(draft, chain[n - 1]))
        n--;
    return n;
}

static Status *contract(Draft *draft, Node *const *chain, int n) {
    const Contraction *contraction = node_op(chain[0])->contraction;
    Node *last = chain[n - 1], *made;
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, draft->graph, str_of(contraction->op),
                 str_format(&arena, "%.*s/_contracted", STR_ARGS(chain[0]->name)));
    builder_device(&builder, chain[0]->device);
    for (int i = 0; i < chain[0]->n_controls; i++)
        builder_control(&builder, chain[0]->controls[i]);
    TRY(contraction->write(&builder, chain, n));
    TRY(builder_finish(&builder, &made));
    made->output_shapes[0] = last->output_shapes[0];
    return graph_replace_output((Output){last, 0}, (Output){made, 0});
}

// ---------------------------------------- what comes before

static bool joins(const Draft *draft, const Node *node, const Intake *intake, int first, int n) {
    for (int i = first; i < first + n; i++) {
        const Node *before = node->inputs[i].node;
        if (only_reader(draft, before) != node || !str_equal(before->device, node->device) || !intake->takes(node, before))
            return false;
    }
    return n > 0;
}

// Somebody may wait for the node: it stays, and becomes what stands for all.
static Status *take_in(Draft *draft, Node *node, const Intake *intake, int first, int n) {
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    Node *made;
    builder_init(&builder, draft->graph, str_of(intake->op), str_format(&arena, "%.*s/_contracted", STR_ARGS(node->name)));
    builder_device(&builder, node->device);
    for (int i = 0; i < node->n_controls; i++)
        builder_control(&builder, node->controls[i]);
    for (int i = first; i < first + n; i++)
        for (int j = 0; j < node->inputs[i].node->n_controls; j++)
            builder_control(&builder, node->inputs[i].node->controls[j]);
    TRY(intake->write(&builder, node));
    TRY(builder_finish(&builder, &made));
    graph_swap_nodes(node, made);
    graph_remove(made);
    return OK;
}

static Status *try_intake(Draft *draft, Node *node) {
    const Intake *intake = node_op(node)->intake;
    int first, n;
    if (node_input_arg(node, str_of(intake->input), &first, &n) < 0 || !joins(draft, node, intake, first, n))
        return OK;
    return take_in(draft, node, intake, first, n);
}

Status *pass_contract(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *root = draft->graph->nodes.p[i], *chain[MOST_TAKEN];
        if (!root || !node_op(root) || (!node_op(root)->contraction && !node_op(root)->intake))
            continue;
        const Device *device = device_set_find(draft->options->devices, root->device);
        if (!device || !device->type->host)
            continue;
        if (node_op(root)->intake)
            TRY(try_intake(draft, root));
        if (!node_op(root)->contraction)
            continue;
        int taken = collect(draft, root, chain);
        if (taken > 1)
            TRY(contract(draft, chain, taken));
    }
    return OK;
}
