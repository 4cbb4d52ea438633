// Control flow — calls in place, conditionals and loops with functions as regions: see hlo.h.
//
// What a region changes or checks leaves it as a result of the operation: the variables that a branch assigns, those that
// a loop is given, and one i1 a check.
#include "hlo/hlo_internal.h"

static Status *function_of(HloWriter *w, const FuncRef *ref, int n_arguments, int n_results, HloFragment *out) {
    NEED(w->functions < HLO_DEPTH, UNIMPLEMENTED, "functions call each other more than %d deep", HLO_DEPTH);
    NEED_MEMORY(vec_reserve(&w->graphs, w->graphs.n + 1));
    out->graph = NULL;
    Status *status = hlo_function(w->scope->graph, ref, n_arguments, n_results, &w->module->arena, out);
    if (out->graph)
        w->graphs.p[w->graphs.n++] = out->graph;
    return status_prefix(status, "in function '%.*s'", STR_ARGS(ref->name));
}

// Copies of the edges of inputs [first, n_in).
static HloEdge *edges_of_inputs(HloWriter *w, int first) {
    HloEdge *edges = ARENA_ARRAY(&w->module->arena, HloEdge, w->hlo.n_in - first);
    for (int i = first; edges && i < w->hlo.n_in; i++) {
        hlo_in_shape(&w->hlo, i);
        edges[i - first] = *w->in[i];
    }
    return edges;
}

Status *hlo_call(Hlo *h) {
    HloWriter *w = hlo_writer(h);
    FuncRef room;
    HloFragment body;
    TRY(function_of(w, hlo_called(h->node, &room), h->n_in, h->n_out, &body));
    HloEdge *arguments = edges_of_inputs(w, 0);
    NEED_MEMORY(arguments);
    return hlo_write_fragment(h, &body, arguments, w->out);
}

static Status *same_type(HloValue a, HloValue b, const char *what) {
    NEED(a->dtype == b->dtype && shape_equal(&a->shape, &b->shape), UNIMPLEMENTED, "%s is %s%s here and %s%s there", what,
         dtype_name(a->dtype), shape_text(&a->shape), dtype_name(b->dtype), shape_text(&b->shape));
    return OK;
}

static void put_values(Hlo *h, const char *format, const HloValue *values, int n) {
    for (int i = 0; i < n; i++) {
        hlo_put_text(h, i ? ", " : "");
        hlo_put_text(h, format, values[i]);
    }
}

static void put_return(Hlo *h, const HloValue *values, int n) {
    hlo_put_text(h, "    stablehlo.return ");
    put_values(h, "%v", values, n);
    hlo_put_text(h, " : ");
    put_values(h, "%t", values, n);
    hlo_put_text(h, "\n");
}

static HloValue *values_new(HloWriter *w, size_t n) {
    return ARENA_ARRAY(&w->module->arena, HloValue, n);
}

// ---------------------------------------- conditionals

typedef struct {
    Text text;
    HloEdge *results;
    HloValue *values;                // of the results that are no variables
    HloVariableState *variables;     // as it leaves them
    size_t first_check, end_check;
} Branch;

static Status *write_branch(Hlo *h, const FuncRef *ref, const HloEdge *arguments, Branch *branch) {
    HloWriter *w = hlo_writer(h);
    HloFragment body;
    int n_out = h->n_out, n_variables = w->spec->n_variables;
    branch->results = ARENA_ARRAY(&w->module->arena, HloEdge, n_out);
    branch->values = values_new(w, (size_t)n_out);
    branch->variables = ARENA_ARRAY(&w->module->arena, HloVariableState, n_variables);
    NEED_MEMORY(branch->results && branch->values && branch->variables);
    TRY(function_of(w, ref, h->n_in - 1, n_out, &body));
    branch->first_check = w->checks.n;
    HloEdge *own = ARENA_ARRAY(&w->module->arena, HloEdge, h->n_in - 1);
    NEED_MEMORY(own);
    for (int i = 0; i < h->n_in - 1; i++)
        own[i] = arguments[i];
    TRY(hlo_write_fragment(h, &body, own, branch->results));
    for (int i = 0; i < n_out; i++)
        branch->values[i] = branch->results[i].variable >= 0 ? NULL : hlo_edge_value(h, &branch->results[i]);
    for (int i = 0; i < n_variables; i++)
        branch->variables[i] = w->variables[i];
    branch->end_check = w->checks.n;
    return h->status;
}

