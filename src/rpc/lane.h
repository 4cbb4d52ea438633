// Lane — bytes of tensors over a connection of their own: sent from where they lie, received where they shall lie.
//
// The receiver asks by a key. The answer says how much it is, memory of exactly that size is made, and the bytes follow
// in chunks, those of several answers in turn; lengths have 64 bits. An answer can be given up at any chunk. Nothing is
// copied but by the kernel. Calls go over other connections (channel.h), which bulk then can't hold up. A lane does not
// ask whether its peer is alive: whoever owns it probes by calls, and cancels; every fetch may have a deadline besides.
#pragma once
#include "base/str.h"
#include "rpc/event_loop.h"
#include "rpc/payload.h"
#include "thread/cancellation.h"

enum { LANE_KEY = 4096 };  // the longest key

// ---- the side that has the bytes

typedef struct LaneServer LaneServer;
typedef struct LaneRequest LaneRequest;
// On the loop's thread: must not block. Answers by lane_answer, once, now or later.
typedef void LaneHandler(void *arg, LaneRequest *request);

// `loop` is the lanes' own; NULL: the shared one. `secret`: what clients must say first; NULL: nothing.
FALLIBLE Status *lane_server_new(EventLoop *loop, const char *secret, LaneHandler *handler, void *arg, LaneServer **out);
FALLIBLE Status *lane_server_listen(LaneServer *server, const char *address, int *out_port);
// Connections are closed, requests cancelled. No handler is called any more when it returns. Not on the loop's thread.
void lane_server_free(LaneServer *server);

Str lane_request_key(const LaneRequest *request);
Cancellation *lane_request_cancellation(LaneRequest *request);  // not watched any more when it is answered
// From any thread; takes both. Without a payload or a status the answer has no bytes.
void lane_answer(LaneRequest *request, Status *status, Payload *payload);

// ---- the side that wants them

typedef struct Lane Lane;

// Looks the address up, which may take a while for a name; connects when first asked for something, and again after a loss.
FALLIBLE Status *lane_new(EventLoop *loop, const char *address, const char *secret, Lane **out);
void lane_free(Lane *lane);  // what is fetched ends CANCELLED

typedef struct {
    Str key;                      // copied
    int64_t deadline;             // by clock_now; NO_DEADLINE
    Cancellation *cancellation;   // outlives the fetch; NULL: none
    const PayloadMemory *memory;  // where the bytes go; copied; NULL: malloc
    uint64_t most_bytes;          // 0: no limit
} LaneFetch;

// On the loop's thread, exactly once; takes the bytes away by setting received->bytes to NULL. The status is freed after it.
typedef void LaneDone(void *arg, Status *status, Received *received);
FALLIBLE Status *lane_fetch(Lane *lane, const LaneFetch *fetch, LaneDone *done, void *arg);
