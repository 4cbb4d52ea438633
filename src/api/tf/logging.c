// Logging — lines of clients in the library's log, and listeners for it.
#include "tensorflow/c/logging.h"

#include <stdio.h>

#include "base/log.h"

void TF_RegisterLogListener(void (*listener)(const char *)) {
    log_listen(listener);
}

static void write_line(LogLevel level, const char *format, va_list args) {
    char line[1024];
    vsnprintf(line, sizeof line, format, args);
    log_write(level, "%s", line);
}

// TF_FATAL ends the program upstream; a library has no right to.
void TF_Log(TF_LogLevel level, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    write_line(level >= TF_ERROR ? LOG_ERROR : level == TF_WARNING ? LOG_WARNING : LOG_INFO, fmt, args);
    va_end(args);
}

void TF_VLog(int level, const char *fmt, ...) {
    if (level > 0)
        return;
    va_list args;
    va_start(args, fmt);
    write_line(LOG_INFO, fmt, args);
    va_end(args);
}

void TF_DVLog(int level, const char *fmt, ...) {
    (void)level, (void)fmt;
}
