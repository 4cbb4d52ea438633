// Ahead — see ahead.h. One task at a time pulls, since a source belongs to one thread; then it hands the pulling on and
// calls the function itself.
#include "data/ahead.h"

#include <stdlib.h>

#include "base/clock.h"
#include "data/position.h"
#include "thread/pool.h"

enum { GROWN_MOST = 512 };

typedef struct Slot Slot;
struct Slot {
    Slot *next;
    bool done;
    Status *status;
    bool ends;           // the function said that this is the end
    Tensor element[];    // of the input, then of the function
};

struct Ahead {
    _Atomic int32_t references;
    AheadSpec spec;
    Source *input;
    int n_in, n_out;
    Mutex lock;          // guards what follows
    Slot *first, **end;
    int64_t limit, n;    // elements there and on their way
    int calling;         // functions that run
    int tasks;           // started, and not ended
    bool paused;         // none is to start
    Condition ended_task;
    bool starting;       // a task that has not begun
    bool pulling;        // a task is inside the input
    bool waits, woken;   // the input has promised to wake; it has, while a task is inside
    bool full;           // there was no room since the consumer last found nothing
    bool ended, closed;
    Wake wake;           // of the consumer
};

static void ahead_retain(Ahead *ahead) {
    atomic_fetch_add_explicit(&ahead->references, 1, memory_order_relaxed);
}

static void slot_free(Slot *slot, int n) {
    tuple_clear(slot->element, n);
    status_free(slot->status);
    free(slot);
}

static int slot_width(const Ahead *ahead) {
    return ahead->n_in > ahead->n_out ? ahead->n_in : ahead->n_out;
}

static void ahead_release(Ahead *ahead) {
    if (atomic_fetch_sub_explicit(&ahead->references, 1, memory_order_acq_rel) != 1)
        return;
    while (ahead->first) {
        Slot *slot = ahead->first;
        ahead->first = slot->next;
        slot_free(slot, slot_width(ahead));
    }
    source_close(ahead->input);
    dataset_release(ahead->spec.dataset);
    condition_clear(&ahead->ended_task);
    mutex_clear(&ahead->lock);
    free(ahead);
}

Status *ahead_new(const AheadSpec *spec, Source *input, Ahead **out) {
    Ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) {
        source_close(input);
        return OUT_OF_MEMORY;
    }
    atomic_init(&ahead->references, 1);
    ahead->spec = *spec;
    dataset_retain(spec->dataset);
    ahead->input = input;
    ahead->n_in = input->dataset->n_components;
    ahead->n_out = spec->dataset->n_components;
    ahead->limit = spec->limit ? spec->limit : 1;
    ahead->end = &ahead->first;
    mutex_init(&ahead->lock);
    condition_init(&ahead->ended_task);
    *out = ahead;
    return OK;
}

void ahead_close(Ahead *ahead) {
    if (!ahead)
        return;
    mutex_lock(&ahead->lock);
    ahead->closed = true;
    Wake wake = ahead->wake;
    ahead->wake = (Wake){0};
    mutex_unlock(&ahead->lock);
    wake_drop(&wake);
    ahead_release(ahead);
}

// ---- tasks

// Whether a task would find something to pull; it is then as good as started.
static bool may_start(Ahead *ahead) REQUIRES(ahead->lock) {
    bool room = ahead->n < ahead->limit;
    ahead->full |= !room;
    bool may = room && !ahead->paused && !ahead->closed && !ahead->ended && !ahead->pulling && !ahead->waits && !ahead->starting &&
               (!ahead->spec.function || ahead->calling < ahead->spec.calls);
    ahead->starting |= may;
    return may;
}

static void work(void *arg);

static void start(Ahead *ahead) {
    ahead_retain(ahead);
    mutex_lock(&ahead->lock);
    ahead->tasks++;
    mutex_unlock(&ahead->lock);
    if (!pool_elastic(work, ahead))
        work(ahead);
}

static void input_wakes(void *arg) {
    Ahead *ahead = arg;
    mutex_lock(&ahead->lock);
    ahead->woken = true;
    ahead->waits = false;
    bool starts = may_start(ahead);
    mutex_unlock(&ahead->lock);
    if (starts)
        start(ahead);
    ahead_release(ahead);
}

static void drop_wake(void *arg) {
    ahead_release(arg);
}

