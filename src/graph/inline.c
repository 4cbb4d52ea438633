// Inlining — a function's body as nodes of a graph; see function.h.
//
// The nodes get the call's name in front, and placeholders ($T) the call's attributes. Attributes that name nodes or
// frames (_class, frame_name) get the prefix too: two calls of one function would else share a frame. Nothing is kept
// of the body but its decoded message; a node is made only here.
#include "graph/assembly.h"
#include "graph/function.h"

// What a name of the body stands for: an argument's span in the flat list, or a part.
typedef struct {
    int32_t part;            // OUTSIDE: an argument
    int32_t first, count;    // of the argument
} Named;

typedef struct {
    const Function *function;
    Inlining *in;
    const FunctionDef *body;
    Arena arena;
    Map names;               // Str -> Named *
    Output *arguments;       // flat
    DType *types;            // of the flat arguments
    int32_t n_arguments;
    Assembly assembly;
} Inliner;

// ---------------------------------------- attributes of the call

// A placeholder ($T) takes the call's attribute, or the signature's default.
static const AttrValue *call_attr(const Inliner *l, Str name) {
    for (int i = 0; i < l->in->n_attrs; i++)
        if (str_equal(l->in->attrs[i].name, name))
            return &l->in->attrs[i].value;
    int at = signature_attr(&l->function->type.signature, name);
    return at >= 0 && l->function->type.signature.attrs[at].has_default
               ? &l->function->type.signature.attrs[at].fallback : NULL;
}

// Nesting was limited when the body was decoded.
static Status *replace_placeholders(const Inliner *l, AttrValue *value) {
    if (value->kind == ATTR_PLACEHOLDER) {
        const AttrValue *given = call_attr(l, value->s);
        NEED(given, INVALID_ARGUMENT, "the call has no attr '%.*s' that the body asks for", STR_ARGS(value->s));
        *value = *given;
        return OK;
    }
    if (value->kind != ATTR_FUNC)
        return OK;
    for (int i = 0; i < (value->is_list ? value->n : 1); i++) {
        FuncRef *func = value->is_list ? &value->funcs[i] : value->func;
        for (int j = 0; j < func->n_attrs; j++)
            TRY(replace_placeholders(l, &func->attrs[j].value));
    }
    return OK;
}

static Status *inline_attr(Assembly *assembly, const Part *part, Str name, AttrValue *value, NodeBuilder *builder) {
    Inliner *l = assembly->context;
    TRY(replace_placeholders(l, value));
    Str prefix = l->in->prefix;
    if (value->kind != ATTR_STRING || prefix.n == 0)
        return OK;
    bool enters = part->type->op && part->type->op->flow == FLOW_ENTER;
    if (enters && !value->is_list && str_equal(name, STR("frame_name"))) {
        value->s = str_format(&builder->arena, "%.*s/%.*s", (int)prefix.n, prefix.p, (int)value->s.n, value->s.p);
        NEED_MEMORY(value->s.p);
    }
    for (int i = 0; value->is_list && i < value->n && str_equal(name, STR("_class")); i++) {
        Str group = value->ss[i];
        if (!str_starts(group, STR("loc:@")) || !map_find(&l->names, (Str){group.p + 5, group.n - 5}))
            continue;
        value->ss[i] = str_format(&builder->arena, "loc:@%.*s/%.*s", (int)prefix.n, prefix.p, (int)group.n - 5,
                                  group.p + 5);
        NEED_MEMORY(value->ss[i].p);
    }
    return OK;
}

// ---------------------------------------- arguments

static Status *arg_span(const Inliner *l, const ArgSpec *arg, int64_t *out_count, const AttrValue **out_list) {
    const Signature *signature = &l->function->type.signature;
    *out_count = 1;
    *out_list = NULL;
    if (arg->number_attr >= 0) {
        const AttrValue *n = call_attr(l, signature->attrs[arg->number_attr].name);
        NEED(n && n->kind == ATTR_INT && !n->is_list && n->i >= 0 && n->i < INT16_MAX, INVALID_ARGUMENT,
             "argument '%.*s' has no length", STR_ARGS(arg->name));
        *out_count = n->i;
    } else if (arg->list_attr >= 0) {
        const AttrValue *list = call_attr(l, signature->attrs[arg->list_attr].name);
        NEED(list && list->is_list && (list->kind == ATTR_TYPE || list->n == 0), INVALID_ARGUMENT,
             "argument '%.*s' has no types", STR_ARGS(arg->name));
        *out_count = list->n;
        *out_list = list;
    }
    return OK;
}

