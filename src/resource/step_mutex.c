// StepMutex — see step_mutex.h: a mutex held by a value (a variant): freed when the value goes, whatever became of the
// step.
//
// Waiting holds no thread: who waits is a callback in a list, served in turn.
#include "resource/step_mutex.h"

#include <stdlib.h>

#include "resource/wait_list.h"

struct StepMutex {
    Resource resource;
    WaitList waits;  // its lock guards the next
    bool held;
};

typedef struct {
    Object object;
    _Atomic(StepMutex *) mutex;  // one reference; NULL once it was let go
} Hold;

typedef struct {
    Wait wait;       // holds a reference to the mutex
    Tensor hold;
    StepMutexDone *done;
    void *arg;
} Acquire;

// ---- holding

// By exchange: an explicit release and the end of the value may come together.
static void let_go(Hold *hold) {
    StepMutex *mutex = atomic_exchange(&hold->mutex, NULL);
    if (!mutex)
        return;
    wait_list_lock(&mutex->waits);
    mutex->held = false;
    wait_list_unlock(&mutex->waits);
    resource_release((Resource *)mutex);
}

static void hold_free(Object *object) {
    Hold *hold = (Hold *)object;
    let_go(hold);
    free(hold);
}

static const ObjectType hold_type = {.name = "MutexLock", .free = hold_free};

// A tensor that holds nothing yet.
static Status *hold_new(Tensor *out) {
    Hold *hold = calloc(1, sizeof *hold);
    NEED_MEMORY(hold);
    object_init(&hold->object, &hold_type);
    Status *status = tensor_new(DT_variant, SCALAR_SHAPE, out);
    if (status) {
        free(hold);
        return status;
    }
    *(Object **)out->data = &hold->object;
    return OK;
}

Status *step_mutex_let_go(const Tensor *hold) {
    Object *object = hold->dtype == DT_variant && hold->shape.rank == 0 ? *(Object **)hold->data : NULL;
    NEED(object && object->type == &hold_type, INVALID_ARGUMENT, "expected a mutex lock, got %s",
         object ? object->type->name : "something else");
    let_go((Hold *)object);
    return OK;
}

// ---- waiting

static bool serve(void *owner, Wait *wait) {
    StepMutex *mutex = owner;
    if (mutex->held)
        return false;
    mutex->held = true;
    resource_retain(&mutex->resource);
    atomic_store(&((Hold *)*(Object **)((Acquire *)wait)->hold.data)->mutex, mutex);
    return true;
}

static void finish(void *owner, Wait *wait) {
    Acquire *acquire = (Acquire *)wait;
    Status *status = wait->status;
    if (status)
        tensor_clear(&acquire->hold);
    acquire->done(acquire->arg, status, status ? NULL : &acquire->hold);
    free(acquire);
    resource_release(owner);
}

void step_mutex_acquire(StepMutex *mutex, Cancellation *cancellation, StepMutexDone *done, void *arg) {
    Acquire *acquire = calloc(1, sizeof *acquire);
    Status *status = acquire ? hold_new(&acquire->hold) : OUT_OF_MEMORY;
    if (status) {
        free(acquire);
        done(arg, status, NULL);
        return;
    }
    acquire->done = done;
    acquire->arg = arg;
    resource_retain(&mutex->resource);
    wait_list_add(&mutex->waits, &acquire->wait, cancellation);
}

// ---- the resource

static void clear(Resource *resource) {
    wait_list_clear(&((StepMutex *)resource)->waits);
}

static Status *dropped_status(const StepMutex *mutex) {
    FAIL(CANCELLED, "Mutex '%.*s' was dropped", STR_ARGS(mutex->resource.name));
}

static void drop(Resource *resource) {
    StepMutex *mutex = (StepMutex *)resource;
    wait_list_lock(&mutex->waits);
    wait_list_close(&mutex->waits, dropped_status(mutex));
    wait_list_unlock(&mutex->waits);
}

const ResourceType step_mutex_type = {"Mutex", sizeof(StepMutex), clear, drop};

Status *step_mutex_new(StepMutex **out) {
    Resource *resource;
    TRY(resource_new(&step_mutex_type, &resource));
    StepMutex *mutex = (StepMutex *)resource;
    wait_list_init(&mutex->waits, mutex, "MutexLock");
    mutex->waits.in_turn = true;
    mutex->waits.serve = serve;
    mutex->waits.finish = finish;
    *out = mutex;
    return OK;
}
