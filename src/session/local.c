// LocalSession — see local.h: runs steps of one process.
//
// The path of a call that was made before takes no lock: it enters the readers' count (epoch-based reclamation), finds
// the plan in a table by the arrays as they stand, and runs. Locks are for the first call of a signature. Order:
// session lock, then the graph's; the plan's own are the executor's.
#include "session/local_internal.h"

#include <stdlib.h>

#include "base/trim.h"
#include "kernel/background.h"
#include "run/stress.h"
#include "run/trace.h"
#include "tensor/blocks.h"
#include "thread/place.h"
#include "thread/pool.h"

// ---- plans

static PlanOptions plan_options(LocalSession *session, bool partial) {
    return (PlanOptions){
        .devices = &session->environment->devices, .soft_placement = session->config.soft_placement, .partial = partial,
        .intra_threads = session->options.intra_threads, .inter_threads = session->options.inter_threads,
        .passes = session->config.passes, .rewrites_off = session->config.rewrites_off,
        .placed = &session->states.placed, .log_placement = session->config.log_placement,
    };
}

// A graph may have come to hold nodes of one name (graph->twice): imports allow it, TensorFlow's sessions refuse to
// take them in, with these messages. `n_seen` tells nodes of before from those that came since.
static Status *check_names(const LocalSession *session) {
    const Graph *graph = session->graph;
    if (__builtin_expect(!graph->twice, 1))
        return OK;
    size_t n_seen = atomic_load_explicit(&session->n_seen, memory_order_relaxed);
    for (size_t i = 0; i < n_seen; i++) {
        const Node *node = graph->nodes.p[i];
        NEED(!node || (size_t)graph_find(graph, node->name)->id < n_seen, INVALID_ARGUMENT,
             "GraphDef argument to Extend includes node '%.*s', which was created by a previous call to Create or "
             "Extend in "
             "this session.",
             STR_ARGS(node->name));
    }
    FAIL(INVALID_ARGUMENT, "Node '%.*s' is not unique", STR_ARGS(graph->twice->name));
}

// While the graph is locked: what the next plan is made of knows where the nodes of this one are.
static Status *make_plan(LocalSession *session, const StepSignature *signature, bool partial, Plan **out) {
    PlanOptions options = plan_options(session, partial);
    Plan *plan = NULL;
    mutex_lock_if(session->graph_lock);
    Status *status = check_names(session);
    if (!status) {
        atomic_store_explicit(&session->n_seen, session->graph->nodes.n, memory_order_relaxed);
        status = plan_make(session->graph, signature, &options, &plan);
    }
    if (!status)
        status = node_states_record(&session->states, plan);
    mutex_unlock_if(session->graph_lock);
    if (status)
        plan_release(plan);
    else
        *out = plan;
    return status;
}

Status *local_session_bind(LocalSession *session, const StepSignature *signature, bool partial, Executor **out) {
    Plan *plan;
    TRY(make_plan(session, signature, partial, &plan));
    Status *status = bind_plan(&session->states, plan, session->cache, out);
    plan_release(plan);
    return status;
}

// The graph's count of edits, read between changes (under its lock): an import or a gradient that fails, or adds
// nothing but nodes, takes its edits back, and plans shall survive that.
static uint64_t settled_edit(const LocalSession *session, size_t *out_bytes) {
    mutex_lock_if(session->graph_lock);
    uint64_t edit = session->graph->edit;
    *out_bytes = session->graph->arena.used;
    mutex_unlock_if(session->graph_lock);
    return edit;
}

// Looks again under the lock: another thread may have made it meanwhile.
static Status *find_or_make(LocalSession *session, const StepSignature *signature, uint64_t hash, const PlanEntry **out)
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
    Executor *executor;
    TRY(local_session_bind(session, signature, false, &executor));
    size_t most = session->config.plan_bytes;
    session->plans.most = most ? most : plan_table_most(graph_bytes);
    Status *status = plan_table_put(&session->plans, hash, signature, executor, out);
    if (status)
        executor_release(executor);
    return status;
}

