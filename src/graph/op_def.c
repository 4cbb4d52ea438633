// Signature <-> OpDef, Node -> NodeDef; see op_def.h: the forms in which clients and files speak of ops and nodes.
//
// An OpDef from outside is checked like a signature from text; names, counts and defaults must be sound before anything
// relies on them.
#include "graph/op_def.h"

#include "proto/tensor_proto.h"

enum { MAX_SIGNATURE = 32000 };  // arguments or attributes; signatures count them in 16 bits

// ---------------------------------------- names

static bool is_letter_or_digit(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool node_name_is_valid(Str name) {
    bool start = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (start) {
            if (!is_letter_or_digit(c) && c != '.')
                return false;
            start = false;
        } else if (c == '>') {
            start = true;
        } else if (!is_letter_or_digit(c) && c != '_' && c != '.' && c != '-' && c != '/') {
            return false;
        }
    }
    return !start;
}

// ---------------------------------------- from OpDef

static Status *copy_name(Arena *arena, Str from, Str *out) {
    *out = str_copy(arena, from);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *kind_from_text(Str text, AttrKind *out_kind, bool *out_list) {
    Str inner = text;
    bool is_list = str_starts(text, STR("list(")) && text.p[text.n - 1] == ')';
    if (is_list)
        inner = (Str){text.p + 5, text.n - 6};
    for (int kind = ATTR_STRING; kind <= ATTR_FUNC; kind++)
        if (kind != ATTR_PLACEHOLDER && str_is(inner, attr_kind_name((AttrKind)kind, false))) {
            *out_kind = (AttrKind)kind;
            *out_list = is_list;
            return OK;
        }
    FAIL(INVALID_ARGUMENT, "'%.*s' is no type of an attribute", STR_ARGS(text));
}

static Status *attr_spec(const OpDef_AttrDef *def, Arena *arena, TensorList *tensors, AttrSpec *out) {
    size_t budget = SPLAT_BUDGET;
    AttrSpec spec = {.has_minimum = def->has_minimum, .minimum = def->minimum};
    TRY(copy_name(arena, def->name, &spec.name));
    TRY(kind_from_text(def->type, &spec.kind, &spec.is_list));
    if (def->allowed_values) {
        TRY(attr_from_proto(def->allowed_values, arena, tensors, &budget, &spec.allowed));
        NEED(spec.allowed.is_list && (spec.allowed.n == 0 || spec.allowed.kind == spec.kind), INVALID_ARGUMENT,
             "the allowed values aren't a list of %s", attr_kind_name(spec.kind, false));
        NEED(spec.kind == ATTR_TYPE || spec.kind == ATTR_STRING || spec.allowed.n == 0, INVALID_ARGUMENT,
             "only types and strings have allowed values");
        spec.allowed.is_list = spec.allowed.n > 0;
    }
    if (def->default_value) {
        spec.has_default = true;
        TRY(attr_from_proto(def->default_value, arena, tensors, &budget, &spec.fallback));
        TRY(status_prefix(signature_check_value(&spec, &spec.fallback), "its default"));
        spec.fallback.kind = spec.kind;  // an empty list doesn't say of what
    }
    *out = spec;
    return OK;
}

// `attrs` maps the names of the attributes to their AttrSpecs.
static Status *arg_attr(const Signature *signature, const Map *attrs, Str name, AttrKind kind, bool is_list,
                        int16_t *out) {
    *out = -1;
    if (name.n == 0)
        return OK;
    const AttrSpec *spec = map_find(attrs, name);
    NEED(spec, INVALID_ARGUMENT, "no attribute '%.*s'", STR_ARGS(name));
    NEED(spec->kind == kind && spec->is_list == is_list, INVALID_ARGUMENT, "attribute '%.*s' is no %s",
         STR_ARGS(name), attr_kind_name(kind, is_list));
    *out = (int16_t)(spec - signature->attrs);
    return OK;
}

static Status *arg_spec(const OpDef_ArgDef *def, const Signature *signature, const Map *attrs, Arena *arena,
                        ArgSpec *out) {
    ArgSpec spec = {.is_ref = def->is_ref};
    TRY(copy_name(arena, def->name, &spec.name));
    NEED(def->type == DT_INVALID || dtype_is_valid((DType)def->type), INVALID_ARGUMENT, "%d is no data type",
         def->type);
    spec.dtype = (DType)def->type;
    if (dtype_is_ref(spec.dtype)) {
        spec.dtype = dtype_base(spec.dtype);
        spec.is_ref = true;
    }
    TRY(arg_attr(signature, attrs, def->type_attr, ATTR_TYPE, false, &spec.type_attr));
    TRY(arg_attr(signature, attrs, def->number_attr, ATTR_INT, false, &spec.number_attr));
    TRY(arg_attr(signature, attrs, def->type_list_attr, ATTR_TYPE, true, &spec.list_attr));
    int given = (spec.dtype != DT_INVALID) + (spec.type_attr >= 0) + (spec.list_attr >= 0);
    NEED(given == 1, INVALID_ARGUMENT, "%s type", given ? "more than one" : "no");
    NEED(spec.number_attr < 0 || spec.list_attr < 0, INVALID_ARGUMENT, "a number and a list of types");
    *out = spec;
    return OK;
}

static Status *names_are_unique(const Signature *signature) {
    AUTO(map) Map names = {0};
    for (int i = 0; i < signature->n_inputs + signature->n_outputs; i++) {
        const ArgSpec *arg = i < signature->n_inputs ? &signature->inputs[i]
                                                     : &signature->outputs[i - signature->n_inputs];
        // An input and an output of a function may share a name: they are told apart by where they stand.
        const void *side = i < signature->n_inputs ? (const void *)signature->inputs : signature->outputs;
        NEED(map_find(&names, arg->name) != side, INVALID_ARGUMENT, "two arguments are named '%.*s'",
             STR_ARGS(arg->name));
        NEED_MEMORY(map_set(&names, arg->name, (void *)side));
    }
    return OK;
}

static Status *attrs_by_name(const Signature *signature, Map *out) {
    for (int i = 0; i < signature->n_attrs; i++) {
        AttrSpec *spec = &signature->attrs[i];
        NEED(!map_find(out, spec->name), INVALID_ARGUMENT, "two attributes are named '%.*s'", STR_ARGS(spec->name));
        NEED_MEMORY(map_set(out, spec->name, spec));
    }
    return OK;
}

static Status *signature_args(const OpDef *def, Arena *arena, Signature *out) {
    AUTO(map) Map attrs = {0};
    TRY(attrs_by_name(out, &attrs));
    out->inputs = ARENA_ARRAY(arena, ArgSpec, def->input_arg.n);
    out->outputs = ARENA_ARRAY(arena, ArgSpec, def->output_arg.n);
    NEED_MEMORY(out->inputs && out->outputs);
    for (size_t i = 0; i < def->input_arg.n; i++)
        TRY(status_prefix(arg_spec(&def->input_arg.p[i], out, &attrs, arena, &out->inputs[i]), "input '%.*s'",
                          STR_ARGS(def->input_arg.p[i].name)));
    for (size_t i = 0; i < def->output_arg.n; i++)
        TRY(status_prefix(arg_spec(&def->output_arg.p[i], out, &attrs, arena, &out->outputs[i]), "output '%.*s'",
                          STR_ARGS(def->output_arg.p[i].name)));
    out->n_inputs = (int16_t)def->input_arg.n;
    out->n_outputs = (int16_t)def->output_arg.n;
    return names_are_unique(out);
}

Status *signature_from_op_def(const OpDef *def, Arena *arena, TensorList *tensors, Signature *out) {
    Signature signature = {
        .stateful = def->is_stateful,
        .commutative = def->is_commutative,
        .aggregate = def->is_aggregate,
        .allows_uninitialized = def->allows_uninitialized_input,
        .distributed = def->is_distributed_communication,
    };
    NEED(def->name.n > 0, INVALID_ARGUMENT, "an OpDef without a name");
    NEED(def->input_arg.n <= MAX_SIGNATURE && def->output_arg.n <= MAX_SIGNATURE && def->attr.n <= MAX_SIGNATURE &&
             def->control_output.n <= MAX_SIGNATURE, INVALID_ARGUMENT, "more arguments than %d", MAX_SIGNATURE);
    TRY(copy_name(arena, def->name, &signature.name));
    signature.attrs = ARENA_ARRAY(arena, AttrSpec, def->attr.n);
    signature.control_outputs = ARENA_ARRAY(arena, Str, def->control_output.n);
    NEED_MEMORY(signature.attrs && signature.control_outputs);
    for (size_t i = 0; i < def->attr.n; i++)
        TRY(status_prefix(attr_spec(&def->attr.p[i], arena, tensors, &signature.attrs[i]), "attribute '%.*s'",
                          STR_ARGS(def->attr.p[i].name)));
    signature.n_attrs = (int16_t)def->attr.n;
    for (size_t i = 0; i < def->control_output.n; i++)
        TRY(copy_name(arena, def->control_output.p[i], &signature.control_outputs[i]));
    signature.n_control_outputs = (int16_t)def->control_output.n;
    if (def->deprecation) {
        signature.deprecated_version = def->deprecation->version;
        TRY(copy_name(arena, def->deprecation->explanation, &signature.deprecated_text));
    }
    TRY(signature_args(def, arena, &signature));
    *out = signature;
    return OK;
}

// ---------------------------------------- to OpDef

static Str attr_name(const Signature *signature, int at) {
    return at >= 0 ? signature->attrs[at].name : (Str){0};
}

static OpDef_ArgDef *args_to_proto(const Signature *signature, const ArgSpec *args, int n, Arena *arena) {
    OpDef_ArgDef *out = ARENA_ARRAY(arena, OpDef_ArgDef, n);
    for (int i = 0; out && i < n; i++) {
        out[i].name = args[i].name;
        out[i].type = (int32_t)args[i].dtype;
        out[i].type_attr = attr_name(signature, args[i].type_attr);
        out[i].number_attr = attr_name(signature, args[i].number_attr);
        out[i].type_list_attr = attr_name(signature, args[i].list_attr);
        out[i].is_ref = args[i].is_ref;
    }
    return out;
}

static Status *attr_spec_to_proto(const AttrSpec *spec, Arena *arena, OpDef_AttrDef *out) {
    out->name = spec->name;
    out->type = str_copy(arena, str_of(attr_kind_name(spec->kind, spec->is_list)));
    NEED_MEMORY(out->type.p);
    out->has_minimum = spec->has_minimum;
    out->minimum = spec->minimum;
    if (spec->allowed.is_list) {
        out->allowed_values = ARENA_NEW(arena, AttrValueProto);
        NEED_MEMORY(out->allowed_values);
        TRY(attr_to_proto(&spec->allowed, arena, out->allowed_values));
    }
    if (spec->has_default) {
        out->default_value = ARENA_NEW(arena, AttrValueProto);
        NEED_MEMORY(out->default_value);
        TRY(attr_to_proto(&spec->fallback, arena, out->default_value));
    }
    return OK;
}

Status *signature_to_op_def(const Signature *signature, Arena *arena, OpDef *out) {
    OpDef def = {
        .name = signature->name,
        .is_stateful = signature->stateful,
        .is_commutative = signature->commutative,
        .is_aggregate = signature->aggregate,
        .allows_uninitialized_input = signature->allows_uninitialized,
        .is_distributed_communication = signature->distributed,
    };
    def.input_arg.p = args_to_proto(signature, signature->inputs, signature->n_inputs, arena);
    def.input_arg.n = (size_t)signature->n_inputs;
    def.output_arg.p = args_to_proto(signature, signature->outputs, signature->n_outputs, arena);
    def.output_arg.n = (size_t)signature->n_outputs;
    def.attr.p = ARENA_ARRAY(arena, OpDef_AttrDef, signature->n_attrs);
    NEED_MEMORY(def.input_arg.p && def.output_arg.p && def.attr.p);
    for (def.attr.n = 0; def.attr.n < (size_t)signature->n_attrs; def.attr.n++)
        TRY(attr_spec_to_proto(&signature->attrs[def.attr.n], arena, &def.attr.p[def.attr.n]));
    def.control_output.p = signature->control_outputs;
    def.control_output.n = (size_t)signature->n_control_outputs;
    if (signature->deprecated_version) {
        def.deprecation = ARENA_NEW(arena, OpDeprecationProto);
        NEED_MEMORY(def.deprecation);
        def.deprecation->version = signature->deprecated_version;
        def.deprecation->explanation = signature->deprecated_text;
    }
    *out = def;
    return OK;
}

// ---------------------------------------- to NodeDef

static int compare_text(const void *a, const void *b) {
    return str_compare(*(const Str *)a, *(const Str *)b);
}

// Control inputs come in the order of their names, as TensorFlow writes them.
static Status *inputs_to_proto(const Node *node, Arena *arena, NodeDef *out) {
    size_t n = (size_t)node->n_inputs + (size_t)node->n_controls;
    out->input.p = ARENA_ARRAY(arena, Str, n);
    NEED_MEMORY(out->input.p);
    for (int i = 0; i < node->n_inputs; i++) {
        Output from = node->inputs[i];
        NEED(from.node, FAILED_PRECONDITION, "{{node %.*s}} (%.*s) has no input %d yet", NODE_ARGS(node), i);
        Str name = from.node->name;
        if (from.index > 0)
            name = str_format(arena, "%.*s:%d", (int)name.n, name.p, from.index);
        NEED_MEMORY(name.p);
        out->input.p[out->input.n++] = name;
    }
    for (int i = 0; i < node->n_controls; i++) {
        Str before = node->controls[i]->name;
        Str name = str_format(arena, "^%.*s", (int)before.n, before.p);
        NEED_MEMORY(name.p);
        out->input.p[out->input.n++] = name;
    }
    if (node->n_controls > 1)
        qsort(out->input.p + node->n_inputs, (size_t)node->n_controls, sizeof(Str), compare_text);
    return OK;
}

static int compare_keys(const void *a, const void *b) {
    return str_compare(((const AttrValueEntry *)a)->key, ((const AttrValueEntry *)b)->key);
}

Status *node_to_proto(const Node *node, Arena *arena, NodeDef *out) {
    NodeDef def = {.name = node->name, .op = node->type->name, .device = node->device};
    TRY(inputs_to_proto(node, arena, &def));
    def.attr.p = ARENA_ARRAY(arena, AttrValueEntry, node->n_attrs);
    AttrValueProto *values = ARENA_ARRAY(arena, AttrValueProto, node->n_attrs);
    NEED_MEMORY(def.attr.p && values);
    for (int i = 0; i < node->n_attrs; i++) {
        if (node->attrs[i].value.kind == ATTR_NONE && !node->attrs[i].value.is_list)
            continue;
        AttrValueEntry *entry = &def.attr.p[def.attr.n++];
        entry->key = node->attrs[i].name;
        entry->value = &values[i];
        TRY(status_prefix(attr_to_proto(&node->attrs[i].value, arena, entry->value),
                          "{{node %.*s}} (%.*s): attr '%.*s'", NODE_ARGS(node), STR_ARGS(entry->key)));
    }
    if (def.attr.n)
        qsort(def.attr.p, def.attr.n, sizeof *def.attr.p, compare_keys);
    *out = def;
    return OK;
}
