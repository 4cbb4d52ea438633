// BatchFunction — a function that is called once for many steps: their rows are gathered until they are enough, or the first
// has waited long enough, and what the function makes of them is given back, to each its own.
#include "data/tuple.h"
#include "kernel/background.h"
#include "kernel/call.h"
#include "ops/op.h"
#include "resource/resource.h"
#include "thread/pool.h"

typedef struct BatchQueue BatchQueue;
typedef struct Task Task;

struct Task {
    Task *next;
    BatchQueue *queue;          // one reference
    Kernel *k;
    Tensor *in;                 // k->n_in, a reference each
    int64_t rows;
    CancelWatch watch;
    bool watched;
    bool listed;                // guarded by the queue's lock
};

struct BatchQueue {
    Resource resource;
    int64_t most, wait_ns, backlog;  // rows of a batch; how long the first waits; rows that may wait
    int threads;
    Mutex lock;                 // guards what follows
    Condition changed;
    Task *first, **end;
    int64_t rows;               // that wait
    int64_t deadline;           // of the first
    int running;                // batches
    bool timed;                 // a thread waits for the deadline
};

static void queue_clear(Resource *resource) {
    BatchQueue *queue = (BatchQueue *)resource;
    condition_clear(&queue->changed);
    mutex_clear(&queue->lock);
}

static const ResourceType batch_queue_type = {"BatchQueue", sizeof(BatchQueue), queue_clear, NULL};

static Status *create(void *arg, Resource **out) {
    const Node *node = arg;
    Resource *resource;
    int64_t most = node_int(node, "max_batch_size"), wait = node_int(node, "batch_timeout_micros");
    int64_t threads = node_int(node, "num_batch_threads"), backlog = node_int(node, "max_enqueued_batches");
    NEED(most > 0, INVALID_ARGUMENT, "max_batch_size must be positive; was %lld", (long long)most);
    NEED(wait >= 0 && wait < INT64_MAX / 2000, INVALID_ARGUMENT, "batch_timeout_micros must be non-negative; was %lld",
         (long long)wait);
    NEED(threads > 0, INVALID_ARGUMENT, "num_batch_threads must be positive; was %lld", (long long)threads);
    NEED(backlog > 0, INVALID_ARGUMENT, "max_enqueued_batches must be positive; was %lld", (long long)backlog);
    TRY(resource_new(&batch_queue_type, &resource));
    BatchQueue *queue = (BatchQueue *)resource;
    const AttrValue *allowed = node_list(node, "allowed_batch_sizes");
    queue->most = allowed->n && allowed->is[allowed->n - 1] < most ? allowed->is[allowed->n - 1] : most;
    queue->wait_ns = wait * 1000;
    queue->threads = threads < INT32_MAX ? (int)threads : INT32_MAX;
    if (__builtin_mul_overflow(most, backlog, &queue->backlog))
        queue->backlog = INT64_MAX;
    queue->end = &queue->first;
    mutex_init(&queue->lock);
    condition_init(&queue->changed);
    *out = resource;
    return OK;
}

// ---------------------------------------- tasks

static void task_free(Task *task, int n_in) {
    if (task->in)
        tuple_clear(task->in, n_in);
    free(task->in);
    resource_release(task->queue ? &task->queue->resource : NULL);
    free(task);
}

static void finish(Task *task, Status *status) {
    Kernel *k = task->k;
    if (task->watched)
        cancellation_unwatch(k->step->cancellation, &task->watch);
    task_free(task, k->n_in);
    kernel_done(k, status);
}

static void take_off(BatchQueue *queue, Task *task) REQUIRES(queue->lock) {
    Task **at = &queue->first;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    if (!task->next)
        queue->end = at;
    task->listed = false;
    queue->rows -= task->rows;
}

static Status *cancelled_status(const Task *task) {
    TRY(cancellation_check(task->k->step->cancellation));
    FAIL(CANCELLED, "BatchFunction operation was cancelled");
}

static void cancelled(void *arg) {
    Task *task = arg;
    BatchQueue *queue = task->queue;
    mutex_lock(&queue->lock);
    bool mine = task->listed;
    if (mine)
        take_off(queue, task);
    if (mine && !queue->first && queue->timed)
        condition_notify_all(&queue->changed);  // nobody is left to wait for
    mutex_unlock(&queue->lock);
    if (mine)
        finish(task, cancelled_status(task));
}

