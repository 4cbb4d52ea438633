// Structure — which loop and which branch each node lies in, and which nodes lie on a path from xs to ys.
//
// One walk in topological order: a node lies in the deepest frame and branch of its inputs; Enter, Exit, Switch and
// Merge change them. A branch is the side of a Switch by a predicate that isn't a loop's, and knows the branch that it
// is in.
#include <stdio.h>

#include "autodiff/autodiff_internal.h"

enum { MAX_NESTING = 64, MAX_BRANCHES = 1000 };  // one inside the other

// Resources and variants pass gradients on: of a variable's value, and lists of them.
bool dtype_has_gradient(DType dtype) {
    dtype = dtype_base(dtype);
    return dtype_is_float(dtype) || dtype_is_complex(dtype) || dtype_kind(dtype) == KIND_OBJECT;
}

// Indexed by node id; new nodes begin as unknown.
Status *infos_grow(Autodiff *a) {
    size_t n = a->graph->nodes.n;
    NEED_MEMORY(vec_reserve(&a->infos, n));
    if (n > a->infos.n)
        memset(a->infos.p + a->infos.n, 0, (n - a->infos.n) * sizeof *a->infos.p);
    a->infos.n = n;
    return OK;
}

void structure_clear(Autodiff *a) {
    for (size_t i = 0; i < a->frames.n; i++) {
        Frame *frame = a->frames.p[i];
        vec_clear(&frame->vars);
        vec_clear(&frame->constants);
        vec_clear(&frame->exits);
        vec_clear(&frame->members);
        vec_clear(&frame->loops);
        map_clear(&frame->reachable);
        map_clear(&frame->entered);
    }
    vec_clear(&a->frames);
    map_clear(&a->frame_names);
    map_clear(&a->branches);
}

// ---------------------------------------- branches

// The one Branch with these members, so that branches are compared by address.
static Status *branch_make(Autodiff *a, Branch *parent, Output pred, int side, Branch **out) {
    char key[64];
    int n = snprintf(key, sizeof key, "%p %p %d %d", (void *)parent, (void *)pred.node, pred.index, side);
    Branch *branch = map_find(&a->branches, (Str){key, (size_t)n});
    if (!branch) {
        branch = ARENA_NEW(&a->arena, Branch);
        Str kept = str_copy(&a->arena, (Str){key, (size_t)n});
        NEED_MEMORY(branch && kept.p);
        *branch = (Branch){parent, pred, side, parent ? parent->depth + 1 : 1};
        NEED(branch->depth <= MAX_BRANCHES, INVALID_ARGUMENT, "conditionals are nested deeper than %d", MAX_BRANCHES);
        NEED_MEMORY(map_set(&a->branches, kept, branch));
    }
    *out = branch;
    return OK;
}

Status *branch_of(Autodiff *a, Output output, Branch **out) {
    const Node *node = output.node;
    const Info *info = info_of(a, node);
    *out = info->branch;
    bool decides = node_flow(node) == FLOW_SWITCH && output.index >= 0 &&
        node_flow(node->inputs[1].node) != FLOW_LOOP_COND;
    return decides ? branch_make(a, info->branch, node->inputs[1], output.index, out) : OK;
}

static Branch *deeper(Branch *x, Branch *y) {
    return !x || (y && y->depth > x->depth) ? y : x;
}

// A Merge joins what its inputs have split: it lies in the innermost branch around all of them.
static Branch *common(Branch *x, Branch *y) {
    while (x != y) {
        int32_t dx = x ? x->depth : 0, dy = y ? y->depth : 0;
        if (dx >= dy)
            x = x->parent;
        if (dy >= dx)
            y = y->parent;
    }
    return x;
}

// ---------------------------------------- frames

static Status *frame_new(Autodiff *a, Frame *parent, Str name, Frame **out) {
    Frame *frame = ARENA_NEW(&a->arena, Frame);
    NEED_MEMORY(frame);
    *frame = (Frame){.parent = parent, .name = name, .depth = parent ? parent->depth + 1 : 0};
    NEED(frame->depth <= MAX_NESTING, INVALID_ARGUMENT, "loops are nested deeper than %d", MAX_NESTING);
    NEED_MEMORY(vec_push(&a->frames, frame));
    *out = frame;
    return OK;
}

