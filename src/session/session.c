// Session — see session.h. Plans are found without a lock: a table that only grows, replaced as a whole.
#include "session/session.h"

#include <stdlib.h>

#include "resource/resource.h"
#include "run/stress.h"
#include "session/calls.h"
#include "thread/place.h"
#include "thread/pool.h"

// A plan and the call that it answers, arrays as they stood.
typedef struct Entry {
    uint64_t hash;
    StepSignature signature;
    Plan *plan;
    struct Entry *next;   // all entries of the session, for freeing
} Entry;

typedef struct Table {
    size_t mask;
    struct Table *older;  // kept until the session goes: a reader may still be in it
    _Atomic(Entry *) slots[];
} Table;

// A count alone on its cache line.
typedef struct {
    char before[CACHE_LINE - sizeof(int)];
    _Atomic int n;
} Count;

struct Session {
    Graph *graph;
    Mutex *graph_lock;
    SessionConfig config;
    DeviceSet devices;
    NodeStates states;
    struct ResourceTable *resources;
    Calls calls;                   // plans of functions (session/calls.h)
    Cancellation cancellation;
    StepOptions options;           // what every step starts from
    _Atomic(Table *) table;
    _Atomic uint64_t edit;         // graph->edit that the table's plans were made at
    _Atomic bool closed;
    Mutex lock;                    // guards what is below and the making of plans
    Condition idle;
    Entry *entries;
    size_t n_entries;
    Arena arena;
    Count running[THREAD_PLACES];  // steps in flight, by the place of the thread that began them
};

const RunSettings run_settings_default = {0};

// ---- the table of plans

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t signature_hash(const StepSignature *s) {
    uint64_t hash = (uint64_t)s->n_feeds * 31 + (uint64_t)s->n_fetches * 7 + (uint64_t)s->n_targets;
    for (int i = 0; i < s->n_feeds; i++)
        hash = mix(mix(hash, (uintptr_t)s->feeds[i].node), (uint64_t)s->feeds[i].index);
    for (int i = 0; i < s->n_fetches; i++)
        hash = mix(mix(hash, (uintptr_t)s->fetches[i].node), (uint64_t)s->fetches[i].index);
    for (int i = 0; i < s->n_targets; i++)
        hash = mix(hash, (uintptr_t)s->targets[i]);
    return hash;
}

static bool outputs_equal(const Output *a, const Output *b, int n) {
    for (int i = 0; i < n; i++)
        if (!output_equal(a[i], b[i]))
            return false;
    return true;
}

static bool signature_equal(const StepSignature *a, const StepSignature *b) {
    if (a->n_feeds != b->n_feeds || a->n_fetches != b->n_fetches || a->n_targets != b->n_targets)
        return false;
    for (int i = 0; i < a->n_targets; i++)
        if (a->targets[i] != b->targets[i])
            return false;
    return outputs_equal(a->feeds, b->feeds, a->n_feeds) && outputs_equal(a->fetches, b->fetches, a->n_fetches);
}

static Entry *table_find(const Table *table, uint64_t hash, const StepSignature *signature) {
    for (size_t i = hash;; i++) {
        Entry *entry = atomic_load_explicit(&table->slots[i & table->mask], memory_order_acquire);
        if (!entry || (entry->hash == hash && signature_equal(&entry->signature, signature)))
            return entry;
    }
}

static void table_put(Table *table, Entry *entry) {
    size_t i = entry->hash;
    while (atomic_load_explicit(&table->slots[i & table->mask], memory_order_relaxed))
        i++;
    atomic_store_explicit(&table->slots[i & table->mask], entry, memory_order_release);
}

static Status *table_new(Session *session, size_t room) {
    Table *table = calloc(1, sizeof *table + room * sizeof table->slots[0]);
    NEED_MEMORY(table);
    table->mask = room - 1;
    table->older = atomic_load(&session->table);
    atomic_store_explicit(&session->table, table, memory_order_release);
    return OK;
}

static Status *signature_copy(Arena *arena, const StepSignature *from, StepSignature *out) {
    Output *ends = ARENA_ARRAY(arena, Output, from->n_feeds + from->n_fetches);
    Node **targets = ARENA_ARRAY(arena, Node *, from->n_targets);
    NEED_MEMORY(ends && targets);
    for (int i = 0; i < from->n_feeds; i++)
        ends[i] = from->feeds[i];
    for (int i = 0; i < from->n_fetches; i++)
        ends[from->n_feeds + i] = from->fetches[i];
    for (int i = 0; i < from->n_targets; i++)
        targets[i] = from->targets[i];
    *out = (StepSignature){ends, ends + from->n_feeds, targets, from->n_feeds, from->n_fetches, from->n_targets};
    return OK;
}

