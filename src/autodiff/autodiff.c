// Autodiff — see autodiff.h: from the client's question to the walk, and back with its answers.
//
// Reverse mode over a graph: the partial gradients of each output are summed when all its uses have been walked. The
// steps are those of TF_AddGradients; what a client may see of it (names below "gradients", messages, which inputs have
// no gradient) is TensorFlow's. All or nothing: on failure the new nodes go, and replaced ones are swapped back.
#include "autodiff/autodiff.h"

#include "autodiff/autodiff_internal.h"
#include "formula/ops.h"

// ---------------------------------------- names

static bool is_below(Str name, Str scope) {
    return str_starts(name, scope) && (name.n == scope.n || name.p[scope.n] == '/');
}

// TensorFlow's message. A prefix that is taken would mix two gradients' nodes below one name.
static Status *check_free(const Graph *graph, Str scope) {
    for (size_t i = 0; i < graph->nodes.n; i++)
        NEED(!graph->nodes.p[i] || !is_below(graph->nodes.p[i]->name, scope), INVALID_ARGUMENT,
             "prefix [%.*s] conflicts with existing node in the graph hierarchy.", STR_ARGS(scope));
    return OK;
}

// The first of gradients, gradients_1 ... below which and behind which there is nothing.
static Status *free_scope(Autodiff *a, Str *out) {
    static const Str base = {"gradients", 9};
    int64_t next = 0;
    for (size_t i = 0; i < a->graph->nodes.n; i++) {
        const Node *node = a->graph->nodes.p[i];
        if (!node || !str_starts(node->name, base))
            continue;
        Str rest = {node->name.p + base.n, node->name.n - base.n};
        const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
        rest.n = slash ? (size_t)(slash - rest.p) : rest.n;
        int64_t number = 0;
        if (rest.n && (rest.p[0] != '_' || !str_to_int((Str){rest.p + 1, rest.n - 1}, &number)))
            continue;
        if (number >= next && number < INT32_MAX)
            next = number + 1;
    }
    *out = next ? str_format(&a->arena, "gradients_%d", (int)next) : base;
    NEED_MEMORY(out->p);
    return OK;
}

// ---------------------------------------- the question

static Status *check_outputs(const Graph *graph, const Output *list, int n, const char *what) {
    for (int i = 0; i < n; i++) {
        NEED(list[i].node && list[i].node->graph == graph && list[i].node->id >= 0, INVALID_ARGUMENT,
             "%s[%d] is not of this graph", what, i);
        NEED(list[i].index >= 0 && list[i].index < list[i].node->n_outputs, OUT_OF_RANGE,
             "%s[%d]: {{node %.*s}} has no output %d", what, i, STR_ARGS(list[i].node->name), list[i].index);
    }
    return OK;
}

static Status *check_seeds(const Graph *graph, const Output *ys, int ny, const Output *dys) {
    for (int i = 0; dys && i < ny; i++) {
        if (!dys[i].node)
            continue;
        TRY(check_outputs(graph, &dys[i], 1, "dy"));
        NEED(output_type(dys[i]) == output_type(ys[i]), INVALID_ARGUMENT,
             "the gradient of {{node %.*s}} has type %s, not %s", STR_ARGS(ys[i].node->name),
             dtype_name(output_type(dys[i])), dtype_name(output_type(ys[i])));
    }
    return OK;
}

// A value inside a loop has one gradient for each iteration.
static Status *check_places(const Autodiff *a, const Output *list, int n, const char *what) {
    for (int i = 0; i < n; i++)
        NEED(info_of(a, list[i].node)->frame == a->root, INVALID_ARGUMENT,
             "{{node %.*s}}, one of %s, lies inside a loop", STR_ARGS(list[i].node->name), what);
    return OK;
}

// ---------------------------------------- the answer

// Where no dy is given it is 1, of y's shape. What can't have a gradient (an integer y) is passed over, as by
// TensorFlow.
static Status *seed(Autodiff *a, const Output *ys, int ny, const Output *dys) {
    Formula f;
    formula_begin(a, &f, a->root, STR(""));
    for (int i = 0; i < ny; i++) {
        if (!dtype_has_gradient(ys[i].node->output_types[ys[i].index]) || output_type(ys[i]) == DT_resource)
            continue;
        Output dy = dys && dys[i].node ? dys[i] : formula_op(&f, "OnesLike", &ys[i], 1, NULL);
        if (!f.status)
            TRY(partial_add(a, ys[i], (Gradient){.values = dy}));
    }
    return formula_end(a, &f, a->root);
}

