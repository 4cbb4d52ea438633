// TF_NewWhile, TF_FinishWhile — a loop of frames from two small graphs that the client fills; see c_api.h.
//
//     input -> Enter -> Merge -> Switch -> Exit -> output           cond: reads the Merges, its result is the LoopCond
//                         ^         \-> Identity -> body -> NextIteration -> Merge
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "graph/build.h"

// What the condition's graph knows of its loop: a copy of what TF_NewWhile was given.
struct TF_WhileGraph {
    TF_Graph *parent;
    int n;
    TF_Output inputs[];
};

typedef struct {
    Graph *graph;
    const TF_WhileParams *params;
    const struct TF_WhileGraph *loop;
    Arena arena;
    Str scope;
    Output *merges, *switches, *bodies;  // nodes of each variable
    Output cond;
} Loop;

// ---------------------------------------- begin and give up

static void params_free(const TF_WhileParams *params) {
    if (params->cond_graph) {
        free(params->cond_graph->loop);
        TF_DeleteGraph(params->cond_graph);
    }
    TF_DeleteGraph(params->body_graph);
    free((void *)params->cond_inputs);
    free((void *)params->body_inputs);
    free(params->body_outputs);
}

static Status *make_inputs(TF_Graph *graph, const struct TF_WhileGraph *loop, const char *format, TF_Output *out) {
    for (int i = 0; i < loop->n; i++) {
        char name[40];
        snprintf(name, sizeof name, format, i);
        AUTO(builder) NodeBuilder builder;
        builder_init(&builder, graph->graph, STR("Placeholder"), str_of(name));
        Output input = api_output(loop->inputs[i]);
        AttrValue type = ATTR_OF_TYPE(dtype_base(input.node->output_types[input.index]));
        builder_attr(&builder, STR("dtype"), &type);
        Node *node;
        TRY(builder_finish(&builder, &node));
        out[i] = (TF_Output){api_operation(node), 0};
    }
    return OK;
}

static struct TF_WhileGraph *loop_new(TF_Graph *g, const TF_Output *inputs, int n) {
    struct TF_WhileGraph *loop = malloc(sizeof *loop + (size_t)n * sizeof *inputs);
    if (!loop)
        return NULL;
    loop->parent = g;
    loop->n = n;
    memcpy(loop->inputs, inputs, (size_t)n * sizeof *inputs);
    return loop;
}

static Status *begin(TF_Graph *g, const TF_Output *inputs, int n, TF_WhileParams *params) {
    for (int i = 0; i < n; i++)
        TRY(status_prefix(api_output_check(g->graph, inputs[i]), "input %d", i));
    NEED_MEMORY(params->cond_graph && params->body_graph && params->cond_inputs && params->body_inputs &&
         params->body_outputs);
    params->cond_graph->loop = loop_new(g, inputs, n);
    NEED_MEMORY(params->cond_graph->loop);
    for (int i = 0; i < n; i++)
        params->body_outputs[i] = (TF_Output){NULL, -1};
    TRY(make_inputs(params->cond_graph, params->cond_graph->loop, "cond_input%d", (TF_Output *)params->cond_inputs));
    return make_inputs(params->body_graph, params->cond_graph->loop, "body_input%d",
                       (TF_Output *)params->body_inputs);
}

TF_WhileParams TF_NewWhile(TF_Graph *g, TF_Output *inputs, int ninputs, TF_Status *status) {
    if (ninputs <= 0) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "TF_NewWhile() must be passed at least one input"));
        return (TF_WhileParams){.cond_output = {NULL, -1}};
    }
    size_t n = (size_t)ninputs;
    TF_WhileParams params = {
        .ninputs = ninputs,
        .cond_graph = TF_NewGraph(),
        .cond_inputs = calloc(n, sizeof(TF_Output)),
        .cond_output = {NULL, -1},
        .body_graph = TF_NewGraph(),
        .body_inputs = calloc(n, sizeof(TF_Output)),
        .body_outputs = calloc(n, sizeof(TF_Output)),
    };
    mutex_lock(&g->lock);
    bool failed = api_failed(status, begin(g, inputs, ninputs, &params));
    mutex_unlock(&g->lock);
    if (!failed)
        return params;
    params_free(&params);
    return (TF_WhileParams){.cond_output = {NULL, -1}};
}

