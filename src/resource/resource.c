// Resource — see resource.h: named state that outlives a step, counted, in a table by container, name and type.
//
// The table holds one reference; steps and handles hold theirs. What leaves the table is dropped first (its waits end,
// its memory may go), freed when the last holder lets go. `drop` runs without the table's lock, since it may call back.
#include "resource/resource.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "thread/mutex.h"

struct ResourceTable {
    Mutex lock;
    Map map;  // key_of -> Resource *, one reference each. Guarded by lock
};

typedef VEC(Resource *) ResourceList;

static void resource_free(Object *object) {
    Resource *resource = (Resource *)object;
    if (resource->type->clear)
        resource->type->clear(resource);
    free(resource->key);
    free(resource);
}

static void resource_print(const Object *object, void *text) {
    const Resource *resource = (const Resource *)object;
    text_format(text, "<%s %.*s>", resource->type->name, STR_ARGS(resource->name));
}

static const ObjectType resource_object = {.name = "Resource", .free = resource_free, .print = resource_print};

Status *resource_new(const ResourceType *type, Resource **out) {
    Resource *resource = calloc(1, type->size);
    NEED_MEMORY(resource != NULL);
    object_init(&resource->object, &resource_object);
    resource->type = type;
    *out = resource;
    return OK;
}

Status *resource_table_new(ResourceTable **out) {
    ResourceTable *table = calloc(1, sizeof *table);
    NEED_MEMORY(table != NULL);
    mutex_init(&table->lock);
    *out = table;
    return OK;
}

static Str container_or_default(Str container) {
    return container.n ? container : DEFAULT_CONTAINER;
}

// container, name and type, each followed by a NUL. A name with a NUL inside could stand for two keys: refused.
static Status *key_of(Str container, Str name, const ResourceType *type, Text *out) {
    container = container_or_default(container);
    NEED(!memchr(container.p, 0, container.n) && !(name.n && memchr(name.p, 0, name.n)), INVALID_ARGUMENT,
         "a resource's name has a NUL in it");
    text_add(out, container);
    text_char(out, 0);
    text_add(out, name);
    text_char(out, 0);
    text_add(out, str_of(type->name));
    NEED_MEMORY(!out->failed);
    return OK;
}

static Str key_str(const Resource *resource) {
    return (Str){resource->key, resource->container.n + resource->name.n + 2 + strlen(resource->type->name)};
}

// Gives the resource its name, and the table a reference. The resource is not shared yet.
static Status *put(ResourceTable *table, Str container, Str name, Text *key, Resource *resource)
    REQUIRES(table->lock);

static Status *put(ResourceTable *table, Str container, Str name, Text *key, Resource *resource) {
    NEED(!resource->key, FAILED_PRECONDITION, "resource '%.*s' already has a table", STR_ARGS(resource->name));
    container = container_or_default(container);
    resource->key = key->p;
    resource->container = (Str){key->p, container.n};
    resource->name = (Str){key->p + container.n + 1, name.n};
    *key = (Text){0};
    if (!map_set(&table->map, key_str(resource), resource)) {
        free(resource->key);
        resource->key = NULL;
        resource->container = resource->name = (Str){0};
        return OUT_OF_MEMORY;
    }
    resource_retain(resource);
    return OK;
}

static Status *find_or_put(ResourceTable *table, Str container, Str name, Text *key, ResourceCreateFn *create,
                           void *arg, Resource **out) REQUIRES(table->lock);

// `create` runs under the lock: two steps that open one name at the same time get one resource.
static Status *find_or_put(ResourceTable *table, Str container, Str name, Text *key, ResourceCreateFn *create,
                           void *arg, Resource **out) {
    Resource *found = map_find(&table->map, text_str(key));
    if (found) {
        *out = resource_retain(found);
        return OK;
    }
    AUTO(resource) Resource *fresh = NULL;
    TRY(create(arg, &fresh));
    TRY(put(table, container, name, key, fresh));
    *out = resource_retain(fresh);
    return OK;
}

Status *resource_find_or_create(ResourceTable *table, Str container, Str name, const ResourceType *type,
                                ResourceCreateFn *create, void *arg, Resource **out) {
    AUTO(text) Text key = {0};
    TRY(key_of(container, name, type, &key));
    mutex_lock(&table->lock);
    Status *status = find_or_put(table, container, name, &key, create, arg, out);
    mutex_unlock(&table->lock);
    return status;
}

Status *resource_find(ResourceTable *table, Str container, Str name, const ResourceType *type, Resource **out) {
    AUTO(text) Text key = {0};
    TRY(key_of(container, name, type, &key));
    mutex_lock(&table->lock);
    Resource *found = resource_retain(map_find(&table->map, text_str(&key)));
    mutex_unlock(&table->lock);
    NEED(found, NOT_FOUND, "Resource %.*s/%.*s/%s does not exist.", STR_ARGS(container_or_default(container)),
         STR_ARGS(name), type->name);
    *out = found;
    return OK;
}

Status *resource_add(ResourceTable *table, Str container, Str name, Resource *resource) {
    AUTO(text) Text key = {0};
    TRY(key_of(container, name, resource->type, &key));
    mutex_lock(&table->lock);
    bool taken = map_find(&table->map, text_str(&key)) != NULL;
    Status *status = taken ? OK : put(table, container, name, &key, resource);
    mutex_unlock(&table->lock);
    NEED(!taken, ALREADY_EXISTS, "Resource %.*s/%.*s/%s already exists.", STR_ARGS(container_or_default(container)),
         STR_ARGS(name), resource->type->name);
    return status;
}

static void drop_and_release(Resource *resource) {
    if (resource->type->drop)
        resource->type->drop(resource);
    resource_release(resource);
}

Status *resource_remove(ResourceTable *table, Resource *resource) {
    mutex_lock(&table->lock);
    bool there = resource->key && map_find(&table->map, key_str(resource)) == resource;
    if (there)
        map_take(&table->map, key_str(resource));
    mutex_unlock(&table->lock);
    NEED(there, NOT_FOUND, "Resource %.*s/%.*s/%s does not exist.", STR_ARGS(resource->container),
         STR_ARGS(resource->name), resource->type->name);
    drop_and_release(resource);
    return OK;
}

// One resource of the container (of any, if `every`), taken out; NULL where there is none left.
// From where the last one was, and then once more from the beginning: others may have come meanwhile.
static Resource *take_one(ResourceTable *table, Str container, bool every, size_t *at) {
    mutex_lock(&table->lock);
    Str key;
    void *value;
    Resource *found = NULL;
    for (int rounds = *at > 0 ? 2 : 1; !found && rounds-- > 0;) {
        while (!found && map_next(&table->map, at, &key, &value)) {
            Resource *resource = value;
            if (every || str_equal(resource->container, container))
                found = resource;
        }
        *at = found ? *at - 1 : 0;  // another one moves into its place
    }
    if (found)
        map_take(&table->map, key_str(found));
    mutex_unlock(&table->lock);
    return found;
}

static void take_all(ResourceTable *table, Str container, bool every) {
    size_t at = 0;
    for (Resource *resource; (resource = take_one(table, container, every, &at)) != NULL;)
        drop_and_release(resource);
}

void resource_reset(ResourceTable *table, Str container) {
    take_all(table, container_or_default(container), false);
}

void resource_table_free(ResourceTable *table) {
    if (!table)
        return;
    take_all(table, DEFAULT_CONTAINER, true);
    map_clear(&table->map);
    mutex_clear(&table->lock);
    free(table);
}
