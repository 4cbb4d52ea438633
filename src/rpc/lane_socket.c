// Lane socket — what both sides of a lane do with their socket: records out of a queue, records and chunks in.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/address.h"
#include "rpc/lane_internal.h"

enum { VIEWS = 64, TURNS = 8 };  // TURNS: system calls of one lane before others have their turn

#define SOCKET_OF(pointer, field) ((LaneSocket *)((char *)(pointer) - offsetof(LaneSocket, field)))

static void release(LaneSocket *socket, int references) {
    if (atomic_fetch_sub_explicit(&socket->references, references, memory_order_acq_rel) != references)
        return;
    void (*freed)(void *) = socket->role->freed;
    void *owner = socket->owner;
    send_queue_clear(&socket->queue);
    status_free(socket->failure);
    free(socket);
    freed(owner);
}

void lane_socket_release(LaneSocket *socket) {
    release(socket, 1);
}

static void run_close(EventTask *task) {
    LaneSocket *socket = SOCKET_OF(task, close);
    guard_lock(socket->guard);
    event_loop_remove(socket->loop, &socket->source);
    close(socket->source.fd);
    socket->closed = true;
    socket->role->lost(socket);
    guard_unlock_and_run(socket->guard);
    release(socket, 1);  // the loop's
}

void lane_socket_lose(LaneSocket *socket, Status *status) {
    if (socket->failure) {
        status_free(status);
        return;
    }
    socket->failure = status;
    event_loop_post(socket->loop, &socket->close);
}

// ---- out

Status *lane_socket_put(LaneSocket *socket, LaneKind kind, int code, uint32_t id, uint64_t bytes, Str text) {
    const LaneHead head = {(uint8_t)kind, (uint8_t)code, (uint16_t)text.n, id, bytes};
    NEED_MEMORY(send_queue_copy(&socket->queue, &head, sizeof head) && (!text.n || send_queue_copy(&socket->queue, text.p, text.n)));
    return OK;
}

static void want_to_send(LaneSocket *socket, bool blocked) {
    if (socket->blocked == blocked)
        return;
    socket->blocked = blocked;
    event_loop_change(socket->loop, &socket->source, EPOLLIN | (blocked ? EPOLLOUT : 0));
}

static Status *send_some(LaneSocket *socket, bool *out_blocked) {
    for (int i = 0; i < TURNS; i++) {
        if (!socket->queue.bytes)
            TRY(socket->role->fill(socket));
        if (!socket->queue.bytes)
            return OK;
        struct iovec views[VIEWS];
        struct msghdr message = {.msg_iov = views, .msg_iovlen = (size_t)send_queue_next(&socket->queue, views, VIEWS)};
        ssize_t n = sendmsg(socket->source.fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        NEED(n >= 0 || errno == EINTR, UNAVAILABLE, "%s", strerror(errno));
        send_queue_sent(&socket->queue, n > 0 ? (size_t)n : 0);
    }
    *out_blocked = true;
    return OK;
}

void lane_socket_flush(LaneSocket *socket) {
    bool blocked = false;
    if (socket->failure || socket->connecting)
        return;
    Status *status = send_some(socket, &blocked);
    if (status)
        lane_socket_lose(socket, status);
    else
        want_to_send(socket, blocked);
}

// ---- in

// What is awaited next: the rest of a chunk, of a head or of its text.
static uint8_t *place(LaneSocket *socket, size_t *out_n) {
    size_t whole = sizeof(LaneHead) + (socket->got < sizeof(LaneHead) ? 0 : socket->in.head.text);
    if (socket->left) {
        bool wanted = socket->to != NULL;
        *out_n = wanted || socket->left < EVENT_LOOP_BUFFER ? (size_t)socket->left : EVENT_LOOP_BUFFER;
        return wanted ? socket->to : event_loop_buffer(socket->loop);
    }
    *out_n = whole - socket->got;
    return socket->in.bytes + socket->got;
}

static Status *take_record(LaneSocket *socket) {
    const LaneHead *head = &socket->in.head;
    NEED(head->text <= LANE_KEY, UNAVAILABLE, "the peer speaks another language");
    if (socket->got < sizeof *head + head->text)
        return OK;
    socket->to = NULL;
    TRY(socket->role->record(socket, head, (const char *)socket->in.bytes + sizeof *head, &socket->to));
    socket->left = head->kind == LANE_CHUNK ? head->bytes : 0;
    if (!socket->left)
        socket->got = 0;
    return OK;
}

static Status *took(LaneSocket *socket, size_t n) {
    if (!socket->left) {
        socket->got += n;
        return socket->got < sizeof(LaneHead) ? OK : take_record(socket);
    }
    socket->left -= n;
    if (socket->to)
        socket->to += n;
    if (!socket->left) {
        socket->got = 0;
        socket->role->arrived(socket, &socket->in.head);
    }
    return OK;
}

static Status *receive_some(LaneSocket *socket) {
    for (int i = 0; i < TURNS; i++) {
        size_t n;
        uint8_t *to = place(socket, &n);
        ssize_t got = recv(socket->source.fd, to, n, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return OK;
        NEED(got, UNAVAILABLE, "the peer has closed the lane");
        NEED(got > 0, UNAVAILABLE, "%s", strerror(errno));
        TRY(took(socket, (size_t)got));
    }
    return OK;
}

static void on_ready(EventSource *source, uint32_t events) {
    LaneSocket *socket = SOCKET_OF(source, source);
    Status *status = OK;
    guard_lock(socket->guard);
    if (socket->connecting && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
        socket->connecting = false;
        status = address_connected(source->fd);
    }
    if (!status && !socket->failure && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        status = receive_some(socket);
    if (status)
        lane_socket_lose(socket, status);
    lane_socket_flush(socket);
    guard_unlock_and_run(socket->guard);  // the loop's reference is given back by a task only
}

Status *lane_socket_new(const LaneRole *role, void *owner, Guard *guard, int fd, bool connecting, LaneSocket **out) {
    LaneSocket *socket = malloc(sizeof *socket);
    NEED_MEMORY(socket);
    *socket = (LaneSocket){
        .source = {fd, on_ready}, .role = role, .owner = owner, .guard = guard, .loop = guard->loop, .references = 2,
        .connecting = connecting, .blocked = connecting, .close.run = run_close,
    };
    address_tune(fd, 20000 * (int64_t)CLOCK_MS);
    Status *status = event_loop_add(guard->loop, &socket->source, EPOLLIN | (connecting ? EPOLLOUT : 0));
    if (status) {
        free(socket);
        return status;
    }
    *out = socket;  // the caller's reference, and the loop's
    return OK;
}
