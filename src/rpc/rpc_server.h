// RPC server — listens, takes calls, hands each to the handler of its method.
//
// A handler runs on the loop's thread and must not block: what takes long goes to the pool, and answers from there. Every
// request is answered exactly once, by rpc_request_answer, from any thread. Calls whose deadline passes, whose client
// cancels or is gone, set the request's cancellation; the handler still answers, and nobody hears it.
// Health (grpc.health.v1, Check and List) is always there, also without the secret.
#pragma once
#include "rpc/event_loop.h"
#include "rpc/limits.h"
#include "rpc/metadata.h"
#include "rpc/payload.h"
#include "rpc/tls.h"
#include "thread/cancellation.h"

typedef struct RpcServer RpcServer;
typedef struct RpcRequest RpcRequest;
typedef void RpcHandler(void *arg, RpcRequest *request);

// Zero-initialised is what is usual.
typedef struct {
    EventLoop *loop;          // NULL: the shared one
    const RpcLimits *limits;  // NULL: rpc_limits_of_server
    const TlsFiles *tls;      // NULL: in the clear
    const char *secret;       // calls without it are UNAUTHENTICATED; NULL: anyone may call
} RpcServerOptions;

FALLIBLE Status *rpc_server_new(const RpcServerOptions *options, RpcServer **out);
// A method by its path, "/package.Service/Method", before the server listens. ALREADY_EXISTS.
FALLIBLE Status *rpc_server_add(RpcServer *server, const char *method, RpcHandler *handler, void *arg);
// "host:port", "unix:path"; a host that is left out is localhost, port 0 any. Any number of addresses.
FALLIBLE Status *rpc_server_listen(RpcServer *server, const char *address, int *out_port);
// A connection that was made elsewhere; takes the socket.
FALLIBLE Status *rpc_server_adopt(RpcServer *server, int fd);

// Says by grpc.health.v1 that it is about to end. Calls are answered as before.
void rpc_server_leave(RpcServer *server);
// No new connections and, once clients have heard so, no new calls; waits for those that run. DEADLINE_EXCEEDED when some
// still do: rpc_server_stop ends them. Not on the loop's thread.
FALLIBLE Status *rpc_server_drain(RpcServer *server, int64_t deadline);
// At once: connections are closed, requests cancelled. No handler is called any more when it returns; on the loop's
// thread, once rpc_server_connections is 0.
void rpc_server_stop(RpcServer *server);
// Stops. Requests that handlers still have may be answered later.
void rpc_server_free(RpcServer *server);
int rpc_server_connections(RpcServer *server);

// ---- requests: until they are answered

Str rpc_request_method(const RpcRequest *request);
Received *rpc_request_message(RpcRequest *request);             // the bytes may be taken away
bool rpc_request_metadata(const RpcRequest *request, Str name, Str *out_value);
int64_t rpc_request_deadline(const RpcRequest *request);        // by clock_now; NO_DEADLINE
Cancellation *rpc_request_cancellation(RpcRequest *request);    // not watched any more when it is answered
const char *rpc_request_peer(const RpcRequest *request);
// To be sent with the answer, before and after the message.
FALLIBLE Status *rpc_request_add_header(RpcRequest *request, Str name, Str value);
FALLIBLE Status *rpc_request_add_trailer(RpcRequest *request, Str name, Str value);
// Ends it; takes both. A status goes without a message; without either the message is empty.
void rpc_request_answer(RpcRequest *request, Status *status, Payload *message);
