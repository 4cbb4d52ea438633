// Signature — see signature.h: the parser. Printing and checks of values are in signature_print.c.
//
// Arguments come before the attributes that they name, so their words are kept and resolved when all attributes are
// known.
#include "graph/signature.h"

#include "base/map.h"
#include "graph/notation.h"

// The words of an argument, until the attributes that they name are known.
typedef struct {
    Str type, number;
    bool is_attr;          // the type was in quotes
    const char *at;
} ArgWords;

typedef struct {
    Scan scan;
    VEC(ArgSpec) args;     // inputs, then outputs
    VEC(ArgWords) words;
    VEC(AttrSpec) attrs;
    VEC(Str) controls;
    Map names;             // attributes: index + 1; arguments: NOT_AN_ATTR. Empty where the names are few
    Signature result;
} Parser;

#define NOT_AN_ATTR ((void *)(intptr_t)-1)
#define PUSH(v, ...) NEED_MEMORY(vec_push((v), __VA_ARGS__))
enum { FEW = 16 };

static void parser_clear(Parser *p) {
    scan_clear(&p->scan);
    vec_clear(&p->args);
    vec_clear(&p->words);
    vec_clear(&p->attrs);
    vec_clear(&p->controls);
    map_clear(&p->names);
}

// ---------------------------------------- arguments

static Status *parse_arg(Parser *p) {
    Scan *scan = &p->scan;
    ArgSpec arg = {.type_attr = -1, .number_attr = -1, .list_attr = -1};
    ArgWords words = {0};
    TRY(scan_name(scan, &arg.name));
    SCAN_NEED(scan_char(scan, ':'), scan, "expected : behind the name of an argument");
    const char *before = scan->at;
    Str word;
    if (scan_word(scan, &word) && str_equal(word, STR("ref"))) {
        char next = scan_peek(scan);
        arg.is_ref = next == '"' || is_name_char(next);  // else it is an attribute of that name
    }
    if (!arg.is_ref)
        scan->at = before;
    words.is_attr = scan_peek(scan) == '"';
    words.at = scan->at;
    TRY(scan_name(scan, &words.type));
    if (scan_char(scan, '*')) {
        words.number = words.type;
        words.is_attr = scan_peek(scan) == '"';
        TRY(scan_name(scan, &words.type));
    }
    PUSH(&p->args, arg);
    PUSH(&p->words, words);
    return OK;
}

static Status *parse_inputs(Parser *p) {
    SCAN_NEED(scan_char(&p->scan, '('), &p->scan, "expected ( behind the name of an op");
    while (!scan_char(&p->scan, ')')) {
        SCAN_NEED(p->args.n == 0 || scan_char(&p->scan, ','), &p->scan, "expected , or ) in the inputs");
        TRY(parse_arg(p));
    }
    return OK;
}

static Status *parse_outputs(Parser *p) {
    if (!scan_text(&p->scan, "->"))
        return OK;
    do
        TRY(parse_arg(p));
    while (scan_char(&p->scan, ','));
    return OK;
}

// ---------------------------------------- attributes

static AttrKind kind_of(Str word) {
    for (int kind = ATTR_STRING; kind <= ATTR_FUNC; kind++)
        if (kind != ATTR_PLACEHOLDER && str_is(word, attr_kind_name((AttrKind)kind, false)))
            return (AttrKind)kind;
    return ATTR_NONE;
}

static Status *parse_allowed(Parser *p, AttrSpec *attr) {
    Scan *scan = &p->scan;
    bool braces = scan_char(scan, '{');
    attr->kind = braces && scan_peek(scan) == '"' ? ATTR_STRING : ATTR_TYPE;
    TRY(attr->kind == ATTR_STRING ? scan_list(scan, ATTR_STRING, '}', &attr->allowed)
                                  : scan_types(scan, braces, &attr->allowed));
    SCAN_NEED(attr->allowed.n > 0, scan, "expected at least one allowed value");
    SCAN_NEED(attr->allowed.n <= 1000, scan, "more than 1000 allowed values");
    return OK;
}

static Status *parse_plain_kind(Parser *p, AttrSpec *attr) {
    Scan *scan = &p->scan;
    if (scan_peek(scan) == '{' || scan_at_set(scan))
        return parse_allowed(p, attr);
    Scan before = *scan;
    Str word;
    if (scan_word(scan, &word))
        attr->kind = kind_of(word);
    if (attr->kind == ATTR_NONE)
        SCAN_FAIL(&before, "expected the kind of an attribute");
    return OK;
}

