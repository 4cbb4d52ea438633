// Module — see module.h: arguments, the walk over the nodes, results.
#include "graph/needs.h"
#include "graph/shapes.h"
#include "hlo/hlo_internal.h"

enum { COMPUTED_OUT = 4096, COMPUTED_IN = 65536 };  // bytes of what is computed on the host rather than written

// ---------------------------------------- arguments and edges

HloValue hlo_argument(Hlo *h, const HloArgument *argument) {
    HloWriter *w = hlo_writer(h);
    HloValue value = hlo_array(h, argument->dtype, argument->shape);
    if (!h->status && (!vec_reserve(&w->arguments, w->arguments.n + 1) || !vec_push(&w->argument_values, value)))
        hlo_fail(h, OUT_OF_MEMORY);
    HLO_STOPS(h);
    w->arguments.p[w->arguments.n++] = *argument;
    return value;
}

HloValue hlo_variable_value(Hlo *h, int32_t variable) {
    HLO_STOPS(h);
    HloWriter *w = hlo_writer(h);
    HloVariableState *state = &w->variables[variable];
    const HloVariable *spec = &w->spec->variables[variable];
    if (state->value)
        return state->value;
    if (!state->argument)
        state->argument = hlo_argument(
            h, &(HloArgument){.kind = HLO_VARIABLE, .index = variable, .dtype = spec->dtype, .shape = spec->shape});
    return state->argument;
}

HloValue hlo_edge_value(Hlo *h, HloEdge *edge) {
    HLO_STOPS(h);
    HloWriter *w = hlo_writer(h);
    if (edge->variable >= 0)
        return hlo_variable_value(h, edge->variable);
    if (edge->known && !edge->value)
        edge->value = hlo_tensor(h, edge->known);
    if (edge->input && !edge->value) {
        HloValue *value = &w->inputs[edge->input - 1];
        if (!*value)
            *value = hlo_argument(h, &(HloArgument){.kind = HLO_INPUT, .index = edge->input - 1, .dtype = edge->dtype,
                                                    .shape = edge->shape});
        edge->value = *value;
    }
    if (!edge->value)
        hlo_fail(h, status_new(INTERNAL, __FILE__, __LINE__, "a value is read before it is written"));
    HLO_STOPS(h);
    return edge->value;
}

Status *hlo_scope_new(HloWriter *w, const Graph *graph, HloScope *out) {
    *out = (HloScope){.graph = graph, .n_nodes = graph->nodes.n, .outer = w->scope};
    out->edges = ARENA_ARRAY(&w->module->arena, HloEdge *, out->n_nodes);
    NEED_MEMORY(out->edges);
    return OK;
}

HloEdge *hlo_scope_edges(HloWriter *w, HloScope *scope, const Node *node) {
    if (node->id < 0 || (size_t)node->id >= scope->n_nodes)
        return NULL;
    HloEdge **edges = &scope->edges[node->id];
    if (!*edges) {
        *edges = ARENA_ARRAY(&w->module->arena, HloEdge, node->n_outputs);
        for (int i = 0; *edges && i < node->n_outputs; i++)
            (*edges)[i] = (HloEdge){.variable = -1, .dtype = output_base_type((Output){(Node *)node, i}),
                                    .shape = UNKNOWN_SHAPE};
    }
    return *edges;
}

// ---------------------------------------- what ops ask for

HloValue hlo_in(Hlo *h, int i) {
    return hlo_edge_value(h, hlo_writer(h)->in[i]);
}

const Shape *hlo_in_shape(Hlo *h, int i) {
    const HloEdge *edge = hlo_writer(h)->in[i];
    const HloVariableState *state = edge->variable >= 0 ? &hlo_writer(h)->variables[edge->variable] : NULL;
    if (!state)
        return &edge->shape;
    return state->value ? &state->value->shape : &hlo_writer(h)->spec->variables[edge->variable].shape;
}

const Tensor *hlo_known(Hlo *h, int i) {
    return hlo_writer(h)->in[i]->known;
}

