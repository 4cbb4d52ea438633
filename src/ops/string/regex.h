// Regex — regular expressions in RE2's syntax, matched in time proportional to text and pattern, whatever they are.
//
// Texts and patterns are UTF-8: "." is a character. Known: literals, . [] [^] () (?:) | * + ? {m,n} and their lazy
// forms, ^ $ \A \z \b \B, \d \w \s \D \W \S, [:alpha:] and its like, \n \t \xHH, the flags (?i) and (?s) in front.
#pragma once
#include "base/str.h"

typedef struct Regex Regex;

enum { REGEX_GROUPS = 10 };  // the whole match and nine groups

typedef struct {
    Str groups[REGEX_GROUPS];  // .p is NULL for a group that took no part
} RegexMatch;

// In the arena. INVALID_ARGUMENT for a malformed pattern, UNIMPLEMENTED for what is not known.
FALLIBLE Status *regex_compile(Str pattern, Arena *arena, Regex **out);
int regex_groups(const Regex *regex);  // without the whole
// Whether all of the text matches.
FALLIBLE Status *regex_match(const Regex *regex, Str text, bool *out);
// The first match at or after `from`, of those that begin there the one that comes first in the pattern's order.
FALLIBLE Status *regex_find(const Regex *regex, Str text, size_t from, bool *out_found, RegexMatch *out);
