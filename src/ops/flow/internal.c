// Internal ops — those that the machine puts into its own graphs: arguments, results, reads of references, Send, Recv.
#include "ops/op.h"
#include "resource/variable.h"

const Op op__Arg = {
    .signature = "_Arg() -> output: T; T: type; index: int >= 0; lasts: bool = false; stateful",
    .doc = "A value that the caller gives; of a loop's body it may be the same in all iterations.",
    .flow = FLOW_ARG, .flags = OP_NO_GRADIENT,
};

const Op op__Retval = {
    .signature = "_Retval(input: T); T: type; index: int >= 0; stateful", .doc = "A value that the caller gets.",
    .flow = FLOW_RETVAL, .cpu = ANY_TYPE(kernel_nothing),
};

#define SEND_ATTRIBUTES \
    "tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; " \
    "client_terminated: bool = false; stateful"

const Op op__Send = {
    .signature = "_Send(tensor: T); T: type; " SEND_ATTRIBUTES, .doc = "Gives a value to the Recv of the same name.",
    .flow = FLOW_SEND,
};
const Op op__HostSend = {
    .signature = "_HostSend(tensor: T); T: type; " SEND_ATTRIBUTES,
    .doc = "Gives a value to the Recv of the same name, which wants it in host memory.", .flow = FLOW_SEND,
};
const Op op__Recv = {
    .signature = "_Recv() -> tensor: tensor_type; tensor_type: type; " SEND_ATTRIBUTES,
    .doc = "Takes the value that was sent under the name.", .flow = FLOW_RECV,
};
const Op op__HostRecv = {
    .signature = "_HostRecv() -> tensor: tensor_type; tensor_type: type; " SEND_ATTRIBUTES,
    .doc = "Takes the value that was sent under the name, in host memory.", .host_out = BIT(0), .flow = FLOW_RECV,
};

const Op op__Loop = {
    .signature =
        "_Loop(inputs: Tin) -> outputs: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; body: int; stateful",
    .doc = "Runs a list of nodes again and again, as long as it says so.", .flow = FLOW_LOOP,
};

static Status *read_shape(Shapes *s) {
    s->out[0] = s->in[0];
    return OK;
}

static Status *read_run(Kernel *k) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &variable_type, &resource));
    Tensor value;
    Status *status = variable_read(variable_of(resource), &value);
    resource_release(resource);
    TRY(status);
    kernel_set_output(k, 0, value);
    return OK;
}

const Op op__ReadRef = {
    .signature = "_ReadRef(ref: ref T) -> output: T; T: type; stateful",
    .doc = "The value of a variable when its reader runs.", .shape = read_shape, .cpu = ANY_TYPE(read_run),
    .flags = OP_DYNAMIC_SHAPE | OP_REF_READ,
};
