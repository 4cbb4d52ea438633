// Queue, tuples — the ring, rows of batches, stacking, and the checks of what goes in.
#include <stdlib.h>

#include "resource/queue_internal.h"

static Tensor *slot(const TupleRing *ring, size_t i) {
    return ring->tensors + ((ring->head + i) & (ring->room - 1)) * (size_t)ring->width;
}

static bool ring_resize(TupleRing *ring, size_t room) {
    Tensor *tensors = calloc(room, (size_t)ring->width * sizeof *tensors);
    if (!tensors)
        return false;
    for (size_t i = 0; i < ring->n; i++)
        memcpy(tensors + i * (size_t)ring->width, slot(ring, i), (size_t)ring->width * sizeof *tensors);
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
    return slot(ring, ring->n - 1);
}

Tensor *ring_front(const TupleRing *ring) {
    return slot(ring, 0);
}

void ring_drop_front(TupleRing *ring) {
    ring->head = (ring->head + 1) & (ring->room - 1);
    ring->n--;
    // What was once a long queue gives its room back; a failure only leaves it as it is.
    if (ring->room > 64 && ring->n < ring->room / 8)
        ring_resize(ring, ring->room / 2);
}

void ring_clear(TupleRing *ring) {
    for (size_t i = 0; i < ring->n; i++)
        for (int c = 0; c < ring->width; c++)
            tensor_clear(slot(ring, i) + c);
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

Status *queue_own(Tensor *component) {
    if (component->data == component->buffer->data && tensor_bytes(component) == component->buffer->bytes)
        return OK;
    Tensor copy;
    TRY(tensor_copy(component, &copy));
    tensor_clear(component);
    *component = copy;
    return OK;
}

Status *queue_stack(const TupleRing *tuples, int c, DType dtype, Shape element, Tensor *out) {
    NEED(element.rank < MAX_RANK, INVALID_ARGUMENT, "a batch of %s has too many dimensions", shape_text(&element));
    int64_t dims[MAX_RANK] = {(int64_t)tuples->n};
    memcpy(dims + 1, element.dims, (size_t)element.rank * sizeof dims[0]);
    Shape shape;
    TRY(shape_make(dims, element.rank + 1, &shape));
    AUTO(tensor) Tensor batch = {0};
    TRY(tensor_new(dtype, shape, &batch));
    for (size_t i = 0; i < tuples->n; i++) {
        AUTO(tensor) Tensor row = queue_row(&batch, (int64_t)i);
        TRY(tensor_copy_elements(slot(tuples, i) + c, &row));
    }
    *out = tensor_retain(&batch);
    return OK;
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
    NEED(!queue->shapes || shape_equal(&queue->shapes[c], &element), INVALID_ARGUMENT,
         "Shape mismatch in tuple component %d. Expected %s%s, got %s", c, many ? "rows of " : "",
         shape_text(&queue->shapes[c]), shape_text(&component->shape));
    return OK;
}

Status *queue_check_tuple(const Queue *queue, const Tensor *components, bool many) {
    for (int c = 0; c < queue->width; c++)
        TRY(check_component(queue, &components[c], c, &components[0], many));
    return OK;
}
