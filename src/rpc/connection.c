// Connection — see connection.h: the socket, what is sent over it, and how it ends.
#define _GNU_SOURCE
#include "rpc/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/connection_internal.h"
#include "rpc/tls.h"

enum {
    BATCH = EVENT_LOOP_BUFFER,  // bytes that are handed to the socket at once: what a small call may be behind
    SENDS = 2,                  // batches that one connection may send before others have their turn; it reads one buffer
    VIEWS = 64,
};

// ---- made and freed

Connection *connection_retain(Connection *connection) {
    atomic_fetch_add_explicit(&connection->references, 1, memory_order_relaxed);
    return connection;
}

static void release(Connection *connection, int references) {
    if (atomic_fetch_sub_explicit(&connection->references, references, memory_order_acq_rel) != references)
        return;
    void (*freed)(void *) = connection->role->freed;
    void *owner = connection->owner;
    nghttp2_session_del(connection->session);
    tls_free(connection->tls);
    if (!connection->closed && connection->source.fd >= 0)
        close(connection->source.fd);
    send_queue_clear(&connection->queue);
    status_free(connection->failure);
    free(connection->peer);
    free(connection);
    freed(owner);
}

void connection_release(Connection *connection) {
    release(connection, 1);
}

#define CONNECTION_OF(pointer, field) ((Connection *)((char *)(pointer) - offsetof(Connection, field)))

static void on_ready(EventSource *source, uint32_t events);
static void run_flush(EventTask *task);
static void run_close(EventTask *task);

Status *connection_new(const ConnectionRole *role, void *owner, Guard *guard, int fd, const char *peer,
                       const RpcLimits *limits, Tls *tls, Connection **out) {
    Connection *connection = calloc(1, sizeof *connection);
    NEED_MEMORY(connection);
    *connection = (Connection){
        .source = {fd, on_ready}, .role = role, .owner = owner, .guard = guard, .loop = guard->loop, .references = 1,
        .limits = *limits, .tls = tls, .flush.run = run_flush, .close.run = run_close,
        .tick.fire = connection_tick, .opened = clock_now(),
    };
    connection->heard = connection->sent = connection->opened;
    connection->peer = strdup(peer);
    Status *status = connection->peer ? connection_open_session(connection) : OUT_OF_MEMORY;
    if (status) {
        connection->source.fd = -1;  // still the caller's, as are the owner and TLS
        nghttp2_session_del(connection->session);
        free(connection->peer);
        free(connection);
        return status;
    }
    *out = connection;
    return OK;
}

Status *connection_start(Connection *connection) {
    TRY(event_loop_add(connection->loop, &connection->source, EPOLLIN));
    connection_retain(connection);  // the loop's
    connection_set_tick(connection);
    guard_lock(connection->guard);
    connection_flush(connection);
    guard_unlock(connection->guard);
    return OK;
}

bool connection_is_usable(const Connection *connection) {
    return !connection->failure && !connection->going;
}

bool connection_hold(Connection *connection, size_t bytes) {
    if (bytes > connection->limits.held_bytes - connection->held)
        return false;
    connection->held += bytes;
    return true;
}

void connection_let_go(Connection *connection, size_t bytes) {
    connection->held -= bytes < connection->held ? bytes : connection->held;
}

// ---- the end

void connection_lose(Connection *connection, Status *status) {
    if (connection->failure) {
        status_free(status);
        return;
    }
    connection->failure = status;
    connection_retain(connection);
    event_loop_post(connection->loop, &connection->close);
}

static void run_close(EventTask *task) {
    Connection *connection = CONNECTION_OF(task, close);
    bool had_tick = event_loop_clear_timer(connection->loop, &connection->tick);
    guard_lock(connection->guard);
    event_loop_remove(connection->loop, &connection->source);
    close(connection->source.fd);
    connection->closed = true;
    while (connection->streams) {
        HttpStream *stream = connection->streams;
        http_stream_detach(stream);
        connection->role->closed(stream, NGHTTP2_NO_ERROR);
    }
    connection->role->lost(connection);
    guard_unlock_and_run(connection->guard);
    release(connection, had_tick ? 3 : 2);  // the loop's, this task's, the timer's
}

// ---- out

static void want_to_send(Connection *connection, bool blocked) {
    if (connection->blocked == blocked)
        return;
    connection->blocked = blocked;
    connection->sent = clock_now();
    event_loop_change(connection->loop, &connection->source, EPOLLIN | (blocked ? EPOLLOUT : 0));
}

