// Status — the result of everything that can fail: NULL is OK, anything else is an error that its holder frees.
//
// Conventions of the whole house, said once:
//   * A function that can fail returns `Status *` and is `FALLIBLE`: the compiler rejects a call that drops the result.
//   * Outputs come last, are named `out` or `out_*`, and are untouched on failure.
//   * Nothing aborts, exits or asserts on input. `BUG` is for what only we can have broken.
//   * `AUTO(type)` releases a local at the end of its scope; each type defines `type_auto` beside itself.
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The canonical codes, with the numbers of TF_Code and gRPC.
typedef enum {
    CODE_OK = 0,
    CANCELLED = 1,
    UNKNOWN = 2,
    INVALID_ARGUMENT = 3,
    DEADLINE_EXCEEDED = 4,
    NOT_FOUND = 5,
    ALREADY_EXISTS = 6,
    PERMISSION_DENIED = 7,
    RESOURCE_EXHAUSTED = 8,
    FAILED_PRECONDITION = 9,
    ABORTED = 10,
    OUT_OF_RANGE = 11,
    UNIMPLEMENTED = 12,
    INTERNAL = 13,
    UNAVAILABLE = 14,
    DATA_LOSS = 15,
    UNAUTHENTICATED = 16,
} Code;

typedef struct Status Status;

#define OK ((Status *)0)
#define FALLIBLE __attribute__((warn_unused_result))
#define PRINTF(text, first) __attribute__((format(printf, text, first)))

// Makes an error. Never returns NULL: when memory is out it returns one shared RESOURCE_EXHAUSTED status.
Status *status_new(Code code, const char *file, int line, const char *format, ...) FALLIBLE PRINTF(4, 5);
// Puts "text: " before the message; takes and returns the status (NULL stays NULL).
Status *status_prefix(Status *status, const char *format, ...) FALLIBLE PRINTF(2, 3);
// Another status with the same code and message; NULL for NULL.
Status *status_copy(const Status *status) FALLIBLE;
// Names the canonical code of a status made elsewhere, keeping its message.
Status *status_with_code(Status *status, Code code) FALLIBLE;
void status_free(Status *status);

Code status_code(const Status *status);            // CODE_OK for NULL
const char *status_message(const Status *status);  // "" for NULL; valid until the status is freed
const char *status_where(const Status *status);    // "file:line" of the FAIL that made it; "" for NULL
const char *code_name(Code code);                  // "INVALID_ARGUMENT"
Code code_from_errno(int error);                   // ENOENT -> NOT_FOUND ...

#define FAIL(code, ...) return status_new((code), __FILE__, __LINE__, __VA_ARGS__)
#define NEED(condition, code, ...)                        \
    do {                                                  \
        if (__builtin_expect(!(condition), 0))            \
            FAIL(code, __VA_ARGS__);                      \
    } while (0)
#define TRY(expression)                                   \
    do {                                                  \
        Status *try_status_ = (expression);               \
        if (__builtin_expect(try_status_ != NULL, 0))     \
            return try_status_;                           \
    } while (0)
#define OUT_OF_MEMORY status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory")
#define NEED_MEMORY(pointers)                             \
    do {                                                  \
        if (__builtin_expect(!(pointers), 0))             \
            return OUT_OF_MEMORY;                         \
    } while (0)
#define BUG(...) FAIL(INTERNAL, __VA_ARGS__)

#define AUTO(type) __attribute__((cleanup(type##_auto)))

static inline void status_auto(Status **status) {
    status_free(*status);
}