static Status *arg_dtype(const Inliner *l, const ArgSpec *arg, const AttrValue *list, int at, DType *out) {
    DType dtype = arg->dtype;
    if (list) {
        dtype = list->types[at];
    } else if (arg->type_attr >= 0) {
        const AttrValue *type = call_attr(l, l->function->type.signature.attrs[arg->type_attr].name);
        NEED(type && type->kind == ATTR_TYPE && !type->is_list, INVALID_ARGUMENT, "argument '%.*s' has no type",
             STR_ARGS(arg->name));
        dtype = type->type;
    }
    *out = dtype;
    return OK;
}

static Status *add_name(Inliner *l, Str name, Named named) {
    NEED(!map_find(&l->names, name), INVALID_ARGUMENT, "two arguments or nodes are named '%.*s'", STR_ARGS(name));
    Named *kept = ARENA_NEW(&l->arena, Named);
    NEED_MEMORY(kept);
    *kept = named;
    NEED_MEMORY(map_set(&l->names, name, kept));
    return OK;
}

static Status *list_arguments(Inliner *l) {
    const Signature *signature = &l->function->type.signature;
    for (int i = 0; i < signature->n_inputs; i++) {
        int64_t count;
        const AttrValue *list;
        TRY(arg_span(l, &signature->inputs[i], &count, &list));
        NEED(l->n_arguments + count <= INT32_MAX, INVALID_ARGUMENT, "too many arguments");
        TRY(add_name(l, signature->inputs[i].name, (Named){OUTSIDE, l->n_arguments, (int32_t)count}));
        l->n_arguments += (int32_t)count;
    }
    l->types = ARENA_ARRAY(&l->arena, DType, l->n_arguments);
    l->arguments = ARENA_ARRAY(&l->arena, Output, l->n_arguments);
    NEED_MEMORY(l->types && l->arguments);
    int at = 0;
    for (int i = 0; i < signature->n_inputs; i++) {
        int64_t count;
        const AttrValue *list;
        TRY(arg_span(l, &signature->inputs[i], &count, &list));
        for (int j = 0; j < count; j++)
            TRY(arg_dtype(l, &signature->inputs[i], list, j, &l->types[at++]));
    }
    return OK;
}

static Status *scoped_name(const Inliner *l, Str name, Arena *arena, Str *out) {
    Str prefix = l->in->prefix;
    *out = prefix.n ? str_format(arena, "%.*s/%.*s", (int)prefix.n, prefix.p, (int)name.n, name.p) : name;
    NEED_MEMORY(out->p);
    return OK;
}

// The argument's name is that of its node; a list's elements are numbered.
static Status *make_arg_nodes(Inliner *l) {
    const Signature *signature = &l->function->type.signature;
    for (int i = 0, at = 0; i < signature->n_inputs; i++) {
        const Named *named = map_find(&l->names, signature->inputs[i].name);
        for (int j = 0; j < named->count; j++, at++) {
            Str name = signature->inputs[i].name;
            if (j > 0 || signature->inputs[i].number_attr >= 0 || signature->inputs[i].list_attr >= 0)
                name = str_format(&l->arena, "%.*s_%d", (int)name.n, name.p, j);
            TRY(scoped_name(l, name, &l->arena, &name));
            AUTO(builder) NodeBuilder builder;
            TRY(graph_unique_name(l->in->graph, name, &name));
            builder_init(&builder, l->in->graph, STR("_Arg"), name);
            builder_device(&builder, l->in->device);
            AttrValue type = ATTR_OF_TYPE(l->types[at]), index = ATTR_OF_INT(at);
            builder_attr(&builder, STR("T"), &type);
            builder_attr(&builder, STR("index"), &index);
            Node *node;
            TRY(builder_finish(&builder, &node));
            l->arguments[at] = (Output){node, 0};
        }
    }
    return OK;
}

static Status *bind_arguments(Inliner *l) {
    if (!l->in->arguments)
        return make_arg_nodes(l);
    NEED(l->in->n_arguments == l->n_arguments, INVALID_ARGUMENT, "%d arguments for %d", l->in->n_arguments,
         l->n_arguments);
    for (int i = 0; i < l->n_arguments; i++) {
        Output given = l->in->arguments[i];
        DType type = given.node->output_types[given.index];
        NEED(dtype_base(type) == dtype_base(l->types[i]), INVALID_ARGUMENT, "argument %d is %s, expected %s", i,
             dtype_name(type), dtype_name(l->types[i]));
        l->arguments[i] = given;
    }
    return OK;
}

// ---------------------------------------- edges

static Str cut_before(Str text, size_t n) {
    return (Str){text.p, n};
}

static Str cut_after(Str text, size_t n) {
    return (Str){text.p + n, text.n - n};
}

