// HTTP test — what peers do that are no good: frames by hand, against a server and against a channel. [threads]
#include <arpa/inet.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "rpc/address.h"
#include "rpc/echo_test.h"

enum { DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

// ---- frames

typedef struct {
    int fd;
    nghttp2_hd_inflater *inflater;
    uint8_t type, flags;    // the frame that was read
    uint32_t stream, n;
    uint8_t body[1 << 17];
    Text headers;           // "name: value\n" of all that were read
} Raw;

static void put(Raw *raw, const void *bytes, size_t n) {
    for (const char *p = bytes; n;) {
        ssize_t sent = send(raw->fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){raw->fd, POLLOUT, 0}, 1, 1000);
            continue;
        }
        if (sent <= 0)
            return;  // the other side has had enough
        p += sent;
        n -= (size_t)sent;
    }
}

static void put_frame(Raw *raw, int type, int flags, uint32_t stream, const void *body, size_t n) {
    const uint8_t head[9] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, (uint8_t)type, (uint8_t)flags,
                             (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    put(raw, head, sizeof head);
    put(raw, body, n);
}

static void add_field(Text *block, const char *name, Str value) {
    text_char(block, 0);
    text_char(block, (char)strlen(name));
    text_add(block, str_of(name));
    if (value.n < 127) {
        text_char(block, (char)value.n);
    } else {
        text_char(block, 127);
        size_t left = value.n - 127;
        for (; left > 127; left >>= 7)
            text_char(block, (char)(left | 128));
        text_char(block, (char)left);
    }
    text_add(block, value);
}

static Text request_block(const char *path, const char *type) {
    Text block = {0};
    add_field(&block, ":method", STR("POST"));
    add_field(&block, ":scheme", STR("http"));
    add_field(&block, ":path", str_of(path));
    add_field(&block, ":authority", STR("x"));
    add_field(&block, "content-type", str_of(type));
    return block;
}

static void put_request(Raw *raw, uint32_t stream, const char *path) {
    Text block = request_block(path, "application/grpc");
    put_frame(raw, HEADERS, END_HEADERS, stream, block.p, block.n);
    text_clear(&block);
}

static bool get(Raw *raw, void *bytes, size_t n) {
    for (char *p = bytes; n;) {
        ssize_t got = recv(raw->fd, p, n, 0);
        if (got < 0 && errno == EAGAIN) {
            ck_assert_msg(poll(&(struct pollfd){raw->fd, POLLIN, 0}, 1, 30000) == 1, "nothing came");
            continue;
        }
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static void inflate_headers(Raw *raw) {
    const uint8_t *p = raw->body, *last = p + raw->n;
    int flags = 0;
    while (p < last || !(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv field;
        ssize_t n = nghttp2_hd_inflate_hd2(raw->inflater, &field, &flags, p, (size_t)(last - p), 1);
        ck_assert_int_ge(n, 0);
        p += n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT)
            text_format(&raw->headers, "%.*s: %.*s\n", (int)field.namelen, field.name, (int)field.valuelen, field.value);
    }
    nghttp2_hd_inflate_end_headers(raw->inflater);
}

// The next frame; false at the end of the connection.
static bool get_frame(Raw *raw) {
    uint8_t head[9];
    if (!get(raw, head, sizeof head))
        return false;
    raw->n = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
    raw->type = head[3];
    raw->flags = head[4];
    raw->stream = ((uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8]) & 0x7fffffff;
    ck_assert_uint_le(raw->n, sizeof raw->body);
    if (!get(raw, raw->body, raw->n))
        return false;
    if (raw->type == HEADERS)
        inflate_headers(raw);
    return true;
}

static bool get_frame_of(Raw *raw, int type) {
    while (get_frame(raw))
        if (raw->type == type && !(type != HEADERS && type != DATA && raw->flags & ACK))
            return true;
    return false;
}

// Reads until the stream has ended; what its headers and trailers said is in raw->headers.
static void get_answer(Raw *raw, uint32_t stream) {
    raw->headers.n = 0;
    while (get_frame(raw))
        if (raw->stream == stream && (raw->type == HEADERS || raw->type == DATA) && raw->flags & END_STREAM)
            return;
    ck_abort_msg("the connection ended without an answer");
}

static void has(Raw *raw, const char *words) {
    ck_assert_msg(raw->headers.p && strstr(raw->headers.p, words), "'%s' is not in\n%s", words, raw->headers.p);
}

static Raw *raw_of(int fd) {
    Raw *raw = calloc(1, sizeof *raw);
    raw->fd = fd;
    address_tune(fd, 0);
    ck_assert_int_eq(nghttp2_hd_inflate_new(&raw->inflater), 0);
    return raw;
}

static Raw *connect_raw(const Echo *echo) {
    Addresses found;
    int fd;
    GOOD(address_resolve(echo->address, true, &found));
    GOOD(address_connect(&found.p[0], &fd));
    poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 1000);
    return raw_of(fd);
}

static void put_preface(Raw *raw) {
    put(raw, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    put_frame(raw, SETTINGS, 0, 0, NULL, 0);
}

static Raw *connect_http(const Echo *echo) {
    Raw *raw = connect_raw(echo);
    put_preface(raw);
    return raw;
}

static void close_raw(Raw *raw) {
    close(raw->fd);
    nghttp2_hd_inflate_del(raw->inflater);
    text_clear(&raw->headers);
    free(raw);
}

static void open_limited(Echo *echo, const RpcLimits *limits) {
    echo_open(echo, &(RpcServerOptions){.limits = limits}, NULL);
}

// Other clients are served meanwhile.
static void still_serves(Echo *echo) {
    RpcReply reply;
    GOOD(echo_call(echo, "/test.Echo/Echo", "x", 1, &reply));
    rpc_reply_clear(&reply);
}

// ---- a server and its clients

START_TEST(what_is_no_http2_is_closed) {
    static const char *const starts[] = {"GET / HTTP/1.1\r\n\r\n", "\26\3\1\2\0\1\0\1\374\3\3", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense"};
    Echo echo;
    echo_open(&echo, NULL, NULL);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        Raw *raw = connect_raw(&echo);
        put(raw, starts[i], strlen(starts[i]));
        put(raw, starts[i], strlen(starts[i]));
        shutdown(raw->fd, SHUT_WR);
        while (get_frame(raw)) {
        }
        close_raw(raw);
        still_serves(&echo);
    }
    echo_close(&echo);
}
END_TEST

START_TEST(who_says_nothing_is_not_waited_for) {
    Echo echo;
    RpcLimits limits = rpc_limits_of_server();
    limits.handshake = 40 * CLOCK_MS;
    open_limited(&echo, &limits);
    Raw *silent = connect_raw(&echo), *slow = connect_http(&echo);
    Text block = request_block("/test.Echo/Echo", "application/grpc");
    put_frame(slow, HEADERS, 0, 1, block.p, block.n);  // and no CONTINUATION
    while (get_frame(silent)) {
    }
    while (get_frame(slow)) {
    }
    text_clear(&block);
    close_raw(silent);
    close_raw(slow);
    still_serves(&echo);
    echo_close(&echo);
}
END_TEST

START_TEST(a_message_that_does_not_go_on_is_given_up) {
    Echo echo;
    RpcLimits limits = rpc_limits_of_server();
    limits.stall = 40 * CLOCK_MS;
    open_limited(&echo, &limits);
    Raw *raw = connect_http(&echo);
    put_request(raw, 1, "/test.Echo/Echo");
    put_frame(raw, DATA, 0, 1, "\0\0\0\0\7abc", 8);
    get_answer(raw, 1);
    has(raw, "grpc-status: 4");
    close_raw(raw);
    echo_close(&echo);
}
END_TEST

START_TEST(a_peer_that_answers_no_ping_is_gone) {
    Echo echo;
    RpcLimits limits = rpc_limits_of_server();
    limits.keepalive = 20 * CLOCK_MS;
    limits.keepalive_wait = 40 * CLOCK_MS;
    open_limited(&echo, &limits);
    Raw *raw = connect_http(&echo);
    ck_assert(get_frame_of(raw, PING));
    put_frame(raw, PING, ACK, 0, raw->body, 8);
    ck_assert(get_frame_of(raw, PING));  // again, and no answer
    while (get_frame(raw)) {
    }
    close_raw(raw);
    echo_close(&echo);
}
END_TEST

START_TEST(pings_are_answered_but_not_without_end) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Raw *raw = connect_http(&echo);
    put_frame(raw, PING, 0, 0, "12345678", 8);
    do
        ck_assert(get_frame(raw));
    while (raw->type != PING);
    ck_assert_int_eq(raw->flags, ACK);
    ck_assert_mem_eq(raw->body, "12345678", 8);
    for (int i = 0; i < 400; i++)
        put_frame(raw, PING, 0, 0, "12345678", 8);
    ck_assert(get_frame_of(raw, GOAWAY));
    ck_assert_mem_eq(raw->body + 4, "\0\0\0\13too_many_pings", 18);
    while (get_frame(raw)) {
    }
    close_raw(raw);
    still_serves(&echo);
    echo_close(&echo);
}
END_TEST

START_TEST(frames_that_say_nothing_come_to_an_end) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Raw *raw = connect_http(&echo);
    for (int i = 0; i < 12000; i++)
        put_frame(raw, WINDOW, 0, 0, "\0\0\0\1", 4);
    ck_assert(get_frame_of(raw, GOAWAY));
    ck_assert_mem_eq(raw->body + 4, "\0\0\0\13too_many_frames", 19);
    close_raw(raw);
    still_serves(&echo);
    echo_close(&echo);
}
END_TEST

#ifdef HAVE_NGHTTP2_RESET_LIMIT
START_TEST(rapid_resets_come_to_an_end) {
    Echo echo;
    RpcLimits limits = rpc_limits_of_server();
    limits.resets = 10;
    open_limited(&echo, &limits);
    Raw *raw = connect_http(&echo);
    for (uint32_t i = 0; i < 300; i++) {
        put_request(raw, 2 * i + 1, "/test.Echo/Hold");
        put_frame(raw, RESET, 0, 2 * i + 1, "\0\0\0\10", 4);
    }
    ck_assert(get_frame_of(raw, GOAWAY));
    close_raw(raw);
    still_serves(&echo);
    echo_close(&echo);
}
END_TEST
#endif

START_TEST(more_streams_than_the_limit_are_refused) {
    Echo echo;
    RpcLimits limits = rpc_limits_of_server();
    limits.streams = 3;
    open_limited(&echo, &limits);
    Raw *raw = connect_http(&echo);
    for (uint32_t stream = 1; stream <= 7; stream += 2) {
        put_request(raw, stream, "/test.Echo/Hold");
        put_frame(raw, DATA, END_STREAM, stream, "\0\0\0\0\0", 5);
    }
    ck_assert(get_frame_of(raw, RESET));
    ck_assert_uint_eq(raw->stream, 7);
    echo_wait_held(&echo, 3);
    close_raw(raw);
    echo_wait_cancelled(&echo, 3);
    still_serves(&echo);
    echo_close(&echo);
}
END_TEST

static void check_refusal(const char *path, const char *type, const char *body, size_t n, const char *words) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Raw *raw = connect_http(&echo);
    Text block = request_block(path, type);
    put_frame(raw, HEADERS, END_HEADERS | (n ? 0 : END_STREAM), 1, block.p, block.n);
    if (n)
        put_frame(raw, DATA, END_STREAM, 1, body, n);
    get_answer(raw, 1);
    has(raw, words);
    put_request(raw, 3, "/test.Echo/Echo");  // the connection lives on
    put_frame(raw, DATA, END_STREAM, 3, "\0\0\0\0\1x", 6);
    get_answer(raw, 3);
    has(raw, "grpc-status: 0");
    text_clear(&block);
    close_raw(raw);
    echo_close(&echo);
}