// One list of values per branch: results, assigned variables, checks.
typedef struct {
    Branch *branches;
    int n_branches, n_results;
    HloVariableState *before;
    HloValue **lists;
    int n;
} Conditional;

static Status *list_branch(Hlo *h, Conditional *c, int k, size_t first_check) {
    HloWriter *w = hlo_writer(h);
    Branch *branch = &c->branches[k];
    int n = 0;
    for (int i = 0; i < c->n_results; i++)
        if (branch->values[i])
            c->lists[k][n++] = branch->values[i];
    for (int v = 0; v < w->spec->n_variables; v++) {
        bool assigned = false;
        for (int other = 0; other < c->n_branches; other++)
            assigned |= c->branches[other].variables[v].value != c->before[v].value;
        if (!assigned)
            continue;
        w->variables[v].value = c->before[v].value;
        c->lists[k][n++] = branch->variables[v].value ? branch->variables[v].value : hlo_variable_value(h, v);
    }
    for (size_t i = first_check; i < w->checks.n; i++)
        c->lists[k][n++] = i >= branch->first_check && i < branch->end_check ? w->checks.p[i].good : hlo_number(h, 1, DT_bool);
    TRY(h->status);
    for (int i = 0; k && i < n; i++)
        TRY(same_type(c->lists[0][i], c->lists[k][i], "what a branch gives"));
    c->n = n;
    Text *outer = hlo_region_begin(h, &branch->text);
    put_return(h, c->lists[k], n);
    hlo_region_end(h, outer);
    return h->status;
}

// What came out of the operation stands where the branches' values stood.
static Status *take_results(Hlo *h, Conditional *c, const HloValue *parts, size_t first_check) {
    HloWriter *w = hlo_writer(h);
    int n = 0;
    for (int i = 0; i < c->n_results; i++) {
        HloEdge *result = &c->branches[0].results[i];
        for (int k = 1; k < c->n_branches; k++)
            NEED(c->branches[k].results[i].variable == result->variable, UNIMPLEMENTED, "branches give different variables");
        w->out[i] = *result;
        if (result->variable < 0)
            w->out[i] = (HloEdge){.value = parts[n], .variable = -1, .dtype = parts[n]->dtype, .shape = parts[n]->shape};
        n += result->variable < 0;
    }
    for (int v = 0; v < w->spec->n_variables; v++) {
        bool assigned = false;
        for (int k = 0; k < c->n_branches; k++)
            assigned |= c->branches[k].variables[v].value != c->before[v].value;
        if (assigned)
            w->variables[v] = (HloVariableState){parts[n++], w->variables[v].argument, true};
    }
    for (size_t i = first_check; i < w->checks.n; i++)
        w->checks.p[i].good = parts[n++];
    return OK;
}

static Status *write_conditional(Hlo *h, const char *op, HloValue index, Conditional *c, size_t first_check) {
    HloWriter *w = hlo_writer(h);
    size_t most = (size_t)c->n_results + (size_t)w->spec->n_variables + w->checks.n - first_check;
    c->lists = ARENA_ARRAY(&w->module->arena, HloValue *, c->n_branches);
    NEED_MEMORY(c->lists);
    for (int k = 0; k < c->n_branches; k++) {
        c->lists[k] = values_new(w, most);
        NEED_MEMORY(c->lists[k]);
        TRY(list_branch(h, c, k, first_check));
    }
    if (!c->n)
        return OK;  // nothing comes of it
    HloValue *parts = values_new(w, (size_t)c->n);
    DType *dtypes = ARENA_ARRAY(&w->module->arena, DType, c->n);
    Shape *shapes = ARENA_ARRAY(&w->module->arena, Shape, c->n);
    NEED_MEMORY(parts && dtypes && shapes);
    for (int i = 0; i < c->n; i++) {
        dtypes[i] = c->lists[0][i]->dtype;
        shapes[i] = c->lists[0][i]->shape;
    }
    hlo_results(h, dtypes, shapes, c->n, parts);
    TRY(h->status);
    hlo_put_text(h, "    %%%d:%d = \"stablehlo.%c\"(%v) (", (int64_t)parts[0]->id, (int64_t)c->n, op, index);
    for (int k = 0; k < c->n_branches; k++) {
        hlo_put_text(h, k ? ", {\n" : "{\n");
        text_add(w->text, text_str(&c->branches[k].text));
        hlo_put_text(h, "    }");
    }
    hlo_put_text(h, ") : (%t) -> (", index);
    put_values(h, "%t", parts, c->n);
    hlo_put_text(h, ")\n");
    TRY(h->status);
    return take_results(h, c, parts, first_check);
}

