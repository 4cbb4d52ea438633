// NodeBuilder — see build.h.
#include "graph/build.h"

#include "graph/function.h"

static void builder_fail(NodeBuilder *builder, Status *error) {
    if (builder->error)
        status_free(error);
    else
        builder->error = error;
}

#define BUILDER_ERROR(builder, code, ...) \
    builder_fail((builder), status_new((code), __FILE__, __LINE__, __VA_ARGS__))
#define BUILDER_MEMORY(builder, condition)                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            BUILDER_ERROR((builder), RESOURCE_EXHAUSTED, "out of memory");  \
            return;                                                         \
        }                                                                   \
    } while (0)

static bool builder_copy(NodeBuilder *builder, Str text, Str *out) {
    *out = str_copy(&builder->arena, text);
    return out->p != NULL;
}

void builder_init(NodeBuilder *builder, Graph *graph, Str type, Str name) {
    *builder = (NodeBuilder){.graph = graph};
    BUILDER_MEMORY(builder, builder_copy(builder, type, &builder->type));
    BUILDER_MEMORY(builder, builder_copy(builder, name, &builder->name));
}

void builder_clear(NodeBuilder *builder) {
    vec_clear(&builder->args);
    vec_clear(&builder->flat);
    vec_clear(&builder->controls);
    vec_clear(&builder->attrs);
    vec_clear(&builder->colocations);
    for (size_t i = 0; i < builder->tensors.n; i++)
        tensor_clear(&builder->tensors.p[i]);
    vec_clear(&builder->tensors);
    status_free(builder->error);
    arena_clear(&builder->arena);
    *builder = (NodeBuilder){0};
}

void builder_device(NodeBuilder *builder, Str device) {
    BUILDER_MEMORY(builder, builder_copy(builder, device, &builder->device));
}

// ---------------------------------------- inputs

static bool edge_is_good(NodeBuilder *builder, Output edge) {
    if (!edge.node)
        BUILDER_ERROR(builder, INVALID_ARGUMENT, "an input has no node");
    else if (edge.node->graph != builder->graph || edge.node->id < 0)
        BUILDER_ERROR(builder, INVALID_ARGUMENT, "input node '%.*s' is not of this graph", STR_ARGS(edge.node->name));
    else if (edge.index < 0 || edge.index >= edge.node->n_outputs)
        BUILDER_ERROR(builder, INVALID_ARGUMENT, "Attempt to add output %d of %.*s not in range [0, %d)", edge.index,
                      STR_ARGS(edge.node->name), edge.node->n_outputs);
    else
        return true;
    return false;
}

static void builder_arg(NodeBuilder *builder, const Output *edges, int n, bool is_list) {
    for (int i = 0; i < n; i++)
        if (!edge_is_good(builder, edges[i]))
            return;
    Output *copy = ARENA_ARRAY(&builder->arena, Output, n);
    BUILDER_MEMORY(builder, copy);
    if (n > 0)
        memcpy(copy, edges, (size_t)n * sizeof *copy);
    BUILDER_MEMORY(builder, vec_push(&builder->args, (BuilderInput){copy, n, is_list}));
}

void builder_input(NodeBuilder *builder, Output edge) {
    builder_arg(builder, &edge, 1, false);
}

void builder_input_list(NodeBuilder *builder, const Output *edges, int n) {
    builder_arg(builder, edges, n, true);
}

void builder_flat_inputs(NodeBuilder *builder, const Output *edges, int n) {
    builder->is_flat = true;
    BUILDER_MEMORY(builder, vec_reserve(&builder->flat, builder->flat.n + (size_t)n));
    for (int i = 0; i < n; i++) {
        if (edges[i].node && !edge_is_good(builder, edges[i]))
            return;
        builder->flat.p[builder->flat.n++] = edges[i];
    }
}

void builder_control(NodeBuilder *builder, Node *before) {
    if (!before || before->graph != builder->graph || before->id < 0) {
        BUILDER_ERROR(builder, INVALID_ARGUMENT, "a control input is not of this graph");
        return;
    }
    BUILDER_MEMORY(builder, vec_push(&builder->controls, before));
}

// ---------------------------------------- attributes

