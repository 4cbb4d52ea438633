// Queue, inside — the elements in order, and the operations that wait.
#pragma once
#include "resource/queue.h"
#include "thread/mutex.h"

// Tuples in order: a ring, `n` of `room` slots of `width` tensors each.
typedef struct {
    Tensor *tensors;
    int width;
    size_t head, n, room;  // room is a power of two
} TupleRing;

bool ring_reserve(TupleRing *ring, size_t n);   // room for n more
Tensor *ring_push(TupleRing *ring);             // a slot behind the last, to be filled; there is room
Tensor *ring_at(const TupleRing *ring, size_t i);
Tensor *ring_front(const TupleRing *ring);      // not empty
void ring_drop_front(TupleRing *ring);          // its references have moved on
void ring_drop_back(TupleRing *ring);
void ring_clear(TupleRing *ring);

typedef enum { WAIT_ENQUEUE, WAIT_ENQUEUE_MANY, WAIT_CLOSE, WAIT_DEQUEUE, WAIT_DEQUEUE_MANY } WaiterKind;

// One operation, from its call to its done.
typedef struct Waiter {
    WaiterKind kind;
    Queue *queue;                 // one reference
    struct Waiter *next;
    bool listed, cancelled;       // guarded by the queue's lock
    Status *status;               // its result
    Tensor *components;           // enqueue: what goes in, retained
    int64_t moved, wanted;        // enqueue: elements that have gone in; of how many; dequeue: how many
    bool up_to;
    TupleRing taken;              // dequeue: what came out, once complete
    Cancellation *cancellation;
    CancelWatch watch;
    bool watched;
    QueueDone *done;
    void *arg;
} Waiter;

typedef struct {
    Waiter *first, **end;
} WaiterList;

struct Queue {
    Resource resource;
    DType *dtypes;
    Shape *shapes;         // NULL: any
    int width;
    QueueKind kind;
    int64_t capacity, min_after, seeds[2];
    QueueNumber *number;
    void *number_state;
    Mutex lock;
    bool closed;           // this and the rest: guarded by lock
    TupleRing ring;
    size_t held;           // where elements come out in order: those at the front that the first dequeue has got so
                           // far; they don't count as here
    WaiterList enqueues;   // closes too
    WaiterList dequeues;
};

// ---- queues whose elements don't come out in order: queue_order.c

bool queue_has_order(const Queue *queue);
// Puts the element at the back into its place.
void queue_settle(Queue *queue);
// Moves one element to the ring, which has room.
void queue_pick(Queue *queue, TupleRing *to);
// Takes elements back; RESOURCE_EXHAUSTED where there is no memory: the rest is lost.
FALLIBLE Status *queue_put_back(Queue *queue, TupleRing *from);

// ---- tuples: queue_tuple.c

// Row i of a batch: a view that shares its buffer. Retained.
Tensor queue_row(const Tensor *batch, int64_t i);
// A dequeued component as a tensor of its own: copied where it is a view. Takes and replaces it.
FALLIBLE Status *queue_own(Tensor *component);
// Stacks component `c` of all tuples. Unknown extents of `element` are those of the largest; what is smaller has zeros
// around it.
FALLIBLE Status *queue_stack(const TupleRing *tuples, int c, DType dtype, Shape element, Tensor *out);
FALLIBLE Status *queue_check_tuple(const Queue *queue, const Tensor *components, bool many);
