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
    return !strcmp(wanted, "info") ? LOG_INFO : !strcmp(wanted, "warning") ? LOG_WARNING : LOG_ERROR;
}

void log_listen(Listener *listener) {
    atomic_store(&log_listener, listener);
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
