// Walk, region — goes through a region backwards: each node once the gradients of all its uses are there.
//
// A region is the root or one loop's body. Nodes are counted down by their uses (Kahn's algorithm on the reversed
// graph); a loop inside is one unit. A formula's nodes belong to the region that it was begun for.
#include "autodiff/autodiff_internal.h"
#include "formula/ops.h"

// ---------------------------------------- new nodes

void formula_begin(Autodiff *a, Formula *f, Frame *frame, Str name) {
    *f = (Formula){.graph = a->graph, .before = frame->pivot};
    f->scope = a->scope;
    if (name.n)
        f->scope = str_format(&a->arena, "%.*s/%.*s_grad", (int)a->scope.n, a->scope.p, (int)name.n, name.p);
    if (!f->scope.p)
        formula_fail(f, OUT_OF_MEMORY);
}

// What a node of the backward loop reads from the forward side comes to it through lists and Enters.
static Status *rewire(Autodiff *a, Frame *frame, Node *node) {
    for (int i = 0; i < node->n_inputs; i++) {
        Output from = node->inputs[i], seen;
        if (info_of(a, from.node)->backward == frame)
            continue;
        TRY(loop_reach(a, frame, from, &seen));
        TRY(node_set_input(node, i, seen));
    }
    return OK;
}

// New nodes are found by their ids: all behind those known before.
Status *formula_end(Autodiff *a, Formula *f, Frame *frame) {
    if (f->status) {
        Status *status = f->status;
        f->status = NULL;
        return status;
    }
    size_t first = a->infos.n, n = a->graph->nodes.n;
    TRY(infos_grow(a));
    for (size_t i = first; i < n; i++) {
        Info *info = &a->infos.p[i];
        if (!a->graph->nodes.p[i])
            continue;
        *info = (Info){.frame = frame, .backward = is_loop(frame) ? frame : NULL, .known = true};
    }
    for (size_t i = first; i < n && is_loop(frame); i++)
        TRY(rewire(a, frame, a->graph->nodes.p[i]));
    return OK;
}

// ---------------------------------------- the gradient of one node

// A node under treatment.
typedef struct {
    Autodiff *a;
    Node *node;
    Frame *frame;
    Branch *branch;
    Gradient *dy;    // of its outputs
    bool some;       // any of them is not zero
    Formula f;
} Visit;

// The side not taken gives a dead value, so the Merge passes on the live one; zeros where a side has no gradient, or
// the Merge would never be ready.
static Status *switch_gradient(Visit *v) {
    Formula *f = &v->f;
    Output sides[2];
    for (int i = 0; i < 2; i++) {
        Output y = {v->node, i};
        sides[i] = v->dy[i].values.node ? gradient_dense(f, v->dy[i]) : ZerosLike(y);
    }
    Output merged = formula_of_list(f, "Merge", sides, 2, NULL);
    return contribute(v->a, f, v->branch, v->node->inputs[0], (Gradient){.values = merged});
}

// The predicate whose two sides a Merge joins, in *sides which input is which; {NULL} where it isn't that simple.
static Status *merge_predicate(Visit *v, Output *pred, int sides[2]) {
    const Node *node = v->node;
    *pred = NONE;
    if (node->n_inputs != 2)
        return OK;
    Branch *x, *y;
    TRY(branch_of(v->a, node->inputs[0], &x));
    TRY(branch_of(v->a, node->inputs[1], &y));
    if (x && y && x->parent == y->parent && output_equal(x->pred, y->pred) && x->side != y->side) {
        *pred = x->pred;
        sides[0] = x->side;
        sides[1] = y->side;
    }
    return OK;
}

// By the predicate where the Merge closes a plain conditional; else by which input came (output 1).
static Status *merge_gradient(Visit *v) {
    Formula *f = &v->f;
    if (!v->dy[0].values.node)
        return OK;
    Output dy = gradient_dense(f, v->dy[0]), pred;
    int sides[2];
    TRY(merge_predicate(v, &pred, sides));
    Output choice = pred.node ? formula_2(f, "Switch", dy, pred) : NONE;
    for (int i = 0; i < v->node->n_inputs; i++) {
        Output part = At(choice, sides[i & 1]);
        if (!pred.node) {
            Output which = {v->node, 1};
            part = At(formula_2(f, "Switch", dy, Equal(which, formula_int(f, i, output_type(which)))), 1);
        }
        TRY(contribute(v->a, f, v->branch, v->node->inputs[i], (Gradient){.values = part}));
    }
    return OK;
}

// A call passes its gradients to the copy of what it calls.
static Status *call_gradient(Visit *v, const Output *stand_ins) {
    for (int i = 0; i < v->node->n_outputs; i++)
        TRY(contribute(v->a, &v->f, v->branch, stand_ins[i], v->dy[i]));
    return OK;
}

