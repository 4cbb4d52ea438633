// Limits — what a peer may ask of us, and how long we wait for it. Times are nanoseconds; 0: never.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t message_bytes;      // of one message; at most 2^32 - 1, which is all that gRPC can say
    size_t header_bytes;       // of one list of headers, 32 for each entry included
    size_t held_bytes;         // of all messages of a connection that are not delivered, or wait to be sent
    uint32_t streams;          // calls at once on a connection
    uint32_t connections;      // of a server
    uint32_t resets;           // RST_STREAM a second, in the long run; ten times as many at once
    int64_t handshake;         // until the peer has said SETTINGS, and until a list of headers is whole
    int64_t stall;             // without a byte, of a message that has begun; and of a socket that takes nothing
    int64_t keepalive;         // of silence before a ping: a client's with calls outstanding, a server's always
    int64_t keepalive_wait;    // for the answer to a ping
} RpcLimits;

// gRPC's servers bear one ping in 5 minutes and say GOAWAY to who sends more; ours bear ten a second.
RpcLimits rpc_limits_of_client(void);
RpcLimits rpc_limits_of_server(void);
