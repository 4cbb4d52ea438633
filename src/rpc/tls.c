// TLS — see tls.h. OpenSSL works on memory here; the socket stays the connection's.
#include "rpc/tls.h"

#include <stdlib.h>

#if __has_include(<openssl/ssl.h>)
#include <openssl/err.h>
#include <openssl/ssl.h>
#if OPENSSL_VERSION_MAJOR == 3
#define HAVE_OPENSSL 1
#endif
#endif

#ifdef HAVE_OPENSSL

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "rpc/connection_internal.h"

enum { RECORD = 16 * 1024 };

// What is used of libssl and libcrypto.
#define TLS_FUNCTIONS(F)                                                                                          \
    F(TLS_server_method) F(TLS_client_method) F(SSL_CTX_new) F(SSL_CTX_free) F(SSL_CTX_ctrl)                      \
    F(SSL_CTX_set_options) F(SSL_CTX_use_certificate_chain_file) F(SSL_CTX_use_PrivateKey_file)                   \
    F(SSL_CTX_load_verify_locations) F(SSL_CTX_set_default_verify_paths) F(SSL_CTX_set_verify)                    \
    F(SSL_CTX_set_alpn_protos) F(SSL_CTX_set_alpn_select_cb) F(SSL_new) F(SSL_free) F(SSL_set_bio)                \
    F(SSL_set_accept_state) F(SSL_set_connect_state) F(SSL_set1_host) F(SSL_ctrl) F(SSL_read) F(SSL_write)        \
    F(SSL_get_error) F(SSL_is_init_finished) F(SSL_get0_alpn_selected) F(SSL_do_handshake)                        \
    F(SSL_get_verify_result) F(SSL_get0_param) F(X509_VERIFY_PARAM_set1_ip_asc) F(BIO_new) F(BIO_s_mem)           \
    F(BIO_read) F(BIO_write) F(BIO_ctrl) F(ERR_get_error) F(ERR_clear_error) F(ERR_error_string_n)                \
    F(X509_verify_cert_error_string)

static struct {
    bool there;
#define F(function) __typeof__(function) *function;
    TLS_FUNCTIONS(F)
#undef F
} ssl;

struct TlsContext {
    SSL_CTX *context;
    bool server;
};

struct Tls {
    SSL *ssl;
    BIO *in, *out;       // the SSL's
    bool server, agreed;
    uint8_t left[RECORD];  // encrypted, and not taken by the socket
    size_t at, n;
};