START_TEST(requests_that_are_not_right_are_answered) {
    const char *path = "/test.Echo/Echo", *grpc = "application/grpc";
    check_refusal(path, "text/html", "", 0, ":status: 415");
    check_refusal(path, grpc, "", 0, "grpc-status: 13\ngrpc-message: no message came");
    check_refusal(path, grpc, "\0\0\0", 3, "grpc-status: 13");
    check_refusal(path, grpc, "\0\0\0\0\7abc", 8, "the message ends after 3 of 7 bytes");
    check_refusal(path, grpc, "\1\0\0\0\1x", 6, "grpc-status: 12");
    check_refusal(path, grpc, "\1\0\0\0\1x", 6, "grpc-accept-encoding: identity");
    check_refusal(path, grpc, "\7\0\0\0\1x", 6, "grpc-status: 13");
    check_refusal(path, grpc, "\0\377\377\377\377x", 6, "grpc-status: 8");
    check_refusal(path, grpc, "\0\0\0\0\1xy", 7, "grpc-status: 12\ngrpc-message: more than one message");
    check_refusal("/no/such", grpc, "\0\0\0\0\0", 5, "grpc-status: 12\ngrpc-message: unknown method /no/such");
}
END_TEST

START_TEST(a_list_of_headers_has_an_end) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Raw *raw = connect_http(&echo);
    Text block = request_block("/test.Echo/Echo", "application/grpc");
    char value[1000];
    memset(value, 'x', sizeof value);
    for (int i = 0; i < 15; i++)
        add_field(&block, "long", (Str){value, sizeof value});
    add_field(&block, "last", (Str){value, sizeof value});
    add_field(&block, "straw", (Str){value, sizeof value});
    put_frame(raw, HEADERS, 0, 1, block.p, 10000);
    put_frame(raw, CONTINUATION, END_HEADERS, 1, block.p + 10000, block.n - 10000);
    get_answer(raw, 1);
    has(raw, "grpc-status: 8");
    text_clear(&block);
    close_raw(raw);
    echo_close(&echo);
}
END_TEST