static Status *frame_find(Autodiff *a, Frame *parent, Str name, Frame **out) {
    Str key = str_format(&a->arena, "%p %.*s", (void *)parent, (int)name.n, name.p);
    NEED_MEMORY(key.p);
    *out = map_find(&a->frame_names, key);
    if (*out)
        return OK;
    TRY(frame_new(a, parent, name, out));
    NEED_MEMORY(map_set(&a->frame_names, key, *out));
    return OK;
}

// The frame and branch that the inputs lie in: the deepest of them. That all inputs lie in one frame is checked later,
// and only of nodes on a path: graphs may hold worse elsewhere.
static Status *place_of_inputs(Autodiff *a, const Node *node, Frame **frame, Branch **branch) {
    *frame = a->root;
    *branch = NULL;
    for (int i = 0; i < node->n_inputs; i++) {
        Output from = node->inputs[i];
        if (!info_of(a, from.node)->known)
            continue;  // a back edge
        Branch *there;
        TRY(branch_of(a, from, &there));
        if (info_of(a, from.node)->frame->depth > (*frame)->depth)
            *frame = info_of(a, from.node)->frame;
        *branch = deeper(*branch, there);
    }
    for (int i = 0; i < node->n_controls; i++) {
        const Info *info = info_of(a, node->controls[i]);
        if (info->frame->depth > (*frame)->depth)
            *frame = info->frame;
        *branch = deeper(*branch, info->branch);
    }
    return OK;
}

static LoopVar *var_of(const Autodiff *a, const Node *node) {
    const Info *info = info_of(a, node);
    return info->var > 0 ? &info->frame->vars.p[info->var - 1] : NULL;
}

static Status *enter_find(Autodiff *a, Node *node, Info *info) {
    Frame *frame;
    TRY(frame_find(a, info->frame, node_str(node, "frame_name"), &frame));
    frame->branch = deeper(frame->branch, info->branch);
    info->frame = frame;
    info->branch = NULL;
    if (node_bool(node, "is_constant")) {
        NEED_MEMORY(vec_push(&frame->constants, node));
    } else {
        NEED_MEMORY(vec_push(&frame->vars, (LoopVar){.enter = node}));
        info->var = (int32_t)frame->vars.n;
    }
    return OK;
}

// A loop variable's Merge is told from a conditional's by its inputs: Enter and NextIteration.
static Status *merge_find(Autodiff *a, Node *node, Info *info) {
    Output first = node->inputs[0];
    if (node->n_inputs == 2 && node_flow(node->inputs[1].node) == FLOW_NEXT && node_flow(first.node) == FLOW_ENTER) {
        LoopVar *var = info_of(a, first.node)->frame == info->frame ? var_of(a, first.node) : NULL;
        if (!var)
            return OK;  // check_frames will say more, if it is asked
        info->var = info_of(a, first.node)->var;
        if (var->merge) {  // two variables begin with the same Enter
            NEED_MEMORY(vec_push(&info->frame->vars, (LoopVar){.enter = first.node}));
            info->var = (int32_t)info->frame->vars.n;
            var = &vec_last(&info->frame->vars);
        }
        var->merge = node;
        var->next = node->inputs[1].node;
        return OK;
    }
    Branch *branch = NULL;
    for (int i = 0; i < node->n_inputs; i++) {
        Branch *there;
        TRY(branch_of(a, node->inputs[i], &there));
        branch = i ? common(branch, there) : there;
    }
    info->branch = branch;
    return OK;
}

static void choice_find(Autodiff *a, Node *node, Info *info) {
    LoopVar *var = node_flow(node->inputs[1].node) == FLOW_LOOP_COND ? var_of(a, node->inputs[0].node) : NULL;
    if (!var || var->merge != node->inputs[0].node || info_of(a, var->merge)->frame != info->frame)
        return;
    info->var = info_of(a, var->merge)->var;
    var->choice = node;
}

