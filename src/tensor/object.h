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
    // Of variants with arithmetic, else NULL: a new object. `depth`: in how many others they lie, OBJECT_DEPTH at most.
    Status *(*zeros)(const Object *object, int depth, Object **out);
    Status *(*add)(const Object *a, const Object *b, int depth, Object **out);
} ObjectType;

enum { OBJECT_DEPTH = 64 };

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
// A new object as its type makes it: UNIMPLEMENTED where it has no such thing, INVALID_ARGUMENT where there is none,
// the two differ in type, or they lie too deep.
FALLIBLE Status *object_zeros(const Object *object, int depth, Object **out);
FALLIBLE Status *object_add(const Object *a, const Object *b, int depth, Object **out);
static inline void object_auto(Object **object) {
    object_release(*object);
}
