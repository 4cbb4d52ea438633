// Log — what the library says on its own: nothing, unless MILLRACE_LOG asks for it or a listener is set.
#pragma once
#include "base/str.h"

typedef enum { LOG_INFO, LOG_WARNING, LOG_ERROR } LogLevel;

// Goes to stderr when MILLRACE_LOG is "info", "warning" or "error" and `level` reaches it, and to the listener.
void log_write(LogLevel level, const char *format, ...) PRINTF(2, 3);
// Whether anybody would hear it: for lines that cost something to make.
bool log_reaches(LogLevel level);
// A variable of the environment has a value, or a part of one, that nobody understands: says so on stderr, whatever
// MILLRACE_LOG says, once for each value; `legal` is what it may be.
void log_bad_variable(const char *name, Str value, const char *legal);
// The next word of a list with commas, which begins at *rest; false at the end. Empty words are passed over.
bool log_next_word(const char **rest, Str *word);
// Replaces the listener; NULL for none. The text is valid during the call only. Callable from any thread.
void log_listen(void (*listener)(const char *text));
