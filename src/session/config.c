// SessionConfig — what of a ConfigProto the session obeys.
//
// Fields that say nothing here (GPU options, graph options of grappler) are accepted and ignored, so that a client's
// configuration works as it is. Device counts of types that this process doesn't have are dropped.
#include "graph/graph_def.h"
#include "plan/pass.h"
#include "proto/messages.h"
#include "session/session.h"

SessionConfig session_config_default(void) {
    SessionConfig config = {0};
    passes_enabled(&config.passes, &config.rewrites_off);
    return config;
}

Status *session_config_parse(Str bytes, SessionConfig *config) {
    AUTO(arena) Arena arena = {0};
    void *message;
    Status *status = proto_decode(&arena, &message_ConfigProto, bytes, &message);
    if (status) {
        status_free(status);
        FAIL(INVALID_ARGUMENT, "Unparseable ConfigProto");
    }
    const ConfigProto *proto = message;
    config->intra_threads = proto->intra_op_parallelism_threads;
    config->inter_threads = proto->inter_op_parallelism_threads;
    config->soft_placement = proto->allow_soft_placement;
    config->log_placement = proto->log_device_placement;
    config->timeout_ms = proto->operation_timeout_in_ms;
    config->n_devices = 0;
    for (size_t i = 0; i < proto->device_count.n && config->n_devices < 8; i++) {
        const DeviceType *type = device_type_find(proto->device_count.p[i].key);
        if (type)
            config->devices[config->n_devices++] = (DeviceCount){str_of(type->name), proto->device_count.p[i].value};
    }
    return OK;
}
