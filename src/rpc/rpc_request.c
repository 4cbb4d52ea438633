// RPC request — one call at a server, from its headers to its answer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_server_internal.h"
#include "rpc/wire.h"

static void retain(RpcRequest *request) {
    atomic_fetch_add_explicit(&request->references, 1, memory_order_relaxed);
}

static void release(RpcRequest *request, int references) {
    if (atomic_fetch_sub_explicit(&request->references, references, memory_order_acq_rel) != references)
        return;
    http_stream_clear(&request->stream);
    cancellation_clear(&request->cancellation);
    text_clear(&request->path);
    text_clear(&request->host);
    metadata_clear(&request->metadata);
    metadata_clear(&request->headers);
    metadata_clear(&request->trailers);
    text_clear(&request->message);
    status_free(request->reason);
    Connection *connection = request->connection;
    free(request);
    connection_release(connection);
}

// ---- cancellation

static void run_cancel(EventTask *task) {
    RpcRequest *request = (RpcRequest *)((char *)task - offsetof(RpcRequest, cancel));
    Status *reason = request->reason;
    request->reason = NULL;
    cancellation_cancel(&request->cancellation, reason);
    release(request, 1);
}

// Under the guard; takes the reason. Only what a handler has can be cancelled.
static void cancel(RpcRequest *request, Status *reason) {
    if (!request->handed || request->cancelled) {
        status_free(reason);
        return;
    }
    request->cancelled = true;
    request->reason = reason;
    retain(request);
    guard_defer(&request->peer->guard, &request->cancel);
}

// ---- the answer

static void list_trailers(const RpcRequest *request, char code[4], HeaderFields *out) {
    snprintf(code, 4, "%d", (int)request->code);
    header_fields_add(out, STR("grpc-status"), str_of(code));
    if (request->message.n)
        header_fields_add(out, STR("grpc-message"), text_str(&request->message));
    header_fields_add_all(out, &request->trailers);
}

static Status *send_headers(RpcRequest *request) {
    HeaderFields headers = {.n = 0};
    char code[4];
    header_fields_add(&headers, STR(":status"), !request->posted ? STR("405") : !request->grpc ? STR("415") : STR("200"));
    header_fields_add(&headers, STR("content-type"), STR("application/grpc"));
    if (request->code == UNIMPLEMENTED)
        header_fields_add(&headers, STR("grpc-accept-encoding"), STR("identity"));
    header_fields_add_all(&headers, &request->headers);
    if (!request->stream.out)
        list_trailers(request, code, &headers);
    Status *status = headers.failed ? OUT_OF_MEMORY : connection_respond(&request->stream, &headers);
    header_fields_clear(&headers);
    return status;
}

static Status *send_trailers(HttpStream *stream) {
    HeaderFields trailers = {.n = 0};
    char code[4];
    list_trailers((RpcRequest *)stream, code, &trailers);
    Status *status = trailers.failed ? OUT_OF_MEMORY : connection_trail(stream, &trailers);
    header_fields_clear(&trailers);
    return status;
}

static Status *attach_message(RpcRequest *request, Payload *message) {
    Connection *connection = request->connection;
    Status *status = OK;
    if (message->bytes > UINT32_MAX)
        status = status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "an answer of %zu bytes; gRPC knows of 2^32 - 1 at most",
                            message->bytes);
    else if (!connection_hold(connection, message->bytes))
        status = status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__,
                            "an answer of %zu bytes: with others that the client has not taken that is more than %zu",
                            message->bytes, connection->limits.held_bytes);
    if (status)
        payload_release(message);
    else
        http_stream_send(&request->stream, message);
    return status;
}

// Under the guard; takes both. A grpc-message is cut at 4 KiB: with longer ones headers are refused.
static void reply(RpcRequest *request, Status *status, Payload *message) {
    HttpStream *stream = &request->stream;
    if (request->replied || !stream->link || request->connection->failure) {
        status_free(status);
        payload_release(message);
        return;
    }
    request->replied = true;
    stream->deaf = true;
    if (message)
        status = attach_message(request, message);
    request->code = status_code(status);
    Str text = str_of(status_message(status));
    wire_percent_encode((Str){text.p, text.n < 4096 ? text.n : 4096}, &request->message);
    status_free(status);
    status = send_headers(request);
    if (status)
        connection_reset(stream, NGHTTP2_INTERNAL_ERROR);
    status_free(status);
    connection_flush(request->connection);
}