static Status *remember(Session *session, const StepSignature *signature, uint64_t hash, Plan *plan)
    REQUIRES(session->lock) {
    Entry *entry = ARENA_NEW(&session->arena, Entry);
    NEED_MEMORY(entry);
    TRY(signature_copy(&session->arena, signature, &entry->signature));
    Table *table = atomic_load(&session->table);
    if ((session->n_entries + 1) * 2 > table->mask) {
        TRY(table_new(session, (table->mask + 1) * 2));
        for (size_t i = 0; i <= table->mask; i++)
            if (atomic_load(&table->slots[i]))
                table_put(atomic_load(&session->table), atomic_load(&table->slots[i]));
    }
    entry->hash = hash;
    entry->plan = plan;
    entry->next = session->entries;
    session->entries = entry;
    session->n_entries++;
    table_put(atomic_load(&session->table), entry);
    return OK;
}

// ---- plans

static PlanOptions plan_options(Session *session, bool partial) {
    return (PlanOptions){
        .devices = &session->devices, .soft_placement = session->config.soft_placement, .partial = partial,
        .intra_threads = session->options.intra_threads, .inter_threads = session->options.inter_threads,
        .passes = session->config.passes, .states = &session->states, .resources = session->resources,
    };
}

static Status *make_plan(Session *session, const StepSignature *signature, bool partial, Plan **out) {
    PlanOptions options = plan_options(session, partial);
    if (session->graph_lock)
        mutex_lock(session->graph_lock);
    Status *status = plan_make(session->graph, signature, &options, out);
    if (session->graph_lock)
        mutex_unlock(session->graph_lock);
    return status;
}

// Between changes: an import or a gradient that fails, or adds nothing but nodes, takes its edits back.
static uint64_t settled_edit(const Session *session) {
    if (session->graph_lock)
        mutex_lock(session->graph_lock);
    uint64_t edit = session->graph->edit;
    if (session->graph_lock)
        mutex_unlock(session->graph_lock);
    return edit;
}

static Status *find_or_make(Session *session, const StepSignature *signature, uint64_t hash, Plan **out)
    REQUIRES(session->lock) {
    // A changed attribute or edge voids every plan; they are kept for those who run them now.
    uint64_t edit = settled_edit(session);
    if (edit != atomic_load(&session->edit)) {
        TRY(table_new(session, 64));
        session->n_entries = 0;
        atomic_store(&session->edit, edit);
    }
    Entry *entry = table_find(atomic_load(&session->table), hash, signature);
    if (entry) {
        *out = entry->plan;
        return OK;
    }
    Plan *plan;
    TRY(make_plan(session, signature, false, &plan));
    Status *status = remember(session, signature, hash, plan);
    if (status)
        plan_release(plan);
    else
        *out = plan;
    return status;
}

// The session holds its plans until it goes, so the result needs no reference while a step is in flight.
static Status *session_find(Session *session, const StepSignature *signature, Plan **out) {
    uint64_t hash = signature_hash(signature);
    if (__builtin_expect(session->graph->edit == atomic_load_explicit(&session->edit, memory_order_acquire), 1)) {
        Entry *entry = table_find(atomic_load_explicit(&session->table, memory_order_acquire), hash, signature);
        if (__builtin_expect(entry != NULL, 1)) {
            *out = entry->plan;
            return OK;
        }
    }
    stress_yield();
    mutex_lock(&session->lock);
    Status *status = find_or_make(session, signature, hash, out);
    mutex_unlock(&session->lock);
    return status;
}

Status *session_plan(Session *session, const StepSignature *signature, Plan **out) {
    Plan *plan;
    TRY(session_find(session, signature, &plan));
    *out = plan_retain(plan);
    return OK;
}

// ---- steps

// The last step of a closed session may see the session freed as soon as it is counted out: it touches nothing after that.
static void end_step(Session *session, int place) {
    _Atomic int *running = &session->running[place].n;
    if (__builtin_expect(!atomic_load_explicit(&session->closed, memory_order_acquire), 1)) {
        atomic_fetch_sub_explicit(running, 1, memory_order_release);
        return;
    }
    mutex_lock(&session->lock);
    atomic_fetch_sub_explicit(running, 1, memory_order_release);
    condition_notify_all(&session->idle);
    mutex_unlock(&session->lock);
}