static void add_colocation(NodeBuilder *builder, Str place) {
    size_t at = 0;
    while (at < builder->colocations.n && str_compare(builder->colocations.p[at], place) < 0)
        at++;
    if (at < builder->colocations.n && str_equal(builder->colocations.p[at], place))
        return;
    BUILDER_MEMORY(builder, builder_copy(builder, place, &place));
    BUILDER_MEMORY(builder, vec_reserve(&builder->colocations, builder->colocations.n + 1));
    Str *list = builder->colocations.p;
    memmove(list + at + 1, list + at, (builder->colocations.n - at) * sizeof *list);
    list[at] = place;
    builder->colocations.n++;
}

void builder_colocate(NodeBuilder *builder, Str node_name) {
    Str place = str_format(&builder->arena, "loc:@%.*s", (int)node_name.n, node_name.p);
    BUILDER_MEMORY(builder, place.p);
    add_colocation(builder, place);
}

static AttrEntry *builder_attr_find(NodeBuilder *builder, Str name) {
    for (size_t i = 0; i < builder->attrs.n; i++)
        if (str_equal(builder->attrs.p[i].name, name))
            return &builder->attrs.p[i];
    return NULL;
}

static void set_attr(NodeBuilder *builder, Str name, AttrValue value) {
    AttrEntry *entry = builder_attr_find(builder, name);
    if (entry)
        entry->value = value;
    else
        BUILDER_MEMORY(builder, vec_push(&builder->attrs, (AttrEntry){name, value}));
}

void builder_attr(NodeBuilder *builder, Str name, const AttrValue *value) {
    if (str_equal(name, STR("_class"))) {
        if (!value->is_list || (value->n && value->kind != ATTR_STRING)) {
            BUILDER_ERROR(builder, INVALID_ARGUMENT, "Expected a list of strings for attr '_class'");
            return;
        }
        builder->colocations.n = 0;
        for (int i = 0; i < value->n; i++)
            add_colocation(builder, value->ss[i]);
        return;
    }
    AttrValue copy;
    Status *status = attr_copy(&builder->arena, &builder->tensors, value, &copy);
    if (status) {
        builder_fail(builder, status);
        return;
    }
    BUILDER_MEMORY(builder, builder_copy(builder, name, &name));
    set_attr(builder, name, copy);
}

// ---------------------------------------- finish

static DType edge_type(Output edge) {
    return edge.node ? edge.node->output_types[edge.index] : DT_INVALID;
}

// What only the arguments' structure tells: the lengths of lists, as attributes that resolving then takes as given.
static Status *infer_list(NodeBuilder *builder, const Signature *signature, const ArgSpec *arg, BuilderInput input) {
    if (arg->number_attr < 0 && arg->list_attr < 0) {
        NEED(!input.is_list, INVALID_ARGUMENT, "List provided to input '%.*s' when single Tensor expected",
             STR_ARGS(arg->name));
        return OK;
    }
    NEED(input.is_list, INVALID_ARGUMENT, "Single tensor passed to '%.*s', expected list", STR_ARGS(arg->name));
    Str name = signature->attrs[arg->number_attr >= 0 ? arg->number_attr : arg->list_attr].name;
    const AttrEntry *given = builder_attr_find(builder, name);
    if (given) {
        int64_t n = arg->number_attr >= 0 ? given->value.i : given->value.n;
        NEED(n == input.n, INVALID_ARGUMENT, "Inconsistent values for attr '%.*s' %lld vs. %d", STR_ARGS(name),
             (long long)n, input.n);
        return OK;
    }
    AttrValue value = ATTR_OF_INT(input.n);
    if (arg->list_attr >= 0) {
        value = (AttrValue){.kind = ATTR_TYPE, .is_list = true, .n = input.n};
        value.types = ARENA_ARRAY(&builder->arena, DType, input.n);
        NEED_MEMORY(value.types);
        for (int i = 0; i < input.n; i++)
            value.types[i] = dtype_base(edge_type(input.edges[i]));
    }
    set_attr(builder, name, value);
    return OK;
}

