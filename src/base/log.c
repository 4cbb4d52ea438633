// Log — see log.h.
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>

typedef void Listener(const char *text);
static _Atomic(Listener *) log_listener;

const EnvVar log_variable = {"MILLRACE_LOG", "info warning error", false, NULL};  // in the order of LogLevel

static int stderr_level(void) {
    uint64_t word = env_var_read(&log_variable, NULL);
    return word ? __builtin_ctzll(word) : LOG_ERROR + 1;
}

void log_listen(Listener *listener) {
    atomic_store(&log_listener, listener);
}

bool log_reaches(LogLevel level) {
    return atomic_load(&log_listener) || (int)level >= stderr_level();
}

// One call a line: lines of several threads stay whole.
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