static Status *visit_arrays(Visit *v) {
    Node *node = v->node;
    Formula *f = &v->f;
    Arena *arena = &v->a->arena;
    f->node = node;
    f->n_x = node->n_inputs;
    f->n_y = node->n_outputs;
    f->x = node->inputs;
    f->device = node->device;
    f->y = ARENA_ARRAY(arena, Output, f->n_y);
    f->dy = ARENA_ARRAY(arena, Output, f->n_y);
    f->dx = ARENA_ARRAY(arena, Output, f->n_x);
    f->dx_indices = ARENA_ARRAY(arena, Output, f->n_x);
    f->dx_shape = ARENA_ARRAY(arena, Output, f->n_x);
    NEED_MEMORY(f->y && f->dy && f->dx && f->dx_indices && f->dx_shape);
    for (int i = 0; i < f->n_y; i++)
        f->y[i] = (Output){node, i};
    return OK;
}

// A formula that only hands a gradient on (Identity, Reshape of rows) does so with a sparse one too: it is tried with
// the values alone, and what it made is removed if that shows it computes.
static bool passes_sparse(Visit *v) {
    Formula *f = &v->f;
    Gradient dy = v->dy[0];
    if (v->node->n_outputs != 1 || !dy.indices.node)
        return false;
    size_t before = v->a->graph->nodes.n;
    f->dy[0] = dy.values;
    v->node->type->op->grad(f);
    bool passes = !f->status && v->a->graph->nodes.n == before;
    for (int i = 0; i < f->n_x; i++)
        passes &= !f->dx[i].node || output_equal(f->dx[i], dy.values);
    while (v->a->graph->nodes.n > before)
        graph_remove_last(v->a->graph);
    if (!passes) {
        status_free(f->status);
        f->status = NULL;
    }
    for (int i = 0; i < f->n_x; i++) {
        bool here = passes && f->dx[i].node;
        f->dx_indices[i] = here ? dy.indices : NONE;
        f->dx_shape[i] = here ? dy.shape : NONE;
        if (!here)
            f->dx[i] = NONE;
    }
    return passes;
}

// A formula sees zeros for outputs without a gradient, so most needn't ask; `dy_used` tells those that save work by it.
static void run_formula(Visit *v) {
    Formula *f = &v->f;
    if (passes_sparse(v))
        return;
    for (int i = 0; i < f->n_y; i++) {
        DType type = output_type(f->y[i]);
        bool used = v->dy[i].values.node != NULL;
        f->dy_used |= used && i < 32 ? BIT(i) : 0;
        if (used)
            f->dy[i] = gradient_dense(f, v->dy[i]);
        else if (dtype_is_float(type) || dtype_is_complex(type))
            f->dy[i] = formula_zeros(f, f->y[i]);
    }
    if (!f->status)
        v->node->type->op->grad(f);
}

// A function's own gradient function takes its arguments and the gradients of its results.
static Status *run_gradient_function(Visit *v, Str function) {
    Formula *f = &v->f;
    int n = 0;
    FormulaArg *args = ARENA_ARRAY(&v->a->arena, FormulaArg, f->n_x + f->n_y);
    Str name = str_copy(&v->a->arena, function);  // with a NUL
    NEED_MEMORY(args && name.p);
    for (int i = 0; i < f->n_x; i++)
        args[n++] = (FormulaArg){&f->x[i], 1, false};
    for (int i = 0; i < f->n_y; i++) {
        f->dy[i] = v->dy[i].values.node ? gradient_dense(f, v->dy[i]) : formula_zeros(f, f->y[i]);
        args[n++] = (FormulaArg){&f->dy[i], 1, false};
    }
    Node *call = formula_node(f, name.p, args, n, NULL);
    NEED(!call || call->n_outputs == f->n_x, INVALID_ARGUMENT,
         "the gradient function '%s' has %d results for %d arguments", name.p, call->n_outputs, f->n_x);
    for (int i = 0; call && i < f->n_x; i++)
        if (dtype_has_gradient(output_type(f->x[i])))
            f->dx[i] = (Output){call, i};
    return OK;
}

// The client makes the gradient.
static Status *run_client(Visit *v) {
    Formula *f = &v->f;
    const AutodiffClient *client = v->a->client;
    for (int i = 0; i < f->n_y; i++)
        f->dy[i] = v->dy[i].values.node ? gradient_dense(f, v->dy[i]) : NONE;
    return f->status ? OK : client->gradient(client->arg, v->node, f->dy, f->dx);
}