static void open_library(void) {
    void *handle = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return;
#define F(function)                                                       \
    *(void **)&ssl.function = dlsym(handle, #function); /* and libcrypto */ \
    if (!ssl.function)                                                    \
        return;
    TLS_FUNCTIONS(F)
#undef F
    ssl.there = true;
}

// What OpenSSL has to say of the last failure.
static Status *failure(Code code, const char *what) {
    char text[160] = "no reason given";
    unsigned long error = ssl.ERR_get_error();
    if (error)
        ssl.ERR_error_string_n(error, text, sizeof text);
    ssl.ERR_clear_error();
    return status_new(code, __FILE__, __LINE__, "TLS: %s: %s", what, text);
}

// ---- contexts

static const unsigned char H2[] = {2, 'h', '2'};

static int choose_protocol(SSL *connection, const unsigned char **out, unsigned char *out_n, const unsigned char *in,
                           unsigned n, void *arg) {
    (void)connection, (void)arg;
    for (unsigned i = 0; i + 2 < n + 0u; i += in[i] + 1u) {
        if (in[i] == 2 && in[i + 1] == 'h' && in[i + 2] == '2') {
            *out = in + i + 1;
            *out_n = 2;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static Status *load_files(SSL_CTX *context, const TlsFiles *files, bool server) {
    if (server && !files->chain)
        FAIL(INVALID_ARGUMENT, "TLS: a server needs a certificate");
    if (files->chain && ssl.SSL_CTX_use_certificate_chain_file(context, files->chain) != 1)
        return failure(INVALID_ARGUMENT, files->chain);
    if (files->chain && ssl.SSL_CTX_use_PrivateKey_file(context, files->key ? files->key : files->chain, SSL_FILETYPE_PEM) != 1)
        return failure(INVALID_ARGUMENT, files->key ? files->key : files->chain);
    if (files->roots && ssl.SSL_CTX_load_verify_locations(context, files->roots, NULL) != 1)
        return failure(INVALID_ARGUMENT, files->roots);
    if (!server && !files->roots && ssl.SSL_CTX_set_default_verify_paths(context) != 1)
        return failure(INVALID_ARGUMENT, "the system's roots");
    if (!server || files->roots)
        ssl.SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return OK;
}

static Status *set_up(SSL_CTX *context, const TlsFiles *files, bool server) {
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
    ssl.SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    if (server)
        ssl.SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    else if (ssl.SSL_CTX_set_alpn_protos(context, H2, sizeof H2))
        return failure(INTERNAL, "ALPN");
    return load_files(context, files, server);
}

Status *tls_context_new(const TlsFiles *files, bool server, TlsContext **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    NEED(ssl.there, UNIMPLEMENTED, "TLS: libssl.so.3 is not there");
    TlsContext *context = calloc(1, sizeof *context);
    NEED_MEMORY(context);
    context->server = server;
    context->context = ssl.SSL_CTX_new(server ? ssl.TLS_server_method() : ssl.TLS_client_method());
    Status *status = context->context ? set_up(context->context, files, server) : failure(RESOURCE_EXHAUSTED, "a context");
    if (status)
        tls_context_free(context);
    else
        *out = context;
    return status;
}

void tls_context_free(TlsContext *context) {
    if (!context)
        return;
    ssl.SSL_CTX_free(context->context);
    free(context);
}

// ---- connections

// "host:port" -> "host".
static Status *expect_name(SSL *connection, const char *name) {
    char host[256];
    const char *colon = strrchr(name, ':'), *end = colon && !strchr(colon, ']') ? colon : name + strlen(name);
    bool brackets = name[0] == '[' && end > name && end[-1] == ']';
    size_t skip = brackets ? 1 : 0, n = (size_t)(end - name) - 2 * skip;
    NEED(n < sizeof host, INVALID_ARGUMENT, "TLS: '%s' is no name of a host", name);
    memcpy(host, name + skip, n);
    host[n] = '\0';
    if (ssl.X509_VERIFY_PARAM_set1_ip_asc(ssl.SSL_get0_param(connection), host) == 1)
        return OK;
    ssl.ERR_clear_error();
    NEED(ssl.SSL_set1_host(connection, host) == 1, INVALID_ARGUMENT, "TLS: '%s' is no name of a host", name);
    ssl.SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host);
    return OK;
}

static Status *open_ssl(Tls *tls, TlsContext *context, const char *name) {
    tls->ssl = ssl.SSL_new(context->context);
    tls->in = ssl.BIO_new(ssl.BIO_s_mem());
    tls->out = ssl.BIO_new(ssl.BIO_s_mem());
    NEED_MEMORY(tls->ssl && tls->in && tls->out);
    ssl.SSL_set_bio(tls->ssl, tls->in, tls->out);
    tls->server = context->server;
    if (context->server) {
        ssl.SSL_set_accept_state(tls->ssl);
        return OK;
    }
    ssl.SSL_set_connect_state(tls->ssl);
    return expect_name(tls->ssl, name);
}

Status *tls_new(TlsContext *context, const char *name, Tls **out) {
    Tls *tls = calloc(1, sizeof *tls);
    NEED_MEMORY(tls);
    Status *status = open_ssl(tls, context, name);
    if (status)
        tls_free(tls);
    else
        *out = tls;
    return status;
}

void tls_free(Tls *tls) {
    if (!tls)
        return;
    if (tls->ssl)
        ssl.SSL_free(tls->ssl);
    free(tls);
}

bool tls_is_ready(const Tls *tls) {
    return ssl.SSL_is_init_finished(tls->ssl);
}

bool tls_is_pending(const Tls *tls) {
    return tls->n > tls->at || ssl.BIO_ctrl(tls->out, BIO_CTRL_PENDING, 0, NULL) > 0;
}

// OK while OpenSSL only wants more from the other side.
static Status *check(Tls *tls, int result, const char *what) {
    int error = ssl.SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return OK;
    NEED(error != SSL_ERROR_ZERO_RETURN, UNAVAILABLE, "TLS: the peer has closed the connection");
    long verified = ssl.SSL_get_verify_result(tls->ssl);
    if (verified != X509_V_OK) {
        ssl.ERR_clear_error();
        FAIL(UNAUTHENTICATED, "TLS: the peer's certificate: %s", ssl.X509_verify_cert_error_string(verified));
    }
    return failure(UNAVAILABLE, what);
}

static Status *shake_hands(Tls *tls) {
    const unsigned char *protocol;
    unsigned n;
    if (tls->agreed)
        return OK;
    int result = ssl.SSL_do_handshake(tls->ssl);
    if (result != 1)
        return check(tls, result, "the handshake");
    ssl.SSL_get0_alpn_selected(tls->ssl, &protocol, &n);
    NEED(n == 2 && !memcmp(protocol, "h2", 2), UNAVAILABLE, "TLS: the peer does not speak HTTP/2");
    tls->agreed = true;
    return OK;
}

Status *tls_receive(Tls *tls, Connection *connection, const uint8_t *bytes, size_t n) {
    uint8_t plain[RECORD];
    NEED(ssl.BIO_write(tls->in, bytes, (int)n) == (int)n, RESOURCE_EXHAUSTED, "TLS: out of memory");
    TRY(shake_hands(tls));
    if (!tls->agreed)
        return OK;
    for (;;) {
        int got = ssl.SSL_read(tls->ssl, plain, sizeof plain);
        if (got <= 0)
            return check(tls, got, "reading");
        TRY(connection_receive(connection, plain, (size_t)got));
    }
}

static Status *send_encrypted(Tls *tls, int fd, bool *out_blocked) {
    while (!*out_blocked) {
        if (tls->at == tls->n) {
            int n = ssl.BIO_read(tls->out, tls->left, sizeof tls->left);
            tls->at = 0;
            tls->n = n > 0 ? (size_t)n : 0;
            if (!tls->n)
                break;
        }
        ssize_t sent = send(fd, tls->left + tls->at, tls->n - tls->at, MSG_NOSIGNAL);
        NEED(sent >= 0 || errno == EAGAIN || errno == EINTR, UNAVAILABLE, "%s", strerror(errno));
        *out_blocked = sent < 0 && errno == EAGAIN;
        tls->at += sent > 0 ? (size_t)sent : 0;
    }
    return OK;
}

Status *tls_send(Tls *tls, int fd, SendQueue *queue, bool *out_blocked) {
    TRY(shake_hands(tls));
    struct iovec next;
    while (tls->agreed && !*out_blocked && send_queue_next(queue, &next, 1)) {
        if (next.iov_len) {
            int n = ssl.SSL_write(tls->ssl, next.iov_base, next.iov_len > RECORD ? RECORD : (int)next.iov_len);
            if (n <= 0)
                return check(tls, n, "writing");
            send_queue_sent(queue, (size_t)n);
        } else {
            send_queue_sent(queue, 0);
        }
        TRY(send_encrypted(tls, fd, out_blocked));
    }
    return send_encrypted(tls, fd, out_blocked);
}

#else

Status *tls_context_new(const TlsFiles *files, bool server, TlsContext **out) {
    (void)files, (void)server, (void)out;
    FAIL(UNIMPLEMENTED, "TLS: this library was built without OpenSSL");
}

void tls_context_free(TlsContext *context) {
    (void)context;
}

Status *tls_new(TlsContext *context, const char *name, Tls **out) {
    (void)context, (void)name, (void)out;
    FAIL(UNIMPLEMENTED, "TLS: this library was built without OpenSSL");
}

void tls_free(Tls *tls) {
    (void)tls;
}

bool tls_is_ready(const Tls *tls) {
    (void)tls;
    return false;
}

bool tls_is_pending(const Tls *tls) {
    (void)tls;
    return false;
}

Status *tls_receive(Tls *tls, Connection *connection, const uint8_t *bytes, size_t n) {
    (void)tls, (void)connection, (void)bytes, (void)n;
    FAIL(UNIMPLEMENTED, "TLS: this library was built without OpenSSL");
}

Status *tls_send(Tls *tls, int fd, SendQueue *queue, bool *out_blocked) {
    (void)tls, (void)fd, (void)queue, (void)out_blocked;
    FAIL(UNIMPLEMENTED, "TLS: this library was built without OpenSSL");
}

#endif
