// Expression — see expression.h. This file parses; expression_build.c builds.
//
// A recursive-descent parser; calls are nested at most MOST_NESTED deep, as text comes from command lines and files and
// the stack is finite.
#include "formula/expression.h"

#include "tensor/literal.h"

enum { MOST_NESTED = 64, MOST_ITEMS = 1024 };

typedef struct {
    Str text;
    size_t at;
    Arena *arena;
    bool shapes;
    int depth;
} Reader;

#define NEED_AT(r, condition, ...) NEED(condition, INVALID_ARGUMENT, "column %zu: " __VA_ARGS__)

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
}

static char peek(Reader *r) {
    while (r->at < r->text.n && is_space(r->text.p[r->at]))
        r->at++;
    return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static bool take(Reader *r, char c) {
    bool is = peek(r) == c;
    r->at += is;
    return is;
}

static Str word_at(Reader *r) {
    peek(r);
    size_t end = r->at;
    if (end < r->text.n && is_letter(r->text.p[end]))
        while (end < r->text.n && is_word(r->text.p[end]))
            end++;
    return (Str){r->text.p + r->at, end - r->at};
}

static Str rest(const Reader *r) {
    return (Str){r->text.p + r->at, r->text.n - r->at};
}

Str expression_trim(Str text) {
    while (text.n && (is_space(text.p[0]) || text.p[0] == '\r' || text.p[0] == '\n'))
        text.p++, text.n--;
    while (text.n && (is_space(text.p[text.n - 1]) || text.p[text.n - 1] == '\r' || text.p[text.n - 1] == '\n'))
        text.n--;
    return text;
}

size_t expression_item(Str text, const char *ends) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"' || i >= text.n;
            continue;
        }
        if (depth == 0 && strchr(ends, c))
            return i;
        quoted = c == '"';
        depth += c == '(' || c == '[' || c == '{';
        depth -= c == ')' || c == ']' || c == '}';
    }
    return text.n;
}

// ---------------------------------------- terms

static Status *read_call(Reader *r, Expression **out);

// A type's name in front of something else.
static DType read_type(Reader *r) {
    Str word = word_at(r);
    DType dtype = word.n ? dtype_find(word) : DT_INVALID;
    if (dtype != DT_INVALID)
        r->at += word.n;
    return dtype;
}

static Status *read_shape(Reader *r, Shape *out) {
    if (take(r, '?')) {
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    NEED_AT(r, take(r, '['), "expected a shape", r->at + 1);
    int64_t dims[MAX_RANK];
    int rank = 0;
    while (!take(r, ']')) {
        NEED_AT(r, rank < MAX_RANK, "a shape has at most %d dimensions", r->at + 1, MAX_RANK);
        peek(r);
        size_t first = r->at;
        while (r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9')
            r->at++;
        if (r->at == first) {
            NEED_AT(r, take(r, '?'), "expected a dimension or ]", r->at + 1);
            dims[rank++] = UNKNOWN_DIM;
        } else {
            Str number = {r->text.p + first, r->at - first};
            NEED_AT(r, str_to_int(number, &dims[rank++]), "no such dimension", first + 1);
        }
        take(r, ',');
    }
    return shape_make(dims, rank, out);
}

static Status *read_literal(Reader *r, Term *out) {
    peek(r);
    size_t first = r->at, used;
    AUTO(tensor) Tensor value = {0};
    Status *status = literal_parse(rest(r), DT_INVALID, &value, &used);
    if (status)
        return status_prefix(status, "in the literal at column %zu", first + 1);
    out->kind = TERM_LITERAL;
    out->dtype = read_type(r);
    r->at = first + used;
    out->text = (Str){r->text.p + first, used};
    return OK;
}

static bool is_shape(Reader *r, bool host) {
    Str item = rest(r);
    item.n = expression_item(item, ",;)}");
    return !host || memchr(item.p, '?', item.n);
}

static Status *read_term(Reader *r, bool host, Term *out);

static Status *read_list(Reader *r, bool host, Term *out) {
    VEC(Term) items = {0};
    Status *status = OK;
    while (!status && !take(r, '}')) {
        Term item = {0};
        if (items.n && !take(r, ','))
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "column %zu: expected , or } in a list",
                                r->at + 1);
        else if (items.n >= MOST_ITEMS)
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "a list has at most %d items", MOST_ITEMS);
        else
            status = read_term(r, host, &item);
        if (!status && !vec_push(&items, item))
            status = OUT_OF_MEMORY;
    }
    out->kind = TERM_LIST;
    out->n = (int)items.n;
    out->items = status ? NULL : ARENA_ARRAY(r->arena, Term, items.n);
    if (out->items && items.n)
        memcpy(out->items, items.p, items.n * sizeof *items.p);
    vec_clear(&items);
    TRY(status);
    NEED_MEMORY(out->items);
    return OK;
}