static Status *pull_one(Ahead *ahead, Tensor *element, Pulled *how) {
    ahead_retain(ahead);
    Pull pull = {.cancellation = &ahead->input->pipeline->cancellation, .deadline = NO_DEADLINE,
                 .wake = {input_wakes, drop_wake, ahead}};
    Status *status = source_next(ahead->input, &pull, element, how);
    if (status || *how != PULLED_LATER)
        atomic_fetch_sub_explicit(&ahead->references, 1, memory_order_acq_rel);  // the task holds another
    return status;
}

// The wake of a consumer that waits for the first element, once that is done.
static Wake take_wake(Ahead *ahead) REQUIRES(ahead->lock) {
    bool ready = ahead->first ? ahead->first->done : ahead->ended;
    Wake wake = ready ? ahead->wake : (Wake){0};
    if (ready)
        ahead->wake = (Wake){0};
    return wake;
}

static void append(Ahead *ahead, Slot *slot) REQUIRES(ahead->lock) {
    *ahead->end = slot;
    ahead->end = &slot->next;
    ahead->n++;
}

static void call(Ahead *ahead, Slot *slot) {
    Pull pull = {.cancellation = &ahead->input->pipeline->cancellation, .deadline = NO_DEADLINE};
    Tensor few[8] = {0}, *out = ahead->n_out <= 8 ? few : calloc((size_t)ahead->n_out, sizeof *out);
    Status *status = out ? source_call(ahead->input, &pull, ahead->spec.function, slot->element, ahead->n_in, out, ahead->n_out)
                         : OUT_OF_MEMORY;
    tuple_clear(slot->element, ahead->n_in);
    if (status_code(status) == OUT_OF_RANGE && !ahead->spec.preserves) {
        status_free(status);
        status = OK;
        slot->ends = true;
    } else if (status_code(status) == OUT_OF_RANGE) {
        status = status_prefix(status_with_code(status, INVALID_ARGUMENT), "Function invocation produced OutOfRangeError");
    } else if (!status) {
        memcpy(slot->element, out, (size_t)ahead->n_out * sizeof *out);
    }
    slot->status = status;
    if (out != few)
        free(out);
}

// Puts what was pulled into line. True: it is to be called with; then pulling was handed on.
static bool take_in(Ahead *ahead, Slot *slot, Status *status, Pulled how) {
    bool calls = false, starts = false;
    mutex_lock(&ahead->lock);
    ahead->pulling = false;
    bool element = status || how == PULLED;
    if (!status && how == PULLED_LATER)
        ahead->waits = !ahead->woken;
    if (!status && how == PULLED_END)
        ahead->ended = true;
    if (element && !ahead->closed) {
        slot->status = status;
        calls = !status && ahead->spec.function;
        slot->done = !calls;
        ahead->calling += calls;
        append(ahead, slot);
        starts = calls && may_start(ahead);
    }
    bool dropped = element && ahead->closed;
    Wake wake = take_wake(ahead);
    mutex_unlock(&ahead->lock);
    if (dropped)
        slot->status = status;
    if (dropped || !element)
        slot_free(slot, ahead->n_in);
    wake_call(&wake);
    if (starts)
        start(ahead);
    return calls;
}

// One element; false where there is nothing to do.
static bool work_once(Ahead *ahead, bool begins) {
    mutex_lock(&ahead->lock);
    bool goes = begins ? !ahead->closed : may_start(ahead);
    ahead->starting = ahead->starting && !begins && !goes;
    ahead->pulling |= goes;
    ahead->woken = ahead->woken && !goes;
    mutex_unlock(&ahead->lock);
    if (!goes)
        return false;
    Slot *slot = calloc(1, sizeof *slot + (size_t)slot_width(ahead) * sizeof(Tensor));
    Pulled how = PULLED;
    if (!slot) {  // nobody can be told which element: the consumer tries again
        mutex_lock(&ahead->lock);
        ahead->pulling = false;
        Wake wake = ahead->wake;
        ahead->wake = (Wake){0};
        mutex_unlock(&ahead->lock);
        wake_call(&wake);
        return false;
    }
    Status *status = pull_one(ahead, slot->element, &how);
    if (!take_in(ahead, slot, status, how))
        return true;
    call(ahead, slot);  // NOLINT(clang-analyzer-unix.Malloc): the task holds a reference
    mutex_lock(&ahead->lock);
    slot->done = true;
    ahead->calling--;
    Wake wake = take_wake(ahead);
    mutex_unlock(&ahead->lock);
    wake_call(&wake);
    return true;
}

static void work(void *arg) {
    Ahead *ahead = arg;
    for (bool begins = true; work_once(ahead, begins);)
        begins = false;
    mutex_lock(&ahead->lock);
    ahead->tasks--;
    condition_notify_all(&ahead->ended_task);
    mutex_unlock(&ahead->lock);
    ahead_release(ahead);
}