static Status *conditional(Hlo *h, const char *op, HloValue index, const FuncRef *const *refs, int n) {
    HloWriter *w = hlo_writer(h);
    Conditional c = {.n_branches = n, .n_results = h->n_out};
    c.branches = ARENA_ARRAY(&w->module->arena, Branch, n);
    c.before = ARENA_ARRAY(&w->module->arena, HloVariableState, w->spec->n_variables);
    HloEdge *arguments = edges_of_inputs(w, 1);
    NEED_MEMORY(c.branches && c.before && arguments);
    for (int v = 0; v < w->spec->n_variables; v++)
        c.before[v] = w->variables[v];
    size_t first_check = w->checks.n;
    Status *status = OK;
    for (int k = 0; k < n && !status; k++) {
        Text *outer = hlo_region_begin(h, &c.branches[k].text);
        status = write_branch(h, refs[k], arguments, &c.branches[k]);
        hlo_region_end(h, outer);
        for (int v = 0; v < w->spec->n_variables; v++)  // the argument stays: it stands outside of every region
            w->variables[v] = (HloVariableState){c.before[v].value, w->variables[v].argument, c.before[v].assigned};
    }
    if (!status)
        status = write_conditional(h, op, index, &c, first_check);
    for (int k = 0; k < n; k++)
        text_clear(&c.branches[k].text);
    return status;
}

// One branch alone, as it is known which.
static Status *only_branch(Hlo *h, const FuncRef *ref) {
    HloWriter *w = hlo_writer(h);
    HloFragment body;
    TRY(function_of(w, ref, h->n_in - 1, h->n_out, &body));
    HloEdge *arguments = edges_of_inputs(w, 1);
    NEED_MEMORY(arguments);
    return hlo_write_fragment(h, &body, arguments, w->out);
}

static Status *func_attr(const Node *node, const char *name, const FuncRef **out) {
    const AttrValue *value = node_attr_find(node, name);
    NEED(value && value->kind == ATTR_FUNC && !value->is_list, INVALID_ARGUMENT, "attr '%s' is no function", name);
    *out = value->func;
    return OK;
}

Status *hlo_if(Hlo *h) {
    const FuncRef *refs[2];
    TRY(func_attr(h->node, "then_branch", &refs[0]));
    TRY(func_attr(h->node, "else_branch", &refs[1]));
    NEED(hlo_in_shape(h, 0)->rank == 0, UNIMPLEMENTED, "the condition is no scalar");
    const Tensor *known = hlo_known(h, 0);
    if (known && known->dtype == DT_bool)
        return only_branch(h, refs[*(const bool *)known->data ? 0 : 1]);
    HloValue index = hlo_cast(h, hlo_in(h, 0), DT_bool);
    TRY(h->status);
    return conditional(h, "if", index, refs, 2);
}

Status *hlo_case(Hlo *h) {
    const AttrValue *branches = node_list(h->node, "branches");
    NEED(branches && branches->kind == ATTR_FUNC && branches->n >= 1, INVALID_ARGUMENT, "attr 'branches' is no list of functions");
    const FuncRef **refs = ARENA_ARRAY(&hlo_writer(h)->module->arena, const FuncRef *, branches->n);
    NEED_MEMORY(refs);
    for (int i = 0; i < branches->n; i++)
        refs[i] = &branches->funcs[i];
    HloValue index = hlo_in(h, 0);
    TRY(h->status);
    return conditional(h, "case", index, refs, branches->n);  // an index out of range is the last, here and there
}

