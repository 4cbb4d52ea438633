// Notation — see notation.h: characters, words, quoted text and numbers; a scanner without tokens, which reads as it
// goes.
#include "graph/notation.h"

#include <stdio.h>

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_spaces(Scan *scan) {
    while (scan->at < scan->end && is_space(*scan->at))
        scan->at++;
}

Status *scan_error(const Scan *scan, const char *file, int line, const char *format, ...) {
    char what[200], found[24] = "the end";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *at = scan->at;
    while (at < scan->end && is_space(*at))
        at++;
    size_t left = (size_t)(scan->end - at);
    if (left)
        snprintf(found, sizeof found, "'%.*s'", (int)(left < 16 ? left : 16), at);
    return status_new(INVALID_ARGUMENT, file, line, "column %zu: %s, found %s", (size_t)(at - scan->start) + 1, what,
                      found);
}

char scan_peek(Scan *scan) {
    skip_spaces(scan);
    return scan->at < scan->end ? *scan->at : 0;
}

bool scan_char(Scan *scan, char c) {
    skip_spaces(scan);
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

bool scan_text(Scan *scan, const char *text) {
    skip_spaces(scan);
    size_t n = strlen(text);
    if ((size_t)(scan->end - scan->at) < n || memcmp(scan->at, text, n) != 0)
        return false;
    scan->at += n;
    return true;
}

bool scan_word(Scan *scan, Str *out) {
    skip_spaces(scan);
    const char *at = scan->at;
    if (at == scan->end || (*at >= '0' && *at <= '9'))
        return false;
    while (at < scan->end && is_name_char(*at))
        at++;
    if (at == scan->at)
        return false;
    *out = (Str){scan->at, (size_t)(at - scan->at)};
    scan->at = at;
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads the escape behind a backslash.
static Status *scan_escape(Scan *scan, char *out) {
    SCAN_NEED(scan->at < scan->end, scan, "expected a character behind \\");
    char c = *scan->at;
    if (c == 'x') {
        int high = scan->end - scan->at > 2 ? hex_digit(scan->at[1]) : -1;
        int low = high >= 0 ? hex_digit(scan->at[2]) : -1;
        SCAN_NEED(low >= 0, scan, "expected x and two hexadecimal digits behind \\");
        *out = (char)(high * 16 + low);
        scan->at += 3;
        return OK;
    }
    SCAN_NEED(c == 'n' || c == 't' || c == '"' || c == '\\', scan, "expected one of n t x \" \\ behind \\");
    *out = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    scan->at++;
    return OK;
}

Status *scan_quoted(Scan *scan, Str *out) {
    SCAN_NEED(scan_char(scan, '"'), scan, "expected text in quotes");
    const char *first = scan->at;
    while (scan->at < scan->end && *scan->at != '"' && *scan->at != '\\')
        scan->at++;
    if (scan->at < scan->end && *scan->at == '"') {
        *out = (Str){first, (size_t)(scan->at - first)};
        scan->at++;
        return OK;
    }
    const char *close = scan->at;
    while (close < scan->end && *close != '"')
        close += *close == '\\' && scan->end - close > 1 ? 2 : 1;
    SCAN_NEED(close < scan->end, scan, "expected a closing quote");
    // Text with escapes is copied; text without is a view.
    char *copy = arena_aligned(scan->arena, (size_t)(close - first), 1);  // escapes only shorten
    NEED_MEMORY(copy);
    size_t n = 0;
    for (scan->at = first; scan->at < close;) {
        char c = *scan->at++;
        if (c == '\\')
            TRY(scan_escape(scan, &c));
        copy[n++] = c;
    }
    scan->at = close + 1;
    *out = (Str){copy, n};
    return OK;
}

Status *scan_name(Scan *scan, Str *out) {
    if (scan_word(scan, out))
        return OK;
    SCAN_NEED(scan_peek(scan) == '"', scan, "expected a name");
    TRY(scan_quoted(scan, out));
    SCAN_NEED(out->n > 0, scan, "a name can't be empty");
    return OK;
}

Status *scan_int(Scan *scan, int64_t *out) {
    skip_spaces(scan);
    const char *at = scan->at;
    if (at < scan->end && *at == '-')
        at++;
    while (at < scan->end && *at >= '0' && *at <= '9')
        at++;
    Str digits = {scan->at, (size_t)(at - scan->at)};
    SCAN_NEED(str_to_int(digits, out), scan, "expected an integer of 64 bits");
    scan->at = at;
    return OK;
}

Status *scan_dtype(Scan *scan, DType *out) {
    Scan before = *scan;
    Str word;
    DType dtype = scan_word(scan, &word) ? dtype_find(word) : DT_INVALID;
    if (dtype == DT_INVALID)
        SCAN_FAIL(&before, "expected a type");
    *out = dtype;
    return OK;
}

void notation_quote(Text *text, Str s) {
    text_char(text, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"')
            text_add(text, STR("\\\""));
        else if (c == '\\')
            text_add(text, STR("\\\\"));
        else if (c == '\n')
            text_add(text, STR("\\n"));
        else if (c == '\t')
            text_add(text, STR("\\t"));
        else if (c < 32 || c > 126)
            text_format(text, "\\x%02x", c);
        else
            text_char(text, (char)c);
    }
    text_char(text, '"');
}

void notation_name(Text *text, Str name) {
    bool plain = name.n > 0 && !(name.p[0] >= '0' && name.p[0] <= '9');
    for (size_t i = 0; plain && i < name.n; i++)
        plain = is_name_char(name.p[i]);
    if (plain)
        text_add(text, name);
    else
        notation_quote(text, name);
}

void notation_shape(Text *text, const Shape *shape) {
    if (shape->rank < 0) {
        text_char(text, '?');
        return;
    }
    text_char(text, '[');
    for (int i = 0; i < shape->rank; i++) {
        if (i)
            text_add(text, STR(", "));
        if (shape->dims[i] < 0)
            text_char(text, '?');
        else
            text_format(text, "%lld", (long long)shape->dims[i]);
    }
    text_char(text, ']');
}
