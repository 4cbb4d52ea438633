// Service — methods of a gRPC service by their messages: decodes a request, calls what answers it, encodes the answer.
//
// The loop's thread only takes requests; each is answered on an elastic thread (thread/pool.h), since steps may wait.
#pragma once
#include "proto/messages.h"
#include "rpc/rpc_server.h"

typedef struct Service Service;

// One request while it is answered.
typedef struct {
    Service *service;
    RpcRequest *request;
    Arena arena;             // of both messages, and of whatever they view
    Cancellation cancelled;  // by the client, its deadline or the server's end; has no parent
    Str message;             // the request's bytes
    void (*release)(void *kept);  // called with `kept` once the answer is encoded; NULL: nothing is kept for it
    void *kept;
} ServiceCall;

// `request` was decoded, `out` is zeroed; both are the messages of the method's row. What both view lives until the
// answer is encoded: in the call's arena, or in what `release` lets go.
typedef Status *ServiceFn(void *arg, ServiceCall *call, const void *request, void *out);

typedef struct {
    const char *path;        // "/tensorflow.MasterService/RunStep"
    const MessageType *request, *response;
    ServiceFn *answer;
    bool begins;             // a step or a session: what a server that is about to end does no more
} ServiceMethod;

// Adds the methods, a table that ends with {NULL}, to a server that doesn't listen yet. `arg` outlives the service.
FALLIBLE Status *service_new(RpcServer *server, const ServiceMethod *methods, void *arg, Service **out);
// From now on methods that begin something are refused: UNAVAILABLE.
void service_drain(Service *service);
// How many calls of such methods are being answered.
int64_t service_steps(Service *service);
// Waits for the calls that are being answered: the server has been stopped, so they are cancelled.
void service_free(Service *service);
