// Queue — see queue.h. Operations wait in two lists, served from their fronts for as long as something moves.
//
// Nobody blocks: an operation that can't go on leaves a Waiter with its callback. One lock guards ring, lists and
// flags; callbacks and cancellations are called without it. Order is that of TensorFlow's queues: operations of a kind
// end in the order in which they came, also where a later one could end at once.
//
// The life of a Waiter: made; its cancellation watched; then, under the lock, either cancelled already or listed and
// served. Whoever takes it off its list finishes it, outside the lock: `waiter_finish` first makes sure that the
// cancellation callback is not running, then calls done.
#include "resource/queue.h"

#include <stdlib.h>

#include "resource/queue_internal.h"

// ---- the resource

static void queue_clear(Resource *resource) {
    Queue *queue = (Queue *)resource;
    ring_clear(&queue->ring);
    free(queue->dtypes);
    free(queue->shapes);
    free(queue->number_state);
    mutex_clear(&queue->lock);
}

static void ignore(void *arg, Status *status, Tensor *components) {
    (void)arg;
    (void)components;
    status_free(status);
}

// Out of its table nobody can feed or drain it any more: end the waits.
static void queue_drop(Resource *resource) {
    queue_close((Queue *)resource, true, NULL, ignore, NULL);
}

const ResourceType queue_type = {"Queue", sizeof(Queue), queue_clear, queue_drop};

static const char *const KIND_NAMES[] = {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"};

static const char *kind_of(const Queue *queue) {
    return KIND_NAMES[queue->kind];
}

static Status *check_spec(const QueueSpec *spec) {
    NEED(spec->n > 0, INVALID_ARGUMENT, "a queue has at least one component");
    NEED(spec->kind != QUEUE_PADDING || spec->shapes, INVALID_ARGUMENT,
         "Shapes must be provided for all components, but received %d dtypes and 0 shapes.", spec->n);
    NEED(spec->kind != QUEUE_PRIORITY || (spec->dtypes[0] == DT_int64 && (!spec->shapes || !spec->shapes[0].rank)),
         INVALID_ARGUMENT, "the first component of a priority queue is a scalar of int64");
    NEED(spec->min_after >= 0, INVALID_ARGUMENT, "min_after_dequeue %lld must be >= 0", (long long)spec->min_after);
    NEED(spec->capacity < 0 || !spec->min_after || spec->min_after < spec->capacity, INVALID_ARGUMENT,
         "min_after_dequeue %lld must be < capacity %lld", (long long)spec->min_after, (long long)spec->capacity);
    return OK;
}

static Status *queue_init(Queue *queue, const QueueSpec *spec) {
    queue->width = spec->n;
    queue->kind = spec->kind;
    queue->min_after = spec->min_after;
    memcpy(queue->seeds, spec->seeds, sizeof queue->seeds);
    queue->number = spec->number;
    queue->capacity = spec->capacity < 0 ? INT64_MAX : spec->capacity;
    queue->ring.width = spec->n;
    queue->dtypes = calloc((size_t)spec->n, sizeof *queue->dtypes);
    queue->shapes = spec->shapes ? calloc((size_t)spec->n, sizeof *queue->shapes) : NULL;
    NEED_MEMORY(queue->dtypes && (queue->shapes || !spec->shapes));
    for (int c = 0; c < spec->n; c++) {
        DType dtype = spec->dtypes[c];
        NEED(dtype_is_valid(dtype) && !dtype_is_ref(dtype), INVALID_ARGUMENT, "component %d of a queue is of type %s",
             c, dtype_name(dtype));
        queue->dtypes[c] = dtype;
        if (!spec->shapes)
            continue;
        bool fine = spec->kind == QUEUE_PADDING ? spec->shapes[c].rank >= 0 : shape_is_known(&spec->shapes[c]);
        NEED(fine, INVALID_ARGUMENT,
             "component %d of a queue has shape %s, which is not fully known", c, shape_text(&spec->shapes[c]));
        queue->shapes[c] = spec->shapes[c];
    }
    return OK;
}

Status *queue_new(const QueueSpec *spec, Queue **out) {
    TRY(check_spec(spec));
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_new(&queue_type, &resource));
    Queue *queue = (Queue *)resource;
    mutex_init(&queue->lock);
    queue->enqueues.end = &queue->enqueues.first;
    queue->dequeues.end = &queue->dequeues.first;
    TRY(queue_init(queue, spec));
    queue->number_state = spec->number_state;
    *out = (Queue *)resource_retain(resource);
    return OK;
}

