// Variables — see variables.h: the variables that a kernel works on are locked for its call, and their values stand in
// the place of their handles among its inputs.
#include "device/variables.h"

#include "resource/handle.h"
#include "resource/variable.h"

// The inputs array belongs to the step; who calls next finds the handles again.
static void restore(Kernel *k, VariableLocks *locks) {
    Tensor **in = (Tensor **)(uintptr_t)k->in;
    for (int i = 0; i < locks->n; i++)
        in[locks->inputs[i]] = locks->handles[i];
}

static void release_all(VariableLocks *locks) {
    for (int i = 0; i < locks->n; i++)
        resource_release(locks->found[i]);
}

// Borrowed where the handle itself keeps the variable alive; `found` is what has to be released, or NULL.
static Status *find_variables(const Binding *binding, Kernel *k, VariableLocks *locks) {
    for (int i = 0; i < binding->n_in; i++) {
        uint8_t flags = binding->in_flags[i] & EDGE_VARIABLE;
        if (!flags)
            continue;
        NEED(locks->n < MAX_LOCKED, UNIMPLEMENTED, "a kernel locks at most %d variables", MAX_LOCKED);
        Resource *resource;
        TRY(handle_borrow(k->in[i], 0, k->step->resources, &variable_type, &resource, &locks->found[locks->n]));
        int at = locks->n++;
        locks->inputs[at] = (int16_t)i;
        locks->handles[at] = k->in[i];
        locks->uses[at] = (VariableUse){.variable = variable_of(resource),
                                        .access = flags & EDGE_READ ? VARIABLE_READ : VARIABLE_UPDATE};
    }
    return OK;
}

// A handle tells no type to the graph: the type that the signature promises for a variable input is checked here, since
// the op's kernel was chosen by it, unless shapes are all it reads, or the types are the kernel's business.
static Status *check_types(const Binding *binding, const VariableLocks *locks) {
    DType wanted = binding->op->flags & (OP_FROM_SHAPES | OP_OTHER_TYPES) ? DT_INVALID : binding_dtype(binding->node);
    for (int i = 0; i < locks->n; i++)
        NEED(wanted == DT_INVALID || locks->uses[i].variable->dtype == wanted, INVALID_ARGUMENT,
             "input %d is a variable of type %s, expected %s", locks->inputs[i],
             dtype_name(locks->uses[i].variable->dtype), dtype_name(wanted));
    return OK;
}

Status *variables_lock(const Binding *binding, Kernel *k, VariableLocks *out) {
    out->n = 0;
    Status *status = find_variables(binding, k, out);
    if (!status)
        status = check_types(binding, out);
    if (!status)
        status = variables_begin(out->uses, out->n);
    if (status) {
        release_all(out);
        return status;
    }
    Tensor **in = (Tensor **)(uintptr_t)k->in;
    for (int i = 0; i < out->n; i++)
        in[out->inputs[i]] = &out->uses[i].value;
    return OK;
}

// In the opposite order, so that nobody sees a value without its lock.
void variables_unlock(Kernel *k, VariableLocks *locks) {
    restore(k, locks);
    variables_end(locks->uses, locks->n);
    release_all(locks);
}
