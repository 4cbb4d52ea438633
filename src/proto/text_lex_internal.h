// Lexer — the words, strings and numbers of the text form.
#pragma once
#include "base/str.h"

typedef struct {
    Arena *arena;  // for strings with escapes
    Str text;
    size_t at;
    Text scratch;  // a string while its escapes are resolved
} Lexer;

static inline bool lex_is_digit(int c) {
    return c >= '0' && c <= '9';
}
// The character at the lexer, or `ahead` of it; -1 at the end.
int lex_peek(const Lexer *r, size_t ahead);
// INVALID_ARGUMENT "line:column: what", of the byte `at`.
FALLIBLE Status *lex_wrong(const Lexer *r, size_t at, const char *format, ...) PRINTF(3, 4);
// Space and comments. Everything below takes the space behind it, too.
void lex_space(Lexer *r);
// Takes the character if it is next.
bool lex_take(Lexer *r, int c);
// A word of letters, digits and _; empty where there is none.
Str lex_name(Lexer *r);
// A string in quotes, all that follow it, or a text of many lines.
FALLIBLE Status *lex_string(Lexer *r, Str *out);
// Any integer from `least` to `most`, as the 64 bits of its two's complement.
FALLIBLE Status *lex_integer(Lexer *r, int64_t least, uint64_t most, uint64_t *out);
// Rounded once, to float where `single` is set.
FALLIBLE Status *lex_float(Lexer *r, bool single, double *out);
