// TLS — encryption of connections by OpenSSL 3, which is opened when first needed; HTTP/2 is agreed on by ALPN.
//
// Where the library was built without OpenSSL's headers, or libssl.so.3 is not there, tls_context_new is UNIMPLEMENTED.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "rpc/send_queue.h"

typedef struct Connection Connection;
typedef struct Tls Tls;                // of one connection
typedef struct TlsContext TlsContext;  // of a channel or a server

// Files in PEM. A server needs chain and key; with `roots` it asks clients for certificates that these have signed. A
// client checks the server's name against `roots`, or the system's.
typedef struct {
    const char *roots;
    const char *chain, *key;
    const char *name;                  // whose certificate is expected; NULL: the address's host
} TlsFiles;

FALLIBLE Status *tls_context_new(const TlsFiles *files, bool server, TlsContext **out);
void tls_context_free(TlsContext *context);
FALLIBLE Status *tls_new(TlsContext *context, const char *name, Tls **out);
void tls_free(Tls *tls);

bool tls_is_ready(const Tls *tls);     // the handshake is over
bool tls_is_pending(const Tls *tls);   // something encrypted waits to be sent
// What came from the socket: decrypts it and hands it to connection_receive.
FALLIBLE Status *tls_receive(Tls *tls, Connection *connection, const uint8_t *bytes, size_t n);
// Encrypts from the queue, and sends. *out_blocked: the socket takes no more.
FALLIBLE Status *tls_send(Tls *tls, int fd, SendQueue *queue, bool *out_blocked);
