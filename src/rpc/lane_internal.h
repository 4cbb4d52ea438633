// Lane, inside — the records of the wire, and the socket that both sides have.
#pragma once
#include "rpc/guard.h"
#include "rpc/lane.h"
#include "rpc/send_queue.h"

// Client: HELLO (the secret), ASK (the key), CANCEL. Server: SIZE, CHUNK, FAIL (the message). All begin with a head.
typedef enum { LANE_HELLO = 'H', LANE_ASK = 'A', LANE_CANCEL = 'X', LANE_SIZE = 'S', LANE_CHUNK = 'C', LANE_FAIL = 'F' } LaneKind;

// As it travels, in the byte order of both: HELLO's `bytes` tells when these differ.
typedef struct {
    uint8_t kind, code;
    uint16_t text;   // bytes of key, message or secret that follow
    uint32_t id;     // of the fetch
    uint64_t bytes;  // SIZE: in all; CHUNK: that follow; HELLO: LANE_MAGIC
} LaneHead;
#define LANE_MAGIC 0x316e614c6c6c694dull

enum { LANE_CHUNK_BYTES = 512 * 1024 };

typedef struct LaneSocket LaneSocket;

typedef struct {
    // A whole record but for the bytes of a CHUNK; these go to *out_to, or nowhere when that is left NULL.
    FALLIBLE Status *(*record)(LaneSocket *socket, const LaneHead *head, const char *text, uint8_t **out_to);
    void (*arrived)(LaneSocket *socket, const LaneHead *head);  // the CHUNK's bytes are there
    FALLIBLE Status *(*fill)(LaneSocket *socket);  // the queue is empty: put more into it, or nothing
    void (*lost)(LaneSocket *socket);              // it is closed; failure says why
    void (*freed)(void *owner);
} LaneRole;

struct LaneSocket {
    EventSource source;
    const LaneRole *role;
    void *owner;
    Guard *guard;            // guards all of it
    EventLoop *loop;
    _Atomic int references;
    SendQueue queue;
    bool connecting, blocked, closed;
    Status *failure;
    EventTask close;
    union {
        LaneHead head;
        uint8_t bytes[sizeof(LaneHead) + LANE_KEY];
    } in;
    size_t got;              // of head and text
    uint8_t *to;             // of a CHUNK that comes; NULL: nobody wants it
    uint64_t left;           // of it
};

FALLIBLE Status *lane_socket_new(const LaneRole *role, void *owner, Guard *guard, int fd, bool connecting, LaneSocket **out);
void lane_socket_release(LaneSocket *socket);
// Under the guard.
FALLIBLE Status *lane_socket_put(LaneSocket *socket, LaneKind kind, int code, uint32_t id, uint64_t bytes, Str text);
void lane_socket_flush(LaneSocket *socket);
void lane_socket_lose(LaneSocket *socket, Status *status);  // takes it; role->lost follows on the loop's thread
