// Echo test — a server for tests, and calls to it.
#pragma once
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status_test.h"
#include "rpc/channel.h"
#include "rpc/rpc_server.h"
#include "thread/pool.h"

// What a test may look at: requests that /test.Echo/Hold keeps.
typedef struct {
    RpcServer *server;
    Channel *channel;
    char address[64];
    Mutex lock;
    Condition changed;
    RpcRequest *held[1024];     // guarded by lock
    int n_held;                 // guarded by lock
    _Atomic int cancelled;      // of those held, as their watches saw
    CancelWatch watches[1024];
} Echo;

static inline void echo_echo(void *arg, RpcRequest *request) {
    (void)arg;
    Payload *answer = NULL;
    Received *message = rpc_request_message(request);
    Status *status = payload_new(&answer);
    if (!status)  // the bytes go back as they came
        status = payload_add(answer, (Piece){message->bytes, message->n, free, message->bytes});
    message->bytes = NULL;
    rpc_request_answer(request, status, answer);
}

static inline void echo_later_task(void *arg) {
    echo_echo(NULL, arg);
}

static inline void echo_later(void *arg, RpcRequest *request) {
    (void)arg;
    if (!pool_elastic(echo_later_task, request))
        rpc_request_answer(request, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "no thread"), NULL);
}

static inline void echo_note_cancel(void *arg) {
    Echo *echo = arg;
    mutex_lock(&echo->lock);
    atomic_fetch_add(&echo->cancelled, 1);
    condition_notify_all(&echo->changed);
    mutex_unlock(&echo->lock);
}

static inline void echo_hold(void *arg, RpcRequest *request) {
    Echo *echo = arg;
    mutex_lock(&echo->lock);
    int i = echo->n_held;
    echo->held[i] = request;
    mutex_unlock(&echo->lock);
    if (!cancellation_watch(rpc_request_cancellation(request), &echo->watches[i], echo_note_cancel, echo))
        echo_note_cancel(echo);
    mutex_lock(&echo->lock);
    echo->n_held++;
    condition_notify_all(&echo->changed);
    mutex_unlock(&echo->lock);
}

// As many bytes as the request, eight bytes, says; what they are does not matter.
static inline void echo_size(void *arg, RpcRequest *request) {
    (void)arg;
    uint64_t n = 0;
    Payload *answer = NULL;
    Received *message = rpc_request_message(request);
    if (message->n == sizeof n)
        memcpy(&n, message->bytes, sizeof n);
    void *bytes = calloc(1, n ? n : 1);
    Status *status = bytes ? payload_new(&answer) : OUT_OF_MEMORY;
    if (!status)
        status = payload_add(answer, (Piece){bytes, n, free, bytes});
    rpc_request_answer(request, status, answer);
}

static inline void echo_fail(void *arg, RpcRequest *request) {
    (void)arg;
    Status *status = rpc_request_add_header(request, STR("in-front"), STR("1"));
    status = status ? status : rpc_request_add_trailer(request, STR("details-bin"), (Str){"\0\1\377", 3});
    rpc_request_answer(request, status ? status : status_new(ABORTED, "x", 1, "100%% \xc3\xa9\n\t[[{{node a}}]]"), NULL);
}

static inline void echo_metadata(void *arg, RpcRequest *request) {
    (void)arg;
    Str value = STR("");
    rpc_request_metadata(request, STR("asked"), &value);
    Status *status = rpc_request_add_header(request, STR("heard"), value);
    bool there = rpc_request_metadata(request, STR("asked-bin"), &value);
    status = status || !there ? status : rpc_request_add_trailer(request, STR("heard-bin"), value);
    rpc_request_answer(request, status, NULL);
}

static inline void echo_open(Echo *echo, const RpcServerOptions *served, const ChannelOptions *called) {
    int port;
    *echo = (Echo){.lock = MUTEX_INIT, .changed = CONDITION_INIT};
    GOOD(rpc_server_new(served, &echo->server));
    GOOD(rpc_server_add(echo->server, "/test.Echo/Echo", echo_echo, echo));
    GOOD(rpc_server_add(echo->server, "/test.Echo/Later", echo_later, echo));
    GOOD(rpc_server_add(echo->server, "/test.Echo/Hold", echo_hold, echo));
    GOOD(rpc_server_add(echo->server, "/test.Echo/Size", echo_size, echo));
    GOOD(rpc_server_add(echo->server, "/test.Echo/Fail", echo_fail, echo));
    GOOD(rpc_server_add(echo->server, "/test.Echo/Metadata", echo_metadata, echo));
    GOOD(rpc_server_listen(echo->server, "127.0.0.1:0", &port));
    ck_assert_int_gt(port, 0);
    snprintf(echo->address, sizeof echo->address, "127.0.0.1:%d", port);
    GOOD(channel_new(echo->address, called, &echo->channel));
}

// Answers what is held, as the handler of each.
static inline void echo_answer_held(Echo *echo) {
    mutex_lock(&echo->lock);
    int n = echo->n_held;
    echo->n_held = 0;
    mutex_unlock(&echo->lock);
    for (int i = 0; i < n; i++) {
        cancellation_unwatch(rpc_request_cancellation(echo->held[i]), &echo->watches[i]);
        rpc_request_answer(echo->held[i], OK, NULL);
    }
}

static inline void echo_close(Echo *echo) {
    echo_answer_held(echo);
    channel_free(echo->channel);
    rpc_server_free(echo->server);
}

static inline int64_t echo_soon(int ms) {
    return clock_now() + ms * (int64_t)CLOCK_MS;
}

static inline void echo_wait_held(Echo *echo, int n) {
    mutex_lock(&echo->lock);
    while (echo->n_held < n)
        ck_assert(condition_wait_until(&echo->changed, &echo->lock, echo_soon(60000)));
    mutex_unlock(&echo->lock);
}

static inline void echo_wait_cancelled(Echo *echo, int n) {
    mutex_lock(&echo->lock);
    while (atomic_load(&echo->cancelled) < n)
        ck_assert(condition_wait_until(&echo->changed, &echo->lock, echo_soon(60000)));
    mutex_unlock(&echo->lock);
}

static inline Payload *echo_payload(const void *bytes, size_t n) {
    Payload *payload;
    GOOD(payload_of(bytes, n, &payload));
    return payload;
}

// A call of a minute at most.
static inline Status *echo_call(Echo *echo, const char *method, const void *bytes, size_t n, RpcReply *out) {
    const RpcCallOptions options = {.method = method, .request = echo_payload(bytes, n), .deadline = echo_soon(60000)};
    return channel_call_wait(echo->channel, &options, out);
}

static inline void check_code(Status *status, Code code, const char *words) {
    ck_assert_msg(status_code(status) == code, "%s %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), words) != NULL, "%s", status_message(status));
    status_free(status);
}
