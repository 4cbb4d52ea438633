// Control-dependency pruning, second part — removes control edges that other edges imply: from a node whose value is
// read anyway, twice from the same node, or from a node that another predecessor has waited for already. And passes over
// nodes that somebody waits for though nobody reads them: a gradient of TensorFlow's Python is waited for together with
// its siblings, wanted or not.
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

static void mark_before(const Node *node, int32_t mark) {
    for (int i = 0; i < node->n_inputs; i++)
        node->inputs[i].node->mark = mark;
    for (int i = 0; i < node->n_controls; i++)
        node->controls[i]->mark = mark;
}

// Marks what a node reads, and what comes before that and before what it waits for: a group of ten thousand
// initialisers is looked through once, not once for each.
static void mark_implied(const Node *node, int32_t mark) {
    for (int i = 0; i < node->n_inputs; i++)
        if (is_plain(node->inputs[i].node))
            mark_before(node->inputs[i].node, mark);
    for (int i = 0; i < node->n_controls && node->n_controls > 1; i++)  // none comes before itself
        if (is_plain(node->controls[i]))
            mark_before(node->controls[i], mark);
    for (int i = 0; i < node->n_inputs; i++)
        node->inputs[i].node->mark = mark;
}

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

// Fed values are there from the start, but in a partial run: nobody waits for them.
static bool is_feed(const Draft *draft, const Node *node) {
    for (int i = 0; i < draft->n_feeds && !draft->options->partial; i++)
        if (draft->feeds[i] == node)
            return true;
    return false;
}

// An alias costs nothing, and may be there to check.
bool control_may_pass_over(const Draft *draft, const Node *node) {
    const Op *op = node_op(node);
    if (!op || node_is_stateful(node) || op->alias || op->flow != FLOW_NONE || !node->n_outputs ||
        draft_is_target(draft, node) || node->n_inputs + node->n_controls > MOST_WAITS)
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

// Only read by others that are passed over.
static bool is_unread(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].input != CONTROL && !node->uses.p[i].node->mark)
            return false;
    return node->uses.n > 0;
}

static Status *wait_for_inputs(const Draft *draft, Node *node, Node *waiting) {
    for (int i = 0; i < node->n_inputs; i++)
        if (!waits_for(waiting, node->inputs[i].node) && !is_feed(draft, node->inputs[i].node))
            TRY(node_add_control(waiting, node->inputs[i].node));
    for (int i = 0; i < node->n_controls; i++)
        if (!waits_for(waiting, node->controls[i]))
            TRY(node_add_control(waiting, node->controls[i]));
    return OK;
}

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
