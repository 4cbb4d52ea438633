// Fuse — elementwise chains become one node (_Fused, an interpreter over tiles that stay in L1) that goes over memory
// once. Elementwise ops are bound by memory: a chain of n nodes reads and writes n times what the fused one does.
//
// A node takes in the elementwise producers that nobody outside of the chain reads; choices (Select) and sums of lists
// (AddN) count, and comparisons of which only choices are made. What they compute is computed for the chain's whole
// output, so a producer joins only where its own output is as large: the same known extents, or unknown ones that may
// be equal. Small outputs are left alone; there a chain costs more than its nodes.
#include <stdlib.h>

#include "graph/build.h"
#include "graph/extents.h"
#include "graph/shapes.h"
#include "loops/tuning.h"
#include "plan/pass.h"

// What a tile program holds (TILE_STEPS, TILE_INPUTS of loops/tile.h).
enum { MOST_STEPS = 32, MOST_INPUTS = 16 };
static const char FUSED[] = "_Fused";  // the op that stands for a chain

// Readers before producers, the root first: a producer joins only when all its readers are in, which is the order in
// which a walk from the root meets them.
typedef struct {
    Node *nodes[MOST_STEPS];    // readers before producers
    Output inputs[MOST_INPUTS];
    int n_nodes, n_inputs, n_steps;
} Chain;

// A sum of a list is as many steps as it has additions, from left to right: the order in which the op itself adds, so
// the bits are the same.
static int steps_of(const Node *node) {
    return node->type->signature.inputs[0].number_attr >= 0 ? node->n_inputs - 1 : 1;
}

// Of what a node computes on: its last input, since a choice's condition is its first.
static DType type_of(const Node *node) {
    return output_base_type(node->inputs[node->n_inputs - 1]);
}

// A condition lies beside each element, or is one for all: a vector's elements may choose slices.
static bool chooses_elements(Node *node) {
    Output condition = node->inputs[0];
    return condition.node->output_shapes[condition.index].rank == 0 ||
           outputs_have_one_shape(condition, (Output){node, 0}) ||
           outputs_have_one_shape(condition, node->inputs[1]) || outputs_have_one_shape(condition, node->inputs[2]);
}

// A chain broadcasts. Where a node gives an error instead (AddN of different shapes), its inputs must be known to
// agree, or fusing would turn an error into a result.
static bool may_broadcast(const Node *node, int first) {
    for (int i = first + 1; i < node->n_inputs && node_op(node)->shape != shape_broadcast_all; i++)
        if (!outputs_have_one_shape(node->inputs[first], node->inputs[i]))
            return false;
    return true;
}

// The signature must have nothing but its type (and a length): an attribute would change what the op computes, and a
// step of _Fused has no place for one. float and double only: for these the loops have tiles.
static bool is_fusible(Node *node) {
    const Op *op = node_op(node);
    if (!op || !(op->flags & OP_ELEMENTWISE) || node->n_outputs != 1 || node->n_controls || steps_of(node) < 1 ||
        node->type->signature.n_attrs != 1 + (node->type->signature.inputs[0].number_attr >= 0))
        return false;
    DType type = type_of(node);
    if (type != DT_float && type != DT_double)
        return false;
    bool chooses = node->n_inputs == 3 && output_base_type(node->inputs[0]) == DT_bool;
    for (int i = chooses; i < node->n_inputs; i++)
        if (output_base_type(node->inputs[i]) != type)
            return false;
    if ((chooses && !chooses_elements(node)) || !may_broadcast(node, chooses))
        return false;
    int64_t count = shape_count(&node->output_shapes[0]);
    if (count >= 0 && count < TUNED_FUSE_LEAST)
        return false;
    return draft_has_kernel(node, FUSED);
}