START_TEST(a_window_as_small_as_seven_bytes_is_obeyed) {
    enum { BYTES = 1000 };
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Raw *raw = connect_raw(&echo);
    put(raw, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    put_frame(raw, SETTINGS, 0, 0, "\0\4\0\0\0\7", 6);
    put_request(raw, 1, "/test.Echo/Size");
    put_frame(raw, DATA, END_STREAM, 1, "\0\0\0\0\10\350\3\0\0\0\0\0\0", 13);
    size_t got = 0, frames = 0;
    while (get_frame(raw) && !(raw->type == HEADERS && raw->flags & END_STREAM)) {
        if (raw->type != DATA)
            continue;
        ck_assert_uint_le(raw->n, 7);
        got += raw->n;
        frames++;
        put_frame(raw, WINDOW, 0, 1, "\0\0\0\7", 4);
    }
    ck_assert_uint_eq(got, BYTES + 5);
    ck_assert_uint_ge(frames, BYTES / 7);
    has(raw, "grpc-status: 0");
    close_raw(raw);
    echo_close(&echo);
}
END_TEST

START_TEST(who_takes_nothing_is_dropped) {
    Echo echo;
    RpcLimits limits = rpc_limits_of_server();
    limits.stall = 60 * CLOCK_MS;
    open_limited(&echo, &limits);
    Raw *raw = connect_raw(&echo);
    put(raw, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    put_frame(raw, SETTINGS, 0, 0, "\0\4\177\377\377\377", 6);
    put_frame(raw, WINDOW, 0, 0, "\177\377\0\0", 4);
    put_request(raw, 1, "/test.Echo/Size");
    put_frame(raw, DATA, END_STREAM, 1, "\0\0\0\0\10\0\0\0\4\0\0\0\0", 13);  // 64 MiB, which no socket holds
    ck_assert(poll(&(struct pollfd){raw->fd, POLLIN, 0}, 1, 30000) == 1);
    while (rpc_server_connections(echo.server))
        usleep(1000);
    close_raw(raw);
    still_serves(&echo);
    echo_close(&echo);
}
END_TEST

START_TEST(draining_names_the_last_stream) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Raw *raw = connect_http(&echo);
    put_request(raw, 1, "/test.Echo/Hold");
    put_frame(raw, DATA, END_STREAM, 1, "\0\0\0\0\0", 5);
    echo_wait_held(&echo, 1);
    check_code(rpc_server_drain(echo.server, clock_now()), DEADLINE_EXCEEDED, "1 clients");
    ck_assert(get_frame_of(raw, GOAWAY));
    ck_assert_mem_eq(raw->body, "\177\377\377\377\0\0\0\0", 8);
    put_request(raw, 3, "/test.Echo/Hold");  // on its way when the client heard
    put_frame(raw, DATA, END_STREAM, 3, "\0\0\0\0\0", 5);
    ck_assert(get_frame_of(raw, PING));
    put_frame(raw, PING, ACK, 0, raw->body, 8);
    ck_assert(get_frame_of(raw, GOAWAY));
    ck_assert_mem_eq(raw->body, "\0\0\0\3\0\0\0\0", 8);
    echo_wait_held(&echo, 2);
    echo_answer_held(&echo);
    get_answer(raw, raw->stream == 1 ? 1 : 3);
    GOOD(rpc_server_drain(echo.server, echo_soon(60000)));
    close_raw(raw);
    echo_close(&echo);
}
END_TEST

// ---- a channel and its servers

typedef struct {
    int listener;
    Channel *channel;
    Notification done;
    Status *status;
    Received message;
} Client;

static void note(void *arg, RpcReply *reply) {
    Client *client = arg;
    client->status = reply->status;
    client->message = reply->message;
    reply->status = OK;
    reply->message.bytes = NULL;
    notification_notify(&client->done);
}

static void call(Client *client) {
    client->done = (Notification){0};
    const RpcCallOptions options = {.method = "/a/b", .request = echo_payload("x", 1), .deadline = echo_soon(60000)};
    GOOD(channel_call(client->channel, &options, note, client, NULL));
}

static void open_client(Client *client, const RpcLimits *limits) {
    char address[64];
    int port;
    *client = (Client){0};
    GOOD(address_listen("127.0.0.1:0", &client->listener, &port));
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    GOOD(channel_new(address, &(ChannelOptions){.limits = limits}, &client->channel));
    call(client);
}

static Raw *take(Client *client) {
    ck_assert(poll(&(struct pollfd){client->listener, POLLIN, 0}, 1, 30000) == 1);
    Raw *raw = raw_of(accept(client->listener, NULL, NULL));
    ck_assert_int_ge(raw->fd, 0);
    return raw;
}

// Up to the request's last frame.
static Raw *take_request(Client *client) {
    char preface[NGHTTP2_CLIENT_MAGIC_LEN];
    Raw *raw = take(client);
    put_frame(raw, SETTINGS, 0, 0, NULL, 0);
    ck_assert(get(raw, preface, sizeof preface));
    do
        ck_assert(get_frame(raw));
    while (raw->type != DATA || !(raw->flags & END_STREAM));
    return raw;
}

static void ends(Client *client, Code code, const char *words) {
    ck_assert(notification_wait(&client->done, echo_soon(60000)));
    check_code(client->status, code, words);
}

static void close_client(Client *client, Raw *raw) {
    close_raw(raw);
    received_clear(&client->message);
    channel_free(client->channel);
    close(client->listener);
}

static void put_reply(Raw *raw, const char *http, const char *grpc, const char *message, int flags) {
    Text block = {0};
    if (http)
        add_field(&block, ":status", str_of(http));
    if (grpc)
        add_field(&block, "grpc-status", str_of(grpc));
    if (message)
        add_field(&block, "grpc-message", str_of(message));
    put_frame(raw, HEADERS, END_HEADERS | flags, raw->stream, block.p, block.n);
    text_clear(&block);
}

START_TEST(replies_are_understood_in_every_form) {
    static const struct {
        const char *http, *grpc, *message;
        Code code;
        const char *words;
    } ends_so[] = {
        {"200", "5", "a%20b%zz%", NOT_FOUND, "a b%zz%"}, {"200", "99", NULL, UNKNOWN, ""}, {"200", "x", NULL, UNKNOWN, ""},
        {"503", NULL, NULL, UNAVAILABLE, "503"},         {"404", NULL, NULL, UNIMPLEMENTED, "404"},
        {"200", NULL, NULL, UNKNOWN, "no grpc-status"},  {"200", "0", NULL, INTERNAL, "no message"},
        {"401", "7", "no", PERMISSION_DENIED, "no"},
    };
    for (size_t i = 0; i < sizeof ends_so / sizeof *ends_so; i++) {
        Client client;
        open_client(&client, NULL);
        Raw *raw = take_request(&client);
        put_reply(raw, ends_so[i].http, ends_so[i].grpc, ends_so[i].message, END_STREAM);
        ends(&client, ends_so[i].code, ends_so[i].words);
        close_client(&client, raw);
    }
}
END_TEST

START_TEST(resets_have_codes) {
    static const struct {
        const char *error;
        Code code;
    } resets[] = {{"\0\0\0\2", INTERNAL}, {"\0\0\0\10", CANCELLED}, {"\0\0\0\13", RESOURCE_EXHAUSTED}, {"\0\0\0\14", PERMISSION_DENIED}};
    for (size_t i = 0; i < sizeof resets / sizeof *resets; i++) {
        Client client;
        open_client(&client, NULL);
        Raw *raw = take_request(&client);
        put_frame(raw, RESET, 0, raw->stream, resets[i].error, 4);
        ends(&client, resets[i].code, "reset");
        close_client(&client, raw);
    }
}
END_TEST

START_TEST(a_message_comes_in_pieces) {
    Client client;
    open_client(&client, NULL);
    Raw *raw = take_request(&client);
    put_reply(raw, "200", NULL, NULL, 0);
    static const char bytes[] = "\0\0\0\0\5hello";
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        put_frame(raw, DATA, 0, raw->stream, bytes + i, 1);
        put_frame(raw, DATA, 0, raw->stream, "", 0);
    }
    put_reply(raw, NULL, "0", NULL, END_STREAM);
    ends(&client, CODE_OK, "");
    ck_assert_uint_eq(client.message.n, 5);
    ck_assert_mem_eq(client.message.bytes, "hello", 5);
    close_client(&client, raw);
}
END_TEST

