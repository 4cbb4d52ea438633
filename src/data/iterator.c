// Iterator — see iterator.h.
#include "data/iterator.h"

static void iterator_clear(Resource *resource) {
    Iterator *iterator = (Iterator *)resource;
    puller_leave(iterator->puller);
    arena_clear(&iterator->arena);
    mutex_clear(&iterator->lock);
}

static void iterator_drop(Resource *resource) {
    iterator_reset((Iterator *)resource);
}

const ResourceType iterator_type = {"IteratorResource", sizeof(Iterator), iterator_clear, iterator_drop};

Status *iterator_new(const Node *node, Iterator **out) {
    const AttrValue *types = node_list(node, "output_types"), *shapes = node_list(node, "output_shapes");
    NEED(!shapes->n || shapes->n == types->n, INVALID_ARGUMENT, "%d types of components, but %d shapes", types->n, shapes->n);
    Resource *resource;
    TRY(resource_new(&iterator_type, &resource));
    Iterator *iterator = (Iterator *)resource;
    mutex_init(&iterator->lock);
    iterator->dtypes = ARENA_ARRAY(&iterator->arena, DType, types->n);
    iterator->shapes = ARENA_ARRAY(&iterator->arena, Shape, types->n);
    if (!iterator->dtypes || !iterator->shapes) {
        resource_release(resource);
        return OUT_OF_MEMORY;
    }
    iterator->n_components = types->n;
    for (int i = 0; i < types->n; i++) {
        iterator->dtypes[i] = types->types[i];
        iterator->shapes[i] = shapes->n ? shapes->shapes[i] : UNKNOWN_SHAPE;
    }
    *out = iterator;
    return OK;
}

static Status *check_components(const Iterator *iterator, int n, const DType *dtypes, const Shape *shapes,
                                const char *what) {
    NEED(n == iterator->n_components, INVALID_ARGUMENT, "Number of components does not match: expected %d types but got %d of %s.",
         iterator->n_components, n, what);
    for (int i = 0; i < n; i++) {
        NEED(dtypes[i] == iterator->dtypes[i], INVALID_ARGUMENT,
             "Data type mismatch at component %d: expected %s but got %s of %s.", i, dtype_name(iterator->dtypes[i]),
             dtype_name(dtypes[i]), what);
        NEED(!shapes || shape_compatible(&shapes[i], &iterator->shapes[i]), INVALID_ARGUMENT,
             "Incompatible shapes at component %d: expected %s but got %s of %s.", i, shape_text(&iterator->shapes[i]),
             shape_text(&shapes[i]), what);
    }
    return OK;
}

Status *iterator_check(const Iterator *iterator, const Node *node) {
    const AttrValue *types = node_list(node, "output_types"), *shapes = node_list(node, "output_shapes");
    if (!types->n)
        return OK;  // it promises nothing
    NEED(!shapes->n || shapes->n == types->n, INVALID_ARGUMENT, "%d types of components, but %d shapes", types->n, shapes->n);
    return check_components(iterator, types->n, types->types, shapes->n ? shapes->shapes : NULL, "the node");
}

static void swap(Iterator *iterator, Puller *puller) {
    mutex_lock(&iterator->lock);
    Puller *old = iterator->puller;
    iterator->puller = puller;
    mutex_unlock(&iterator->lock);
    puller_leave(old);
}

Status *iterator_set(Iterator *iterator, const Dataset *dataset, const StepContext *context) {
    TRY(check_components(iterator, dataset->n_components, dataset->dtypes, dataset->shapes, "the dataset"));
    Puller *puller;
    TRY(puller_new(dataset, context, &puller));
    swap(iterator, puller);
    return OK;
}

static Puller *find_puller(Iterator *iterator) {
    mutex_lock(&iterator->lock);
    Puller *puller = iterator->puller ? puller_retain(iterator->puller) : NULL;
    mutex_unlock(&iterator->lock);
    return puller;
}

Status *iterator_puller(Iterator *iterator, Puller **out) {
    Puller *puller = find_puller(iterator);
    NEED(puller, FAILED_PRECONDITION,
         "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
         "operation for this iterator before getting the next element.");
    *out = puller;
    return OK;
}

Status *iterator_save(Iterator *iterator, const StepContext *context, Text *out) {
    Puller *puller = find_puller(iterator);
    NEED(puller, FAILED_PRECONDITION,
         "Save() failed because the iterator has not been initialized. Ensure that you have run the initializer operation "
         "for this iterator before saving it.");
    Status *status = puller_save(puller, context, out);
    puller_release(puller);
    return status;
}

Status *iterator_load(Iterator *iterator, const StepContext *context, Str bytes) {
    Puller *old = find_puller(iterator), *puller = NULL;
    NEED(old, FAILED_PRECONDITION,
         "Restore() failed because the iterator has not been initialized. Ensure that you have run the initializer "
         "operation for this iterator before restoring it.");
    Status *status = puller_load(puller_dataset(old), context, bytes, &puller);
    puller_release(old);
    if (!status)
        swap(iterator, puller);
    return status;
}

void iterator_reset(Iterator *iterator) {
    swap(iterator, NULL);
}
