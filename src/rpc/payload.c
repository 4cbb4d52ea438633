// Payload — see payload.h.
#include "rpc/payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static Payload *make(size_t more) {
    size_t size;
    Payload *payload = add_size(sizeof *payload, more, &size) ? malloc(size) : NULL;
    if (payload) {
        *payload = (Payload){.references = 1, .room = sizeof payload->own / sizeof *payload->own};
        payload->pieces = payload->own;
    }
    return payload;
}

Status *payload_new(Payload **out) {
    Payload *payload = make(0);
    NEED_MEMORY(payload);
    *out = payload;
    return OK;
}

Status *payload_of(const void *bytes, size_t n, Payload **out) {
    Payload *payload = make(n);
    NEED_MEMORY(payload);
    if (n)
        memcpy(payload + 1, bytes, n);
    payload->own[0] = (Piece){.bytes = payload + 1, .n = n};
    payload->n = 1;
    payload->bytes = n;
    *out = payload;
    return OK;
}

static bool reserve(Payload *payload) {
    if (payload->n < payload->room)
        return true;
    size_t room = payload->room * 2;
    Piece *pieces = malloc(room * sizeof *pieces);
    if (!pieces)
        return false;
    memcpy(pieces, payload->pieces, payload->n * sizeof *pieces);
    if (payload->pieces != payload->own)
        free(payload->pieces);
    payload->pieces = pieces;
    payload->room = room;
    return true;
}

Status *payload_add(Payload *payload, Piece piece) {
    size_t bytes;
    Status *status = OK;
    if (!add_size(payload->bytes, piece.n, &bytes))
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "a message of more than 2^64 bytes");
    else if (!reserve(payload))
        status = OUT_OF_MEMORY;
    if (status) {
        if (piece.release)
            piece.release(piece.owner);
        return status;
    }
    payload->pieces[payload->n++] = piece;
    payload->bytes = bytes;
    return OK;
}

Status *payload_copy(Payload *payload, const void *bytes, size_t n) {
    void *copy = malloc(n ? n : 1);
    NEED_MEMORY(copy);
    if (n)
        memcpy(copy, bytes, n);
    return payload_add(payload, (Piece){copy, n, free, copy});
}

void payload_release(Payload *payload) {
    if (!payload || atomic_fetch_sub_explicit(&payload->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < payload->n; i++)
        if (payload->pieces[i].release)
            payload->pieces[i].release(payload->pieces[i].owner);
    if (payload->pieces != payload->own)
        free(payload->pieces);
    free(payload);
}

static void *heap_alloc(void *arg, size_t n) {
    (void)arg;
    return malloc(n ? n : 1);
}

static void heap_free(void *arg, void *bytes) {
    (void)arg;
    free(bytes);
}

Status *received_init(Received *received, const PayloadMemory *memory, size_t n) {
    *received = (Received){.n = n, .memory = memory && memory->alloc ? *memory : (PayloadMemory){heap_alloc, heap_free, NULL}};
    received->bytes = received->memory.alloc(received->memory.arg, n);
    NEED(received->bytes, RESOURCE_EXHAUSTED, "out of memory for a message of %zu bytes", n);
    return OK;
}

void received_clear(Received *received) {
    if (received->bytes)
        received->memory.free(received->memory.arg, received->bytes);
    received->bytes = NULL;
    received->n = 0;
}
