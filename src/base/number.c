// Number — see number.h. The C locale costs nothing to make: libc keeps one ready.
#define _GNU_SOURCE  // strtod_l
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Calls strtod on a NUL-terminated copy; `single` rounds once, to float.
static bool parse(Str s, bool single, double *out) {
    char inside[64];
    if (s.n == 0 || s.p[0] <= ' ')
        return false;
    char *copy = s.n < sizeof inside ? inside : malloc(s.n + 1);
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool ok = copy && c;
    if (ok) {
        memcpy(copy, s.p, s.n);
        copy[s.n] = 0;
        char *end;
        double value = single ? (double)strtof_l(copy, &end, c) : strtod_l(copy, &end, c);
        ok = end == copy + s.n;
        if (ok)
            *out = value;
    }
    if (c)
        freelocale(c);
    if (copy != inside)
        free(copy);
    return ok;
}

bool str_to_double(Str s, double *out) {
    return parse(s, false, out);
}

bool str_to_float(Str s, float *out) {
    double value;
    if (!parse(s, true, &value))
        return false;
    *out = (float)value;
    return true;
}

static void print(Text *text, double value, int digits, int most, bool single) {
    if (!isfinite(value)) {
        text_add(text, isnan(value) ? STR("nan") : value > 0 ? STR("inf") : STR("-inf"));
        return;
    }
    char number[40];
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    for (; digits <= most; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (single ? strtof(number, NULL) == (float)value : strtod(number, NULL) == value)
            break;
    }
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    text_add(text, str_of(number));
}

void text_double(Text *text, double value) {
    print(text, value, 15, 17, false);
}

void text_float(Text *text, float value) {
    print(text, value, 6, 9, true);
}
