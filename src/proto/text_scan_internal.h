// Scanner — the words, strings and numbers of the text form.
#pragma once
#include "base/str.h"

typedef struct {
    Arena *arena;  // for strings with escapes
    Str text;
    size_t at;
    Text scratch;  // a string while its escapes are resolved
} Scanner;

static inline bool scan_is_digit(int c) {
    return c >= '0' && c <= '9';
}
// The character at the scanner, or `ahead` of it; -1 at the end.
int scan_peek(const Scanner *r, size_t ahead);
// INVALID_ARGUMENT "line:column: what", of the byte `at`.
FALLIBLE Status *scan_wrong(const Scanner *r, size_t at, const char *format, ...) PRINTF(3, 4);
// Space and comments. Everything below takes the space behind it, too.
void scan_space(Scanner *r);
// Takes the character if it is next.
bool scan_take(Scanner *r, int c);
// A word of letters, digits and _; empty where there is none.
Str scan_name(Scanner *r);
// A string in quotes, all that follow it, or a text of many lines.
FALLIBLE Status *scan_string(Scanner *r, Str *out);
// Any integer from `least` to `most`, as the 64 bits of its two's complement.
FALLIBLE Status *scan_integer(Scanner *r, int64_t least, uint64_t most, uint64_t *out);
// In the C locale.
FALLIBLE Status *scan_float(Scanner *r, double *out);
