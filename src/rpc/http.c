// HTTP — a connection's frames: what nghttp2 tells and is told.
#include <stdio.h>
#include <string.h>

#include "rpc/connection_internal.h"

enum {
    WINDOW = INT32_MAX,            // what is held is bounded by the lengths that messages announce, before they come
    FRAME = (1 << 24) - 1,         // the largest that HTTP/2 knows
    SENT_FRAME = 256 * 1024,
    MOST_STRIKES = 100,            // pings without a call between them
    STRIKE_NS = 100 * CLOCK_MS,    // after so long one is forgotten
    MOST_IDLE_FRAMES = 10000,      // frames that bring nothing, one after the other
};

static const uint8_t DRAIN_PING[8] = "drained";

static HttpStream *stream_of(nghttp2_session *session, int32_t id) {
    return nghttp2_session_get_stream_user_data(session, id);
}

// ---- out

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *arg) {
    (void)session, (void)id, (void)buffer, (void)arg;
    HttpStream *stream = source->ptr;
    const ConnectionRole *role = stream->connection->role;
    ssize_t n = http_stream_read(stream, room, flags);
    if (!(*flags & NGHTTP2_DATA_FLAG_EOF) || !role->trailers)
        return n;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    Status *status = role->trailers(stream);
    bool failed = status != OK;
    status_free(status);
    return failed ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : n;
}

static ssize_t frame_length(nghttp2_session *session, uint8_t type, int32_t id, int32_t session_window,
                            int32_t stream_window, uint32_t most, void *arg) {
    (void)session, (void)type, (void)id, (void)session_window, (void)stream_window, (void)arg;
    return most < SENT_FRAME ? most : SENT_FRAME;
}

static int send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t n,
                     nghttp2_data_source *source, void *arg) {
    (void)session, (void)frame;
    Connection *connection = arg;
    if (connection_queue_is_full(connection))
        return NGHTTP2_ERR_WOULDBLOCK;
    connection->idle_frames = 0;
    return http_stream_put(source->ptr, head, n) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

// A request that was not sent, since the peer takes no more: its stream is closed next.
static int frame_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *arg) {
    (void)error, (void)arg;
    bool request = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    HttpStream *stream = request ? stream_of(session, frame->hd.stream_id) : NULL;
    if (stream)
        stream->unsent = true;
    return 0;
}

// A server that has answered before all was said has no use for the rest. A ping would overtake a GOAWAY that it waits with.
static int frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
    Connection *connection = arg;
    if (frame->hd.type == NGHTTP2_GOAWAY && connection->draining)
        nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, DRAIN_PING);
    if (!connection->role->server || frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    HttpStream *stream = stream_of(session, frame->hd.stream_id);
    if (stream && !stream->ended)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
    return 0;
}

// ---- in

static int begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
    Connection *connection = arg;
    connection->header_begun = event_loop_now(connection->loop);
    if (!connection->role->server || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    HttpStream *stream = connection->role->begin(connection);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->id = frame->hd.stream_id;
    stream->connection = connection;
    connection_adopt(connection, stream);
    nghttp2_session_set_stream_user_data(session, stream->id, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                     const uint8_t *value, size_t value_n, uint8_t flags, void *arg) {
    (void)flags;
    Connection *connection = arg;
    HttpStream *stream = stream_of(session, frame->hd.stream_id);
    if (!stream || stream->deaf)
        return 0;
    stream->header_bytes += name_n + value_n + 32;
    if (stream->header_bytes > connection->limits.header_bytes)
        connection->role->fault(stream, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "more than %zu bytes of headers",
                                                   connection->limits.header_bytes));
    else
        connection->role->header(stream, (Str){(const char *)name, name_n}, (Str){(const char *)value, value_n});
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t n, void *arg) {
    (void)flags;
    Connection *connection = arg;
    HttpStream *stream = stream_of(session, id);
    connection->idle_frames = connection->ping_strikes = 0;
    if (!stream || stream->deaf)
        return 0;
    stream->heard = event_loop_now(connection->loop);
    Status *status = http_stream_take(stream, bytes, n);
    if (status)
        connection->role->fault(stream, status);
    return 0;
}

