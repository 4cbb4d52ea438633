// Text form, read — see text.h. One recursive function over messages; text_lex.c has the words.
//
// It takes what TensorFlow's own parser takes: < > and { } as brackets, [a, b] for lists, several spellings of true.
#include "proto/message_internal.h"
#include "proto/text.h"
#include "proto/text_lex_internal.h"

// ---------------------------------------------------------------------------------------------- values

static Status *take_bool(Lexer *r, bool *out) {
    size_t start = r->at;
    Str word = lex_name(r);
    if (str_is(word, "true") || str_is(word, "True") || str_is(word, "t") || str_is(word, "1"))
        *out = true;
    else if (str_is(word, "false") || str_is(word, "False") || str_is(word, "f") || str_is(word, "0"))
        *out = false;
    else
        return lex_wrong(r, start, "expected true or false");
    return OK;
}

static Status *take_enum(Lexer *r, const EnumType *type, int32_t *out) {
    size_t start = r->at;
    if (lex_is_digit(lex_peek(r, 0)) || lex_peek(r, 0) == '-') {
        uint64_t number;
        TRY(lex_integer(r, INT32_MIN, INT32_MAX, &number));
        *out = (int32_t)(uint32_t)number;
        return OK;
    }
    Str word = lex_name(r);
    if (!enum_find(type, word, out))
        return lex_wrong(r, start, "%s has no value \"%.*s\"", type->name, STR_ARGS(word));
    return OK;
}

static Status *take_scalar(Lexer *r, const Field *field, void *at) {
    uint64_t bits = 0;
    double number;
    float single;
    switch ((ProtoKind)field->kind) {
    case PROTO_bool:
        return take_bool(r, at);
    case PROTO_enum:
        return take_enum(r, field->enumeration, at);
    case PROTO_string:
    case PROTO_bytes:
        return lex_string(r, at);
    case PROTO_float:
        TRY(lex_float(r, true, &number));
        single = (float)number;
        memcpy(&bits, &single, sizeof single);
        break;
    case PROTO_double:
        TRY(lex_float(r, false, &number));
        memcpy(&bits, &number, sizeof number);
        break;
    case PROTO_int32:
        TRY(lex_integer(r, INT32_MIN, INT32_MAX, &bits));
        break;
    case PROTO_uint32:
    case PROTO_fixed32:
        TRY(lex_integer(r, 0, UINT32_MAX, &bits));
        break;
    case PROTO_int64:
        TRY(lex_integer(r, INT64_MIN, INT64_MAX, &bits));
        break;
    default:
        TRY(lex_integer(r, 0, UINT64_MAX, &bits));
        break;
    }
    memcpy(at, &bits, proto_kinds[field->kind].size);
    return OK;
}

// ---------------------------------------------------------------------------------------------- messages

// One more element at the end of a list, zeroed. A list that this file makes has room for 4, 8, 16 ... elements.
static Status *add_element(Lexer *r, const Field *field, char *message, void **out) {
    List list = list_at(message + field->offset);
    size_t size = field_size(field), n = list.n;
    if (n == 0 || (n >= 4 && (n & (n - 1)) == 0)) {
        void *p = arena_array(r->arena, n ? 2 * n : 4, size);
        NEED(p, RESOURCE_EXHAUSTED, "the message takes too much memory");
        if (n)
            memcpy(p, list.p, n * size);
        list.p = p;
    }
    *out = (char *)list.p + n * size;
    list.n = n + 1;
    list_put(message + field->offset, list);
    return OK;
}

static Status *take_fields(Lexer *r, const MessageType *type, char *message, int close, int depth);

// `{ ... }` or `< ... >` into the message at `sub`.
static Status *take_block(Lexer *r, const MessageType *type, char *sub, int depth) {
    size_t start = r->at;
    if (depth <= 0)
        return lex_wrong(r, start, "messages nest deeper than %d", PROTO_DEPTH);
    int close = lex_peek(r, 0) == '<' ? '>' : '}';
    if (!lex_take(r, '{') && !lex_take(r, '<'))
        return lex_wrong(r, start, "expected { and the fields of a %s", type->name);
    TRY(take_fields(r, type, sub, close, depth - 1));
    if (!lex_take(r, close))
        return lex_wrong(r, start, "this %s has no %c at its end", type->name, close);
    return OK;
}