// An x that no y depends on differentiably gets {NULL}: the client is told so.
static Status *answer(Autodiff *a, const Output *xs, int nx, bool sparse, Gradient *dxs) {
    Formula f;
    formula_begin(a, &f, a->root, STR(""));
    for (int i = 0; i < nx; i++) {
        dxs[i] = partial_sum(a, &f, xs[i]);
        if (!sparse && dxs[i].indices.node)
            dxs[i] = (Gradient){.values = gradient_dense(&f, dxs[i])};
    }
    return formula_end(a, &f, a->root);
}

static void mark_client(Autodiff *a) {
    const AutodiffClient *client = a->client;
    for (int i = 0; client && i < client->n_stops; i++)
        info_of(a, client->stops[i])->stops = true;
    for (int i = 0; client && i < client->n_own; i++)
        info_of(a, client->own[i])->own = true;
}

static Status *differentiate(Autodiff *a, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                             const Output *dys, bool sparse, Gradient *dxs) {
    TRY(check_outputs(a->graph, ys, ny, "y"));
    TRY(check_outputs(a->graph, xs, nx, "x"));
    TRY(check_seeds(a->graph, ys, ny, dys));
    if (prefix.n) {
        TRY(check_free(a->graph, prefix));
        a->scope = prefix;
    } else {
        TRY(free_scope(a, &a->scope));
    }
    // Copies of functions hold calls, too; their structure and what lies on a path are found anew until nothing is
    // left.
    bool changed = true;
    TRY(infos_grow(a));
    mark_client(a);
    while (changed) {
        TRY(structure_find(a));
        TRY(reach(a, ys, ny, xs, nx));
        TRY(lower_calls(a, &changed));
    }
    TRY(check_places(a, ys, ny, "ys"));
    TRY(check_places(a, xs, nx, "xs"));
    TRY(structure_count(a));
    TRY(seed(a, ys, ny, dys));
    TRY(region_walk(a, a->root));
    return answer(a, xs, nx, sparse, dxs);
}

static Status *run(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx, const Output *dys,
                   bool sparse, const AutodiffClient *client, Gradient *dxs) {
    Autodiff a = {.graph = graph, .first_new = graph->nodes.n, .client = client};
    uint64_t edit = graph->edit;
    Gradient *found = ARENA_ARRAY(&a.arena, Gradient, nx);
    Status *status = found ? differentiate(&a, prefix, ys, ny, xs, nx, dys, sparse, found)
                           : OUT_OF_MEMORY;
    for (size_t i = a.replaced.n; status && i-- > 0;)
        graph_swap_nodes(a.replaced.p[i].node, a.replaced.p[i].twin);
    // Newest first, since a node may go only when nothing reads it.
    while (status && graph->nodes.n > a.first_new)
        graph_remove_last(graph);
    if (status || a.replaced.n == 0)
        graph->edit = edit;  // only edges of new nodes were turned
    for (int i = 0; i < nx && !status; i++)
        dxs[i] = found[i];
    structure_clear(&a);
    vec_clear(&a.infos);
    vec_clear(&a.replaced);
    arena_clear(&a.arena);
    return status;
}

Status *autodiff_sparse_gradients(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                                  const Output *dys, Gradient *dxs) {
    return run(graph, prefix, ys, ny, xs, nx, dys, true, NULL, dxs);
}

Status *autodiff_client_gradients(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                                  const Output *dys, const AutodiffClient *client, Gradient *dxs) {
    return run(graph, prefix, ys, ny, xs, nx, dys, true, client, dxs);
}

// A gradient that is a given dy as it stands gets a node of its own: a client may feed the one and fetch the other.
static Status *own_output(Graph *graph, Str prefix, size_t nodes_before, Output *dx) {
    if (!dx->node || (size_t)dx->node->id >= nodes_before)
        return OK;
    Formula formula = {.graph = graph, .scope = prefix.n ? prefix : STR("gradients")}, *f = &formula;
    Output same = Identity(*dx);
    TRY(f->status);
    *dx = same;
    return OK;
}

Status *autodiff_gradients(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                           const Output *dys, Output *dxs) {
    size_t nodes_before = graph->nodes.n;
    Gradient *found = calloc((size_t)(nx > 0 ? nx : 1), sizeof *found);
    NEED_MEMORY(found);
    Status *status = run(graph, prefix, ys, ny, xs, nx, dys, false, NULL, found);
    for (int i = 0; i < nx && !status; i++)
        status = own_output(graph, prefix, nodes_before, &found[i].values);
    for (int i = 0; i < nx && !status; i++)
        dxs[i] = found[i].values;
    free(found);
    return status;
}