static Status *parse_kind(Parser *p, AttrSpec *attr) {
    Scan *scan = &p->scan;
    const char *before = scan->at;
    Str word;
    if (!scan_word(scan, &word) || !str_equal(word, STR("list"))) {
        scan->at = before;
        return parse_plain_kind(p, attr);
    }
    attr->is_list = true;
    SCAN_NEED(scan_char(scan, '('), scan, "expected ( behind list");
    TRY(parse_plain_kind(p, attr));
    SCAN_NEED(scan_char(scan, ')'), scan, "expected ) behind the kind of a list");
    return OK;
}

static Status *parse_attr(Parser *p, Str name) {
    Scan *scan = &p->scan;
    AttrSpec attr = {.name = name};
    TRY(parse_kind(p, &attr));
    if (scan_text(scan, ">=")) {
        SCAN_NEED(attr.is_list || attr.kind == ATTR_INT, scan, "only an int and a list have a minimum");
        attr.has_minimum = true;
        TRY(scan_int(scan, &attr.minimum));
    }
    if (scan_char(scan, '=')) {
        scan_peek(scan);
        size_t column = (size_t)(scan->at - scan->start) + 1;
        attr.has_default = true;
        TRY(scan_value(scan, attr.kind, attr.is_list, &attr.fallback));
        TRY(status_prefix(signature_check_value(&attr, &attr.fallback), "column %zu", column));
    }
    PUSH(&p->attrs, attr);
    return OK;
}

// ---------------------------------------- flags

static Status *parse_deprecated(Parser *p) {
    Scan *scan = &p->scan;
    int64_t version;
    SCAN_NEED(scan_char(scan, '('), scan, "expected ( behind deprecated");
    TRY(scan_int(scan, &version));
    SCAN_NEED(version > 0 && version <= INT32_MAX, scan, "expected a version > 0");
    SCAN_NEED(scan_char(scan, ','), scan, "expected , behind the version");
    TRY(scan_quoted(scan, &p->result.deprecated_text));
    SCAN_NEED(scan_char(scan, ')'), scan, "expected ) behind the text");
    p->result.deprecated_version = (int)version;
    return OK;
}

static bool *flag_of(Signature *signature, Str word) {
    return str_is(word, "stateful")               ? &signature->stateful
           : str_is(word, "commutative")          ? &signature->commutative
           : str_is(word, "aggregate")            ? &signature->aggregate
           : str_is(word, "allows_uninitialized") ? &signature->allows_uninitialized
           : str_is(word, "distributed")          ? &signature->distributed
                                                  : NULL;
}

static Status *parse_flag(Parser *p, Str word) {
    bool *flag = flag_of(&p->result, word);
    if (flag) {
        *flag = true;
    } else if (str_is(word, "deprecated")) {
        TRY(parse_deprecated(p));
    } else if (str_is(word, "control_output")) {
        Str name;
        TRY(scan_name(&p->scan, &name));
        PUSH(&p->controls, name);
    } else {
        p->scan.at = word.p;
        SCAN_FAIL(&p->scan, "expected an attribute with its kind, or a flag");
    }
    return OK;
}

static Status *parse_rest(Parser *p) {
    Scan *scan = &p->scan;
    bool flags = false;
    while (scan_char(scan, ';')) {
        Scan before = *scan;
        Str name;
        TRY(scan_name(scan, &name));
        if (scan_char(scan, ':')) {
            if (flags)
                SCAN_FAIL(&before, "expected no attribute behind the flags");
            TRY(parse_attr(p, name));
        } else {
            if (scan_peek(&before) == '"')
                SCAN_FAIL(scan, "expected : behind the name of an attribute");
            flags = true;
            TRY(parse_flag(p, name));
        }
    }
    SCAN_NEED(scan_peek(scan) == 0 && scan->at == scan->end, scan, "expected ; or the end");
    return OK;
}

// ---------------------------------------- names

static Status *duplicate(Parser *p, Str name) {
    if (name.p >= p->scan.start && name.p < p->scan.end)
        p->scan.at = name.p;
    SCAN_FAIL(&p->scan, "the name %.*s stands twice", (int)(name.n < 100 ? name.n : 100), name.p);
}

static Str name_at(const Parser *p, size_t i) {
    return i < p->attrs.n ? p->attrs.p[i].name : p->args.p[i - p->attrs.n].name;
}

static Status *check_names(Parser *p) {
    size_t n = p->attrs.n + p->args.n;
    SCAN_NEED(p->attrs.n <= INT16_MAX && p->args.n <= INT16_MAX && p->controls.n <= INT16_MAX, &p->scan,
              "more than %d names", INT16_MAX);
    for (size_t i = 0; i < n; i++) {
        Str name = name_at(p, i);
        if (n > FEW) {
            if (map_find(&p->names, name))
                return duplicate(p, name);
            void *value = i < p->attrs.n ? (void *)(i + 1) : NOT_AN_ATTR;
            NEED_MEMORY(map_set(&p->names, name, value));
            continue;
        }
        for (size_t k = 0; k < i; k++)
            if (str_equal(name, name_at(p, k)))
                return duplicate(p, name);
    }
    return OK;
}

