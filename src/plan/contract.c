// Contract — convolutions, products and batch norms take in what follows them; sums and updates of variables the
// products before them, gradients of batch norms the relu's: one node, which goes over its output once.
//
// Which ops can, and what they take, the ops say themselves (Op.contraction, Op.intake). Here is what holds for all: a
// node joins where it is the only reader of the one before it, on the same device, and where nothing else waits for
// either.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/pass.h"

enum { MOST_TAKEN = 4 };

// The node that alone reads that output of `node`, once; NULL where others do, or wait for it. `others`: it may have
// more outputs, which anybody reads.
static Node *only_reader(const Draft *draft, const Node *node, int output, bool others) {
    Node *reader = NULL;
    if ((node->n_outputs != 1 && !others) || draft_is_target(draft, node))
        return NULL;
    for (size_t i = 0; i < node->uses.n; i++) {
        const Use *use = &node->uses.p[i];
        if (use->index == CONTROL || (use->index == output && reader))
            return NULL;
        if (use->index == output)
            reader = use->node;
    }
    return reader;
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
        Node *next = only_reader(draft, chain[n - 1], n == 1 ? node_op(root)->contracted_output : 0, n == 1);
        if (!next || next->n_controls || next->n_outputs != 1 || !str_equal(next->device, root->device) ||
            !contraction->takes(chain, n, next))
            break;
        chain[n++] = next;
    }
    while (n > 1 && draft_is_target(draft, chain[n - 1]))
        n--;
    return n;
}

// ---------------------------------------- what would close a cycle

// Whether `from` depends on `on`. `stack` has room for all nodes, whose marks are 0 or, where this has been, 1.
static bool depends_on(Node *from, const Node *on, Node **stack) {
    size_t n = 0;
    stack[n++] = from;
    from->mark = 1;
    while (n) {
        Node *node = stack[--n];
        if (node == on)
            return true;
        for (int i = 0; i < node->n_inputs + node->n_controls; i++) {
            Node *before = i < node->n_inputs ? node->inputs[i].node : node->controls[i - node->n_inputs];
            if (before && !before->mark) {
                before->mark = 1;
                stack[n++] = before;
            }
        }
    }
    return false;
}

// What joins a root that has readers by other outputs must not depend on it in another way than through the chain.
static Status *is_free(const Draft *draft, Node *const *chain, int n, bool *out) {
    const Graph *graph = draft->graph;
    *out = true;
    if (chain[0]->n_outputs == 1)
        return OK;
    if (node_op(chain[0])->contracted_output && draft_has_flow(draft)) {  // output 0 must not die of what only the
                                                                          // others lack
        *out = false;
        return OK;
    }
    Node **stack = malloc((graph->nodes.n + 1) * sizeof *stack);
    NEED_MEMORY(stack);
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = 0;
    for (int i = 1; i < n; i++)
        for (int in = 0; in < chain[i]->n_inputs; in++) {
            Node *from = chain[i]->inputs[in].node;
            if (from != chain[i - 1] && !from->mark)
                *out &= !depends_on(from, chain[0], stack);
        }
    free(stack);
    return OK;
}

// ---------------------------------------- the node in their place

// Who waits for `last` waits for the node that stands for it.
static Status *wait_instead(Node *last, Node *made) {
    for (size_t i = last->uses.n; i--;) {
        Node *waiter = last->uses.p[i].node;
        if (last->uses.p[i].index != CONTROL)
            continue;
        TRY(node_add_control(waiter, made));
        for (int c = waiter->n_controls - 1; c >= 0; c--)
            if (waiter->controls[c] == last)
                node_remove_control(waiter, c);
        i = last->uses.n;
    }
    return OK;
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
    TRY(graph_replace_output((Output){last, 0}, (Output){made, 0}));
    for (int i = 0, to = 1; i < chain[0]->n_outputs; i++)
        if (i != node_op(chain[0])->contracted_output)
            TRY(graph_replace_output((Output){chain[0], i}, (Output){made, to++}));
    return wait_instead(last, made);
}

// ---------------------------------------- what comes before

// Others may wait for `before`, where they can wait for its inputs as well: TensorFlow's Python lets every reader of a
// gradient wait for all gradients of the same node.
static bool alone_reads(const Draft *draft, const Node *node, const Node *before) {
    int readers = 0, waiting = 0;
    for (size_t i = 0; i < before->uses.n; i++) {
        bool waits = before->uses.p[i].index == CONTROL;
        waiting += waits;
        readers += !waits;
        if (!waits && before->uses.p[i].node != node)
            return false;
    }
    return readers == 1 && before->n_outputs == 1 && !draft_is_target(draft, before) &&
           (!waiting || control_may_pass_over(draft, before));
}

static bool joins(const Draft *draft, const Node *node, const Intake *intake, int first, int n) {
    for (int i = first; i < first + n; i++) {
        const Node *before = node->inputs[i].node;
        if (!alone_reads(draft, node, before) || !str_equal(before->device, node->device) ||
            !intake->takes(node, before))
            return false;
    }
    return n > 0;
}

// Somebody may wait for the node: it stays, and becomes what stands for all.
static Status *take_in(Draft *draft, Node *node, const Intake *intake, int first, int n) {
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    Node *made;
    builder_init(&builder, draft->graph, str_of(intake->op), str_format(&arena, "%.*s/_contracted",
                                                                        STR_ARGS(node->name)));
    builder_device(&builder, node->device);
    for (int i = first; i < first + n; i++)
        if (is_waited_for(draft, node->inputs[i].node))
            TRY(control_pass_over(draft, node->inputs[i].node));
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
    int first, n;
    for (const Intake *intake = node_op(node)->intake; intake; intake = intake->other)
        if (draft_has_kernel(draft, node, intake->op) && node_input_arg(node, str_of(intake->input), &first, &n) >= 0 &&
            joins(draft, node, intake, first, n))
            return take_in(draft, node, intake, first, n);
    return OK;
}

Status *pass_contract(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *root = draft->graph->nodes.p[i], *chain[MOST_TAKEN];
        if (!root || !node_op(root) || (!node_op(root)->contraction && !node_op(root)->intake))
            continue;
        if (node_op(root)->intake)
            TRY(try_intake(draft, root));
        if (!node_op(root)->contraction || !draft_has_kernel(draft, root, node_op(root)->contraction->op))
            continue;
        int taken = collect(draft, root, chain);
        bool good = true;
        if (taken > 1)
            TRY(is_free(draft, chain, taken, &good));
        if (taken > 1 && good)
            TRY(contract(draft, chain, taken));
    }
    return OK;
}
