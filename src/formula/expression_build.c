// Expression build — see expression.h: settles the types of literals, makes leaves and nodes.
//
// Type inference goes from the most certain: types given by attributes, then those of nested calls and of literals with
// a suffix, then what each literal naturally is (1 is int32, 1.0 float) where the op allows it.
#include "formula/expression.h"
#include "formula/formula.h"
#include "tensor/literal.h"

enum { MOST_ATTRS = 64 };

// One call being built.
typedef struct {
    ExpressionBuild *build;
    const Expression *e;
    const Signature *signature;
    bool outermost;
    DType bound[MOST_ATTRS];     // what each type attribute is known to be
    Output **edges;              // of each argument's terms
    Arena arena;
    TensorList tensors;
    DType variable;              // the type of the last variable made for a literal
} Call;

static void call_auto(Call *call) {
    arena_clear(&call->arena);
    tensor_list_auto(&call->tensors);
}

static const ArgSpec *spec_of(const Call *call, int arg) {
    return &call->signature->inputs[arg];
}

static int terms_of(const Term *term) {
    return term->kind == TERM_LIST ? term->n : 1;
}

static const Term *term_at(const Term *term, int i) {
    return term->kind == TERM_LIST ? &term->items[i] : term;
}

static bool is_allowed(const AttrSpec *attr, DType dtype) {
    bool found = !attr->allowed.is_list;
    for (int i = 0; i < attr->allowed.n && !found; i++)
        found = attr->allowed.types[i] == dtype;
    return found;
}

static Status *add(Call *call, const char *op, const Output *in, int n_in, const FormulaAttr *attrs, Node **out) {
    Formula f = {.graph = call->build->graph};
    FormulaArg args[2];
    for (int i = 0; i < n_in; i++)
        args[i] = (FormulaArg){&in[i], 1, false};
    *out = formula_node(&f, op, args, n_in, attrs);
    return f.status;
}

Status *expression_constant(ExpressionBuild *build, int arg, Tensor *value, Output *out) {
    (void)arg;
    NEED(value->data, INVALID_ARGUMENT, "a shape is no value");
    Formula f = {.graph = build->graph};
    *out = formula_tensor(&f, value);
    tensor_clear(value);
    return f.status;
}

static Status *leaf(Call *call, int arg, Tensor *value, Output *out) {
    ExpressionBuild *build = call->build;
    return (build->leaf ? build->leaf : expression_constant)(build, call->outermost ? arg : -1, value, out);
}

// ---------------------------------------- variables that literals stand for

static Status *make_variable(Call *call, bool is_ref, Tensor *value, Output *out) {
    ExpressionBuild *build = call->build;
    FormulaAttr attrs[] = {{"dtype", ATTR_OF_TYPE(value->dtype)},
                           {"shape", {.kind = ATTR_SHAPE, .shape = &(Shape){0}}}, {0}};
    Shape shape = value->shape;
    attrs[1].value.shape = &shape;
    FormulaAttr dtype[] = {{"dtype", ATTR_OF_TYPE(value->dtype)}, {0}};
    call->variable = value->dtype;
    Node *variable, *init, *read;
    Output edges[2];
    TRY(add(call, is_ref ? "VariableV2" : "VarHandleOp", NULL, 0, attrs, &variable));
    edges[0] = (Output){variable, 0};
    if (!value->data) {
        *out = edges[0];
        return OK;
    }
    TRY(expression_constant(build, -1, value, &edges[1]));
    TRY(add(call, is_ref ? "Assign" : "AssignVariableOp", edges, 2, NULL, &init));
    if (is_ref)
        TRY(add(call, "Identity", edges, 1, NULL, &read));
    else
        TRY(add(call, "ReadVariableOp", edges, 1, dtype, &read));
    NEED_MEMORY(vec_push(&build->inits, init) && vec_push(&build->variables, ((Output){read, 0})));
    *out = edges[0];
    return OK;
}

// ---------------------------------------- types

