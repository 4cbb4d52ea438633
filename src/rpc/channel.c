// Channel — see channel.h.
#define _GNU_SOURCE
#include "rpc/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpc/channel_internal.h"
#include "rpc/dial.h"

void channel_retain(Channel *channel) {
    atomic_fetch_add_explicit(&channel->references, 1, memory_order_relaxed);
}

void channel_release(Channel *channel, int references) {
    if (atomic_fetch_sub_explicit(&channel->references, references, memory_order_acq_rel) != references)
        return;
    guard_clear(&channel->guard);
    tls_context_free(channel->tls);
    status_free(channel->error);
    free(channel->address);
    free(channel->host);
    free(channel->secret);
    free(channel);
}

static Status *freed(void) {
    return status_new(CANCELLED, __FILE__, __LINE__, "the channel has been freed");
}

// On the loop's thread: ends what is being tried.
static void run_end(EventTask *task) {
    Channel *channel = (Channel *)((char *)task - offsetof(Channel, end));
    channel->round++;
    if (channel->source.fd >= 0) {
        event_loop_remove(channel->loop, &channel->source);
        close(channel->source.fd);
        channel->source.fd = -1;
    }
    channel_release(channel, event_loop_clear_timer(channel->loop, &channel->timer) ? 2 : 1);
}

// What the server is called: the address without what is special about it.
static char *host_of(const char *address, const TlsFiles *tls) {
    if (tls && tls->name)
        return strdup(tls->name);
    return strdup(strncmp(address, "unix:", 5) ? address : "localhost");
}

static Status *fill(Channel *channel, const char *address, const ChannelOptions *options) {
    Addresses unused;
    Status *status = address_resolve(address, true, &unused);
    if (status_code(status) != NOT_FOUND)  // a name is looked up later
        TRY(status);
    else
        status_free(status);
    channel->address = strdup(address);
    channel->host = host_of(address, options->tls);
    if (options->secret && asprintf(&channel->secret, "Bearer %s", options->secret) < 0)
        channel->secret = NULL;
    NEED_MEMORY(channel->address && channel->host && (channel->secret || !options->secret));
    return options->tls ? tls_context_new(options->tls, false, &channel->tls) : OK;
}

Status *channel_new(const char *address, const ChannelOptions *options, Channel **out) {
    static const ChannelOptions usual = {0};
    options = options ? options : &usual;
    EventLoop *loop = options->loop;
    if (!loop)
        TRY(event_loop_shared(&loop));
    Channel *channel = malloc(sizeof *channel);
    NEED_MEMORY(channel);
    *channel = (Channel){
        .references = 1, .loop = loop, .limits = options->limits ? *options->limits : rpc_limits_of_client(),
        .connect_ns = options->connect_ns ? options->connect_ns : 20000 * (int64_t)CLOCK_MS,
        .dial.run = dial_run, .end.run = run_end, .timer.fire = dial_timer, .source = {-1, dial_ready}, .last = &channel->waiting,
    };
    guard_init(&channel->guard, loop);
    Status *status = fill(channel, address, options);
    if (status)
        channel_release(channel, 1);
    else
        *out = channel;
    return status;
}

const char *channel_address(const Channel *channel) {
    return channel->address;
}

void channel_set_keepalive(Channel *channel, int64_t ns) {
    guard_lock(&channel->guard);
    channel->limits.keepalive = ns;
    if (channel->current)
        channel->current->limits.keepalive = ns;
    guard_unlock(&channel->guard);
}

void channel_take(Channel *channel, Connection *connection) {
    connection->next = channel->connections;
    connection->link = &channel->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    channel->connections = connection;
    if (channel->freed) {
        connection_lose(connection, freed());
        return;
    }
    if (!connection_is_usable(connection))
        return;
    channel->current = connection;
    channel->state = CHANNEL_IDLE;
    RpcCall *call = channel->waiting;
    channel->waiting = NULL;
    channel->last = &channel->waiting;
    for (RpcCall *next; call; call = next) {
        next = call->next;
        call->listed = false;
        rpc_call_enter(call);
    }
}

void channel_free(Channel *channel) {
    if (!channel || !event_loop_is_alive(channel->loop))
        return;
    guard_lock(&channel->guard);
    channel->freed = true;
    while (channel->waiting)
        rpc_call_finish(channel->waiting, freed());
    for (Connection *connection = channel->connections; connection; connection = connection->next) {
        for (HttpStream *stream = connection->streams; stream; stream = stream->next)
            rpc_call_finish((RpcCall *)stream, freed());
        connection_lose(connection, freed());
    }
    channel->current = NULL;
    channel->state = CHANNEL_IDLE;
    guard_defer(&channel->guard, &channel->end);  // the user's reference is the task's now
    guard_unlock(&channel->guard);
}
