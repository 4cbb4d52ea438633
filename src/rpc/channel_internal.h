// Channel, inside — what calls (rpc_call.c), connecting (dial.c) and the channel itself share.
#pragma once
#include "rpc/address.h"
#include "rpc/channel.h"
#include "rpc/connection.h"

typedef enum { CHANNEL_IDLE, CHANNEL_DIALING, CHANNEL_RESTING } ChannelState;

struct Channel {
    Guard guard;                 // guards all below, and the connections with their calls
    _Atomic int references;      // the user's, those of calls, connections, timers and tasks
    EventLoop *loop;
    char *address, *host;
    char *secret;                // "Bearer ..."; NULL: none
    RpcLimits limits;
    TlsContext *tls;
    int64_t connect_ns;
    bool freed;
    ChannelState state;
    Connection *current;         // takes calls; NULL: none
    Connection *connections;     // all: those that end too. Counted by their loops
    RpcCall *waiting, **last;    // for a connection
    int failures;                // in a row
    Status *error;               // the last
    EventTask dial, end;
    // Connecting: on the loop's thread.
    EventTimer timer;            // of a try, or of the rest before the next
    EventSource source;          // the socket of the try; fd -1: none
    Addresses addresses;
    int at;                      // the next address
    unsigned round;              // of dialing: what a name server answers late is dropped
};

struct RpcCall {
    HttpStream stream;           // first
    _Atomic int references;      // the caller's, the completion's, the timer's, the connection's
    Channel *channel;            // retained
    const char *method;          // behind the call
    Metadata metadata;           // as on the wire
    PayloadMemory memory;
    int64_t deadline, begun;
    EventTimer timer;
    Cancellation *cancellation;
    CancelWatch watch;
    bool finished, wait_for_ready, listed;
    int tries;
    RpcCall *next, **link;       // of those that wait
    RpcReply reply;
    int64_t http_status, grpc_status;  // -1: none came
    Text grpc_message;
    EventTask task;
    RpcDone *done;
    void *arg;
};

void channel_retain(Channel *channel);
void channel_release(Channel *channel, int references);

// Under the guard.
void channel_dial(Channel *channel);                       // unless it does so
void channel_take(Channel *channel, Connection *connection);  // a connection is there: those who wait go on it
void channel_fail(Channel *channel, Status *error);        // none is to be had for now; takes the error
void rpc_call_enter(RpcCall *call);                        // onto the connection, or to those who wait
void rpc_call_finish(RpcCall *call, Status *status);       // takes the status
extern const ConnectionRole channel_role;
