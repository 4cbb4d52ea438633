// HTTP stream — one message each way: five bytes that say how long it is, then its bytes, over any number of frames.
#include <stdlib.h>
#include <string.h>

#include "rpc/connection.h"

enum {
    PREFIX = 5,
    COPIED = 4096,  // a run of fewer bytes is copied behind its frame's head: cheaper than an entry of its own
};

// ---- out

void http_stream_send(HttpStream *stream, Payload *payload) {
    uint32_t n = (uint32_t)payload->bytes;
    payload_release(stream->out);
    stream->out = payload;
    stream->out_left = PREFIX + (uint64_t)payload->bytes;
    stream->out_piece = stream->out_at = 0;
    const uint8_t prefix[PREFIX] = {0, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    memcpy(stream->out_prefix, prefix, PREFIX);
}

// How much of the message the next frame holds.
ssize_t http_stream_read(HttpStream *stream, size_t room, uint32_t *flags) {
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (stream->out_left > room)
        return (ssize_t)room;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)stream->out_left;
}

static bool put_run(HttpStream *stream, SendQueue *queue, const Piece *piece, size_t n) {
    const uint8_t *bytes = (const uint8_t *)piece->bytes + stream->out_at;
    return n < COPIED ? send_queue_copy(queue, bytes, n) : send_queue_view(queue, stream->out, bytes, n);
}

bool http_stream_put(HttpStream *stream, const uint8_t *frame_head, size_t n) {
    SendQueue *queue = &stream->connection->queue;
    size_t body = stream->out ? stream->out->bytes : 0;
    if (!send_queue_copy(queue, frame_head, 9))
        return false;
    if (n && stream->out_left > body) {
        size_t left = (size_t)(stream->out_left - body), taken = left < n ? left : n;
        if (!send_queue_copy(queue, stream->out_prefix + PREFIX - left, taken))
            return false;
        n -= taken;
        stream->out_left -= taken;
    }
    while (n && stream->out_piece < stream->out->n) {
        const Piece *piece = &stream->out->pieces[stream->out_piece];
        size_t left = piece->n - stream->out_at, taken = left < n ? left : n;
        if (taken && !put_run(stream, queue, piece, taken))
            return false;
        n -= taken;
        stream->out_left -= taken;
        stream->out_at += taken;
        if (stream->out_at == piece->n) {
            stream->out_piece++;
            stream->out_at = 0;
        }
    }
    return n == 0;
}

// ---- in

static Status *begin_message(HttpStream *stream) {
    const uint8_t *p = stream->prefix;
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    NEED(p[0] <= 1, INTERNAL, "a message begins with flags %d, which mean nothing", p[0]);
    NEED(!p[0], UNIMPLEMENTED, "a compressed message: only the encoding identity is understood");
    NEED(n <= stream->most_bytes, RESOURCE_EXHAUSTED, "a message of %zu bytes; %zu at most are taken", n, stream->most_bytes);
    NEED(connection_hold(stream->connection, n), RESOURCE_EXHAUSTED,
         "a message of %zu bytes: with those of other calls that is more than %zu", n, stream->connection->limits.held_bytes);
    Status *status = received_init(&stream->in, stream->memory, n);
    if (status) {
        connection_let_go(stream->connection, n);
        received_clear(&stream->in);
        stream->in.n = 0;
    }
    return status;
}

Status *http_stream_take(HttpStream *stream, const uint8_t *bytes, size_t n) {
    while (n && stream->n_prefix < PREFIX) {
        stream->prefix[stream->n_prefix++] = *bytes++;
        n--;
        if (stream->n_prefix == PREFIX)
            TRY(begin_message(stream));
    }
    if (!n)
        return OK;
    NEED(n <= stream->in.n - stream->got, UNIMPLEMENTED, "more than one message: calls are unary here");
    memcpy(stream->in.bytes + stream->got, bytes, n);
    stream->got += n;
    return OK;
}

Status *http_stream_check(const HttpStream *stream) {
    NEED(stream->n_prefix, INTERNAL, "no message came");
    NEED(stream->n_prefix == PREFIX && stream->got == stream->in.n, INTERNAL,
         "the message ends after %zu of %zu bytes", stream->got, stream->in.n);
    return OK;
}

// ---- the list

void http_stream_detach(HttpStream *stream) {
    if (!stream->link)
        return;
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    stream->link = NULL;
    stream->connection->n_streams--;
}

void http_stream_clear(HttpStream *stream) {
    received_clear(&stream->in);
    payload_release(stream->out);
    stream->out = NULL;
}
