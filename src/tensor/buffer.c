// Buffer — see buffer.h. Host buffers are one block: header, then data on the next 64-byte line.
//
// Blocks up to 64 KiB come from a thread's own spares, without a lock, and go back to the thread that frees them;
// larger ones from blocks.c, which all threads share.
#include "tensor/buffer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/checked.h"
#include "tensor/blocks.h"
#include "tensor/object.h"
#include "tensor/tstring.h"

// Stamps are taken by the thousand, so that threads don't meet at the counter.
enum { STAMPS = 1024 };
static _Atomic uint64_t stamps_taken;
static _Thread_local struct {
    uint64_t last, end;
} stamps;

uint64_t buffer_next_stamp(void) {
    if (stamps.last == stamps.end) {
        stamps.last = atomic_fetch_add_explicit(&stamps_taken, STAMPS, memory_order_relaxed);
        stamps.end = stamps.last + STAMPS;
    }
    return ++stamps.last;
}

// ---- failures on purpose

static _Atomic uint32_t fail_every, asked;

void buffer_fail_every(uint32_t n) {
    atomic_store_explicit(&fail_every, n, memory_order_relaxed);
}

bool buffer_shall_fail(void) {
    uint32_t n = atomic_load_explicit(&fail_every, memory_order_relaxed);
    return __builtin_expect(n != 0, 0) && (atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) + 1) % n == 0;
}

// ---- spare blocks: each thread keeps a few of each small size, so that a late value costs 5 ns instead of 40

enum { SPARE_CLASSES = 9, SMALLEST_SPARE = 256 };  // blocks of 256 bytes to 64 KiB

// The address sanitizer sees a block that is used after it was freed only where it is really freed.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { SPARES_OF_A_CLASS = 0 };
#else
enum { SPARES_OF_A_CLASS = 32 };
#endif

typedef struct SpareBlock {
    struct SpareBlock *next;
} SpareBlock;

typedef struct {
    SpareBlock *blocks[SPARE_CLASSES];
    uint8_t counts[SPARE_CLASSES];
    bool registered;
} SpareBlocks;

// Not of the initial-exec model: a library that asks for static thread storage can't be opened late by Python or Java.
static _Thread_local SpareBlocks spares;
static pthread_key_t spares_key;
static pthread_once_t spares_once = PTHREAD_ONCE_INIT;

// The thread's last act: blocks that other threads gave it go with it.
static void spares_free(void *arg) {
    SpareBlocks *own = arg;
    for (int c = 0; c < SPARE_CLASSES; c++) {
        while (own->blocks[c]) {
            SpareBlock *next = own->blocks[c]->next;
            free(own->blocks[c]);
            own->blocks[c] = next;
        }
        own->counts[c] = SPARES_OF_A_CLASS;  // the thread is ending: what it frees from now on is freed
    }
}

static void spares_make_key(void) {
    pthread_key_create(&spares_key, spares_free);
}

// The class of a block of so many bytes, SPARE_CLASSES for none; `*bytes` becomes the class's size.
// Powers of two from 256 bytes on.
static int spare_class(size_t *bytes) {
    if (*bytes > (size_t)SMALLEST_SPARE << (SPARE_CLASSES - 1))
        return SPARE_CLASSES;
    int c = *bytes <= SMALLEST_SPARE ? 0 : 64 - 8 - __builtin_clzll((unsigned long long)(*bytes - 1));
    *bytes = (size_t)SMALLEST_SPARE << c;
    return c;
}

static void *block_alloc(size_t total) {
    int c = spare_class(&total);
    if (c < SPARE_CLASSES && spares.blocks[c]) {
        SpareBlock *block = spares.blocks[c];
        spares.blocks[c] = block->next;
        spares.counts[c]--;
        return block;
    }
    return malloc(total);
}

static void block_free(void *memory, size_t total) {
    int c = spare_class(&total);
    if (c == SPARE_CLASSES || spares.counts[c] >= SPARES_OF_A_CLASS) {
        free(memory);
        return;
    }
    if (__builtin_expect(!spares.registered, 0)) {
        pthread_once(&spares_once, spares_make_key);
        pthread_setspecific(spares_key, &spares);
        spares.registered = true;
    }
    SpareBlock *block = memory;
    block->next = spares.blocks[c];
    spares.blocks[c] = block;
    spares.counts[c]++;
}

static size_t block_bytes(size_t bytes) {
    return bytes + sizeof(Buffer) + 2 * BUFFER_ALIGNMENT;
}

static void host_free(Buffer *buffer) {
    block_free(buffer->owner, block_bytes(buffer->bytes));
}

static Buffer *buffer_in(char *block, size_t head, size_t bytes, Allocator *allocator, void (*give)(Buffer *)) {
    uintptr_t data = round_up((size_t)block + head + sizeof(Buffer), BUFFER_ALIGNMENT);
    Buffer *buffer = (Buffer *)(data - sizeof(Buffer));
    *buffer = (Buffer){.references = 1, .bytes = bytes, .data = (void *)data, .allocator = allocator, .free = give,
                       .owner = block};
    return buffer;
}

// A large block begins with its size.
static void large_free(Buffer *buffer) {
    size_t *block = buffer->owner;
    blocks_give(block, *block);
}

static Buffer *large_alloc(Allocator *allocator, size_t total, size_t bytes) {
    size_t *block = blocks_take(total + sizeof *block, &total);
    if (!block)
        return NULL;
    *block = total;
    return buffer_in((char *)block, sizeof *block, bytes, allocator, large_free);
}

static Buffer *host_alloc(Allocator *allocator, size_t bytes) {
    size_t total;
    if (!add_size(bytes, sizeof(Buffer) + 2 * BUFFER_ALIGNMENT, &total))
        return NULL;
    if (total > BLOCKS_SMALLEST)
        return large_alloc(allocator, total, bytes);
    char *block = block_alloc(total);
    return block ? buffer_in(block, 0, bytes, allocator, host_free) : NULL;
}

Allocator host_allocator = {"host", true, host_alloc};

Status *buffer_new(Allocator *allocator, DType dtype, size_t bytes, Buffer **out) {
    Buffer *buffer = buffer_shall_fail() ? NULL : allocator->alloc(allocator, bytes);
    NEED(buffer, RESOURCE_EXHAUSTED, "can't allocate %zu bytes of %s memory for a %s tensor", bytes, allocator->name,
         dtype_name(dtype));
    buffer->dtype = dtype;
    // Elements that own memory must be empty before anybody writes or frees them.
    if (__builtin_expect(dtype == DT_string || dtype == DT_resource || dtype == DT_variant, 0)) {
        buffer->holds = true;
        memset(buffer->data, 0, bytes);
    }
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
        return OUT_OF_MEMORY;
    }
    *adopted = (Adopted){{.references = 1, .dtype = dtype, .bytes = bytes, .data = data, .free = adopted_free},
                         release, arg};
    *out = &adopted->buffer;
    return OK;
}

void buffer_free(Buffer *buffer) {
    // An adopted buffer's strings are the client's own, freed by its release function.
    if (__builtin_expect(!buffer->holds, 1)) {
        buffer->free(buffer);
        return;
    }
    if (dtype_kind(buffer->dtype) == KIND_STRING) {
        TString *strings = buffer->data;
        for (size_t i = 0; i < buffer->bytes / sizeof *strings; i++)
            tstring_clear(&strings[i]);
    } else {
        Object **objects = buffer->data;
        for (size_t i = 0; i < buffer->bytes / sizeof *objects; i++)
            object_release(objects[i]);
    }
    buffer->free(buffer);
}