// ---------------------------------------- loops

typedef VEC(HloValue) HloValues;

// What a loop carries: its state, then the variables that it may assign, then what its checks have found so far.
typedef struct {
    HloValue (*condition)(Hlo *h, const HloValue *state, void *context);
    void (*body)(Hlo *h, HloValue *state, void *context);  // state, then variables
    void *context;
    const int32_t *variables;
    int n_state, n_variables;
    HloValues first, inside, last;
    size_t first_check;
} Loop;

static void loop_clear(Loop *loop) {
    vec_clear(&loop->first);
    vec_clear(&loop->inside);
    vec_clear(&loop->last);
}

// One more thing to carry, from `first`; its name inside.
static Status *carry(Hlo *h, Loop *loop, HloValue first) {
    HloValue inside = hlo_array(h, first->dtype, first->shape);
    TRY(h->status);
    NEED_MEMORY(vec_push(&loop->first, first) && vec_push(&loop->inside, inside) && vec_push(&loop->last, inside));
    return OK;
}

static void enter(Hlo *h, const Loop *loop) {
    for (int i = 0; i < loop->n_variables; i++)
        hlo_writer(h)->variables[loop->variables[i]].value = loop->inside.p[loop->n_state + i];
}

static Status *write_condition(Hlo *h, Loop *loop) {
    enter(h, loop);
    HloValue more = loop->condition(h, loop->inside.p, loop->context);
    TRY(h->status);
    NEED(more->dtype == DT_bool && more->shape.rank == 0, UNIMPLEMENTED, "the condition of a loop is no bool scalar");
    NEED(hlo_writer(h)->checks.n == loop->first_check, UNIMPLEMENTED, "the condition of a loop may fail");
    for (int i = 0; i < loop->n_variables; i++)
        NEED(hlo_writer(h)->variables[loop->variables[i]].value == loop->inside.p[loop->n_state + i], UNIMPLEMENTED,
             "the condition of a loop assigns a variable");
    put_return(h, &more, 1);
    return h->status;
}

static Status *write_body(Hlo *h, Loop *loop) {
    HloWriter *w = hlo_writer(h);
    enter(h, loop);
    loop->body(h, loop->last.p, loop->context);
    TRY(h->status);
    for (int i = 0; i < loop->n_variables; i++)
        loop->last.p[loop->n_state + i] = w->variables[loop->variables[i]].value;
    for (int i = 0; i < loop->n_state + loop->n_variables; i++)
        TRY(same_type(loop->first.p[i], loop->last.p[i], "what a loop carries"));
    for (size_t i = loop->first_check; i < w->checks.n; i++) {
        TRY(carry(h, loop, hlo_number(h, 1, DT_bool)));
        vec_last(&loop->last) = hlo_and(h, vec_last(&loop->inside), w->checks.p[i].good);
    }
    put_return(h, loop->last.p, (int)loop->last.n);
    return h->status;
}

static Status *put_loop(Hlo *h, Loop *loop, const Text *condition, const Text *body, HloValue *parts) {
    HloWriter *w = hlo_writer(h);
    int n = (int)loop->first.n;
    DType *dtypes = ARENA_ARRAY(&w->module->arena, DType, n);
    Shape *shapes = ARENA_ARRAY(&w->module->arena, Shape, n);
    NEED_MEMORY(dtypes && shapes);
    for (int i = 0; i < n; i++) {
        dtypes[i] = loop->first.p[i]->dtype;
        shapes[i] = loop->first.p[i]->shape;
    }
    hlo_results(h, dtypes, shapes, n, parts);
    TRY(h->status);
    hlo_put_text(h, "    %%%d:%d = stablehlo.while(", (int64_t)parts[0]->id, (int64_t)n);
    for (int i = 0; i < n; i++)
        hlo_put_text(h, i ? ", %v = %v" : "%v = %v", loop->inside.p[i], loop->first.p[i]);
    hlo_put_text(h, ") : ");
    put_values(h, "%t", parts, n);
    hlo_put_text(h, "\n     cond {\n");
    text_add(w->text, text_str(condition));
    hlo_put_text(h, "    } do {\n");
    text_add(w->text, text_str(body));
    hlo_put_text(h, "    }\n");
    return h->status;
}

