// Status — see status.h.
#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Status {
    Code code;
    char where[64];
    char *message;  // in the same allocation, or replaced by status_prefix
};

static char no_memory_text[] = "out of memory";
static Status no_memory = {RESOURCE_EXHAUSTED, "", no_memory_text};

static const char *base_name(const char *file) {
    const char *src = strstr(file, "src/");
    return src ? src + 4 : file;
}

static Status *status_make(Code code, const char *where, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    Status *status = malloc(sizeof *status);
    char *message = malloc((size_t)(length < 0 ? 0 : length) + 1);
    if (!status || !message) {
        free(status);
        free(message);
        return &no_memory;
    }
    message[0] = 0;
    vsnprintf(message, (size_t)(length < 0 ? 0 : length) + 1, format, args);
    status->code = code;
    status->message = message;
    snprintf(status->where, sizeof status->where, "%s", where);
    return status;
}

Status *status_new(Code code, const char *file, int line, const char *format, ...) {
    char where[64];
    snprintf(where, sizeof where, "%s:%d", base_name(file), line);
    va_list args;
    va_start(args, format);
    Status *status = status_make(code, where, format, args);
    va_end(args);
    return status;
}

Status *status_prefix(Status *status, const char *format, ...) {
    if (!status || status == &no_memory)
        return status;
    va_list args;
    va_start(args, format);
    Status *prefix = status_make(status->code, status->where, format, args);
    va_end(args);
    if (prefix == &no_memory)
        return status;
    size_t size = strlen(prefix->message) + strlen(status->message) + 3;
    char *joined = malloc(size);
    if (joined) {
        snprintf(joined, size, "%s: %s", prefix->message, status->message);
        free(status->message);
        status->message = joined;
    }
    status_free(prefix);
    return status;
}

Status *status_copy(const Status *status) {
    if (!status)
        return OK;
    Status *copy = status_new(status->code, "", 0, "%s", status->message);
    if (copy != &no_memory)
        memcpy(copy->where, status->where, sizeof copy->where);
    return copy;
}

Status *status_with_code(Status *status, Code code) {
    if (status && status != &no_memory)
        status->code = code;
    return status;
}

void status_free(Status *status) {
    if (!status || status == &no_memory)
        return;
    free(status->message);
    free(status);
}

Code status_code(const Status *status) {
    return status ? status->code : CODE_OK;
}

const char *status_message(const Status *status) {
    return status ? status->message : "";
}

const char *status_where(const Status *status) {
    return status ? status->where : "";
}

const char *code_name(Code code) {
    static const char *const names[] = {
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
        "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    return (unsigned)code < sizeof names / sizeof *names ? names[code] : "UNKNOWN";
}

// As TensorFlow tells them apart, which is as Abseil does; programs look at the codes.
Code code_from_errno(int error) {
    switch (error) {
    case EPERM: case EACCES: case EROFS: return PERMISSION_DENIED;
    case ENOENT: case ESRCH: case ENXIO: case ENODEV: return NOT_FOUND;
    case EEXIST: case EADDRNOTAVAIL: case EALREADY: return ALREADY_EXISTS;
    case E2BIG: case EFAULT: case EINVAL: case ENOTTY: case ESPIPE: case EDOM: case ENAMETOOLONG: case ENOSTR: case EILSEQ:
    case ENOTSOCK: case EDESTADDRREQ: case EPROTOTYPE: case ENOPROTOOPT: return INVALID_ARGUMENT;
    case EBADF: case ECHILD: case ENOTBLK: case EBUSY: case ENOTDIR: case EISDIR: case ETXTBSY: case EPIPE: case ENOTEMPTY:
    case EADDRINUSE: case EISCONN: case ENOTCONN: case ESHUTDOWN: return FAILED_PRECONDITION;
    case ENOMEM: case ENFILE: case EMFILE: case ENOSPC: case EMLINK: case ENODATA: case ENOSR: case EUSERS: case ENOBUFS:
    case EDQUOT: return RESOURCE_EXHAUSTED;
    case EINTR: case EAGAIN: case ENOLCK: case ENONET: case ENOLINK: case ENETDOWN: case ENETUNREACH: case ENETRESET:
    case ECONNABORTED: case ECONNRESET: case ECONNREFUSED: case EHOSTDOWN: case EHOSTUNREACH: return UNAVAILABLE;
    case EXDEV: case ENOSYS: case EPROTONOSUPPORT: case ESOCKTNOSUPPORT: case ENOTSUP: case EPFNOSUPPORT:
    case EAFNOSUPPORT: return UNIMPLEMENTED;
    case EFBIG: case ERANGE: case EOVERFLOW: return OUT_OF_RANGE;
    case EDEADLK: case ESTALE: return ABORTED;
    case ETIME: case ETIMEDOUT: return DEADLINE_EXCEEDED;
    case ECANCELED: return CANCELLED;
    default: return UNKNOWN;
    }
}
