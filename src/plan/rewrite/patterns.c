// Pattern fusion — a node and its neighbours become one node, which goes over its output once: convolutions and products
// with the bias, sum and activation behind them, updates of variables with the products that are their gradients.
//
// Which, the rewrites say (REWRITE_FUSE_READERS, REWRITE_FUSE_PRODUCERS). Here is what holds for all: a node joins where
// it is the only reader of the one before it, on the same device, and where nothing else waits for either.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/rewrite/rewrite.h"

// Of a match, the root among them: the longest is a convolution with bias, sum and activation.
enum { MOST_READERS = 4 };  // of a match, the root among them

// The node that alone reads that output of `node`, once; NULL where others do, or wait for it: a fused value isn't
// there for them any more. `others`: it may have more outputs, which anybody reads.
static Node *only_reader(const Node *node, int output, bool others) {
    Node *reader = NULL;
    if ((node->n_outputs != 1 && !others) || node->is_target)
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
static bool is_waited_for(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == CONTROL)
            return true;
    return node->is_target;
}

// The root and what alone reads it, one after another: as many as may join. A target in the middle ends the match, as
// its own value is asked for; only the last one's stays visible.
static int collect_readers(const Rewrite *rewrite, Node *nodes[MOST_READERS]) {
    Match match = {nodes, 1};
    while (match.n < MOST_READERS) {
        Node *next = only_reader(nodes[match.n - 1], match.n == 1 ? rewrite->output : 0, match.n == 1);
        if (!next || next->n_controls || next->n_outputs != 1 || next->placed != nodes[0]->placed ||
            !rewrite->takes(&match, next))
            break;
        nodes[match.n++] = next;
    }
    while (match.n > 1 && nodes[match.n - 1]->is_target)
        match.n--;
    return match.n;
}

// ---------------------------------------- what would close a cycle

// Whether `from` depends on `on`: then joining them would close a cycle. `stack` has room for all nodes, whose marks
// are 0 or, where this has been, 1; marks stay between calls, so that all inputs of a match together cost one walk.
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

