// Limits — see limits.h.
#include "rpc/limits.h"

#include "base/clock.h"

static const int64_t SECOND = 1000 * (int64_t)CLOCK_MS;

RpcLimits rpc_limits_of_client(void) {
    return (RpcLimits){.message_bytes = INT32_MAX, .header_bytes = 64 * 1024, .held_bytes = (size_t)16 << 30,
                       .streams = 100, .resets = 1000, .handshake = 20 * SECOND, .stall = 60 * SECOND,
                       .keepalive = 330 * SECOND, .keepalive_wait = 20 * SECOND};
}

// TensorFlow's workers hold a RecvTensor open for every tensor that is awaited: with a limit as low as 100 what they wait for
// could be queued behind them.
RpcLimits rpc_limits_of_server(void) {
    return (RpcLimits){.message_bytes = INT32_MAX, .header_bytes = 16 * 1024, .held_bytes = (size_t)16 << 30,
                       .streams = 16384, .connections = 4096, .resets = 1000, .handshake = 10 * SECOND,
                       .stall = 30 * SECOND, .keepalive = 30 * SECOND, .keepalive_wait = 20 * SECOND};
}