static Status *read_output(Reader *r, Term *out) {
    if (r->at >= r->text.n || r->text.p[r->at] != '.')
        return OK;
    size_t first = ++r->at;
    while (r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9')
        r->at++;
    int64_t output;
    NEED_AT(r, str_to_int((Str){r->text.p + first, r->at - first}, &output) && output < 1 << 16,
            "expected the number of an output", first + 1);
    out->output = (int)output;
    return OK;
}

static Status *read_term(Reader *r, bool host, Term *out) {
    if (take(r, '{'))
        return read_list(r, host, out);
    Str word = word_at(r);
    if (word.n && r->at + word.n < r->text.n && r->text.p[r->at + word.n] == '(') {
        bool shapes = r->shapes;
        r->shapes = false;
        out->kind = TERM_CALL;
        TRY(read_call(r, &out->call));
        r->shapes = shapes;
        return read_output(r, out);
    }
    bool value = r->shapes && str_equal(word, STR("value"));
    if (value)
        r->at += word.n;
    if (!r->shapes || value || !is_shape(r, host))
        return read_literal(r, out);
    out->kind = TERM_SHAPE;
    out->dtype = read_type(r);
    return read_shape(r, &out->shape);
}

// ---------------------------------------- calls

static Status *read_attr(Reader *r, AttrText *out) {
    out->name = word_at(r);
    r->at += out->name.n;
    NEED_AT(r, out->name.n && take(r, '='), "expected attribute=value", r->at + 1);
    size_t length = expression_item(rest(r), ",)");
    out->text = expression_trim((Str){r->text.p + r->at, length});
    r->at += length;
    return OK;
}

static Status *read_inside(Reader *r, Expression *e) {
    VEC(Term) args = {0};
    VEC(AttrText) attrs = {0};
    Status *status = OK;
    bool any = false;
    while (!status && peek(r) != ')' && peek(r) != ';' && args.n < MOST_ITEMS) {
        Term term = {0};
        bool host = e->type->op && args.n < MAX_ARGS && e->type->op->host & BIT(args.n);
        if (any && !take(r, ','))
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "column %zu: expected , ; or )", r->at + 1);
        else
            status = read_term(r, host, &term);
        any = true;
        if (!status && !vec_push(&args, term))
            status = OUT_OF_MEMORY;
    }
    any = !status && take(r, ';');
    while (any && !status && peek(r) != ')') {
        AttrText attr = {0};
        if (attrs.n && !take(r, ','))
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "column %zu: expected , or )", r->at + 1);
        else
            status = read_attr(r, &attr);
        if (!status && !vec_push(&attrs, attr))
            status = OUT_OF_MEMORY;
    }
    e->args = ARENA_ARRAY(r->arena, Term, args.n);
    e->attrs = ARENA_ARRAY(r->arena, AttrText, attrs.n);
    if (!status && (!e->args || !e->attrs))
        status = OUT_OF_MEMORY;
    if (!status) {
        memcpy(e->args, args.n ? args.p : e->args, args.n * sizeof(Term));
        memcpy(e->attrs, attrs.n ? attrs.p : e->attrs, attrs.n * sizeof(AttrText));
        e->n_args = (int)args.n;
        e->n_attrs = (int)attrs.n;
    }
    vec_clear(&args);
    vec_clear(&attrs);
    return status;
}

static Status *read_call(Reader *r, Expression **out) {
    Str name = word_at(r);
    NEED_AT(r, name.n, "expected the name of an operation", r->at + 1);
    NEED(r->depth < MOST_NESTED, INVALID_ARGUMENT, "calls are nested at most %d deep", MOST_NESTED);
    Expression *e = ARENA_NEW(r->arena, Expression);
    NEED_MEMORY(e);
    TRY(op_type_find(name, &e->type));
    r->at += name.n;
    NEED_AT(r, take(r, '('), "expected ( after %.*s", r->at + 1, STR_ARGS(name));
    r->depth++;
    TRY(read_inside(r, e));
    r->depth--;
    NEED_AT(r, take(r, ')'), "expected ) at the end of %.*s", r->at + 1, STR_ARGS(name));
    *out = e;
    return OK;
}

Status *expression_parse(Str text, bool shapes, Arena *arena, Expression **out, size_t *consumed) {
    Reader r = {.text = text, .arena = arena, .shapes = shapes};
    TRY(read_call(&r, out));
    *consumed = r.at;
    return OK;
}
