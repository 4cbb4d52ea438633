// Node — see graph.h: reading attributes and arguments of a node that was built.
//
// The attributes of the signature come first, in its order, then extra ones (_class, _output_shapes ...). Reading is by
// name and linear: it happens while planning and preparing, never in a step.
#include "graph/graph.h"

const AttrValue *node_attr_find(const Node *node, const char *name) {
    for (int i = 0; i < node->n_attrs; i++)
        if (str_is(node->attrs[i].name, name))
            return &node->attrs[i].value;
    return NULL;
}

int64_t node_int(const Node *node, const char *name) {
    const AttrValue *value = node_attr_find(node, name);
    return value && value->kind == ATTR_INT && !value->is_list ? value->i : 0;
}

float node_float(const Node *node, const char *name) {
    const AttrValue *value = node_attr_find(node, name);
    return value && value->kind == ATTR_FLOAT && !value->is_list ? value->f : 0;
}

bool node_bool(const Node *node, const char *name) {
    const AttrValue *value = node_attr_find(node, name);
    return value && value->kind == ATTR_BOOL && !value->is_list && value->b;
}

DType node_type(const Node *node, const char *name) {
    const AttrValue *value = node_attr_find(node, name);
    return value && value->kind == ATTR_TYPE && !value->is_list ? value->type : DT_INVALID;
}

Str node_str(const Node *node, const char *name) {
    const AttrValue *value = node_attr_find(node, name);
    return value && value->kind == ATTR_STRING && !value->is_list ? value->s : STR("");
}

const AttrValue *node_list(const Node *node, const char *name) {
    static const AttrValue empty = {.is_list = true};
    const AttrValue *value = node_attr_find(node, name);
    return value && value->is_list ? value : &empty;
}

// Copy on write.
Status *node_set_attr(Node *node, Str name, const AttrValue *value) {
    Graph *graph = node->graph;
    AttrValue copy;
    TRY(attr_copy(&graph->arena, &graph->tensors, value, &copy));
    int at = 0;
    while (at < node->n_attrs && !str_equal(node->attrs[at].name, name))
        at++;
    // Others may share the attributes that it has.
    AttrEntry *own = ARENA_ARRAY(&graph->arena, AttrEntry, node->n_attrs + 1);
    Str key = at < node->n_attrs ? node->attrs[at].name : str_copy(&graph->arena, name);
    NEED_MEMORY(own && key.p);
    if (node->n_attrs)
        memcpy(own, node->attrs, (size_t)node->n_attrs * sizeof *own);
    own[at] = (AttrEntry){key, copy};
    node->attrs = own;
    node->n_attrs += at == node->n_attrs;
    graph->version++;
    graph->edit++;
    return OK;
}

Status *node_set_handle(Node *node, int output, HandleShape *handle) {
    HandleShape **own = ARENA_ARRAY(&node->graph->arena, HandleShape *, node->n_outputs);
    NEED_MEMORY(own);
    memcpy(own, node->handles, (size_t)node->n_outputs * sizeof *own);
    own[output] = handle;
    node->handles = own;
    return OK;
}

// ---------------------------------------- arguments

// How many tensors an argument stands for. A built node has the signature's attributes in its order.
static int arg_length(const Node *node, const ArgSpec *arg) {
    if (arg->number_attr >= 0)
        return (int)node->attrs[arg->number_attr].value.i;
    if (arg->list_attr >= 0)
        return node->attrs[arg->list_attr].value.n;
    return 1;
}

static DType arg_type(const Node *node, const ArgSpec *arg, int at) {
    if (arg->list_attr >= 0)
        return node->attrs[arg->list_attr].value.types[at];
    return arg->type_attr >= 0 ? node->attrs[arg->type_attr].value.type : arg->dtype;
}

static const ArgSpec *input_spec(const Node *node, int input, int *at) {
    const Signature *signature = &node->type->signature;
    for (int i = 0; i < signature->n_inputs; i++) {
        int n = arg_length(node, &signature->inputs[i]);
        if (input < n) {
            *at = input;
            return &signature->inputs[i];
        }
        input -= n;
    }
    return NULL;
}

DType node_input_type(const Node *node, int input) {
    int at;
    const ArgSpec *arg = input_spec(node, input, &at);
    return arg ? arg_type(node, arg, at) : DT_INVALID;
}

bool node_input_is_ref(const Node *node, int input) {
    int at;
    const ArgSpec *arg = input_spec(node, input, &at);
    return arg && arg->is_ref;
}

static void arg_span(const Node *node, const ArgSpec *args, int arg, int *first, int *count) {
    *first = 0;
    for (int i = 0; i < arg; i++)
        *first += arg_length(node, &args[i]);
    *count = arg_length(node, &args[arg]);
}

void node_input_span(const Node *node, int arg, int *first, int *count) {
    arg_span(node, node->type->signature.inputs, arg, first, count);
}

void node_output_span(const Node *node, int arg, int *first, int *count) {
    arg_span(node, node->type->signature.outputs, arg, first, count);
}

int node_input_arg(const Node *node, Str name, int *first, int *count) {
    const Signature *signature = &node->type->signature;
    for (int i = 0; i < signature->n_inputs; i++)
        if (str_equal(signature->inputs[i].name, name)) {
            node_input_span(node, i, first, count);
            return i;
        }
    return -1;
}

bool node_reads_shape_only(const Node *node, int input) {
    if (input < 0 || !node->type->op || !node->type->op->shape_only)
        return false;
    for (int arg = 0; arg < node->type->signature.n_inputs && arg < MAX_ARGS; arg++) {
        int first, count;
        node_input_span(node, arg, &first, &count);
        if (input < first + count)
            return (node->type->op->shape_only & BIT(arg)) != 0;
    }
    return false;
}

bool node_is_stateful(const Node *node) {
    return node->type->signature.stateful || (node->type->op && (node->type->op->flags & OP_STATEFUL));
}
