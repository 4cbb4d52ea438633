// Resource — named state that outlives a step: variables, queues, tables. ResourceTable — where a worker keeps them.
//
// A resource is an Object, so tensors may hold it; every subtype begins with a Resource. It is found by container, name
// and type, as in TensorFlow: a queue and a variable may have the same name.
#pragma once
#include "base/str.h"
#include "tensor/object.h"

typedef struct Resource Resource;
typedef struct ResourceTable ResourceTable;

typedef struct ResourceType {
    const char *name;                  // "Variable"
    size_t size;                       // of the subtype
    void (*clear)(Resource *resource); // the last reference is gone: release what the subtype holds
    void (*drop)(Resource *resource);  // taken out of its table while others may hold it: empty it; NULL for nothing
} ResourceType;

struct Resource {
    Object object;
    const ResourceType *type;
    Str container, name;  // followed by a NUL; empty for one that is in no table
    char *key;            // owns both
};

#define DEFAULT_CONTAINER STR("localhost")

// A zeroed subtype with one reference and no name. RESOURCE_EXHAUSTED.
FALLIBLE Status *resource_new(const ResourceType *type, Resource **out);

static inline Resource *resource_retain(Resource *resource) {
    object_retain(resource ? &resource->object : NULL);
    return resource;
}
static inline void resource_release(Resource *resource) {
    object_release(resource ? &resource->object : NULL);
}
static inline void resource_auto(Resource **resource) {
    resource_release(*resource);
}

// Any thread may call any of these. An empty container stands for DEFAULT_CONTAINER.
FALLIBLE Status *resource_table_new(ResourceTable **out);
void resource_table_free(ResourceTable *table);

// Makes a resource; runs with the table locked, so it is quick and does not call the table. `*out` has one reference.
typedef Status *ResourceCreateFn(void *arg, Resource **out);

// The one of that container, name and type, retained; made by `create` where there is none yet. Of callers that come
// together one creates.
FALLIBLE Status *resource_find_or_create(ResourceTable *table, Str container, Str name, const ResourceType *type,
                                         ResourceCreateFn *create, void *arg, Resource **out);
// Retained. NOT_FOUND.
FALLIBLE Status *resource_find(ResourceTable *table, Str container, Str name, const ResourceType *type,
                               Resource **out);
// Names an unnamed resource and keeps a reference. ALREADY_EXISTS.
FALLIBLE Status *resource_add(ResourceTable *table, Str container, Str name, Resource *resource);
// Takes it out and drops what is in it, even while others hold it. NOT_FOUND: it is not there (any more).
FALLIBLE Status *resource_remove(ResourceTable *table, Resource *resource);
// Takes out every resource of a container.
void resource_reset(ResourceTable *table, Str container);
