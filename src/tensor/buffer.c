// Buffer — see buffer.h. Host buffers are one block: header, then data on the next 64-byte line.
#include "tensor/buffer.h"

#include <stdlib.h>

#include "base/checked.h"
#include "tensor/object.h"
#include "tensor/tstring.h"

static _Atomic uint64_t last_stamp;

uint64_t buffer_next_stamp(void) {
    return atomic_fetch_add_explicit(&last_stamp, 1, memory_order_relaxed) + 1;
}

static void host_free(Buffer *buffer) {
    free(buffer->owner);
}

static Buffer *host_alloc(Allocator *allocator, size_t bytes) {
    size_t total;
    if (!add_size(bytes, sizeof(Buffer) + 2 * BUFFER_ALIGNMENT, &total))
        return NULL;
    char *block = malloc(total);
    if (!block)
        return NULL;
    uintptr_t data = round_up((size_t)block + sizeof(Buffer), BUFFER_ALIGNMENT);
    Buffer *buffer = (Buffer *)(data - sizeof(Buffer));
    *buffer = (Buffer){.references = 1, .bytes = bytes, .data = (void *)data, .allocator = allocator,
                       .free = host_free, .owner = block};
    return buffer;
}

Allocator host_allocator = {"host", true, host_alloc};

Status *buffer_new(Allocator *allocator, DType dtype, size_t bytes, Buffer **out) {
    Buffer *buffer = allocator->alloc(allocator, bytes);
    NEED(buffer, RESOURCE_EXHAUSTED, "can't allocate %zu bytes of %s memory for a %s tensor", bytes, allocator->name,
         dtype_name(dtype));
    buffer->dtype = dtype;
    if (!dtype_is_plain(dtype))
        memset(buffer->data, 0, bytes);
    *out = buffer;
    return OK;
}

typedef struct {
    Buffer buffer;
    void (*release)(void *, size_t, void *);
    void *arg;
} Adopted;

static void adopted_free(Buffer *buffer) {
    Adopted *adopted = (Adopted *)buffer;
    if (adopted->release)
        adopted->release(buffer->data, buffer->bytes, adopted->arg);
    free(adopted);
}

Status *buffer_adopt(void *data, size_t bytes, DType dtype, void (*release)(void *, size_t, void *), void *arg,
                     Buffer **out) {
    Adopted *adopted = malloc(sizeof *adopted);
    if (!adopted) {
        if (release)
            release(data, bytes, arg);
        FAIL(RESOURCE_EXHAUSTED, "out of memory");
    }
    *adopted = (Adopted){{.references = 1, .dtype = dtype, .bytes = bytes, .data = data, .free = adopted_free},
                         release, arg};
    *out = &adopted->buffer;
    return OK;
}

void buffer_free(Buffer *buffer) {
    // An adopted buffer's strings are the client's own, freed by its release function.
    if (buffer->allocator && dtype_kind(buffer->dtype) == KIND_STRING) {
        TString *strings = buffer->data;
        for (size_t i = 0; i < buffer->bytes / sizeof *strings; i++)
            tstring_clear(&strings[i]);
    } else if (buffer->allocator && dtype_kind(buffer->dtype) == KIND_OBJECT) {
        Object **objects = buffer->data;
        for (size_t i = 0; i < buffer->bytes / sizeof *objects; i++)
            object_release(objects[i]);
    }
    buffer->free(buffer);
}
