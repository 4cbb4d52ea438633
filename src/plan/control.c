// Control-dependency pruning, second part — a transitive reduction of the control edges, bounded to two steps.
//
// Removed are control edges that other edges imply: from a node whose value is read anyway, twice from the same node,
// or from a node that another predecessor has waited for already. And nodes that somebody waits for though nobody reads
// them are passed over: tf.gradients groups all gradients of a node in a NoOp, so that a step which wants one of them
// computes its siblings too. Order is kept: who waited for a node waits for what that waited for.
#include "plan/pass.h"

static bool waits_for(const Node *node, const Node *before) {
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node == before)
            return true;
    for (int i = 0; i < node->n_controls; i++)
        if (node->controls[i] == before)
            return true;
    return false;
}

// Deadness travels along control edges, so what control flow feeds is left alone.
static bool is_plain(const Node *node) {
    return node_flow(node) == FLOW_NONE;
}

// Marks are positions of waiting nodes, which only grow during the walk: an older mark counts as none, so nothing has
// to be cleared between two nodes.
static void mark_before(const Node *node, int32_t mark) {
    for (int i = 0; i < node->n_inputs; i++)
        node->inputs[i].node->mark = mark;
    for (int i = 0; i < node->n_controls; i++)
        node->controls[i]->mark = mark;
}

// Marks what a node reads, and what comes before that and before what it waits for. Two steps back and no further: a
// full reduction costs a walk of the graph for each edge, and what Python writes (groups of groups) is found in two. A
// mark is set once for a group of ten thousand initialisers, where asking each pair would take 10^8 looks.
static void mark_implied(const Node *node, int32_t mark) {
    for (int i = 0; i < node->n_inputs; i++)
        if (is_plain(node->inputs[i].node))
            mark_before(node->inputs[i].node, mark);
    for (int i = 0; i < node->n_controls && node->n_controls > 1; i++)  // none comes before itself
        if (is_plain(node->controls[i]))
            mark_before(node->controls[i], mark);
    // Last, and without asking for flow: a value that is read has been waited for by reading it.
    for (int i = 0; i < node->n_inputs; i++)
        node->inputs[i].node->mark = mark;
}

// Backwards, since node_remove_control moves the edges behind the one that goes.
static void drop_implied(Node *node, int32_t mark) {
    if (!is_plain(node))
        return;
    mark_implied(node, mark);
    for (int c = node->n_controls - 1; c >= 0; c--)
        if (node->controls[c]->mark == mark && is_plain(node->controls[c]))
            node_remove_control(node, c);
}

// ---------------------------------------- nodes that are only waited for

enum { MOST_WAITS = 16 };  // in place of one

// Fed values are there from the start, so nobody has to wait for them. In a partial run they come in later calls, and a
// wait for one is real.
static bool is_feed(const Draft *draft, const Node *node) {
    for (int i = 0; i < draft->n_feeds && !draft->options->partial; i++)
        if (draft->feeds[i] == node)
            return true;
    return false;
}

// Whether nobody can tell if the node has run: no state, no second name for memory, no effect. An alias costs nothing
// to run and may be there to check (EnsureShape). One neighbour of control flow is enough to keep the node: control
// edges carry deadness, and a waiter that lost them would run in the branch not taken.
bool control_may_pass_over(const Draft *draft, const Node *node) {
    const Op *op = node_op(node);
    if (!op || node_is_stateful(node) || op->alias || op->flow != FLOW_NONE || !node->n_outputs ||
        node->is_target || node->n_inputs + node->n_controls > MOST_WAITS)
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (!node->inputs[i].node ||
            (!is_plain(node->inputs[i].node) && !is_feed(draft, node->inputs[i].node)))
            return false;
    for (int i = 0; i < node->n_controls; i++)
        if (!is_plain(node->controls[i]))
            return false;
    for (size_t i = 0; i < node->uses.n; i++)
        if (!is_plain(node->uses.p[i].node))
            return false;
    return true;
}

// Only read by others that are passed over: their marks say so, since the walk goes from readers to producers.
static bool is_unread(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].input != CONTROL && !node->uses.p[i].node->mark)
            return false;
    return node->uses.n > 0;
}

// The waiter inherits what the node read and waited for, so that the order in which effects happen stays as written.
static Status *wait_for_inputs(const Draft *draft, Node *node, Node *waiting) {
    for (int i = 0; i < node->n_inputs; i++)
        if (!waits_for(waiting, node->inputs[i].node) && !is_feed(draft, node->inputs[i].node))
            TRY(node_add_control(waiting, node->inputs[i].node));
    for (int i = 0; i < node->n_controls; i++)
        if (!waits_for(waiting, node->controls[i]))
            TRY(node_add_control(waiting, node->controls[i]));
    return OK;
}

// Backwards, and by index again after each removal: taking one control edge away takes a use away, perhaps several of a
// node that waits twice.
Status *control_pass_over(const Draft *draft, Node *node) {
    for (size_t i = node->uses.n; i-- > 0;) {
        if (i >= node->uses.n || node->uses.p[i].input != CONTROL)
            continue;
        Node *waiting = node->uses.p[i].node;
        TRY(wait_for_inputs(draft, node, waiting));
        for (int c = waiting->n_controls - 1; c >= 0; c--)
            if (waiting->controls[c] == node)
                node_remove_control(waiting, c);
    }
    return OK;
}

// From the last node to the first: what only nodes that were passed over read is passed over too.
static Status *pass_over_unread(Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++)
        if (draft->graph->nodes.p[i])
            draft->graph->nodes.p[i]->mark = 0;
    for (size_t i = draft->graph->nodes.n; i-- > 0;) {
        Node *node = draft->graph->nodes.p[i];
        if (!node || !control_may_pass_over(draft, node) || !is_unread(node))
            continue;
        node->mark = 1;
        TRY(control_pass_over(draft, node));
    }
    return OK;
}

// Pruning goes first: it replaces groups by edges between nodes, among which the reduction then finds the implied ones.
Status *pass_control(Draft *draft) {
    TRY(pass_control_prune(draft));
    TRY(pass_over_unread(draft));
    for (size_t i = 0; i < draft->graph->nodes.n; i++)
        if (draft->graph->nodes.p[i])
            draft->graph->nodes.p[i]->mark = -1;
    for (size_t i = 0; i < draft->graph->nodes.n; i++)
        if (draft->graph->nodes.p[i] && draft->graph->nodes.p[i]->n_controls)
            drop_implied(draft->graph->nodes.p[i], (int32_t)i);
    return OK;
}