static Status *node_find(Autodiff *a, Node *node) {
    Info *info = info_of(a, node);
    info->var = 0;
    TRY(place_of_inputs(a, node, &info->frame, &info->branch));
    switch (node_flow(node)) {
    case FLOW_ENTER: TRY(enter_find(a, node, info)); break;
    case FLOW_MERGE: TRY(merge_find(a, node, info)); break;
    case FLOW_SWITCH: choice_find(a, node, info); break;
    case FLOW_LOOP_COND: info->frame->cond = node; break;
    case FLOW_EXIT: {
        LoopVar *var = var_of(a, node->inputs[0].node);
        NEED(is_loop(info->frame), INVALID_ARGUMENT, "{{node %.*s}} (%.*s) leaves no loop", NODE_ARGS(node));
        if (var && node->inputs[0].node == var->choice && node->inputs[0].index == 0)
            var->exit = node;
        info->branch = info->frame->branch;
        info->frame = info->frame->parent;
        break;
    }
    default: break;
    }
    info->known = true;
    return OK;
}

Status *structure_find(Autodiff *a) {
    TRY(infos_grow(a));
    structure_clear(a);
    TRY(frame_new(a, NULL, STR(""), &a->root));
    for (size_t i = 0; i < a->infos.n; i++)
        a->infos.p[i].known = false;
    Node **order = calloc(a->graph->nodes.n + 1, sizeof *order);
    NEED_MEMORY(order);
    size_t n = 0;
    Status *status = graph_order(a->graph, order, &n);
    for (size_t i = 0; i < n && !status; i++)
        status = node_find(a, order[i]);
    free(order);
    return status;
}

// ---------------------------------------- what lies on a path

typedef VEC(Node *) Stack;

int sources_of(const Autodiff *a, const Node *node, const Output **out) {
    const Info *info = info_of(a, node);
    *out = info->stand_ins ? info->stand_ins : node->inputs;
    return info->stand_ins ? node->n_outputs : node->n_inputs;
}

static Status *push_needed(Autodiff *a, Stack *stack, Node *node) {
    if (!node || info_of(a, node)->needed)
        return OK;
    info_of(a, node)->needed = true;
    NEED_MEMORY(vec_push(stack, node));
    return OK;
}

// Backwards from ys over data edges; control edges carry no gradient.
static Status *find_needed(Autodiff *a, Stack *stack, const Output *ys, int ny) {
    for (int i = 0; i < ny; i++)
        TRY(push_needed(a, stack, ys[i].node));
    while (stack->n) {
        Node *node = stack->p[--stack->n];
        const Output *stand_ins = info_of(a, node)->stand_ins;
        for (int i = 0; i < node->n_inputs; i++)
            TRY(push_needed(a, stack, node->inputs[i].node));
        for (int i = 0; stand_ins && i < node->n_outputs; i++)
            TRY(push_needed(a, stack, stand_ins[i].node));
    }
    return OK;
}

static Status *push_reached(Autodiff *a, Stack *stack, Node *node) {
    if (info_of(a, node)->reached)
        return OK;
    info_of(a, node)->reached = true;
    NEED_MEMORY(vec_push(stack, node));
    return OK;
}

// Follows the uses of a node; `only` >= 0: of this output. A path ends at types and ops without gradients, and where
// the client stops it.
static Status *follow_uses(Autodiff *a, Stack *stack, const Node *node, int only) {
    for (size_t i = 0; i < node->uses.n; i++) {
        Use use = node->uses.p[i];
        if (use.index == CONTROL || (only >= 0 && use.index != only) ||
            !dtype_has_gradient(node->output_types[use.index]))
            continue;
        const Op *op = use.node->type->op;
        const Info *info = info_of(a, use.node);
        bool ends = info->stops || info->stand_ins || (op && (op->flags & OP_NO_GRADIENT) && !info->own);
        if (!ends)
            TRY(push_reached(a, stack, use.node));
    }
    Node *call = info_of(a, node)->stands_for;
    return call ? push_reached(a, stack, call) : OK;
}

