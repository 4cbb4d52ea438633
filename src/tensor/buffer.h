// Buffer — counted memory under tensors. Allocator — where a device's memory comes from.
#pragma once
#include <stdatomic.h>

#include "tensor/dtype.h"

typedef struct Buffer Buffer;
typedef struct Allocator Allocator;

enum { BUFFER_ALIGNMENT = 64 };  // one cache line and one AVX-512 register; TF_TensorDefaultAlignment

struct Allocator {
    const char *name;
    bool host;                                            // the CPU may read and write the memory
    Buffer *(*alloc)(Allocator *allocator, size_t bytes);  // one reference, uninitialised; NULL when memory is out
};

struct Buffer {
    _Atomic int32_t references;
    DType dtype;                      // strings and objects inside are released with the buffer
    bool holds;                       // there are such elements, and they are ours
    size_t bytes;
    void *data;                       // aligned to BUFFER_ALIGNMENT; never NULL
    uint64_t stamp;                   // 0, or a number that changes with every write: what packed copies are valid for
    Allocator *allocator;             // NULL: adopted from a client
    void (*free)(Buffer *buffer);     // gives back data and header
    void *owner;                      // for `free`
};

extern Allocator host_allocator;

// `bytes` for elements of `dtype`; strings and objects come zeroed, which is empty. RESOURCE_EXHAUSTED.
FALLIBLE Status *buffer_new(Allocator *allocator, DType dtype, size_t bytes, Buffer **out);
// Takes a client's memory; `release(data, bytes, arg)` runs when the last reference goes (also when this fails).
FALLIBLE Status *buffer_adopt(void *data, size_t bytes, DType dtype, void (*release)(void *, size_t, void *), void *arg,
                              Buffer **out);
// For tests: from now on every n-th question whether an allocation shall fail is answered with yes; 0: none. buffer_new
// asks, and so does whoever makes the memory of a step.
void buffer_fail_every(uint32_t n);
bool buffer_shall_fail(void);
void buffer_free(Buffer *buffer);      // the last reference is gone: use buffer_release
uint64_t buffer_next_stamp(void);      // never 0, and no other thread or call gets it

static inline Buffer *buffer_retain(Buffer *buffer) {
    if (buffer)
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}
static inline bool buffer_is_unique(const Buffer *buffer) {
    return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}
static inline void buffer_release(Buffer *buffer) {
    // A sole holder needs no atomic subtraction: nobody else can retain it any more.
    if (buffer && (buffer_is_unique(buffer) ||
                   atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) == 1))
        buffer_free(buffer);
}
static inline void buffer_auto(Buffer **buffer) {
    buffer_release(*buffer);
}
