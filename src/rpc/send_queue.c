// Send queue — see send_queue.h.
#include "rpc/send_queue.h"

#include <string.h>

bool send_queue_copy(SendQueue *queue, const void *bytes, size_t n) {
    size_t at = queue->copies.n;
    if (!vec_reserve(&queue->copies, at + n))
        return false;
    struct SendPiece *last = queue->pieces.n > queue->first ? &vec_last(&queue->pieces) : NULL;
    if (last && !last->payload && last->at + last->n == at)
        last->n += n;
    else if (!vec_push(&queue->pieces, (struct SendPiece){.at = at, .n = n}))
        return false;
    memcpy(queue->copies.p + at, bytes, n);
    queue->copies.n += n;
    queue->bytes += n;
    return true;
}

bool send_queue_view(SendQueue *queue, Payload *payload, const void *bytes, size_t n) {
    if (!vec_push(&queue->pieces, (struct SendPiece){.payload = payload, .bytes = bytes, .n = n}))
        return false;
    payload_retain(payload);
    queue->bytes += n;
    return true;
}

int send_queue_next(const SendQueue *queue, struct iovec *out, int room) {
    int n = 0;
    for (size_t i = queue->first; i < queue->pieces.n && n < room; i++) {
        const struct SendPiece *piece = &queue->pieces.p[i];
        const uint8_t *bytes = piece->payload ? piece->bytes : queue->copies.p + piece->at;
        out[n++] = (struct iovec){(void *)bytes, piece->n};
    }
    return n;
}

void send_queue_sent(SendQueue *queue, size_t n) {
    queue->bytes -= n;
    while (n || (queue->first < queue->pieces.n && !queue->pieces.p[queue->first].n)) {
        struct SendPiece *piece = &queue->pieces.p[queue->first];
        size_t taken = n < piece->n ? n : piece->n;
        piece->n -= taken;
        piece->at += taken;
        if (piece->payload)
            piece->bytes += taken;
        n -= taken;
        if (piece->n)
            return;
        payload_release(piece->payload);
        queue->first++;
    }
    if (queue->first == queue->pieces.n)
        queue->first = queue->pieces.n = queue->copies.n = 0;
}

void send_queue_clear(SendQueue *queue) {
    for (size_t i = queue->first; i < queue->pieces.n; i++)
        payload_release(queue->pieces.p[i].payload);
    vec_clear(&queue->pieces);
    vec_clear(&queue->copies);
    *queue = (SendQueue){0};
}
