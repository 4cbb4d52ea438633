// Json — see json.h: one function for each kind of value.
//
// RFC 8259. Numbers stay text: who asks knows whether an integer of 64 bits or a double is meant. Lists nest 64 deep at
// most, since the reader calls itself.
#include "base/json.h"

enum { DEPTH = 64 };

typedef struct {
    Arena *arena;
    Str text;
    size_t at;
} Reader;

#define NEED_JSON(condition, r, what) \
    NEED(condition, INVALID_ARGUMENT, "JSON, byte %zu: %s", (r)->at, what)

static char peek(const Reader *r) {
    return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static void skip_blanks(Reader *r) {
    while (r->at < r->text.n && strchr(" \t\r\n", r->text.p[r->at]) && r->text.p[r->at])
        r->at++;
}

static bool take(Reader *r, const char *word) {
    bool is = str_starts((Str){r->text.p + r->at, r->text.n - r->at}, str_of(word));
    r->at += is ? strlen(word) : 0;
    return is;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static Status *read_unit(Reader *r, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = hex_digit(peek(r));
        NEED_JSON(digit >= 0, r, "four hexadecimal digits were expected behind \\u");
        *out = *out * 16 + (uint32_t)digit;
    }
    return OK;
}

static void add_utf8(Text *out, uint32_t c) {
    if (c < 0x80) {
        text_char(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text_char(out, (char)((0xff00 >> (more + 1) & 0xff) | c >> (6 * more)));
    while (more--)
        text_char(out, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

static Status *read_escape(Reader *r, Text *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = peek(r);
    const char *plain = c ? strchr(from, c) : NULL;
    uint32_t unit, low;
    r->at++;
    if (plain) {
        text_char(out, to[plain - from]);
        return OK;
    }
    NEED_JSON(c == 'u', r, "no such escape");
    TRY(read_unit(r, &unit));
    if (unit >= 0xd800 && unit < 0xdc00) {
        NEED_JSON(take(r, "\\u"), r, "half a pair of surrogates");
        TRY(read_unit(r, &low));
        NEED_JSON(low >= 0xdc00 && low < 0xe000, r, "half a pair of surrogates");
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    NEED_JSON(unit < 0xd800 || unit > 0xdfff, r, "half a pair of surrogates");
    add_utf8(out, unit);
    return OK;
}

static Status *read_text(Reader *r, Str *out) {
    AUTO(text) Text text = {0};
    NEED_JSON(take(r, "\""), r, "a text in quotes was expected");
    while (peek(r) != '"') {
        NEED_JSON(r->at < r->text.n && (unsigned char)peek(r) >= ' ', r, "the text doesn't end");
        if (take(r, "\\"))
            TRY(read_escape(r, &text));
        else
            text_char(&text, r->text.p[r->at++]);
    }
    r->at++;
    *out = str_copy(r->arena, text_str(&text));
    NEED_MEMORY(!text.failed && out->p);
    return OK;
}

static void skip_digits(Reader *r) {
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
}

static Status *read_number(Reader *r, Json *out) {
    size_t first = r->at;
    take(r, "-");
    size_t digits = r->at;
    skip_digits(r);
    NEED_JSON(r->at > digits && (r->text.p[digits] != '0' || r->at == digits + 1), r, "a value was expected");
    for (int part = 0; part < 2; part++) {
        bool fraction = !part && take(r, "."), power = part && (take(r, "e") || take(r, "E"));
        if (power && !take(r, "+"))
            take(r, "-");
        digits = r->at;
        skip_digits(r);
        NEED_JSON((!fraction && !power) || r->at > digits, r, "a digit was expected");
    }
    out->kind = JSON_NUMBER;
    out->text = (Str){r->text.p + first, r->at - first};
    return OK;
}

static Status *read_value(Reader *r, int depth, Json *out);

static Status *read_members(Reader *r, int depth, Json *out) {
    bool object = out->kind == JSON_OBJECT;
    const char *end = object ? "}" : "]";
    Json **last = &out->first;
    NEED(depth < DEPTH, RESOURCE_EXHAUSTED, "JSON, byte %zu: more than %d lists in lists", r->at, DEPTH);
    skip_blanks(r);
    if (take(r, end))
        return OK;
    do {
        Json *member = ARENA_NEW(r->arena, Json);
        NEED_MEMORY(member);
        skip_blanks(r);
        if (object) {
            TRY(read_text(r, &member->key));
            skip_blanks(r);
            NEED_JSON(take(r, ":"), r, "':' was expected");
        }
        TRY(read_value(r, depth + 1, member));
        *last = member;
        last = &member->next;
        skip_blanks(r);
    } while (take(r, ","));
    NEED_JSON(take(r, end), r, object ? "',' or '}' was expected" : "',' or ']' was expected");
    return OK;
}

static Status *read_value(Reader *r, int depth, Json *out) {
    static const struct {
        const char *word;
        JsonKind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}, {"[", JSON_LIST}, {"{", JSON_OBJECT}};
    skip_blanks(r);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take(r, words[i].word)) {
            out->kind = words[i].kind;
            return out->kind >= JSON_LIST ? read_members(r, depth, out) : OK;
        }
    if (peek(r) != '"')
        return read_number(r, out);
    out->kind = JSON_TEXT;
    return read_text(r, &out->text);
}

Status *json_parse(Arena *arena, Str text, Json **out) {
    Reader r = {.arena = arena, .text = text};
    Json *value = ARENA_NEW(arena, Json);
    NEED_MEMORY(value);
    TRY(read_value(&r, 0, value));
    skip_blanks(&r);
    NEED_JSON(r.at == text.n, &r, "more than one value");
    *out = value;
    return OK;
}

const Json *json_member(const Json *object, const char *key) {
    const Json *found = NULL;
    for (const Json *member = object && object->kind == JSON_OBJECT ? object->first : NULL; member;
         member = member->next)
        if (str_is(member->key, key))
            found = member;
    return found;
}
