// Log — what the library says on its own: nothing, unless MILLRACE_LOG asks for it or a listener is set.
#pragma once
#include "base/status.h"

typedef enum { LOG_INFO, LOG_WARNING, LOG_ERROR } LogLevel;

// Goes to stderr when MILLRACE_LOG is "info", "warning" or "error" and `level` reaches it, and to the listener.
void log_write(LogLevel level, const char *format, ...) PRINTF(2, 3);
// Replaces the listener; NULL for none. The text is valid during the call only. Callable from any thread.
void log_listen(void (*listener)(const char *text));
