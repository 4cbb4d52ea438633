// Outlining — a part of a graph as a FunctionDef; see function_from_graph in function.h.
//
// The opposite of inlining, as TF_GraphToFunction does it: its names for arguments, results and nodes, its messages.
#include <stdio.h>

#include "graph/function.h"
#include "graph/op_def.h"

typedef struct {
    const Graph *graph;
    const FunctionSpec *spec;
    Arena arena;
    Map names;                // of the function: arguments, results, nodes -> where the numbering stands
    Node **body;
    size_t n_body;
    Str *node_names;          // by id: in the function; empty for nodes outside the body
    Map inputs;               // "id:index" -> position + 1
    FunctionDef def;
    OpDef signature;
    Map placeholders;         // attributes of the function
    VEC(OpDef_AttrDef) attrs;
} Outliner;

// ---------------------------------------- names

// Arguments and results: small letters, digits and _, beginning with a letter: TensorFlow's rule for names in an OpDef.
static Status *normal_name(Outliner *o, Str name, Str *out) {
    char *text = arena_copy(&o->arena, name.p, name.n);
    NEED_MEMORY(text);
    size_t first = name.n;
    for (size_t i = name.n; i-- > 0;) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (c >= 'A' && c <= 'Z')
            text[i] = (char)(c - 'A' + 'a');
        else if (!letter && !(c >= '0' && c <= '9'))
            text[i] = '_';
        if (letter)
            first = i;
    }
    *out = first < name.n ? (Str){text + first, name.n - first} : STR("unknown");
    return OK;
}

// `names` holds 1 + the next number to try, so that a thousand nodes of one name don't try all numbers each.
static Status *unique_name(Outliner *o, Str wanted, Str *out) {
    uintptr_t next = (uintptr_t)map_find(&o->names, wanted);
    Str name = wanted;
    for (uintptr_t number = next ? next - 1 : 0; map_find(&o->names, name); number++) {
        name = str_format(&o->arena, "%.*s_%zu", (int)wanted.n, wanted.p, (size_t)number);
        NEED_MEMORY(name.p);
        next = number + 2;
    }
    if (name.p != wanted.p)
        NEED_MEMORY(map_set(&o->names, wanted, (void *)next));
    NEED_MEMORY(map_set(&o->names, name, (void *)(uintptr_t)1));
    *out = name;
    return OK;
}

static Status *take_name(Outliner *o, Str name, const char *what) {
    NEED(!map_find(&o->names, name), INVALID_ARGUMENT,
         "Cannot have duplicate %s names. Name '%.*s' appears more than once.", what, STR_ARGS(name));
    NEED_MEMORY(map_set(&o->names, name, (void *)(uintptr_t)1));
    return OK;
}

// ---------------------------------------- inputs