static Status *begin_step(Session *session, int place) {
    // Sequential order here and in session_close: either this sees that it is closed, or who frees it sees the count.
    atomic_fetch_add(&session->running[place].n, 1);
    if (__builtin_expect(!atomic_load(&session->closed), 1))
        return OK;
    end_step(session, place);
    FAIL(CANCELLED, "Session has been closed.");
}

static Status *check_feeds(const Plan *plan, const StepSignature *signature, const Tensor *const *feeds) {
    for (int i = 0; i < plan->n_feeds; i++)
        NEED(feeds[i]->dtype == plan->feeds[i].dtype, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): output %d is of type %s, but was fed a %s", NODE_ARGS(signature->feeds[i].node),
             signature->feeds[i].index, dtype_name(plan->feeds[i].dtype), dtype_name(feeds[i]->dtype));
    return OK;
}

static int64_t deadline_of(const Session *session, const RunSettings *settings) {
    int64_t ms = settings->timeout_ms ? settings->timeout_ms : session->config.timeout_ms;
    int64_t most = INT64_MAX / CLOCK_MS / 2;  // a century and a half: as good as none
    return ms > 0 && ms < most ? clock_now() + ms * CLOCK_MS : NO_DEADLINE;
}

static Status *run_step(Session *session, const StepSignature *signature, const RunSettings *settings, int place,
                        const Tensor *const *feeds, Tensor *out) {
    Plan *plan;
    TRY(session_find(session, signature, &plan));
    TRY(check_feeds(plan, signature, feeds));
    StepOptions options = session->options;
    options.deadline = deadline_of(session, settings);
    options.place = place;
    return step_run(plan, &options, feeds, out);
}

Status *session_run(Session *session, const StepSignature *signature, const RunSettings *settings,
                    const Tensor *const *feeds, Tensor *out) {
    int place = thread_place();
    TRY(begin_step(session, place));
    Status *status = run_step(session, signature, settings, place, feeds, out);
    end_step(session, place);
    return status;
}

// ---- life

static Status *session_fill(Session *session, const SessionConfig *config) {
    TRY(device_set_init(&session->devices, config->devices, config->n_devices));
    TRY(resource_table_new(&session->resources));
    int most = pool_limit();
    session->options = (StepOptions){
        .deadline = NO_DEADLINE, .parent = &session->cancellation, .resources = session->resources,
        .intra_threads = config->intra_threads > 0 ? config->intra_threads : most,
        .inter_threads = config->inter_threads > 0 ? config->inter_threads : most,
    };
    session->calls = (Calls){.session = session, .graph = session->graph, .options = plan_options(session, false),
                             .step = session->options};
    calls_init(&session->calls);
    session->options.caller = &session->calls.caller;
    session->calls.step.caller = &session->calls.caller;
    return table_new(session, 64);
}

Status *session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out) {
    NEED(config->intra_threads >= 0 && config->intra_threads <= POOL_MOST_THREADS && config->inter_threads <= POOL_MOST_THREADS,
         INVALID_ARGUMENT, "intra_op_parallelism_threads and inter_op_parallelism_threads are at most %d, got %d and %d",
         POOL_MOST_THREADS, config->intra_threads, config->inter_threads);
    Session *session = calloc(1, sizeof *session);
    NEED_MEMORY(session);
    session->graph = graph_retain(graph);
    session->graph_lock = graph_lock;
    session->config = *config;
    session->edit = graph->edit;
    mutex_init(&session->lock);
    condition_init(&session->idle);
    node_states_init(&session->states);
    cancellation_init(&session->cancellation, NULL);
    Status *status = session_fill(session, config);
    if (status)
        session_free(session);
    else
        *out = session;
    return status;
}

void session_close(Session *session) {
    if (atomic_exchange(&session->closed, true))
        return;
    Status *reason = status_new(CANCELLED, __FILE__, __LINE__, "Session has been closed.");
    cancellation_cancel(&session->cancellation, reason);
}