void TF_AbortWhile(const TF_WhileParams *params) {
    params_free(params);
}

// ---------------------------------------- nodes

static Status *make(Loop *l, const char *op, const char *name, const Output *inputs, int n, const AttrEntry *attr,
                    Output *out) {
    Str wanted = str_format(&l->arena, "%.*s/%s", (int)l->scope.n, l->scope.p, name);
    NEED_MEMORY(wanted.p);
    TRY(graph_unique_name(l->graph, wanted, &wanted));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, l->graph, str_of(op), wanted);
    builder_flat_inputs(&builder, inputs, n);
    if (attr)
        builder_attr(&builder, attr->name, &attr->value);
    Node *node;
    TRY(builder_finish(&builder, &node));
    *out = (Output){node, 0};
    return OK;
}

static Status *free_scope(Loop *l) {
    Str name = str_of(l->params->name), scope = name;
    for (int i = 1;; i++) {
        Str enter = str_format(&l->arena, "%.*s/Enter", (int)scope.n, scope.p);
        NEED_MEMORY(scope.p && enter.p);
        if (!graph_find(l->graph, scope) && !graph_find(l->graph, enter))
            break;
        scope = str_format(&l->arena, "%.*s_%d", (int)name.n, name.p, i);
    }
    l->scope = scope;
    return OK;
}

static Status *make_variables(Loop *l) {
    AttrEntry frame = {STR("frame_name"), ATTR_OF_STRING(l->scope)}, two = {STR("N"), ATTR_OF_INT(2)};
    for (int i = 0; i < l->loop->n; i++) {
        Output input = api_output(l->loop->inputs[i]);
        Output pair[2] = {{0}};  // the second closes the loop at the end
        TRY(make(l, "Enter", "Enter", &input, 1, &frame, &pair[0]));
        TRY(make(l, "Merge", "Merge", pair, 2, &two, &l->merges[i]));
    }
    return OK;
}

// Puts a client's graph under the loop's scope: `inputs` become `given`, what reads nothing runs after `before`.
static Status *insert(Loop *l, TF_Graph *from, const char *name, const TF_Output *inputs, const Output *given,
                      Node *before, const TF_Output *results, int n_results, Output *out) {
    int n = l->loop->n;
    InputMapping *map = ARENA_ARRAY(&l->arena, InputMapping, n);
    TensorName *wanted = ARENA_ARRAY(&l->arena, TensorName, n_results);
    NEED_MEMORY(map && wanted);
    for (int i = 0; i < n; i++)
        map[i] = (InputMapping){{api_node(inputs[i].oper)->name, inputs[i].index}, given[i]};
    for (int i = 0; i < n_results; i++)
        wanted[i] = (TensorName){api_node(results[i].oper)->name, results[i].index};
    ImportOptions options = {.input_map = map, .n_input_map = n, .controls = &before, .n_controls = 1,
                             .return_outputs = wanted, .n_return_outputs = n_results, .uniquify_prefix = true,
                             .skip_mapped = true};
    options.prefix = str_format(&l->arena, "%.*s/%s", (int)l->scope.n, l->scope.p, name);
    NEED_MEMORY(options.prefix.p);
    AUTO(text) Text bytes = {0};
    AUTO(import_results) ImportResults done = {0};
    TRY(graph_to_proto(from->graph, &bytes));
    TRY(graph_import(l->graph, text_str(&bytes), &options, &done));
    for (int i = 0; i < n_results; i++)
        out[i] = done.return_outputs[i];
    return OK;
}

static Status *make_condition(Loop *l) {
    const TF_WhileParams *params = l->params;
    Output result;
    TRY(insert(l, params->cond_graph, "cond", params->cond_inputs, l->merges, l->merges[0].node, &params->cond_output,
               1, &result));
    NEED(dtype_base(result.node->output_types[result.index]) == DT_bool, INVALID_ARGUMENT,
         "BuildWhileLoop: 'cond' argument must return a boolean output");
    return make(l, "LoopCond", "LoopCond", &result, 1, NULL, &l->cond);
}