Status *hlo_need(Hlo *h, int i, const Tensor **out) {
    const Tensor *known = hlo_known(h, i);
    NEED(known, UNIMPLEMENTED, "input %d is not known when the program is made", i);
    *out = known;
    return OK;
}

double hlo_need_number(Hlo *h, int i, int64_t at) {
    const Tensor *known = NULL;
    if (!h->status)
        hlo_fail(h, hlo_need(h, i, &known));
    if (!known || at >= tensor_count(known))
        return 0;
    switch (known->dtype) {
    case DT_float: return (double)((const float *)known->data)[at];
    case DT_double: return ((const double *)known->data)[at];
    case DT_half: return (double)half_to_float(((const Half *)known->data)[at]);
    case DT_bfloat16: return (double)bfloat16_to_float(((const Bfloat16 *)known->data)[at]);
    case DT_int8: return ((const int8_t *)known->data)[at];
    case DT_int16: return ((const int16_t *)known->data)[at];
    case DT_int32: case DT_int64: return (double)tensor_int(known, at);
    default:
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "input %d is of type %s", i, dtype_name(known->dtype)));
        return 0;
    }
}

Shape hlo_need_list(Hlo *h, int i) {
    Shape list = {0};
    const Tensor *known = NULL;
    if (!h->status)
        hlo_fail(h, hlo_need(h, i, &known));
    for (int64_t at = 0; known && at < tensor_count(known) && !h->status; at++)
        hlo_list_add(h, &list, (int64_t)hlo_need_number(h, i, at));
    return list;
}

int hlo_need_axis(Hlo *h, int i, int rank) {
    int axis = 0;
    double given = hlo_need_number(h, i, 0);
    if (!h->status)
        hlo_fail(h, shape_axis((int64_t)given, rank, &axis));
    return axis;
}

uint32_t hlo_need_axes(Hlo *h, int i, int rank) {
    Shape list = hlo_need_list(h, i);
    uint32_t axes = 0;
    for (int k = 0; k < list.rank && !h->status; k++) {
        int axis = 0;
        hlo_fail(h, shape_axis(list.dims[k], rank, &axis));
        axes |= BIT(axis);
    }
    return axes;
}

const Shape *hlo_out_shape(Hlo *h, int i) {
    return &hlo_writer(h)->out[i].shape;
}

DType hlo_out_type(Hlo *h, int i) {
    return hlo_writer(h)->out[i].dtype;
}

Status *hlo_out(Hlo *h, int i, HloValue value) {
    HloEdge *edge = &hlo_writer(h)->out[i];
    if (!h->status && (value->dtype != edge->dtype || !shape_compatible(&value->shape, &edge->shape)))
        hlo_fail(h, status_new(INTERNAL, __FILE__, __LINE__, "output %d is written as %s%s, but is %s%s", i,
                               dtype_name(value->dtype), shape_text(&value->shape), dtype_name(edge->dtype),
                               shape_text(&edge->shape)));
    if (!h->status) {
        edge->value = value;
        edge->shape = value->shape;
    }
    Status *status = h->status;
    h->status = OK;
    return status;
}

Status *hlo_out_ints(Hlo *h, int i, Shape numbers) {
    HloWriter *w = hlo_writer(h);
    Tensor *tensor = ARENA_NEW(&w->module->arena, Tensor);
    NEED_MEMORY(tensor && vec_reserve(&w->tensors, w->tensors.n + 1));
    TRY(tensor_new(w->out[i].dtype, SHAPE(numbers.rank), tensor));
    w->tensors.p[w->tensors.n++] = tensor;
    for (int k = 0; k < numbers.rank; k++) {
        if (tensor->dtype == DT_int32)
            ((int32_t *)tensor->data)[k] = (int32_t)numbers.dims[k];
        else
            ((int64_t *)tensor->data)[k] = numbers.dims[k];
    }
    w->out[i].known = tensor;
    w->out[i].shape = tensor->shape;
    return OK;
}

