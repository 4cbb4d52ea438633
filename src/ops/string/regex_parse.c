// Regex parser — see regex.h: a pattern becomes a tree of pieces. Characters beyond ASCII become sequences of bytes.
//
// Nesting, repeats and the program's length have bounds (regex_internal.h), since the parser calls itself and x{1000}
// writes x a thousand times.
#include "ops/string/regex_internal.h"

typedef struct {
    Str pattern;
    size_t at;
    Arena *arena;
    int groups, depth;
    bool folds, dot_all;
} Parser;

static Status *choice(Parser *p, Piece **out);

static bool more(const Parser *p) {
    return p->at < p->pattern.n;
}

static char peek(const Parser *p) {
    return more(p) ? p->pattern.p[p->at] : 0;
}

static bool eat(Parser *p, const char *text) {
    Str rest = {p->pattern.p + p->at, p->pattern.n - p->at};
    if (!str_starts(rest, str_of(text)))
        return false;
    p->at += strlen(text);
    return true;
}

#define MALFORMED(p, what) \
    FAIL(INVALID_ARGUMENT, "Invalid pattern: %.*s, error: %s at byte %zu", STR_ARGS((p)->pattern), (what), (p)->at)

static Status *piece_new(Parser *p, PieceKind kind, Piece **out) {
    *out = ARENA_NEW(p->arena, Piece);
    NEED_MEMORY(*out);
    (*out)->kind = kind;
    return OK;
}

static Status *set_piece(Parser *p, unsigned first, unsigned last, Piece **out) {
    TRY(piece_new(p, PIECE_SET, out));
    set_add(&(*out)->set, first, last);
    return OK;
}

// A sequence of sets, or (choice) one of several pieces.
static Status *list_piece(Parser *p, PieceKind kind, Piece *const *parts, int n, Piece **out) {
    TRY(piece_new(p, kind, out));
    for (int i = n; i--;) {
        parts[i]->next = (*out)->first;
        (*out)->first = parts[i];
    }
    return OK;
}

// Any character beyond ASCII: a first byte and one to three that go on.
static Status *beyond_ascii(Parser *p, Piece **out) {
    static const unsigned char leads[][2] = {{0xc2, 0xdf}, {0xe0, 0xef}, {0xf0, 0xf4}};
    Piece *forms[3];
    for (int i = 0; i < 3; i++) {
        Piece *bytes[4];
        TRY(set_piece(p, leads[i][0], leads[i][1], &bytes[0]));
        for (int j = 1; j <= i + 1; j++)
            TRY(set_piece(p, 0x80, 0xbf, &bytes[j]));
        TRY(list_piece(p, PIECE_SEQUENCE, bytes, i + 2, &forms[i]));
    }
    return list_piece(p, PIECE_CHOICE, forms, 3, out);
}

static Status *with_beyond(Parser *p, Piece *ascii, Piece **out) {
    Piece *parts[2] = {ascii, NULL};
    TRY(beyond_ascii(p, &parts[1]));
    return list_piece(p, PIECE_CHOICE, parts, 2, out);
}

static void fold(ByteSet *set) {
    for (unsigned c = 'a'; c <= 'z'; c++)
        if (set_has(set, (unsigned char)c) || set_has(set, (unsigned char)(c - 32))) {
            set_add(set, c, c);
            set_add(set, c - 32, c - 32);
        }
}

// Within ASCII only: what is beyond it takes several bytes and is matched as a sequence of them.
static void invert_ascii(ByteSet *set) {
    set->bits[0] = ~set->bits[0];
    set->bits[1] = ~set->bits[1];
    set->bits[2] = set->bits[3] = 0;
}

// \d \w \s; the capital letter stands for what is not in the class, and then for all beyond ASCII too.
static bool class_letter(char letter, ByteSet *set, bool *out_beyond) {
    ByteSet own = {{0}};
    switch (letter | 32) {
    case 'd': set_add(&own, '0', '9'); break;
    case 's':
        set_add(&own, '\t', '\n');
        set_add(&own, '\f', '\r');
        set_add(&own, ' ', ' ');
        break;
    case 'w':
        set_add(&own, '0', '9');
        set_add(&own, 'a', 'z');
        set_add(&own, 'A', 'Z');
        set_add(&own, '_', '_');
        break;
    default: return false;
    }
    if (letter < 'a') {
        invert_ascii(&own);
        *out_beyond = true;
    }
    for (int i = 0; i < 4; i++)
        set->bits[i] |= own.bits[i];
    return true;
}