static Status *bind_given(Call *call) {
    for (int i = 0; i < call->e->n_attrs; i++) {
        int attr = signature_attr(call->signature, call->e->attrs[i].name);
        NEED(attr >= 0, INVALID_ARGUMENT, "%.*s has no attribute %.*s", STR_ARGS(call->signature->name),
             STR_ARGS(call->e->attrs[i].name));
        const AttrSpec *spec = &call->signature->attrs[attr];
        if (spec->kind == ATTR_TYPE && !spec->is_list && attr < MOST_ATTRS)
            call->bound[attr] = dtype_find(call->e->attrs[i].text);
    }
    if (call->outermost && call->build->forced_attr >= 0)
        call->bound[call->build->forced_attr] = call->build->forced;
    return OK;
}

static Status *build_call(ExpressionBuild *build, const Expression *e, bool outermost, Node **out);

// Nested calls first: their types are settled by themselves.
static Status *build_nested(Call *call, int arg) {
    const Term *term = &call->e->args[arg];
    const ArgSpec *spec = spec_of(call, arg);
    for (int i = 0; i < terms_of(term); i++) {
        const Term *item = term_at(term, i);
        DType dtype = item->dtype;
        if (item->kind == TERM_CALL) {
            Node *node;
            TRY(build_call(call->build, item->call, false, &node));
            NEED(item->output < node->n_outputs, INVALID_ARGUMENT, "%.*s has %d outputs, not .%d",
                 STR_ARGS(node->type->name), node->n_outputs, item->output);
            call->edges[arg][i] = (Output){node, item->output};
            dtype = output_base_type(call->edges[arg][i]);
        }
        if (dtype != DT_INVALID && spec->type_attr >= 0 && call->bound[spec->type_attr] == DT_INVALID)
            call->bound[spec->type_attr] = dtype;
    }
    return OK;
}

static DType natural_type(const Term *term) {
    AUTO(tensor) Tensor value = {0};
    if (term->kind != TERM_LITERAL)
        return DT_float;
    Status *status = literal_parse(term->text, DT_INVALID, &value, NULL);
    status_free(status);
    return status ? DT_float : value.dtype;
}

// What a type attribute is that nothing has settled yet.
static DType choose_type(const AttrSpec *attr, DType natural) {
    if (is_allowed(attr, natural))
        return natural;
    if (attr->has_default)
        return attr->fallback.type;
    return is_allowed(attr, DT_int32) ? DT_int32 : attr->allowed.types[0];
}

static void bind_natural(Call *call, int arg) {
    const ArgSpec *spec = spec_of(call, arg);
    const Term *term = &call->e->args[arg];
    if (spec->type_attr < 0 || call->bound[spec->type_attr] != DT_INVALID || terms_of(term) == 0)
        return;
    call->bound[spec->type_attr] =
        choose_type(&call->signature->attrs[spec->type_attr], natural_type(term_at(term, 0)));
}

// ---------------------------------------- leaves

static Status *make_leaf(Call *call, int arg, const Term *term, Output *out) {
    const ArgSpec *spec = spec_of(call, arg);
    DType wanted = spec->type_attr >= 0 ? call->bound[spec->type_attr] : spec->dtype;
    bool is_handle = wanted == DT_resource;
    if (is_handle || wanted == DT_INVALID)  // a variable's own type; a list of types
        wanted = term->dtype;
    if (is_handle && wanted == DT_INVALID)
        for (int i = 0; i < call->signature->n_attrs && wanted == DT_INVALID; i++)
            if (str_is(call->signature->attrs[i].name, "T") || str_is(call->signature->attrs[i].name, "dtype"))
                wanted = call->bound[i];
    AUTO(tensor) Tensor value = {0};
    if (term->kind == TERM_SHAPE) {
        value.dtype = wanted == DT_INVALID ? DT_float : wanted;
        value.shape = term->shape;
    } else {
        TRY(literal_parse(term->text, wanted, &value, NULL));
    }
    if (is_handle || spec->is_ref)
        return make_variable(call, spec->is_ref, &value, out);
    return leaf(call, arg, &value, out);
}