void hlo_assign(Hlo *h, int i, HloValue value) {
    if (h->status)
        return;
    HloWriter *w = hlo_writer(h);
    int32_t variable = w->in[i]->variable;
    if (variable < 0)
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "input %d is no variable that is known here", i));
    else if (w->spec->variables[variable].dtype != value->dtype)
        hlo_fail(h, status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "the variable is of type %s, expected %s",
                               dtype_name(w->spec->variables[variable].dtype), dtype_name(value->dtype)));
    else
        w->variables[variable] = (HloVariableState){value, w->variables[variable].argument, true};
}

Status *hlo_out_variable(Hlo *h, int out, int i) {
    HloWriter *w = hlo_writer(h);
    w->out[out] = *w->in[i];
    Status *status = h->status;
    h->status = OK;
    return status;
}

void hlo_check(Hlo *h, HloValue good, Code code, const char *text) {
    if (h->status)
        return;
    HloWriter *w = hlo_writer(h);
    good = hlo_reduce(h, "and", good, ALL_AXES(good), DROP);
    if (!h->status && !vec_push(&w->checks, (HloCheck){good, w->member, code, text}))
        hlo_fail(h, OUT_OF_MEMORY);
}

void hlo_check_range(Hlo *h, HloValue indices, int64_t limit, const char *text) {
    if (h->status)
        return;
    HloValue wide = hlo_cast(h, indices, DT_int64);
    HloValue good = hlo_and(h, hlo_is(h, "GE", wide, 0), hlo_lt(h, wide, hlo_int(h, limit, DT_int64)));
    hlo_check(h, good, INVALID_ARGUMENT, text);
}

HloValue hlo_stream(Hlo *h, uint64_t blocks) {
    HLO_STOPS(h);
    HloWriter *w = hlo_writer(h);
    if (w->regions || w->functions)
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "random numbers inside a function stay on the host"));
    return hlo_argument(h, &(HloArgument){.kind = HLO_STREAM, .index = -1, .dtype = DT_uint32, .shape = SHAPE(6),
                                          .node = w->member, .blocks = blocks});
}

Status *hlo_identity(Hlo *h) {
    for (int i = 0; i < h->n_out; i++) {
        DType type = h->node->output_types[i];
        HloEdge *in = hlo_writer(h)->in[i];
        if (dtype_is_ref(type) || type == DT_resource)
            TRY(hlo_out_variable(h, i, i));
        else if (in->known && !in->value)
            hlo_writer(h)->out[i].known = in->known;
        else
            TRY(hlo_out(h, i, hlo_in(h, i)));
    }
    return OK;
}

// ---------------------------------------- shapes and what the host knows

// What the op's masks say of input i.
static bool in_mask(const Node *node, uint32_t mask, int i) {
    const Signature *signature = &node->type->signature;
    for (int arg = 0; mask && arg < signature->n_inputs && arg < MAX_ARGS; arg++) {
        int first, count;
        node_input_span(node, arg, &first, &count);
        if ((mask & BIT(arg)) && i >= first && i < first + count)
            return true;
    }
    return false;
}

typedef struct {
    Shape *in, *out;
    const Tensor **known;
    HandleShape *variables;
    const HandleShape **handles;
    HandleShape **handles_out;
} NodeShapes;

static Status *node_shapes_new(HloWriter *w, NodeShapes *s) {
    Arena *arena = &w->module->arena;
    size_t n = (size_t)w->hlo.n_in, m = (size_t)w->hlo.n_out;
    *s = (NodeShapes){ARENA_ARRAY(arena, Shape, n), ARENA_ARRAY(arena, Shape, m), ARENA_ARRAY(arena, const Tensor *, n),
                      ARENA_ARRAY(arena, HandleShape, n), ARENA_ARRAY(arena, const HandleShape *, n),
                      ARENA_ARRAY(arena, HandleShape *, m)};
    NEED_MEMORY(s->in && s->out && s->known && s->variables && s->handles && s->handles_out);
    return OK;
}