// One value of the field, wherever it belongs.
static Status *take_value(Lexer *r, const Field *field, char *message, int depth) {
    void *at = message + field->offset;
    if (field->repeated)
        TRY(add_element(r, field, message, &at));
    if (field->kind != PROTO_message)
        return take_scalar(r, field, at);
    if (!field->repeated) {
        void *sub = arena_alloc(r->arena, field->sub->size);
        NEED(sub, RESOURCE_EXHAUSTED, "the message takes too much memory");
        memcpy(at, &sub, sizeof sub);
        at = sub;
    }
    return take_block(r, field->sub, at, depth);
}

// `seen` has a bit for each field that stands once and was given.
static Status *check_once(Lexer *r, const MessageType *type, const Field *field, char *message, size_t at,
                          uint64_t *seen) {
    if (field->repeated)
        return OK;
    uint64_t bit = (uint64_t)1 << (field - type->fields);
    if (*seen & bit)
        return lex_wrong(r, at, "%s.%s is given twice", type->name, field->name);
    *seen |= bit;
    if (!field->in_oneof)
        return OK;
    if (message_which(type, message))
        return lex_wrong(r, at, "%s.%s stands beside another value of the same choice", type->name, field->name);
    memcpy(message + type->which, &field->number, sizeof field->number);
    return OK;
}

static Status *take_field(Lexer *r, const MessageType *type, char *message, uint64_t *seen, int depth) {
    size_t start = r->at;
    Str name = lex_name(r);
    if (!name.n)
        return lex_wrong(r, start, "expected the name of a field of %s", type->name);
    const Field *field = message_field(type, name);
    if (!field)
        return lex_wrong(r, start, "%s has no field \"%.*s\"", type->name, STR_ARGS(name));
    TRY(check_once(r, type, field, message, start, seen));
    if (!lex_take(r, ':') && field->kind != PROTO_message)
        return lex_wrong(r, r->at, "expected : behind %s", field->name);
    if (!field->repeated || !lex_take(r, '[')) {
        TRY(take_value(r, field, message, depth));
    } else if (!lex_take(r, ']')) {
        do
            TRY(take_value(r, field, message, depth));
        while (lex_take(r, ','));
        if (!lex_take(r, ']'))
            return lex_wrong(r, r->at, "expected , or ] in a list");
    }
    if (!lex_take(r, ','))
        lex_take(r, ';');
    return OK;
}

static Status *take_fields(Lexer *r, const MessageType *type, char *message, int close, int depth) {
    uint64_t seen = 0;
    while (lex_peek(r, 0) != close && lex_peek(r, 0) >= 0)
        TRY(take_field(r, type, message, &seen, depth));
    for (unsigned i = 0; i < type->n_fields; i++) {
        const Field *field = &type->fields[i];
        if (!field->is_map)
            continue;
        List list = list_at(message + field->offset);
        TRY(map_finish(r->arena, field->sub, &list));
        list_put(message + field->offset, list);
    }
    return OK;
}

static Status *parse(Lexer *r, const MessageType *type, void **out) {
    void *message = arena_alloc(r->arena, type->size);
    NEED_MEMORY(message);
    lex_space(r);
    TRY(take_fields(r, type, message, -1, PROTO_DEPTH));
    *out = message;
    return OK;
}

Status *proto_parse(Arena *arena, const MessageType *type, Str text, void **out) {
    size_t limit = arena->limit, most;
    if (__builtin_mul_overflow(text.n, (size_t)PROTO_TEXT_EXPANSION, &most) ||
        __builtin_add_overflow(most, (size_t)PROTO_ALLOWANCE + arena->used, &most))
        most = SIZE_MAX;
    arena->limit = limit && limit < most ? limit : most;
    Lexer r = {.arena = arena, .text = text};
    Status *status = parse(&r, type, out);
    arena->limit = limit;
    text_clear(&r.scratch);
    return status;
}