// What joins a root that has readers by other outputs must not depend on it in another way than through the match: its
// other input could come from such a reader, and the fused node would wait for itself.
static Status *is_free(const Draft *draft, const Rewrite *rewrite, const Match *match, bool *out) {
    const Graph *graph = draft->graph;
    const Node *root = match->nodes[0];
    *out = true;
    if (root->n_outputs == 1)
        return OK;
    if (rewrite->output && draft_has_flow(draft)) {  // output 0 must not die of what only the others lack
        *out = false;
        return OK;
    }
    Node **stack = malloc((graph->nodes.n + 1) * sizeof *stack);
    NEED_MEMORY(stack);
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = 0;
    for (int i = 1; i < match->n; i++)
        for (int in = 0; in < match->nodes[i]->n_inputs; in++) {
            Node *from = match->nodes[i]->inputs[in].node;
            if (from != match->nodes[i - 1] && !from->mark)
                *out &= !depends_on(from, root, stack);
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

// The new node waits for all that its parts waited for; so it may run later than the first part did, never earlier.
static Status *build(const Draft *draft, const Rewrite *rewrite, const Match *match, Node **out) {
    AUTO(builder) NodeBuilder builder;
    rewrite_begin(&builder, draft, match->nodes[0], rewrite, "_fused");
    for (int i = 0; i < match->n; i++)
        for (int c = 0; c < match->nodes[i]->n_controls; c++)
            builder_control(&builder, match->nodes[i]->controls[c]);
    TRY(rewrite->write(&builder, match));
    return builder_finish(&builder, out);
}

// The result keeps the last reader's shape, and the root's other outputs follow output 0 in their order.
static Status *fuse_readers(Draft *draft, Node *root, const Rewrite *rewrite) {
    Node *nodes[MOST_READERS] = {root}, *made;
    Match match = {nodes, collect_readers(rewrite, nodes)};
    bool good = match.n > 1;
    if (good)
        TRY(is_free(draft, rewrite, &match, &good));
    if (!good)
        return OK;
    Node *last = nodes[match.n - 1];
    TRY(build(draft, rewrite, &match, &made));
    made->output_shapes[0] = last->output_shapes[0];
    TRY(graph_replace_output((Output){last, 0}, (Output){made, 0}));
    for (int i = 0, to = 1; i < root->n_outputs; i++)
        if (i != rewrite->output)
            TRY(graph_replace_output((Output){root, i}, (Output){made, to++}));
    return wait_instead(last, made);
}

// ---------------------------------------- producers

// Others may wait for `before`, where they can wait for its inputs as well: TensorFlow's Python lets every reader of a
// gradient wait for all gradients of the same node (control_flow_ops.tuple), and no gradient would ever join its
// update.
static bool alone_reads(const Draft *draft, const Node *node, const Node *before) {
    int readers = 0, waiting = 0;
    for (size_t i = 0; i < before->uses.n; i++) {
        bool waits = before->uses.p[i].index == CONTROL;
        waiting += waits;
        readers += !waits;
        if (!waits && before->uses.p[i].node != node)
            return false;
    }
    return readers == 1 && before->n_outputs == 1 && !before->is_target &&
           (!waiting || control_may_pass_over(draft, before));
}

// The root and the producers of the argument's inputs, if all may join. `nodes` has room for them.
static int collect_producers(const Draft *draft, const Rewrite *rewrite, Node **nodes, int first, int n) {
    Node *root = nodes[0];
    for (int i = 0; i < n; i++) {
        Node *before = root->inputs[first + i].node;
        Match match = {nodes, 1 + i};
        if (!alone_reads(draft, root, before) || before->placed != root->placed ||
            !rewrite->takes(&match, before))
            return 1;
        nodes[1 + i] = before;
    }
    return 1 + n;
}

// Somebody may wait for the root: it stays, and becomes what stands for all.
static Status *fuse_producers(Draft *draft, Node *root, const Rewrite *rewrite, bool *out_any) {
    int first, n;
    if (node_input_arg(root, str_of(rewrite->input), &first, &n) < 0)
        return OK;
    AUTO(arena) Arena arena = {0};
    Node **nodes = ARENA_ARRAY(&arena, Node *, n + 1), *made;
    NEED_MEMORY(nodes);
    nodes[0] = root;
    Match match = {nodes, collect_producers(draft, rewrite, nodes, first, n)};
    if (match.n == 1)
        return OK;
    for (int i = 1; i < match.n; i++)
        if (is_waited_for(nodes[i]))
            TRY(control_pass_over(draft, nodes[i]));
    TRY(build(draft, rewrite, &match, &made));
    graph_swap_nodes(root, made);
    graph_remove(made);
    *out_any = true;
    return OK;
}

// Producers first: an update of a variable takes in the product that is its gradient, which is worth more than what the
// product could take in itself. The first rewrite that matches wins, in the order of the table.
static Status *fuse_at(Draft *draft, Node *root) {
    const Rewrite *rewrite;
    bool any = false;
    for (int at = 0; !any && (rewrite = rewrite_next(draft, root, REWRITE_FUSE_PRODUCERS, &at));)
        if (rewrite_has_kernel(root, rewrite))
            TRY(fuse_producers(draft, root, rewrite, &any));
    for (int at = 0; !any && (rewrite = rewrite_next(draft, root, REWRITE_FUSE_READERS, &at));)
        if (rewrite_has_kernel(root, rewrite))
            return fuse_readers(draft, root, rewrite);
    return OK;
}

// In the graph's order: nodes of before only. What a match makes is not matched again in this pass.
Status *pass_patterns(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *root = draft->graph->nodes.p[i];
        if (root && root->type->rewrites)
            TRY(fuse_at(draft, root));
    }
    return OK;
}
