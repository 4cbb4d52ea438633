// Session — see session.h.
#include "session/session.h"

#include <stdlib.h>

#include "base/trim.h"
#include "plan/fixed_cache.h"
#include "resource/resource.h"
#include "run/stress.h"
#include "session/calls.h"
#include "session/plans.h"
#include "tensor/blocks.h"
#include "thread/place.h"
#include "thread/pool.h"

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
    FixedCache *cache;             // of all plans
    PlanTable plans;               // read by all; written under the lock
    _Atomic uint64_t edit;         // graph->edit that the plans were made at
    _Atomic size_t n_seen;         // nodes of the graph when a plan was last made
    _Atomic bool closed;
    Mutex lock;                    // guards the making of plans
    Condition idle;
    Readers readers;               // steps in flight, by the place of the thread that began them
};

const RunSettings run_settings_default = {0};

// ---- plans

static PlanOptions plan_options(Session *session, bool partial) {
    return (PlanOptions){
        .devices = &session->devices, .soft_placement = session->config.soft_placement, .partial = partial,
        .intra_threads = session->options.intra_threads, .inter_threads = session->options.inter_threads,
        .passes = session->config.passes, .states = &session->states, .resources = session->resources,
        .cache = session->cache, .log_placement = session->config.log_placement,
    };
}

// A graph may have come to hold nodes of one name (graph->twice): TensorFlow's sessions refuse to take them in.
static Status *check_names(const Session *session) {
    const Graph *graph = session->graph;
    if (__builtin_expect(!graph->twice, 1))
        return OK;
    size_t n_seen = atomic_load_explicit(&session->n_seen, memory_order_relaxed);
    for (size_t i = 0; i < n_seen; i++) {
        const Node *node = graph->nodes.p[i];
        NEED(!node || (size_t)graph_find(graph, node->name)->id < n_seen, INVALID_ARGUMENT,
             "GraphDef argument to Extend includes node '%.*s', which was created by a previous call to Create or Extend in "
             "this session.", STR_ARGS(node->name));
    }
    FAIL(INVALID_ARGUMENT, "Node '%.*s' is not unique", STR_ARGS(graph->twice->name));
}

static Status *make_plan(Session *session, const StepSignature *signature, bool partial, Plan **out) {
    PlanOptions options = plan_options(session, partial);
    if (session->graph_lock)
        mutex_lock(session->graph_lock);
    Status *status = check_names(session);
    if (!status) {
        atomic_store_explicit(&session->n_seen, session->graph->nodes.n, memory_order_relaxed);
        status = plan_make(session->graph, signature, &options, out);
    }
    if (session->graph_lock)
        mutex_unlock(session->graph_lock);
    return status;
}

// Between changes: an import or a gradient that fails, or adds nothing but nodes, takes its edits back.
static uint64_t settled_edit(const Session *session, size_t *out_bytes) {
    if (session->graph_lock)
        mutex_lock(session->graph_lock);
    uint64_t edit = session->graph->edit;
    *out_bytes = session->graph->arena.used;
    if (session->graph_lock)
        mutex_unlock(session->graph_lock);
    return edit;
}

static Status *find_or_make(Session *session, const StepSignature *signature, uint64_t hash, const PlanEntry **out)
    REQUIRES(session->lock) {
    // A changed attribute or edge voids every plan; who runs one now may go on with it.
    size_t graph_bytes;
    uint64_t edit = settled_edit(session, &graph_bytes);
    if (edit != atomic_load(&session->edit)) {
        TRY(plan_table_void(&session->plans));
        atomic_store(&session->edit, edit);
    }
    *out = plan_table_find(&session->plans, hash, signature);
    if (!*out)
        TRY(plan_table_share(&session->plans, hash, signature, out));
    if (*out)
        return OK;
    Plan *plan;
    TRY(make_plan(session, signature, false, &plan));
    size_t most = session->config.plan_bytes;
    session->plans.most = most ? most : plan_table_most(graph_bytes);
    Status *status = plan_table_put(&session->plans, hash, signature, plan, out);
    if (status)
        plan_release(plan);
    return status;
}