static void on_headers_frame(Connection *connection, const nghttp2_frame *frame) {
    HttpStream *stream = stream_of(connection->session, frame->hd.stream_id);
    connection->header_begun = 0;
    connection->idle_frames = connection->ping_strikes = 0;
    if (!stream)
        return;
    stream->heard = event_loop_now(connection->loop);
    if (!stream->headers_seen) {
        stream->headers_seen = true;
        if (!stream->deaf)
            connection->role->headers(stream);
    }
}

static void on_settings(Connection *connection) {
    if (connection->settled)
        return;
    connection->settled = true;
    connection->role->ready(connection);
}

static void on_ping(Connection *connection, const nghttp2_ping *ping) {
    if (!(ping->hd.flags & NGHTTP2_FLAG_ACK)) {
        connection_heard_ping(connection);
        return;
    }
    connection->pinged = 0;
    if (connection->draining && !memcmp(ping->opaque_data, DRAIN_PING, sizeof DRAIN_PING)) {
        connection->draining = false;
        nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(connection->session), NGHTTP2_NO_ERROR, NULL, 0);
    }
}

static void on_goaway(Connection *connection, const nghttp2_goaway *goaway) {
    char why[128];
    int n = goaway->opaque_data_len < 64 ? (int)goaway->opaque_data_len : 64;
    snprintf(why, sizeof why, "%s%s%.*s", nghttp2_http2_strerror(goaway->error_code), n ? ", " : "", n,
             n ? (const char *)goaway->opaque_data : "");
    connection->going = true;
    connection->role->going(connection, why);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
    Connection *connection = arg;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS: on_headers_frame(connection, frame); break;
    case NGHTTP2_SETTINGS: on_settings(connection); break;
    case NGHTTP2_PING: on_ping(connection, &frame->ping); break;
    case NGHTTP2_GOAWAY: on_goaway(connection, &frame->goaway); break;
    default: break;
    }
    bool says_something = frame->hd.type == NGHTTP2_HEADERS || (frame->hd.type == NGHTTP2_DATA && frame->hd.length);
    if (!says_something && ++connection->idle_frames > MOST_IDLE_FRAMES)
        connection_enough(connection, "too_many_frames");
    bool last = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                (frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
    HttpStream *stream = last ? stream_of(session, frame->hd.stream_id) : NULL;
    if (stream && !stream->ended) {
        stream->ended = true;
        if (!stream->deaf)
            connection->role->ended(stream);
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *arg) {
    Connection *connection = arg;
    HttpStream *stream = stream_of(session, id);
    if (stream) {
        http_stream_detach(stream);
        connection->role->closed(stream, stream->unsent ? NGHTTP2_REFUSED_STREAM : error);
    }
    return 0;
}

// ---- the session

static nghttp2_session_callbacks *new_callbacks(void) {
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks))
        return NULL;
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, frame_length);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_not_sent);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    return callbacks;
}

static nghttp2_option *new_options(const RpcLimits *limits) {
    nghttp2_option *options;
    if (nghttp2_option_new(&options))
        return NULL;
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_peer_max_concurrent_streams(options, limits->streams);
    nghttp2_option_set_max_send_header_block_length(options, 1 << 20);
#ifdef HAVE_NGHTTP2_RESET_LIMIT
    nghttp2_option_set_stream_reset_rate_limit(options, (uint64_t)limits->resets * 10, limits->resets);
#endif
    return options;
}

static int make_session(Connection *connection) {
    nghttp2_session_callbacks *callbacks = new_callbacks();
    nghttp2_option *options = new_options(&connection->limits);
    int error = NGHTTP2_ERR_NOMEM;
    if (callbacks && options)
        error = connection->role->server ? nghttp2_session_server_new2(&connection->session, callbacks, connection, options)
                                         : nghttp2_session_client_new2(&connection->session, callbacks, connection, options);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(options);
    return error;
}