// The bytes of the request go before the request does. Under the guard.
static void let_go_of_message(RpcRequest *request) {
    connection_let_go(request->connection, request->stream.in.n);
    received_clear(&request->stream.in);
}

void rpc_request_answer(RpcRequest *request, Status *status, Payload *message) {
    if (status) {
        payload_release(message);
        message = NULL;
    } else if (!message) {
        status = payload_of(NULL, 0, &message);
    }
    Guard *guard = &request->peer->guard;
    Connection *connection = connection_retain(request->connection);
    guard_lock(guard);
    reply(request, status, message);
    let_go_of_message(request);
    guard_unlock(guard);
    release(request, event_loop_clear_timer(connection->loop, &request->timer) ? 2 : 1);
    connection_release(connection);
}

// ---- what comes

static void on_deadline(EventTimer *timer) {
    RpcRequest *request = (RpcRequest *)((char *)timer - offsetof(RpcRequest, timer));
    Guard *guard = &request->peer->guard;
    guard_lock(guard);
    reply(request, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the call's deadline has passed"), NULL);
    cancel(request, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the call's deadline has passed"));
    guard_unlock_and_run(guard);
    release(request, 1);
}

static void run_handler(EventTask *task) {
    RpcRequest *request = (RpcRequest *)((char *)task - offsetof(RpcRequest, run));
    request->method->handler(request->method->arg, request);
}

static HttpStream *on_begin(Connection *connection) {
    RpcRequest *request = malloc(sizeof *request);
    if (!request)
        return NULL;
    *request = (RpcRequest){
        .references = 1, .peer = connection->owner, .connection = connection_retain(connection), .deadline = NO_DEADLINE,
        .timer.fire = on_deadline, .run.run = run_handler, .cancel.run = run_cancel,
    };
    request->stream.most_bytes = connection->limits.message_bytes;
    cancellation_init(&request->cancellation, NULL);
    return &request->stream;
}

static bool is_unused(Str name) {
    static const char *const names[] = {"te", "user-agent", "grpc-accept-encoding", "accept-encoding", "grpc-encoding"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i]))
            return true;
    return name.n == 0 || name.p[0] == ':';
}

static bool is_secret(const RpcServer *server, Str value) {
    Str scheme = STR("Bearer ");
    return server->secret && str_starts(value, scheme) &&
           wire_same_secret((Str){value.p + scheme.n, value.n - scheme.n}, str_of(server->secret));
}

static void on_header(HttpStream *stream, Str name, Str value) {
    RpcRequest *request = (RpcRequest *)stream;
    int64_t timeout, now = event_loop_now(request->connection->loop);
    if (stream->headers_seen)
        return;  // a client's trailers mean nothing
    if (str_is(name, ":path"))
        text_add(&request->path, value);
    else if (str_is(name, ":method"))
        request->posted = str_is(value, "POST");
    else if (str_is(name, "content-type"))
        request->grpc = str_starts(value, STR("application/grpc"));
    else if (str_is(name, "grpc-timeout") && wire_timeout_read(value, &timeout))
        request->deadline = timeout < NO_DEADLINE - now ? now + timeout : NO_DEADLINE;
    else if (str_is(name, "authorization"))
        request->authorised = is_secret(request->peer->server, value);
    else if (!is_unused(name) && !metadata_add_decoded(&request->metadata, name, value))
        reply(request, OUT_OF_MEMORY, NULL);
}

static Status *check_headers(RpcRequest *request) {
    const RpcServer *server = request->peer->server;
    Str path = text_str(&request->path);
    NEED(request->posted, INTERNAL, "gRPC is spoken by POST");
    NEED(request->grpc, INTERNAL, "a content-type of application/grpc is expected");
    request->method = map_find(&server->methods, path);
    NEED(!server->secret || request->authorised || (request->method && request->method->open), UNAUTHENTICATED,
         "the secret is missing or wrong");
    NEED(request->method, UNIMPLEMENTED, "unknown method %.*s", STR_ARGS(path));
    return OK;
}

