// Extents — see extents.h: whether two outputs have one shape though an extent is unknown.
//
// A batch is unknown while a graph is planned, but both operands of most ops come from the same one. The first extent
// is followed backwards through ops that keep it; if the two lines meet, the extents are equal whatever they are.
// Bounded in steps: not knowing is always allowed.
#include "graph/extents.h"

#include "graph/shapes.h"

enum { MOST_STEPS = 64, MOST_VISITS = 512, MOST_DEPTH = 4 };

// The values that `from` has its first extent of, one behind the other, itself first.
typedef struct {
    Output values[MOST_STEPS];
    int n;
} Line;

static int rows_input(const Node *node) {
    const Op *op = node_op(node);
    if (!op)
        return -1;
    // Where all inputs agree any will do: the last is the forward value in gradients.
    int input = op->shape == shape_unchanged ? 0 : op->shape == shape_same_all ? node->n_inputs - 1
        : (int)op->same_rows - 1;
    return input < node->n_inputs ? input : -1;
}

static void follow(Output from, Line *out) {
    for (out->n = 0; from.node && out->n < MOST_STEPS;) {
        out->values[out->n++] = from;
        int input = from.index == 0 ? rows_input(from.node) : -1;
        if (input < 0)
            return;
        from = from.node->inputs[input];
    }
}

static bool is_on(const Line *line, Output value) {
    for (int i = 0; i < line->n; i++)
        if (output_equal(line->values[i], value))
            return true;
    return false;
}

static bool comes_from(const Line *line, Output value, int depth, int *visits);

// Inputs of the same rank as the result decide about its first extent: all of them have to come from the line.
static bool broadcasts_from(const Line *line, const Node *node, int depth, int *visits) {
    bool any = false;
    for (int i = 0; i < node->n_inputs; i++) {
        const Shape *in = &node->inputs[i].node->output_shapes[node->inputs[i].index];
        if (in->rank < 0 || (in->rank == node->output_shapes[0].rank &&
                             !comes_from(line, node->inputs[i], depth, visits)))
            return false;
        any |= in->rank == node->output_shapes[0].rank;
    }
    return any;
}

static bool comes_from(const Line *line, Output value, int depth, int *visits) {
    while (value.node && (*visits)++ < MOST_VISITS) {
        if (is_on(line, value))
            return true;
        const Node *node = value.node;
        const Op *op = node_op(node);
        if (!op || value.index != 0)
            return false;
        int input = rows_input(node);
        if (input < 0 && depth > 0 && op->shape == shape_broadcast_all)
            return broadcasts_from(line, node, depth - 1, visits);
        if (input < 0)
            return false;
        value = node->inputs[input];
    }
    return false;
}

static bool have_one_batch(Output a, Output b) {
    Line line;
    int visits = 0;
    follow(a, &line);
    if (comes_from(&line, b, MOST_DEPTH, &visits))
        return true;
    follow(b, &line);
    visits = 0;
    return comes_from(&line, a, MOST_DEPTH, &visits);
}

bool outputs_have_one_shape(Output a, Output b) {
    const Shape *x = &a.node->output_shapes[a.index], *y = &b.node->output_shapes[b.index];
    if (x->rank < 0 || x->rank != y->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i] || (x->dims[i] < 0 && i > 0))
            return false;
    return output_equal(a, b) || !x->rank || x->dims[0] >= 0 || have_one_batch(a, b);
}
