// Handle — see handle.h: a tensor of type resource whose element names a resource, and mostly holds it.
//
// A handle from a graph of this process holds its resource by a count: looking it up in a step costs no lock. One that
// came from elsewhere has only names, and is looked up in the table each time.
#include "resource/handle.h"

#include <stdlib.h>

static void handle_free(Object *object) {
    Handle *handle = (Handle *)object;
    resource_release(handle->resource);
    free(handle->text);
    free(handle);
}

static void handle_print(const Object *object, void *text) {
    const Handle *handle = (const Handle *)object;
    text_format(text, "<%.*s %.*s>", STR_ARGS(handle->type), STR_ARGS(handle->name));
}

static const ObjectType handle_object = {.name = "Handle", .free = handle_free, .print = handle_print};

// Copies a name behind `*at`, which moves on.
// All texts lie in one block behind each other, each with a NUL, as clients read some as C strings.
static Str keep(char **at, Str name) {
    Str kept = {*at, name.n};
    if (name.n)
        memcpy(*at, name.p, name.n);
    (*at)[name.n] = 0;
    *at += name.n + 1;
    return kept;
}

static Status *make(Resource *resource, Str container, Str name, Str type, Str device, DType dtype, Shape shape,
                    Tensor *out) {
    AUTO(tensor) Tensor tensor = {0};
    TRY(tensor_new(DT_resource, SCALAR_SHAPE, &tensor));
    Handle *handle = calloc(1, sizeof *handle);
    NEED_MEMORY(handle != NULL);
    object_init(&handle->object, &handle_object);
    *(Object **)tensor.data = &handle->object;  // the tensor owns it from here
    handle->text = malloc(container.n + name.n + type.n + device.n + 4);
    NEED_MEMORY(handle->text != NULL);
    char *at = handle->text;
    handle->container = keep(&at, container);
    handle->name = keep(&at, name);
    handle->type = keep(&at, type);
    handle->device = keep(&at, device);
    handle->resource = resource_retain(resource);
    handle->dtype = dtype;
    handle->shape = shape;
    *out = tensor_retain(&tensor);
    return OK;
}

Status *handle_tensor(Resource *resource, Str device, DType dtype, Shape shape, Tensor *out) {
    return make(resource, resource->container, resource->name, str_of(resource->type->name), device, dtype, shape,
                out);
}

Status *handle_tensor_named(Str container, Str name, Str type, Str device, DType dtype, Shape shape, Tensor *out) {
    return make(NULL, container, name, type, device, dtype, shape, out);
}

Status *handle_get(const Tensor *tensor, int64_t i, const Handle **out) {
    NEED(tensor->dtype == DT_resource && i >= 0 && i < tensor_count(tensor), INVALID_ARGUMENT,
         "expected a resource handle, got %s%s", dtype_name(tensor->dtype), shape_text(&tensor->shape));
    Object *object = ((Object *const *)tensor->data)[i];
    NEED(object && object->type == &handle_object, INVALID_ARGUMENT, "the resource handle is empty");
    *out = (const Handle *)object;
    return OK;
}

// `found` is what the caller has to release: nothing where the handle holds the resource itself.
Status *handle_borrow(const Tensor *tensor, int64_t i, ResourceTable *table, const ResourceType *type, Resource **out,
                      Resource **found) {
    const Handle *handle;
    TRY(handle_get(tensor, i, &handle));
    NEED(str_is(handle->type, type->name), INVALID_ARGUMENT,
         "Trying to access resource %.*s using the wrong type. Expected %s got %.*s", STR_ARGS(handle->name),
         type->name, STR_ARGS(handle->type));
    *found = NULL;
    if (!handle->resource) {
        NEED(table, NOT_FOUND, "Resource %.*s/%.*s/%s does not exist.", STR_ARGS(handle->container),
             STR_ARGS(handle->name), type->name);
        TRY(resource_find(table, handle->container, handle->name, type, found));
    }
    *out = handle->resource ? handle->resource : *found;
    return OK;
}

Status *handle_resource(const Tensor *tensor, int64_t i, ResourceTable *table, const ResourceType *type,
                        Resource **out) {
    Resource *resource, *found;
    TRY(handle_borrow(tensor, i, table, type, &resource, &found));
    *out = found ? found : resource_retain(resource);
    return OK;
}