// `state` comes with the first values and leaves with the last.
static Status *write_loop(Hlo *h, Loop *loop, HloValue *state, Text *condition, Text *body) {
    HloWriter *w = hlo_writer(h);
    loop->first_check = w->checks.n;
    HloVariableState *before = ARENA_ARRAY(&w->module->arena, HloVariableState, loop->n_variables);
    NEED_MEMORY(before);
    for (int i = 0; i < loop->n_state; i++)
        TRY(carry(h, loop, state[i]));
    for (int i = 0; i < loop->n_variables; i++) {
        TRY(carry(h, loop, hlo_variable_value(h, loop->variables[i])));
        before[i] = w->variables[loop->variables[i]];
    }
    NEED(loop->first.n, UNIMPLEMENTED, "a loop without variables");
    Text *outer = hlo_region_begin(h, condition);
    Status *status = write_condition(h, loop);
    hlo_region_end(h, outer);
    TRY(status);
    hlo_region_begin(h, body);
    status = write_body(h, loop);
    hlo_region_end(h, outer);
    TRY(status);
    HloValue *parts = values_new(w, loop->first.n);
    NEED_MEMORY(parts);
    TRY(put_loop(h, loop, condition, body, parts));
    for (int i = 0; i < loop->n_state; i++)
        state[i] = parts[i];
    for (int i = 0; i < loop->n_variables; i++) {
        HloVariableState *variable = &w->variables[loop->variables[i]];
        bool changed = loop->last.p[loop->n_state + i] != loop->inside.p[loop->n_state + i];
        *variable = changed ? (HloVariableState){parts[loop->n_state + i], variable->argument, true}
                            : (HloVariableState){before[i].value, variable->argument, before[i].assigned};
    }
    for (size_t i = loop->first_check; i < w->checks.n; i++)
        w->checks.p[i].good = parts[loop->n_state + loop->n_variables + (int)(i - loop->first_check)];
    return OK;
}

static Status *loop_write(Hlo *h, Loop *loop, HloValue *state) {
    AUTO(text) Text condition = {0};
    AUTO(text) Text body = {0};
    Status *status = write_loop(h, loop, state, &condition, &body);
    loop_clear(loop);
    return status;
}

// ---------------------------------------- While

typedef struct {
    const HloFragment *condition, *body;
    const HloEdge *inputs;          // as they come in
    const bool *carried;            // the others are what they were, in every iteration
    int n;
} WhileNode;

// The edges inside: what is carried, and what isn't.
static HloEdge *edges_inside(Hlo *h, const WhileNode *node, const HloValue *state) {
    HloEdge *edges = ARENA_ARRAY(&hlo_writer(h)->module->arena, HloEdge, node->n);
    for (int i = 0, n = 0; edges && i < node->n; i++) {
        edges[i] = node->inputs[i];
        if (node->carried[i]) {
            edges[i] = (HloEdge){.value = state[n], .variable = -1, .dtype = state[n]->dtype, .shape = state[n]->shape};
            n++;
        }
    }
    return edges;
}

static HloValue while_condition(Hlo *h, const HloValue *state, void *context) {
    const WhileNode *node = context;
    HloEdge *edges = edges_inside(h, node, state), result = {.variable = -1};
    Status *status = edges ? hlo_write_fragment(h, node->condition, edges, &result) : OUT_OF_MEMORY;
    if (status)
        hlo_fail(h, status);
    return hlo_edge_value(h, &result);
}

static void while_body(Hlo *h, HloValue *state, void *context) {
    const WhileNode *node = context;
    HloEdge *edges = edges_inside(h, node, state);
    HloEdge *results = ARENA_ARRAY(&hlo_writer(h)->module->arena, HloEdge, node->n);
    Status *status = edges && results ? hlo_write_fragment(h, node->body, edges, results) : OUT_OF_MEMORY;
    if (status) {
        hlo_fail(h, status);
        return;
    }
    for (int i = 0, n = 0; i < node->n; i++)
        if (node->carried[i])
            state[n++] = hlo_edge_value(h, &results[i]);
}

