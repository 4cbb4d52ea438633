// Object — what one element of a resource or variant tensor points to: counted, typed, immutable to those who share it.
//
// A resource element is a handle to named state; a variant element is a value such as a tensor list. A holder that is
// alone (`object_is_unique`) may change a variant in place; everybody else copies first (copy on write).
#pragma once
#include <stdatomic.h>

#include "base/status.h"

typedef struct Object Object;

typedef struct ObjectType {
    const char *name;                            // "TensorList"
    void (*free)(Object *object);                // called once, when the last reference goes
    void (*print)(const Object *object, void *text);  // Text *; may be NULL
} ObjectType;

struct Object {
    _Atomic int32_t references;
    const ObjectType *type;
};

static inline void object_init(Object *object, const ObjectType *type) {
    atomic_init(&object->references, 1);
    object->type = type;
}
static inline Object *object_retain(Object *object) {
    if (object)
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    return object;
}
static inline void object_release(Object *object) {
    if (object && atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) == 1)
        object->type->free(object);
}
static inline bool object_is_unique(const Object *object) {
    return atomic_load_explicit(&object->references, memory_order_acquire) == 1;
}
static inline void object_auto(Object **object) {
    object_release(*object);
}
