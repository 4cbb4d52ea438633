// Object — see object.h: the arithmetic of variants, of which gradients need zeros and sums (lists of tensors).
#include "tensor/object.h"

Status *object_zeros(const Object *object, int depth, Object **out) {
    NEED(object, INVALID_ARGUMENT, "a variant without a value has no zeros");
    NEED(object->type->zeros, UNIMPLEMENTED, "no zeros of a %s", object->type->name);
    NEED(depth <= OBJECT_DEPTH, INVALID_ARGUMENT, "variants lie in more than %d others", OBJECT_DEPTH);
    return object->type->zeros(object, depth, out);
}

Status *object_add(const Object *a, const Object *b, int depth, Object **out) {
    NEED(a && b, INVALID_ARGUMENT, "a variant without a value has no sum");
    NEED(a->type == b->type && a->type->add, UNIMPLEMENTED, "no sum of a %s and a %s", a->type->name, b->type->name);
    NEED(depth <= OBJECT_DEPTH, INVALID_ARGUMENT, "variants lie in more than %d others", OBJECT_DEPTH);
    return a->type->add(a, b, depth, out);
}