static void on_headers(HttpStream *stream) {
    RpcRequest *request = (RpcRequest *)stream;
    Status *status = check_headers(request);
    if (status) {
        reply(request, status, NULL);
    } else if (request->deadline != NO_DEADLINE) {
        retain(request);  // the timer's
        event_loop_set_timer(request->connection->loop, &request->timer, request->deadline);
    }
}

static void on_ended(HttpStream *stream) {
    RpcRequest *request = (RpcRequest *)stream;
    Status *status = http_stream_check(stream);
    if (status || request->replied || atomic_load(&request->peer->server->stopped)) {
        reply(request, status ? status : status_new(UNAVAILABLE, __FILE__, __LINE__, "the server is stopping"), NULL);
        return;
    }
    request->handed = true;
    retain(request);  // the handler's
    guard_defer(&request->peer->guard, &request->run);
}

static void on_fault(HttpStream *stream, Status *status) {
    RpcRequest *request = (RpcRequest *)stream;
    request->posted = request->grpc = true;
    reply(request, status, NULL);
}

static void on_closed(HttpStream *stream, uint32_t error) {
    RpcRequest *request = (RpcRequest *)stream;
    Connection *connection = request->connection;
    (void)error;
    if (!request->replied)
        cancel(request, connection->failure
                            ? status_new(CANCELLED, __FILE__, __LINE__, "the client %s is gone: %s", connection->peer,
                                         status_message(connection->failure))
                            : status_new(CANCELLED, __FILE__, __LINE__, "the client %s has cancelled the call", connection->peer));
    if (!request->handed)
        let_go_of_message(request);
    if (stream->out)
        connection_let_go(connection, stream->out->bytes);
    bool had_timer = !request->handed && event_loop_clear_timer(connection->loop, &request->timer);
    release(request, had_timer ? 2 : 1);
}

static void on_lost(Connection *connection) {
    rpc_server_lost(connection->owner);
}

static void on_ready(Connection *connection) {
    (void)connection;
}

static void on_going(Connection *connection, const char *why) {
    (void)connection, (void)why;
}

static void on_freed(void *owner) {
    RpcPeer *peer = owner;
    RpcServer *server = peer->server;
    guard_clear(&peer->guard);
    free(peer);
    rpc_server_release(server);
}

const ConnectionRole rpc_server_role = {
    .server = true, .begin = on_begin, .header = on_header, .headers = on_headers, .ended = on_ended, .fault = on_fault,
    .trailers = send_trailers, .closed = on_closed, .ready = on_ready, .going = on_going, .lost = on_lost, .freed = on_freed,
};

// ---- what handlers ask

Str rpc_request_method(const RpcRequest *request) {
    return text_str(&request->path);
}

Received *rpc_request_message(RpcRequest *request) {
    return &request->stream.in;
}

bool rpc_request_metadata(const RpcRequest *request, Str name, Str *out_value) {
    return metadata_find(&request->metadata, name, out_value);
}

int64_t rpc_request_deadline(const RpcRequest *request) {
    return request->deadline;
}

Cancellation *rpc_request_cancellation(RpcRequest *request) {
    return &request->cancellation;
}

const char *rpc_request_peer(const RpcRequest *request) {
    return request->connection->peer;
}

// Under the guard: the deadline may pass meanwhile, and be answered.
static Status *add(RpcRequest *request, Metadata *metadata, Str name, Str value) {
    Guard *guard = &request->peer->guard;
    guard_lock(guard);
    bool added = metadata_add_coded(metadata, name, value);
    guard_unlock(guard);
    NEED_MEMORY(added);
    return OK;
}

Status *rpc_request_add_header(RpcRequest *request, Str name, Str value) {
    return add(request, &request->headers, name, value);
}

Status *rpc_request_add_trailer(RpcRequest *request, Str name, Str value) {
    return add(request, &request->trailers, name, value);
}