// The result is there as long as the step that holds the ticket reads. The edit is compared without the graph's lock:
// who edits a graph while steps run on it gets the old plan or the new, as in TensorFlow.
static Status *find_entry(LocalSession *session, const StepSignature *signature, int place, Ticket ticket,
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

// Counts the step out. The last step of a closed session may see the session freed as soon as it is counted out: it
// touches nothing after that, so it counts and tells under the lock, which who frees holds while it looks.
void local_session_end(LocalSession *session, int place, Ticket ticket) {
    if (__builtin_expect(!atomic_load_explicit(&session->closed, memory_order_acquire), 1)) {
        readers_end(&session->readers, place, ticket);
        return;
    }
    mutex_lock(&session->lock);
    readers_end(&session->readers, place, ticket);
    condition_notify_all(&session->idle);
    mutex_unlock(&session->lock);
}

Status *local_session_begin(LocalSession *session, int place, Ticket *out) {
    // Sequential order here and in session_close: either this sees that it is closed, or who frees it sees the count.
    *out = readers_begin(&session->readers, place);
    if (__builtin_expect(!atomic_load(&session->closed), 1))
        return OK;
    local_session_end(session, place, *out);
    FAIL(CANCELLED, "Session has been closed.");
}

// TensorFlow's own check; shapes are checked by nodes, or not at all.
static Status *check_feeds(const Plan *plan, const StepSignature *signature, const Tensor *const *feeds) {
    for (int i = 0; i < plan->n_feeds; i++)
        NEED(feeds[i]->dtype == plan->feeds[i].dtype, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): output %d is of type %s, but was fed a %s", NODE_ARGS(signature->feeds[i].node),
             signature->feeds[i].index, dtype_name(plan->feeds[i].dtype), dtype_name(feeds[i]->dtype));
    return OK;
}

int64_t local_session_deadline(const LocalSession *session, const RunSettings *settings) {
    int64_t ms = settings->timeout_ms ? settings->timeout_ms : session->config.timeout_ms;
    int64_t most = INT64_MAX / CLOCK_MS / 2;  // a century and a half: as good as none
    return ms > 0 && ms < most ? clock_now() + ms * CLOCK_MS : NO_DEADLINE;
}

// A step that may take as long as the world outside (a queue, control flow) holds what it runs by a count, so that
// nothing that is taken out waits for it. A short one is held by its ticket, without a write that other threads see.
static Status *run_entry(LocalSession *session, const PlanEntry *entry, const StepOptions *options, Ticket *ticket,
                        const Tensor *const *feeds, Tensor *out) {
    if (__builtin_expect(options->trace != NULL, 0))
        trace_add_plan(options->trace, entry->plan);
    if (__builtin_expect(!entry->plan->propagated && !entry->plan->waits, 1))
        return step_run(entry->executor, options, feeds, out);
    Executor *executor = executor_retain(entry->executor);
    readers_stop_reading(&session->readers, options->place, ticket);
    Status *status = step_run(executor, options, feeds, out);
    executor_release(executor);
    return status;
}

// A call that shares the plan of another order: its arrays in that order, and its results back in its own. What it
// reads of the entry is copied before the step, which may stop holding the entry.
static Status *run_reordered(LocalSession *session, const PlanEntry *entry, const StepOptions *options, Ticket *ticket,
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
    TRY(run_entry(session, entry, options, ticket, ordered, results));
    for (int i = 0; i < n; i++)
        out[i] = results[fetch_at[i]];
    return OK;
}

static Status *run_step(LocalSession *session, const StepSignature *signature, const RunSettings *settings, int place,
                        Ticket *ticket, const Tensor *const *feeds, Tensor *out) {
    const PlanEntry *entry;
    TRY(find_entry(session, signature, place, *ticket, &entry));
    StepOptions options = session->options;
    options.deadline = local_session_deadline(session, settings);
    options.trace = settings->trace;
    options.place = place;
    // The client's cancellation becomes a child of the session's, so that closing ends this step, too.
    if (__builtin_expect(settings->cancellation != NULL, 0)) {
        cancellation_adopt(settings->cancellation, &session->cancellation);
        options.parent = settings->cancellation;
    }
    if (__builtin_expect(entry->like != NULL, 0))
        return run_reordered(session, entry, &options, ticket, feeds, out);
    TRY(check_feeds(entry->plan, signature, feeds));
    return run_entry(session, entry, &options, ticket, feeds, out);
}

