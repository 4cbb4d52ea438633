// Waits — lists with started nodes: begins them, waits for them wave by wave (plan/waves.h), and puts what they gave
// into the slots.
//
// A started node has inputs and outputs of its own, since it may end on any thread. Most end within their start: then
// there is no lock, no system call, and no reference is taken. What can be begun from feeds and constants alone is
// begun before the specialisation is chosen: if it has ended by then, the shapes that it gave choose it; else those
// that it gave last time. Where that was a wrong guess the rest of the step runs dynamically.
#include <stdlib.h>

#include "base/clock.h"
#include "run/kernels.h"
#include "run/stress.h"
#include "run/trace.h"
#include "thread/futex.h"

typedef struct {
    Kernel kernel;
    Tensor *in, *out;    // what came out is retained
    bool begun;
    int64_t since;       // when, for a trace
    bool holds;          // the inputs, too
} Start;

// One word for the count, the waiter and the error: the last to end sees in one subtraction whether anybody sleeps.
struct Waits {
    FutexWord word;      // how many have not ended, and the two bits below
    _Atomic(Status *) error;  // the first; later ones are dropped
    Start *starts;       // plan->n_starts
    Tensor *expected;    // plan->n_awaited: the shapes that came last; of unknown rank before
    const Tensor **keys; // plan->n_keys: the feeds, then `expected`
};

#define WAITING (UINT32_C(1) << 31)
#define FAILED (UINT32_C(1) << 30)
#define COUNT (FAILED - 1)

// Made at the first run and kept: kernels with pointers to inputs and outputs of their own.
static Status *waits_new(Step *step) {
    const Plan *plan = step->plan;
    Arena *arena = &step->arena;
    struct Waits *waits = ARENA_NEW(arena, struct Waits);
    NEED_MEMORY(waits);
    waits->starts = ARENA_ARRAY(arena, Start, plan->n_starts);
    waits->expected = ARENA_ARRAY(arena, Tensor, plan->n_awaited);
    waits->keys = ARENA_ARRAY(arena, const Tensor *, plan->n_keys);
    NEED_MEMORY(waits->starts && waits->expected && waits->keys);
    for (int32_t j = 0; j < plan->n_starts; j++) {
        const PlanNode *p = &plan->nodes[plan->starts[j].node];
        Start *start = &waits->starts[j];
        size_t n = (size_t)p->binding.n_in + (size_t)p->binding.n_out;
        Tensor **pointers = ARENA_ARRAY(arena, Tensor *, n);
        start->in = ARENA_ARRAY(arena, Tensor, n);
        NEED_MEMORY(pointers && start->in);
        start->out = start->in + p->binding.n_in;
        for (size_t i = 0; i < n; i++)
            pointers[i] = &start->in[i];
        start->kernel = (Kernel){
            .in = pointers, .out = pointers + p->binding.n_in, .scratch = no_scratch,
            .state = step->executor->states[plan->starts[j].node], .step = &step->context, .node = p->binding.node,
            .n_in = p->binding.n_in, .n_out = p->binding.n_out, .index = (uint32_t)plan->starts[j].node,
        };
    }
    for (int32_t i = 0; i < plan->n_awaited; i++) {
        waits->expected[i].shape = UNKNOWN_SHAPE;
        waits->keys[plan->n_feeds + i] = &waits->expected[i];
    }
    step->waits = waits;
    return OK;
}

// ---- beginning

// From any thread, also within begin(). A waiter is woken by the last one only, or by one that failed.
void waits_completed(Kernel *k, Status *status) {
    Step *step = (Step *)k->step;
    struct Waits *waits = step->waits;
    const PlanNode *p = &step->plan->nodes[k->index];
    stress_yield();
    if (k->step->trace)
        trace_add(k->step->trace, &p->binding, k, waits->starts[p->position].since);
    bool failed = status != NULL;
    if (failed) {
        Status *none = NULL;
        status = node_error(k->node, status);
        if (!atomic_compare_exchange_strong(&waits->error, &none, status))
            status_free(status);
        atomic_fetch_or(&waits->word, FAILED);
    }
    // Its address is all that is used of it from here on: the step may be over, and gone.
    FutexWord *word = &waits->word;
    uint32_t before = atomic_fetch_sub_explicit(word, 1, memory_order_acq_rel);
    if ((before & WAITING) && (failed || (before & COUNT) == 1))
        futex_wake(word, 1);
}

// `feeds` are NULL once the slots hold them.
static Tensor input(const Step *step, int32_t slot, const Tensor *const *feeds) {
    const Plan *plan = step->plan;
    if (step->executor->constants[slot].buffer)
        return step->executor->constants[slot];
    for (int i = 0; feeds && i < plan->n_feeds; i++)
        if (plan->feeds[i].slot == slot)
            return *feeds[i];
    return step->slots[slot];
}

// The count goes up before the kernel starts: it may end, elsewhere, before start returns.
static Status *begin(Step *step, int32_t j, const Tensor *const *feeds) {
    const Plan *plan = step->plan;
    const PlanNode *p = &plan->nodes[plan->starts[j].node];
    Start *start = &step->waits->starts[j];
    Kernel *k = &start->kernel;
    start->begun = true;
    start->holds = false;
    for (int i = 0; i < k->n_in; i++)
        start->in[i] = input(step, plan->in_slots[p->in + i], feeds);
    Prepared *prepared = &step->prepared[plan->starts[j].node];
    if (!prepared_fits(prepared, &p->binding, k->in))
        TRY(prepared_init(prepared, &p->binding, k->in, step->context.threads));
    for (int i = 0; i < k->n_out; i++)
        start->out[i] = (Tensor){.dtype = plan->slots[p->out + i].dtype, .shape = prepared->out[i]};
    k->own = prepared->own;
    start->since = step->context.trace ? clock_now() : 0;
    atomic_fetch_add_explicit(&step->waits->word, 1, memory_order_relaxed);
    p->binding.start(k);
    // The slots may be emptied before it ends.
    start->holds = (atomic_load_explicit(&step->waits->word, memory_order_acquire) & COUNT) != 0;
    for (int i = 0; i < k->n_in && start->holds; i++)
        buffer_retain(start->in[i].buffer);
    return OK;
}

