// Puller — see puller.h. While requests are listed, somebody drives or the source has promised to wake.
#include "data/puller.h"

#include <stdlib.h>

#include "base/clock.h"
#include "data/position.h"
#include "kernel/call.h"
#include "thread/pool.h"

typedef struct Request Request;
struct Request {
    Puller *puller;              // one reference
    Request *next;
    const StepContext *context;
    PullerDone *done;
    void *arg;
    CancelWatch watch;
    bool watched;
    bool listed, pulls, cancelled;  // guarded by the puller's lock; `pulls`: the thread that drives is inside the source
};

struct Puller {
    _Atomic int32_t references;
    Pipeline *pipeline;
    Source *source;
    Mutex lock;                  // guards what follows
    Request *first;
    bool driven, waits;          // somebody drives; the source has promised to wake
    int held;                    // by those who save: nobody is to drive
    Condition rests;             // nobody drives any more
    bool woken;                  // it has, while somebody drives
    bool left;                   // by its owner
    int users;                   // that may ask for an element yet
    Tensor *element;             // whoever drives fills it
};

// ---- life

static void puller_free(Puller *puller) {
    cancellation_cancel(&puller->pipeline->cancellation, NULL);
    source_close(puller->source);
    pipeline_release(puller->pipeline);
    free(puller->element);
    condition_clear(&puller->rests);
    mutex_clear(&puller->lock);
    free(puller);
}

static Puller *hold(Puller *puller) {
    atomic_fetch_add_explicit(&puller->references, 1, memory_order_relaxed);
    return puller;
}

static void let_go(Puller *puller) {
    if (atomic_fetch_sub_explicit(&puller->references, 1, memory_order_acq_rel) == 1)
        puller_free(puller);
}

// With nobody left to ask, what goes on in the background is for nobody.
static bool is_idle(const Puller *puller) REQUIRES(puller->lock) {
    return puller->left && !puller->first && !puller->users;
}

Puller *puller_retain(Puller *puller) {
    mutex_lock(&puller->lock);
    puller->users++;
    mutex_unlock(&puller->lock);
    return hold(puller);
}

void puller_release(Puller *puller) {
    if (!puller)
        return;
    mutex_lock(&puller->lock);
    puller->users--;
    bool idle = is_idle(puller);
    mutex_unlock(&puller->lock);
    if (idle)
        cancellation_cancel(&puller->pipeline->cancellation, NULL);
    let_go(puller);
}

void puller_leave(Puller *puller) {
    if (!puller)
        return;
    mutex_lock(&puller->lock);
    puller->left = true;
    bool idle = is_idle(puller);
    mutex_unlock(&puller->lock);
    if (idle)
        cancellation_cancel(&puller->pipeline->cancellation, NULL);
    let_go(puller);
}

const Dataset *puller_dataset(const Puller *puller) {
    return puller->source->dataset;
}

Status *puller_new(const Dataset *dataset, const StepContext *context, Puller **out) {
    Puller *puller = calloc(1, sizeof *puller);
    NEED_MEMORY(puller);
    atomic_init(&puller->references, 1);
    mutex_init(&puller->lock);
    condition_init(&puller->rests);
    Status *status = pipeline_new(context->caller ? context->caller->background : NULL, &puller->pipeline);
    if (status) {
        condition_clear(&puller->rests);
        mutex_clear(&puller->lock);
        free(puller);
        return status;
    }
    puller->element = calloc((size_t)dataset->n_components + 1, sizeof *puller->element);
    status = puller->element ? source_open(dataset, puller->pipeline, NULL, &puller->source) : OUT_OF_MEMORY;
    if (status)
        puller_free(puller);
    else
        *out = puller;
    return status;
}

// ---- requests

static void take_off(Puller *puller, Request *request) REQUIRES(puller->lock) {
    Request **at = &puller->first;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    request->listed = false;
}

// It is listed no more. Its step may be gone once it is done.
static void finish(Request *request, Status *status, Tensor *element) {
    Puller *puller = request->puller;
    if (request->watched)
        cancellation_unwatch(request->context->cancellation, &request->watch);
    request->done(request->arg, status, element);
    free(request);
    mutex_lock(&puller->lock);
    bool idle = is_idle(puller);
    mutex_unlock(&puller->lock);
    if (idle)
        cancellation_cancel(&puller->pipeline->cancellation, NULL);
    let_go(puller);
}

static Status *cancelled_status(const Request *request) {
    TRY(cancellation_check(request->context->cancellation));
    FAIL(CANCELLED, "IteratorGetNext operation was cancelled");
}

static void cancelled(void *arg) {
    Request *request = arg;
    Puller *puller = request->puller;
    mutex_lock(&puller->lock);
    request->cancelled = true;
    bool mine = request->listed && !request->pulls;
    if (mine)
        take_off(puller, request);
    mutex_unlock(&puller->lock);
    if (mine)
        finish(request, cancelled_status(request), NULL);
}

// ---- driving

static void wake(void *arg);

static void drop_wake(void *arg) {
    let_go(arg);
}

static Status *pull_for(Puller *puller, const Request *request, Pulled *how) {
    const StepContext *context = request->context;
    Pull pull = {.cancellation = context->cancellation, .deadline = context->deadline, .depth = context->depth,
                 .trace = context->trace, .wake = {wake, drop_wake, hold(puller)}};
    Status *status = source_next(puller->source, &pull, puller->element, how);
    if (status || *how != PULLED_LATER)
        atomic_fetch_sub_explicit(&puller->references, 1, memory_order_acq_rel);  // whoever drives holds another
    return status;
}

