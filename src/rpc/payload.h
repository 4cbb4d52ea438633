// Payload — the bytes of a message: to be sent, as pieces with owners; received, in one allocation of exactly their size.
#pragma once
#include <stdatomic.h>

#include "base/status.h"

// A run of bytes that stays where it is until `release(owner)`, which is called from any thread; NULL: never.
typedef struct {
    const void *bytes;
    size_t n;
    void (*release)(void *owner);
    void *owner;
} Piece;

// Counted: a message may still lie in a socket's queue when its call has ended.
typedef struct Payload {
    _Atomic int references;
    size_t bytes;       // of all pieces
    Piece *pieces;
    size_t n, room;
    Piece own[4];       // the first pieces
} Payload;

FALLIBLE Status *payload_new(Payload **out);
// One piece, copied: one allocation in all.
FALLIBLE Status *payload_of(const void *bytes, size_t n, Payload **out);
// Adds a view; when that fails the owner is released as well.
FALLIBLE Status *payload_add(Payload *payload, Piece piece);
FALLIBLE Status *payload_copy(Payload *payload, const void *bytes, size_t n);
void payload_release(Payload *payload);  // NULL is none

static inline Payload *payload_retain(Payload *payload) {
    atomic_fetch_add_explicit(&payload->references, 1, memory_order_relaxed);
    return payload;
}

// Where a received message goes: `alloc` is asked once its length is known, and within the limits. NULL: malloc.
typedef struct {
    void *(*alloc)(void *arg, size_t n);  // NULL when memory is out
    void (*free)(void *arg, void *bytes);
    void *arg;
} PayloadMemory;

// A received message. Whoever takes the bytes away sets `bytes` to NULL.
typedef struct {
    uint8_t *bytes;
    size_t n;
    PayloadMemory memory;
} Received;

FALLIBLE Status *received_init(Received *received, const PayloadMemory *memory, size_t n);
void received_clear(Received *received);
