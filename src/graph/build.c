// NodeBuilder — see build.h: one node from a type, inputs and attributes, checked as TensorFlow checks a NodeDef.
//
// Calls before builder_finish only collect, and the first error is kept, so that callers check once. What is open in
// the signature (types, lengths) is told by the inputs (resolve.c); shapes are inferred when the node is in. On failure
// the graph is as it was.
#include "graph/build.h"

#include "graph/function.h"

// Keeps the first error: those that follow are its consequences.
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
            builder_fail((builder), OUT_OF_MEMORY);                         \
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
    tensor_list_auto(&builder->tensors);
    status_free(builder->error);
    arena_clear(&builder->arena);
    *builder = (NodeBuilder){0};
}

void builder_reuse(NodeBuilder *builder, Str type, Str name) {
    builder->args.n = builder->flat.n = builder->controls.n = builder->attrs.n = builder->colocations.n = 0;
    builder->is_flat = false;
    builder->device = (Str){0};
    builder->placed = NULL;
    tensor_list_cut(&builder->tensors, 0);
    status_free(builder->error);
    builder->error = NULL;
    arena_reset(&builder->arena);
    BUILDER_MEMORY(builder, builder_copy(builder, type, &builder->type));
    BUILDER_MEMORY(builder, builder_copy(builder, name, &builder->name));
}

void builder_device(NodeBuilder *builder, Str device) {
    BUILDER_MEMORY(builder, builder_copy(builder, device, &builder->device));
}

void builder_place(NodeBuilder *builder, const Node *like) {
    builder_device(builder, like->device);
    builder->placed = like->placed;
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

// By id and without repeats: equal nodes then have equal lists, which plan/cse.c compares.
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

// Graphs have few devices, and neighbours mostly the same one: they share the text.
static Str keep_device(Graph *graph, Str device) {
    const Node *last = graph->nodes.n ? vec_last(&graph->nodes) : NULL;
    if (last && str_equal(last->device, device))
        return last->device;
    return device.n ? str_copy(&graph->arena, device) : STR("");
}

Status *node_new(Graph *graph, const NodeParts *parts, Node **out) {
    // Few nodes give handles: those with up to eight outputs share this array, which nobody writes into.
    static HandleShape *const no_handles[8];
    const AttrSet *set = parts->set;
    NEED(parts->n_inputs < INT32_MAX && parts->n_controls < INT32_MAX, INVALID_ARGUMENT, "too many inputs");
    Node *node = arena_aligned(&graph->arena, sizeof *node, _Alignof(Node));
    NEED_MEMORY(node);
    *node = (Node){.graph = graph, .type = set->type, .id = -1, .attrs = set->attrs, .n_attrs = set->n_attrs,
                   .output_types = set->output_types, .n_outputs = set->n_outputs,
                   .n_inputs = (int32_t)parts->n_inputs, .n_controls = (int32_t)parts->n_controls,
                   .name = str_copy(&graph->arena, parts->name), .name_hash = parts->hash,
                   .device = keep_device(graph, parts->device)};
    size_t n = (size_t)set->n_outputs;
    node->inputs = graph_inputs_new(graph, parts->n_inputs);
    node->controls = graph_controls_new(graph, parts->n_controls);
    node->output_shapes = arena_aligned(&graph->arena, n * sizeof(Shape), _Alignof(Shape));
    node->handles = n <= sizeof no_handles / sizeof *no_handles ? no_handles
                                                                : ARENA_ARRAY(&graph->arena, HandleShape *, n);
    NEED_MEMORY(node->name.p && node->device.p && node->inputs && node->controls && node->output_shapes &&
                node->handles);
    for (size_t i = 0; i < n; i++)
        node->output_shapes[i] = UNKNOWN_SHAPE;
    *out = node;
    return OK;
}

// The graph's functions are ops to it, and come first.
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
    Graph *graph = builder->graph;
    AttrSet wanted = {.type = type, .attrs = attrs, .n_attrs = n_attrs, .output_types = types, .n_outputs = n_outputs};
    TRY(attr_sets_find(&graph->sets, &graph->arena, &graph->tensors, &wanted, &builder->set, &builder->shared));
    Node *node;
    TRY(node_new(graph, &(NodeParts){.name = builder->name, .device = builder->device, .set = builder->set,
                                     .hash = name_hash(builder->name), .n_inputs = builder->flat.n,
                                     .n_controls = builder->controls.n}, &node));
    if (node->n_inputs)
        memcpy(node->inputs, builder->flat.p, builder->flat.n * sizeof *node->inputs);
    if (node->n_controls)
        memcpy(node->controls, builder->controls.p, builder->controls.n * sizeof *node->controls);
    node->placed = builder->placed;
    TRY(node_insert(graph, node));
    *out = node;
    return OK;
}

Status *builder_finish(NodeBuilder *builder, Node **out) {
    Graph *graph = builder->graph;
    NEED(builder->may_repeat || !graph_find(graph, builder->name), INVALID_ARGUMENT,
         "Duplicate node name in graph: '%.*s'", STR_ARGS(builder->name));
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
        tensor_list_cut(&graph->tensors, tensors);
        return status;
    }
    *out = node;
    return OK;
}
