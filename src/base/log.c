// Log — see log.h.
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void Listener(const char *text);
static _Atomic(Listener *) log_listener;

static int stderr_level(void) {
    const char *wanted = getenv("MILLRACE_LOG");
    if (!wanted)
        return LOG_ERROR + 1;
    if (!strcmp(wanted, "info"))
        return LOG_INFO;
    if (!strcmp(wanted, "warning"))
        return LOG_WARNING;
    if (*wanted && strcmp(wanted, "error") != 0)
        log_bad_variable("MILLRACE_LOG", str_of(wanted), "info, warning or error");
    return LOG_ERROR;
}

bool log_next_word(const char **rest, Str *word) {
    const char *at = *rest + strspn(*rest, ",");
    *word = (Str){at, strcspn(at, ",")};
    *rest = at + word->n;
    return word->n > 0;
}

enum { MOST_REPORTED = 16 };

void log_bad_variable(const char *name, Str value, const char *legal) {
    static _Atomic uint64_t reported[MOST_REPORTED];  // what was said already, by hash
    uint64_t hash = 14695981039346656037u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    for (size_t i = 0; i < value.n; i++)
        hash = (hash ^ (unsigned char)value.p[i]) * 1099511628211u;
    hash |= 1;
    for (int i = 0; i < MOST_REPORTED; i++) {
        uint64_t before = 0;
        if (atomic_compare_exchange_strong(&reported[i], &before, hash)) {
            fprintf(stderr, "millrace: the environment's %s says '%.*s', which means nothing; it may be %s\n", name,
                    STR_ARGS(value), legal);
            return;
        }
        if (before == hash)
            return;
    }
}

void log_listen(Listener *listener) {
    atomic_store(&log_listener, listener);
}

bool log_reaches(LogLevel level) {
    return atomic_load(&log_listener) || (int)level >= stderr_level();
}

void log_write(LogLevel level, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    Listener *listener = atomic_load(&log_listener);
    if (listener)
        listener(text);
    if ((int)level >= stderr_level())
        fprintf(stderr, "millrace: %s\n", text);
}
