// Fragments — functions' bodies and what composed ops stand for, as graphs of their own; see hlo_internal.h.
#include "formula/ops.h"
#include "graph/function.h"
#include "hlo/hlo_internal.h"

const FuncRef *hlo_called(const Node *node, FuncRef *room) {
    if (node->type->function) {
        *room = (FuncRef){node->type->name, (AttrEntry *)node->attrs, node->n_attrs};  // only read
        return room;
    }
    const AttrValue *value = node_flow(node) == FLOW_CALL ? node_attr_find(node, "f") : NULL;
    return value && value->kind == ATTR_FUNC && !value->is_list ? value->func : NULL;
}

static Status *fragment_new(HloFragment *fragment, Arena *arena, int n_arguments, int n_results) {
    *fragment = (HloFragment){.n_arguments = n_arguments, .n_results = n_results};
    fragment->arguments = ARENA_ARRAY(arena, Output, n_arguments);
    fragment->results = ARENA_ARRAY(arena, Output, n_results);
    NEED_MEMORY(fragment->arguments && fragment->results);
    return graph_new(&fragment->graph);
}

Status *hlo_function(const Graph *library, const FuncRef *ref, int n_arguments, int n_results, Arena *arena,
                     HloFragment *out) {
    TRY(fragment_new(out, arena, n_arguments, n_results));
    const Function *function = function_find(library, ref->name);
    NEED(function, NOT_FOUND, "Function '%.*s' is not defined", STR_ARGS(ref->name));
    TRY(function_add_library(out->graph, library));
    Inlining in = {.graph = out->graph, .prefix = function->type.name, .n_arguments = n_arguments, .attrs = ref->attrs,
                   .n_attrs = ref->n_attrs, .results = out->results, .n_results = n_results};
    TRY(function_inline(function, &in));
    out->controls = in.controls;
    out->n_controls = in.n_controls;
    for (size_t i = 0; i < out->graph->nodes.n; i++) {
        Node *node = out->graph->nodes.p[i];
        if (!node || node_flow(node) != FLOW_ARG)
            continue;
        int64_t index = node_int(node, "index");
        NEED(index >= 0 && index < n_arguments, INVALID_ARGUMENT, "argument %lld of a function with %d", (long long)index,
             n_arguments);
        out->arguments[index] = (Output){node, 0};
    }
    for (int i = 0; i < n_results; i++)
        NEED(out->results[i].node, INVALID_ARGUMENT, "there is no result %d", i);
    return OK;
}

Status *hlo_expansion(const Node *node, const Shape *in, const Tensor *const *known, Arena *arena, HloFragment *out) {
    TRY(fragment_new(out, arena, node->n_inputs, node->n_outputs));
    TRY(function_add_library(out->graph, node->graph));
    Output *y = ARENA_ARRAY(arena, Output, node->n_outputs);
    NEED_MEMORY(y);
    Formula formula = {.graph = out->graph, .scope = node->name, .node = node, .x = out->arguments, .y = y,
                       .results = out->results, .n_x = node->n_inputs, .n_y = node->n_outputs};
    Formula *f = &formula;
    for (int i = 0; i < node->n_inputs; i++) {
        Shape shape = in[i];
        out->arguments[i] =
            known[i] ? formula_tensor(f, known[i])
                     : formula_op(f, "Placeholder", NULL, 0,
                                  ATTRS(TYPE_ATTR("dtype", node_input_type(node, i)),
                                        {"shape", {.kind = ATTR_SHAPE, .shape = &shape}}));
    }
    if (!f->status)
        node->type->op->expand(f);
    TRY(f->status);
    for (int i = 0; i < node->n_outputs; i++)
        NEED(out->results[i].node, UNIMPLEMENTED, "what output %d stands for is not known for these shapes", i);
    return OK;
}

Status *hlo_fragment_order(const HloFragment *fragment, Arena *arena, Node ***out_order, size_t *out_n) {
    size_t n = fragment->graph->nodes.n, kept = 0;
    Node **order = ARENA_ARRAY(arena, Node *, n);
    NEED_MEMORY(order);
    for (size_t i = 0; i < n; i++)
        if (fragment->graph->nodes.p[i])
            fragment->graph->nodes.p[i]->mark = 0;
    TRY(graph_order(fragment->graph, order, &n));
    for (int i = 0; i < fragment->n_results; i++)
        fragment->results[i].node->mark = 1;
    for (int i = 0; i < fragment->n_controls; i++)
        fragment->controls[i]->mark = 1;
    for (size_t i = n; i-- > 0;) {
        Node *node = order[i];
        for (int j = 0; node->mark && j < node->n_inputs; j++)
            if (node->inputs[j].node)
                node->inputs[j].node->mark = 1;
        for (int j = 0; node->mark && j < node->n_controls; j++)
            node->controls[j]->mark = 1;
    }
    for (size_t i = 0; i < n; i++)
        if (order[i]->mark)
            order[kept++] = order[i];
    *out_order = order;
    *out_n = kept;
    return OK;
}

Status *hlo_write_fragment(Hlo *h, const HloFragment *fragment, const HloEdge *arguments, HloEdge *results) {
    HloWriter *w = hlo_writer(h);
    HloScope scope;
    Node **order;
    size_t n, kept = 0;
    NEED(w->functions < HLO_DEPTH, UNIMPLEMENTED, "functions call each other more than %d deep", HLO_DEPTH);
    TRY(hlo_fragment_order(fragment, &w->module->arena, &order, &n));
    TRY(hlo_scope_new(w, fragment->graph, &scope));
    for (size_t i = 0; i < n; i++) {
        bool is_argument = false;
        for (int j = 0; j < fragment->n_arguments && !is_argument; j++) {
            is_argument = fragment->arguments[j].node == order[i];
            if (!is_argument)
                continue;
            HloEdge *edges = hlo_scope_edges(w, &scope, order[i]);
            NEED_MEMORY(edges);
            edges[0] = arguments[j];
        }
        if (!is_argument)
            order[kept++] = order[i];
    }
    w->functions++;
    Status *status = hlo_write_nodes(h, &scope, order, kept);
    w->functions--;
    TRY(status);
    for (int i = 0; i < fragment->n_results; i++) {
        HloEdge *edges = hlo_scope_edges(w, &scope, fragment->results[i].node);
        NEED_MEMORY(edges);
        results[i] = edges[fragment->results[i].index];
    }
    return OK;
}
