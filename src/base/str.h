// Str — a view of bytes that somebody else owns. Text — a growing string of one's own.
#pragma once
#include <string.h>

#include "base/arena.h"

typedef struct {
    const char *p;  // not necessarily followed by a NUL
    size_t n;
} Str;

#define STR(literal) ((Str){"" literal, sizeof(literal) - 1})
#define STR_ARGS(s) (int)((s).n > 4096 ? 4096 : (s).n), ((s).n ? (s).p : "")  // for "%.*s"

static inline Str str_of(const char *text) {
    return (Str){text, text ? strlen(text) : 0};
}
static inline bool str_equal(Str a, Str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_is(Str a, const char *b) {
    return str_equal(a, str_of(b));
}
static inline bool str_starts(Str s, Str prefix) {
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}
int str_compare(Str a, Str b);              // <0, 0, >0 in byte order
bool str_to_int(Str s, int64_t *out);       // whole string is a decimal int64
Str str_copy(Arena *arena, Str s);          // .p is NULL when the arena can't grow
Str str_format(Arena *arena, const char *format, ...) PRINTF(2, 3);

// Zero-initialised is empty. After a failed allocation `failed` stays set and further writes do nothing.
typedef struct {
    char *p;        // NUL-terminated once anything was written
    size_t n, room;
    bool failed;
} Text;

void text_add(Text *text, Str s);
void text_char(Text *text, char c);
void text_format(Text *text, const char *format, ...) PRINTF(2, 3);
// Room for that many more bytes and a NUL, at p + n; false when memory is out.
bool text_reserve(Text *text, size_t more);
void text_clear(Text *text);
static inline Str text_str(const Text *text) {
    return (Str){text->p ? text->p : "", text->n};
}
static inline void text_auto(Text *text) {
    text_clear(text);
}
