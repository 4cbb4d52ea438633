// Device type test — a type of devices made here: kernels, memory and a queue of its own, through sessions.
//
// TOY's addresses can't be followed by the host, its kernels run on a thread of its own, some time after they were
// called. It has MatMul, AddV2 and Sqrt for float. Nothing outside this file knows of it.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/specialisation.h"
#include "session/one_session_test.h"

// ---------------------------------------- memory

static const uintptr_t FAR = (uintptr_t)0xa5a5 << 48;
static _Atomic int n_buffers, n_allocated;

static void *near(const void *data) {
    return (void *)((uintptr_t)data ^ FAR);
}

static void toy_free(Buffer *buffer) {
    n_buffers--;
    buffer_release(buffer->owner);
    free(buffer);
}

static Buffer *toy_alloc(Allocator *allocator, size_t bytes) {
    Buffer *buffer = calloc(1, sizeof *buffer), *inside = buffer ? host_allocator.alloc(&host_allocator, bytes) : NULL;
    if (!inside) {
        free(buffer);
        return NULL;
    }
    *buffer = (Buffer){.references = 1, .bytes = bytes, .data = near(inside->data), .allocator = allocator,
                       .free = toy_free,
                       .owner = inside};
    n_buffers++;
    n_allocated++;
    return buffer;
}

static Allocator toy_allocator = {"toy", false, toy_alloc};

// ---------------------------------------- the queue

enum { MOST_ARGS = 2, NAP_US = 2000 };

typedef struct Job {
    Kernel kernel;
    Tensor args[MOST_ARGS + 1];  // inputs, then the output: as the device sees them
    Tensor views[MOST_ARGS + 1];
    Tensor *pointers[MOST_ARGS + 1];
    struct Job *next;
} Job;

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Job *first, **last;
    int n_queued, n_done;
    bool closing;
    Status *error;
} Queue;

static void job_run(Queue *queue, Job *job) {
    usleep(NAP_US);
    Status *status = node_error(job->kernel.node, job->kernel.run(&job->kernel));
    for (int i = 0; i < job->kernel.n_in + job->kernel.n_out; i++)
        buffer_release(job->args[i].buffer);
    free(job);
    pthread_mutex_lock(&queue->lock);
    if (queue->error)
        status_free(status);
    else
        queue->error = status;
    queue->n_done++;
    pthread_cond_broadcast(&queue->changed);
}