// The result is there as long as the step that holds the ticket reads.
static Status *session_find(Session *session, const StepSignature *signature, int place, Ticket ticket,
                            const PlanEntry **out) {
    uint64_t hash = signature_hash(signature);
    if (__builtin_expect(session->graph->edit == atomic_load_explicit(&session->edit, memory_order_acquire), 1)) {
        *out = plan_table_find(&session->plans, hash, signature);
        if (__builtin_expect(*out != NULL, 1))
            return OK;
    }
    stress_yield();
    mutex_lock(&session->lock);
    Status *status = find_or_make(session, signature, hash, out);
    plan_table_tidy(&session->plans, place, ticket);
    mutex_unlock(&session->lock);
    return status;
}

// ---- steps

// The last step of a closed session may see the session freed as soon as it is counted out: it touches nothing after
// that.
static void end_step(Session *session, int place, Ticket ticket) {
    if (__builtin_expect(!atomic_load_explicit(&session->closed, memory_order_acquire), 1)) {
        readers_end(&session->readers, place, ticket);
        return;
    }
    mutex_lock(&session->lock);
    readers_end(&session->readers, place, ticket);
    condition_notify_all(&session->idle);
    mutex_unlock(&session->lock);
}

static Status *begin_step(Session *session, int place, Ticket *out) {
    // Sequential order here and in session_close: either this sees that it is closed, or who frees it sees the count.
    *out = readers_begin(&session->readers, place);
    if (__builtin_expect(!atomic_load(&session->closed), 1))
        return OK;
    end_step(session, place, *out);
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

// A step that may take as long as the world outside holds its plan, so that nothing that is taken out waits for it.
static Status *run_plan(Session *session, Plan *plan, const StepOptions *options, Ticket *ticket,
                        const Tensor *const *feeds, Tensor *out) {
    if (__builtin_expect(!plan->dynamic && !plan->waits, 1))
        return step_run(plan, options, feeds, out);
    plan_retain(plan);
    readers_stop_reading(&session->readers, options->place, ticket);
    Status *status = step_run(plan, options, feeds, out);
    plan_release(plan);
    return status;
}

// A call that shares the plan of another order: its arrays in that order, and its results back in its own.
static Status *run_reordered(Session *session, const PlanEntry *entry, const StepOptions *options, Ticket *ticket,
                             const Tensor *const *feeds, Tensor *out) {
    AUTO(arena) Arena arena = {0};
    const StepSignature *own = &entry->like->signature;
    int n = own->n_fetches;
    const Tensor **ordered = ARENA_ARRAY(&arena, const Tensor *, own->n_feeds);
    Tensor *results = ARENA_ARRAY(&arena, Tensor, n);
    int32_t *fetch_at = ARENA_ARRAY(&arena, int32_t, n);
    NEED_MEMORY(ordered && results && fetch_at);
    for (int i = 0; i < own->n_feeds; i++)
        ordered[i] = feeds[entry->feed_at[i]];
    for (int i = 0; i < n; i++)
        fetch_at[i] = entry->fetch_at[i];
    TRY(check_feeds(entry->plan, own, ordered));
    TRY(run_plan(session, entry->plan, options, ticket, ordered, results));
    for (int i = 0; i < n; i++)
        out[i] = results[fetch_at[i]];
    return OK;
}

static Status *run_step(Session *session, const StepSignature *signature, const RunSettings *settings, int place,
                        Ticket *ticket, const Tensor *const *feeds, Tensor *out) {
    const PlanEntry *entry;
    TRY(session_find(session, signature, place, *ticket, &entry));
    StepOptions options = session->options;
    options.deadline = deadline_of(session, settings);
    options.trace = settings->trace;
    options.place = place;
    if (__builtin_expect(entry->like != NULL, 0))
        return run_reordered(session, entry, &options, ticket, feeds, out);
    TRY(check_feeds(entry->plan, signature, feeds));
    return run_plan(session, entry->plan, &options, ticket, feeds, out);
}

Status *session_run(Session *session, const StepSignature *signature, const RunSettings *settings,
                    const Tensor *const *feeds, Tensor *out) {
    int place = thread_place();
    Ticket ticket;
    TRY(begin_step(session, place, &ticket));
    Status *status = run_step(session, signature, settings, place, &ticket, feeds, out);
    end_step(session, place, ticket);
    return status;
}

Status *session_plan(Session *session, const StepSignature *signature, Plan **out) {
    int place = thread_place();
    Ticket ticket;
    TRY(begin_step(session, place, &ticket));
    const PlanEntry *entry;
    Status *status = session_find(session, signature, place, ticket, &entry);
    if (!status)
        *out = plan_retain(entry->plan);
    end_step(session, place, ticket);
    return status;
}

PlansUse session_plans_use(Session *session) {
    mutex_lock(&session->lock);
    PlansUse use = {session->plans.n, session->plans.bytes, session->plans.n_retired};
    mutex_unlock(&session->lock);
    return use;
}

// ---- life

static Status *session_fill(Session *session, const SessionConfig *config) {
    TRY(device_set_init(&session->devices, config->devices, config->n_devices));
    TRY(resource_table_new(&session->resources));
    TRY(fixed_cache_new(FIXED_CACHE_BYTES, &session->cache));
    int most = pool_limit();
    session->options = (StepOptions){
        .deadline = NO_DEADLINE, .parent = &session->cancellation, .resources = session->resources,
        .intra_threads = config->intra_threads > 0 ? config->intra_threads : most,
        .inter_threads = config->inter_threads > 0 ? config->inter_threads : most,
    };
    session->calls = (Calls){.graph = session->graph, .options = plan_options(session, false),
                             .step = session->options};
    calls_init(&session->calls);
    session->options.caller = &session->calls.caller;
    session->calls.step.caller = &session->calls.caller;
    return plan_table_init(&session->plans, &session->readers);
}

Status *session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out) {
    NEED(config->intra_threads >= 0 && config->intra_threads <= POOL_MOST_THREADS &&
         config->inter_threads <= POOL_MOST_THREADS,
         INVALID_ARGUMENT,
         "intra_op_parallelism_threads and inter_op_parallelism_threads are at most %d, got %d and %d",
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
        while (readers_in_flight(&session->readers, i))
            (void)condition_wait_until(&session->idle, &session->lock, clock_now() + CLOCK_MS);
    mutex_unlock(&session->lock);
    size_t bytes = session->plans.bytes;
    plan_table_clear(&session->plans);
    calls_clear(&session->calls);
    fixed_cache_release(session->cache);
    node_states_clear(&session->states);
    resource_table_free(session->resources);
    device_set_clear(&session->devices);
    cancellation_clear(&session->cancellation);
    mutex_clear(&session->lock);
    condition_clear(&session->idle);
    graph_release(session->graph);
    free(session);
    blocks_trim();
    trim_heap(bytes);
}

const DeviceSet *session_devices(const Session *session) {
    return &session->devices;
}

// ---- partial runs

struct PartialRun {
    Session *session;
    StepSignature signature;
    Plan *plan;
    Step *step;
    StepOptions options;
    Ticket ticket;
    Arena arena;
    bool over;
    const Tensor **feeds;  // by feed of the whole: of the call at hand
    Tensor **fetches;
    bool *fed, *fetched;   // by earlier calls
    Mutex lock;            // one call at a time
};

static Status *partial_fill(PartialRun *run, const StepSignature *signature) {
    TRY(signature_copy(&run->arena, signature, &run->signature));
    run->feeds = ARENA_ARRAY(&run->arena, const Tensor *, signature->n_feeds);
    run->fetches = ARENA_ARRAY(&run->arena, Tensor *, signature->n_fetches);
    run->fed = ARENA_ARRAY(&run->arena, bool, signature->n_feeds);
    run->fetched = ARENA_ARRAY(&run->arena, bool, signature->n_fetches);
    NEED_MEMORY(run->feeds && run->fetches && run->fed && run->fetched);
    TRY(make_plan(run->session, signature, true, &run->plan));
    int place = run->options.place;
    run->options = run->session->options;
    run->options.deadline = NO_DEADLINE;
    run->options.place = place;
    return step_take(run->plan, &run->options, &run->step);
}

Status *session_partial_begin(Session *session, const StepSignature *signature, PartialRun **out) {
    int place = thread_place();
    Ticket ticket;
    TRY(begin_step(session, place, &ticket));
    readers_stop_reading(&session->readers, place, &ticket);  // it has a plan of its own
    PartialRun *run = calloc(1, sizeof *run);
    if (!run)
        end_step(session, place, ticket);
    NEED_MEMORY(run);
    run->session = session;
    run->ticket = ticket;
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

// What the call gives and wants, by the edges of the whole. Nothing has happened yet: a call that is refused may be
// made again.
static Status *check_part(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    const StepSignature *whole = &run->signature;
    NEED(!run->over, FAILED_PRECONDITION, "this partial run has ended");
    memset(run->feeds, 0, (size_t)whole->n_feeds * sizeof *run->feeds);
    memset(run->fetches, 0, (size_t)whole->n_fetches * sizeof *run->fetches);
    for (int i = 0; i < part->n_feeds; i++) {
        int at = find_end(whole->feeds, whole->n_feeds, part->feeds[i]);
        NEED(at >= 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): was not among the feeds of the set-up",
             NODE_ARGS(part->feeds[i].node));
        NEED(!run->fed[at] && !run->feeds[at], INVALID_ARGUMENT, "{{node %.*s}} (%.*s): output %d has already been fed",
             NODE_ARGS(part->feeds[i].node), part->feeds[i].index);
        NEED(feeds[i]->dtype == run->plan->feeds[at].dtype, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): is of type %s, but was fed a %s", NODE_ARGS(part->feeds[i].node),
             dtype_name(run->plan->feeds[at].dtype), dtype_name(feeds[i]->dtype));
        run->feeds[at] = feeds[i];
    }
    for (int i = 0; i < part->n_fetches; i++) {
        int at = find_end(whole->fetches, whole->n_fetches, part->fetches[i]);
        NEED(at >= 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): was not among the fetches of the set-up",
             NODE_ARGS(part->fetches[i].node));
        NEED(!run->fetched[at] && !run->fetches[at], INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): output %d has already been fetched", NODE_ARGS(part->fetches[i].node),
             part->fetches[i].index);
        run->fetches[at] = &out[i];
    }
    return step_check_part(run->step, run->fed, run->feeds, run->fetches);
}

Status *session_partial_run(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    mutex_lock(&run->lock);
    Status *status = check_part(run, part, feeds, out);
    if (!status) {
        run->step->context.deadline = deadline_of(run->session, &run_settings_default);
        status = step_continue(run->step, run->feeds, run->fetches);
        run->over = status != OK;
        for (int i = 0; i < run->signature.n_feeds; i++)
            run->fed[i] |= run->feeds[i] != NULL;
        for (int i = 0; i < run->signature.n_fetches; i++)
            run->fetched[i] |= run->fetches[i] != NULL;
    }
    mutex_unlock(&run->lock);
    return status;
}

bool session_partial_is_over(const PartialRun *run) {
    return run->over;
}

void session_partial_end(PartialRun *run) {
    if (!run)
        return;
    if (run->step)
        step_free_partial(run->step);
    plan_release(run->plan);
    end_step(run->session, run->options.place, run->ticket);
    mutex_clear(&run->lock);
    arena_clear(&run->arena);
    free(run);
}