// What is to be done with the request that was pulled for: true where it ends now.
static bool settle(Puller *puller, Request *request, const Status *status, Pulled how) REQUIRES(puller->lock) {
    request->pulls = false;
    bool later = !status && how == PULLED_LATER;
    if (later && !puller->woken)
        puller->waits = true;
    if (later && !request->cancelled)
        return false;
    take_off(puller, request);
    return true;
}

// Serves the first in line; false where nobody can be served now, and nobody drives any more.
static bool serve(Puller *puller) {
    mutex_lock(&puller->lock);
    Request *request = puller->first;
    if (!request || puller->waits || puller->held) {
        puller->driven = false;
        condition_notify_all(&puller->rests);
        mutex_unlock(&puller->lock);
        return false;
    }
    request->pulls = true;
    puller->woken = false;
    mutex_unlock(&puller->lock);
    Pulled how = PULLED;
    Status *status = pull_for(puller, request, &how);
    mutex_lock(&puller->lock);
    bool ends = settle(puller, request, status, how);
    mutex_unlock(&puller->lock);
    if (ends && !status && how == PULLED_LATER)
        finish(request, cancelled_status(request), NULL);
    else if (ends)
        finish(request, status, !status && how == PULLED ? puller->element : NULL);
    return true;
}

// Takes over a reference, and the right to drive.
static void drive(void *arg) {
    Puller *puller = arg;
    while (serve(puller)) {
    }
    let_go(puller);
}

static void drive_elsewhere(Puller *puller) {
    if (!pool_elastic(drive, puller))
        drive(puller);
}

static void wake(void *arg) {
    Puller *puller = arg;
    mutex_lock(&puller->lock);
    puller->woken = true;
    puller->waits = false;
    bool mine = !puller->driven && !puller->held && puller->first;
    puller->driven |= mine;
    mutex_unlock(&puller->lock);
    if (mine)
        drive_elsewhere(puller);
    else
        let_go(puller);
}

// Its own element on its own thread; what came meanwhile is for another.
static void drive_once(Puller *puller) {
    if (serve(puller)) {
        mutex_lock(&puller->lock);
        bool more = puller->first && !puller->waits && !puller->held;
        puller->driven = more;
        condition_notify_all(&puller->rests);
        mutex_unlock(&puller->lock);
        if (more) {
            drive_elsewhere(puller);
            return;
        }
    }
    let_go(puller);
}

void puller_next(Puller *puller, const StepContext *context, PullerDone *done, void *arg) {
    Request *request = calloc(1, sizeof *request);
    if (!request) {
        done(arg, OUT_OF_MEMORY, NULL);
        return;
    }
    *request = (Request){.puller = hold(puller), .context = context, .done = done, .arg = arg};
    bool late = false;
    if (context->cancellation) {
        request->watched = cancellation_watch(context->cancellation, &request->watch, cancelled, request);
        late = !request->watched;
    }
    hold(puller);
    mutex_lock(&puller->lock);
    request->cancelled |= late;
    late = request->cancelled;
    bool mine = !late && !puller->driven && !puller->waits && !puller->held;
    if (!late) {
        Request **end = &puller->first;
        while (*end)
            end = &(*end)->next;
        *end = request;
        request->listed = true;
        puller->driven |= mine;
    }
    mutex_unlock(&puller->lock);
    if (late)
        finish(request, cancelled_status(request), NULL);
    if (mine)
        drive_once(puller);
    else
        let_go(puller);
}

// ---- where it stands

enum { LOOK_NS = 20 * 1000 * 1000 };  // at the cancellation, while somebody drives

// From then on, on success, nobody is inside the source.
static Status *hold_back(Puller *puller, const StepContext *context) {
    Status *status = OK;
    mutex_lock(&puller->lock);
    puller->held++;
    while (puller->driven && !status) {
        (void)condition_wait_until(&puller->rests, &puller->lock, clock_now() + LOOK_NS);
        if (context->cancellation)
            status = cancellation_check(context->cancellation);
        if (!status && context->deadline != NO_DEADLINE && clock_now() > context->deadline)
            status = status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the deadline passed before the iterator rested");
    }
    if (!status)
        puller->driven = true;  // as one who drives, but gives nothing
    mutex_unlock(&puller->lock);
    return status;
}

// Those who asked meanwhile are served, by another thread.
static void let_go_on(Puller *puller, bool drove) {
    mutex_lock(&puller->lock);
    puller->held--;
    if (drove)
        puller->driven = false;
    condition_notify_all(&puller->rests);
    bool mine = !puller->held && !puller->driven && puller->first && !puller->waits;
    puller->driven |= mine;
    mutex_unlock(&puller->lock);
    if (mine)
        drive_elsewhere(hold(puller));
}

Status *puller_save(Puller *puller, const StepContext *context, Text *out) {
    Position position = {.out = out, .context = context};
    Status *status = hold_back(puller, context);
    bool drove = !status;
    if (!status)
        status = position_pass(&position, puller->source);
    let_go_on(puller, drove);
    return status;
}

Status *puller_load(const Dataset *dataset, const StepContext *context, Str bytes, Puller **out) {
    Puller *puller;
    TRY(puller_new(dataset, context, &puller));
    Position position = {.loads = true, .in = cursor_of(bytes.p, bytes.n), .context = context};
    Status *status = position_pass(&position, puller->source);
    if (!status && cursor_left(&position.in))
        status = status_new(DATA_LOSS, __FILE__, __LINE__, "the state of the iterator is damaged: it is too long");
    if (status)
        puller_leave(puller);
    else
        *out = puller;
    return status;
}