Queue *queue_of(Resource *resource) {
    return resource && resource->type == &queue_type ? (Queue *)resource : NULL;
}

int queue_components(const Queue *queue) {
    return queue->width;
}

Status *queue_check_spec(Queue *queue, const QueueSpec *spec) {
    Str name = queue->resource.name;
    int64_t capacity = spec->capacity < 0 ? INT64_MAX : spec->capacity;
    NEED(spec->kind == queue->kind, INVALID_ARGUMENT, "Shared queue '%.*s' is a %s, not a %s", STR_ARGS(name),
         kind_of(queue), KIND_NAMES[spec->kind]);
    NEED(spec->min_after == queue->min_after, INVALID_ARGUMENT,
         "Shared queue '%.*s' has min_after_dequeue %lld but requested min_after_dequeue was %lld.", STR_ARGS(name),
         (long long)queue->min_after, (long long)spec->min_after);
    NEED(!memcmp(spec->seeds, queue->seeds, sizeof queue->seeds), INVALID_ARGUMENT,
         "Shared queue '%.*s' has random seeds (%lld, %lld) but requested seeds are (%lld, %lld).", STR_ARGS(name),
         (long long)queue->seeds[0], (long long)queue->seeds[1], (long long)spec->seeds[0], (long long)spec->seeds[1]);
    NEED(capacity == queue->capacity, INVALID_ARGUMENT,
         "Shared queue '%.*s' has capacity %lld but requested capacity was %lld", STR_ARGS(name),
         (long long)(queue->capacity == INT64_MAX ? -1 : queue->capacity), (long long)spec->capacity);
    bool same = spec->n == queue->width;
    for (int c = 0; same && c < spec->n; c++)
        same = spec->dtypes[c] == queue->dtypes[c];
    NEED(same, INVALID_ARGUMENT, "Shared queue '%.*s' has other component types than requested", STR_ARGS(name));
    same = !spec->shapes == !queue->shapes;
    for (int c = 0; same && queue->shapes && c < spec->n; c++)
        same = shape_equal(&spec->shapes[c], &queue->shapes[c]);
    NEED(same, INVALID_ARGUMENT, "Shared queue '%.*s' has other component shapes than requested", STR_ARGS(name));
    return OK;
}

// Without what the front dequeue of many holds already: TensorFlow takes these out as they come.
int64_t queue_size(Queue *queue) {
    mutex_lock(&queue->lock);
    int64_t n = (int64_t)(queue->ring.n - queue->held);
    mutex_unlock(&queue->lock);
    return n;
}

bool queue_is_closed(Queue *queue) {
    mutex_lock(&queue->lock);
    bool closed = queue->closed;
    mutex_unlock(&queue->lock);
    return closed;
}

// ---- waiters and their lists

static bool is_dequeue(const Waiter *waiter) {
    return waiter->kind == WAIT_DEQUEUE || waiter->kind == WAIT_DEQUEUE_MANY;
}

static void list_add(WaiterList *list, Waiter *waiter) {
    waiter->next = NULL;
    *list->end = waiter;
    list->end = &waiter->next;
}

static Waiter *list_take_first(WaiterList *list) {
    Waiter *waiter = list->first;
    list->first = waiter->next;
    if (!list->first)
        list->end = &list->first;
    return waiter;
}

// From the middle: only for cancellations, which are rare.
static void list_take(WaiterList *list, Waiter *waiter) {
    Waiter **at = &list->first;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    if (!*at)
        list->end = at;
}

static void waiter_free(Waiter *waiter) {
    for (int c = 0; waiter->components && c < waiter->queue->width; c++)
        tensor_clear(&waiter->components[c]);
    free(waiter->components);
    ring_clear(&waiter->taken);
    resource_release(&waiter->queue->resource);
    free(waiter);
}

static Status *own_all(const Queue *queue, Tensor *tuple) {
    for (int c = 0; c < queue->width; c++)
        TRY(queue_own(&tuple[c]));
    return OK;
}