// Whether the body hands that argument on.
static bool is_invariant(const HloFragment *body, int i) {
    Output from = body->results[i];
    while (from.node && node_op(from.node) && (node_op(from.node)->flags & OP_IDENTITY) && from.index == 0)
        from = from.node->inputs[0];
    return from.node && output_equal(from, body->arguments[i]);
}

static Status *write_while(Hlo *h, WhileNode *node, bool *carried, HloEdge *inputs) {
    HloWriter *w = hlo_writer(h);
    HloValue *state = values_new(w, (size_t)h->n_in);
    int32_t *variables = ARENA_ARRAY(&w->module->arena, int32_t, h->n_in);
    NEED_MEMORY(state && variables);
    Loop loop = {.condition = while_condition, .body = while_body, .context = node, .variables = variables};
    for (int i = 0; i < h->n_in; i++) {
        int32_t variable = inputs[i].variable;
        carried[i] = variable < 0 && !is_invariant(node->body, i);
        if (carried[i])
            state[loop.n_state++] = hlo_in(h, i);
        bool twice = variable < 0;
        for (int k = 0; k < loop.n_variables; k++)
            twice |= variables[k] == variable;
        if (!twice)
            variables[loop.n_variables++] = variable;
        NEED(variable < 0 || is_invariant(node->body, i), UNIMPLEMENTED, "a loop that changes which variable it names");
        if (variable < 0 && !carried[i] && !inputs[i].known) {  // seen from inside
            inputs[i].value = hlo_in(h, i);
            TRY(h->status);
        }
    }
    TRY(h->status);
    TRY(loop_write(h, &loop, state));
    for (int i = 0, n = 0; i < h->n_out; i++) {
        w->out[i] = inputs[i];
        if (carried[i]) {
            w->out[i] = (HloEdge){.value = state[n], .variable = -1, .dtype = state[n]->dtype, .shape = state[n]->shape};
            n++;
        }
    }
    return OK;
}

Status *hlo_while(Hlo *h) {
    HloWriter *w = hlo_writer(h);
    const FuncRef *refs[2];
    HloFragment condition, body;
    TRY(func_attr(h->node, "cond", &refs[0]));
    TRY(func_attr(h->node, "body", &refs[1]));
    TRY(function_of(w, refs[0], h->n_in, 1, &condition));
    TRY(function_of(w, refs[1], h->n_in, h->n_out, &body));
    HloEdge *inputs = edges_of_inputs(w, 0);
    bool *carried = ARENA_ARRAY(&w->module->arena, bool, h->n_in);
    NEED_MEMORY(inputs && carried);
    WhileNode node = {&condition, &body, inputs, carried, h->n_in};
    return write_while(h, &node, carried, inputs);
}

// ---------------------------------------- counted loops

typedef struct {
    int64_t n;
    int n_state;
    HloBody *body;
    void *context;
} Counted;

static HloValue counted_condition(Hlo *h, const HloValue *state, void *context) {
    const Counted *counted = context;
    return hlo_lt(h, state[0], hlo_int(h, counted->n, DT_int32));
}

static void counted_body(Hlo *h, HloValue *state, void *context) {
    const Counted *counted = context;
    counted->body(h, state[0], state + 1, counted->context);
    state[0] = hlo_plus(h, state[0], 1);
}

void hlo_loop(Hlo *h, int64_t n, HloValue *state, int n_state, HloBody *body, void *context) {
    if (h->status)
        return;
    HloValue *all = values_new(hlo_writer(h), (size_t)n_state + 1);
    if (!all) {
        hlo_fail(h, OUT_OF_MEMORY);
        return;
    }
    all[0] = hlo_int(h, 0, DT_int32);
    for (int i = 0; i < n_state; i++)
        all[i + 1] = state[i];
    Counted counted = {n, n_state, body, context};
    Loop loop = {.condition = counted_condition, .body = counted_body, .context = &counted, .n_state = n_state + 1};
    if (h->status)
        return;
    Status *status = loop_write(h, &loop, all);
    if (status && status != h->status)
        hlo_fail(h, status);
    for (int i = 0; i < n_state; i++)
        state[i] = status ? &hlo_nothing : all[i + 1];
}