// ---- where it stands

enum { LOOK_NS = 20 * 1000 * 1000 };  // at the cancellation, while tasks end

static Status *pause(Ahead *ahead, const StepContext *context) {
    Status *status = OK;
    mutex_lock(&ahead->lock);
    ahead->paused = true;
    while ((ahead->tasks || ahead->starting) && !status) {
        (void)condition_wait_until(&ahead->ended_task, &ahead->lock, clock_now() + LOOK_NS);
        if (context->cancellation)
            status = cancellation_check(context->cancellation);
        if (!status && context->deadline != NO_DEADLINE && clock_now() > context->deadline)
            status = status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the deadline passed before the input paused");
    }
    mutex_unlock(&ahead->lock);
    return status;
}

static void resume(Ahead *ahead) {
    mutex_lock(&ahead->lock);
    ahead->paused = false;
    bool starts = may_start(ahead);
    mutex_unlock(&ahead->lock);
    if (starts)
        start(ahead);
}

static Status *position_slot(const Ahead *ahead, Position *p, Slot *slot) {
    TRY(position_status(p, &slot->status));
    TRY(position_bool(p, &slot->ends));
    return position_tuple(p, slot->element, ahead->n_out, ahead->spec.dataset->dtypes);
}

static Status *load_slots(Ahead *ahead, Position *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        Slot *slot = calloc(1, sizeof *slot + (size_t)slot_width(ahead) * sizeof(Tensor));
        NEED_MEMORY(slot);
        slot->done = true;
        mutex_lock(&ahead->lock);
        append(ahead, slot);
        mutex_unlock(&ahead->lock);
        TRY(position_slot(ahead, p, slot));  // NOLINT(clang-analyzer-unix.Malloc): it is in line
    }
    return OK;
}

// Tasks have paused, so nobody changes what is read here.
static Status *position_all(Ahead *ahead, Position *p) {
    int64_t n = ahead->n, limit = ahead->limit;
    TRY(position_int(p, &n, 0, p->loads ? (int64_t)cursor_left(&p->in) : INT64_MAX));
    TRY(position_int(p, &limit, 1, INT64_MAX));
    if (!ahead->spec.limit)  // it has grown
        ahead->limit = limit;
    TRY(position_bool(p, &ahead->ended));
    if (p->loads)
        TRY(load_slots(ahead, p, n));
    for (Slot *slot = ahead->first; slot && !p->loads; slot = slot->next)
        TRY(position_slot(ahead, p, slot));
    return position_pass(p, ahead->input);
}

Status *ahead_position(Ahead *ahead, Position *p) {
    Status *status = pause(ahead, p->context);
    if (!status)
        status = position_all(ahead, p);
    if (p->loads)
        ahead->paused = false;  // nobody has asked for an element yet
    else
        resume(ahead);
    return status;
}

// ---- the consumer

static Slot *take_first(Ahead *ahead) REQUIRES(ahead->lock) {
    Slot *slot = ahead->first;
    ahead->first = slot->next;
    if (!slot->next)
        ahead->end = &ahead->first;
    ahead->n--;
    return slot;
}

// Where nothing was ready though there was no room, more room would have helped.
static void grow(Ahead *ahead) REQUIRES(ahead->lock) {
    if (!ahead->spec.limit && ahead->full && ahead->limit < GROWN_MOST)
        ahead->limit *= 2;
    ahead->full = false;
}

Status *ahead_next(Ahead *ahead, const Pull *pull, Tensor *out, Pulled *how) {
    Slot *slot = NULL;
    mutex_lock(&ahead->lock);
    bool over = ahead->ended && !ahead->first;
    if (ahead->first && ahead->first->done)
        slot = take_first(ahead);
    else if (!over)
        grow(ahead);
    if (!slot && !over)
        ahead->wake = pull->wake;
    bool starts = may_start(ahead);
    mutex_unlock(&ahead->lock);
    if (starts)
        start(ahead);
    *how = over ? PULLED_END : PULLED_LATER;
    if (!slot)
        return OK;
    Status *status = slot->status;
    slot->status = NULL;
    *how = slot->ends ? PULLED_END : PULLED;
    if (!status && !slot->ends) {
        memcpy(out, slot->element, (size_t)ahead->n_out * sizeof *out);
        memset(slot->element, 0, (size_t)ahead->n_out * sizeof *out);
    }
    slot_free(slot, slot_width(ahead));
    return status;
}
