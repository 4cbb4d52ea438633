// Worker, partial runs — a part that another task's master runs in several calls of RunGraph.
//
// The part starts with the first call and goes on between them, on a thread of its own: what it reads comes by its
// rendezvous, whether a call brings it or another task sends it. The last call waits for it.
#include <stdlib.h>

#include "cluster/worker_internal.h"
#include "thread/notification.h"
#include "thread/pool.h"

struct WorkerPartial {
    _Atomic int references;  // the table's, the thread's, those of calls
    Worker *worker;
    int64_t step_id;         // its bytes are the key
    Part *part;
    Rendezvous *rendezvous;
    Cancellation cancellation;
    Notification done;
    Status *status;          // once it is done
};

static Str key_of(const int64_t *id) {
    return (Str){(const char *)id, sizeof *id};
}

static void release(WorkerPartial *run) {
    if (!run || atomic_fetch_sub(&run->references, 1) != 1)
        return;
    cancellation_clear(&run->cancellation);
    rendezvous_release(run->rendezvous);
    part_release(run->part);
    status_free(run->status);
    free(run);
}

static void run_part(void *arg) {
    WorkerPartial *run = arg;
    Worker *worker = run->worker;
    PartRun options = {.step_id = run->step_id, .deadline = NO_DEADLINE, .rendezvous = run->rendezvous,
                       .cancellation = &run->cancellation};
    run->status = part_run(run->part, &options, NULL, NULL);
    notification_notify(&run->done);
    release(run);
    worker_call_ends(worker);
}

static Status *start(Worker *worker, int64_t step_id, const WorkerStep *step, WorkerPartial **out) REQUIRES(worker->lock) {
    WorkerPartial *run = calloc(1, sizeof *run);
    NEED_MEMORY(run);
    *run = (WorkerPartial){.references = 3, .worker = worker, .step_id = step_id, .part = part_retain(step->part),
                           .rendezvous = rendezvous_retain(step->rendezvous)};
    cancellation_init(&run->cancellation, task_session_cancellation(step->session));
    bool set = map_set(&worker->partials, key_of(&run->step_id), run);
    worker->calls++;
    if (set && pool_elastic(run_part, run)) {
        *out = run;
        return OK;
    }
    worker->calls--;
    if (set)
        map_take(&worker->partials, key_of(&run->step_id));
    run->references = 1;
    release(run);
    FAIL(RESOURCE_EXHAUSTED, "no thread for a partial run");
}

static Status *find_or_start(Worker *worker, int64_t step_id, const WorkerStep *step, WorkerPartial **out) {
    mutex_lock(&worker->lock);
    *out = map_find(&worker->partials, key_of(&step_id));
    Status *status = OK;
    if (*out)
        atomic_fetch_add(&(*out)->references, 1);
    else
        status = start(worker, step_id, step, out);
    mutex_unlock(&worker->lock);
    return status;
}

void worker_partial_end(Worker *worker, int64_t step_id) {
    mutex_lock(&worker->lock);
    WorkerPartial *run = map_take(&worker->partials, key_of(&step_id));
    mutex_unlock(&worker->lock);
    if (run)
        cancellation_cancel(&run->cancellation, NULL);
    release(run);
}

void worker_partials_clear(Worker *worker) {
    size_t at = 0;
    Str key;
    void *run;
    while (map_next(&worker->partials, &at, &key, &run))
        release(run);
    map_clear(&worker->partials);
}

static void on_cancelled(void *arg) {
    cancellation_cancel(&((WorkerPartial *)arg)->cancellation, NULL);
}

Status *worker_run_partial(Worker *worker, int64_t step_id, const WorkerStep *step, bool last, Cancellation *cancelled) {
    WorkerPartial *run;
    CancelWatch watch = {0};
    TRY(find_or_start(worker, step_id, step, &run));
    if (last && cancellation_watch(cancelled, &watch, on_cancelled, run)) {
        notification_wait(&run->done, NO_DEADLINE);
        cancellation_unwatch(cancelled, &watch);
    } else if (last) {
        on_cancelled(run);
        notification_wait(&run->done, NO_DEADLINE);
    }
    bool done = last || notification_has_happened(&run->done);
    Status *status = done && run->status ? status_copy(run->status) : OK;
    if (last)
        worker_partial_end(worker, step_id);
    release(run);
    return status;
}