static void clear_tuple(const Queue *queue, Tensor *tuple) {
    for (int c = 0; c < queue->width; c++)
        tensor_clear(&tuple[c]);
}

// The result of a dequeue, from what was taken: n tensors in `out`.
static Status *gather(Waiter *waiter, Tensor *out) {
    const Queue *queue = waiter->queue;
    if (waiter->kind == WAIT_DEQUEUE) {
        memcpy(out, ring_front(&waiter->taken), (size_t)queue->width * sizeof *out);
        ring_drop_front(&waiter->taken);
        return own_all(queue, out);
    }
    for (int c = 0; c < queue->width; c++)
        TRY(queue_stack(&waiter->taken, c, queue->dtypes[c], queue->shapes[c], &out[c]));
    return OK;
}

// Calls done and frees. The waiter is on no list, and no lock is held.
static void waiter_finish(Waiter *waiter) {
    if (waiter->watched)
        cancellation_unwatch(waiter->cancellation, &waiter->watch);
    Queue *queue = waiter->queue;
    Status *status = waiter->status;
    Tensor *out = NULL;
    if (!status && is_dequeue(waiter)) {
        out = calloc((size_t)queue->width, sizeof *out);
        status = out ? gather(waiter, out) : OUT_OF_MEMORY;
    }
    if (status && out)
        clear_tuple(queue, out);
    QueueDone *done = waiter->done;
    void *arg = waiter->arg;
    waiter_free(waiter);
    done(arg, status, status ? NULL : out);
    free(out);
}

static void finish_all(WaiterList *finished) {
    while (finished->first)
        waiter_finish(list_take_first(finished));
}

static Status *cancelled_status(const Waiter *waiter) {
    FAIL(CANCELLED, "%s operation was cancelled",
         is_dequeue(waiter) ? "Dequeue" : waiter->kind == WAIT_CLOSE ? "Close" : "Enqueue");
}

// ---- serving

typedef enum { STUCK, MOVED, COMPLETE } Progress;

static Progress serve_enqueue(Queue *queue, Waiter *waiter) REQUIRES(queue->lock);
static Progress serve_dequeue(Queue *queue, Waiter *waiter) REQUIRES(queue->lock);
static bool serve_list(Queue *queue, WaiterList *list, WaiterList *finished) REQUIRES(queue->lock);
static void serve(Queue *queue, WaiterList *finished) REQUIRES(queue->lock);

static Progress fail(Waiter *waiter, Status *status) {
    waiter->status = status;
    return COMPLETE;
}

static Status *closed_status(const Queue *queue, bool again) {
    NEED(!again, CANCELLED, "Queue '%.*s' is already closed.", STR_ARGS(queue->resource.name));
    FAIL(CANCELLED, "%s '%.*s' is closed.", kind_of(queue), STR_ARGS(queue->resource.name));
}

static Status *insufficient_status(const Queue *queue, int64_t wanted) {
    FAIL(OUT_OF_RANGE, "%s '%.*s' is closed and has insufficient elements (requested %lld, current size %lld)",
         kind_of(queue), STR_ARGS(queue->resource.name), (long long)wanted, (long long)queue->ring.n);
}

static Status *reserve(TupleRing *ring, size_t n) {
    NEED_MEMORY(ring_reserve(ring, n));
    return OK;
}

static int64_t size_of(const Queue *queue) {
    return (int64_t)(queue->ring.n - queue->held);
}

// An enqueue of many goes in as far as there is room, and goes on when there is more. Closing waits in this list, so
// that it comes after the enqueues before it.
static Progress serve_enqueue(Queue *queue, Waiter *waiter) {
    if (queue->closed)
        return fail(waiter, closed_status(queue, waiter->kind == WAIT_CLOSE));
    if (waiter->kind == WAIT_CLOSE) {
        queue->closed = true;
        return COMPLETE;
    }
    Progress progress = STUCK;
    for (; waiter->moved < waiter->wanted && size_of(queue) < queue->capacity; waiter->moved++) {
        Status *status = reserve(&queue->ring, 1);
        if (status)
            return fail(waiter, status);
        Tensor *tuple = ring_push(&queue->ring);
        for (int c = 0; c < queue->width; c++)
            tuple[c] = waiter->kind == WAIT_ENQUEUE ? tensor_retain(&waiter->components[c])
                                                    : queue_row(&waiter->components[c], waiter->moved);
        queue_settle(queue);
        progress = MOVED;
    }
    return waiter->moved == waiter->wanted ? COMPLETE : progress;
}

