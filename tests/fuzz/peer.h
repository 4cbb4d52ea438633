// peer — what a fuzz target of the network says through a socket, while it turns the loop itself: no thread, so that a run
// is the same each time.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpc/event_loop.h"

static void turn_loop(EventLoop *loop, int turns) {
    for (int i = 0; i < turns; i++)
        event_loop_turn(loop, 0);
}

// Says it, in six pieces or as one, and hears what comes back.
static void say_to(EventLoop *loop, int fd, const uint8_t *bytes, size_t n, bool in_pieces) {
    uint8_t heard[4096];
    size_t step = in_pieces ? n / 5 + 1 : n + 1;
    for (size_t at = 0; at < n; at += step) {
        if (send(fd, bytes + at, n - at < step ? n - at : step, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        turn_loop(loop, 2);
        while (recv(fd, heard, sizeof heard, MSG_DONTWAIT) > 0) {
        }
    }
}
