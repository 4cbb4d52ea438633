// Health — grpc.health.v1: Check and List. A service is known when it has a method; all serve until the server drains.
#include <stdlib.h>

#include "base/cursor.h"
#include "rpc/rpc_server_internal.h"

enum { SERVING = 1, NOT_SERVING = 2 };

static int state(const RpcServer *server) {
    return atomic_load(&server->draining) ? NOT_SERVING : SERVING;
}

// "/package.Service/Method" -> "package.Service"
static Str service_of(Str method) {
    const char *slash = method.n > 1 ? memchr(method.p + 1, '/', method.n - 1) : NULL;
    return slash ? (Str){method.p + 1, (size_t)(slash - method.p - 1)} : (Str){0};
}

static bool is_known(const RpcServer *server, Str service) {
    size_t at = 0;
    Str name;
    void *method;
    while (map_next(&server->methods, &at, &name, &method))
        if (str_equal(service_of(name), service))
            return true;
    return service.n == 0;  // the server as a whole
}

// HealthCheckRequest{string service = 1}.
static Status *read_service(const Received *message, Str *out) {
    Cursor cursor = cursor_of(message->bytes, message->n);
    uint64_t tag;
    *out = (Str){0};
    while (cursor_left(&cursor)) {
        NEED(cursor_varint(&cursor, &tag) && tag == 10 && cursor_prefixed(&cursor, out), INVALID_ARGUMENT,
             "a HealthCheckRequest is expected");
    }
    return OK;
}

static void check(void *arg, RpcRequest *request) {
    RpcServer *server = arg;
    Str service;
    Payload *answer = NULL;
    Status *status = read_service(rpc_request_message(request), &service);
    if (!status && !is_known(server, service))
        status = status_new(NOT_FOUND, __FILE__, __LINE__, "unknown service %.*s", STR_ARGS(service));
    const char response[] = {8, (char)state(server)};  // HealthCheckResponse{status = 1}
    status = status ? status : payload_of(response, sizeof response, &answer);
    rpc_request_answer(request, status, answer);
}

// An entry of HealthListResponse{map<string, HealthCheckResponse> statuses = 1}. Names of services are short.
static void add_entry(Text *out, Str service, int state) {
    const char value[] = {18, 2, 8, (char)state};
    text_char(out, 10);
    text_char(out, (char)(service.n + 2 + sizeof value));
    text_char(out, 10);
    text_char(out, (char)service.n);
    text_add(out, service);
    text_add(out, (Str){value, sizeof value});
}

static bool is_first(const RpcServer *server, size_t before, Str service) {
    size_t at = 0;
    Str name;
    void *method;
    while (map_next(&server->methods, &at, &name, &method) && at < before)
        if (str_equal(service_of(name), service))
            return false;
    return true;
}

static void list(void *arg, RpcRequest *request) {
    RpcServer *server = arg;
    Text text = {0};
    size_t at = 0;
    Str name;
    void *method;
    add_entry(&text, STR(""), state(server));
    while (map_next(&server->methods, &at, &name, &method)) {
        Str service = service_of(name);
        if (service.n && service.n < 100 && is_first(server, at, service))
            add_entry(&text, service, state(server));
    }
    Payload *answer = NULL;
    Status *status = text.failed ? OUT_OF_MEMORY : payload_of(text.p, text.n, &answer);
    text_clear(&text);
    rpc_request_answer(request, status, answer);
}

static void watch(void *arg, RpcRequest *request) {
    (void)arg;
    rpc_request_answer(request, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "health is told by Check; nothing streams here"),
                       NULL);
}

Status *health_add(RpcServer *server) {
    TRY(rpc_server_add_method(server, "/grpc.health.v1.Health/Check", check, server, true));
    TRY(rpc_server_add_method(server, "/grpc.health.v1.Health/List", list, server, true));
    return rpc_server_add_method(server, "/grpc.health.v1.Health/Watch", watch, server, true);
}