// Moves the first `n` elements to the waiter. What the front one held is among them.
static Progress take(Queue *queue, Waiter *waiter, int64_t n) {
    queue->held = 0;
    Status *status = reserve(&waiter->taken, (size_t)n);
    if (status)
        return fail(waiter, status);
    for (int64_t i = 0; i < n; i++) {
        memcpy(ring_push(&waiter->taken), ring_front(&queue->ring), (size_t)queue->width * sizeof(Tensor));
        ring_drop_front(&queue->ring);
    }
    return COMPLETE;
}

// Where there is no order to keep (shuffled, by priority), elements are picked as they come; what was picked goes back
// if the queue closes before there are enough.
static Progress serve_pick(Queue *queue, Waiter *waiter) {
    int64_t missing = waiter->wanted - (int64_t)waiter->taken.n;
    if (queue->closed && missing > (int64_t)queue->ring.n) {
        Status *lost = queue_put_back(queue, &waiter->taken);
        if (lost)
            return fail(waiter, lost);
        if (!waiter->up_to || !queue->ring.n || queue->kind == QUEUE_PRIORITY)
            return fail(waiter, insufficient_status(queue, waiter->wanted));
        waiter->wanted = missing = (int64_t)queue->ring.n;
    }
    int64_t spare = (int64_t)queue->ring.n - (queue->closed ? 0 : queue->min_after);
    int64_t n = spare < missing ? spare : missing;
    Status *status = n > 0 ? reserve(&waiter->taken, (size_t)n) : OK;
    if (status)
        return fail(waiter, status);
    for (int64_t i = 0; i < n; i++)
        queue_pick(queue, &waiter->taken);
    return n == missing ? COMPLETE : n > 0 ? MOVED : STUCK;
}

static Progress serve_dequeue(Queue *queue, Waiter *waiter) {
    if (!queue_has_order(queue))
        return serve_pick(queue, waiter);
    int64_t there = (int64_t)queue->ring.n;
    if (there >= waiter->wanted)
        return take(queue, waiter, waiter->wanted);
    if (queue->closed && waiter->up_to && there > 0)
        return take(queue, waiter, there);
    if (queue->closed) {
        queue->held = 0;
        return fail(waiter, insufficient_status(queue, waiter->wanted));
    }
    bool more = (int64_t)queue->held < there;
    queue->held = (size_t)there;
    return more ? MOVED : STUCK;
}

static bool serve_list(Queue *queue, WaiterList *list, WaiterList *finished) {
    bool moved = false;
    while (list->first) {
        Waiter *waiter = list->first;
        Progress progress = is_dequeue(waiter) ? serve_dequeue(queue, waiter) : serve_enqueue(queue, waiter);
        moved |= progress != STUCK;
        if (progress != COMPLETE)
            break;
        list_take_first(list);
        waiter->listed = false;
        list_add(finished, waiter);
    }
    return moved;
}

// Until nothing moves: a dequeue makes room for an enqueue, which may bring what the next dequeue waits for.
static void serve(Queue *queue, WaiterList *finished) {
    bool moved;
    do {
        moved = serve_list(queue, &queue->enqueues, finished);
        moved |= serve_list(queue, &queue->dequeues, finished);
    } while (moved);
}

// ---- operations

// On the thread that cancels. What the waiter had taken goes back, and may serve others.
static void waiter_cancelled(void *arg) {
    Waiter *waiter = arg;
    Queue *queue = waiter->queue;
    WaiterList finished = {NULL, &finished.first};
    mutex_lock(&queue->lock);
    waiter->cancelled = true;
    if (waiter->listed) {
        if (queue->dequeues.first == waiter)
            queue->held = 0;
        status_free(queue_put_back(queue, &waiter->taken));
        list_take(is_dequeue(waiter) ? &queue->dequeues : &queue->enqueues, waiter);
        waiter->listed = false;
        waiter->status = cancelled_status(waiter);
        list_add(&finished, waiter);
        serve(queue, &finished);
    }
    mutex_unlock(&queue->lock);
    finish_all(&finished);
}