static Status *input_key(Outliner *o, Output edge, Str *out) {
    *out = str_format(&o->arena, "%d:%d", edge.node->id, edge.index);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *check_edge(const Outliner *o, Output edge, const char *what) {
    NEED(edge.node && edge.node->graph == o->graph && edge.node->id >= 0, INVALID_ARGUMENT,
         "an %s of the function is not of this graph", what);
    NEED(edge.index >= 0 && edge.index < edge.node->n_outputs, INVALID_ARGUMENT,
         "Node '%.*s' (type: '%.*s', num of outputs: %d) does not have output %d", NODE_ARGS(edge.node),
         edge.node->n_outputs, edge.index);
    return OK;
}

static Status *add_input(Outliner *o, int i, OpDef_ArgDef *arg) {
    Output edge = o->spec->inputs[i];
    TRY(check_edge(o, edge, "input"));
    DType type = edge.node->output_types[edge.index];
    NEED(!dtype_is_ref(type), INVALID_ARGUMENT, "TF_Output %.*s:%d has a reference type %s", STR_ARGS(edge.node->name),
         edge.index, dtype_name(type));
    NEED(o->spec->n_nodes >= 0 || edge.node->n_outputs == 1, INVALID_ARGUMENT,
         "When `num_opers` is set to -1, nodes referenced in `inputs` must have a single output. Node %.*s has %d "
         "outputs.", STR_ARGS(edge.node->name), edge.node->n_outputs);
    Str key;
    TRY(input_key(o, edge, &key));
    NEED(!map_find(&o->inputs, key), INVALID_ARGUMENT, "TF_Output %.*s:%d appears more than once in the input list",
         STR_ARGS(edge.node->name), edge.index);
    NEED_MEMORY(map_set(&o->inputs, key, (void *)(uintptr_t)(i + 1)));
    TRY(normal_name(o, edge.node->name, &arg->name));
    TRY(unique_name(o, arg->name, &arg->name));
    arg->type = (int32_t)type;
    return OK;
}

// What is known of an argument's shape goes with the function, as TensorFlow's attribute of the argument.
static Status *add_arg_shape(Outliner *o, int i) {
    Output edge = o->spec->inputs[i];
    ArgAttrsEntry *entry = &o->def.arg_attr.p[i];
    AttrValueEntry *attr = ARENA_NEW(&o->arena, AttrValueEntry);
    entry->value = ARENA_NEW(&o->arena, FunctionDef_ArgAttrs);
    NEED_MEMORY(entry->value && attr);
    attr->value = ARENA_NEW(&o->arena, AttrValueProto);
    NEED_MEMORY(attr->value);
    AttrValue shapes = {.kind = ATTR_SHAPE, .is_list = true, .n = 1, .shapes = &edge.node->output_shapes[edge.index]};
    entry->key = (uint32_t)i;
    entry->value->attr.p = attr;
    entry->value->attr.n = 1;
    attr->key = STR("_output_shapes");
    return attr_to_proto(&shapes, &o->arena, attr->value);
}

static Status *add_inputs(Outliner *o) {
    OpDef *signature = &o->signature;
    signature->input_arg.p = ARENA_ARRAY(&o->arena, OpDef_ArgDef, o->spec->n_inputs);
    NEED_MEMORY(signature->input_arg.p);
    signature->input_arg.n = (size_t)o->spec->n_inputs;
    o->def.arg_attr.p = ARENA_ARRAY(&o->arena, ArgAttrsEntry, o->spec->n_inputs);
    NEED_MEMORY(o->def.arg_attr.p);
    for (int i = 0; i < o->spec->n_inputs; i++) {
        TRY(add_input(o, i, &signature->input_arg.p[i]));
        TRY(add_arg_shape(o, i));
    }
    o->def.arg_attr.n = (size_t)o->spec->n_inputs;
    return OK;
}

// ---------------------------------------- body

static bool is_input_node(const Outliner *o, const Node *node) {
    for (int i = 0; i < o->spec->n_inputs; i++)
        if (o->spec->inputs[i].node == node)
            return true;
    return false;
}

static Status *collect_body(Outliner *o) {
    size_t n = o->spec->n_nodes < 0 ? o->graph->nodes.n : (size_t)o->spec->n_nodes;
    o->body = ARENA_ARRAY(&o->arena, Node *, n);
    o->node_names = ARENA_ARRAY(&o->arena, Str, o->graph->nodes.n);
    NEED_MEMORY(o->body && o->node_names);
    for (size_t i = 0; i < n; i++) {
        Node *node = o->spec->n_nodes < 0 ? o->graph->nodes.p[i] : o->spec->nodes[i];
        if (o->spec->n_nodes < 0 && (!node || is_input_node(o, node)))
            continue;
        NEED(node && node->graph == o->graph && node->id >= 0, INVALID_ARGUMENT,
             "an operation of the function is not of this graph");
        NEED(!o->node_names[node->id].n, INVALID_ARGUMENT, "operation '%.*s' is given twice", STR_ARGS(node->name));
        TRY(unique_name(o, node->name, &o->node_names[node->id]));
        o->body[o->n_body++] = node;
    }
    return OK;
}

// How the body names an edge: an argument's name or node:outarg:index.
static Status *edge_name(Outliner *o, Output edge, Str *out) {
    Str key;
    TRY(input_key(o, edge, &key));
    uintptr_t input = (uintptr_t)map_find(&o->inputs, key);
    Str name = o->node_names[edge.node->id];
    *out = (Str){0};
    if (input) {
        *out = o->signature.input_arg.p[input - 1].name;
    } else if (name.n) {
        int arg = 0, first = 0, count = 0;
        while (arg < edge.node->type->signature.n_outputs) {
            node_output_span(edge.node, arg, &first, &count);
            if (edge.index < first + count)
                break;
            arg++;
        }
        Str arg_name = edge.node->type->signature.outputs[arg].name;
        *out = str_format(&o->arena, "%.*s:%.*s:%d", (int)name.n, name.p, (int)arg_name.n, arg_name.p,
                          edge.index - first);
        NEED_MEMORY(out->p);
    }
    return OK;
}

static Status *body_inputs(Outliner *o, const Node *node, NodeDef *def) {
    for (int i = 0; i < node->n_inputs; i++) {
        NEED(node->inputs[i].node, FAILED_PRECONDITION, "node '%.*s' has no input %d yet", STR_ARGS(node->name), i);
        TRY(edge_name(o, node->inputs[i], &def->input.p[i]));
        NEED(def->input.p[i].n, INVALID_ARGUMENT,
             "Input %d, '%.*s:%d', of node '%.*s' in function '%.*s' is not available. You might need to include it in "
             "inputs or include its source node in the body", i, STR_ARGS(node->inputs[i].node->name),
             node->inputs[i].index, STR_ARGS(node->name), STR_ARGS(o->spec->name));
    }
    for (int i = 0; i < node->n_controls; i++) {
        Str before = o->node_names[node->controls[i]->id];
        NEED(before.n, INVALID_ARGUMENT, "The source of control edge %.*s -> %.*s is not in the body.",
             STR_ARGS(node->controls[i]->name), STR_ARGS(node->name));
        Str *text = &def->input.p[node->n_inputs + i];
        *text = str_format(&o->arena, "^%.*s", (int)before.n, before.p);
        NEED_MEMORY(text->p);
    }
    return OK;
}

// What a node takes from the caller's attributes becomes an attribute of the function.
static Status *body_placeholders(Outliner *o, const Node *node) {
    for (int i = 0; i < node->n_attrs; i++) {
        const AttrValue *value = &node->attrs[i].value;
        if (value->kind != ATTR_PLACEHOLDER || map_find(&o->placeholders, value->s))
            continue;
        int at = signature_attr(&node->type->signature, node->attrs[i].name);
        if (at < 0)
            continue;
        const AttrSpec *spec = &node->type->signature.attrs[at];
        OpDef_AttrDef def = {.name = value->s, .type = str_of(attr_kind_name(spec->kind, spec->is_list))};
        def.type = str_copy(&o->arena, def.type);
        NEED_MEMORY(def.type.p);
        NEED_MEMORY(vec_push(&o->attrs, def));
        NEED_MEMORY(map_set(&o->placeholders, value->s, o));
    }
    return OK;
}

static Status *add_body(Outliner *o) {
    o->def.node_def.p = ARENA_ARRAY(&o->arena, NodeDef, o->n_body);
    NEED_MEMORY(o->def.node_def.p);
    for (size_t i = 0; i < o->n_body; i++) {
        const Node *node = o->body[i];
        NodeDef *def = &o->def.node_def.p[i];
        TRY(node_to_proto(node, &o->arena, def));
        def->name = o->node_names[node->id];
        TRY(status_prefix(body_inputs(o, node, def), "{{node %.*s}} (%.*s)", NODE_ARGS(node)));
        TRY(body_placeholders(o, node));
        o->signature.is_stateful |= node_is_stateful(node);
    }
    o->def.node_def.n = o->n_body;
    o->signature.attr.p = o->attrs.p;
    o->signature.attr.n = o->attrs.n;
    return OK;
}

// ---------------------------------------- results

static Status *output_name(Outliner *o, int i, Str *out) {
    if (o->spec->output_names) {
        *out = str_of(o->spec->output_names[i]);
        return take_name(o, *out, "output");
    }
    TRY(normal_name(o, o->spec->outputs[i].node->name, out));
    return unique_name(o, *out, out);
}

// Results take their names first, arguments and nodes what is left, as in TensorFlow.
static Status *name_outputs(Outliner *o) {
    size_t n = (size_t)o->spec->n_outputs;
    o->signature.output_arg.p = ARENA_ARRAY(&o->arena, OpDef_ArgDef, n);
    NEED_MEMORY(o->signature.output_arg.p);
    for (size_t i = 0; i < n; i++) {
        TRY(check_edge(o, o->spec->outputs[i], "output"));
        TRY(output_name(o, (int)i, &o->signature.output_arg.p[i].name));
    }
    return OK;
}

static Status *add_outputs(Outliner *o) {
    size_t n = (size_t)o->spec->n_outputs;
    o->def.ret.p = ARENA_ARRAY(&o->arena, StringEntry, n);
    NEED_MEMORY(o->def.ret.p);
    for (size_t i = 0; i < n; i++) {
        Output edge = o->spec->outputs[i];
        OpDef_ArgDef *arg = &o->signature.output_arg.p[i];
        DType type = edge.node->output_types[edge.index];
        NEED(!dtype_is_ref(type), INVALID_ARGUMENT, "TF_Output %.*s:%d has a reference type %s",
             STR_ARGS(edge.node->name), edge.index, dtype_name(type));
        arg->type = (int32_t)type;
        o->def.ret.p[i].key = arg->name;
        TRY(edge_name(o, edge, &o->def.ret.p[i].value));
        NEED(o->def.ret.p[i].value.n, INVALID_ARGUMENT,
             "TF_Output %.*s:%d is neither in the function body nor among function inputs.", STR_ARGS(edge.node->name),
             edge.index);
    }
    o->signature.output_arg.n = o->def.ret.n = n;
    return OK;
}

static Status *add_controls(Outliner *o) {
    size_t n = (size_t)o->spec->n_controls;
    AUTO(map) Map used = {0};
    o->signature.control_output.p = ARENA_ARRAY(&o->arena, Str, n);
    o->def.control_ret.p = ARENA_ARRAY(&o->arena, StringEntry, n);
    NEED_MEMORY(o->signature.control_output.p && o->def.control_ret.p);
    for (size_t i = 0; i < n; i++) {
        const Node *node = o->spec->controls[i];
        NEED(node && node->graph == o->graph && node->id >= 0 && o->node_names[node->id].n, INVALID_ARGUMENT,
             "control output %zu is not in the function body", i);
        Str name = o->spec->control_names ? str_of(o->spec->control_names[i]) : o->node_names[node->id];
        NEED(!map_find(&used, name), INVALID_ARGUMENT, "Repeated control output name: %.*s", STR_ARGS(name));
        NEED_MEMORY(map_set(&used, name, o));
        o->signature.control_output.p[i] = name;
        o->def.control_ret.p[i] = (StringEntry){.key = name, .value = o->node_names[node->id]};
    }
    o->signature.control_output.n = o->def.control_ret.n = n;
    return OK;
}

static Status *finish(Outliner *o, Function **out) {
    AUTO(text) Text bytes = {0};
    o->def.signature = &o->signature;
    o->signature.description = o->spec->description;
    o->signature.name = o->spec->name;
    TRY(PROTO_ENCODE(FunctionDef, &o->def, &bytes));
    // Of the definition under its plain name: the same body gets the same name in every process.
    if (o->spec->append_hash) {
        uint64_t hash = hash_bytes(bytes.p, bytes.n, 0);
        o->signature.name = str_format(&o->arena, "%.*s_%016llx", (int)o->spec->name.n, o->spec->name.p,
                                       (unsigned long long)hash);
        NEED_MEMORY(o->signature.name.p);
        bytes.n = 0;
        TRY(PROTO_ENCODE(FunctionDef, &o->def, &bytes));
    }
    return function_new(text_str(&bytes), out);
}

static Status *outline(Outliner *o, Function **out) {
    NEED(o->spec->name.n > 0, INVALID_ARGUMENT, "a function needs a name");
    TRY(name_outputs(o));
    TRY(add_inputs(o));
    TRY(collect_body(o));
    TRY(add_outputs(o));
    TRY(add_body(o));
    TRY(add_controls(o));
    return finish(o, out);
}

Status *function_from_graph(const Graph *graph, const FunctionSpec *spec, Function **out) {
    Outliner o = {.graph = graph, .spec = spec};
    Status *status = status_prefix(outline(&o, out), "creating function '%.*s'", STR_ARGS(spec->name));
    map_clear(&o.names);
    map_clear(&o.inputs);
    map_clear(&o.placeholders);
    vec_clear(&o.attrs);
    arena_clear(&o.arena);
    return status;
}