static void *work(void *arg) {
    Queue *queue = arg;
    pthread_mutex_lock(&queue->lock);
    while (!queue->closing || queue->first) {
        Job *job = queue->first;
        if (!job) {
            pthread_cond_wait(&queue->changed, &queue->lock);
            continue;
        }
        queue->first = job->next;
        if (!queue->first)
            queue->last = &queue->first;
        pthread_mutex_unlock(&queue->lock);
        job_run(queue, job);  // takes the lock again
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static int n_called, n_unfinished;  // calls of kernels; those that returned before their work was done

static Status *toy_run(const Device *device, Kernel *k) {
    Queue *queue = device->state;
    Job *job = calloc(1, sizeof *job);
    NEED_MEMORY(job);
    job->kernel = *k;
    for (int i = 0; i < k->n_in + k->n_out; i++) {
        job->args[i] = *(i < k->n_in ? k->in[i] : k->out[i - k->n_in]);
        buffer_retain(job->args[i].buffer);
        job->views[i] = job->args[i];
        job->views[i].data = near(job->args[i].data);
        job->pointers[i] = &job->views[i];
    }
    job->kernel.in = job->pointers;
    job->kernel.out = job->pointers + k->n_in;
    pthread_mutex_lock(&queue->lock);
    *queue->last = job;
    queue->last = &job->next;
    queue->n_queued++;
    n_called++;
    n_unfinished += queue->n_done < queue->n_queued;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return OK;
}

static Status *wait_for_queue(const Device *device) {
    Queue *queue = device->state;
    pthread_mutex_lock(&queue->lock);
    while (queue->n_done < queue->n_queued)
        pthread_cond_wait(&queue->changed, &queue->lock);
    Status *error = queue->error;
    queue->error = OK;
    pthread_mutex_unlock(&queue->lock);
    return error;
}

// ---------------------------------------- the type

static Status *toy_open(Device *device) {
    Queue *queue = calloc(1, sizeof *queue);
    NEED_MEMORY(queue);
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    ck_assert_int_eq(pthread_create(&queue->thread, NULL, work, queue), 0);
    device->allocator = &toy_allocator;
    device->state = queue;
    return OK;
}

static void toy_close(Device *device) {
    Queue *queue = device->state;
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    status_free(queue->error);
    free(queue);
}

static Status *toy_copy_in(const Device *device, const Tensor *host, const Tensor *inside) {
    TRY(wait_for_queue(device));
    memcpy(near(inside->data), host->data, tensor_bytes(host));
    return OK;
}

static Status *toy_sync(const Device *device, const StepContext *step) {
    (void)step;
    return wait_for_queue(device);
}

static Status *toy_copy_out(const Device *device, const Tensor *inside, const Tensor *host) {
    TRY(wait_for_queue(device));
    memcpy(host->data, near(inside->data), tensor_bytes(host));
    return OK;
}

// ---------------------------------------- its kernels

typedef struct {
    int64_t m, n, k;
} Product;

static Status *product_prepare(Prepare *p) {
    Product *own = p->own;
    *own = (Product){p->in[0]->shape.dims[0], p->in[1]->shape.dims[1], p->in[0]->shape.dims[1]};
    return OK;
}

static Status *product_run(Kernel *kernel) {
    const Product *own = kernel->own;
    const float *a = kernel->in[0]->data, *b = kernel->in[1]->data;
    float *c = kernel->out[0]->data;
    for (int64_t i = 0; i < own->m; i++)
        for (int64_t j = 0; j < own->n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < own->k; l++)
                sum += a[i * own->k + l] * b[l * own->n + j];
            c[i * own->n + j] = sum;
        }
    return OK;
}

static Status *add_run(Kernel *k) {
    const float *a = k->in[0]->data, *b = k->in[1]->data;
    for (int64_t i = 0, n = tensor_count(k->out[0]); i < n; i++)
        ((float *)k->out[0]->data)[i] = a[i] + b[i];
    return OK;
}

static Status *sqrt_run(Kernel *k) {
    const float *x = k->in[0]->data;
    for (int64_t i = 0, n = tensor_count(k->out[0]); i < n; i++) {
        NEED(x[i] >= 0, INVALID_ARGUMENT, "toys have no roots of negative numbers");
        ((float *)k->out[0]->data)[i] = sqrtf(x[i]);
    }
    return OK;
}

static const Kernels *toy_kernels(const Op *op) {
    static const KernelRow products[] = {{DT_float, product_run}, {DT_INVALID, NULL}};
    static const KernelRow sums[] = {{DT_float, add_run}, {DT_INVALID, NULL}};
    static const KernelRow roots[] = {{DT_float, sqrt_run}, {DT_INVALID, NULL}};
    static const Kernels product = {products, product_prepare, sizeof(Product)}, add = {.rows = sums},
        root = {.rows = roots};
    Str name = op_name(op);
    return str_is(name, "MatMul") ? &product : str_is(name, "AddV2") ? &add : str_is(name, "Sqrt") ? &root : NULL;
}

static const DeviceType toy = {
    .name = "TOY", .priority = 20, .kernels = toy_kernels, .open = toy_open, .close = toy_close, .run = toy_run,
    .copy_in = toy_copy_in, .copy_out = toy_copy_out, .sync = toy_sync,
};

// ---------------------------------------- sessions

static void open_session(bool soft) {
    SessionConfig config = session_config_default();
    config.soft_placement = soft;
    config.devices[0] = (DeviceCount){STR("TOY"), 1};
    config.n_devices = 1;
    open_session_with(&config);
}

static void setup(void) {
    open_graph();
    status_free(device_type_register(&toy));  // the test before this one may have been in the same process
    n_called = n_unfinished = 0;
    open_session(false);
}

static void teardown(void) {
    close_all();
    ck_assert_int_eq(n_buffers, 0);
}

// On TOY from here on, or on the CPU.
static void place(bool on_toy) {
    formula.device = on_toy ? STR("/device:TOY:0") : STR("/device:CPU:0");
}

static Output fed(void) {
    return formula_op(&formula, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
}

static Status *run(Output feed, const Tensor *value, Output fetch, Tensor *out) {
    GOOD(formula.status);
    StepSignature signature = {.feeds = &feed, .n_feeds = 1, .fetches = &fetch, .n_fetches = 1};
    return session_run(session, &signature, &(RunSettings){0}, &value, out);
}

static Tensor filled(int64_t rows, int64_t columns, float first) {
    Tensor t;
    GOOD(tensor_new(DT_float, (Shape){.rank = 2, .dims = {rows, columns}}, &t));
    for (int64_t i = 0; i < rows * columns; i++)
        ((float *)t.data)[i] = first + (float)i;
    return t;
}

START_TEST(its_kernels_run_later) {
    Formula *f = &formula;
    place(false);
    Output x = fed();
    place(true);
    Output y = formula_2(f, "MatMul", x, x), z = Add(y, y), root = Sqrt(z);
    place(false);
    Output out = Mul(root, root);
    AUTO(tensor) Tensor in = filled(2, 2, 1);
    for (int i = 0; i < 3; i++) {
        AUTO(tensor) Tensor got = {0};
        GOOD(run(x, &in, out, &got));
        const float wanted[] = {14, 20, 30, 44};  // twice [[1 2] [3 4]] squared
        for (int j = 0; j < 4; j++)
            ck_assert_float_eq_tol(((float *)got.data)[j], wanted[j], 1e-4F);
    }
    ck_assert_int_eq(n_called, 9);
    ck_assert_int_gt(n_unfinished, 5);
}
END_TEST

// What is on the device for a while lies in one block of its memory, which the next step has again: only what is sent
// there has a buffer of its own.
START_TEST(values_share_a_block_there) {
    enum { LONG = 8, ROWS = 64, VALUE = ROWS * ROWS * sizeof(float) };
    Formula *f = &formula;
    place(false);
    Output x = fed(), out = x;
    place(true);
    for (int i = 0; i < LONG; i++)
        out = i % 2 ? Sqrt(out) : Add(out, out);
    place(false);
    out = Mul(out, out);
    AUTO(tensor) Tensor in = filled(ROWS, ROWS, 1);
    const Tensor *fed_value = &in;
    StepSignature signature = {.feeds = &x, .n_feeds = 1, .fetches = &out, .n_fetches = 1};
    Plan *plan;
    Specialisation *specialisation;
    GOOD(f->status);
    GOOD(session_plan(session, &signature, &plan));
    ck_assert_int_eq(plan->n_memories, 2);
    GOOD(specialisation_make(plan, &fed_value, NULL, &specialisation));
    for (int32_t i = 0; i < plan->n_nodes; i++)  // what came by Recv is sized when it has come
        ck_assert(specialisation->modes[i] != NODE_DYNAMIC || plan->nodes[i].flow == FLOW_COPY_OUT ||
                  plan->nodes[i].flow == FLOW_COPY_IN || getenv("MILLRACE_STRESS"));
    specialisation_release(specialisation);
    plan_release(plan);
    for (int i = 0; i < 4; i++) {
        AUTO(tensor) Tensor got = {0};
        int before = n_allocated;
        GOOD(run(x, &in, out, &got));
        double wanted = 5;
        for (int k = 0; k < LONG; k++)
            wanted = k % 2 ? sqrt(wanted) : wanted + wanted;
        ck_assert_float_eq_tol(((float *)got.data)[4], (float)(wanted * wanted), 1e-3F);
        if (i > 1 && !getenv("MILLRACE_STRESS"))
            ck_assert_int_eq(n_allocated - before, 1);
    }
}
END_TEST

START_TEST(what_lies_there_is_fetched) {
    Formula *f = &formula;
    place(true);
    Output x = fed(), y = Add(x, x);
    AUTO(tensor) Tensor in = filled(1, 3, 5);
    AUTO(tensor) Tensor got = {0};
    GOOD(run(x, &in, y, &got));
    ck_assert_float_eq(((float *)got.data)[2], 14);
}
END_TEST

START_TEST(errors_come_with_the_step) {
    Formula *f = &formula;
    place(true);
    Output x = fed(), y = Sqrt(x);
    GOOD(f->status);
    AUTO(tensor) Tensor bad = filled(1, 2, -3);
    AUTO(tensor) Tensor good = filled(1, 2, 4);
    const Tensor *values[] = {&bad, &good};
    StepSignature signature = {.feeds = &x, .n_feeds = 1, .targets = &y.node, .n_targets = 1};
    Status *status = session_run(session, &signature, &(RunSettings){0}, &values[0], NULL);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(status_message(status), "(Sqrt): toys have no roots"));
    status_free(status);
    GOOD(session_run(session, &signature, &(RunSettings){0}, &values[1], NULL));
}
END_TEST

START_TEST(what_it_lacks_goes_elsewhere) {
    Formula *f = &formula;
    place(true);
    Output x = fed(), y = Exp(x);
    AUTO(tensor) Tensor in = filled(1, 1, 0);
    AUTO(tensor) Tensor got = {0};
    Status *status = run(x, &in, y, &got);
    ck_assert_int_eq(status_code(status), UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(status_message(status), "(Exp): no kernel for type float on /device:TOY:0"));
    status_free(status);
    session_free(session);
    open_session(true);
    GOOD(run(x, &in, y, &got));
    ck_assert_float_eq(*(float *)got.data, 1);
    ck_assert_int_eq(n_called, 0);
}
END_TEST

START_TEST(there_may_be_many) {
    Formula *f = &formula;
    session_free(session);
    SessionConfig config = session_config_default();
    config.devices[0] = (DeviceCount){STR("FAKE"), 130};
    config.n_devices = 1;
    GOOD(session_new(graph, NULL, &config, &session));
    place(false);
    Output x = fed(), sum = x;
    for (int i = 1; i < 130; i += 64) {
        char name[32];
        snprintf(name, sizeof name, "/device:FAKE:%d", i);
        f->device = str_of(name);
        sum = Add(sum, x);
    }
    AUTO(tensor) Tensor in = filled(1, 1, 2);
    AUTO(tensor) Tensor got = {0};
    GOOD(run(x, &in, sum, &got));
    ck_assert_float_eq(*(float *)got.data, 8);
}
END_TEST

START_TEST(types_have_names_of_their_own) {
    Status *status = device_type_register(&toy);
    ck_assert_int_eq(status_code(status), ALREADY_EXISTS);
    status_free(status);
    ck_assert_ptr_eq(device_type_find(STR("TOY")), &toy);
    ck_assert_ptr_eq(device_type_at(0), &device_cpu);
    ck_assert_ptr_null(device_type_find(STR("TOYS")));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device types");
    TCase *tests = tcase_create("toy");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, its_kernels_run_later);
    tcase_add_test(tests, values_share_a_block_there);
    tcase_add_test(tests, what_lies_there_is_fetched);
    tcase_add_test(tests, errors_come_with_the_step);
    tcase_add_test(tests, what_it_lacks_goes_elsewhere);
    tcase_add_test(tests, there_may_be_many);
    tcase_add_test(tests, types_have_names_of_their_own);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