static int find_attr(const Parser *p, Str name) {
    if (p->names.n) {
        void *value = map_find(&p->names, name);
        return value && value != NOT_AN_ATTR ? (int)(intptr_t)value - 1 : -1;
    }
    for (size_t i = 0; i < p->attrs.n; i++)
        if (str_equal(p->attrs.p[i].name, name))
            return (int)i;
    return -1;
}

static Status *resolve_arg(Parser *p, ArgSpec *arg, const ArgWords *words) {
    Scan *scan = &p->scan;
    scan->at = words->at;
    if (words->number.n) {
        int number = find_attr(p, words->number);
        SCAN_NEED(number >= 0 && p->attrs.p[number].kind == ATTR_INT && !p->attrs.p[number].is_list, scan,
                  "expected an attribute of kind int before *");
        arg->number_attr = (int16_t)number;
    }
    DType dtype = words->is_attr ? DT_INVALID : dtype_find(words->type);
    if (dtype != DT_INVALID && !dtype_is_ref(dtype)) {
        arg->dtype = dtype;
        return OK;
    }
    int type = find_attr(p, words->type);
    SCAN_NEED(type >= 0 && p->attrs.p[type].kind == ATTR_TYPE, scan, "expected a type or an attribute of kind type");
    if (!p->attrs.p[type].is_list) {
        arg->type_attr = (int16_t)type;
        return OK;
    }
    SCAN_NEED(arg->number_attr < 0, scan, "expected an attribute of kind type behind *");
    arg->list_attr = (int16_t)type;
    return OK;
}

// ---------------------------------------- the whole

// Copies a vector into the arena, exactly as long as it is.
#define KEEP(out, v)                                                                      \
    do {                                                                                  \
        NEED_MEMORY((out) = arena_array(p->scan.arena, (v)->n, sizeof *(v)->p));           \
        if ((v)->n)                                                                       \
            memcpy((out), (v)->p, (v)->n * sizeof *(v)->p);                               \
    } while (0)

static Status *parse_op_name(Parser *p) {
    Scan *scan = &p->scan;
    if (scan_peek(scan) == '"')
        return scan_name(scan, &p->result.name);
    const char *first = scan->at;
    while (scan->at < scan->end && (is_name_char(*scan->at) || *scan->at == '>'))
        scan->at++;
    SCAN_NEED(scan->at > first, scan, "expected the name of an op");
    p->result.name = (Str){first, (size_t)(scan->at - first)};
    return OK;
}

static Status *parse_all(Parser *p) {
    TRY(parse_op_name(p));
    TRY(parse_inputs(p));
    size_t n_inputs = p->args.n;
    TRY(parse_outputs(p));
    TRY(parse_rest(p));
    TRY(check_names(p));
    for (size_t i = 0; i < p->args.n; i++)
        TRY(resolve_arg(p, &p->args.p[i], &p->words.p[i]));
    Signature *result = &p->result;
    KEEP(result->inputs, &p->args);
    KEEP(result->attrs, &p->attrs);
    KEEP(result->control_outputs, &p->controls);
    result->outputs = result->inputs + n_inputs;
    result->n_inputs = (int16_t)n_inputs;
    result->n_outputs = (int16_t)(p->args.n - n_inputs);
    result->n_attrs = (int16_t)p->attrs.n;
    result->n_control_outputs = (int16_t)p->controls.n;
    return OK;
}

Status *signature_parse(Str text, Arena *arena, TensorList *tensors, Signature *out) {
    Parser parser = {.scan = SCAN_OF(text)};
    parser.scan.arena = arena;
    parser.scan.tensors = tensors;
    size_t before = tensors->n;
    Status *status = parse_all(&parser);
    if (status) {
        tensor_list_cut(tensors, before);
        Str name = parser.result.name;
        status = status_prefix(status, "signature%s%.*s", name.n ? " of " : "", (int)(name.n < 100 ? name.n : 100),
                               name.n ? name.p : "");
    } else {
        *out = parser.result;
    }
    parser_clear(&parser);
    return status;
}

int signature_attr(const Signature *signature, Str name) {
    for (int i = 0; i < signature->n_attrs; i++)
        if (str_equal(signature->attrs[i].name, name))
            return i;
    return -1;
}