// -1 against -1 counts as equal: the kernel broadcasts where they turn out not to be, to the same result. Two different
// known extents don't: the smaller one is computed once, not for every row.
static bool may_be_equal(const Shape *a, const Shape *b) {
    if (a->rank < 0 || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

static int place_of(const Chain *chain, const Node *node) {
    for (int i = 0; i < chain->n_nodes; i++)
        if (chain->nodes[i] == node)
            return i;
    return -1;
}

// A control edge counts as a reader: who waits for the node would lose it.
static bool only_read_by(const Chain *chain, const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == CONTROL || place_of(chain, node->uses.p[i].node) < 0)
            return false;
    return node->uses.n > 0;
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

// The node joins, and what it reads becomes the chain's inputs; false, and nothing changes, where that is too much.
static bool add_node(Chain *chain, Node *node) {
    if (chain->n_nodes == MOST_STEPS || chain->n_steps + steps_of(node) > MOST_STEPS)
        return false;
    Chain with = *chain;
    with.nodes[with.n_nodes++] = node;
    with.n_steps += steps_of(node);
    with.n_inputs = 0;
    for (int i = 0; i < with.n_nodes; i++)
        for (int j = 0; j < with.nodes[i]->n_inputs; j++)
            if (place_of(&with, with.nodes[i]->inputs[j].node) < 0 && !add_input(&with, with.nodes[i]->inputs[j]))
                return false;
    *chain = with;
    return true;
}

// Takes in the producers of `node`, the chain's newest: each joins with the last of its readers, so that all of them
// stand before it. Depth is bounded by the number of steps.
static void collect(const Draft *draft, Chain *chain, const Node *node) {
    const Node *root = chain->nodes[0];
    for (int i = node->n_inputs - 1; i >= 0; i--) {
        Node *from = node->inputs[i].node;
        if (place_of(chain, from) < 0 && is_fusible(from) && only_read_by(chain, from) &&
            !from->is_target && may_be_equal(&from->output_shapes[0], &root->output_shapes[0]) &&
            from->placed == root->placed && type_of(from) == type_of(root) && add_node(chain, from))
            collect(draft, chain, from);
    }
}

// Where an operand comes from, as _Fused writes it: an input by its number, the result of step s as -1 - s. Of a node
// of several steps (AddN) that is its last.
static int64_t operand(const Chain *chain, const int *done, Output edge) {
    int place = place_of(chain, edge.node);
    if (place >= 0)
        return -1 - done[place];
    for (int i = 0; i < chain->n_inputs; i++)
        if (output_equal(chain->inputs[i], edge))
            return i;
    return 0;
}

// Writes the chain down as _Fused has it, producers first.
static void write_steps(const Chain *chain, Str *ops, int64_t *args) {
    int done[MOST_STEPS], n = 0;
    for (int i = chain->n_nodes - 1; i >= 0; i--) {
        const Node *node = chain->nodes[i];
        int64_t in[MOST_STEPS + 1];
        for (int j = 0; j < node->n_inputs; j++)
            in[j] = operand(chain, done, node->inputs[j]);
        bool chooses = steps_of(node) == 1 && node->n_inputs == 3;
        for (int j = 0; j < steps_of(node); j++, n++) {
            ops[n] = node->type->name;
            args[3 * n] = chooses ? in[1] : j ? -n : in[0];
            args[3 * n + 1] = in[chooses ? 2 : node->n_inputs > 1 ? j + 1 : 0];
            args[3 * n + 2] = in[0];
        }
        done[i] = n - 1;
    }
}

// The old nodes lose their readers here and are removed by dead-code elimination.
static Status *make_fused(Draft *draft, const Chain *chain) {
    Node *root = chain->nodes[0];
    Str ops[MOST_STEPS];
    int64_t args[3 * MOST_STEPS];
    write_steps(chain, ops, args);
    AttrValue ops_value = {.kind = ATTR_STRING, .is_list = true, .n = chain->n_steps, .ss = ops};
    AttrValue args_value = {.kind = ATTR_INT, .is_list = true, .n = 3 * chain->n_steps, .is = args};
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, draft->graph, str_of(FUSED), str_format(&arena, "%.*s/_fused", STR_ARGS(root->name)));
    builder_place(&builder, root);
    builder_input_list(&builder, chain->inputs, chain->n_inputs);
    builder_attr(&builder, STR("T"), &ATTR_OF_TYPE(root->output_types[0]));
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
        if (root->mark || root->is_target || !root->uses.n || !is_fusible(root) ||
            root->output_types[0] != type_of(root))
            continue;
        Chain chain = {0};
        if (!add_node(&chain, root))
            continue;
        collect(draft, &chain, root);
        if (chain.n_nodes < 2)
            continue;
        for (int i = 0; i < chain.n_nodes; i++)
            chain.nodes[i]->mark = 1;
        status = make_fused(draft, &chain);
    }
    free(order);
    return status;
}