static Status *find_reached(Autodiff *a, Stack *stack, const Output *xs, int nx) {
    for (int i = 0; i < nx; i++) {
        Node *node = xs[i].node;
        TRY(follow_uses(a, stack, node, xs[i].index));
    }
    while (stack->n)
        TRY(follow_uses(a, stack, stack->p[--stack->n], -1));
    for (int i = 0; i < nx; i++)
        info_of(a, xs[i].node)->reached = true;
    return OK;
}

// TF_AddGradients fails where an x is unreachable; a client of its own (tf.gradients) gets None for it.
Status *reach(Autodiff *a, const Output *ys, int ny, const Output *xs, int nx) {
    for (size_t i = 0; i < a->infos.n; i++)
        a->infos.p[i].reached = a->infos.p[i].needed = false;
    Stack stack = {0};
    Status *status = find_needed(a, &stack, ys, ny);
    if (!status)
        status = find_reached(a, &stack, xs, nx);
    vec_clear(&stack);
    TRY(status);
    for (int i = 0; i < nx && !a->client; i++)
        NEED(info_of(a, xs[i].node)->needed, INVALID_ARGUMENT,
             "Cannot compute the partial derivative for node '%.*s' as it's unreachable from the output node(s).",
             STR_ARGS(xs[i].node->name));
    return OK;
}

// ---------------------------------------- members and pending counts

// All that a node reads lies in one frame, or else it would never run: what follows relies on that.
static Status *check_frames(const Autodiff *a, const Node *node) {
    const Info *info = info_of(a, node);
    const Frame *in = node_flow(node) == FLOW_ENTER ? info->frame->parent
                    : node_flow(node) == FLOW_EXIT  ? info_of(a, node->inputs[0].node)->frame
                                                    : info->frame;
    NEED(in && (node_flow(node) != FLOW_EXIT || in->parent == info->frame), INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): what it waits for lies in another frame than what it reads", NODE_ARGS(node));
    for (int i = 0; i < node->n_inputs; i++)
        NEED(info_of(a, node->inputs[i].node)->frame == in, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): its inputs come from different frames (input %d from '%.*s'); an edge into a loop must go "
             "through Enter", NODE_ARGS(node), i, STR_ARGS(node->inputs[i].node->name));
    return OK;
}

static Status *add_member(Autodiff *a, Node *node) {
    TRY(check_frames(a, node));
    if (node_flow(node) == FLOW_EXIT) {
        Frame *loop = info_of(a, node->inputs[0].node)->frame;
        if (loop->exits.n == 0)
            NEED_MEMORY(vec_push(&loop->parent->loops, loop));
        NEED_MEMORY(vec_push(&loop->exits, node));
    } else if (!is_loop_part(a, node)) {
        NEED_MEMORY(vec_push(&info_of(a, node)->frame->members, node));
    }
    return OK;
}

// A loop is one unit: its Exits count together.
static void count_source(Autodiff *a, Output source) {
    if (!source.node || !is_between(a, source.node))
        return;
    if (node_flow(source.node) == FLOW_EXIT)
        info_of(a, source.node->inputs[0].node)->frame->pending++;
    else
        info_of(a, source.node)->pending++;
}

Status *structure_count(Autodiff *a) {
    for (size_t i = 0; i < a->infos.n; i++) {
        Node *node = a->graph->nodes.p[i];
        if (node && is_between(a, node))
            TRY(add_member(a, node));
    }
    for (size_t i = 0; i < a->infos.n; i++) {
        Node *node = a->graph->nodes.p[i];
        if (!node || !is_between(a, node) || node_flow(node) == FLOW_EXIT)
            continue;
        // Of a loop's parts only the Enters read something that is walked, and only where the loop is.
        bool enter = node_flow(node) == FLOW_ENTER;
        if (enter ? info_of(a, node)->frame->exits.n == 0 : is_loop_part(a, node))
            continue;
        const Output *sources;
        int n = sources_of(a, node, &sources);
        for (int j = 0; j < n; j++)
            count_source(a, sources[j]);
    }
    return OK;
}