// ---------------------------------------- a batch

typedef struct {
    Task *first;                // of tasks that are listed no more
    int64_t rows, padded;
    int n_in, n_out, n_batched; // inputs, the first of which are gathered
    Tensor *in, *out;
} Batch;

// The least allowed size that holds the rows.
static int64_t padded_rows(const Node *node, int64_t rows) {
    const AttrValue *allowed = node_list(node, "allowed_batch_sizes");
    for (int i = 0; i < allowed->n; i++)
        if (allowed->is[i] >= rows)
            return allowed->is[i];
    return rows;
}

static Status *check_alike(const Batch *batch, int i) {
    const Tensor *like = &batch->first->in[i];
    for (const Task *task = batch->first; task; task = task->next) {
        Shape shape = task->in[i].shape;
        shape.dims[0] = like->shape.dims[0];
        NEED(task->in[i].dtype == like->dtype && shape_equal(&shape, &like->shape), INVALID_ARGUMENT,
             "rows of input %d have shapes %s and %s", i, shape_text(&task->in[i].shape), shape_text(&like->shape));
    }
    return OK;
}

// Behind the rows come copies of the first, up to the padded number.
static Status *gather(const Batch *batch, int i, Tensor *out) {
    TRY(check_alike(batch, i));
    Shape shape = batch->first->in[i].shape;
    shape.dims[0] = batch->padded;
    AUTO(tensor) Tensor all = {0};
    TRY(tensor_new(batch->first->in[i].dtype, shape, &all));
    int64_t at = 0;
    for (const Task *task = batch->first; task; task = task->next)
        for (int64_t r = 0; r < task->rows; r++, at++) {
            AUTO(tensor) Tensor row = {0};
            TRY(tuple_row(&task->in[i], r, &row));
            TRY(tuple_set_row(&all, at, &row));
        }
    for (; at < batch->padded && batch->rows; at++) {
        AUTO(tensor) Tensor row = {0};
        TRY(tuple_row(&all, 0, &row));
        TRY(tuple_set_row(&all, at, &row));
    }
    *out = tensor_retain(&all);
    return OK;
}

static Status *call(Batch *batch) {
    const Kernel *k = batch->first->k;
    const AttrValue *f = node_attr_find(k->node, "f");
    const Caller *caller = k->step->caller;
    NEED(caller && caller->background, FAILED_PRECONDITION, "there is no session to call '%.*s' in", STR_ARGS(f->func->name));
    for (int i = 0; i < batch->n_in; i++) {
        if (i < batch->n_batched)
            TRY(gather(batch, i, &batch->in[i]));
        else
            batch->in[i] = tensor_retain(&batch->first->in[i]);
    }
    Background *background = caller->background;
    TRY(background_begin(background));
    StepContext context = {.cancellation = &background->cancellation, .deadline = NO_DEADLINE, .threads = background->threads,
                           .resources = background->resources, .caller = caller, .depth = k->step->depth};
    Status *status = caller->call(caller, &context, f->func, batch->in, batch->n_in, batch->out, batch->n_out);
    background_end(background);
    TRY(status);
    for (int i = 0; i < batch->n_out; i++)
        NEED(batch->out[i].shape.rank > 0 && batch->out[i].shape.dims[0] == batch->padded, INVALID_ARGUMENT,
             "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors: %s "
             "of %lld rows", shape_text(&batch->out[i].shape), (long long)batch->padded);
    return OK;
}

// Rows [first, first + n) of what the function returned become the outputs of the task.
static Status *scatter(const Batch *batch, const Task *task, int64_t first) {
    for (int i = 0; i < batch->n_out; i++) {
        const Tensor *from = &batch->out[i];
        Shape shape = from->shape;
        shape.dims[0] = task->rows;
        Tensor part, view = *from;
        TRY(tensor_new(from->dtype, shape, &part));
        view.buffer = NULL;
        view.shape = shape;
        if (task->rows)  // and so the batch has some
            view.data = (char *)from->data + (size_t)first * (tensor_bytes(from) / (size_t)batch->padded);
        Status *status = task->rows ? tensor_copy_elements(&view, &part) : OK;
        if (status) {
            tensor_clear(&part);
            return status;
        }
        kernel_set_output(task->k, i, part);
    }
    return OK;
}

