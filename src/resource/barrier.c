// Barrier — see barrier.h: tuples whose components come one by one, by key, and go out whole, the oldest key first.
//
// What is whole moves on to a priority queue, whose priority is the number of the insertion that brought the key; the
// queue does the waiting. That happens without the lock, since takes end in there. The queue is closed when nothing can
// become whole any more and nothing is on its way.
#include "resource/barrier.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/map.h"
#include "thread/mutex.h"

enum { BEFORE = 2 };  // a tuple of the queue begins with the number and the key

// A tuple with a key of which some components are missing.
typedef struct Partial {
    int missing;
    struct Partial *next;  // of those that have become whole
    Tensor tuple[];        // number, key, components; those that are missing have no data
} Partial;

struct Barrier {
    Resource resource;
    int width;             // components
    DType *dtypes;
    Shape *shapes;
    Queue *ready;
    Mutex lock;            // guards the rest
    Map partials;          // keys are those of the tuples
    int64_t number;        // of the next insertion with a new key
    int64_t moving;        // whole tuples on their way to the queue
    bool closed, cancelled;
};

// ---- the resource

static void partial_free(const Barrier *b, Partial *partial) {
    for (int i = 0; partial && i < BEFORE + b->width; i++)
        tensor_clear(&partial->tuple[i]);
    free(partial);
}

static void drop_partials(Barrier *b) {
    size_t at = 0;
    Str key;
    void *value;
    while (map_next(&b->partials, &at, &key, &value))
        partial_free(b, value);
    map_clear(&b->partials);
    b->partials = (Map){0};
}

static void clear(Resource *resource) {
    Barrier *b = (Barrier *)resource;
    drop_partials(b);
    resource_release((Resource *)b->ready);
    free(b->dtypes);
    free(b->shapes);
    mutex_clear(&b->lock);
}

static void drop(Resource *resource) {
    status_free(barrier_close((Barrier *)resource, true));
}

const ResourceType barrier_type = {"Barrier", sizeof(Barrier), clear, drop};

static Status *init(Barrier *b, const BarrierSpec *spec) {
    size_t n = (size_t)spec->n + BEFORE;
    mutex_init(&b->lock);
    b->width = spec->n;
    // As TensorFlow's: clients see the number beside the elements.
    b->number = INT64_MIN;
    b->dtypes = calloc(n, sizeof *b->dtypes);
    b->shapes = calloc(n, sizeof *b->shapes);
    NEED_MEMORY(b->dtypes && b->shapes);
    b->dtypes[0] = DT_int64;
    b->dtypes[1] = DT_string;
    for (int i = 0; i < spec->n; i++) {
        b->dtypes[BEFORE + i] = spec->dtypes[i];
        b->shapes[BEFORE + i] = spec->shapes[i];
    }
    QueueSpec queue = {.dtypes = b->dtypes, .shapes = b->shapes, .n = (int)n, .capacity = -1, .kind = QUEUE_PRIORITY};
    return queue_new(&queue, &b->ready);
}

Status *barrier_new(const BarrierSpec *spec, Barrier **out) {
    NEED(spec->n > 0, INVALID_ARGUMENT, "a barrier has at least one component");
    Resource *resource;
    TRY(resource_new(&barrier_type, &resource));
    Status *status = init((Barrier *)resource, spec);
    if (status) {
        resource_release(resource);
        return status;
    }
    *out = (Barrier *)resource;
    return OK;
}

Barrier *barrier_of(Resource *resource) {
    return resource->type == &barrier_type ? (Barrier *)resource : NULL;
}

Status *barrier_check_spec(const Barrier *b, const BarrierSpec *spec) {
    Str name = b->resource.name;
    bool same = spec->n == b->width;
    for (int i = 0; same && i < spec->n; i++)
        same = spec->dtypes[i] == b->dtypes[BEFORE + i];
    NEED(same, INVALID_ARGUMENT, "Shared barrier '%.*s' has other component types than requested", STR_ARGS(name));
    for (int i = 0; same && i < spec->n; i++)
        same = shape_equal(&spec->shapes[i], &b->shapes[BEFORE + i]);
    NEED(same, INVALID_ARGUMENT, "Shared barrier '%.*s' has other component shapes than requested", STR_ARGS(name));
    return OK;
}