static Status *find_shapes(HloWriter *w, const Node *node, NodeShapes *s) {
    TRY(node_shapes_new(w, s));
    const Op *op = node->type->op;
    for (int i = 0; i < node->n_inputs; i++) {
        const HloEdge *edge = w->in[i];
        s->in[i] = *hlo_in_shape(&w->hlo, i);
        s->known[i] = edge->known;
        if (edge->variable < 0)
            continue;
        s->variables[i] = (HandleShape){w->spec->variables[edge->variable].dtype, s->in[i]};
        s->handles[i] = &s->variables[i];
        if (node->inputs[i].node->output_types[node->inputs[i].index] == DT_resource &&
            !(op && in_mask(node, op->read | op->update | op->replace, i)))
            s->in[i] = SCALAR_SHAPE;
    }
    for (int i = 0; i < node->n_outputs; i++)
        s->out[i] = UNKNOWN_SHAPE;
    if (node->type->needs)
        TRY(needs_check(node->type->needs, node, s->in, s->known));
    Shapes shapes = {.node = node, .in = s->in, .value = s->known, .handle = s->handles, .out = s->out,
                     .handle_out = s->handles_out, .n_in = node->n_inputs, .n_out = node->n_outputs,
                     .arena = &w->module->arena};
    if (op && op->shape)
        TRY(op->shape(&shapes));
    for (int i = 0; i < node->n_outputs; i++)
        w->out[i].shape = s->out[i];
    return OK;
}

static bool may_compute(const HloWriter *w, const Node *node) {
    const Op *op = node->type->op;
    if (!w->spec->compute || !op || node_is_stateful(node) || op->flow != FLOW_NONE || !node->n_outputs)
        return false;
    size_t in = 0, out = 0, bytes;
    for (int i = 0; i < node->n_inputs && !(op->flags & OP_FROM_SHAPES); i++) {
        if (!w->in[i]->known || w->in[i]->variable >= 0 || !dtype_is_plain(w->in[i]->dtype))
            return false;
        in += tensor_bytes(w->in[i]->known);
    }
    for (int i = 0; i < node->n_outputs; i++) {
        if (!dtype_is_plain(w->out[i].dtype))
            return false;
        if (!shape_is_known(&w->out[i].shape))  // it follows from the values
            continue;
        AUTO(status) Status *status = shape_bytes(&w->out[i].shape, w->out[i].dtype, &bytes);
        if (status)
            return false;
        out += bytes;
    }
    return in <= COMPUTED_IN && out <= COMPUTED_OUT;
}

// The inputs as a kernel would see them, without values where these aren't known; NULL when memory is out.
static const Tensor **view_inputs(HloWriter *w, const Node *node, const NodeShapes *s) {
    Arena *arena = &w->module->arena;
    const Tensor **in = ARENA_ARRAY(arena, const Tensor *, node->n_inputs);
    Tensor *views = ARENA_ARRAY(arena, Tensor, node->n_inputs);
    for (int i = 0; in && views && i < node->n_inputs; i++) {
        const HloEdge *edge = w->in[i];
        DType dtype = edge->variable >= 0 ? w->spec->variables[edge->variable].dtype : edge->dtype;
        views[i] = edge->known ? *edge->known : (Tensor){.dtype = dtype, .shape = s->in[i]};
        in[i] = &views[i];
    }
    return views ? in : NULL;
}

// What only `prepare` refuses.
static Status *check(HloWriter *w, const Node *node, const NodeShapes *s) {
    const Op *op = node->type->op;
    bool asks = w->spec->check && op && op->prepare && op->flow == FLOW_NONE;
    for (int i = 0; i < node->n_inputs && asks; i++)
        asks = shape_is_known(&s->in[i]) && (w->in[i]->variable < 0 || in_mask(node, op->read | op->update | op->replace, i));
    if (!asks)
        return OK;
    const Tensor **in = view_inputs(w, node, s);
    NEED_MEMORY(in);
    return w->spec->check(w->spec->context, node, in);
}