static Status *flatten_inputs(NodeBuilder *builder, const Signature *signature) {
    if (builder->is_flat)
        return OK;
    NEED(builder->args.n <= (size_t)signature->n_inputs, INVALID_ARGUMENT,
         "More Input() calls than the %d input_args", signature->n_inputs);
    NEED(builder->args.n == (size_t)signature->n_inputs, INVALID_ARGUMENT,
         "%zu inputs specified of %d inputs in Op", builder->args.n, signature->n_inputs);
    for (size_t i = 0; i < builder->args.n; i++) {
        BuilderInput input = builder->args.p[i];
        TRY(infer_list(builder, signature, &signature->inputs[i], input));
        for (int j = 0; j < input.n; j++)
            NEED_MEMORY(vec_push(&builder->flat, input.edges[j]));
    }
    return OK;
}

static int compare_ids(const void *a, const void *b) {
    int32_t x = (*(Node *const *)a)->id, y = (*(Node *const *)b)->id;
    return (x > y) - (x < y);
}

static void sort_controls(NodeBuilder *builder) {
    Node **list = builder->controls.p;
    size_t n = 0;
    if (builder->controls.n > 1)
        qsort(list, builder->controls.n, sizeof *list, compare_ids);
    for (size_t i = 0; i < builder->controls.n; i++)
        if (n == 0 || list[n - 1] != list[i])
            list[n++] = list[i];
    builder->controls.n = n;
}

static Status *keep_attrs(NodeBuilder *builder, Node *node, const AttrEntry *attrs, int32_t n) {
    Graph *graph = builder->graph;
    const Signature *signature = &node->type->signature;
    for (int i = 0; i < n; i++) {
        AttrEntry *to = &node->attrs[i];
        const AttrSpec *spec = i < signature->n_attrs ? &signature->attrs[i] : NULL;
        // Names and defaults of a function live only as long as the function does.
        bool lasts = spec && !node->type->function;
        to->name = lasts ? spec->name : str_copy(&graph->arena, attrs[i].name);
        NEED_MEMORY(to->name.p);
        if (lasts && spec->has_default && spec->fallback.n == attrs[i].value.n &&
            spec->fallback.s.p == attrs[i].value.s.p && attrs[i].value.kind >= ATTR_SHAPE)
            to->value = attrs[i].value;
        else
            TRY(attr_copy(&graph->arena, &graph->tensors, &attrs[i].value, &to->value));
    }
    node->n_attrs = n;
    return OK;
}

// The node with room for everything, as yet unknown to the graph.
static Status *node_make(NodeBuilder *builder, const OpType *type, const AttrEntry *attrs, int32_t n_attrs,
                         const DType *types, int32_t n_outputs, Node **out) {
    Graph *graph = builder->graph;
    Arena *arena = &graph->arena;
    size_t n_inputs = builder->flat.n, n_controls = builder->controls.n;
    NEED(n_inputs < INT32_MAX && n_controls < INT32_MAX, INVALID_ARGUMENT, "too many inputs");
    Node *node = ARENA_NEW(arena, Node);
    NEED_MEMORY(node);
    *node = (Node){.graph = graph, .type = type, .n_inputs = (int32_t)n_inputs, .n_controls = (int32_t)n_controls,
                   .n_outputs = n_outputs};
    node->name = str_copy(arena, builder->name);
    node->device = builder->device.n ? str_copy(arena, builder->device) : STR("");
    node->inputs = ARENA_ARRAY(arena, Output, n_inputs);
    node->controls = ARENA_ARRAY(arena, Node *, n_controls);
    node->attrs = ARENA_ARRAY(arena, AttrEntry, n_attrs);
    node->output_types = ARENA_ARRAY(arena, DType, n_outputs);
    node->output_shapes = ARENA_ARRAY(arena, Shape, n_outputs);
    node->handles = ARENA_ARRAY(arena, HandleShape *, n_outputs);
    NEED(node->name.p && node->device.p && node->inputs && node->controls && node->attrs && node->output_types &&
         node->output_shapes && node->handles, RESOURCE_EXHAUSTED, "out of memory");
    if (n_inputs)
        memcpy(node->inputs, builder->flat.p, n_inputs * sizeof *node->inputs);
    if (n_controls)
        memcpy(node->controls, builder->controls.p, n_controls * sizeof *node->controls);
    for (int i = 0; i < n_outputs; i++) {
        node->output_types[i] = types[i];
        node->output_shapes[i] = UNKNOWN_SHAPE;
    }
    TRY(keep_attrs(builder, node, attrs, n_attrs));
    *out = node;
    return OK;
}

