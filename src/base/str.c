// Str, Text — see str.h.
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

int str_compare(Str a, Str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_to_int(Str s, int64_t *out) {
    size_t i = 0;
    bool negative = s.n && s.p[0] == '-';
    if (negative)
        i++;
    if (i == s.n)
        return false;
    int64_t value = 0;
    for (; i < s.n; i++) {
        int digit = s.p[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)digit, &value))
            return false;
    }
    // Accumulated below zero, where the range is one wider.
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return false;
    *out = value;
    return true;
}

Str str_copy(Arena *arena, Str s) {
    char *p = arena_copy(arena, s.p, s.n);
    return (Str){p, p ? s.n : 0};
}

Str str_format(Arena *arena, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *p = n < 0 ? NULL : arena_aligned(arena, (size_t)n + 1, 1);
    if (p)
        vsnprintf(p, (size_t)n + 1, format, args);
    va_end(args);
    return (Str){p, p ? (size_t)n : 0};
}

bool text_reserve(Text *text, size_t more) {
    size_t need;
    if (text->failed || __builtin_add_overflow(text->n + 1, more, &need))
        return false;
    if (need <= text->room)
        return true;
    size_t room = text->room * 2 > need ? text->room * 2 : need + 32;
    char *p = realloc(text->p, room);
    if (!p) {
        text->failed = true;
        return false;
    }
    text->p = p;
    text->room = room;
    return true;
}

void text_add(Text *text, Str s) {
    if (!text_reserve(text, s.n))
        return;
    if (s.n)
        memcpy(text->p + text->n, s.p, s.n);
    text->n += s.n;
    text->p[text->n] = 0;
}

void text_char(Text *text, char c) {
    text_add(text, (Str){&c, 1});
}

void text_format(Text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n >= 0 && text_reserve(text, (size_t)n)) {
        vsnprintf(text->p + text->n, (size_t)n + 1, format, args);
        text->n += (size_t)n;
    }
    va_end(args);
}

void text_clear(Text *text) {
    free(text->p);
    *text = (Text){0};
}