static Status *run(Session *session, const StepSignature *signature, const RunSettings *settings,
                   const Tensor *const *feeds, Tensor *out) {
    LocalSession *local = local_session_of(session);
    int place = thread_place();
    Ticket ticket;
    TRY(local_session_begin(local, place, &ticket));
    Status *status = run_step(local, signature, settings, place, &ticket, feeds, out);
    local_session_end(local, place, ticket);
    return status;
}

static Status *call(Session *session, const FuncRef *function, const RunSettings *settings, const Tensor *arguments,
                    int n_arguments, Tensor *out_results, int n_results) {
    LocalSession *local = local_session_of(session);
    int place = thread_place();
    Ticket ticket;
    TRY(local_session_begin(local, place, &ticket));
    // Nothing in the table of plans is read from here on.
    readers_stop_reading(&local->readers, place, &ticket);  // the plans of functions stay
    StepContext context = {.cancellation = &local->cancellation, .deadline = local_session_deadline(local, settings),
                           .trace = settings->trace};
    const Caller *caller = &local->calls.caller;
    Status *status = caller->call(caller, &context, function, arguments, n_arguments, out_results, n_results);
    local_session_end(local, place, ticket);
    return status;
}

Status *local_session_executor(Session *session, const StepSignature *signature, Executor **out) {
    LocalSession *local = local_session_of(session);
    int place = thread_place();
    Ticket ticket;
    TRY(local_session_begin(local, place, &ticket));
    const PlanEntry *entry;
    Status *status = find_entry(local, signature, place, ticket, &entry);
    if (!status)
        *out = executor_retain(entry->executor);
    local_session_end(local, place, ticket);
    return status;
}

static Status *plan(Session *session, const StepSignature *signature, Plan **out) {
    Executor *executor;
    TRY(local_session_executor(session, signature, &executor));
    *out = plan_retain(executor->plan);
    executor_release(executor);
    return OK;
}

PlansUse local_session_plans_use(Session *session) {
    LocalSession *local = local_session_of(session);
    mutex_lock(&local->lock);
    PlansUse use = {local->plans.n, local->plans.bytes, local->plans.n_retired};
    mutex_unlock(&local->lock);
    return use;
}

// Steps see the graph as it is: client and session share it. For a remote session this sends what is new.
static Status *extend(Session *session) {
    (void)session;
    return OK;
}

static Status *list_devices(Session *session, Arena *arena, SessionDevice **out, int *out_n) {
    const DeviceSet *devices = &local_session_of(session)->environment->devices;
    *out = ARENA_ARRAY(arena, SessionDevice, devices->n);
    NEED_MEMORY(*out);
    *out_n = devices->n;
    for (int i = 0; i < devices->n; i++) {
        const Device *device = devices->devices[i];
        (*out)[i] = (SessionDevice){str_copy(arena, str_of(device->name)), str_of(device->type->name),
                                    device->memory_limit, device->incarnation};
        NEED_MEMORY((*out)[i].name.p);
    }
    return OK;
}

// ---- life