static Status *make_leaves(Call *call, int arg) {
    const Term *term = &call->e->args[arg];
    for (int i = 0; i < terms_of(term); i++)
        if (term_at(term, i)->kind != TERM_CALL)
            TRY(make_leaf(call, arg, term_at(term, i), &call->edges[arg][i]));
    return OK;
}

// ---------------------------------------- the node

static Status *add_attrs(Call *call, NodeBuilder *builder) {
    for (int i = 0; i < call->e->n_attrs; i++) {
        const AttrText *given = &call->e->attrs[i];
        const AttrSpec *spec = &call->signature->attrs[signature_attr(call->signature, given->name)];
        AttrValue value;
        if (spec->kind == ATTR_STRING && !spec->is_list && given->text.n && given->text.p[0] != '"')
            value = ATTR_OF_STRING(given->text);
        else
            TRY(status_prefix(attr_parse(given->text, spec->kind, spec->is_list, &call->arena, &call->tensors, &value),
                              "attribute %.*s: ", STR_ARGS(given->name)));
        builder_attr(builder, given->name, &value);
    }
    // A variable's type, where the op wants it named and no input tells it.
    for (int i = 0; i < call->signature->n_attrs && call->variable != DT_INVALID; i++) {
        const AttrSpec *spec = &call->signature->attrs[i];
        bool told = call->bound[i] != DT_INVALID || spec->kind != ATTR_TYPE || spec->is_list || spec->has_default;
        if (!told && (str_is(spec->name, "T") || str_is(spec->name, "dtype")))
            builder_attr(builder, spec->name, &ATTR_OF_TYPE(call->variable));
    }
    if (call->outermost && call->build->forced_attr >= 0) {
        const AttrSpec *spec = &call->signature->attrs[call->build->forced_attr];
        bool is_input = false;
        for (int i = 0; i < call->signature->n_inputs; i++)
            is_input |= call->signature->inputs[i].type_attr == call->build->forced_attr;
        if (!is_input)
            builder_attr(builder, spec->name, &ATTR_OF_TYPE(call->build->forced));
    }
    return OK;
}

static Status *finish(Call *call, Node **out) {
    Str name;
    TRY(graph_unique_name(call->build->graph, call->signature->name, &name));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, call->build->graph, call->signature->name, name);
    if (call->outermost && call->build->device.n)
        builder_device(&builder, call->build->device);
    for (int i = 0; i < call->e->n_args; i++) {
        if (call->e->args[i].kind == TERM_LIST)
            builder_input_list(&builder, call->edges[i], call->e->args[i].n);
        else
            builder_input(&builder, call->edges[i][0]);
    }
    TRY(add_attrs(call, &builder));
    return builder_finish(&builder, out);
}

static Status *build_call(ExpressionBuild *build, const Expression *e, bool outermost, Node **out) {
    AUTO(call) Call call = {.build = build, .e = e, .signature = &e->type->signature, .outermost = outermost};
    NEED(e->n_args <= call.signature->n_inputs, INVALID_ARGUMENT, "%.*s takes %d arguments, got %d",
         STR_ARGS(e->type->name), call.signature->n_inputs, e->n_args);
    NEED(call.signature->n_attrs <= MOST_ATTRS, INVALID_ARGUMENT, "%.*s has too many attributes",
         STR_ARGS(e->type->name));
    call.edges = ARENA_ARRAY(&call.arena, Output *, e->n_args);
    NEED_MEMORY(call.edges);
    TRY(bind_given(&call));
    for (int i = 0; i < e->n_args; i++) {
        call.edges[i] = ARENA_ARRAY(&call.arena, Output, terms_of(&e->args[i]));
        NEED_MEMORY(call.edges[i]);
        TRY(build_nested(&call, i));
    }
    for (int i = 0; i < e->n_args; i++)
        bind_natural(&call, i);
    for (int i = 0; i < e->n_args; i++)
        TRY(make_leaves(&call, i));
    return finish(&call, out);
}

Status *expression_build(ExpressionBuild *build, const Expression *expression, Node **out) {
    return build_call(build, expression, true, out);
}

void expression_build_clear(ExpressionBuild *build) {
    vec_clear(&build->inits);
    vec_clear(&build->variables);
}