// Runs the node now; where it can't be run it is written.
static Status *compute(HloWriter *w, const Node *node, const NodeShapes *s) {
    Arena *arena = &w->module->arena;
    const Tensor **in = view_inputs(w, node, s);
    Tensor *out = ARENA_ARRAY(arena, Tensor, node->n_outputs);
    NEED_MEMORY(in && out && vec_reserve(&w->tensors, w->tensors.n + (size_t)node->n_outputs));
    Status *status = w->spec->compute(w->spec->context, node, in, out);
    size_t bytes = 0;
    for (int i = 0; i < node->n_outputs && !status; i++)
        bytes += tensor_bytes(&out[i]);
    for (int i = 0; i < node->n_outputs && !status && bytes > COMPUTED_OUT; i++)
        tensor_clear(&out[i]);
    for (int i = 0; i < node->n_outputs && !status && bytes <= COMPUTED_OUT; i++) {
        w->tensors.p[w->tensors.n++] = &out[i];
        w->out[i].known = &out[i];
        w->out[i].shape = out[i].shape;
    }
    status_free(status);
    return OK;
}

// ---------------------------------------- the walk

static Status *write_known(HloWriter *w, const Node *node, bool *done) {
    const Tensor *constant = node->n_outputs == 1 ? output_constant((Output){(Node *)node, 0}) : NULL;
    *done = constant && !node->n_inputs;
    if (*done) {
        w->out[0].known = constant;
        w->out[0].shape = constant->shape;
        return OK;
    }
    NodeShapes shapes;
    TRY(find_shapes(w, node, &shapes));
    if (may_compute(w, node))
        TRY(compute(w, node, &shapes));
    *done = node->n_outputs && w->out[0].known;
    return *done ? OK : check(w, node, &shapes);
}

static Status *write_expansion(HloWriter *w, const Node *node) {
    HloFragment fragment;
    Arena *arena = &w->module->arena;
    Shape *in = ARENA_ARRAY(arena, Shape, node->n_inputs);
    const Tensor **known = ARENA_ARRAY(arena, const Tensor *, node->n_inputs);
    HloEdge *arguments = ARENA_ARRAY(arena, HloEdge, node->n_inputs);
    NEED_MEMORY(in && known && arguments && vec_reserve(&w->graphs, w->graphs.n + 1));
    for (int i = 0; i < node->n_inputs; i++) {
        in[i] = *hlo_in_shape(&w->hlo, i);
        known[i] = w->in[i]->known;
        arguments[i] = *w->in[i];
    }
    fragment.graph = NULL;
    Status *status = hlo_expansion(node, in, known, arena, &fragment);
    if (fragment.graph)
        w->graphs.p[w->graphs.n++] = fragment.graph;
    TRY(status);
    return hlo_write_fragment(&w->hlo, &fragment, arguments, w->out);
}

static Status *write_op(HloWriter *w, const Node *node) {
    FuncRef room;
    const Op *op = node->type->op;
    if (hlo_called(node, &room))
        return hlo_call(&w->hlo);
    NEED(op && (op->hlo || op->expand || (op->flags & OP_IDENTITY)), UNIMPLEMENTED,
         "devices that compile have no such operation");
    Status *status = op->hlo ? op->hlo(&w->hlo) : op->expand ? write_expansion(w, node) : hlo_identity(&w->hlo);
    if (!status)
        status = w->hlo.status;
    else if (status != w->hlo.status)  // as a rule it is the first error itself
        status_free(w->hlo.status);
    w->hlo.status = OK;
    TRY(status);
    for (int i = 0; i < node->n_outputs; i++)
        NEED(w->out[i].value || w->out[i].known || w->out[i].input || w->out[i].variable >= 0, INTERNAL,
             "output %d was not written", i);
    return OK;
}

static Status *write_node(HloWriter *w, HloScope *scope, const Node *node) {
    w->hlo = (Hlo){.node = node, .n_in = node->n_inputs, .n_out = node->n_outputs};
    w->in = ARENA_ARRAY(&w->module->arena, HloEdge *, node->n_inputs);
    w->out = hlo_scope_edges(w, scope, node);
    NEED_MEMORY(w->in && w->out);
    for (int i = 0; i < node->n_inputs; i++) {
        Output from = node->inputs[i];
        NEED(from.node && from.node->id >= 0 && (size_t)from.node->id < scope->n_nodes && scope->edges[from.node->id],
             INTERNAL, "input %d comes from a node that is neither a member nor an input", i);
        w->in[i] = &scope->edges[from.node->id][from.index];
    }
    bool done;
    TRY(write_known(w, node, &done));
    return done ? OK : write_op(w, node);
}

