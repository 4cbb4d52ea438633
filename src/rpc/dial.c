// Dial — how a channel gets its connection: the name looked up, address after address tried, a rest after a failure.
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rpc/dial.h"
#include "thread/pool.h"

static const int64_t FIRST_REST = 50 * (int64_t)CLOCK_MS, LONGEST_REST = 1000 * (int64_t)CLOCK_MS;

// ---- between tries

// Half as long again after each failure, a second at most; up to a fifth off, so that many tasks don't come all at once.
static int64_t rest(const Channel *channel) {
    int64_t ns = FIRST_REST;
    for (int i = 1; i < channel->failures && ns < LONGEST_REST; i++)
        ns += ns / 2;
    ns = ns < LONGEST_REST ? ns : LONGEST_REST;
    return ns - ns / 1000 * (clock_now() / 64 % 200);
}

static void set_timer(Channel *channel, int64_t due) {
    if (event_loop_set_timer(channel->loop, &channel->timer, due))
        channel_retain(channel);
}

void channel_fail(Channel *channel, Status *error) {
    status_free(channel->error);
    channel->error = error;
    channel->failures++;
    channel->state = CHANNEL_RESTING;
    for (RpcCall *call = channel->waiting, *next; call; call = next) {
        next = call->next;
        if (!call->wait_for_ready)
            rpc_call_finish(call, status_new(UNAVAILABLE, __FILE__, __LINE__, "%s", status_message(error)));
    }
    set_timer(channel, clock_now() + rest(channel));
}

void channel_dial(Channel *channel) {
    if (channel->state != CHANNEL_IDLE || channel->freed)
        return;
    channel->state = CHANNEL_DIALING;
    channel_retain(channel);  // the task's
    event_loop_post(channel->loop, &channel->dial);
}

void dial_timer(EventTimer *timer) {
    Channel *channel = (Channel *)((char *)timer - offsetof(Channel, timer));
    guard_lock(&channel->guard);
    if (channel->state == CHANNEL_DIALING) {
        channel->round++;
        if (channel->source.fd >= 0) {
            event_loop_remove(channel->loop, &channel->source);
            close(channel->source.fd);
            channel->source.fd = -1;
        }
        channel_fail(channel, status_new(UNAVAILABLE, __FILE__, __LINE__, "no connection within %d ms",
                                         (int)(channel->connect_ns / CLOCK_MS)));
    } else if (channel->state == CHANNEL_RESTING) {
        channel->state = CHANNEL_IDLE;
        if (channel->waiting)
            channel_dial(channel);
    }
    guard_unlock_and_run(&channel->guard);
    channel_release(channel, 1);
}

// ---- a try, on the loop's thread

static Status *connect_at(Channel *channel, int fd) {
    char peer[ADDRESS_TEXT];
    Connection *connection;
    Tls *tls = NULL;
    address_write(&channel->addresses.p[channel->at - 1], peer);
    address_tune(fd, channel->limits.keepalive_wait);
    if (channel->tls)
        TRY(tls_new(channel->tls, channel->host, &tls));
    Status *status = connection_new(&channel_role, channel, &channel->guard, fd, peer, &channel->limits, tls, &connection);
    if (status) {
        tls_free(tls);
        return status;
    }
    channel_retain(channel);  // the connection's
    status = connection_start(connection);
    if (status) {
        connection->source.fd = -1;  // the caller closes it
    } else {
        guard_lock(&channel->guard);
        channel_take(channel, connection);
        guard_unlock_and_run(&channel->guard);
    }
    connection_release(connection);
    return status;
}

static void connected(Channel *channel, int fd) {
    if (event_loop_clear_timer(channel->loop, &channel->timer))
        channel_release(channel, 1);
    Status *status = connect_at(channel, fd);
    if (!status)
        return;
    close(fd);
    guard_lock(&channel->guard);
    channel_fail(channel, status);
    guard_unlock_and_run(&channel->guard);
}

static void try_next(Channel *channel, Status *last) {
    while (channel->at < channel->addresses.n) {
        int fd = -1;
        status_free(last);
        last = address_connect(&channel->addresses.p[channel->at++], &fd);
        if (last)
            continue;
        channel->source.fd = fd;
        last = event_loop_add(channel->loop, &channel->source, EPOLLOUT);
        if (!last)
            return;
        close(fd);
        channel->source.fd = -1;
    }
    if (event_loop_clear_timer(channel->loop, &channel->timer))
        channel_release(channel, 1);
    guard_lock(&channel->guard);
    channel_fail(channel, last ? last : status_new(UNAVAILABLE, __FILE__, __LINE__, "no address"));
    guard_unlock_and_run(&channel->guard);
}

void dial_ready(EventSource *source, uint32_t events) {
    Channel *channel = (Channel *)((char *)source - offsetof(Channel, source));
    (void)events;
    int fd = source->fd;
    channel_retain(channel);
    event_loop_remove(channel->loop, source);
    source->fd = -1;
    Status *status = address_connected(fd);
    if (status) {
        close(fd);
        try_next(channel, status);
    } else {
        connected(channel, fd);
    }
    channel_release(channel, 1);
}

// ---- names

typedef struct {
    EventTask task;
    Channel *channel;
    unsigned round;
    Addresses addresses;
    Status *status;
} Lookup;

static void run_found(EventTask *task) {
    Lookup *lookup = (Lookup *)task;
    Channel *channel = lookup->channel;
    guard_lock(&channel->guard);
    bool awaited = lookup->round == channel->round && channel->state == CHANNEL_DIALING;
    guard_unlock(&channel->guard);
    if (awaited) {
        channel->addresses = lookup->addresses;
        channel->at = 0;
        try_next(channel, lookup->status);
    } else {
        status_free(lookup->status);
    }
    free(lookup);
    channel_release(channel, 1);
}

static void look_up(void *arg) {
    Lookup *lookup = arg;
    lookup->status = address_resolve(lookup->channel->address, false, &lookup->addresses);
    event_loop_post(lookup->channel->loop, &lookup->task);
}

// A name server is asked on a thread of its own: that may take long.
static Status *begin_look_up(Channel *channel) {
    Lookup *lookup = calloc(1, sizeof *lookup);
    NEED_MEMORY(lookup);
    lookup->task.run = run_found;
    lookup->channel = channel;
    lookup->round = channel->round;
    channel_retain(channel);
    if (!pool_elastic(look_up, lookup))
        look_up(lookup);
    return OK;
}

void dial_run(EventTask *task) {
    Channel *channel = (Channel *)((char *)task - offsetof(Channel, dial));
    channel->round++;
    channel->at = channel->addresses.n = 0;
    set_timer(channel, clock_now() + channel->connect_ns);
    Status *status = address_resolve(channel->address, true, &channel->addresses);
    if (status_code(status) == NOT_FOUND) {
        status_free(status);
        status = begin_look_up(channel);
        if (status)
            try_next(channel, status);
    } else {
        try_next(channel, status);
    }
    channel_release(channel, 1);
}