void session_free(Session *session) {
    if (!session)
        return;
    session_close(session);
    // A step that ended while the session was being closed tells nobody: look again now and then.
    mutex_lock(&session->lock);
    for (int i = 0; i < THREAD_PLACES; i++)
        while (atomic_load(&session->running[i].n))
            (void)condition_wait_until(&session->idle, &session->lock, clock_now() + CLOCK_MS);
    mutex_unlock(&session->lock);
    for (Entry *entry = session->entries; entry; entry = entry->next)
        plan_release(entry->plan);
    for (Table *table = atomic_load(&session->table); table;) {
        Table *older = table->older;
        free(table);
        table = older;
    }
    calls_clear(&session->calls);
    node_states_clear(&session->states);
    resource_table_free(session->resources);
    device_set_clear(&session->devices);
    cancellation_clear(&session->cancellation);
    mutex_clear(&session->lock);
    condition_clear(&session->idle);
    arena_clear(&session->arena);
    graph_release(session->graph);
    free(session);
}

const DeviceSet *session_devices(const Session *session) {
    return &session->devices;
}

struct ResourceTable *session_resources(Session *session) {
    return session->resources;
}

// ---- partial runs

struct PartialRun {
    Session *session;
    StepSignature signature;
    Plan *plan;
    Step *step;
    StepOptions options;
    Arena arena;
    bool over;
    const Tensor **feeds;  // by feed of the whole
    Tensor **fetches;
    Mutex lock;            // one call at a time
};

static Status *partial_fill(PartialRun *run, const StepSignature *signature) {
    TRY(signature_copy(&run->arena, signature, &run->signature));
    run->feeds = ARENA_ARRAY(&run->arena, const Tensor *, signature->n_feeds);
    run->fetches = ARENA_ARRAY(&run->arena, Tensor *, signature->n_fetches);
    NEED_MEMORY(run->feeds && run->fetches);
    TRY(make_plan(run->session, signature, true, &run->plan));
    int place = run->options.place;
    run->options = run->session->options;
    run->options.deadline = NO_DEADLINE;
    run->options.place = place;
    return step_take(run->plan, &run->options, &run->step);
}

Status *session_partial_begin(Session *session, const StepSignature *signature, PartialRun **out) {
    int place = thread_place();
    TRY(begin_step(session, place));
    PartialRun *run = calloc(1, sizeof *run);
    if (!run)
        end_step(session, place);
    NEED_MEMORY(run);
    run->session = session;
    run->options.place = place;
    mutex_init(&run->lock);
    Status *status = partial_fill(run, signature);
    if (status)
        session_partial_end(run);
    else
        *out = run;
    return status;
}

static int find_end(const Output *ends, int n, Output edge) {
    for (int i = 0; i < n; i++)
        if (output_equal(ends[i], edge))
            return i;
    return -1;
}

static Status *partial_run(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    const StepSignature *whole = &run->signature;
    NEED(!run->over, FAILED_PRECONDITION, "this partial run has ended");
    memset(run->feeds, 0, (size_t)whole->n_feeds * sizeof *run->feeds);
    memset(run->fetches, 0, (size_t)whole->n_fetches * sizeof *run->fetches);
    for (int i = 0; i < part->n_feeds; i++) {
        int at = find_end(whole->feeds, whole->n_feeds, part->feeds[i]);
        NEED(at >= 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): was not among the feeds of the set-up",
             NODE_ARGS(part->feeds[i].node));
        NEED(feeds[i]->dtype == run->plan->feeds[at].dtype, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): is of type %s, but was fed a %s", NODE_ARGS(part->feeds[i].node),
             dtype_name(run->plan->feeds[at].dtype), dtype_name(feeds[i]->dtype));
        run->feeds[at] = feeds[i];
    }
    for (int i = 0; i < part->n_fetches; i++) {
        int at = find_end(whole->fetches, whole->n_fetches, part->fetches[i]);
        NEED(at >= 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): was not among the fetches of the set-up",
             NODE_ARGS(part->fetches[i].node));
        run->fetches[at] = &out[i];
    }
    return step_continue(run->step, run->feeds, run->fetches);
}

Status *session_partial_run(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    mutex_lock(&run->lock);
    Status *status = partial_run(run, part, feeds, out);
    run->over |= status != OK;
    mutex_unlock(&run->lock);
    return status;
}

void session_partial_end(PartialRun *run) {
    if (!run)
        return;
    if (run->step)
        step_free_partial(run->step);
    plan_release(run->plan);
    end_step(run->session, run->options.place);
    mutex_clear(&run->lock);
    arena_clear(&run->arena);
    free(run);
}
