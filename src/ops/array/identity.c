// Identities — ops that pass their input on: the same memory under another node.
#include "ops/op.h"

static Status *identity_shape(Shapes *s) {
    for (int i = 0; i < s->n_out; i++) {
        s->out[i] = s->in[i];
        s->handle_out[i] = (HandleShape *)(uintptr_t)s->handle[i];
    }
    return OK;
}

static void identity_grad(Formula *f) {
    for (int i = 0; i < f->n_x; i++)
        f->dx[i] = f->dy[i];
}

const Op op_Identity = {
    .signature = "Identity(input: T) -> output: T; T: type",
    .doc = "The input.", .shape = identity_shape, .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0),
    .grad = identity_grad, .flags = OP_CHEAP | OP_IDENTITY,
};
const Op op_StopGradient = {
    .signature = "StopGradient(input: T) -> output: T; T: type",
    .doc = "The input; gradients stop here.", .shape = identity_shape, .cpu = ANY_TYPE(kernel_nothing),
    .alias = BIT(0), .flags = OP_CHEAP | OP_IDENTITY | OP_NO_GRADIENT,
};
const Op op_Snapshot = {
    .signature = "Snapshot(input: T) -> output: T; T: type",
    .doc = "The input.", .shape = identity_shape, .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0),
    .grad = identity_grad, .flags = OP_CHEAP | OP_IDENTITY,
};

const Op op_IdentityN = {
    .signature = "IdentityN(input: T) -> output: T; T: list(type) >= 1", .doc = "The inputs.",
    .shape = identity_shape, .grad = identity_grad, .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0),
    .flags = OP_CHEAP, .hlo = hlo_identity,
};
