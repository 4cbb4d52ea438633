// Registry — see registry.h: kernels that plug-ins registered at run time.
//
// A list that only grows, with its newest at the front: readers take no lock, and entries are never freed, since steps
// may be in them.
#include "kernel/registry.h"

#include <stdatomic.h>

static _Atomic(DynamicKernel *) newest;

// `_kernel` is the attribute by which TensorFlow's graphs ask for a kernel of a certain label; none matches none.
static bool matches(const DynamicKernel *kernel, const Node *node, const char *device_type) {
    if (kernel->type != node->type || !str_is(kernel->device_type, device_type))
        return false;
    for (int i = 0; i < kernel->n_constraints; i++) {
        AUTO(text) Text name = {0};
        text_add(&name, kernel->constraints[i].attr);
        const AttrValue *value = name.p ? node_attr_find(node, name.p) : NULL;
        if (!value || value->kind != ATTR_TYPE || value->is_list || value->type != kernel->constraints[i].dtype)
            return false;
    }
    const AttrValue *label = node_attr_find(node, "_kernel");
    return str_equal(kernel->label, label ? label->s : (Str){0});
}

// The first of the highest priority, so of equal ones the newest.
const DynamicKernel *dynamic_kernel_find(const Node *node, const char *device_type) {
    const DynamicKernel *best = NULL;
    for (const DynamicKernel *kernel = atomic_load(&newest); kernel; kernel = kernel->next)
        if (matches(kernel, node, device_type) && (!best || kernel->priority > best->priority))
            best = kernel;
    return best;
}

const DynamicKernel *dynamic_kernel_at(size_t index) {
    const DynamicKernel *kernel = atomic_load(&newest);
    while (kernel && index--)
        kernel = kernel->next;
    return kernel;
}

// A lock-free push: the failed exchange has put the present head into kernel->next.
Status *dynamic_kernel_register(DynamicKernel *kernel) {
    kernel->next = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &kernel->next, kernel))
        ;
    return OK;
}