static Status *make_body(Loop *l) {
    int n = l->loop->n;
    const TF_WhileParams *params = l->params;
    Output *results = ARENA_ARRAY(&l->arena, Output, n);
    NEED_MEMORY(results);
    for (int i = 0; i < n; i++) {
        Output in[] = {l->merges[i], l->cond};
        TRY(make(l, "Switch", "Switch", in, 2, NULL, &l->switches[i]));
        // A control edge from the Switch itself would also fire where the loop ends.
        Output goes_on = {l->switches[i].node, 1};
        TRY(make(l, "Identity", "Identity", &goes_on, 1, NULL, &l->bodies[i]));
    }
    TRY(insert(l, params->body_graph, "body", params->body_inputs, l->bodies, l->bodies[0].node, params->body_outputs,
               n, results));
    for (int i = 0; i < n; i++) {
        Output next;
        TRY(make(l, "NextIteration", "NextIteration", &results[i], 1, NULL, &next));
        TRY(node_set_input(l->merges[i].node, 1, next));
    }
    return OK;
}

static Status *build(Loop *l, TF_Output *outputs) {
    int n = l->loop->n;
    l->merges = ARENA_ARRAY(&l->arena, Output, n);
    l->switches = ARENA_ARRAY(&l->arena, Output, n);
    l->bodies = ARENA_ARRAY(&l->arena, Output, n);
    Output *exits = ARENA_ARRAY(&l->arena, Output, n);
    NEED_MEMORY(l->merges && l->switches && l->bodies && exits);
    TRY(free_scope(l));
    TRY(make_variables(l));
    TRY(make_condition(l));
    TRY(make_body(l));
    for (int i = 0; i < n; i++)
        TRY(make(l, "Exit", "Exit", &l->switches[i], 1, NULL, &exits[i]));
    for (int i = 0; i < n; i++)
        outputs[i] = (TF_Output){api_operation(exits[i].node), exits[i].index};
    return OK;
}

// ---------------------------------------- end

static Status *check_filled(const TF_WhileParams *params) {
    NEED(params->cond_output.oper, INVALID_ARGUMENT, "TF_WhileParams `cond_output` field isn't set");
    for (int i = 0; i < params->ninputs; i++)
        NEED(params->body_outputs[i].oper, INVALID_ARGUMENT, "TF_WhileParams `body_outputs[%d]` field isn't set", i);
    NEED(params->name, INVALID_ARGUMENT, "TF_WhileParams `name` field is null");
    TRY(status_prefix(api_output_check(params->cond_graph->graph, params->cond_output), "cond_output"));
    for (int i = 0; i < params->ninputs; i++)
        TRY(status_prefix(api_output_check(params->body_graph->graph, params->body_outputs[i]), "body_outputs[%d]", i));
    return OK;
}

static Status *finish(const TF_WhileParams *params, TF_Output *outputs) {
    TRY(check_filled(params));
    Loop l = {.graph = params->cond_graph->loop->parent->graph, .params = params, .loop = params->cond_graph->loop};
    size_t nodes = l.graph->nodes.n, tensors = l.graph->tensors.n;
    uint64_t edit = l.graph->edit;
    Status *status = build(&l, outputs);
    if (status) {
        while (l.graph->nodes.n > nodes)
            graph_remove_last(l.graph);
        tensor_list_cut(&l.graph->tensors, tensors);
    }
    l.graph->edit = edit;  // only new nodes were made, or none
    arena_clear(&l.arena);
    return status;
}

void TF_FinishWhile(const TF_WhileParams *params, TF_Status *status, TF_Output *outputs) {
    bool ours = params->ninputs > 0 && params->cond_graph && params->body_graph && params->cond_inputs &&
                params->body_inputs && params->body_outputs && params->cond_graph->loop &&
                params->cond_graph->loop->n == params->ninputs;
    if (!ours) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "TF_FinishWhile() needs the TF_WhileParams of TF_NewWhile()"));
        return;
    }
    TF_Graph *parent = params->cond_graph->loop->parent;
    mutex_lock(&parent->lock);
    api_set(status, finish(params, outputs));
    mutex_unlock(&parent->lock);
    params_free(params);
}
