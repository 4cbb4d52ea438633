// Connection time — what a connection is asked now and then: is the peer there, does it go on with what it began?
#include "rpc/connection_internal.h"

static const int64_t SECOND = 1000 * (int64_t)CLOCK_MS;

static int64_t least(int64_t period, int64_t limit) {
    return limit && limit / 4 < period ? limit / 4 : period;
}

void connection_set_tick(Connection *connection) {
    const RpcLimits *limits = &connection->limits;
    int64_t period = least(least(SECOND, limits->handshake), limits->stall);
    period = least(least(period, limits->keepalive), limits->keepalive_wait);
    if (period < 5 * CLOCK_MS)
        period = 5 * CLOCK_MS;
    connection_retain(connection);  // the timer's
    event_loop_set_timer(connection->loop, &connection->tick, clock_now() + period);
}

static bool is_past(int64_t since, int64_t limit, int64_t now) {
    return limit && now - since > limit;
}

static Status *check(const Connection *connection, int64_t now) {
    const RpcLimits *limits = &connection->limits;
    NEED(!connection->end_at || now < connection->end_at, RESOURCE_EXHAUSTED, "the peer asked for too much");
    NEED(connection->settled || !is_past(connection->opened, limits->handshake, now), UNAVAILABLE,
         "the peer has not said a word of HTTP/2 for %d ms", (int)((now - connection->opened) / CLOCK_MS));
    NEED(!connection->header_begun || !is_past(connection->header_begun, limits->handshake, now), UNAVAILABLE,
         "headers that were begun have not ended for %d ms", (int)((now - connection->header_begun) / CLOCK_MS));
    NEED(!connection->blocked || !is_past(connection->sent, limits->stall, now), UNAVAILABLE,
         "the peer has taken nothing for %d ms", (int)((now - connection->sent) / CLOCK_MS));
    NEED(!connection->pinged || !is_past(connection->pinged, limits->keepalive_wait, now), UNAVAILABLE,
         "no answer to a ping for %d ms", (int)((now - connection->pinged) / CLOCK_MS));
    return OK;
}

static void ask_streams(Connection *connection, int64_t now) {
    for (HttpStream *stream = connection->streams, *next; stream; stream = next) {
        next = stream->next;
        bool begun = connection->role->server ? !stream->ended : stream->n_prefix && !stream->ended;
        if (begun && !stream->deaf && is_past(stream->heard, connection->limits.stall, now))
            connection->role->fault(stream, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__,
                                                       "a message was begun and has not gone on for %d ms",
                                                       (int)((now - stream->heard) / CLOCK_MS)));
    }
}

static void ping(Connection *connection, int64_t now) {
    if (connection->pinged && connection->heard > connection->pinged)
        connection->pinged = 0;
    bool asks = connection->role->server || connection->n_streams;
    if (!asks || connection->pinged || connection->end_at || !is_past(connection->heard, connection->limits.keepalive, now))
        return;
    connection->pinged = now;
    nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL);
}

void connection_tick(EventTimer *timer) {
    Connection *connection = (Connection *)((char *)timer - offsetof(Connection, tick));
    int64_t now = clock_now();
    guard_lock(connection->guard);
    if (!connection->failure) {
        ping(connection, now);
        Status *status = check(connection, now);
        if (status) {
            connection_lose(connection, status);
        } else {
            ask_streams(connection, now);
            connection_flush(connection);
            connection_set_tick(connection);
        }
    }
    guard_unlock_and_run(connection->guard);
    connection_release(connection);
}