// Serves it or lists it. Takes the waiter.
static void submit(Waiter *waiter) {
    Queue *queue = waiter->queue;
    WaiterList finished = {NULL, &finished.first};
    // Watched before it is listed: a cancellation between the two sets `cancelled`, which is looked at under the lock.
    if (waiter->cancellation) {
        waiter->watched = cancellation_watch(waiter->cancellation, &waiter->watch, waiter_cancelled, waiter);
        if (!waiter->watched)
            waiter->cancelled = true;
    }
    mutex_lock(&queue->lock);
    if (waiter->cancelled) {
        waiter->status = cancelled_status(waiter);
        list_add(&finished, waiter);
    } else {
        waiter->listed = true;
        list_add(is_dequeue(waiter) ? &queue->dequeues : &queue->enqueues, waiter);
        serve(queue, &finished);
    }
    mutex_unlock(&queue->lock);
    finish_all(&finished);
}

// ---- operations that need not wait: nobody came before them, and what they need is there

static bool put_now(Queue *queue, const Tensor *components, WaiterList *finished) REQUIRES(queue->lock);
static bool take_now(Queue *queue, Tensor *out, WaiterList *finished) REQUIRES(queue->lock);

static bool is_cancelled(const Cancellation *cancellation) {
    return cancellation && cancellation_is_set(cancellation);
}

// Nobody came before, and there is room: no Waiter is made. Most steps of a training loop go this way.
static bool put_now(Queue *queue, const Tensor *components, WaiterList *finished) {
    if (queue->closed || queue->enqueues.first || size_of(queue) >= queue->capacity || !ring_reserve(&queue->ring, 1))
        return false;
    memcpy(ring_push(&queue->ring), components, (size_t)queue->width * sizeof *components);
    queue_settle(queue);
    if (queue->dequeues.first)
        serve(queue, finished);
    return true;
}

static bool take_now(Queue *queue, Tensor *out, WaiterList *finished) {
    TupleRing to = {.tensors = out, .width = queue->width, .room = 1};
    int64_t stay = queue_has_order(queue) || queue->closed ? 0 : queue->min_after;
    if (queue->dequeues.first || (int64_t)queue->ring.n <= stay)
        return false;
    if (queue_has_order(queue)) {
        memcpy(ring_push(&to), ring_front(&queue->ring), (size_t)queue->width * sizeof *out);
        ring_drop_front(&queue->ring);
    } else {
        queue_pick(queue, &to);
    }
    if (queue->enqueues.first)
        serve(queue, finished);
    return true;
}

static bool enqueue_now(Queue *queue, const Tensor *components, QueueDone *done, void *arg) {
    WaiterList finished = {NULL, &finished.first};
    mutex_lock(&queue->lock);
    bool there = put_now(queue, components, &finished);
    mutex_unlock(&queue->lock);
    if (there)
        done(arg, OK, NULL);
    finish_all(&finished);
    return there;
}

// The tuple is on the stack; wider ones go the general way.
static bool dequeue_now(Queue *queue, QueueDone *done, void *arg) {
    enum { FEW = 8 };
    Tensor tuple[FEW];
    WaiterList finished = {NULL, &finished.first};
    if (queue->width > FEW)
        return false;
    mutex_lock(&queue->lock);
    bool there = take_now(queue, tuple, &finished);
    mutex_unlock(&queue->lock);
    if (there) {
        Status *status = own_all(queue, tuple);
        if (status)
            clear_tuple(queue, tuple);
        done(arg, status, status ? NULL : tuple);
    }
    finish_all(&finished);
    return there;
}

// ---- operations that may wait

static Status *waiter_new(Queue *queue, WaiterKind kind, Cancellation *cancellation, QueueDone *done, void *arg,
                          Waiter **out) {
    Waiter *waiter = calloc(1, sizeof *waiter);
    NEED_MEMORY(waiter != NULL);
    resource_retain(&queue->resource);
    *waiter = (Waiter){.kind = kind, .queue = queue, .wanted = 1, .taken = {.width = queue->width},
                       .cancellation = cancellation, .done = done, .arg = arg};
    *out = waiter;
    return OK;
}

