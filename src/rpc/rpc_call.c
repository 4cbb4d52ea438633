// RPC call — one call of a channel, from its headers to its reply.
#include <stdlib.h>
#include <string.h>

#include "rpc/channel_internal.h"
#include "rpc/wire.h"
#include "thread/notification.h"

enum { MOST_TRIES = 5 };

static void retain(RpcCall *call) {
    atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
}

void rpc_reply_clear(RpcReply *reply) {
    status_free(reply->status);
    reply->status = OK;
    received_clear(&reply->message);
    metadata_clear(&reply->metadata);
}

static void release(RpcCall *call, int references) {
    if (atomic_fetch_sub_explicit(&call->references, references, memory_order_acq_rel) != references)
        return;
    Channel *channel = call->channel;
    http_stream_clear(&call->stream);
    metadata_clear(&call->metadata);
    rpc_reply_clear(&call->reply);
    text_clear(&call->grpc_message);
    free(call);
    channel_release(channel, 1);
}

void rpc_call_release(RpcCall *call) {
    if (call)
        release(call, 1);
}

// ---- the end

static void run_done(EventTask *task) {
    RpcCall *call = (RpcCall *)((char *)task - offsetof(RpcCall, task));
    bool had_timer = event_loop_clear_timer(call->channel->loop, &call->timer);
    if (call->cancellation)
        cancellation_unwatch(call->cancellation, &call->watch);
    call->done(call->arg, &call->reply);
    rpc_reply_clear(&call->reply);
    release(call, had_timer ? 2 : 1);
}

static void unlist(RpcCall *call) {
    if (!call->listed)
        return;
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    else
        call->channel->last = call->link;
    call->listed = false;
}

static void let_go_of_message(RpcCall *call) {
    if (call->stream.connection)
        connection_let_go(call->stream.connection, call->stream.in.n);
    received_clear(&call->stream.in);
}

void rpc_call_finish(RpcCall *call, Status *status) {
    HttpStream *stream = &call->stream;
    if (call->finished) {
        status_free(status);
        return;
    }
    call->finished = true;
    unlist(call);
    if (!status) {
        call->reply.message = stream->in;
        stream->in.bytes = NULL;
    }
    let_go_of_message(call);
    call->reply.status = status_prefix(status, "%s %s", call->channel->address, call->method);
    stream->deaf = true;
    if (stream->link && !stream->connection->failure) {
        if (status)
            connection_reset(stream, NGHTTP2_CANCEL);
        connection_flush(stream->connection);
    }
    guard_defer(&call->channel->guard, &call->task);
}

void rpc_call_cancel(RpcCall *call, Status *reason) {
    Guard *guard = &call->channel->guard;
    guard_lock(guard);
    rpc_call_finish(call, reason ? reason : status_new(CANCELLED, __FILE__, __LINE__, "cancelled"));
    guard_unlock(guard);
}

static void on_deadline(EventTimer *timer) {
    RpcCall *call = (RpcCall *)((char *)timer - offsetof(RpcCall, timer));
    Guard *guard = &call->channel->guard;
    guard_lock(guard);
    const Status *error = call->listed ? call->channel->error : NULL;  // why it still waits
    rpc_call_finish(call, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the deadline has passed, after %d ms%s%s",
                                     (int)((clock_now() - call->begun) / CLOCK_MS), error ? "; " : "", status_message(error)));
    guard_unlock_and_run(guard);
    rpc_call_release(call);
}

static void on_cancelled(void *arg) {
    RpcCall *call = arg;
    rpc_call_cancel(call, cancellation_check(call->cancellation));
}

// ---- what comes back

static void on_header(HttpStream *stream, Str name, Str value) {
    RpcCall *call = (RpcCall *)stream;
    if (str_is(name, ":status")) {
        if (!str_to_int(value, &call->http_status))
            call->http_status = 0;
    } else if (str_is(name, "grpc-status")) {
        if (!str_to_int(value, &call->grpc_status) || call->grpc_status < 0)
            call->grpc_status = UNKNOWN;
    } else if (str_is(name, "grpc-message")) {
        call->grpc_message.n = 0;
        wire_percent_decode(value, &call->grpc_message);
    } else if (name.n && name.p[0] != ':' && !str_is(name, "content-type") && !str_is(name, "grpc-accept-encoding")) {
        if (!metadata_add_decoded(&call->reply.metadata, name, value))
            rpc_call_finish(call, OUT_OF_MEMORY);
    }
}

static Status *outcome(const RpcCall *call) {
    if (call->grpc_status < 0) {
        NEED(call->http_status != 200, UNKNOWN, "the reply has no grpc-status");
        FAIL(wire_code_of_http(call->http_status), "HTTP status %d and no grpc-status", (int)call->http_status);
    }
    if (call->grpc_status == CODE_OK)
        return http_stream_check(&call->stream);
    Code code = call->grpc_status <= UNAUTHENTICATED ? (Code)call->grpc_status : UNKNOWN;
    Str message = text_str(&call->grpc_message);
    return status_new(code, __FILE__, __LINE__, "%.*s", (int)message.n, message.p);
}

