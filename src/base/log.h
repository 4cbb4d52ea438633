// Log — what the library says on its own: nothing, unless MILLRACE_LOG asks for it or a listener is set.
#pragma once
#include "base/env_var.h"

typedef enum { LOG_INFO, LOG_WARNING, LOG_ERROR } LogLevel;

extern const EnvVar log_variable;   // MILLRACE_LOG

// Goes to stderr when MILLRACE_LOG is "info", "warning" or "error" and `level` reaches it, and to the listener.
void log_write(LogLevel level, const char *format, ...) PRINTF(2, 3);
// Whether anybody would hear it: for lines that cost something to make.
bool log_reaches(LogLevel level);
// Replaces the listener; NULL for none. The text is valid during the call only. Callable from any thread.
void log_listen(void (*listener)(const char *text));