// Takes frames from nghttp2 until there is a batch of them.
static Status *fill_queue(Connection *connection) {
    while (connection->queue.bytes < BATCH) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(connection->session, &bytes);
        if (n == 0)
            break;
        NEED(n > 0, n == NGHTTP2_ERR_NOMEM ? RESOURCE_EXHAUSTED : INTERNAL, "HTTP/2: %s", nghttp2_strerror((int)n));
        NEED_MEMORY(send_queue_copy(&connection->queue, bytes, (size_t)n));
    }
    return OK;
}

bool connection_queue_is_full(const Connection *connection) {
    return connection->queue.bytes >= BATCH;
}

// Hands the queue to the socket. *out_blocked: it takes no more.
static Status *send_some(Connection *connection, bool *out_blocked) {
    struct iovec views[VIEWS];
    struct msghdr message = {.msg_iov = views, .msg_iovlen = (size_t)send_queue_next(&connection->queue, views, VIEWS)};
    ssize_t n = sendmsg(connection->source.fd, &message, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        *out_blocked = errno == EAGAIN;
        return OK;
    }
    NEED(n >= 0, UNAVAILABLE, "%s", strerror(errno));
    send_queue_sent(&connection->queue, (size_t)n);
    if (connection->blocked)
        connection->sent = clock_now();
    return OK;
}

static bool is_finished(Connection *connection) {
    return !nghttp2_session_want_read(connection->session) && !nghttp2_session_want_write(connection->session);
}

// Who takes as fast as we send would keep the loop from others: after some batches the socket is asked again, in turn.
static Status *send_all(Connection *connection, bool *out_blocked) {
    int batches = 0;
    while (!*out_blocked) {
        if (!connection->queue.bytes && ++batches > SENDS)
            *out_blocked = true;
        else if (!connection->queue.bytes)
            TRY(fill_queue(connection));
        bool encrypted = connection->tls && tls_is_pending(connection->tls);
        if (*out_blocked || (!connection->queue.bytes && !encrypted))
            break;
        TRY(connection->tls ? tls_send(connection->tls, connection->source.fd, &connection->queue, out_blocked)
                            : send_some(connection, out_blocked));
        if (connection->tls && !tls_is_pending(connection->tls) && !tls_is_ready(connection->tls))
            break;  // the peer's turn in the handshake
    }
    return OK;
}

static void send_now(Connection *connection) {
    bool blocked = false;
    if (connection->failure || connection->closed)
        return;
    Status *status = send_all(connection, &blocked);
    if (!status)
        want_to_send(connection, blocked);
    if (!status && !connection->queue.bytes && !connection->draining && is_finished(connection))
        status = status_new(UNAVAILABLE, __FILE__, __LINE__, "the connection has ended");
    if (status)
        connection_lose(connection, status);
}

static void run_flush(EventTask *task) {
    Connection *connection = CONNECTION_OF(task, flush);
    guard_lock(connection->guard);
    connection->flushing = false;
    send_now(connection);
    guard_unlock_and_run(connection->guard);
    connection_release(connection);
}

// On the loop's thread several calls and answers go out in one system call, at the end of the turn.
void connection_flush(Connection *connection) {
    if (connection->failure || connection->blocked || connection->flushing)
        return;
    if (!event_loop_is_inside(connection->loop)) {
        send_now(connection);
        return;
    }
    connection->flushing = true;
    connection_retain(connection);
    event_loop_post(connection->loop, &connection->flush);
}

// ---- in

static void read_some(Connection *connection) {
    uint8_t *buffer = event_loop_buffer(connection->loop);
    ssize_t n = recv(connection->source.fd, buffer, EVENT_LOOP_BUFFER, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    const char *why = n < 0 ? strerror(errno) : "the peer has closed the connection";
    guard_lock(connection->guard);
    Status *status;
    if (n <= 0)
        status = status_new(UNAVAILABLE, __FILE__, __LINE__, "%s", why);
    else
        status = connection->tls ? tls_receive(connection->tls, connection, buffer, (size_t)n)
                                 : connection_receive(connection, buffer, (size_t)n);
    connection->heard = event_loop_now(connection->loop);
    if (status)
        connection_lose(connection, status);
    else
        connection_flush(connection);
    guard_unlock_and_run(connection->guard);
}

static void on_ready(EventSource *source, uint32_t events) {
    Connection *connection = CONNECTION_OF(source, source);
    connection_retain(connection);
    if (events & EPOLLOUT) {
        guard_lock(connection->guard);
        send_now(connection);
        guard_unlock_and_run(connection->guard);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_some(connection);
    connection_release(connection);
}