// What was ready began before the list did.
Status *run_start(Kernel *k) {
    Step *step = (Step *)k->step;
    int32_t j = step->plan->nodes[k->index].position;
    return step->waits->starts[j].begun ? OK : begin(step, j, NULL);
}

// Written only where it differs: the array is read for the next step's key.
static void expect(struct Waits *waits, const PlanStart *from, const Start *start) {
    for (int i = 0; i < start->kernel.n_out; i++)
        if (!shape_equal(&waits->expected[from->key + i].shape, &start->out[i].shape))
            waits->expected[from->key + i].shape = start->out[i].shape;
}

// If all that was begun has ended, its shapes are this step's; if not, those of the step before are the guess.
Status *waits_begin(Step *step, const Tensor *const *feeds, const Tensor *const **out_keys) {
    const Plan *plan = step->plan;
    if (!step->waits)
        TRY(waits_new(step));
    struct Waits *waits = step->waits;
    atomic_store_explicit(&waits->word, 0, memory_order_relaxed);
    for (int32_t j = 0; j < plan->n_starts; j++)
        if (plan->starts[j].ready)
            TRY(node_error(plan->nodes[plan->starts[j].node].binding.node, begin(step, j, feeds)));
    uint32_t word = atomic_load_explicit(&waits->word, memory_order_acquire);
    for (int32_t j = 0; j < plan->n_starts && !word; j++)
        if (plan->starts[j].ready)
            expect(waits, &plan->starts[j], &waits->starts[j]);
    for (int i = 0; i < plan->n_feeds; i++)
        waits->keys[i] = feeds[i];
    *out_keys = waits->keys;
    for (int32_t i = 0; i < plan->n_awaited; i++)
        if (waits->expected[i].shape.rank < 0)
            *out_keys = NULL;
    return OK;
}

// ---- waiting

static void give_up(Step *step, const Status *status) {
    cancellation_cancel(&step->cancellation, status_copy(status));
}

// Until all that was begun has ended. From the first error on what goes on is cancelled; `status` is one that is known.
// Once there is an error the deadline counts no more: kernels must have ended before their memory goes.
static Status *wait_all(Step *step, Status *status) {
    struct Waits *waits = step->waits;
    for (;;) {
        uint32_t word = atomic_load_explicit(&waits->word, memory_order_acquire);
        if ((word & FAILED) && !status) {
            status = atomic_exchange(&waits->error, NULL);
            if (word & COUNT)
                give_up(step, status);
        }
        if (!(word & COUNT))
            return status;
        if (!(word & WAITING) && !atomic_compare_exchange_weak(&waits->word, &word, word | WAITING))
            continue;
        if (!futex_wait(&waits->word, word | WAITING, status ? NO_DEADLINE : step->context.deadline) && !status) {
            status = status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the step ran past its deadline");
            give_up(step, status);
        }
    }
}

// Outputs that no wave has taken: the step ended early.
static void clear(Start *start) {
    for (int i = 0; i < start->kernel.n_in && start->holds; i++)
        buffer_release(start->in[i].buffer);
    for (int i = 0; i < start->kernel.n_out; i++) {
        buffer_release(start->out[i].buffer);
        start->out[i].buffer = NULL;
    }
}

Status *waits_wave(Step *step, int32_t wave, bool *out_as_expected) {
    const Plan *plan = step->plan;
    struct Waits *waits = step->waits;
    if (atomic_load_explicit(&waits->word, memory_order_acquire))
        TRY(wait_all(step, OK));
    for (int32_t j = wave ? plan->waves[wave - 1].starts : 0; j < plan->waves[wave].starts; j++) {
        const PlanNode *p = &plan->nodes[plan->starts[j].node];
        Start *start = &waits->starts[j];
        expect(waits, &plan->starts[j], start);
        for (int i = 0; i < start->kernel.n_out; i++) {
            Tensor *slot = &step->slots[p->out + i];
            if (step->specialisation && !shape_equal(&start->out[i].shape, &step->specialisation->shapes[p->out + i]))
                *out_as_expected = false;
            buffer_release(slot->buffer);
            *slot = start->out[i];
            start->out[i].buffer = NULL;
        }
    }
    return OK;
}

// On success every wave has waited, and there is nothing to do but clear.
Status *waits_end(Step *step, Status *status) {
    struct Waits *waits = step->waits;
    if (!waits)
        return status;
    uint32_t word = atomic_load_explicit(&waits->word, memory_order_acquire);
    if (status && (word & COUNT))
        give_up(step, status);
    if (word) {
        status = wait_all(step, status);
        status_free(atomic_exchange(&waits->error, NULL));
    }
    for (int32_t j = 0; j < step->plan->n_starts; j++) {
        if (waits->starts[j].begun)
            clear(&waits->starts[j]);
        waits->starts[j].begun = false;
    }
    return status;
}
