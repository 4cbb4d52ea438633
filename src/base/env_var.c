// EnvVar — see env_var.h: variables of the environment whose words are known, so that a misspelt one is refused by
// name.
#include "base/env_var.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

// The piece before the next of `separators`, 0: all of it; false at the end. Empty pieces are passed over.
static bool next_piece(const char **rest, const char *separators, Str *piece) {
    const char *at = *rest + strspn(*rest, separators);
    *piece = (Str){at, strcspn(at, separators)};
    *rest = at + piece->n;
    return piece->n > 0;
}

static bool fits(Str pattern, Str word, uint32_t *number) {
    bool numbered = pattern.n > 2 && pattern.p[pattern.n - 1] == 'N' && pattern.p[pattern.n - 2] == ':';
    Str front = {pattern.p, pattern.n - 1};
    int64_t value;
    if (!numbered)
        return str_equal(pattern, word);
    if (!str_starts(word, front) || !str_to_int((Str){word.p + front.n, word.n - front.n}, &value) || value < 0 ||
        value > UINT32_MAX)
        return false;
    if (number)
        *number = (uint32_t)value;
    return true;
}

// Its place among the variable's words, or -1.
static int place_of(const EnvVar *variable, Str word, uint32_t *number) {
    const char *rest = variable->words, *name;
    Str pattern;
    int n = 0;
    for (; next_piece(&rest, " ", &pattern); n++)
        if (fits(pattern, word, number))
            return n;
    bool off = variable->switches && word.p[0] == '-';
    for (int i = 0; off && (name = variable->switches(i)); i++)
        if (str_is((Str){word.p + 1, word.n - 1}, name))
            return n + i;
    return -1;
}

// "a, b and c".
static void list_words(const EnvVar *variable, Text *out) {
    const char *rest = variable->words;
    Str word, following;
    for (bool more = next_piece(&rest, " ", &word), first = true; more; first = false, word = following) {
        more = next_piece(&rest, " ", &following);
        text_format(out, "%s%.*s", first ? "" : more || variable->switches ? ", " : " and ", STR_ARGS(word));
    }
    const char *name = variable->switches ? variable->switches(0) : NULL, *next;
    for (int i = 1; name; name = next, i++) {
        next = variable->switches(i);
        text_format(out, "%s-%s", next ? ", " : " and ", name);
    }
}

Status *env_var_check(const EnvVar *variable) {
    const char *value = getenv(variable->name), *rest = value;
    Str word;
    while (rest && next_piece(&rest, variable->list ? "," : "", &word)) {
        if (place_of(variable, word, NULL) >= 0)
            continue;
        AUTO(text) Text words = {0};
        list_words(variable, &words);
        FAIL(INVALID_ARGUMENT, "the environment says %s=%s: '%.*s' means nothing, allowed are %.*s%s", variable->name, value,
             STR_ARGS(word), STR_ARGS(text_str(&words)), variable->list ? ", with commas between" : "");
    }
    return OK;
}

uint64_t env_var_read(const EnvVar *variable, uint32_t *number) {
    const char *rest = getenv(variable->name);
    uint64_t found = 0;
    Str word;
    while (rest && next_piece(&rest, variable->list ? "," : "", &word)) {
        int place = place_of(variable, word, number);
        found |= place >= 0 ? (uint64_t)1 << place : 0;
    }
    return found;
}