static int say_settings(Connection *connection) {
    const RpcLimits *limits = &connection->limits;
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->header_bytes},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, connection->role->server ? limits->streams : 0},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    int error = nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, entries, connection->role->server ? 4 : 5);
    return error ? error : nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
}

Status *connection_open_session(Connection *connection) {
    int error = make_session(connection);
    error = error ? error : say_settings(connection);
    NEED(!error, RESOURCE_EXHAUSTED, "HTTP/2: %s", nghttp2_strerror(error));
    return OK;
}

Status *connection_receive(Connection *connection, const uint8_t *bytes, size_t n) {
    if (connection->end_at)
        return OK;
    ssize_t taken = nghttp2_session_mem_recv(connection->session, bytes, n);
    NEED(taken >= 0, taken == NGHTTP2_ERR_NOMEM ? RESOURCE_EXHAUSTED : UNAVAILABLE, "HTTP/2: %s",
         nghttp2_strerror((int)taken));
    return OK;
}

// ---- what owners ask for

void connection_adopt(Connection *connection, HttpStream *stream) {
    stream->connection = connection;
    stream->heard = clock_now();
    stream->next = connection->streams;
    stream->link = &connection->streams;
    if (stream->next)
        stream->next->link = &stream->next;
    connection->streams = stream;
    connection->n_streams++;
}

static Status *submitted(int error) {
    NEED(error >= 0, error == NGHTTP2_ERR_NOMEM ? RESOURCE_EXHAUSTED : UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror(error));
    return OK;
}

Status *connection_request(Connection *connection, HttpStream *stream, const HeaderFields *headers) {
    nghttp2_data_provider body = {.source.ptr = stream, .read_callback = read_body};
    int32_t id = nghttp2_submit_request(connection->session, NULL, header_fields_all(headers), headers->n, &body, stream);
    TRY(submitted(id));
    stream->id = id;
    connection_adopt(connection, stream);
    return OK;
}

Status *connection_respond(HttpStream *stream, const HeaderFields *headers) {
    nghttp2_data_provider body = {.source.ptr = stream, .read_callback = read_body};
    return submitted(nghttp2_submit_response(stream->connection->session, stream->id, header_fields_all(headers), headers->n,
                                             stream->out ? &body : NULL));
}

Status *connection_trail(HttpStream *stream, const HeaderFields *trailers) {
    return submitted(nghttp2_submit_trailer(stream->connection->session, stream->id, header_fields_all(trailers), trailers->n));
}

void connection_reset(HttpStream *stream, uint32_t error) {
    nghttp2_submit_rst_stream(stream->connection->session, NGHTTP2_FLAG_NONE, stream->id, error);
}

// What the peer has sent meanwhile is still taken: the last stream is named once it has heard the first notice.
void connection_drain(Connection *connection) {
    if (connection->failure || connection->going)
        return;
    connection->going = true;
    connection->draining = connection->role->server;
    if (connection->role->server)
        nghttp2_submit_shutdown_notice(connection->session);  // then a ping: frame_sent
    else
        nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
    connection_flush(connection);
}

void connection_enough(Connection *connection, const char *why) {
    if (connection->end_at)
        return;
    connection->end_at = clock_now() + 1000 * (int64_t)CLOCK_MS;  // time for the peer to read why
    connection->going = true;
    nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(connection->session), NGHTTP2_ENHANCE_YOUR_CALM,
                          (const uint8_t *)why, strlen(why));
}

// gRPC's own pings, which measure the way, follow data and cost nothing. Ten a second are borne without any.
void connection_heard_ping(Connection *connection) {
    int64_t now = event_loop_now(connection->loop), past = now - connection->ping_time;
    int64_t forgotten = past / STRIKE_NS;
    connection->ping_strikes = forgotten > connection->ping_strikes ? 0 : connection->ping_strikes - (int)forgotten;
    connection->ping_time = now;
    if (connection->role->server && ++connection->ping_strikes > MOST_STRIKES)
        connection_enough(connection, "too_many_pings");
}
