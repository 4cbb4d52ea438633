// Queue, tuples — the ring, rows of batches, stacking, and the checks of what goes in.
//
// A ring of tuples, a power of two long, that grows and shrinks by doubling. A row of an enqueued batch is a view of
// the batch: nothing is copied before an element is taken (queue_own) or stacked.
#include <stdlib.h>

#include "base/checked.h"
#include "resource/queue_internal.h"

Tensor *ring_at(const TupleRing *ring, size_t i) {
    return ring->tensors + ((ring->head + i) & (ring->room - 1)) * (size_t)ring->width;
}

static bool ring_resize(TupleRing *ring, size_t room) {
    Tensor *tensors = calloc(room, (size_t)ring->width * sizeof *tensors);
    if (!tensors)
        return false;
    for (size_t i = 0; i < ring->n; i++)
        memcpy(tensors + i * (size_t)ring->width, ring_at(ring, i), (size_t)ring->width * sizeof *tensors);
    free(ring->tensors);
    ring->tensors = tensors;
    ring->head = 0;
    ring->room = room;
    return true;
}

bool ring_reserve(TupleRing *ring, size_t n) {
    size_t room = ring->room ? ring->room : 4;
    while (room < ring->n + n)
        room *= 2;
    return room == ring->room || ring_resize(ring, room);
}

Tensor *ring_push(TupleRing *ring) {
    ring->n++;
    return ring_at(ring, ring->n - 1);
}

Tensor *ring_front(const TupleRing *ring) {
    return ring_at(ring, 0);
}

// What was once a long queue gives its room back; a failure only leaves it as it is.
static void ring_shrink(TupleRing *ring) {
    if (ring->room > 64 && ring->n < ring->room / 8)
        ring_resize(ring, ring->room / 2);
}

void ring_drop_front(TupleRing *ring) {
    ring->head = (ring->head + 1) & (ring->room - 1);
    ring->n--;
    ring_shrink(ring);
}

void ring_drop_back(TupleRing *ring) {
    ring->n--;
    ring_shrink(ring);
}

void ring_clear(TupleRing *ring) {
    for (size_t i = 0; i < ring->n; i++)
        for (int c = 0; c < ring->width; c++)
            tensor_clear(ring_at(ring, i) + c);
    free(ring->tensors);
    *ring = (TupleRing){.width = ring->width};
}

static Shape without_first(const Shape *shape) {
    Shape rest = {.rank = shape->rank - 1};
    memcpy(rest.dims, shape->dims + 1, (size_t)rest.rank * sizeof rest.dims[0]);
    return rest;
}

Tensor queue_row(const Tensor *batch, int64_t i) {
    Tensor row = tensor_retain(batch);
    row.shape = without_first(&batch->shape);
    row.data = (char *)batch->data + (size_t)i * tensor_bytes(&row);
    return row;
}

// A view of a small part must not keep a whole batch alive once it leaves the queue.
Status *queue_own(Tensor *component) {
    if (component->data == component->buffer->data && tensor_bytes(component) == component->buffer->bytes)
        return OK;
    Tensor copy;
    TRY(tensor_copy(component, &copy));
    tensor_clear(component);
    *component = copy;
    return OK;
}

// The element's shape with the greatest extents among the tuples in place of the unknown ones, 0 of none.
static Shape largest(const TupleRing *tuples, int c, const Shape *element) {
    Shape most = *element;
    for (int d = 0; d < most.rank; d++) {
        most.dims[d] = max_i64(element->dims[d], 0);
        for (size_t i = 0; element->dims[d] < 0 && i < tuples->n; i++)
            most.dims[d] = max_i64(most.dims[d], ring_at(tuples, i)[c].shape.dims[d]);
    }
    return most;
}