static void run_batch(Task *first) {
    const Kernel *k = first->k;
    int batched, unused;
    node_input_span(k->node, 0, &unused, &batched);
    Batch batch = {.first = first, .n_in = k->n_in, .n_out = k->n_out, .n_batched = batched};
    for (const Task *task = first; task; task = task->next)
        batch.rows += task->rows;
    batch.padded = padded_rows(k->node, batch.rows);
    batch.padded = batch.padded > 0 ? batch.padded : batch.rows;
    batch.in = calloc((size_t)k->n_in + 1, sizeof *batch.in);
    batch.out = calloc((size_t)k->n_out + 1, sizeof *batch.out);
    Status *status = batch.in && batch.out ? call(&batch) : OUT_OF_MEMORY;
    int64_t at = 0;
    for (Task *task = first, *next; task; task = next) {
        next = task->next;
        Status *own = status ? status_copy(status) : scatter(&batch, task, at);
        at += task->rows;
        finish(task, own);
    }
    status_free(status);
    if (batch.in)
        tuple_clear(batch.in, batch.n_in);
    if (batch.out)
        tuple_clear(batch.out, batch.n_out);
    free(batch.in);
    free(batch.out);
}

// ---------------------------------------- the queue

// The tasks of the next batch, if there is one by now; at least one, which alone may be larger.
static Task *take_batch(BatchQueue *queue) REQUIRES(queue->lock) {
    bool due = queue->first && (queue->rows >= queue->most || clock_now() >= queue->deadline);
    if (!due || queue->running >= queue->threads)
        return NULL;
    Task *first = queue->first, *last = first;
    int64_t rows = first->rows;
    take_off(queue, first);
    first->next = NULL;
    while (queue->first && rows + queue->first->rows <= queue->most) {
        Task *task = queue->first;
        take_off(queue, task);
        task->next = NULL;
        last->next = task;
        last = task;
        rows += task->rows;
    }
    if (queue->first)
        queue->deadline = clock_now() + queue->wait_ns;
    queue->running++;
    return first;
}

// A thread that runs batches while there are any, and waits for the first row's time while others may come. It holds a
// reference.
static void serve(void *arg) {
    BatchQueue *queue = arg;
    mutex_lock(&queue->lock);
    while (queue->first && queue->running < queue->threads) {
        Task *batch = take_batch(queue);
        if (!batch && queue->timed)
            break;
        if (!batch) {
            queue->timed = true;
            (void)condition_wait_until(&queue->changed, &queue->lock, queue->deadline);
            queue->timed = false;
            continue;
        }
        mutex_unlock(&queue->lock);
        run_batch(batch);
        mutex_lock(&queue->lock);
        queue->running--;
    }
    mutex_unlock(&queue->lock);
    resource_release(&queue->resource);
}

static Status *count_rows(Kernel *k, int64_t *out) {
    int first, count;
    node_input_span(k->node, 0, &first, &count);
    for (int i = 0; i < count; i++) {
        NEED(k->in[i]->shape.rank > 0, INVALID_ARGUMENT, "Batching input tensors must have at least one dimension");
        NEED(k->in[i]->shape.dims[0] == k->in[0]->shape.dims[0], INVALID_ARGUMENT,
             "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size");
    }
    *out = k->in[0]->shape.dims[0];
    return OK;
}

static Status *check_sizes(const Node *node) {
    const AttrValue *allowed = node_list(node, "allowed_batch_sizes");
    for (int i = 1; i < allowed->n; i++)
        NEED(allowed->is[i] > allowed->is[i - 1], INVALID_ARGUMENT,
             "allowed_batch_sizes entries must be monotonically increasing");
    NEED(!allowed->n || allowed->is[allowed->n - 1] == node_int(node, "max_batch_size") ||
         node_bool(node, "enable_large_batch_splitting"), INVALID_ARGUMENT,
         "final entry in allowed_batch_sizes must equal max_batch_size when enable_large_batch_splitting is False");
    return OK;
}

