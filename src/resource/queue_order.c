// Queue, order — queues whose elements come out at random, or the least first.
//
// The second is a heap in the ring. Its moves are those of C++'s push_heap and pop_heap, as which of equal elements
// comes out first follows from them, and programs see it.
#include "resource/queue_internal.h"

bool queue_has_order(const Queue *queue) {
    return queue->kind == QUEUE_FIFO || queue->kind == QUEUE_PADDING;
}

static void move(TupleRing *ring, size_t from, size_t to) {
    memcpy(ring_at(ring, to), ring_at(ring, from), (size_t)ring->width * sizeof(Tensor));
}

static int64_t priority(const TupleRing *ring, size_t i) {
    return *(const int64_t *)ring_at(ring, i)->data;
}

static void swap(TupleRing *ring, size_t a, size_t b) {
    for (int c = 0; c < ring->width; c++) {
        Tensor moved = ring_at(ring, a)[c];
        ring_at(ring, a)[c] = ring_at(ring, b)[c];
        ring_at(ring, b)[c] = moved;
    }
}

static void rise(TupleRing *ring, size_t at) {
    for (size_t parent; at > 0 && priority(ring, parent = (at - 1) / 2) > priority(ring, at); at = parent)
        swap(ring, parent, at);
}

// The first element has gone: smaller children move up all the way, and the last element rises from the end of it.
static void close_gap(TupleRing *ring) {
    size_t n = ring->n - 1, gap = 0;
    for (size_t child; (child = 2 * gap + 1) < n; gap = child) {
        if (child + 1 < n && priority(ring, child) >= priority(ring, child + 1))
            child++;
        move(ring, child, gap);
    }
    if (gap < n)
        move(ring, n, gap);
    ring_drop_back(ring);
    if (gap < n)
        rise(ring, gap);
}

void queue_settle(Queue *queue) {
    if (queue->kind == QUEUE_PRIORITY)
        rise(&queue->ring, queue->ring.n - 1);
}

void queue_pick(Queue *queue, TupleRing *to) {
    TupleRing *ring = &queue->ring;
    size_t at = queue->kind == QUEUE_SHUFFLE ? queue->number(queue->number_state) % ring->n : 0;
    memcpy(ring_push(to), ring_at(ring, at), (size_t)ring->width * sizeof(Tensor));
    if (queue->kind == QUEUE_PRIORITY) {
        close_gap(ring);
        return;
    }
    if (at != ring->n - 1)
        move(ring, ring->n - 1, at);
    ring_drop_back(ring);
}

Status *queue_put_back(Queue *queue, TupleRing *from) {
    NEED_MEMORY(ring_reserve(&queue->ring, from->n));
    while (from->n > 0) {
        memcpy(ring_push(&queue->ring), ring_at(from, from->n - 1), (size_t)from->width * sizeof(Tensor));
        ring_drop_back(from);
        queue_settle(queue);
    }
    return OK;
}
