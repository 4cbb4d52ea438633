// Nameless — handles of resources that live as long as these: caches, generators of seeds, iterators without a name.
#include "ops/data/dataset_op.h"
#include "resource/handle.h"

Status *nameless_output(Kernel *k, Resource *resource) {
    Tensor handle, deleter;
    if (k->n_out == 2) {
        TRY(tensor_new(DT_variant, SCALAR_SHAPE, &deleter));
        kernel_set_output(k, 1, deleter);
    }
    TRY(handle_tensor(resource, kernel_device_name(k->node), DT_INVALID, UNKNOWN_SHAPE, &handle));
    kernel_set_output(k, 0, handle);
    return OK;
}

Status *nameless_dummy(Kernel *k, const ResourceType *type) {
    Tensor handle;
    TRY(handle_tensor_named(DEFAULT_CONTAINER, STR("dummy"), str_of(type->name), kernel_device_name(k->node), DT_INVALID,
                            UNKNOWN_SHAPE, &handle));
    kernel_set_output(k, 0, handle);
    return OK;
}

Status *nameless_input(Kernel *k, const char *argument, const ResourceType *type, Resource **out) {
    int first, count;
    *out = NULL;
    if (node_input_arg(k->node, str_of(argument), &first, &count) < 0)
        return OK;
    Status *status = kernel_resource(k, first, type, out);
    if (status_code(status) != NOT_FOUND)
        return status;
    status_free(status);
    return OK;
}
