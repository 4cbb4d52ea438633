// fuzz_rpc — bytes as what a peer says: to a live server, or as a server's answer to a call.
//
// The first byte says which, whether the beginning of HTTP/2 comes by itself, and in how many pieces the rest goes. The
// loop has no thread here: it is turned until nothing is left to do, so that a run is the same each time.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "rpc/address.h"
#include "rpc/channel.h"
#include "rpc/rpc_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { CLIENT = 1, RAW = 2, PIECES = 4, MOST_TURNS = 200 };

static struct {
    EventLoop *loop;
    RpcServer *server;
    int listener, port;
} rig;

static void echo(void *arg, RpcRequest *request) {
    (void)arg;
    Payload *answer = NULL;
    const Received *message = rpc_request_message(request);
    Status *status = payload_of(message->bytes, message->n, &answer);
    rpc_request_answer(request, status, answer);
}

static bool set_up(void) {
    RpcLimits limits = rpc_limits_of_server();
    limits.message_bytes = limits.held_bytes = 1 << 20;
    limits.streams = 8;
    if (event_loop_new(false, &rig.loop))
        return false;
    event_loop_turn(rig.loop, 0);  // from now on this thread is the loop's
    return !rpc_server_new(&(RpcServerOptions){.loop = rig.loop, .limits = &limits}, &rig.server) &&
           !rpc_server_add(rig.server, "/f", echo, NULL) && !address_listen("127.0.0.1:0", &rig.listener, &rig.port);
}

static void turn(int turns) {
    turn_loop(rig.loop, turns);
}

// Says it piece by piece, hears what comes back, and hangs up.
static void say(int fd, const uint8_t *bytes, size_t n, bool in_pieces) {
    say_to(rig.loop, fd, bytes, n, in_pieces);
    shutdown(fd, SHUT_WR);
    turn(2);
}

static void say_preface(int fd, bool client) {
    static const char magic[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    if (client)
        (void)!send(fd, magic, sizeof magic - 1, MSG_NOSIGNAL);
    (void)!send(fd, "\0\0\0\4\0\0\0\0\0", 9, MSG_NOSIGNAL);
}

static void at_the_server(const uint8_t *bytes, size_t n, int how) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
        return;
    Status *status = rpc_server_adopt(rig.server, pair[0]);
    status_free(status);
    if (!(how & RAW))
        say_preface(pair[1], true);
    say(pair[1], bytes, n, how & PIECES);
    close(pair[1]);
    for (int i = 0; i < MOST_TURNS && rpc_server_connections(rig.server); i++)
        turn(1);
    if (rpc_server_connections(rig.server))
        __builtin_trap();  // it clings to a connection that is gone
}

static void note(void *arg, RpcReply *reply) {
    (void)reply;
    *(bool *)arg = true;
}

static void at_the_client(const uint8_t *bytes, size_t n, int how) {
    char address[32];
    Channel *channel;
    bool ended = false;
    RpcLimits limits = rpc_limits_of_client();
    RpcCallOptions options = {.method = "/f", .deadline = NO_DEADLINE};
    limits.message_bytes = 1 << 20;
    snprintf(address, sizeof address, "127.0.0.1:%d", rig.port);
    Status *status = payload_of("x", 1, &options.request);
    status = status ? status : channel_new(address, &(ChannelOptions){.loop = rig.loop, .limits = &limits}, &channel);
    if (status || (status = channel_call(channel, &options, note, &ended, NULL))) {
        status_free(status);
        return;
    }
    turn(3);
    int fd = poll(&(struct pollfd){rig.listener, POLLIN, 0}, 1, 100) == 1 ? accept(rig.listener, NULL, NULL) : -1;
    if (fd >= 0) {
        turn(2);
        if (!(how & RAW))
            say_preface(fd, false);
        say(fd, bytes, n, how & PIECES);
        struct linger at_once = {1, 0};  // nothing is left in TIME_WAIT
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
    }
    turn(3);
    channel_free(channel);
    for (int i = 0; i < MOST_TURNS && !ended; i++)
        turn(1);
    turn(3);
    if (!ended)
        __builtin_trap();  // a call that never ends
    while ((fd = poll(&(struct pollfd){rig.listener, POLLIN, 0}, 1, 0) == 1 ? accept(rig.listener, NULL, NULL) : -1) >= 0)
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    static bool ready, tried;
    if (!tried)
        ready = set_up();
    tried = true;
    if (!ready || n < 1)
        return 0;
    if (bytes[0] & CLIENT)
        at_the_client(bytes + 1, n - 1, bytes[0]);
    else
        at_the_server(bytes + 1, n - 1, bytes[0]);
    return 0;
}
