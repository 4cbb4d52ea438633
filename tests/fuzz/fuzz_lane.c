// fuzz_lane — bytes as what a peer of a lane says: a client to a live server, or a server to who fetches.
//
// The first byte says which, whether the greeting comes by itself, and in how many pieces the rest goes. The loop has no
// thread here: it is turned until nothing is left to do.
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "rpc/address.h"
#include "rpc/lane.h"
#include "rpc/lane_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { FETCH = 1, RAW = 2, PIECES = 4, FETCHES = 3, MOST_TURNS = 200 };

static struct {
    EventLoop *loop;
    LaneServer *server;
    Address serving;
    int listener, port;
    char address[32];
} rig;

// A key is how many bytes are wanted, in its first; odd ones fail.
static void serve(void *arg, LaneRequest *request) {
    static const char bytes[256];
    Str key = lane_request_key(request);
    size_t n = key.n ? (unsigned char)key.p[0] : 0;
    Payload *payload = NULL;
    (void)arg;
    Status *status = n & 1 ? status_new(ABORTED, "x", 1, "odd") : payload_of(bytes, n, &payload);
    lane_answer(request, status, payload);
}

static bool set_up(void) {
    Addresses found;
    int port;
    char address[32];
    if (event_loop_new(false, &rig.loop) || lane_server_new(rig.loop, NULL, serve, NULL, &rig.server) ||
        lane_server_listen(rig.server, "127.0.0.1:0", &port) || address_listen("127.0.0.1:0", &rig.listener, &rig.port))
        return false;
    event_loop_turn(rig.loop, 0);  // from now on this thread is the loop's
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    snprintf(rig.address, sizeof rig.address, "127.0.0.1:%d", rig.port);
    if (address_resolve(address, true, &found))
        return false;
    rig.serving = found.p[0];
    return true;
}

static void turn(int turns) {
    turn_loop(rig.loop, turns);
}

static void say(int fd, const uint8_t *bytes, size_t n, bool in_pieces) {
    say_to(rig.loop, fd, bytes, n, in_pieces);
    turn(2);
}

static void hang_up(int fd) {
    struct linger at_once = {1, 0};  // nothing is left in TIME_WAIT
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

static void at_the_server(const uint8_t *bytes, size_t n, int how) {
    const LaneHead hello = {LANE_HELLO, 0, 0, 0, LANE_MAGIC};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)&rig.serving.of, rig.serving.n)) {
        turn(2);
        if (!(how & RAW))
            (void)!send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
        say(fd, bytes, n, how & PIECES);
    }
    if (fd >= 0)
        hang_up(fd);
    turn(4);
}

static void note(void *arg, Status *status, Received *received) {
    (void)status, (void)received;
    ++*(int *)arg;
}

static void at_the_fetcher(const uint8_t *bytes, size_t n, int how) {
    Lane *lane;
    int ended = 0, begun = 0;
    Status *status = lane_new(rig.loop, rig.address, NULL, &lane);
    if (status) {
        status_free(status);
        return;
    }
    for (int i = 0; i < FETCHES; i++) {
        status = lane_fetch(lane, &(LaneFetch){.key = STR("k"), .deadline = NO_DEADLINE, .most_bytes = 1 << 20}, note, &ended);
        begun += !status;
        status_free(status);
    }
    turn(3);
    int fd = poll(&(struct pollfd){rig.listener, POLLIN, 0}, 1, 100) == 1 ? accept(rig.listener, NULL, NULL) : -1;
    if (fd >= 0) {
        say(fd, bytes, n, how & PIECES);
        hang_up(fd);
    }
    turn(3);
    lane_free(lane);
    for (int i = 0; i < MOST_TURNS && ended < begun; i++)
        turn(1);
    turn(3);
    if (ended != begun)
        __builtin_trap();  // a fetch that never ends, or does so twice
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    static bool ready, tried;
    if (!tried)
        ready = set_up();
    tried = true;
    if (!ready || n < 1)
        return 0;
    if (bytes[0] & FETCH)
        at_the_fetcher(bytes + 1, n - 1, bytes[0]);
    else
        at_the_server(bytes + 1, n - 1, bytes[0]);
    return 0;
}