static void on_ended(HttpStream *stream) {
    RpcCall *call = (RpcCall *)stream;
    rpc_call_finish(call, outcome(call));
}

static void on_fault(HttpStream *stream, Status *status) {
    rpc_call_finish((RpcCall *)stream, status);
}

// Behind the others that wait for a connection.
static void list(RpcCall *call) {
    Channel *channel = call->channel;
    call->next = NULL;
    call->link = channel->last;
    *channel->last = call;
    channel->last = &call->next;
    call->listed = true;
}

// As before it was sent.
static void rewind_call(RpcCall *call) {
    HttpStream *stream = &call->stream;
    let_go_of_message(call);
    stream->connection = NULL;
    stream->n_prefix = 0;
    stream->got = stream->in.n = stream->header_bytes = 0;
    stream->headers_seen = stream->ended = stream->unsent = false;
    metadata_clear(&call->reply.metadata);
    call->http_status = call->grpc_status = -1;
    http_stream_send(stream, payload_retain(stream->out));
}

static void on_closed(HttpStream *stream, uint32_t error) {
    RpcCall *call = (RpcCall *)stream;
    const Connection *connection = stream->connection;
    bool lost = connection->failure && error == NGHTTP2_NO_ERROR, goes_on = !call->finished && !call->channel->freed;
    if (goes_on && lost && !connection->settled && call->wait_for_ready) {
        rewind_call(call);
        list(call);  // on_lost sees to the next connection
    } else if (goes_on && error == NGHTTP2_REFUSED_STREAM && call->tries < MOST_TRIES) {
        rewind_call(call);
        rpc_call_enter(call);
    } else if (lost) {
        rpc_call_finish(call, status_new(UNAVAILABLE, __FILE__, __LINE__, "%s", status_message(connection->failure)));
    } else if (error && call->grpc_status < 0) {
        rpc_call_finish(call, status_new(wire_code_of_reset(error), __FILE__, __LINE__, "the server has reset the call: %s",
                                         nghttp2_http2_strerror(error)));
    } else {
        rpc_call_finish(call, outcome(call));
    }
    if (call->finished)
        stream->connection = NULL;
    rpc_call_release(call);  // the connection's
}

static void on_headers(HttpStream *stream) {
    (void)stream;
}

static void on_connection_ready(Connection *connection) {
    Channel *channel = connection->owner;
    channel->failures = 0;
}

static void leave(Channel *channel, const Connection *connection) {
    if (channel->current != connection)
        return;
    channel->current = NULL;
    channel->state = CHANNEL_IDLE;
}

static void on_going(Connection *connection, const char *why) {
    Channel *channel = connection->owner;
    if (strstr(why, "too_many_pings") && channel->limits.keepalive < INT64_MAX / 4)
        channel->limits.keepalive *= 2;
    leave(channel, connection);
    if (channel->waiting)
        channel_dial(channel);
}

static void on_lost(Connection *connection) {
    Channel *channel = connection->owner;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    bool was_current = channel->current == connection;
    leave(channel, connection);
    if (was_current && !connection->settled)
        channel_fail(channel, status_copy(connection->failure));
    else if (channel->waiting)
        channel_dial(channel);
}

static void on_freed(void *owner) {
    channel_release(owner, 1);
}

const ConnectionRole channel_role = {
    .header = on_header, .headers = on_headers, .ended = on_ended, .fault = on_fault, .closed = on_closed,
    .ready = on_connection_ready, .going = on_going, .lost = on_lost, .freed = on_freed,
};

// ---- the beginning

static void list_headers(const RpcCall *call, char timeout[WIRE_TIMEOUT], HeaderFields *out) {
    const Channel *channel = call->channel;
    header_fields_add(out, STR(":method"), STR("POST"));
    header_fields_add(out, STR(":scheme"), channel->tls ? STR("https") : STR("http"));
    header_fields_add(out, STR(":path"), str_of(call->method));
    header_fields_add(out, STR(":authority"), str_of(channel->host));
    header_fields_add(out, STR("te"), STR("trailers"));
    header_fields_add(out, STR("content-type"), STR("application/grpc"));
    header_fields_add(out, STR("user-agent"), STR("millrace"));
    header_fields_add(out, STR("grpc-accept-encoding"), STR("identity"));
    if (call->deadline != NO_DEADLINE) {
        wire_timeout(call->deadline - clock_now(), timeout);
        header_fields_add(out, STR("grpc-timeout"), str_of(timeout));
    }
    if (channel->secret)
        header_fields_add(out, STR("authorization"), str_of(channel->secret));
    header_fields_add_all(out, &call->metadata);
}