int barrier_components(const Barrier *b) {
    return b->width;
}

DType barrier_dtype(const Barrier *b, int component) {
    return b->dtypes[BEFORE + component];
}

// ---- inserting

static Status *closed_status(const Barrier *b, size_t more) {
    FAIL(CANCELLED, "Barrier %.*s is closed.  Pending enqueues cancelled: %d.  Number of new insertions: %zu.  "
         "Number of incomplete keys: %zu.", STR_ARGS(b->resource.name), b->cancelled, more, b->partials.n);
}

// The map's key is the text in the tuple itself.
static Status *partial_fill(Barrier *b, Str key, Partial *partial) {
    TRY(tensor_new(DT_int64, SCALAR_SHAPE, &partial->tuple[0]));
    TRY(tensor_new(DT_string, SCALAR_SHAPE, &partial->tuple[1]));
    *(int64_t *)partial->tuple[0].data = b->number;
    TString *text = partial->tuple[1].data;
    NEED_MEMORY(tstring_assign(text, key) && map_set(&b->partials, tstring_str(text), partial));
    return OK;
}

static Status *partial_find(Barrier *b, Str key, bool *new, Partial **out) {
    Partial *partial = map_find(&b->partials, key);
    if (!partial) {
        NEED(!b->closed, CANCELLED, "Barrier %.*s is closed, but attempted to insert a brand new key: %.*s",
             STR_ARGS(b->resource.name), STR_ARGS(key));
        partial = calloc(1, sizeof *partial + (size_t)(BEFORE + b->width) * sizeof(Tensor));
        NEED_MEMORY(partial);
        partial->missing = b->width;
        Status *status = partial_fill(b, key, partial);
        if (status) {
            partial_free(b, partial);
            return status;
        }
        *new = true;
    }
    *out = partial;
    return OK;
}

// Whole ones go to the end of `*whole`.
static Status *insert_one(Barrier *b, Str key, int component, const Tensor *values, int64_t row, bool *new,
                          Partial ***whole) {
    Partial *partial;
    TRY(partial_find(b, key, new, &partial));
    Tensor *to = &partial->tuple[BEFORE + component];
    NEED(!to->data, INVALID_ARGUMENT, "Key %.*s already has a value for component %d in barrier %.*s", STR_ARGS(key),
         component, STR_ARGS(b->resource.name));
    Tensor view = *values;
    view.shape = b->shapes[BEFORE + component];
    view.data = (char *)values->data + (size_t)row * tensor_bytes(&view);
    TRY(tensor_copy(&view, to));
    if (--partial->missing > 0)
        return OK;
    map_take(&b->partials, key);
    partial->next = NULL;
    **whole = partial;
    *whole = &partial->next;
    b->moving++;
    return OK;
}

static void ignore(void *arg, Status *status, Tensor *components) {
    (void)arg;
    (void)components;
    status_free(status);
}

static bool is_over(const Barrier *b) {
    return b->closed && !b->partials.n && !b->moving;
}

// Without the lock, since takes end in here.
static void pass_on(Barrier *b, Partial *whole) {
    while (whole) {
        Partial *partial = whole;
        whole = partial->next;
        queue_enqueue(b->ready, partial->tuple, NULL, ignore, NULL);
        free(partial);
        mutex_lock(&b->lock);
        b->moving--;
        bool over = is_over(b);
        mutex_unlock(&b->lock);
        if (over)
            queue_close(b->ready, true, NULL, ignore, NULL);
    }
}

