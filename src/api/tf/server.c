// TF_Server — a task of a cluster; see c_api.h.
#include "cluster/server.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/environment.h"
#include "base/clock.h"
#include "millrace/cluster.h"

struct TF_Server {
    Server *server;
};

TF_Server *TF_NewServer(const void *proto, size_t proto_len, TF_Status *status) {
    TF_Server *server = calloc(1, sizeof *server);
    api_begin();
    Status *error = server ? environment_check() : OUT_OF_MEMORY;
    if (!error)
        error = server_new(api_bytes(proto, proto_len), &server->server);
    if (!api_failed(status, error))
        return server;
    free(server);
    return NULL;
}

void TF_ServerStart(TF_Server *server, TF_Status *status) {
    api_set(status, server_start(server->server));
}

void mr_server_drain(TF_Server *server, int64_t ms, TF_Status *status) {
    int64_t most = (INT64_MAX - clock_now()) / CLOCK_MS;
    api_set(status, server_drain(server->server, clock_now() + (ms < 0 ? 0 : ms < most ? ms : most) * CLOCK_MS));
}

void TF_ServerStop(TF_Server *server, TF_Status *status) {
    api_set(status, server_stop(server->server));
}

void TF_ServerJoin(TF_Server *server, TF_Status *status) {
    api_set(status, server_join(server->server));
}

const char *TF_ServerTarget(TF_Server *server) {
    return server_target(server->server);
}

void TF_DeleteServer(TF_Server *server) {
    if (!server)
        return;
    server_free(server->server);
    free(server);
}