static Status *send_request(RpcCall *call) {
    HeaderFields headers = {.n = 0};
    char timeout[WIRE_TIMEOUT];
    Connection *connection = call->channel->current;
    list_headers(call, timeout, &headers);
    Status *status = headers.failed ? OUT_OF_MEMORY : connection_request(connection, &call->stream, &headers);
    header_fields_clear(&headers);
    if (status)
        return status;
    call->tries++;
    retain(call);  // the connection's
    connection_flush(connection);
    return OK;
}

void rpc_call_enter(RpcCall *call) {
    Channel *channel = call->channel;
    if (channel->current && !connection_is_usable(channel->current))
        leave(channel, channel->current);
    if (channel->current) {
        Status *status = send_request(call);
        if (status)
            rpc_call_finish(call, status);
    } else if (channel->state == CHANNEL_RESTING && !call->wait_for_ready) {
        rpc_call_finish(call, status_new(UNAVAILABLE, __FILE__, __LINE__, "%s", status_message(channel->error)));
    } else {
        list(call);
        channel_dial(channel);
    }
}

static Status *make_call(Channel *channel, const RpcCallOptions *options, RpcCall **out) {
    size_t n = strlen(options->method) + 1;
    NEED(options->request->bytes <= UINT32_MAX, RESOURCE_EXHAUSTED, "%s: a message of %zu bytes; gRPC knows of 2^32 - 1 at most",
         options->method, options->request->bytes);
    RpcCall *call = malloc(sizeof *call + n);
    NEED_MEMORY(call);
    *call = (RpcCall){
        .references = 2, .channel = channel, .deadline = options->deadline, .begun = clock_now(), .timer.fire = on_deadline,
        .cancellation = options->cancellation, .wait_for_ready = options->wait_for_ready, .http_status = -1, .grpc_status = -1,
        .task.run = run_done,
    };
    call->method = memcpy(call + 1, options->method, n);
    if (!metadata_add_all_coded(&call->metadata, options->metadata)) {
        metadata_clear(&call->metadata);
        free(call);
        return OUT_OF_MEMORY;
    }
    call->memory = options->memory ? *options->memory : (PayloadMemory){0};
    call->stream.memory = &call->memory;
    call->stream.most_bytes = channel->limits.message_bytes;
    channel_retain(channel);
    *out = call;
    return OK;
}

static void begin(RpcCall *call) {
    Channel *channel = call->channel;
    bool cancelled = false;
    if (call->deadline != NO_DEADLINE) {
        retain(call);  // the timer's
        event_loop_set_timer(channel->loop, &call->timer, call->deadline);
    }
    if (call->cancellation)
        cancelled = !cancellation_watch(call->cancellation, &call->watch, on_cancelled, call);
    guard_lock(&channel->guard);
    if (cancelled)
        rpc_call_finish(call, cancellation_check(call->cancellation));
    else if (channel->freed)
        rpc_call_finish(call, status_new(CANCELLED, __FILE__, __LINE__, "the channel has been freed"));
    else if (!call->finished)
        rpc_call_enter(call);
    guard_unlock(&channel->guard);
}

Status *channel_call(Channel *channel, const RpcCallOptions *options, RpcDone *done, void *arg, RpcCall **out_call) {
    RpcCall *call = NULL;
    Status *status = OK;
    if (!event_loop_is_alive(channel->loop))
        status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "%s %s: the channel was made before a fork",
                            channel->address, options->method);
    status = status ? status : make_call(channel, options, &call);
    if (status) {
        payload_release(options->request);
        return status;
    }
    call->done = done;
    call->arg = arg;
    http_stream_send(&call->stream, options->request);
    begin(call);
    if (out_call)
        *out_call = call;
    else
        rpc_call_release(call);
    return OK;
}

// ---- waiting

typedef struct {
    Notification ended;
    RpcReply *reply;
} Waiter;

static void wake_waiter(void *arg, RpcReply *reply) {
    Waiter *waiter = arg;
    *waiter->reply = *reply;
    *reply = (RpcReply){0};
    notification_notify(&waiter->ended);
}

Status *channel_call_wait(Channel *channel, const RpcCallOptions *options, RpcReply *out) {
    RpcReply reply = {0};
    Waiter waiter = {.reply = &reply};
    if (event_loop_is_inside(channel->loop)) {
        payload_release(options->request);
        FAIL(FAILED_PRECONDITION, "%s %s: the loop's thread can't wait for a call", channel->address, options->method);
    }
    TRY(channel_call(channel, options, wake_waiter, &waiter, NULL));
    notification_wait(&waiter.ended, NO_DEADLINE);  // the call has its deadline
    Status *status = reply.status;
    reply.status = OK;
    if (status)
        rpc_reply_clear(&reply);
    else
        *out = reply;
    return status;
}
