// Lexer — see text_lex_internal.h.
#include "proto/text_lex_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"

// ---------------------------------------------------------------------------------------------- characters

static bool is_name(int c) {
    return lex_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static int hex_digit(int c) {
    if (lex_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int lex_peek(const Lexer *r, size_t ahead) {
    return ahead < r->text.n - r->at ? (unsigned char)r->text.p[r->at + ahead] : -1;
}

Status *lex_wrong(const Lexer *r, size_t at, const char *format, ...) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = r->text.p[i] == '\n' ? 1 : column + 1;
        line += r->text.p[i] == '\n';
    }
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    FAIL(INVALID_ARGUMENT, "%zu:%zu: %s", line, column, what);
}

void lex_space(Lexer *r) {
    for (;;) {
        int c = lex_peek(r, 0);
        if (c == '#') {
            while (lex_peek(r, 0) >= 0 && lex_peek(r, 0) != '\n')
                r->at++;
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
            r->at++;
        } else {
            return;
        }
    }
}

bool lex_take(Lexer *r, int c) {
    if (lex_peek(r, 0) != c)
        return false;
    r->at++;
    lex_space(r);
    return true;
}

Str lex_name(Lexer *r) {
    size_t start = r->at;
    while (is_name(lex_peek(r, 0)))
        r->at++;
    Str name = {r->text.p + start, r->at - start};
    lex_space(r);
    return name;
}

// ---------------------------------------------------------------------------------------------- strings

static void add_utf8(Text *out, uint32_t point) {
    char bytes[4];
    size_t n = 0;
    if (point < 0x80) {
        bytes[n++] = (char)point;
    } else if (point < 0x800) {
        bytes[n++] = (char)(0xc0 | point >> 6);
        bytes[n++] = (char)(0x80 | (point & 63));
    } else if (point < 0x10000) {
        bytes[n++] = (char)(0xe0 | point >> 12);
        bytes[n++] = (char)(0x80 | (point >> 6 & 63));
        bytes[n++] = (char)(0x80 | (point & 63));
    } else {
        bytes[n++] = (char)(0xf0 | point >> 18);
        bytes[n++] = (char)(0x80 | (point >> 12 & 63));
        bytes[n++] = (char)(0x80 | (point >> 6 & 63));
        bytes[n++] = (char)(0x80 | (point & 63));
    }
    text_add(out, (Str){bytes, n});
}

static bool take_hex(Lexer *r, int digits, uint32_t *out) {
    uint32_t value = 0;
    for (int i = 0; i < digits; i++) {
        int digit = hex_digit(lex_peek(r, 0));
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
        r->at++;
    }
    *out = value;
    return true;
}

// Behind \u or \U. A character beyond 16 bits may come as two halves, each a \u.
static bool take_unicode(Lexer *r, int digits) {
    uint32_t point, low;
    if (!take_hex(r, digits, &point))
        return false;
    if (point >= 0xd800 && point < 0xdc00 && lex_peek(r, 0) == '\\' && lex_peek(r, 1) == 'u') {
        r->at += 2;
        if (!take_hex(r, 4, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return false;
    add_utf8(&r->scratch, point);
    return true;
}

static Status *take_escape(Lexer *r) {
    static const char letters[] = "abfnrtv\\'\"?", meanings[] = "\a\b\f\n\r\t\v\\'\"?";
    size_t start = r->at++;
    int c = lex_peek(r, 0), value = 0;
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (letter) {
        text_char(&r->scratch, meanings[letter - letters]);
        r->at++;
        return OK;
    }
    if (c >= '0' && c <= '7') {
        for (int i = 0; i < 3 && lex_peek(r, 0) >= '0' && lex_peek(r, 0) <= '7'; i++)
            value = value * 8 + (r->text.p[r->at++] - '0');
        if (value > 255)
            return lex_wrong(r, start, "an octal escape is at most \\377");
        text_char(&r->scratch, (char)value);
        return OK;
    }
    if (c < 0)
        return lex_wrong(r, start, "a string ends in an escape");
    r->at++;
    if (c == 'x' || c == 'X') {
        int digits = 0;
        for (; digits < 2 && hex_digit(lex_peek(r, 0)) >= 0; digits++)
            value = value * 16 + hex_digit((unsigned char)r->text.p[r->at++]);
        if (!digits)
            return lex_wrong(r, start, "\\x needs a hexadecimal digit");
        text_char(&r->scratch, (char)value);
        return OK;
    }
    if ((c == 'u' || c == 'U') && take_unicode(r, c == 'u' ? 4 : 8))
        return OK;
    return lex_wrong(r, start, c == 'u' || c == 'U' ? "not a Unicode character" : "unknown escape in a string");
}

// One quoted piece. Adds to the scratch, or, where `out_view` isn't NULL and nothing is escaped, views the text.
static Status *take_quoted(Lexer *r, Str *out_view) {
    size_t start = r->at;
    int quote = lex_peek(r, 0);
    size_t from = ++r->at;
    for (;;) {
        int c = lex_peek(r, 0);
        if (c < 0 || c == '\n')
            return lex_wrong(r, start, "this string has no end on its line");
        if (c != quote && c != '\\') {
            r->at++;
            continue;
        }
        Str plain = {r->text.p + from, r->at - from};
        if (c == quote) {
            r->at++;
            lex_space(r);
            if (out_view && from == start + 1 && lex_peek(r, 0) != '"' && lex_peek(r, 0) != '\'')
                *out_view = plain;
            else
                text_add(&r->scratch, plain);
            return OK;
        }
        text_add(&r->scratch, plain);
        TRY(take_escape(r));
        from = r->at;
    }
}

// <<WORD, then lines up to one that begins with WORD. The last line's end is not part of the text.
static Status *take_lines(Lexer *r, Str *out) {
    size_t start = r->at;
    r->at += 2;
    Str word = {r->text.p + r->at, 0};
    while (is_name(lex_peek(r, word.n)))
        word.n++;
    r->at += word.n;
    while (lex_peek(r, 0) == ' ' || lex_peek(r, 0) == '\t' || lex_peek(r, 0) == '\r')
        r->at++;
    if (!word.n || lex_peek(r, 0) != '\n')
        return lex_wrong(r, start, "<< needs a word and the end of the line behind it");
    size_t begin = ++r->at;
    while (r->at < r->text.n) {
        Str rest = {r->text.p + r->at, r->text.n - r->at};
        if (str_starts(rest, word)) {
            *out = (Str){r->text.p + begin, r->at > begin ? r->at - 1 - begin : 0};
            r->at += word.n;
            lex_space(r);
            return OK;
        }
        const char *end = memchr(rest.p, '\n', rest.n);
        r->at += end ? (size_t)(end - rest.p) + 1 : rest.n;
    }
    return lex_wrong(r, start, "no line ends this text with %.*s", STR_ARGS(word));
}

Status *lex_string(Lexer *r, Str *out) {
    if (lex_peek(r, 0) == '<' && lex_peek(r, 1) == '<')
        return take_lines(r, out);
    if (lex_peek(r, 0) != '"' && lex_peek(r, 0) != '\'')
        return lex_wrong(r, r->at, "expected a string");
    Str view = {0};
    r->scratch.n = 0;
    TRY(take_quoted(r, &view));
    if (!view.p) {
        while (lex_peek(r, 0) == '"' || lex_peek(r, 0) == '\'')
            TRY(take_quoted(r, NULL));
        NEED_MEMORY(!r->scratch.failed);
        view = str_copy(r->arena, text_str(&r->scratch));
        NEED_MEMORY(view.p);
    }
    *out = view;
    return OK;
}

// ---------------------------------------------------------------------------------------------- numbers

// An integer's magnitude: decimal, 0x hexadecimal or 0 octal.
static bool read_magnitude(Str word, uint64_t *out) {
    unsigned base = 10;
    size_t i = 0;
    if (word.n > 2 && word.p[0] == '0' && (word.p[1] == 'x' || word.p[1] == 'X')) {
        base = 16;
        i = 2;
    } else if (word.n > 1 && word.p[0] == '0') {
        base = 8;
        i = 1;
    }
    uint64_t value = 0;
    for (; i < word.n; i++) {
        int digit = hex_digit((unsigned char)word.p[i]);
        if (digit < 0 || digit >= (int)base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return word.n > 0;
}

Status *lex_integer(Lexer *r, int64_t least, uint64_t most, uint64_t *out) {
    size_t start = r->at;
    bool negative = lex_take(r, '-');
    Str word = lex_name(r);
    uint64_t value;
    if (!word.n || !lex_is_digit(word.p[0]) || !read_magnitude(word, &value))
        return lex_wrong(r, start, "expected an integer");
    if (negative ? value > (uint64_t)0 - (uint64_t)least : value > most)
        return lex_wrong(r, start, "this integer is out of range");
    *out = negative ? (uint64_t)0 - value : value;
    return OK;
}

static bool is_word(Str word, const char *lower) {
    size_t n = strlen(lower);
    for (size_t i = 0; i < n && word.n == n; i++) {
        int c = (unsigned char)word.p[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != lower[i])
            return false;
    }
    return word.n == n;
}

// The characters of a number with a point or an exponent.
static Str take_decimal(Lexer *r) {
    size_t start = r->at;
    for (;;) {
        int c = lex_peek(r, 0);
        bool is_sign = (c == '+' || c == '-') && r->at > start &&
                       (r->text.p[r->at - 1] == 'e' || r->text.p[r->at - 1] == 'E');
        if (!is_name(c) && c != '.' && !is_sign)
            break;
        r->at++;
    }
    Str word = {r->text.p + start, r->at - start};
    lex_space(r);
    return word;
}

Status *lex_float(Lexer *r, bool single, double *out) {
    size_t start = r->at;
    bool negative = lex_take(r, '-');
    Str word = take_decimal(r);
    double value = 0;
    float narrow = 0;
    uint64_t magnitude;
    if (is_word(word, "inf") || is_word(word, "infinity") || is_word(word, "inff")) {
        value = HUGE_VAL;
    } else if (is_word(word, "nan") || is_word(word, "nanf")) {
        value = NAN;
    } else if (word.n > 1 && word.p[0] == '0' && (word.p[1] == 'x' || word.p[1] == 'X')) {
        if (!read_magnitude(word, &magnitude))
            return lex_wrong(r, start, "expected a number");
        value = (double)magnitude;
    } else {
        if (word.n > 1 && (word.p[word.n - 1] == 'f' || word.p[word.n - 1] == 'F'))
            word.n--;
        bool is_number = word.n && (lex_is_digit(word.p[0]) || word.p[0] == '.');
        if (!is_number || !(single ? str_to_float(word, &narrow) : str_to_double(word, &value)))
            return lex_wrong(r, start, "expected a number");
        if (single)
            value = (double)narrow;
    }
    *out = negative && !isnan(value) ? -value : value;  // a NaN has no sign in text
    return OK;
}