Status *hlo_write_nodes(Hlo *h, HloScope *scope, Node *const *order, size_t n) {
    HloWriter *w = hlo_writer(h);
    HloWriter outside = *w;
    Status *status = OK;
    w->scope = scope;
    for (size_t i = 0; i < n && !status; i++) {
        if (!scope->outer)
            w->member = order[i];
        status = status_prefix(write_node(w, scope, order[i]), "{{node %.*s}} (%.*s): ", NODE_ARGS(order[i]));
    }
    w->hlo = outside.hlo;
    w->scope = outside.scope;
    w->in = outside.in;
    w->out = outside.out;
    return status;
}

// ---------------------------------------- the function

static Status *bind_inputs(HloWriter *w, HloScope *scope) {
    const HloSpec *spec = w->spec;
    for (int i = 0; i < spec->n_inputs; i++) {
        const HloInput *input = &spec->inputs[i];
        HloEdge *edges = hlo_scope_edges(w, scope, input->edge.node);
        NEED_MEMORY(edges);
        edges[input->edge.index] = (HloEdge){
            .known = input->variable < 0 ? input->known : NULL, .input = input->variable < 0 ? i + 1 : 0,
            .variable = input->variable, .dtype = input->dtype, .shape = input->shape};
    }
    return OK;
}

static Status *list_results(HloWriter *w, HloScope *scope, HloValue *values) {
    const HloSpec *spec = w->spec;
    HloModule *module = w->module;
    for (int i = 0; i < spec->n_outputs; i++) {
        HloEdge *edges = hlo_scope_edges(w, scope, spec->outputs[i].node);
        NEED_MEMORY(edges);
        values[module->n_results] = hlo_edge_value(&w->hlo, &edges[spec->outputs[i].index]);
        module->results[module->n_results++] = (HloResult){.kind = HLO_OUTPUT, .index = i, .argument = -1};
    }
    for (int i = 0; i < spec->n_variables; i++) {
        if (!w->variables[i].assigned)
            continue;
        values[module->n_results] = w->variables[i].value;
        module->results[module->n_results++] = (HloResult){.kind = HLO_ASSIGNED, .index = i, .argument = -1};
    }
    for (size_t i = 0; i < w->checks.n; i++) {
        const HloCheck *check = &w->checks.p[i];
        values[module->n_results] = check->good;
        module->results[module->n_results++] = (HloResult){.kind = HLO_CHECKED, .argument = -1, .node = check->node,
                                                           .code = check->code, .message = check->message};
    }
    for (int i = 0; i < module->n_results && !w->hlo.status; i++) {
        module->results[i].dtype = values[i]->dtype;
        module->results[i].shape = values[i]->shape;
    }
    return w->hlo.status;
}

// The result that takes the memory of an argument: the variable's new value, or what the spec donates to.
static int32_t result_over(const HloWriter *w, size_t argument) {
    const HloArgument *a = &w->arguments.p[argument];
    for (int32_t i = 0; i < w->module->n_results; i++) {
        const HloResult *r = &w->module->results[i];
        bool same = r->dtype == a->dtype && shape_equal(&r->shape, &a->shape);
        bool given = a->kind == HLO_VARIABLE && r->kind == HLO_ASSIGNED && r->index == a->index;
        bool donated = a->kind == HLO_INPUT && r->kind == HLO_OUTPUT && w->spec->donates &&
                       w->spec->donates[a->index] == r->index;
        if (same && r->argument < 0 && (given || donated))
            return i;
    }
    return -1;
}

static void put_types(HloWriter *w, const HloValue *values, int n) {
    for (int i = 0; i < n; i++)
        hlo_put_text(&w->hlo, i ? ", %t" : "%t", values[i]);
}