// The client's gradient first (tf.RegisterGradient, custom_gradient), then a function's own, then the op's.
static Status *op_gradient(Visit *v) {
    Node *node = v->node;
    const Op *op = node->type->op;
    Formula *f = &v->f;
    Str function = called_gradient(v->a, node);
    const Info *info = info_of(v->a, node);
    if (info->stops || (op && (op->flags & OP_NO_GRADIENT) && !info->own))
        return OK;
    NEED(info->own || function.n || (op && op->grad), NOT_FOUND, "No gradient defined for op: %.*s (node '%.*s')",
         STR_ARGS(node->type->name), STR_ARGS(node->name));
    TRY(visit_arrays(v));
    if (info->own)
        TRY(run_client(v));
    else if (function.n)
        TRY(run_gradient_function(v, function));
    else
        run_formula(v);
    for (int i = 0; i < f->n_x && !f->status; i++) {
        DType want = output_type(f->x[i]), got = output_type(f->dx[i]);
        if (!f->dx[i].node)
            continue;
        // A formula of a wrong type would fail far away, in a sum.
        NEED(got == want || dtype_kind(want) == KIND_OBJECT || !dtype_has_gradient(want), INTERNAL,
             "the gradient of %.*s has type %s for input %d of type %s", STR_ARGS(node->type->name), dtype_name(got), i,
             dtype_name(want));
        TRY(contribute(v->a, f, v->branch, f->x[i], (Gradient){f->dx[i], f->dx_indices[i], f->dx_shape[i]}));
    }
    return OK;
}

static Status *visit(Visit *v) {
    const Info *info = info_of(v->a, v->node);
    for (int i = 0; i < v->node->n_outputs; i++) {
        v->dy[i] = partial_sum(v->a, &v->f, (Output){v->node, i});
        v->some |= v->dy[i].values.node != NULL;
    }
    if (!v->some)
        return OK;
    if (info->stand_ins)
        return call_gradient(v, info->stand_ins);
    switch (node_flow(v->node)) {
    case FLOW_SWITCH: return switch_gradient(v);
    case FLOW_MERGE: return merge_gradient(v);
    default: return op_gradient(v);
    }
}

static Status *node_gradient(Autodiff *a, Node *node) {
    if (!info_of(a, node)->partials)
        return OK;
    Visit v = {.a = a, .node = node, .frame = info_of(a, node)->frame, .branch = info_of(a, node)->branch};
    v.dy = ARENA_ARRAY(&a->arena, Gradient, node->n_outputs);
    NEED_MEMORY(v.dy);
    formula_begin(a, &v.f, v.frame, node->name);
    Status *status = visit(&v);
    if (status) {
        status_free(v.f.status);
        return status;
    }
    return status_prefix(formula_end(a, &v.f, v.frame), "gradient of {{node %.*s}} (%.*s)", NODE_ARGS(node));
}

// ---------------------------------------- order

typedef struct {
    Node *node;   // or
    Frame *loop;
} Unit;
typedef VEC(Unit) Units;

// One use of the source has been walked.
static Status *release(Autodiff *a, Units *ready, Output source) {
    if (!source.node || !is_between(a, source.node))
        return OK;
    Unit unit = {source.node, NULL};
    int32_t *pending = &info_of(a, source.node)->pending;
    if (node_flow(source.node) == FLOW_EXIT) {
        unit = (Unit){NULL, info_of(a, source.node->inputs[0].node)->frame};
        pending = &unit.loop->pending;
    }
    if (--*pending == 0 && (unit.loop || !is_loop_part(a, source.node)))
        NEED_MEMORY(vec_push(ready, unit));
    return OK;
}

static Status *unit_walk(Autodiff *a, Units *ready, Unit unit) {
    if (unit.node) {
        TRY(node_gradient(a, unit.node));
        const Output *sources;
        int n = sources_of(a, unit.node, &sources);
        for (int i = 0; i < n; i++)
            TRY(release(a, ready, sources[i]));
        return OK;
    }
    Frame *loop = unit.loop;
    TRY(loop_gradient(a, loop));
    for (size_t i = 0; i < loop->vars.n; i++)
        if (is_between(a, loop->vars.p[i].enter) && info_of(a, loop->vars.p[i].enter)->var == (int32_t)i + 1)
            TRY(release(a, ready, loop->vars.p[i].enter->inputs[0]));
    for (size_t i = 0; i < loop->constants.n; i++)
        if (is_between(a, loop->constants.p[i]))
            TRY(release(a, ready, loop->constants.p[i]->inputs[0]));
    return OK;
}

static Status *walk(Autodiff *a, Frame *frame, Units *ready) {
    for (size_t i = 0; i < frame->members.n; i++)
        if (info_of(a, frame->members.p[i])->pending == 0)
            NEED_MEMORY(vec_push(ready, (Unit){frame->members.p[i], NULL}));
    for (size_t i = 0; i < frame->loops.n; i++)
        if (frame->loops.p[i]->pending == 0)
            NEED_MEMORY(vec_push(ready, (Unit){NULL, frame->loops.p[i]}));
    size_t done = 0;
    for (; ready->n; done++)
        TRY(unit_walk(a, ready, ready->p[--ready->n]));
    // Some count never fell to 0: a cycle through results of loops.
    NEED(done == frame->members.n + frame->loops.n, INVALID_ARGUMENT,
         "Cannot compute gradients: loops depend on each other's results");
    return OK;
}

Status *region_walk(Autodiff *a, Frame *frame) {
    Units ready = {0};
    Status *status = walk(a, frame, &ready);
    vec_clear(&ready);
    return status;
}