START_TEST(a_server_that_dies_in_a_message_is_noticed) {
    Client client;
    open_client(&client, NULL);
    Raw *raw = take_request(&client);
    put_reply(raw, "200", NULL, NULL, 0);
    put_frame(raw, DATA, 0, raw->stream, "\0\0\0\0\5he", 7);
    shutdown(raw->fd, SHUT_RDWR);
    ends(&client, UNAVAILABLE, "/a/b");
    close_client(&client, raw);
}
END_TEST

START_TEST(a_call_that_a_leaving_server_did_not_take_is_made_again) {
    Client client;
    open_client(&client, NULL);
    Raw *first = take_request(&client);
    put_frame(first, GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", 8);
    Raw *second = take_request(&client);
    put_reply(second, "200", "5", "found nothing", END_STREAM);
    ends(&client, NOT_FOUND, "found nothing");
    call(&client);  // on the second connection
    do
        ck_assert(get_frame(second));
    while (second->type != DATA || !(second->flags & END_STREAM));
    put_frame(second, RESET, 0, second->stream, "\0\0\0\7", 4);  // REFUSED_STREAM: again, and here
    do
        ck_assert(get_frame(second));
    while (second->type != DATA || !(second->flags & END_STREAM));
    put_reply(second, "200", "5", "found nothing", END_STREAM);
    ends(&client, NOT_FOUND, "found nothing");
    close_raw(first);
    close_client(&client, second);
}
END_TEST

START_TEST(a_server_that_is_silent_or_frozen_is_noticed) {
    Client client;
    RpcLimits limits = rpc_limits_of_client();
    limits.handshake = limits.keepalive_wait = 40 * CLOCK_MS;
    limits.keepalive = 20 * CLOCK_MS;
    open_client(&client, &limits);
    Raw *raw = take(&client);  // says nothing
    ends(&client, UNAVAILABLE, "not said a word");
    close_client(&client, raw);
    open_client(&client, &limits);
    raw = take_request(&client);  // no answer to pings
    ends(&client, UNAVAILABLE, "no answer to a ping");
    close_client(&client, raw);
}
END_TEST

START_TEST(what_speaks_another_language_is_no_server) {
    Client client;
    open_client(&client, NULL);
    Raw *raw = take(&client);
    static const char page[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nthis is no HTTP/2 at all, is it";
    put(raw, page, sizeof page - 1);
    ends(&client, UNAVAILABLE, "/a/b");
    close_client(&client, raw);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("http");
    TCase *servers = tcase_create("servers"), *channels = tcase_create("channels");
    tcase_add_test(servers, what_is_no_http2_is_closed);
    tcase_add_test(servers, who_says_nothing_is_not_waited_for);
    tcase_add_test(servers, a_message_that_does_not_go_on_is_given_up);
    tcase_add_test(servers, a_peer_that_answers_no_ping_is_gone);
    tcase_add_test(servers, pings_are_answered_but_not_without_end);
    tcase_add_test(servers, frames_that_say_nothing_come_to_an_end);
#ifdef HAVE_NGHTTP2_RESET_LIMIT
    tcase_add_test(servers, rapid_resets_come_to_an_end);
#endif
    tcase_add_test(servers, more_streams_than_the_limit_are_refused);
    tcase_add_test(servers, requests_that_are_not_right_are_answered);
    tcase_add_test(servers, a_list_of_headers_has_an_end);
    tcase_add_test(servers, a_window_as_small_as_seven_bytes_is_obeyed);
    tcase_add_test(servers, who_takes_nothing_is_dropped);
    tcase_add_test(servers, draining_names_the_last_stream);
    tcase_add_test(channels, replies_are_understood_in_every_form);
    tcase_add_test(channels, resets_have_codes);
    tcase_add_test(channels, a_message_comes_in_pieces);
    tcase_add_test(channels, a_server_that_dies_in_a_message_is_noticed);
    tcase_add_test(channels, a_call_that_a_leaving_server_did_not_take_is_made_again);
    tcase_add_test(channels, a_server_that_is_silent_or_frozen_is_noticed);
    tcase_add_test(channels, what_speaks_another_language_is_no_server);
    suite_add_tcase(suite, servers);
    suite_add_tcase(suite, channels);
    return run_suite(suite);
}
