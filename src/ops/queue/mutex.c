// Mutexes — MutexLock waits without a thread until it holds the mutex; it is free again once the lock is consumed, or gone.
#include "ops/op.h"
#include "resource/handle.h"
#include "resource/step_mutex.h"

typedef struct {
    Tensor handle;
} MutexNode;

static Status *create(void *arg, Resource **out) {
    (void)arg;
    StepMutex *mutex;
    TRY(step_mutex_new(&mutex));
    *out = (Resource *)mutex;
    return OK;
}

static Status *open_mutex(Opening *o) {
    MutexNode *state = o->state;
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                                &step_mutex_type, create, NULL, &resource));
    return handle_tensor(resource, kernel_device_name(o->node), DT_INVALID, UNKNOWN_SHAPE, &state->handle);
}

static void close_mutex(void *state) {
    tensor_clear(&((MutexNode *)state)->handle);
}

static Status *mutex_run(Kernel *k) {
    const MutexNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a mutex needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *mutex_handle(const void *state) {
    return &((const MutexNode *)state)->handle;
}

const Op op_MutexV2 = {
    .signature = "MutexV2() -> resource: resource; container: string = \"\"; shared_name: string = \"\"; stateful",
    .doc = "A mutex, made at its first use.", .shape = shape_scalar, .open = open_mutex, .close = close_mutex,
    .state_size = sizeof(MutexNode), .value = mutex_handle, .cpu = ANY_TYPE(mutex_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};

static void lock_came(void *arg, Status *status, Tensor *hold) {
    Kernel *k = arg;
    if (hold)
        kernel_set_output(k, 0, *hold);
    kernel_done(k, status);
}

static void start_lock(Kernel *k) {
    Resource *resource;
    Status *status = kernel_resource(k, 0, &step_mutex_type, &resource);
    if (status) {
        kernel_done(k, status);
        return;
    }
    step_mutex_acquire((StepMutex *)resource, k->step->cancellation, lock_came, k);
    resource_release(resource);
}

const Op op_MutexLock = {
    .signature = "MutexLock(mutex: resource) -> mutex_lock: variant; stateful",
    .doc = "Waits until nobody holds the mutex, and holds it for as long as its output lives.", .shape = shape_scalar,
    .start = start_lock, .flags = OP_NO_GRADIENT,
};

static Status *consume_run(Kernel *k) {
    return step_mutex_let_go(k->in[0]);
}

const Op op_ConsumeMutexLock = {
    .signature = "ConsumeMutexLock(mutex_lock: variant); stateful",
    .doc = "Gives the mutex back; what is to happen while it is held comes before, by control edges.",
    .shape = shape_none, .cpu = ANY_TYPE(consume_run), .flags = OP_NO_GRADIENT,
};
