// Queue — tuples of tensors between steps; whoever can't go on waits without a thread.
//
// Tuples come out in the order in which they went in, at random, or the ones with the least first component first.
// Every operation takes a `done` that is called exactly once: before the function returns, or later on the thread whose
// operation or cancellation made it possible. No lock is held then. Waiters are served in the order in which they came;
// what finds nobody before it, and what it needs, waits for nothing and allocates nothing.
// A tuple goes in and out whole. Errors are TensorFlow's:
//   enqueue on a closed queue, a second close:                  CANCELLED
//   dequeue that a closed queue can't satisfy:                  OUT_OF_RANGE
//   wait ended by the step's cancellation:                      CANCELLED; the queue is as if it had not been asked
//   wrong types, shapes or numbers:                             INVALID_ARGUMENT
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"
#include "thread/cancellation.h"

typedef struct Queue Queue;

extern const ResourceType queue_type;

// In a padding queue extents may be unknown: a batch is as large as its largest elements, the rest is zeros. In a
// priority queue the first component is a scalar of int64; which of several least ones comes first is as the heap of
// C++ has it.
typedef enum { QUEUE_FIFO, QUEUE_PADDING, QUEUE_SHUFFLE, QUEUE_PRIORITY } QueueKind;

typedef uint32_t QueueNumber(void *state);

typedef struct {
    const DType *dtypes;
    const Shape *shapes;    // of one element's components, fully known; NULL: any, then the _many forms are refused
    int n;                  // components, at least 1
    int64_t capacity;       // elements; < 0: no limit
    QueueKind kind;
    // Of a shuffling queue:
    int64_t min_after;      // elements that stay in it until it is closed
    int64_t seeds[2];       // only to be compared
    QueueNumber *number;    // gives random numbers, under the queue's lock
    void *number_state;     // the new queue's, which frees it
} QueueSpec;

// Takes over `status`. `components`: n tensors, which the callee takes over (or clears); NULL on failure and for what
// dequeues nothing. The array itself is valid during the call only.
typedef void QueueDone(void *arg, Status *status, Tensor *components);

// One reference; to be put in a table or used without a name. INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
FALLIBLE Status *queue_new(const QueueSpec *spec, Queue **out);
// NULL where the resource is something else.
Queue *queue_of(Resource *resource);
// INVALID_ARGUMENT where a node asks for the queue of this name with other types, shapes or capacity.
FALLIBLE Status *queue_check_spec(Queue *queue, const QueueSpec *spec);
int queue_components(const Queue *queue);

// Takes the components over, whatever comes of it; each has a buffer of its own. `cancellation` may be NULL and
// outlives the wait. Waits while the queue is full.
void queue_enqueue(Queue *queue, Tensor *components, Cancellation *cancellation, QueueDone *done, void *arg);
// The rows of the components, one element each. Goes in piecemeal as room comes.
void queue_enqueue_many(Queue *queue, Tensor *components, Cancellation *cancellation, QueueDone *done, void *arg);
void queue_dequeue(Queue *queue, Cancellation *cancellation, QueueDone *done, void *arg);
// `count` elements stacked along a new first dimension. Elements leave the queue as they come; if the wait fails they
// go back, where there is an order to its front. With `up_to`, a closed queue gives what it has, if that is anything; a
// priority queue does not.
void queue_dequeue_many(Queue *queue, int64_t count, bool up_to, Cancellation *cancellation, QueueDone *done,
                        void *arg);
// Behind the enqueues that wait now; with `cancel_pending` at once, and those fail with CANCELLED. Dequeues go on.
void queue_close(Queue *queue, bool cancel_pending, Cancellation *cancellation, QueueDone *done, void *arg);

int64_t queue_size(Queue *queue);
bool queue_is_closed(Queue *queue);
