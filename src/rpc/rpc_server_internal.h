// RPC server, inside — what requests (rpc_request.c), health (health.c) and the server itself share.
#pragma once
#include "base/map.h"
#include "rpc/connection.h"
#include "rpc/rpc_server.h"

typedef struct {
    char *name;
    RpcHandler *handler;
    void *arg;
    bool open;                   // without the secret
} RpcMethod;

typedef struct Listener {
    EventSource source;
    EventTimer pause;            // no more descriptors: looks again later
    RpcServer *server;
    struct Listener *next;
} Listener;

// A client: a connection with its guard.
typedef struct RpcPeer {
    Guard guard;
    RpcServer *server;           // retained
    Connection *connection;      // the loop's while it is listed
    struct RpcPeer *next, **link;
} RpcPeer;

struct RpcServer {
    _Atomic int references;      // the user's, peers', timers'
    EventLoop *loop;
    RpcLimits limits;
    TlsContext *tls;
    char *secret;
    Map methods;                 // RpcMethod; not changed once it listens
    Mutex lock;
    Condition changed;
    int connections;             // guarded by lock
    bool listens;                // guarded by lock
    _Atomic bool draining, stopped;
    Listener *listeners;         // changed on the loop's thread
    RpcPeer *peers;              // on the loop's thread alone
};

struct RpcRequest {
    HttpStream stream;           // first
    _Atomic int references;      // the connection's, the handler's, the timer's, tasks'
    RpcPeer *peer;               // alive while the connection is
    Connection *connection;      // retained
    const RpcMethod *method;
    Text path, host;
    Metadata metadata, headers, trailers;
    bool authorised, posted, grpc;
    bool handed, replied, cancelled;
    int64_t deadline;
    EventTimer timer;
    Cancellation cancellation;
    Status *reason;              // of the cancellation, for its task
    Code code;
    Text message;
    EventTask run, cancel;
};

FALLIBLE Status *rpc_server_add_method(RpcServer *server, const char *name, RpcHandler *handler, void *arg, bool open);
FALLIBLE Status *health_add(RpcServer *server);
void rpc_server_retain(RpcServer *server);
void rpc_server_release(RpcServer *server);
extern const ConnectionRole rpc_server_role;
void rpc_server_lost(RpcPeer *peer);  // its connection; on the loop's thread, under its guard
