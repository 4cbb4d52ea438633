// Address — "host:port", "[v6]:port" or "unix:path", and the sockets at it.
#pragma once
#include <sys/socket.h>

#include "base/str.h"

enum { ADDRESS_TEXT = 128, ADDRESSES = 8 };

typedef struct {
    struct sockaddr_storage of;
    socklen_t n;
} Address;

typedef struct {
    Address p[ADDRESSES];
    int n;
} Addresses;

// Where a name leads, now. It may ask a name server and so block, unless `numeric`: then NOT_FOUND for names.
FALLIBLE Status *address_resolve(const char *text, bool numeric, Addresses *out);
// A listening socket, not blocking. Port 0: any, told in *out_port (0 for unix:). "localhost" is where a host is left out.
FALLIBLE Status *address_listen(const char *text, int *out_fd, int *out_port);
// A socket that is being connected, not blocking; writable when that has ended one way or the other.
FALLIBLE Status *address_connect(const Address *address, int *out_fd);
FALLIBLE Status *address_connected(int fd);  // how it ended
void address_write(const Address *address, char out[ADDRESS_TEXT]);
// Options of a connected socket: no delay, and an end when what was sent stays unacknowledged for so long.
void address_tune(int fd, int64_t unacknowledged_ns);