static Status *check_insertion(const Barrier *b, const Tensor *keys, int component, const Tensor *values) {
    int64_t n = tensor_count(keys), rows = values->shape.rank ? values->shape.dims[0] : 1;
    NEED(component >= 0 && component < b->width, INVALID_ARGUMENT,
         "The component ID is out of range %d > num_components (= %d)", component, b->width);
    DType dtype = b->dtypes[BEFORE + component];
    NEED(values->dtype == dtype, INVALID_ARGUMENT, "component %d of the barrier is of type %s, got %s", component,
         dtype_name(dtype), dtype_name(values->dtype));
    NEED(n == 0 || tensor_count(values) > 0, INVALID_ARGUMENT,
         "Tensors with no elements are not supported %.*s: received shape %s", STR_ARGS(b->resource.name),
         shape_text(&values->shape));
    NEED(n == rows, INVALID_ARGUMENT, "%lld keys and %lld values", (long long)n, (long long)rows);
    Shape row = values->shape;
    for (int i = 1; i < row.rank; i++)
        row.dims[i - 1] = row.dims[i];
    if (row.rank > 0)
        row.dims[--row.rank] = 0;
    NEED(n == 0 || shape_equal(&row, &b->shapes[BEFORE + component]), INVALID_ARGUMENT,
         "Shape mismatch in tuple component %d. Expected %s, got %s", component,
         shape_text(&b->shapes[BEFORE + component]), shape_text(&row));
    return OK;
}

static Status *insert_all(Barrier *b, const Tensor *keys, int component, const Tensor *values, Partial ***whole) {
    size_t n = (size_t)tensor_count(keys);
    if (b->closed && (b->cancelled || (n > 0 && !b->partials.n)))
        return closed_status(b, n);
    Status *status = OK;
    bool new = false;
    for (size_t i = 0; i < n && !status; i++)
        status = insert_one(b, tstring_str((const TString *)keys->data + i), component, values, (int64_t)i, &new, whole);
    b->number += new && !status;
    return status;
}

Status *barrier_insert(Barrier *b, const Tensor *keys, int component, const Tensor *values) {
    TRY(check_insertion(b, keys, component, values));
    Partial *whole = NULL, **end = &whole;
    mutex_lock(&b->lock);
    Status *status = insert_all(b, keys, component, values, &end);
    mutex_unlock(&b->lock);
    pass_on(b, whole);
    return status;
}

// ---- taking, closing, asking

// `*count` as `small` has it. OUT_OF_RANGE where there never will be so many.
static Status *check_count(const Barrier *b, bool small, int64_t *count) {
    if (!b->closed)
        return OK;
    // Tuples on their way count as there.
    int64_t there = queue_size(b->ready) + b->moving;
    if (small)
        *count = min_i64(*count, there);
    else
        there += (int64_t)b->partials.n;
    NEED(there >= max_i64(*count, 1), OUT_OF_RANGE,
         "Barrier '%.*s' is closed and has insufficient elements (requested %lld, total size %lld)",
         STR_ARGS(b->resource.name), (long long)*count, (long long)there);
    return OK;
}

void barrier_take(Barrier *b, int64_t count, bool small, Cancellation *cancellation, QueueDone *done, void *arg) {
    mutex_lock(&b->lock);
    Status *status = check_count(b, small, &count);
    mutex_unlock(&b->lock);
    if (status)
        done(arg, status, NULL);
    else
        queue_dequeue_many(b->ready, count, small, cancellation, done, arg);
}

Status *barrier_close(Barrier *b, bool cancel) {
    mutex_lock(&b->lock);
    bool again = b->closed && (b->cancelled || !cancel);
    if (!again) {
        b->closed = true;
        b->cancelled = cancel;
        if (cancel)
            drop_partials(b);
    }
    bool over = is_over(b);
    mutex_unlock(&b->lock);
    NEED(!again, CANCELLED, "Barrier '%.*s' is already closed.", STR_ARGS(b->resource.name));
    if (over)
        queue_close(b->ready, true, NULL, ignore, NULL);
    return OK;
}

int64_t barrier_ready(Barrier *b) {
    mutex_lock(&b->lock);
    int64_t n = queue_size(b->ready) + b->moving;
    mutex_unlock(&b->lock);
    return n;
}

int64_t barrier_incomplete(Barrier *b) {
    mutex_lock(&b->lock);
    int64_t n = (int64_t)b->partials.n;
    mutex_unlock(&b->lock);
    return n;
}