// 0 threads: as many as the process may have. inter_threads < 0 means that in TensorFlow, too (no pool of its own).
static Status *fill(LocalSession *session, const SessionConfig *config) {
    if (config->environment)
        session->environment = worker_environment_retain(config->environment);
    else
        TRY(worker_environment_new(LOCAL_TASK, config->devices, config->n_devices, &session->environment));
    TRY(specialisation_cache_new(SPECIALISATION_CACHE_BYTES, &session->cache));
    session->states.resources = session->environment->resources;
    int most = session->environment->threads;
    session->options = (StepOptions){
        .deadline = NO_DEADLINE, .parent = &session->cancellation, .resources = session->environment->resources,
        .intra_threads = config->intra_threads > 0 ? config->intra_threads : most,
        .inter_threads = config->inter_threads > 0 ? config->inter_threads : most,
    };
    session->calls = (Calls){.graph = session->graph, .graph_lock = session->graph_lock,
                             .options = plan_options(session, false),
                             .states = &session->states, .cache = session->cache, .step = session->options};
    calls_init(&session->calls);
    session->options.caller = &session->calls.caller;
    TRY(background_new(&session->calls.caller.background));
    session->calls.caller.background->caller = &session->calls.caller;
    session->calls.caller.background->resources = session->environment->resources;
    session->calls.caller.background->threads = session->options.intra_threads;
    session->calls.step.caller = &session->calls.caller;
    return plan_table_init(&session->plans, &session->readers);
}

// New steps are refused, those in flight are cancelled; freeing waits for them.
static void close_session(Session *session) {
    LocalSession *local = local_session_of(session);
    if (atomic_exchange(&local->closed, true))
        return;
    Status *reason = status_new(CANCELLED, __FILE__, __LINE__, "Session has been closed.");
    cancellation_cancel(&local->cancellation, reason);
    if (local->calls.caller.background)
        background_close(local->calls.caller.background);
}

static void free_session(Session *session) {
    LocalSession *local = local_session_of(session);
    close_session(session);
    // A step that ended just while the session was being closed saw it open and tells nobody: look again each
    // millisecond.
    mutex_lock(&local->lock);
    for (int i = 0; i < THREAD_PLACES; i++)
        while (readers_in_flight(&local->readers, i))
            (void)condition_wait_until(&local->idle, &local->lock, clock_now() + CLOCK_MS);
    mutex_unlock(&local->lock);
    if (local->calls.caller.background)
        background_wait(local->calls.caller.background);
    // Plans of large graphs are many small blocks, which the C library keeps: they are given back to the system.
    size_t bytes = local->plans.bytes;
    plan_table_clear(&local->plans);
    background_release(local->calls.caller.background);
    calls_clear(&local->calls);
    specialisation_cache_release(local->cache);
    node_states_clear(&local->states);
    worker_environment_release(local->environment);
    cancellation_clear(&local->cancellation);
    mutex_clear(&local->lock);
    condition_clear(&local->idle);
    graph_release(local->graph);
    free(local);
    blocks_trim();
    trim_heap(bytes);
}

static Status *save_states(Session *session, Text *out) {
    return node_states_save(&local_session_of(session)->states, out);
}

static Status *load_states(Session *session, Str bytes) {
    return node_states_load(&local_session_of(session)->states, bytes);
}

const SessionType local_session_type = {
    .run = run, .call = call, .partial_begin = local_partial_begin, .partial_run = local_partial_run,
    .partial_is_over = local_partial_is_over, .partial_end = local_partial_end, .extend = extend,
    .list_devices = list_devices, .plan = plan, .save_states = save_states,
    .load_states = load_states, .close = close_session, .free = free_session,
};

Status *local_session_new(Graph *graph, Mutex *graph_lock, const SessionConfig *config, Session **out) {
    NEED(config->intra_threads >= 0 && config->intra_threads <= POOL_MOST_THREADS &&
         config->inter_threads <= POOL_MOST_THREADS,
         INVALID_ARGUMENT,
         "intra_op_parallelism_threads and inter_op_parallelism_threads are at most %d, got %d and %d",
         POOL_MOST_THREADS, config->intra_threads, config->inter_threads);
    LocalSession *session = calloc(1, sizeof *session);
    NEED_MEMORY(session);
    session->session.type = &local_session_type;
    session->graph = graph_retain(graph);
    session->graph_lock = graph_lock;
    session->config = *config;
    session->edit = graph->edit;
    mutex_init(&session->lock);
    condition_init(&session->idle);
    node_states_init(&session->states, NULL);
    cancellation_init(&session->cancellation, NULL);
    Status *status = fill(session, config);
    if (status)
        session_free(&session->session);
    else
        *out = &session->session;
    return status;
}
