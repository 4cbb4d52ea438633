// Resolving — from the types of a node's inputs and some attributes to all attributes and the types of its outputs.
//
// TensorFlow's rules and messages (NodeDefBuilder and node_def_util): inputs tell types and lengths, defaults fill the
// rest, then limits are checked.
#include "graph/build.h"

enum { MAX_OUTPUTS = 1 << 20 };  // of one node; N comes from outside

typedef struct {
    const Signature *signature;
    const DType *in;
    int n_in;
    Arena *arena;
    AttrEntry *attrs;        // of the signature, then extra ones
    int32_t n_attrs;
} Resolver;

static bool is_set(const AttrValue *value) {
    return value->kind != ATTR_NONE || value->is_list;
}

#define ATTR_NAME(r, at) STR_ARGS((r)->signature->attrs[at].name)

// ---------------------------------------- what was given

static Status *take_given(Resolver *r, const AttrEntry *given, int32_t n) {
    const Signature *signature = r->signature;
    r->attrs = ARENA_ARRAY(r->arena, AttrEntry, signature->n_attrs + n);
    NEED_MEMORY(r->attrs);
    r->n_attrs = signature->n_attrs;
    for (int i = 0; i < signature->n_attrs; i++)
        r->attrs[i].name = signature->attrs[i].name;
    for (int i = 0; i < n; i++) {
        int at = signature_attr(signature, given[i].name);
        if (at < 0) {
            r->attrs[r->n_attrs++] = given[i];
            continue;
        }
        const AttrSpec *spec = &signature->attrs[at];
        AttrValue value = given[i].value;
        if (value.is_list && value.n == 0)
            value.kind = spec->kind;
        NEED(value.kind == spec->kind && value.is_list == spec->is_list, INVALID_ARGUMENT,
             "AttrValue had value with type '%s' when '%s' expected for attr '%.*s'",
             attr_kind_name(given[i].value.kind, given[i].value.is_list), attr_kind_name(spec->kind, spec->is_list),
             STR_ARGS(spec->name));
        r->attrs[at].value = value;
    }
    return OK;
}

// ---------------------------------------- how many inputs each argument has

// The attribute that decides an argument's length, or -1.
static int length_attr(const ArgSpec *arg) {
    return arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;
}

static Status *arg_length(const Resolver *r, const ArgSpec *arg, int64_t *out) {
    int at = length_attr(arg);
    *out = at < 0 ? 1 : arg->number_attr >= 0 ? r->attrs[at].value.i : r->attrs[at].value.n;
    NEED(*out >= 0 && *out <= INT32_MAX, INVALID_ARGUMENT, "attr '%.*s' is %lld, not a length", ATTR_NAME(r, at),
         (long long)*out);
    return OK;
}

// Where one length alone is open, the number of inputs tells it.
static Status *infer_length(Resolver *r) {
    const Signature *signature = r->signature;
    int open = -1;
    int64_t fixed = 0, times = 0;
    for (int i = 0; i < signature->n_inputs; i++) {
        const ArgSpec *arg = &signature->inputs[i];
        int at = length_attr(arg);
        if (at >= 0 && !is_set(&r->attrs[at].value)) {
            NEED(open < 0 || open == at, INVALID_ARGUMENT, "NodeDef missing attr '%.*s'", ATTR_NAME(r, at));
            open = at;
            times++;
        } else {
            int64_t n;
            TRY(arg_length(r, arg, &n));
            fixed += n;
        }
    }
    if (open < 0 || fixed > r->n_in || (r->n_in - fixed) % times != 0)
        return OK;  // counting the inputs will fail
    int64_t n = (r->n_in - fixed) / times;
    AttrValue *value = &r->attrs[open].value;
    *value = ATTR_OF_INT(n);
    if (signature->attrs[open].is_list) {
        *value = (AttrValue){.kind = ATTR_TYPE, .is_list = true, .n = (int32_t)n};
        value->types = ARENA_ARRAY(r->arena, DType, n);  // DT_INVALID: open
        NEED_MEMORY(value->types);
    }
    return OK;
}

// ---------------------------------------- types of inputs

// Input `at` of that type feeds an argument of type *wanted, which it decides where that is open.
static Status *match_type(const ArgSpec *arg, int at, DType given, DType *wanted) {
    if (given == DT_INVALID)
        return OK;
    NEED(!arg->is_ref || dtype_is_ref(given), INVALID_ARGUMENT, "Input %d ('%.*s') passed %s expected ref type", at,
         STR_ARGS(arg->name), dtype_name(given));
    if (*wanted == DT_INVALID)
        *wanted = dtype_base(given);
    NEED(dtype_base(given) == dtype_base(*wanted), INVALID_ARGUMENT, "Input %d ('%.*s') passed %s expected %s", at,
         STR_ARGS(arg->name), dtype_name(given), dtype_name(*wanted));
    return OK;
}

static Status *match_arg(Resolver *r, const ArgSpec *arg, int first, int64_t n) {
    DType fixed = arg->dtype;
    AttrValue *value = arg->list_attr >= 0   ? &r->attrs[arg->list_attr].value
                       : arg->type_attr >= 0 ? &r->attrs[arg->type_attr].value
                                             : NULL;
    for (int i = 0; i < n; i++) {
        DType *wanted = arg->list_attr >= 0 ? &value->types[i] : value ? &value->type : &fixed;
        TRY(match_type(arg, first + i, r->in[first + i], wanted));
        if (value && !value->is_list && value->type != DT_INVALID)
            value->kind = ATTR_TYPE;
    }
    return OK;
}