static size_t find_colon(Str text) {
    const char *colon = text.n ? memchr(text.p, ':', text.n) : NULL;
    return colon ? (size_t)(colon - text.p) : text.n;
}

static int output_arg(const Signature *signature, Str name) {
    for (int i = 0; i < signature->n_outputs; i++)
        if (str_equal(signature->outputs[i].name, name))
            return i;
    return -1;
}

// "arg", "arg:1", "node:outarg", "node:outarg:1". A missing last number means the whole list.
static Status *parse_source(const Inliner *l, Str text, Source *out, const Named **out_named) {
    size_t colon = find_colon(text);
    Str rest = colon < text.n ? cut_after(text, colon + 1) : (Str){0};
    const Named *named = map_find(&l->names, cut_before(text, colon));
    NEED(named, INVALID_ARGUMENT, "input '%.*s' is neither an argument nor a node of the function", STR_ARGS(text));
    Source source = {named->part, FLAT, WHOLE_LIST, {0}};
    int64_t index = WHOLE_LIST;
    if (named->part != OUTSIDE) {
        size_t second = find_colon(rest);
        const Part *part = &l->assembly.parts[named->part];
        source.arg = output_arg(&part->type->signature, cut_before(rest, second));
        NEED(source.arg >= 0, INVALID_ARGUMENT, "input '%.*s': op %.*s has no output '%.*s'", STR_ARGS(text),
             STR_ARGS(part->type->name), STR_ARGS(cut_before(rest, second)));
        rest = second < rest.n ? cut_after(rest, second + 1) : (Str){0};
    }
    if (rest.n)
        NEED(str_to_int(rest, &index) && index >= 0 && index < INT32_MAX, INVALID_ARGUMENT,
             "input '%.*s' is not a tensor's name", STR_ARGS(text));
    source.index = (int32_t)index;
    *out = source;
    *out_named = named;
    return OK;
}

static Status *push_source(Inliner *l, Part *part, Source source) {
    NEED_MEMORY(vec_push(&l->assembly.sources, source));
    part->n_sources++;
    return OK;
}

static Status *add_control(Inliner *l, Part *part, Str name) {
    const Named *named = map_find(&l->names, cut_before(name, find_colon(name)));
    NEED(named, INVALID_ARGUMENT, "control input '^%.*s' is no node of the function", STR_ARGS(name));
    if (named->part != OUTSIDE)
        return push_source(l, part, (Source){named->part, FLAT, CONTROL, {0}});
    for (int i = 0; i < named->count; i++)
        TRY(push_source(l, part, (Source){OUTSIDE, FLAT, CONTROL, {l->arguments[named->first + i].node, CONTROL}}));
    return OK;
}

static Status *add_data(Inliner *l, Part *part, Str text) {
    Source source;
    const Named *named;
    TRY(parse_source(l, text, &source, &named));
    if (named->part != OUTSIDE)
        return push_source(l, part, source);
    NEED(source.index < named->count, INVALID_ARGUMENT, "input '%.*s': the argument has %d elements", STR_ARGS(text),
         named->count);
    int first = source.index == WHOLE_LIST ? 0 : source.index;
    int last = source.index == WHOLE_LIST ? named->count : source.index + 1;
    for (int i = first; i < last; i++)
        TRY(push_source(l, part, (Source){OUTSIDE, FLAT, 0, l->arguments[named->first + i]}));
    return OK;
}

static Status *connect_part(Inliner *l, Part *part) {
    part->first_source = l->assembly.sources.n;
    bool reads_body = false, control_seen = false;
    for (size_t i = 0; i < part->def->input.n; i++) {
        Str text = part->def->input.p[i];
        bool control = text.n > 0 && text.p[0] == '^';
        NEED(control || !control_seen, INVALID_ARGUMENT, "Control dependencies must come after regular dependencies");
        control_seen = control;
        TRY(control ? add_control(l, part, cut_after(text, 1)) : add_data(l, part, text));
    }
    for (int i = 0; i < part->n_sources; i++)
        reads_body |= l->assembly.sources.p[part->first_source + (size_t)i].part != OUTSIDE;
    // Who reads another node of the body has waited through that one already.
    if (l->in->before && !reads_body)
        TRY(push_source(l, part, (Source){OUTSIDE, FLAT, CONTROL, {l->in->before, CONTROL}}));
    return OK;
}

// ---------------------------------------- the body

static Status *find_type(const Inliner *l, const NodeDef *def, const OpType **out) {
    const Function *function = function_find(l->in->graph, def->op);
    if (!function)
        return op_type_find(def->op, out);
    *out = &function->type;
    return OK;
}

