// Exchange ops — Send and Recv: edges of a graph that was cut, between parts that run apart (run/rendezvous.h).
#include "ops/op.h"

#define EXCHANGE_ATTRIBUTES \
    "tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; " \
    "client_terminated: bool = false; stateful"

// The key, but for the iteration.
static Status *exchange_prepare(Prepare *p) {
    Str *key = p->own;
    Str from = node_str(p->node, "send_device"), to = node_str(p->node, "recv_device");
    *key = str_format(p->arena, "%.*s;%016llx;%.*s;%.*s", STR_ARGS(from),
                      (unsigned long long)node_int(p->node, "send_device_incarnation"), STR_ARGS(to),
                      STR_ARGS(node_str(p->node, "tensor_name")));
    NEED_MEMORY(key->p);
    return OK;
}

static Status *send_run(Kernel *k) {
    return k->step->send(k, *(const Str *)k->own);
}

static void recv_start(Kernel *k) {
    k->step->receive(k, *(const Str *)k->own);
}

const Op op__Send = {
    .signature = "_Send(tensor: T); T: type; " EXCHANGE_ATTRIBUTES, .doc = "Gives a value to the Recv of the same name.",
    .prepare = exchange_prepare, .own_size = sizeof(Str), .cpu = ANY_TYPE(send_run), .host = BIT(0), .keeps = BIT(0),
    .flow = FLOW_SEND,
};
const Op op__HostSend = {
    .signature = "_HostSend(tensor: T); T: type; " EXCHANGE_ATTRIBUTES,
    .doc = "Gives a value to the Recv of the same name, which wants it in host memory.", .prepare = exchange_prepare,
    .own_size = sizeof(Str), .cpu = ANY_TYPE(send_run), .host = BIT(0), .keeps = BIT(0), .flow = FLOW_SEND,
};
const Op op__Recv = {
    .signature = "_Recv() -> tensor: tensor_type; tensor_type: type; " EXCHANGE_ATTRIBUTES,
    .doc = "Takes the value that was sent under the name.", .prepare = exchange_prepare, .own_size = sizeof(Str),
    .start = recv_start, .host_out = BIT(0), .flow = FLOW_RECV,
};
const Op op__HostRecv = {
    .signature = "_HostRecv() -> tensor: tensor_type; tensor_type: type; " EXCHANGE_ATTRIBUTES,
    .doc = "Takes the value that was sent under the name, in host memory.", .prepare = exchange_prepare,
    .own_size = sizeof(Str), .start = recv_start, .host_out = BIT(0), .flow = FLOW_RECV,
};