// Copies an element to the beginning of a row that is as large at least in each dimension, run by run of the last one.
static Status *copy_into(const Tensor *element, const Tensor *row) {
    if (shape_equal(&element->shape, &row->shape))
        return tensor_copy_elements(element, row);
    int rank = element->shape.rank;
    const int64_t *dims = element->shape.dims;
    int64_t at[MAX_RANK] = {0}, run = dims[rank - 1], size = (int64_t)dtype_size(element->dtype);
    int64_t runs = run ? tensor_count(element) / run : 0;
    for (int64_t i = 0; i < runs; i++) {
        int64_t to = 0;
        for (int d = 0; d < rank; d++)
            to = to * row->shape.dims[d] + at[d];
        const Tensor source = {.data = (char *)element->data + i * run * size, .dtype = element->dtype,
                               .shape = SHAPE(run)};
        const Tensor target = {.data = (char *)row->data + to * size, .dtype = element->dtype, .shape = SHAPE(run)};
        TRY(tensor_copy_elements(&source, &target));
        for (int d = rank - 2; d >= 0 && ++at[d] == dims[d]; d--)
            at[d] = 0;
    }
    return OK;
}

Status *queue_stack(const TupleRing *tuples, int c, DType dtype, Shape element, Tensor *out) {
    NEED(element.rank < MAX_RANK, INVALID_ARGUMENT, "a batch of %s has too many dimensions", shape_text(&element));
    bool pads = !shape_is_known(&element);
    element = largest(tuples, c, &element);
    int64_t dims[MAX_RANK] = {(int64_t)tuples->n};
    memcpy(dims + 1, element.dims, (size_t)element.rank * sizeof dims[0]);
    Shape shape;
    TRY(shape_make(dims, element.rank + 1, &shape));
    AUTO(tensor) Tensor batch = {0};
    TRY(tensor_new(dtype, shape, &batch));
    if (pads && dtype_is_plain(dtype))
        memset(batch.data, 0, tensor_bytes(&batch));
    for (size_t i = 0; i < tuples->n; i++) {
        AUTO(tensor) Tensor row = queue_row(&batch, (int64_t)i);
        TRY(copy_into(ring_at(tuples, i) + c, &row));
    }
    *out = tensor_retain(&batch);
    return OK;
}

// Unknown extents of `wanted` are matched by any; those that are known, and the rank, agree.
static bool fits(const Shape *wanted, const Shape *shape) {
    bool same = wanted->rank == shape->rank;
    for (int d = 0; same && d < shape->rank; d++)
        same = wanted->dims[d] < 0 || wanted->dims[d] == shape->dims[d];
    return same;
}

static Status *check_component(const Queue *queue, const Tensor *component, int c, const Tensor *first, bool many) {
    NEED(component->dtype == queue->dtypes[c], INVALID_ARGUMENT,
         "Type mismatch in tuple component %d. Expected %s, got %s", c, dtype_name(queue->dtypes[c]),
         dtype_name(component->dtype));
    Shape element = component->shape;
    if (many) {
        NEED(element.rank > 0 && element.dims[0] == first->shape.dims[0], INVALID_ARGUMENT,
             "All input tensors must have the same size in the 0th dimension. Component %d has shape %s", c,
             shape_text(&component->shape));
        element = without_first(&element);
    }
    NEED(!queue->shapes || fits(&queue->shapes[c], &element), INVALID_ARGUMENT,
         "Shape mismatch in tuple component %d. Expected %s%s, got %s", c, many ? "rows of " : "",
         shape_text(&queue->shapes[c]), shape_text(&component->shape));
    return OK;
}

Status *queue_check_tuple(const Queue *queue, const Tensor *components, bool many) {
    NEED(queue->kind != QUEUE_PRIORITY || queue->shapes || components[0].shape.rank == many, INVALID_ARGUMENT,
         "Expected the priority element to be a %s, but received shape: %s", many ? "vector" : "scalar",
         shape_text(&components[0].shape));
    for (int c = 0; c < queue->width; c++)
        TRY(check_component(queue, &components[c], c, &components[0], many));
    return OK;
}
