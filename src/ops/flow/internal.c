// Internal ops — those that the machine puts into its own graphs: arguments, results, copies, reads of references.
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

const Op op__CopyOut = {
    .signature = "_CopyOut(tensor: T); T: type; key: string; stateful",
    .doc = "Takes a value out of a device's memory, for the CopyIn of the same key.", .flow = FLOW_COPY_OUT,
};
const Op op__HostCopyOut = {
    .signature = "_HostCopyOut(tensor: T); T: type; key: string; stateful",
    .doc = "Takes a value out of a device's memory, for the CopyIn of the same key, which wants it in host memory.",
    .flow = FLOW_COPY_OUT,
};
const Op op__CopyIn = {
    .signature = "_CopyIn() -> tensor: T; T: type; key: string; stateful",
    .doc = "Brings a value that was taken out under the key into a device's memory.", .flow = FLOW_COPY_IN,
};
const Op op__HostCopyIn = {
    .signature = "_HostCopyIn() -> tensor: T; T: type; key: string; stateful",
    .doc = "Gives the value that was taken out under the key, in host memory.", .host_out = BIT(0), .flow = FLOW_COPY_IN,
};

const Op op__Loop = {
    .signature =
        "_Loop(inputs: Tin) -> outputs: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; body: int; stateful",
    .doc = "Runs a list of nodes again and again, as long as it says so.", .flow = FLOW_LOOP,
};

const Op op__Cluster = {
    .signature =
        "_Cluster(inputs: Tin) -> outputs: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; body: int; stateful",
    .doc = "Runs what its device has compiled of the graph.", .flow = FLOW_CLUSTER,
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
    .flags = OP_DYNAMIC_SHAPE | OP_REF_READ, .hlo = hlo_identity,
};
