// Control-dependency pruning, first part — removes control dependencies that have no observable effect. TensorFlow's
// Python ties the gradients of a node together: whoever reads one waits for all, by identities behind a NoOp. That
// holds gradients back from the variables that they change.
//
// 1. Who reads an identity that waits reads its input and waits itself. 2. Who waits for a NoOp waits for what that
// waits for. 3. A calculation that waits for a calculation needn't: only for what of its past has a state, and is not
// of the waiter's own past anyway. An update still waits, so that who reads the variable has read it. 4. Where
// constants wait, their readers do instead, so that what depends on constants alone can be folded.
//
// Plans with control flow stay as they are: deadness travels along waits. So do those of partial runs, whose feeds come
// in parts.
#include <stdlib.h>

#include "plan/pass.h"

// Each rewriting replaces one wait by several. MOST bounds how many, since a group of n that waits for a group of m
// would become n * m edges. WORK bounds the walks through the past together: beyond it edges stay, which is always
// correct.
enum { MOST = 16, WORK = 1 << 24 };    // waits that take the place of one; nodes looked at in all

// Gives, whenever it runs, the same for the same inputs: no state is read or changed. A resource or a reference among
// its inputs counts as state even where the op has none of its own: reading it is what the waits put in order.
static bool is_pure(const Node *node) {
    const Op *op = node_op(node);
    if (!op || node_is_stateful(node) || op->start || op->update || op->replace || op->read ||
        op->flow != FLOW_NONE || node->is_target)
        return false;
    for (int i = 0; i < node->n_inputs; i++) {
        DType dtype = node->inputs[i].node ? node->inputs[i].node->output_types[node->inputs[i].index] : DT_resource;
        if (dtype_is_ref(dtype) || dtype == DT_resource)
            return false;
    }
    for (int i = 0; i < node->n_outputs; i++)
        if (dtype_is_ref(node->output_types[i]) || node->output_types[i] == DT_resource)
            return false;
    return node->n_outputs > 0;
}

// Another name for its input, of shapes that are known and so have been checked.
static bool is_checked_alias(const Node *node) {
    return op_only_renames(node_op(node)) && shape_is_known(&node->output_shapes[0]) &&
           shape_is_known(&node->inputs[0].node->output_shapes[node->inputs[0].index]);
}

// An alias that could fail (a reshape to a shape that isn't known yet) counts as an effect: it may be there to check,
// and who waits for it relies on the check.
static bool is_calculation(const Node *node) {
    return is_pure(node) && (!node_op(node)->alias || is_checked_alias(node));
}

// All of them: an edge may be there twice, since builders add what they are given.
static void stop_waiting(Node *node, const Node *before) {
    for (int c = node->n_controls - 1; c >= 0; c--)
        if (node->controls[c] == before)
            node_remove_control(node, c);
}

// ---------------------------------------- identities and NoOps

// An identity with control inputs, which is how Python writes "this value, but after that" (tf.control_dependencies,
// with_dependencies). One that crosses devices stays, as the copy happens there, and so does one of a reference, whose
// readers read the variable when they run.
static bool is_passing(const Node *node) {
    const Op *op = node_op(node);
    if (!op || !(op->flags & OP_IDENTITY) || node->n_inputs != 1 || node->n_outputs != 1 || !node->n_controls ||
        node->n_controls > MOST || node->is_target || dtype_is_ref(node->output_types[0]) ||
        dtype_is_ref(node->inputs[0].node->output_types[node->inputs[0].index]) ||
        draft_moves(node))
        return false;
    for (size_t i = 0; i < node->uses.n; i++)
        if (node_flow(node->uses.p[i].node) != FLOW_NONE)
            return false;
    return node->uses.n > 0;
}

// Edges that double are left: the reduction in control.c, which comes next, removes them.
static Status *wait_instead_of(Node *waiter, const Node *like) {
    for (int c = 0; c < like->n_controls; c++)
        TRY(node_add_control(waiter, like->controls[c]));
    return OK;
}

// The last use first: each turn takes one off the list. Who waited for the identity waits for its input as well, since
// the identity ran after that.
static Status *pass_by(Node *identity) {
    while (identity->uses.n > 0) {
        Use use = identity->uses.p[identity->uses.n - 1];
        TRY(wait_instead_of(use.node, identity));
        if (use.input == CONTROL) {
            TRY(node_add_control(use.node, identity->inputs[0].node));
            stop_waiting(use.node, identity);
        } else {
            TRY(node_set_input(use.node, use.input, identity->inputs[0]));
        }
    }
    graph_remove(identity);
    return OK;
}

// A NoOp in all but name: nothing in, nothing out, no effect. tf.group and tf.gradients make them.
static bool is_relay(const Node *node) {
    const Op *op = node_op(node);
    return op && !node->n_inputs && !node->n_outputs && node->n_controls && node->n_controls <= MOST &&
           !node_is_stateful(node) && !op->start && op->flow == FLOW_NONE && !node->is_target;
}

static Status *bypass(Node *noop) {
    while (noop->uses.n > 0) {
        Node *waiter = noop->uses.p[noop->uses.n - 1].node;
        TRY(wait_instead_of(waiter, noop));
        stop_waiting(waiter, noop);
    }
    graph_remove(noop);
    return OK;
}

// ---------------------------------------- calculations that wait for calculations

// One stack and one counter of marks for all walks: a mark not less than the walk's own number says "seen", so no walk
// has to clear the graph after the one before it.
typedef struct {
    Draft *draft;
    Node **stack;        // room for all nodes
    int64_t work;
    int32_t mark;        // of the nodes that the last walk has seen
} Walk;