static void uses_undo(Node *node, int n_inputs, int n_controls) {
    for (int i = n_controls; i-- > 0;)
        node->controls[i]->uses.n--;
    for (int i = n_inputs; i-- > 0;)
        if (node->inputs[i].node)
            node->inputs[i].node->uses.n--;
}

// Puts the node into the graph's lists and its inputs' uses: all or nothing.
static Status *node_insert(Graph *graph, Node *node) {
    NEED(graph->nodes.n < INT32_MAX, RESOURCE_EXHAUSTED, "a graph holds at most 2^31 nodes");
    NEED_MEMORY(vec_reserve(&graph->nodes, graph->nodes.n + 1));
    int inputs = 0, controls = 0;
    while (inputs < node->n_inputs &&
           (!node->inputs[inputs].node ||
            vec_push(&node->inputs[inputs].node->uses, (Use){node, inputs, node->inputs[inputs].index})))
        inputs++;
    while (inputs == node->n_inputs && controls < node->n_controls &&
           vec_push(&node->controls[controls]->uses, (Use){node, CONTROL, CONTROL}))
        controls++;
    if (inputs < node->n_inputs || controls < node->n_controls || !map_set(&graph->names, node->name, node)) {
        uses_undo(node, inputs, controls);
        FAIL(RESOURCE_EXHAUSTED, "out of memory");
    }
    node->id = (int32_t)graph->nodes.n;
    graph->nodes.p[graph->nodes.n++] = node;
    graph->version++;
    return OK;
}

static Status *find_type(const NodeBuilder *builder, const OpType **out) {
    const Function *function = builder->graph->functions->order.n ? function_find(builder->graph, builder->type) : NULL;
    if (function) {
        *out = &function->type;
        return OK;
    }
    return status_with_code(op_type_find(builder->type, out), INVALID_ARGUMENT);
}

static Status *add_node(NodeBuilder *builder, const OpType *type, Node **out) {
    TRY(flatten_inputs(builder, &type->signature));
    if (builder->colocations.n)
        set_attr(builder, STR("_class"), (AttrValue){.kind = ATTR_STRING, .is_list = true,
                                                     .n = (int32_t)builder->colocations.n,
                                                     .ss = builder->colocations.p});
    if (builder->error)
        return status_copy(builder->error);
    sort_controls(builder);
    DType *in = ARENA_ARRAY(&builder->arena, DType, builder->flat.n), *types;
    NEED_MEMORY(in);
    for (size_t i = 0; i < builder->flat.n; i++)
        in[i] = edge_type(builder->flat.p[i]);
    AttrEntry *attrs = builder->attrs.p;
    int32_t n_attrs = (int32_t)builder->attrs.n, n_outputs;
    TRY(signature_resolve(&type->signature, in, (int)builder->flat.n, &builder->arena, &attrs, &n_attrs, &types,
                          &n_outputs));
    Node *node;
    TRY(node_make(builder, type, attrs, n_attrs, types, n_outputs, &node));
    TRY(node_insert(builder->graph, node));
    *out = node;
    return OK;
}

Status *builder_finish(NodeBuilder *builder, Node **out) {
    Graph *graph = builder->graph;
    NEED(!graph_find(graph, builder->name), INVALID_ARGUMENT, "Duplicate node name in graph: '%.*s'",
         STR_ARGS(builder->name));
    const OpType *type;
    Node *node;
    size_t tensors = graph->tensors.n;
    Status *status = status_copy(builder->error);
    if (!status)
        status = find_type(builder, &type);
    if (!status)
        status = add_node(builder, type, &node);
    if (status) {
        status = status_prefix(status, "{{node %.*s}} (%.*s)", STR_ARGS(builder->name), STR_ARGS(builder->type));
    } else {
        status = node_infer_shapes(node);
        if (status)
            graph_remove_last(graph);
    }
    if (status) {
        while (graph->tensors.n > tensors)
            tensor_clear(&graph->tensors.p[--graph->tensors.n]);
        return status;
    }
    *out = node;
    return OK;
}