static Status *find_queue(Kernel *k, BatchQueue **out) {
    AUTO(text) Text name = {0};
    Str shared = node_str(k->node, "shared_name"), queue = node_str(k->node, "batching_queue");
    text_add(&name, shared.n ? shared : k->node->name);
    text_char(&name, '/');
    text_add(&name, queue);
    NEED_MEMORY(!name.failed);
    Resource *resource;
    TRY(resource_find_or_create(k->step->resources, node_str(k->node, "container"), text_str(&name), &batch_queue_type, create,
                                (void *)(uintptr_t)k->node, &resource));
    *out = (BatchQueue *)resource;
    return OK;
}

static Status *task_make(Kernel *k, Task *task) {
    task->k = k;
    TRY(check_sizes(k->node));
    TRY(count_rows(k, &task->rows));
    TRY(find_queue(k, &task->queue));
    int64_t most = node_int(k->node, "max_batch_size");
    NEED(task->rows <= most, INVALID_ARGUMENT, "Task size %lld is larger than maximum input batch size %lld",
         (long long)task->rows, (long long)most);
    task->in = calloc((size_t)k->n_in + 1, sizeof *task->in);
    NEED_MEMORY(task->in);
    for (int i = 0; i < k->n_in; i++)
        TRY(kernel_keep(k, i, &task->in[i]));
    return OK;
}

static Status *full_status(const BatchQueue *queue) {
    FAIL(UNAVAILABLE, "The batch scheduling queue to which this task was submitted is full: %lld rows wait",
         (long long)queue->rows);
}

// From here the task may be gone.
static void enter(BatchQueue *queue, Task *task) {
    Cancellation *cancellation = task->k->step->cancellation;
    Status *status = OK;
    resource_retain(&queue->resource);
    task->watched = cancellation && cancellation_watch(cancellation, &task->watch, cancelled, task);
    mutex_lock(&queue->lock);
    if (cancellation && cancellation_is_set(cancellation))
        status = cancelled_status(task);
    else if (queue->rows > queue->backlog - task->rows && queue->rows)
        status = full_status(queue);
    if (!status) {
        if (!queue->first)
            queue->deadline = clock_now() + queue->wait_ns;
        task->listed = true;
        *queue->end = task;
        queue->end = &task->next;
        queue->rows += task->rows;
    }
    bool wakes = queue->timed;
    if (wakes)
        condition_notify_all(&queue->changed);
    mutex_unlock(&queue->lock);
    if (status)
        finish(task, status);
    if (wakes || status)
        resource_release(&queue->resource);
    else if (!pool_elastic(serve, queue))
        serve(queue);
}

static void batch_function_start(Kernel *k) {
    Task *task = calloc(1, sizeof *task);
    Status *status = task ? task_make(k, task) : OUT_OF_MEMORY;
    if (!status) {
        enter(task->queue, task);
        return;
    }
    if (task)
        task_free(task, k->n_in);
    kernel_done(k, status);
}

const Op op_BatchFunction = {
    .signature = "BatchFunction(in_tensors: Tin, captured_tensors: Tcaptured) -> out_tensors: Tout; f: func; "
                 "num_batch_threads: int; max_batch_size: int; batch_timeout_micros: int; max_enqueued_batches: int = 10; "
                 "allowed_batch_sizes: list(int) = []; container: string = \"\"; shared_name: string = \"\"; "
                 "batching_queue: string = \"\"; low_priority_max_batch_size: int = 0; "
                 "low_priority_batch_timeout_micros: int = 0; low_priority_allowed_batch_sizes: list(int) = []; "
                 "low_priority_max_enqueued_batches: int = 0; mixed_priority_policy: "
                 "{\"low_priority_padding_with_max_batch_size\", \"low_priority_padding_with_next_allowed_batch_size\", "
                 "\"priority_isolation\", \"priority_merge\"} = \"low_priority_padding_with_max_batch_size\"; "
                 "batch_padding_policy: {\"PAD_UP\", \"BATCH_DOWN\", \"MINIMIZE_TPU_COST_PER_REQUEST\"} = \"PAD_UP\"; "
                 "Tin: list(type) >= 1; Tcaptured: list(type) >= 0; Tout: list(type) >= 1; "
                 "enable_large_batch_splitting: bool = false; distributed",
    .doc = "Calls a function once for the rows of many steps, and gives each its own.", .shape = shape_none,
    .keeps = BIT(0) | BIT(1), .start = batch_function_start,
    .flags = OP_STATEFUL | OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
