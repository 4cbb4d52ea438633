// Address — see address.h.
#include "rpc/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

enum { BACKLOG = 512, NOT_SENT = 128 * 1024 };

static bool is_local(const char *text) {
    return str_starts(str_of(text), STR("unix:"));
}

static Status *resolve_local(const char *text, Addresses *out) {
    struct sockaddr_un *local = (struct sockaddr_un *)&out->p[0].of;
    const char *path = text + sizeof "unix:" - 1;
    size_t n = strlen(path);
    NEED(n && n < sizeof local->sun_path, INVALID_ARGUMENT, "'%s': a path of 1 to %zu bytes is expected", text,
         sizeof local->sun_path - 1);
    memset(out, 0, sizeof *out);
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, n + 1);
    out->p[0].n = (socklen_t)sizeof *local;
    out->n = 1;
    return OK;
}

// The host without brackets; both end with a NUL.
static Status *split(const char *text, char host[256], char port[8]) {
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t number;
    NEED(colon && str_to_int(str_of(colon + 1), &number) && number >= 0 && number <= 65535, INVALID_ARGUMENT,
         "'%s' is no address: host:port is expected", text);
    snprintf(port, 8, "%d", (int)number);
    bool brackets = n >= 2 && text[0] == '[' && text[n - 1] == ']';
    size_t skip = brackets ? 1 : 0;
    NEED(n < 255 && (brackets || !memchr(text, ':', n)), INVALID_ARGUMENT, "'%s' is no address: [v6]:port is expected", text);
    snprintf(host, 256, "%.*s", (int)(n - 2 * skip), text + skip);
    if (!*host)
        snprintf(host, 256, "localhost");
    return OK;
}

Status *address_resolve(const char *text, bool numeric, Addresses *out) {
    if (is_local(text))
        return resolve_local(text, out);
    char host[256], port[8];
    TRY(split(text, host, port));
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0)};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, port, &hints, &found);
    // A bare system has no /etc/hosts; the name is this machine's whatever servers of names say (RFC 6761, 6.3).
    if (error && !numeric && strcmp(host, "localhost") == 0)
        error = getaddrinfo("127.0.0.1", port, &hints, &found);
    NEED(!error, numeric || error == EAI_NONAME ? NOT_FOUND : UNAVAILABLE, "'%s' has no address: %s", text,
         error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    out->n = 0;
    for (struct addrinfo *each = found; each && out->n < ADDRESSES; each = each->ai_next) {
        if (each->ai_addrlen > sizeof out->p[0].of)
            continue;
        memcpy(&out->p[out->n].of, each->ai_addr, each->ai_addrlen);
        out->p[out->n++].n = each->ai_addrlen;
    }
    freeaddrinfo(found);
    return OK;
}

void address_write(const Address *address, char out[ADDRESS_TEXT]) {
    char host[64] = "?", port[8] = "?";
    if (address->of.ss_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)&address->of;
        bool named = address->n > offsetof(struct sockaddr_un, sun_path);
        snprintf(out, ADDRESS_TEXT, "unix:%.*s", named ? (int)sizeof local->sun_path : 0, local->sun_path);
        return;
    }
    getnameinfo((const struct sockaddr *)&address->of, address->n, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(out, ADDRESS_TEXT, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static Status *open_socket(const Address *address, int *out_fd) {
    int fd = socket(address->of.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    NEED(fd >= 0, code_from_errno(errno), "no socket: %s", strerror(errno));
    *out_fd = fd;
    return OK;
}

static int port_of(int fd) {
    Address own = {.n = sizeof own.of};
    if (getsockname(fd, (struct sockaddr *)&own.of, &own.n))
        return 0;
    if (own.of.ss_family == AF_INET)
        return ntohs(((struct sockaddr_in *)&own.of)->sin_port);
    return own.of.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&own.of)->sin6_port) : 0;
}

// A socket file that nobody listens at is left from a process that died.
static void remove_stale(const Address *address) {
    int fd;
    Status *status = open_socket(address, &fd);
    if (status) {
        status_free(status);
        return;
    }
    if (connect(fd, (const struct sockaddr *)&address->of, address->n) && errno == ECONNREFUSED)
        unlink(((const struct sockaddr_un *)&address->of)->sun_path);
    close(fd);
}

Status *address_listen(const char *text, int *out_fd, int *out_port) {
    Addresses found;
    TRY(address_resolve(text, false, &found));
    NEED(found.n, NOT_FOUND, "'%s' has no address", text);
    const Address *address = &found.p[0];
    if (address->of.ss_family == AF_UNIX)
        remove_stale(address);
    int fd, one = 1;
    TRY(open_socket(address, &fd));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&address->of, address->n) || listen(fd, BACKLOG)) {
        int error = errno;
        close(fd);
        FAIL(code_from_errno(error), "can't listen at '%s': %s", text, strerror(error));
    }
    *out_port = port_of(fd);
    *out_fd = fd;
    return OK;
}

Status *address_connect(const Address *address, int *out_fd) {
    int fd;
    TRY(open_socket(address, &fd));
    if (connect(fd, (const struct sockaddr *)&address->of, address->n) && errno != EINPROGRESS && errno != EINTR) {
        int error = errno;
        close(fd);
        FAIL(UNAVAILABLE, "%s", strerror(error));
    }
    *out_fd = fd;
    return OK;
}

Status *address_connected(int fd) {
    int error = 0;
    socklen_t n = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n))
        error = errno;
    NEED(!error, UNAVAILABLE, "%s", strerror(error));
    // The kernel may give whoever dials the very port that it dials, where nobody listens: TCP then connects the socket with
    // itself, and holds the port against the server that comes back.
    Address own = {.n = sizeof own.of}, peer = {.n = sizeof peer.of};
    bool known = !getsockname(fd, (struct sockaddr *)&own.of, &own.n) && !getpeername(fd, (struct sockaddr *)&peer.of, &peer.n);
    bool itself = known && own.of.ss_family != AF_UNIX && own.n == peer.n && memcmp(&own.of, &peer.of, own.n) == 0;
    NEED(!itself, UNAVAILABLE, "%s", strerror(ECONNREFUSED));
    return OK;
}

void address_tune(int fd, int64_t unacknowledged_ns) {
    int one = 1, ms = (int)(unacknowledged_ns / CLOCK_MS), not_sent = NOT_SENT;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    // What waits in the socket can't be overtaken: with this a small call is behind 128 KiB of bulk, not 4 MiB.
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &not_sent, sizeof not_sent);
}
