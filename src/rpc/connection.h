// Connection — HTTP/2 over one socket, for either end: frames by nghttp2, gRPC's messages by HttpStream, limits, pings.
//
// All of it is guarded by a Guard: a server's connection has one of its own, a channel's share the channel's. Any thread
// may submit under it; what was submitted is sent before the guard is left (connection_flush), so a call needs no hop to
// the loop's thread. Reading is the loop's. What the peer does comes to the ConnectionRole, under the guard: it defers
// whatever calls others.
#pragma once
#include <nghttp2/nghttp2.h>

#include "rpc/guard.h"
#include "rpc/header_fields.h"
#include "rpc/limits.h"
#include "rpc/payload.h"
#include "rpc/send_queue.h"

typedef struct Connection Connection;
typedef struct HttpStream HttpStream;
typedef struct Tls Tls;

// One call on a connection. Lies first in a channel's RpcCall or a server's RpcRequest.
struct HttpStream {
    Connection *connection;      // NULL: on none
    int32_t id;
    HttpStream *next, **link;    // the streams of the connection
    // What comes in.
    uint8_t prefix[5];
    uint8_t n_prefix;
    bool headers_seen, ended;    // the first headers; the peer has said all
    bool deaf;                   // nobody wants what comes any more
    bool unsent;                 // the peer has not heard of it
    size_t header_bytes;
    size_t most_bytes;           // of a message
    const PayloadMemory *memory;
    Received in;
    size_t got;
    int64_t heard;               // when something came last
    // What goes out.
    Payload *out;                // retained
    uint8_t out_prefix[5];
    uint64_t out_left;           // prefix included
    size_t out_piece, out_at;    // where the next byte lies
};

typedef struct {
    bool server;
    // A stream that the peer opens; NULL: it is refused.
    HttpStream *(*begin)(Connection *connection);
    void (*header)(HttpStream *stream, Str name, Str value);
    void (*headers)(HttpStream *stream);               // all of the first headers have come
    void (*ended)(HttpStream *stream);                 // the peer has said all
    void (*fault)(HttpStream *stream, Status *status);  // what came is not right; takes the status
    FALLIBLE Status *(*trailers)(HttpStream *stream);  // the message has gone: submit what follows
    void (*closed)(HttpStream *stream, uint32_t error);  // it is off the connection
    void (*ready)(Connection *connection);             // the peer speaks HTTP/2
    void (*going)(Connection *connection, const char *why);  // the peer takes no more streams
    void (*lost)(Connection *connection);              // its streams have been closed; `failure` says why
    void (*freed)(void *owner);                        // nothing refers to the connection any more
} ConnectionRole;

struct Connection {
    EventSource source;
    const ConnectionRole *role;
    void *owner;
    Connection *next, **link;     // the owner's list
    Guard *guard;
    EventLoop *loop;
    _Atomic int references;
    RpcLimits limits;
    char *peer;                   // "127.0.0.1:2222", for errors
    nghttp2_session *session;
    Tls *tls;                     // NULL: in the clear
    SendQueue queue;
    HttpStream *streams;
    size_t n_streams;
    size_t held;                  // bytes of messages that came and are not delivered, or wait to be sent
    bool blocked;                 // the socket takes no more; waits for EPOLLOUT
    bool settled;                 // the peer's SETTINGS have come
    bool going;                   // the peer or we have said GOAWAY: no new streams
    bool flushing;                // the task is posted
    Status *failure;              // why it is lost; NULL: it is not
    bool closed;
    EventTask flush, close, gone;
    // Time.
    EventTimer tick;
    int64_t opened, heard, sent;  // sent: when the socket took something last
    int64_t header_begun;         // a header block that has not ended; 0: none
    int64_t pinged;               // a ping of ours that is not answered; 0: none
    int64_t ping_time;            // the last of the peer's pings
    int64_t end_at;               // it has been told to go and is waited for until then; 0: it has not
    int ping_strikes, idle_frames;
    bool draining;                // our GOAWAY has no last stream yet
};

// Takes the socket. `peer` is copied. The caller's reference is returned.
FALLIBLE Status *connection_new(const ConnectionRole *role, void *owner, Guard *guard, int fd, const char *peer,
                                const RpcLimits *limits, Tls *tls, Connection **out);
// Starts reading; after this the loop has a reference too, until it is lost. On the loop's thread.
FALLIBLE Status *connection_start(Connection *connection);
Connection *connection_retain(Connection *connection);
void connection_release(Connection *connection);

// ---- under the guard

// A call of ours. `headers` as they stand; a body if `stream->out` is set by http_stream_send.
FALLIBLE Status *connection_request(Connection *connection, HttpStream *stream, const HeaderFields *headers);
FALLIBLE Status *connection_respond(HttpStream *stream, const HeaderFields *headers);  // with body if one is set
FALLIBLE Status *connection_trail(HttpStream *stream, const HeaderFields *trailers);   // from role->trailers
void connection_reset(HttpStream *stream, uint32_t error);
// Ends it, on the loop's thread, soon: streams are closed, then role->lost. Takes the status; the first one counts.
void connection_lose(Connection *connection, Status *status);
// No new streams; what runs ends, then the connection. The peer may still open some until it has heard so.
void connection_drain(Connection *connection);
// Sends what was submitted: now, or at the end of the turn on the loop's thread.
void connection_flush(Connection *connection);
bool connection_is_usable(const Connection *connection);  // takes new streams
// More bytes are held for messages; false, and none held, when that is beyond the limit.
bool connection_hold(Connection *connection, size_t bytes);
void connection_let_go(Connection *connection, size_t bytes);

// ---- streams (http_stream.c), under the guard

void http_stream_send(HttpStream *stream, Payload *payload);  // takes it
void http_stream_detach(HttpStream *stream);                  // from the connection's list
void http_stream_clear(HttpStream *stream);
// Bytes of DATA. INTERNAL, UNIMPLEMENTED, RESOURCE_EXHAUSTED.
FALLIBLE Status *http_stream_take(HttpStream *stream, const uint8_t *bytes, size_t n);
// OK: exactly one message came, whole.
FALLIBLE Status *http_stream_check(const HttpStream *stream);
ssize_t http_stream_read(HttpStream *stream, size_t room, uint32_t *flags);
FALLIBLE bool http_stream_put(HttpStream *stream, const uint8_t *frame_head, size_t n);
