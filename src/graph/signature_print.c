// Signature — see signature.h: printing, and the check of a value against its attribute. What is printed parses to the
// same signature.
#include "graph/notation.h"
#include "graph/signature.h"

static void print_arg(Text *text, const Signature *signature, const ArgSpec *arg) {
    notation_name(text, arg->name);
    text_add(text, arg->is_ref ? STR(": ref ") : STR(": "));
    if (arg->number_attr >= 0) {
        notation_name(text, signature->attrs[arg->number_attr].name);
        text_add(text, STR(" * "));
    }
    int attr = arg->type_attr >= 0 ? arg->type_attr : arg->list_attr;
    if (attr < 0) {
        text_add(text, str_of(dtype_name(arg->dtype)));
        return;
    }
    Str name = signature->attrs[attr].name;
    DType same = dtype_find(name);
    if (same != DT_INVALID && !dtype_is_ref(same))
        notation_quote(text, name);  // without quotes it would be that type
    else
        notation_name(text, name);
}

static void print_attr(Text *text, const AttrSpec *attr) {
    notation_name(text, attr->name);
    text_add(text, attr->is_list ? STR(": list(") : STR(": "));
    for (int i = 0; i < attr->allowed.n; i++) {
        text_add(text, i ? STR(", ") : STR("{"));
        if (attr->kind == ATTR_STRING)
            notation_quote(text, attr->allowed.ss[i]);
        else
            text_add(text, str_of(dtype_name(attr->allowed.types[i])));
    }
    text_add(text, attr->allowed.n ? STR("}") : str_of(attr_kind_name(attr->kind, false)));
    if (attr->is_list)
        text_char(text, ')');
    if (attr->has_minimum)
        text_format(text, " >= %lld", (long long)attr->minimum);
    if (attr->has_default) {
        text_add(text, STR(" = "));
        attr_print_whole(text, &attr->fallback);
    }
}

static void print_flags(Text *text, const Signature *signature) {
    if (signature->stateful)
        text_add(text, STR("; stateful"));
    if (signature->commutative)
        text_add(text, STR("; commutative"));
    if (signature->aggregate)
        text_add(text, STR("; aggregate"));
    if (signature->allows_uninitialized)
        text_add(text, STR("; allows_uninitialized"));
    if (signature->distributed)
        text_add(text, STR("; distributed"));
    if (signature->deprecated_version) {
        text_format(text, "; deprecated(%d, ", signature->deprecated_version);
        notation_quote(text, signature->deprecated_text);
        text_char(text, ')');
    }
    for (int i = 0; i < signature->n_control_outputs; i++) {
        text_add(text, STR("; control_output "));
        notation_name(text, signature->control_outputs[i]);
    }
}

static void print_op_name(Text *text, Str name) {
    for (size_t i = 0; i < name.n; i++) {
        if (!is_name_char(name.p[i]) && name.p[i] != '>') {
            notation_quote(text, name);
            return;
        }
    }
    text_add(text, name.n ? name : STR("\"\""));
}

void signature_print(Text *text, const Signature *signature) {
    print_op_name(text, signature->name);
    text_char(text, '(');
    for (int i = 0; i < signature->n_inputs; i++) {
        if (i)
            text_add(text, STR(", "));
        print_arg(text, signature, &signature->inputs[i]);
    }
    text_char(text, ')');
    for (int i = 0; i < signature->n_outputs; i++) {
        text_add(text, i ? STR(", ") : STR(" -> "));
        print_arg(text, signature, &signature->outputs[i]);
    }
    for (int i = 0; i < signature->n_attrs; i++) {
        text_add(text, STR("; "));
        print_attr(text, &signature->attrs[i]);
    }
    print_flags(text, signature);
}

// ---------------------------------------- values

static bool type_allowed(const AttrValue *allowed, DType type) {
    for (int i = 0; i < allowed->n; i++)
        if (allowed->types[i] == type)
            return true;
    return false;
}

static bool string_allowed(const AttrValue *allowed, Str s) {
    for (int i = 0; i < allowed->n; i++)
        if (str_equal(allowed->ss[i], s))
            return true;
    return false;
}

static Status *not_allowed(const AttrSpec *spec, const AttrValue *value) {
    AUTO(text) Text given = {0}, list = {0};
    attr_print(&given, value);
    attr_print(&list, &spec->allowed);
    FAIL(INVALID_ARGUMENT, "Value for attr '%.*s' of %.*s is not in the list of allowed values: %.*s",
         STR_ARGS(spec->name), STR_ARGS(text_str(&given)), STR_ARGS(text_str(&list)));
}

static Status *check_allowed(const AttrSpec *spec, const AttrValue *value) {
    if (spec->kind == ATTR_TYPE && !spec->is_list)
        return type_allowed(&spec->allowed, value->type) ? OK : not_allowed(spec, value);
    if (spec->kind == ATTR_STRING && !spec->is_list)
        return string_allowed(&spec->allowed, value->s) ? OK : not_allowed(spec, value);
    for (int i = 0; i < value->n; i++)
        if (spec->kind == ATTR_TYPE ? !type_allowed(&spec->allowed, value->types[i])
                                    : !string_allowed(&spec->allowed, value->ss[i]))
            return not_allowed(spec, value);
    return OK;
}

Status *signature_check_value(const AttrSpec *spec, const AttrValue *value) {
    bool empty = spec->is_list && value->is_list && value->n == 0;
    NEED((value->kind == spec->kind && value->is_list == spec->is_list) || empty, INVALID_ARGUMENT,
         "Value for attr '%.*s' is of kind %s, expected %s", STR_ARGS(spec->name),
         attr_kind_name(value->kind, value->is_list), attr_kind_name(spec->kind, spec->is_list));
    if (spec->has_minimum && spec->is_list)
        NEED(value->n >= spec->minimum, INVALID_ARGUMENT, "Length for attr '%.*s' of %d must be at least minimum %lld",
             STR_ARGS(spec->name), value->n, (long long)spec->minimum);
    else if (spec->has_minimum)
        NEED(value->i >= spec->minimum, INVALID_ARGUMENT, "Value for attr '%.*s' of %lld must be at least minimum %lld",
             STR_ARGS(spec->name), (long long)value->i, (long long)spec->minimum);
    bool chosen = spec->kind == ATTR_TYPE || spec->kind == ATTR_STRING;
    return chosen && spec->allowed.n && !empty ? check_allowed(spec, value) : OK;
}
