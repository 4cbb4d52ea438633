// Rendezvous — Send and Recv between the devices of one process: what one end puts down, the other takes.
//
// A Recv is ordered behind its Send by a control edge, so it never waits; the key is the tensor's name and destination,
// within one iteration. The value between them lies in host memory.
#include <stdlib.h>

#include "run/kernels.h"

typedef struct {
    Str key;
    void *iteration;
    Tensor value;
} Parcel;

typedef struct Rendezvous {
    VEC(Parcel) parcels;
} Rendezvous;

static Step *step_of(Kernel *k) {
    return (Step *)k->step;
}

static Status *host_copy(Kernel *k, const PlanNode *p, Tensor *out) {
    const Step *step = step_of(k);
    if (step->plan->slots[step->plan->in_slots[p->in]].memory == HOST_MEMORY)
        return kernel_keep(k, 0, out);
    Tensor host;
    TRY(tensor_new(k->in[0]->dtype, k->in[0]->shape, &host));
    Status *status = p->binding.device->type->copy_out(p->binding.device, k->in[0], &host);
    if (status)
        tensor_clear(&host);
    else
        *out = host;
    return status;
}

Status *run_send(Kernel *k) {
    Step *step = step_of(k);
    const PlanNode *p = &step->plan->nodes[k->index];
    if (!step->rendezvous)
        step->rendezvous = calloc(1, sizeof *step->rendezvous);
    NEED_MEMORY(step->rendezvous);
    Parcel parcel = {.key = node_str(k->node, "tensor_name"), .iteration = k->frame};
    TRY(host_copy(k, p, &parcel.value));
    bool kept = vec_push(&step->rendezvous->parcels, parcel);
    if (!kept)
        tensor_clear(&parcel.value);
    NEED_MEMORY(kept);
    return OK;
}

static bool take(Step *step, Kernel *k, Tensor *out) {
    Str key = node_str(k->node, "tensor_name");
    for (size_t i = 0; step->rendezvous && i < step->rendezvous->parcels.n; i++) {
        Parcel *parcel = &step->rendezvous->parcels.p[i];
        if (parcel->iteration == k->frame && str_equal(parcel->key, key)) {
            *out = parcel->value;
            *parcel = vec_last(&step->rendezvous->parcels);
            step->rendezvous->parcels.n--;
            return true;
        }
    }
    return false;
}

Status *run_recv(Kernel *k) {
    Step *step = step_of(k);
    const PlanNode *p = &step->plan->nodes[k->index];
    Tensor value;
    NEED(take(step, k, &value), INTERNAL, "nothing was sent under this key");
    if (step->plan->slots[p->out].memory == HOST_MEMORY) {
        kernel_set_output(k, 0, value);
        return OK;
    }
    Tensor inside;
    Status *status = tensor_new_on(p->binding.device->allocator, value.dtype, value.shape, &inside);
    if (!status) {
        status = p->binding.device->type->copy_in(p->binding.device, &value, &inside);
        if (status)
            tensor_clear(&inside);
        else
            kernel_set_output(k, 0, inside);
    }
    tensor_clear(&value);
    return status;
}

void step_clear_rendezvous(Step *step) {
    if (!step->rendezvous)
        return;
    for (size_t i = 0; i < step->rendezvous->parcels.n; i++)
        tensor_clear(&step->rendezvous->parcels.p[i].value);
    vec_clear(&step->rendezvous->parcels);
    free(step->rendezvous);
    step->rendezvous = NULL;
}