// [:alpha:] inside brackets.
static bool named_class(Parser *p, ByteSet *set) {
    static const struct { const char *name, *ranges; } names[] = {
        {"[:alpha:]", "azAZ"}, {"[:digit:]", "09"}, {"[:alnum:]", "azAZ09"}, {"[:upper:]", "AZ"}, {"[:lower:]", "az"},
        {"[:space:]", "\t\r  "}, {"[:blank:]", "\t\t  "}, {"[:punct:]", "!/:@[`{~"}, {"[:word:]", "azAZ09__"},
        {"[:xdigit:]", "09afAF"}, {"[:graph:]", "!~"}, {"[:print:]", " ~"}, {"[:cntrl:]", "\1\x1f\x7f\x7f"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!eat(p, names[i].name))
            continue;
        for (const char *r = names[i].ranges; *r; r += 2)
            set_add(set, (unsigned char)r[0], (unsigned char)r[1]);
        return true;
    }
    return false;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// What one character of the pattern, or an escape, stands for: a byte.
static Status *escaped(Parser *p, unsigned char *out) {
    static const char letters[] = "nrtfva", meanings[] = "\n\r\t\f\v\a";
    char c = peek(p);
    p->at++;
    const char *known = c ? strchr(letters, c) : NULL;
    if (known) {
        *out = (unsigned char)meanings[known - letters];
    } else if (c == 'x') {
        int high = hex_digit(peek(p)), low = p->at + 1 < p->pattern.n ? hex_digit(p->pattern.p[p->at + 1]) : -1;
        if (high < 0 || low < 0 || high > 7)
            MALFORMED(p, "invalid escape sequence");
        p->at += 2;
        *out = (unsigned char)(high << 4 | low);
    } else {
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (letter || (c >= '0' && c <= '9') || !c)
            MALFORMED(p, "invalid escape sequence");
        *out = (unsigned char)c;
    }
    return OK;
}

static Status *set_member(Parser *p, ByteSet *set, bool *beyond, unsigned char *out, bool *out_single) {
    *out_single = false;
    if (peek(p) == '[' && named_class(p, set))
        return OK;
    if (eat(p, "\\")) {
        if (class_letter(peek(p), set, beyond)) {
            p->at++;
            return OK;
        }
        TRY(escaped(p, out));
    } else {
        *out = (unsigned char)peek(p);
        NEED(*out < 0x80, UNIMPLEMENTED, "characters beyond ASCII inside [] in pattern %.*s", STR_ARGS(p->pattern));
        p->at++;
    }
    *out_single = true;
    return OK;
}

static Status *brackets(Parser *p, Piece **out) {
    bool negative = eat(p, "^"), beyond = false, first = true;
    Piece *piece;
    TRY(piece_new(p, PIECE_SET, &piece));
    for (; first || peek(p) != ']'; first = false) {
        if (!more(p))
            MALFORMED(p, "missing closing ]");
        unsigned char low, high;
        bool single;
        TRY(set_member(p, &piece->set, &beyond, &low, &single));
        high = low;
        if (single && peek(p) == '-' && p->at + 1 < p->pattern.n && p->pattern.p[p->at + 1] != ']') {
            p->at++;
            TRY(set_member(p, &piece->set, &beyond, &high, &single));
            if (!single || high < low)
                MALFORMED(p, "invalid character class range");
        }
        if (single)
            set_add(&piece->set, low, high);
    }
    p->at++;
    if (p->folds)
        fold(&piece->set);
    if (negative) {
        invert_ascii(&piece->set);
        beyond = !beyond;
    }
    if (beyond)
        return with_beyond(p, piece, out);
    *out = piece;
    return OK;
}

static Status *assertion(Parser *p, Assertion kind, Piece **out) {
    TRY(piece_new(p, PIECE_ASSERT, out));
    (*out)->assertion = kind;
    return OK;
}

static Status *group(Parser *p, Piece **out) {
    bool counted = !eat(p, "?:");
    if (counted && eat(p, "?P<")) {
        while (more(p) && peek(p) != '>')
            p->at++;
        p->at++;
    } else if (counted && peek(p) == '?') {
        FAIL(UNIMPLEMENTED, "flags inside a pattern: %.*s", STR_ARGS(p->pattern));
    }
    Piece *piece, *inside;
    TRY(piece_new(p, PIECE_GROUP, &piece));
    piece->group = counted ? ++p->groups : 0;
    NEED(++p->depth <= REGEX_DEPTH, INVALID_ARGUMENT, "a pattern nests too deeply");
    TRY(choice(p, &inside));
    p->depth--;
    if (!eat(p, ")"))
        MALFORMED(p, "missing closing )");
    piece->first = inside;
    *out = piece;
    return OK;
}

static Status *literal(Parser *p, unsigned char c, Piece **out) {
    TRY(set_piece(p, c, c, out));
    if (p->folds)
        fold(&(*out)->set);
    return OK;
}

static Status *backslash(Parser *p, Piece **out) {
    if (eat(p, "A"))
        return assertion(p, ASSERT_BEGIN, out);
    if (eat(p, "z"))
        return assertion(p, ASSERT_END, out);
    if (eat(p, "b"))
        return assertion(p, ASSERT_WORD, out);
    if (eat(p, "B"))
        return assertion(p, ASSERT_NO_WORD, out);
    Piece *piece;
    bool beyond = false;
    TRY(piece_new(p, PIECE_SET, &piece));
    if (class_letter(peek(p), &piece->set, &beyond)) {
        p->at++;
        *out = piece;
        return beyond ? with_beyond(p, piece, out) : OK;
    }
    unsigned char c;
    TRY(escaped(p, &c));
    return literal(p, c, out);
}

static Status *dot(Parser *p, Piece **out) {
    Piece *ascii;
    TRY(set_piece(p, 0, 0x7f, &ascii));
    if (!p->dot_all)
        ascii->set.bits[0] &= ~(UINT64_C(1) << '\n');
    return with_beyond(p, ascii, out);
}

// A character beyond ASCII is a sequence of its bytes, repeated as one.
static Status *character(Parser *p, Piece **out) {
    Piece *bytes[4];
    int n = 0;
    do {
        TRY(literal(p, (unsigned char)peek(p), &bytes[n++]));
        p->at++;
    } while (n < 4 && more(p) && ((unsigned char)peek(p) & 0xc0) == 0x80);
    if (n == 1) {
        *out = bytes[0];
        return OK;
    }
    return list_piece(p, PIECE_SEQUENCE, bytes, n, out);
}

static Status *atom(Parser *p, Piece **out) {
    if (eat(p, "("))
        return group(p, out);
    if (eat(p, "["))
        return brackets(p, out);
    if (eat(p, "."))
        return dot(p, out);
    if (eat(p, "^"))
        return assertion(p, ASSERT_BEGIN, out);
    if (eat(p, "$"))
        return assertion(p, ASSERT_END, out);
    if (eat(p, "\\"))
        return backslash(p, out);
    if (memchr("*+?", peek(p), 3))
        MALFORMED(p, "no argument for repetition operator");
    return character(p, out);
}

static bool number(Parser *p, int *out) {
    int value = 0;
    size_t start = p->at;
    while (peek(p) >= '0' && peek(p) <= '9' && value <= REGEX_REPEATS)
        value = value * 10 + (p->pattern.p[p->at++] - '0');
    *out = value;
    return p->at > start;
}

// {m}, {m,} or {m,n}; anything else is a literal brace.
static bool counts(Parser *p, int *least, int *most) {
    size_t start = p->at;
    if (eat(p, "{") && number(p, least)) {
        *most = *least;
        if (eat(p, ",") && !number(p, most))
            *most = -1;
        if (eat(p, "}"))
            return true;
    }
    p->at = start;
    return false;
}

static Status *repeated(Parser *p, Piece **out) {
    TRY(atom(p, out));
    for (int nested = 0; nested < REGEX_DEPTH; nested++) {
        int least = 0, most = -1;
        if (eat(p, "?"))
            most = 1;
        else if (eat(p, "+"))
            least = 1;
        else if (!eat(p, "*") && !counts(p, &least, &most))
            return OK;
        if (least > REGEX_REPEATS || most > REGEX_REPEATS || (most >= 0 && most < least))
            MALFORMED(p, "bad repetition operator");
        Piece *piece;
        TRY(piece_new(p, PIECE_REPEAT, &piece));
        piece->least = least;
        piece->most = most;
        piece->lazy = eat(p, "?");
        piece->first = *out;
        *out = piece;
    }
    MALFORMED(p, "bad repetition operator");
}

static Status *sequence(Parser *p, Piece **out) {
    TRY(piece_new(p, PIECE_SEQUENCE, out));
    Piece **link = &(*out)->first;
    while (more(p) && peek(p) != '|' && peek(p) != ')') {
        TRY(repeated(p, link));
        link = &(*link)->next;
    }
    return OK;
}

static Status *choice(Parser *p, Piece **out) {
    TRY(piece_new(p, PIECE_CHOICE, out));
    Piece **link = &(*out)->first;
    do {
        TRY(sequence(p, link));
        link = &(*link)->next;
    } while (eat(p, "|"));
    return OK;
}

Status *regex_parse(Str pattern, Arena *arena, Piece **out, int *out_groups) {
    Parser p = {.pattern = pattern, .arena = arena};
    for (bool flag = true; flag;) {
        flag = false;
        if (eat(&p, "(?i)"))
            flag = p.folds = true;
        if (eat(&p, "(?s)"))
            flag = p.dot_all = true;
    }
    TRY(choice(&p, out));
    if (more(&p))
        MALFORMED(&p, "unexpected )");
    *out_groups = p.groups;
    return OK;
}
