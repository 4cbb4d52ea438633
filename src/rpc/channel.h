// Channel — calls to one address: connects when first called, again after a loss, and carries any number of calls at once.
//
// A call ends exactly once: with its reply, its deadline, its cancellation, or the loss of the connection. Errors name
// address and method. What the server has refused, or never got, is sent again on a new connection.
#pragma once
#include "rpc/event_loop.h"
#include "rpc/limits.h"
#include "rpc/metadata.h"
#include "rpc/payload.h"
#include "rpc/tls.h"
#include "thread/cancellation.h"

typedef struct Channel Channel;
typedef struct RpcCall RpcCall;

// Zero-initialised is what is usual.
typedef struct {
    EventLoop *loop;          // NULL: the shared one
    const RpcLimits *limits;  // NULL: rpc_limits_of_client
    const TlsFiles *tls;      // NULL: in the clear
    const char *secret;       // goes with every call; NULL: none
    int64_t connect_ns;       // for one try to connect; 0: 20 s
} ChannelOptions;

// The address ("host:port", "unix:path") is looked up at every connect. Options are copied.
FALLIBLE Status *channel_new(const char *address, const ChannelOptions *options, Channel **out);
// Calls that run end CANCELLED; what they call is called. The connection closes.
void channel_free(Channel *channel);
const char *channel_address(const Channel *channel);
// Of connections to come; one that knows its peer to be ours may ping every second.
void channel_set_keepalive(Channel *channel, int64_t ns);

typedef struct {
    const char *method;              // "/tensorflow.WorkerService/GetStatus"
    Payload *request;                // taken, also when the call can't be made
    const Metadata *metadata;        // copied; NULL: none
    int64_t deadline;                // by clock_now; NO_DEADLINE
    Cancellation *cancellation;      // outlives the call; NULL: none
    bool wait_for_ready;             // a server that is not there is waited for, not an error
    const PayloadMemory *memory;     // where the reply goes; copied; NULL: malloc
} RpcCallOptions;

typedef struct {
    Status *status;                  // OK: there is a message
    Received message;
    Metadata metadata;               // of the reply, headers and trailers
} RpcReply;
void rpc_reply_clear(RpcReply *reply);

// On the loop's thread, with no lock held: must not block. What it leaves in the reply is cleared after it.
typedef void RpcDone(void *arg, RpcReply *reply);

// Never calls `done` before it has returned; when it fails, never. out_call, if not NULL, is for rpc_call_cancel and
// then rpc_call_release.
FALLIBLE Status *channel_call(Channel *channel, const RpcCallOptions *options, RpcDone *done, void *arg, RpcCall **out_call);
// Waits. Not on a loop's thread. The reply's status is returned, and NULL in it; it is cleared by the caller.
FALLIBLE Status *channel_call_wait(Channel *channel, const RpcCallOptions *options, RpcReply *out);
// Ends it, unless it has ended; NULL for a plain CANCELLED. Takes the reason.
void rpc_call_cancel(RpcCall *call, Status *reason);
void rpc_call_release(RpcCall *call);
