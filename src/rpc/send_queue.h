// Send queue — what a socket is to take next: small things copied, large ones viewed in their payloads.
#pragma once
#include <sys/uio.h>

#include "base/vec.h"
#include "rpc/payload.h"

// Zero-initialised is empty.
typedef struct {
    VEC(struct SendPiece) pieces;
    size_t first;              // the piece that is sent next
    VEC(uint8_t) copies;
    size_t bytes;              // not sent yet
} SendQueue;

struct SendPiece {
    Payload *payload;          // retained; NULL: the bytes lie in `copies`
    const uint8_t *bytes;
    size_t at, n;              // at: in `copies`
};

FALLIBLE bool send_queue_copy(SendQueue *queue, const void *bytes, size_t n);
FALLIBLE bool send_queue_view(SendQueue *queue, Payload *payload, const void *bytes, size_t n);
// The next bytes, as sendmsg takes them; returns how many there are.
int send_queue_next(const SendQueue *queue, struct iovec *out, int room);
void send_queue_sent(SendQueue *queue, size_t n);
void send_queue_clear(SendQueue *queue);