// Each node enters the stack once for a mark, so it never holds more than all nodes.
static bool push(Walk *walk, size_t *n, Node *node, int32_t mark) {
    if (!node || node->mark >= mark)
        return false;
    node->mark = mark;
    walk->stack[(*n)++] = node;
    walk->work--;
    return true;
}

static void push_past(Walk *walk, size_t *n, const Node *node, const Node *except, int32_t mark) {
    for (int i = 0; i < node->n_inputs; i++)
        push(walk, n, node->inputs[i].node, mark);
    for (int i = 0; i < node->n_controls; i++)
        if (node->controls[i] != except)
            push(walk, n, node->controls[i], mark);
}

// Marks the past of `node`, but not what it merely waits for `except` for: whether that wait may go is the question.
static void mark_past(Walk *walk, Node *node, const Node *except, int32_t mark) {
    size_t n = 0;
    node->mark = mark;
    push_past(walk, &n, node, except, mark);
    while (n && walk->work > 0)
        push_past(walk, &n, walk->stack[--n], NULL, mark);
}

// What of the past of `before` has a state and is not of the past of `node`: the waits that have to stay when the wait
// for `before` goes. -1: too many, or too far to look. The walk ends at each node with a state: what lies behind one
// has been waited for by waiting for it.
static int what_counts(Walk *walk, Node *node, Node *before, Node *found[MOST]) {
    size_t n = 0;
    int count = 0;
    int32_t own = ++walk->mark;
    mark_past(walk, node, before, own);
    push(walk, &n, before, own);
    while (n && walk->work > 0) {
        Node *past = walk->stack[--n];
        if (is_calculation(past)) {
            push_past(walk, &n, past, NULL, own);
            continue;
        }
        // What is fed, and constants, are there from the start.
        if (node_flow(past) == FLOW_ARG || past->value)
            continue;
        if (count == MOST)
            return -1;
        found[count++] = past;
    }
    return walk->work > 0 ? count : -1;
}

// A gradient then waits for the reads of variables and the random numbers behind its sibling, not for its arithmetic,
// and the update of a variable can follow its gradient at once. Without this all gradients of a model live until the
// last.
static Status *loosen(Walk *walk, Node *node) {
    for (int c = node->n_controls - 1; c >= 0 && walk->work > 0; c--) {
        Node *before = node->controls[c], *found[MOST];
        if (!is_calculation(before))
            continue;
        int n = what_counts(walk, node, before, found);
        if (n < 0)
            continue;
        node_remove_control(node, c);
        for (int i = 0; i < n; i++)
            TRY(node_add_control(node, found[i]));
        // What was added stands at the end, and has no calculation in it to look at.
        c = c < node->n_controls ? c : node->n_controls;
    }
    return OK;
}

// ---------------------------------------- constants that wait

// So few steps deep that the pass stays linear: shapes, axes and fill values are made of constants in two or three.
static bool is_constant(Walk *walk, const Node *node, int depth) {
    if (node->value)
        return true;
    if (!depth || --walk->work <= 0 || !is_calculation(node) || node->n_outputs != 1)
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (!is_constant(walk, node->inputs[i].node, depth - 1))
            return false;
    return true;
}

// Those that read a constant wait for what it waits for, where they don't anyway. What Python makes under
// control_dependencies has control inputs, constants too; a node that waits isn't folded, nor is what depends on it.
static Status *move_to_readers(Walk *walk, Node *node) {
    for (size_t i = 0; i < node->uses.n; i++) {
        Node *reader = node->uses.p[i].node;
        int32_t own = node->mark = ++walk->mark;  // the way through the constant doesn't count
        mark_past(walk, reader, node, own);
        if (walk->work <= 0)
            return OK;
        for (int c = 0; c < node->n_controls; c++)
            if (node->controls[c]->mark < own)
                TRY(node_add_control(reader, node->controls[c]));
    }
    // Only when every reader has its waits: where the bound on the work ended the loop, the constant keeps its own.
    while (node->n_controls > 0)
        node_remove_control(node, node->n_controls - 1);
    return OK;
}

// In topological order, so that readers that are constants themselves pass on what they were given.
static Status *free_constants(Walk *walk) {
    enum { DEPTH = 4 };
    size_t n;
    Graph *graph = walk->draft->graph;
    Node **order = malloc((graph->nodes.n + 1) * sizeof *order);
    NEED_MEMORY(order);
    Status *status = graph_order(graph, order, &n);
    for (size_t i = 0; !status && i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = 0;
    walk->mark = 0;
    for (size_t i = 0; !status && i < n && walk->work > 0; i++)
        if (order[i]->n_controls && order[i]->uses.n && is_constant(walk, order[i], DEPTH))
            status = move_to_readers(walk, order[i]);
    free(order);
    return status;
}

// In the order of the graph's list: which edges go doesn't depend on the order, except where WORK ends it.
static Status *loosen_all(Draft *draft) {
    size_t total = draft->graph->nodes.n;
    Walk walk = {.draft = draft, .work = WORK, .stack = malloc((total + 1) * sizeof *walk.stack)};
    NEED_MEMORY(walk.stack);
    for (size_t i = 0; i < total; i++)
        if (draft->graph->nodes.p[i])
            draft->graph->nodes.p[i]->mark = 0;
    Status *status = OK;
    for (size_t i = 0; i < total && !status; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (node && node->n_controls && is_pure(node))
            status = loosen(&walk, node);
    }
    if (!status)
        status = free_constants(&walk);
    free(walk.stack);
    return status;
}

Status *pass_control_prune(Draft *draft) {
    if (draft->options->partial || draft_has_flow(draft))
        return OK;
    size_t n = draft->graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (node && is_passing(node))
            TRY(pass_by(node));
    }
    for (size_t i = 0; i < n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (node && is_relay(node))
            TRY(bypass(node));
    }
    return loosen_all(draft);
}