static Status *list_parts(Inliner *l) {
    size_t n = l->body->node_def.n;
    NEED(n <= MAX_GRAPH_NODES, RESOURCE_EXHAUSTED, "a body of more than %d nodes", MAX_GRAPH_NODES);
    l->assembly.parts = ARENA_ARRAY(&l->arena, Part, n);
    NEED_MEMORY(l->assembly.parts);
    l->assembly.n_parts = n;
    for (size_t i = 0; i < n; i++) {
        Part *part = &l->assembly.parts[i];
        part->def = &l->body->node_def.p[i];
        part->device = part->def->device.n ? part->def->device : l->in->device;
        TRY(scoped_name(l, part->def->name, &l->arena, &part->name));
        TRY(status_prefix(find_type(l, part->def, &part->type), "{{node %.*s}}", STR_ARGS(part->name)));
        TRY(add_name(l, part->def->name, (Named){(int32_t)i, 0, 0}));
    }
    return OK;
}

static Str find_return(const FunctionDef *body, Str name) {
    for (size_t i = 0; i < body->ret.n; i++)
        if (str_equal(body->ret.p[i].key, name))
            return body->ret.p[i].value;
    return (Str){0};
}

static Status *put_result(const Inliner *l, int at, Output result) {
    NEED(at < l->in->n_results, INVALID_ARGUMENT, "more results than the %d expected", l->in->n_results);
    l->in->results[at] = result;
    return OK;
}

static Status *return_result(const Inliner *l, Str name, int *at) {
    Str from = find_return(l->body, name);
    NEED(from.n, INVALID_ARGUMENT, "nothing is returned as '%.*s'", STR_ARGS(name));
    Source source;
    const Named *named;
    TRY(parse_source(l, from, &source, &named));
    if (named->part != OUTSIDE) {
        Node *node;
        int first, count;
        TRY(assembly_source(&l->assembly, &source, &node, &first, &count));
        for (int i = 0; i < count; i++)
            TRY(put_result(l, (*at)++, (Output){node, first + i}));
        return OK;
    }
    NEED(source.index < named->count, INVALID_ARGUMENT, "result '%.*s': the argument has %d elements", STR_ARGS(from),
         named->count);
    int first = source.index == WHOLE_LIST ? 0 : source.index;
    int last = source.index == WHOLE_LIST ? named->count : source.index + 1;
    for (int i = first; i < last; i++)
        TRY(put_result(l, (*at)++, l->arguments[named->first + i]));
    return OK;
}

static Status *return_all(Inliner *l) {
    const Signature *signature = &l->function->type.signature;
    int at = 0;
    for (int i = 0; i < signature->n_outputs; i++)
        TRY(return_result(l, signature->outputs[i].name, &at));
    NEED(at == l->in->n_results, INVALID_ARGUMENT, "%d results, %d expected", at, l->in->n_results);
    Node **controls = ARENA_ARRAY(&l->in->graph->arena, Node *, l->body->control_ret.n);
    NEED_MEMORY(controls);
    for (size_t i = 0; i < l->body->control_ret.n; i++) {
        Str name = l->body->control_ret.p[i].value;
        const Named *named = map_find(&l->names, name);
        NEED(named && named->part != OUTSIDE, INVALID_ARGUMENT, "control result '%.*s' is no node of the function",
             STR_ARGS(name));
        controls[i] = l->assembly.parts[named->part].node;
    }
    l->in->controls = controls;
    l->in->n_controls = (int32_t)l->body->control_ret.n;
    return OK;
}

static Status *inline_all(Inliner *l) {
    TRY(function_body(l->function, &l->arena, &l->body));
    TRY(list_arguments(l));
    TRY(bind_arguments(l));
    TRY(list_parts(l));
    for (size_t i = 0; i < l->assembly.n_parts; i++)
        TRY(status_prefix(connect_part(l, &l->assembly.parts[i]), "{{node %.*s}} (%.*s)",
                          STR_ARGS(l->assembly.parts[i].name), STR_ARGS(l->assembly.parts[i].type->name)));
    l->assembly.attr = inline_attr;
    l->assembly.context = l;
    TRY(assembly_run(&l->assembly));
    return return_all(l);
}

Status *function_inline(const Function *function, Inlining *inlining) {
    Inliner l = {.function = function, .in = inlining};
    assembly_begin(&l.assembly, inlining->graph);
    Status *status = inline_all(&l);
    if (status) {
        assembly_undo(&l.assembly);
        status = status_prefix(status, "function '%.*s'", STR_ARGS(function->type.name));
    }
    assembly_clear(&l.assembly);
    map_clear(&l.names);
    arena_clear(&l.arena);
    return status;
}
