// Held — see held.h.
#include "tensor/held.h"

#include <stdlib.h>

typedef struct {
    Object object;
    Tensor tensor;
} Held;

static void held_free(Object *object) {
    tensor_clear(&((Held *)object)->tensor);
    free(object);
}

static const ObjectType held_type = {.name = "tensorflow::Tensor", .free = held_free};

Status *held_new(Tensor tensor, Object **out) {
    Held *held = calloc(1, sizeof *held);
    if (!held)
        tensor_clear(&tensor);
    NEED_MEMORY(held);
    object_init(&held->object, &held_type);
    held->tensor = tensor;
    *out = &held->object;
    return OK;
}

Status *held_get(const Tensor *variant, int64_t i, const Tensor **out) {
    const Object *object = ((Object *const *)variant->data)[i];
    NEED(object && object->type == &held_type, INVALID_ARGUMENT, "element %lld does not hold a tensor", (long long)i);
    *out = &((const Held *)object)->tensor;
    return OK;
}
