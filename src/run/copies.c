// Copies — values between the memories of one task: what a CopyOut puts down in host memory, a CopyIn takes.
//
// A CopyIn is ordered behind its CopyOut by a control edge, so it never waits; the key is the tensor's name and
// destination, within one iteration.
#include <stdlib.h>

#include "run/kernels.h"

// A list, since few copies are under way at once: a CopyIn follows soon, and takes its parcel out.
typedef struct {
    Str key;
    void *iteration;
    Tensor value;
} Parcel;

typedef struct Copies {
    VEC(Parcel) parcels;
} Copies;

static Step *step_of(Kernel *k) {
    return (Step *)k->step;
}

// A value that is in host memory already is held, not copied.
static Status *host_copy(Kernel *k, const PlanNode *p, Tensor *out) {
    const Step *step = step_of(k);
    if (step->plan->slots[step->plan->in_slots[p->in]].memory == HOST_MEMORY)
        return kernel_keep(k, 0, out);
    Tensor host;
    if (p->binding.device->type->sync)  // a copy has no deadline
        TRY(p->binding.device->type->sync(p->binding.device, k->step));
    TRY(tensor_new(k->in[0]->dtype, k->in[0]->shape, &host));
    Status *status = p->binding.device->type->copy_out(p->binding.device, k->in[0], &host);
    if (status)
        tensor_clear(&host);
    else
        *out = host;
    return status;
}

Status *run_copy_out(Kernel *k) {
    Step *step = step_of(k);
    const PlanNode *p = &step->plan->nodes[k->index];
    if (!step->copies)
        step->copies = calloc(1, sizeof *step->copies);
    NEED_MEMORY(step->copies);
    Parcel parcel = {.key = node_str(k->node, "key"), .iteration = k->frame};
    TRY(host_copy(k, p, &parcel.value));
    bool kept = vec_push(&step->copies->parcels, parcel);
    if (!kept)
        tensor_clear(&parcel.value);
    NEED_MEMORY(kept);
    return OK;
}

// The last parcel takes the place of the one that goes: their order means nothing.
static bool take(Step *step, Kernel *k, Tensor *out) {
    Str key = node_str(k->node, "key");
    for (size_t i = 0; step->copies && i < step->copies->parcels.n; i++) {
        Parcel *parcel = &step->copies->parcels.p[i];
        if (parcel->iteration == k->frame && str_equal(parcel->key, key)) {
            *out = parcel->value;
            *parcel = vec_last(&step->copies->parcels);
            step->copies->parcels.n--;
            return true;
        }
    }
    return false;
}

Status *run_copy_in(Kernel *k) {
    Step *step = step_of(k);
    const PlanNode *p = &step->plan->nodes[k->index];
    Tensor value;
    NEED(take(step, k, &value), INTERNAL, "nothing was copied out under this key");
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

// A CopyOut whose CopyIn never ran: the step failed, or the branch was not taken.
void step_clear_copies(Step *step) {
    if (!step->copies)
        return;
    for (size_t i = 0; i < step->copies->parcels.n; i++)
        tensor_clear(&step->copies->parcels.p[i].value);
    vec_clear(&step->copies->parcels);
    free(step->copies);
    step->copies = NULL;
}