// Takes the components over, unless it fails.
static Status *try_enqueue(Queue *queue, Tensor *components, bool many, Cancellation *cancellation, QueueDone *done,
                           void *arg) {
    TRY(queue_check_tuple(queue, components, many));
    if (!many && !is_cancelled(cancellation) && enqueue_now(queue, components, done, arg))
        return OK;
    Waiter *waiter;
    TRY(waiter_new(queue, many ? WAIT_ENQUEUE_MANY : WAIT_ENQUEUE, cancellation, done, arg, &waiter));
    waiter->components = calloc((size_t)queue->width, sizeof *waiter->components);
    if (!waiter->components) {
        waiter_free(waiter);
        return OUT_OF_MEMORY;
    }
    memcpy(waiter->components, components, (size_t)queue->width * sizeof *components);
    if (many)
        waiter->wanted = components[0].shape.dims[0];
    if (waiter->wanted == 0)
        waiter_finish(waiter);  // nothing waits for nothing: not behind others, and not even on a closed queue
    else
        submit(waiter);
    return OK;
}

static void enqueue(Queue *queue, Tensor *components, bool many, Cancellation *cancellation, QueueDone *done,
                    void *arg) {
    Status *status = try_enqueue(queue, components, many, cancellation, done, arg);
    if (!status)
        return;
    clear_tuple(queue, components);
    done(arg, status, NULL);
}

void queue_enqueue(Queue *queue, Tensor *components, Cancellation *cancellation, QueueDone *done, void *arg) {
    enqueue(queue, components, false, cancellation, done, arg);
}

void queue_enqueue_many(Queue *queue, Tensor *components, Cancellation *cancellation, QueueDone *done, void *arg) {
    enqueue(queue, components, true, cancellation, done, arg);
}

void queue_dequeue(Queue *queue, Cancellation *cancellation, QueueDone *done, void *arg) {
    if (!is_cancelled(cancellation) && dequeue_now(queue, done, arg))
        return;
    Waiter *waiter;
    Status *status = waiter_new(queue, WAIT_DEQUEUE, cancellation, done, arg, &waiter);
    if (status)
        done(arg, status, NULL);
    else
        submit(waiter);
}

static Status *try_dequeue_many(Queue *queue, int64_t count, bool up_to, Cancellation *cancellation, QueueDone *done,
                                void *arg) {
    NEED(queue->shapes, INVALID_ARGUMENT,
         "%s's DequeueMany and DequeueUpTo require the components to have specified shapes.", kind_of(queue));
    NEED(count >= 0, INVALID_ARGUMENT, "a dequeue of %lld elements", (long long)count);
    Waiter *waiter;
    TRY(waiter_new(queue, WAIT_DEQUEUE_MANY, cancellation, done, arg, &waiter));
    waiter->wanted = count;
    waiter->up_to = up_to;
    if (count == 0)
        waiter_finish(waiter);
    else
        submit(waiter);
    return OK;
}

void queue_dequeue_many(Queue *queue, int64_t count, bool up_to, Cancellation *cancellation, QueueDone *done,
                        void *arg) {
    Status *status = try_dequeue_many(queue, count, up_to, cancellation, done, arg);
    if (status)
        done(arg, status, NULL);
}

// With cancel_pending enqueues that wait are cancelled; dequeues may still take what is there.
static void close_now(Queue *queue) {
    WaiterList finished = {NULL, &finished.first};
    mutex_lock(&queue->lock);
    queue->closed = true;
    while (queue->enqueues.first) {
        Waiter *waiter = list_take_first(&queue->enqueues);
        waiter->listed = false;
        waiter->status = cancelled_status(waiter);
        list_add(&finished, waiter);
    }
    serve(queue, &finished);
    mutex_unlock(&queue->lock);
    finish_all(&finished);
}

void queue_close(Queue *queue, bool cancel_pending, Cancellation *cancellation, QueueDone *done, void *arg) {
    if (cancel_pending) {
        close_now(queue);
        done(arg, OK, NULL);
        return;
    }
    Waiter *waiter;
    Status *status = waiter_new(queue, WAIT_CLOSE, cancellation, done, arg, &waiter);
    if (status)
        done(arg, status, NULL);
    else
        submit(waiter);
}
