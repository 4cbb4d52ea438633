// RefIdentity, RefSelect — references handed on, without a look at what they refer to.
#include "ops/op.h"

static Status *pass_on(Kernel *k, int i) {
    Tensor handle;
    TRY(kernel_keep(k, i, &handle));
    kernel_set_output(k, 0, handle);
    return OK;
}

static Status *identity_run(Kernel *k) {
    return pass_on(k, 0);
}

static void identity_grad(Formula *f) {
    f->dx[0] = f->dy[0];
}

const Op op_RefIdentity = {
    .signature = "RefIdentity(input: ref T) -> output: ref T; T: type; allows_uninitialized",
    .doc = "The same reference.", .shape = shape_unchanged, .grad = identity_grad,
    .keeps = BIT(0), .cpu = ANY_TYPE(identity_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP,
};

static Status *select_run(Kernel *k) {
    int64_t index = tensor_int(k->in[0], 0);
    NEED(index >= 0 && index < k->n_in - 1, INVALID_ARGUMENT, "Index must be in the range [0, %d) but got %lld",
         k->n_in - 1, (long long)index);
    return pass_on(k, (int)index + 1);
}

static Status *select_shape(Shapes *s) {
    s->out[0] = s->n_in == 2 ? s->in[1] : UNKNOWN_SHAPE;
    return OK;
}

const Op op_RefSelect = {
    .signature = "RefSelect(index: int32, inputs: ref N * T) -> output: ref T; T: type; N: int >= 1",
    .doc = "The reference of that index.", .needs = "scalar(index)", .shape = select_shape, .host = BIT(0),
    .keeps = BIT(1),
    .cpu = ANY_TYPE(select_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP,
};
