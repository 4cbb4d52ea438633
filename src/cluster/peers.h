// Peers — the other tasks of a cluster: where they are, how they are called, and whether they are still there.
//
// One channel a task, for all sessions and steps of this server. TensorFlow's servers refuse pings, so life is probed by
// GetStatus, as long as somebody watches: a task that is not there, or says nothing within the lease, is lost.
#pragma once
#include "proto/messages.h"
#include "rpc/channel.h"
#include "rpc/lane.h"

typedef struct Peer Peer;
typedef struct Peers Peers;

enum { PEER_LEASE_MS = 5000 };  // after so long a silence a task counts as lost

// Of all tasks but `own` ("/job:worker/replica:0/task:1").
FALLIBLE Status *peers_new(const ClusterDef *cluster, Str own, Peers **out);
// Calls that run end CANCELLED. Nobody watches any more.
void peers_free(Peers *peers);
size_t peers_count(const Peers *peers);  // of NULL: 0
Peer *peers_at(Peers *peers, size_t i);
Peer *peers_find(Peers *peers, Str task);   // NULL: none of that name

const char *peer_task(const Peer *peer);
// The error with the task's name, as TensorFlow has it: "From /job:ps/replica:0/task:0:\n...". Where the task itself tells of
// a node, the way that its words came is left out.
FALLIBLE Status *peer_error(const char *task, Status *status);

// Lies with who watches.
typedef struct PeerWatch {
    void (*lost)(void *arg, Status *reason);  // takes the reason; on the loop's thread, must not block; once at most
    void *arg;
    struct PeerWatch *next, **link;
} PeerWatch;
void peer_watch(Peer *peer, PeerWatch *watch);
void peer_unwatch(Peer *peer, PeerWatch *watch);  // `lost` is not called any more

// What a call of a method is given; zero-initialised is what is usual.
typedef struct {
    const char *method;              // "RunGraph": of WorkerService
    const MessageType *type;         // of the request
    const void *request;
    int64_t deadline;                // NO_DEADLINE, or 0 for that
    Cancellation *cancellation;
    bool wait_for_ready;
} PeerCall;
// `done` is called exactly once, unless this fails.
FALLIBLE Status *peer_call(Peer *peer, const PeerCall *call, RpcDone *done, void *arg);
// Waits; the reply, of that type, lies in the arena. Errors name the task.
FALLIBLE Status *peer_call_wait(Peer *peer, const PeerCall *call, const MessageType *reply_type, Arena *arena, void **out);
// Over the task's lane (rpc/lane.h), which listens on that port of its host.
FALLIBLE Status *peer_lane_fetch(Peer *peer, int port, const LaneFetch *fetch, LaneDone *done, void *arg);
// Nobody waits for the answer.
void peer_tell(Peer *peer, const PeerCall *call);