static Status *write_function(HloWriter *w, const Text *body, const HloValue *results) {
    HloModule *module = w->module;
    w->text = &module->text;
    hlo_put_text(&w->hlo, "module @millrace {\n  func.func public @main(");
    for (size_t i = 0; i < w->arguments.n; i++) {
        int32_t over = result_over(w, i);
        hlo_put_text(&w->hlo, i ? ", %v: %t" : "%v: %t", w->argument_values.p[i], w->argument_values.p[i]);
        if (over >= 0) {
            hlo_put_text(&w->hlo, " {tf.aliasing_output = %d : i32}", (int64_t)over);
            module->results[over].argument = (int32_t)i;
        }
    }
    hlo_put_text(&w->hlo, ") -> (");
    put_types(w, results, module->n_results);
    hlo_put_text(&w->hlo, ") {\n");
    text_add(&module->text, text_str(&w->constants));
    text_add(&module->text, text_str(body));
    hlo_put_text(&w->hlo, "    return");
    for (int i = 0; i < module->n_results; i++)
        hlo_put_text(&w->hlo, i ? ", %v" : " %v", results[i]);
    hlo_put_text(&w->hlo, module->n_results ? " : " : "");
    put_types(w, results, module->n_results);
    text_add(&module->text, STR("\n  }\n}\n"));
    NEED_MEMORY(!module->text.failed);
    return w->hlo.status;
}

static Status *write_module(HloWriter *w, Text *body) {
    const HloSpec *spec = w->spec;
    HloModule *module = w->module;
    HloScope scope = {0};
    NEED(spec->n_members || spec->n_inputs, INVALID_ARGUMENT, "a module of no nodes");
    const Graph *graph = spec->n_members ? spec->members[0]->graph : spec->inputs[0].edge.node->graph;
    w->variables = ARENA_ARRAY(&module->arena, HloVariableState, spec->n_variables);
    w->inputs = ARENA_ARRAY(&module->arena, HloValue, spec->n_inputs);
    NEED_MEMORY(w->variables && w->inputs);
    TRY(hlo_scope_new(w, graph, &scope));
    TRY(bind_inputs(w, &scope));
    TRY(hlo_write_nodes(&w->hlo, &scope, spec->members, (size_t)spec->n_members));
    size_t most = (size_t)spec->n_outputs + (size_t)spec->n_variables + w->checks.n;
    module->results = ARENA_ARRAY(&module->arena, HloResult, most);
    HloValue *values = ARENA_ARRAY(&module->arena, HloValue, most);
    NEED_MEMORY(module->results && values);
    TRY(list_results(w, &scope, values));
    TRY(write_function(w, body, values));
    module->arguments = ARENA_ARRAY(&module->arena, HloArgument, w->arguments.n);
    NEED_MEMORY(module->arguments);
    for (size_t i = 0; i < w->arguments.n; i++)
        module->arguments[i] = w->arguments.p[i];
    module->n_arguments = (int32_t)w->arguments.n;
    w->arguments.n = 0;  // the module has their references now
    return OK;
}

static void writer_clear(HloWriter *w) {
    for (size_t i = 0; i < w->arguments.n; i++)
        tensor_clear(&w->arguments.p[i].constant);
    for (size_t i = 0; i < w->tensors.n; i++)
        tensor_clear(w->tensors.p[i]);
    for (size_t i = 0; i < w->graphs.n; i++)
        graph_release(w->graphs.p[i]);
    vec_clear(&w->arguments);
    vec_clear(&w->argument_values);
    vec_clear(&w->tensors);
    vec_clear(&w->graphs);
    vec_clear(&w->checks);
    map_clear(&w->known_constants);
    text_clear(&w->constants);
}

Status *hlo_module(const HloSpec *spec, HloModule *out) {
    AUTO(text) Text body = {0};
    HloModule module = {0};
    HloWriter w = {.spec = spec, .module = &module, .text = &body};
    Status *status = write_module(&w, &body);
    if (status && w.hlo.status != status)
        status_free(w.hlo.status);
    writer_clear(&w);
    if (status)
        hlo_module_clear(&module);
    else
        *out = module;
    return status;
}

void hlo_module_clear(HloModule *module) {
    for (int i = 0; i < module->n_arguments; i++)
        tensor_clear(&module->arguments[i].constant);
    text_clear(&module->text);
    arena_clear(&module->arena);
    *module = (HloModule){0};
}
