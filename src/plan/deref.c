// Deref — where an op reads the value of a reference, the read becomes a node of its own, in front of its reader.
//
// TensorFlow reads a reference when the consumer runs, not when the variable's node does. So each reader gets its own
// read, which waits for all that the reader waits for, and nothing merges them: reading is stateful.
//
// An Identity of a reference is another name for the variable's memory there, so who reads it behind an update sees what
// the update wrote: the token of SyncReplicasOptimizer is such a read of the global step. Here an Identity is a snapshot;
// its readers that wait for an update of the variable read the variable itself instead.
//
// A graph that has Recvs already was cut by a master. In one of TensorFlow's the order of reads and updates may go by way of
// other tasks: there an Identity is that other name, and a Send takes the reference, which is read when the receiver asks
// (variable_read_handle). Masters of ours have made the reads before the cut; their Identities, ".../_read/0", are snapshots.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/pass.h"

// Constants and the like: a wait for one orders nothing, and the pass would add it to every read.
static bool waits_for_nothing(const Node *node) {
    return node->n_inputs == 0 && node->n_controls == 0;
}

// What is fetched is what the variable is in the end: TensorFlow hands out the variable's own memory, which the client
// sees after all updates of the step. Not where there is control flow: an update that does not take place is dead, and
// would take the read that waits for it with it.
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

// The read stands where the variable is, not where its reader is: what crosses devices is then a value.
static Status *read_before(Draft *draft, Node *reader, int input) {
    Output from = reader->inputs[input];
    AUTO(arena) Arena arena = {0};
    Str name = str_format(&arena, "%.*s/_read/%d", STR_ARGS(reader->name), input);
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, draft->graph, STR("_ReadRef"), name);
    builder_place(&builder, from.node);
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

// ---------------------------------------- behind updates

// OP_REF_READ: takes a reference, but only to look (IsVariableInitialized).
static bool updates(const Use *use) {
    return use->input >= 0 && node_input_is_ref(use->node, use->input) && !(node_op(use->node)->flags & OP_REF_READ);
}

// An Identity that hands the reference's value on, as `variable.read_value()` and `ref()` of V1 graphs write it.
static bool names_variable(const Use *use) {
    return use->input == 0 && !node_input_is_ref(use->node, 0) && node_op(use->node) &&
           (node_op(use->node)->flags & OP_IDENTITY);
}

// Marks all that comes after an update of the variable with its number; `*left` bounds how many nodes are looked at, so
// that many variables in a large graph don't make the pass quadratic.
static void mark_after_updates(const Node *variable, int32_t number, Node **stack, size_t *left) {
    size_t n = 0;
    for (size_t i = 0; i < variable->uses.n; i++) {
        Node *node = variable->uses.p[i].node;
        if (updates(&variable->uses.p[i]) && node->mark != number) {
            node->mark = number;
            stack[n++] = node;
        }
    }
    while (n && *left) {
        const Node *node = stack[--n];
        for (size_t i = 0; i < node->uses.n; i++) {
            Node *next = node->uses.p[i].node;
            if (next->mark != number) {
                next->mark = number;
                stack[n++] = next;
                *left -= *left > 0;
            }
        }
    }
}

// Gives the marked readers of the name the variable itself.
static Status *read_variable(Node *name, int32_t number) {
    Output variable = name->inputs[0];
    for (size_t i = name->uses.n; i-- > 0;) {
        Use use = name->uses.p[i];
        if (use.index == 0 && use.node->mark == number && node_flow(use.node) != FLOW_RETVAL)
            TRY(node_set_input(use.node, use.input, variable));
    }
    return OK;
}

// One update that itself comes before the name changes nothing behind it: the snapshot is taken afterwards anyway.
static Status *look_at_variable(Node *variable, int32_t number, Node **stack, size_t *left) {
    int n_updates = 0, n_names = 0;
    for (size_t i = 0; i < variable->uses.n; i++) {
        n_updates += updates(&variable->uses.p[i]);
        n_names += names_variable(&variable->uses.p[i]);
    }
    if (!n_updates || !n_names)
        return OK;
    mark_after_updates(variable, number, stack, left);
    for (size_t i = variable->uses.n; i-- > 0;) {
        Use use = variable->uses.p[i];
        if (names_variable(&use) && (n_updates > 1 || use.node->mark != number))
            TRY(read_variable(use.node, number));
    }
    return OK;
}

// By its looks, not its op's name: no input and one output that is a reference (VariableV2, TemporaryVariable).
static bool is_variable(const Node *node) {
    return node && !node->n_inputs && node->n_outputs == 1 && dtype_is_ref(node->output_types[0]);
}

static Status *read_behind_updates(Draft *draft) {
    enum { LOOKS = 64 };  // at each node, on average: beyond that values are those of the Identity
    const Graph *graph = draft->graph;
    size_t n = graph->nodes.n, left = LOOKS * n, n_variables = 0;
    for (size_t i = 0; i < n; i++) {
        n_variables += is_variable(graph->nodes.p[i]);
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = 0;
    }
    if (!n_variables)
        return OK;
    Node **stack = malloc((n + 1) * sizeof *stack);
    NEED_MEMORY(stack);
    Status *status = OK;
    for (size_t i = 0; i < n && left && !status; i++)
        if (is_variable(graph->nodes.p[i]))
            status = look_at_variable(graph->nodes.p[i], (int32_t)i + 1, stack, &left);
    free(stack);
    return status;
}

// Not around control flow: moving a read from the Identity to its reader could move it into another frame or branch.
// ---------------------------------------- graphs that were cut elsewhere

static bool is_cut(const Graph *graph) {
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i] && node_flow(graph->nodes.p[i]) == FLOW_RECV)
            return true;
    return false;
}

static bool is_snapshot(const Node *name) {
    static const char mark[] = "/_read/";
    size_t n = sizeof mark - 1;
    for (size_t i = 0; i + n <= name->name.n; i++)
        if (!memcmp(name->name.p + i, mark, n))
            return true;
    return false;
}

static Status *read_through_names(const Graph *graph) {
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *variable = graph->nodes.p[i];
        for (size_t v = is_variable(variable) ? variable->uses.n : 0; v-- > 0;) {
            Use named = variable->uses.p[v];
            for (size_t u = names_variable(&named) && !is_snapshot(named.node) ? named.node->uses.n : 0; u-- > 0;) {
                Use use = named.node->uses.p[u];
                if (use.index == 0)
                    TRY(node_set_input(use.node, use.input, named.node->inputs[0]));
            }
        }
    }
    return OK;
}

Status *pass_deref(Draft *draft) {
    Graph *graph = draft->graph;
    if (is_cut(graph))
        TRY(read_through_names(graph));
    else if (!draft_has_flow(draft))
        TRY(read_behind_updates(draft));
    // The reads that are made come behind these, and need none themselves.
    size_t n = graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *node = graph->nodes.p[i];
        if (!node || passes_reference(node) || node_flow(node) == FLOW_SEND)
            continue;
        for (int in = 0; in < node->n_inputs; in++) {
            Output from = node->inputs[in];
            if (dtype_is_ref(from.node->output_types[from.index]) && !node_input_is_ref(node, in))
                TRY(read_before(draft, node, in));
        }
    }
    return OK;
}