// Lists of types that were given are the client's: matching may not write into them, and needs not, being complete.
static Status *match_inputs(Resolver *r) {
    const Signature *signature = r->signature;
    int64_t total = 0, n;
    for (int i = 0; i < signature->n_inputs; i++) {
        int at = length_attr(&signature->inputs[i]);
        NEED(at < 0 || is_set(&r->attrs[at].value), INVALID_ARGUMENT, "NodeDef missing attr '%.*s'", ATTR_NAME(r, at));
        TRY(arg_length(r, &signature->inputs[i], &n));
        total += n;
    }
    NEED(total == r->n_in, INVALID_ARGUMENT, "expected %lld inputs, got %d", (long long)total, r->n_in);
    int first = 0;
    for (int i = 0; i < signature->n_inputs; i++) {
        TRY(arg_length(r, &signature->inputs[i], &n));
        TRY(match_arg(r, &signature->inputs[i], first, n));
        first += (int)n;
    }
    return OK;
}

// ---------------------------------------- defaults and limits

static Status *fill_defaults(Resolver *r) {
    const Signature *signature = r->signature;
    for (int i = 0; i < signature->n_attrs; i++) {
        const AttrSpec *spec = &signature->attrs[i];
        if (is_set(&r->attrs[i].value))
            continue;
        NEED(spec->has_default, INVALID_ARGUMENT, "NodeDef missing attr '%.*s' from Op<name=%.*s>",
             STR_ARGS(spec->name), STR_ARGS(signature->name));
        r->attrs[i].value = spec->fallback;
    }
    return OK;
}

static bool is_allowed(const AttrValue *allowed, DType type, Str s) {
    for (int i = 0; i < allowed->n; i++)
        if (allowed->kind == ATTR_TYPE ? allowed->types[i] == type : str_equal(allowed->ss[i], s))
            return true;
    return false;
}

static Status *check_allowed(const AttrSpec *spec, const AttrValue *value) {
    int n = value->is_list ? value->n : 1;
    for (int i = 0; i < n; i++) {
        bool types = spec->allowed.kind == ATTR_TYPE;
        DType type = !types ? DT_INVALID : value->is_list ? value->types[i] : value->type;
        Str s = types ? str_of(dtype_name(type)) : value->is_list ? value->ss[i] : value->s;
        if (is_allowed(&spec->allowed, type, s))
            continue;
        AUTO(text) Text list = {0};
        for (int j = 0; j < spec->allowed.n; j++) {
            text_add(&list, j ? STR(", ") : STR(""));
            text_add(&list, types ? str_of(dtype_name(spec->allowed.types[j])) : spec->allowed.ss[j]);
        }
        FAIL(INVALID_ARGUMENT, "Value for attr '%.*s' of %.*s is not in the list of allowed values: %.*s",
             STR_ARGS(spec->name), STR_ARGS(s), STR_ARGS(text_str(&list)));
    }
    return OK;
}

static Status *check_limits(const Resolver *r) {
    for (int i = 0; i < r->signature->n_attrs; i++) {
        const AttrSpec *spec = &r->signature->attrs[i];
        const AttrValue *value = &r->attrs[i].value;
        if (spec->allowed.n)
            TRY(check_allowed(spec, value));
        if (!spec->has_minimum)
            continue;
        NEED(!spec->is_list || value->n >= spec->minimum, INVALID_ARGUMENT,
             "Length for attr '%.*s' of %d must be at least minimum %lld", STR_ARGS(spec->name), value->n,
             (long long)spec->minimum);
        NEED(spec->is_list || spec->kind != ATTR_INT || value->i >= spec->minimum, INVALID_ARGUMENT,
             "Value for attr '%.*s' of %lld must be at least minimum %lld", STR_ARGS(spec->name),
             (long long)value->i, (long long)spec->minimum);
    }
    return OK;
}

// ---------------------------------------- outputs

static Status *output_types(const Resolver *r, DType **out_types, int32_t *out_n) {
    const Signature *signature = r->signature;
    int64_t total = 0, n;
    for (int i = 0; i < signature->n_outputs; i++) {
        TRY(arg_length(r, &signature->outputs[i], &n));
        total += n;
    }
    NEED(total <= MAX_OUTPUTS, INVALID_ARGUMENT, "%lld outputs are too many", (long long)total);
    DType *types = ARENA_ARRAY(r->arena, DType, total), *type = types;
    NEED_MEMORY(types);
    for (int i = 0; i < signature->n_outputs; i++) {
        const ArgSpec *arg = &signature->outputs[i];
        TRY(arg_length(r, arg, &n));
        for (int j = 0; j < n; j++, type++) {
            *type = arg->list_attr >= 0   ? r->attrs[arg->list_attr].value.types[j]
                    : arg->type_attr >= 0 ? r->attrs[arg->type_attr].value.type
                                          : arg->dtype;
            NEED(dtype_is_valid(*type) && !(arg->is_ref && dtype_is_ref(*type)), INVALID_ARGUMENT,
                 "output '%.*s' has no valid type", STR_ARGS(arg->name));
            if (arg->is_ref)
                *type = (DType)((int)*type + DT_REF);
        }
    }
    *out_types = types;
    *out_n = (int32_t)total;
    return OK;
}

Status *signature_resolve(const Signature *signature, const DType *input_types, int n_inputs, Arena *arena,
                          AttrEntry **attrs, int32_t *n_attrs, DType **out_types, int32_t *out_n) {
    Resolver r = {signature, input_types, n_inputs, arena, NULL, 0};
    TRY(take_given(&r, *attrs, *n_attrs));
    TRY(infer_length(&r));
    TRY(match_inputs(&r));
    TRY(fill_defaults(&r));
    TRY(check_limits(&r));
    TRY(output_types(&r, out_types, out_n));
    *attrs = r.attrs;
    *n_attrs = r.n_attrs;
    return OK;
}
