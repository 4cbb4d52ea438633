// Parts — see parts.h.
#include "cluster/parts.h"

#include <stdlib.h>

#include "graph/graph_def.h"
#include "thread/place.h"

struct TaskSession {
    _Atomic int references;
    WorkerEnvironment *environment;
    Arena arena;
    Str task;
    Peers *peers, *own_peers; // own: of a cluster that the client has brought; else NULL
    SessionConfig config;
    NodeStates states;
    SpecialisationCache *cache;
    StepOptions step;        // what every step starts from
    Cancellation cancellation;
    _Atomic bool closed;
};

struct Part {
    _Atomic int references;
    TaskSession *session;
    Graph *graph;            // whose functions it calls
    Mutex own_lock, *graph_lock;
    Calls calls;
    Executor *executor;
};

// ---------------------------------------- sessions

static void same_incarnations(const DeviceSet *from, DeviceSet *to) {
    for (int i = 0; i < from->n && i < to->n; i++)
        to->devices[i]->incarnation = from->devices[i]->incarnation;
}

static Status *open_environment(TaskSession *session, WorkerEnvironment *environment, bool isolated) {
    if (!isolated) {
        session->environment = worker_environment_retain(environment);
        return OK;
    }
    TRY(worker_environment_new(session->task.p, NULL, 0, &session->environment));
    same_incarnations(&environment->devices, &session->environment->devices);
    return OK;
}

static Status *session_open(TaskSession *session, WorkerEnvironment *environment, const TaskSessionOptions *options) {
    session->task = str_copy(&session->arena, options->task);
    NEED_MEMORY(session->task.p);
    if (options->cluster)
        TRY(peers_new(options->cluster, session->task, &session->own_peers));
    session->peers = options->cluster ? session->own_peers : options->peers;
    TRY(open_environment(session, environment, options->isolated || options->cluster));
    TRY(specialisation_cache_new(SPECIALISATION_CACHE_BYTES, &session->cache));
    session->states.resources = session->environment->resources;
    int most = session->environment->threads, intra = session->config.intra_threads, inter = session->config.inter_threads;
    session->step = (StepOptions){
        .deadline = NO_DEADLINE, .parent = &session->cancellation, .resources = session->environment->resources,
        .intra_threads = intra > 0 ? intra : most, .inter_threads = inter > 0 ? inter : most,
    };
    return OK;
}

Status *task_session_new(WorkerEnvironment *environment, const TaskSessionOptions *options, TaskSession **out) {
    TaskSession *session = calloc(1, sizeof *session);
    NEED_MEMORY(session);
    atomic_init(&session->references, 1);
    session->config = *options->config;
    node_states_init(&session->states, NULL);
    cancellation_init(&session->cancellation, NULL);
    Status *status = session_open(session, environment, options);
    if (status)
        task_session_release(session);
    else
        *out = session;
    return status;
}

TaskSession *task_session_retain(TaskSession *session) {
    atomic_fetch_add(&session->references, 1);
    return session;
}

void task_session_release(TaskSession *session) {
    if (!session || atomic_fetch_sub(&session->references, 1) != 1)
        return;
    specialisation_cache_release(session->cache);
    node_states_clear(&session->states);
    worker_environment_release(session->environment);
    cancellation_clear(&session->cancellation);
    peers_free(session->own_peers);
    arena_clear(&session->arena);
    free(session);
}

void task_session_close(TaskSession *session) {
    if (!atomic_exchange(&session->closed, true))
        cancellation_cancel(&session->cancellation,
                            status_new(CANCELLED, __FILE__, __LINE__, "Session has been closed."));
}

Cancellation *task_session_cancellation(TaskSession *session) {
    return &session->cancellation;
}

WorkerEnvironment *task_session_environment(TaskSession *session) {
    return session->environment;
}

Str task_session_task(const TaskSession *session) {
    return session->task;
}

Peers *task_session_peers(TaskSession *session) {
    return session->peers;
}

PlanOptions task_session_options(TaskSession *session) {
    return (PlanOptions){
        .devices = &session->environment->devices, .soft_placement = session->config.soft_placement,
        .intra_threads = session->step.intra_threads, .inter_threads = session->step.inter_threads,
        .passes = session->config.passes, .rewrites_off = session->config.rewrites_off, .placed = &session->states.placed,
        .log_placement = session->config.log_placement,
    };
}

// ---------------------------------------- parts

static Status *part_new(TaskSession *session, Graph *graph, Mutex *graph_lock, Part **out) {
    Part *part = calloc(1, sizeof *part);
    NEED_MEMORY(part);
    atomic_init(&part->references, 1);
    mutex_init(&part->own_lock);
    part->session = task_session_retain(session);
    part->graph = graph_retain(graph);
    part->graph_lock = graph_lock ? graph_lock : &part->own_lock;
    part->calls = (Calls){.graph = graph, .graph_lock = part->graph_lock, .options = task_session_options(session),
                          .states = &session->states, .cache = session->cache, .step = session->step};
    calls_init(&part->calls);
    part->calls.step.caller = &part->calls.caller;
    *out = part;
    return OK;
}

Part *part_retain(Part *part) {
    atomic_fetch_add(&part->references, 1);
    return part;
}

void part_release(Part *part) {
    if (!part || atomic_fetch_sub(&part->references, 1) != 1)
        return;
    executor_release(part->executor);
    calls_clear(&part->calls);
    graph_release(part->graph);
    task_session_release(part->session);
    mutex_clear(&part->own_lock);
    free(part);
}

static Status *bind(Part *part, Plan *plan) {
    TaskSession *session = part->session;
    TRY(node_states_record(&session->states, plan));
    return bind_plan(&session->states, plan, session->cache, &part->executor);
}

static Status *finish(Part *part, Plan *plan, Part **out) {
    Status *status = bind(part, plan);
    plan_release(plan);
    if (status)
        part_release(part);
    else
        *out = part;
    return status;
}

Status *part_of_draft(TaskSession *session, Graph *graph, Mutex *graph_lock, Draft *draft, Part **out) {
    Part *part;
    Plan *plan;
    Status *status = draft_plan(draft, &plan);
    TRY(status);
    status = part_new(session, graph, graph_lock, &part);
    if (!status)
        return finish(part, plan, out);
    plan_release(plan);
    return status;
}

// Marks what the node needs, with 1.
static void mark_needed(Node *node, Node **stack) {
    size_t n = 0;
    stack[n++] = node;
    node->mark = 1;
    while (n) {
        Node *at = stack[--n];
        for (int i = 0; i < at->n_inputs + at->n_controls; i++) {
            Node *before = i < at->n_inputs ? at->inputs[i].node : at->controls[i - at->n_inputs];
            if (before->mark)
                continue;
            before->mark = 1;
            stack[n++] = before;
        }
    }
}

// Nodes that together need all others: those that nobody reads, and one of each circle that nothing leaves.
static Status *all_ends(const Graph *graph, Arena *arena, StepSignature *out) {
    size_t n = graph->nodes.n;
    Node **targets = ARENA_ARRAY(arena, Node *, n), **stack = ARENA_ARRAY(arena, Node *, n);
    NEED_MEMORY(targets && stack);
    for (size_t i = 0; i < n; i++)
        graph->nodes.p[i]->mark = 0;
    for (int round = 0; round < 2; round++)
        for (size_t i = n; i-- > 0;) {
            Node *node = graph->nodes.p[i];
            if (node->mark || (!round && node->uses.n))
                continue;
            mark_needed(node, stack);
            targets[out->n_targets++] = node;
        }
    out->targets = targets;
    return OK;
}

static Status *plan_all(Part *part, Plan **out) {
    AUTO(arena) Arena arena = {0};
    StepSignature signature = {0};
    PlanOptions options = task_session_options(part->session);
    options.soft_placement = false;  // the master has placed it
    TRY(all_ends(part->graph, &arena, &signature));
    NEED(signature.n_targets, INVALID_ARGUMENT, "a graph without nodes");
    return plan_make(part->graph, &signature, &options, out);
}

static Status *import(Str graph_def, Graph **out) {
    ImportResults results;
    Graph *graph;
    TRY(graph_new(&graph));
    Status *status = graph_import(graph, graph_def, &(ImportOptions){.internal_names = true}, &results);
    if (status) {
        graph_release(graph);
        return status;
    }
    import_results_clear(&results);
    *out = graph;
    return OK;
}

Status *part_of_proto(TaskSession *session, Str graph_def, Part **out) {
    Graph *graph;
    Part *part;
    Plan *plan = NULL;
    TRY(import(graph_def, &graph));
    Status *status = part_new(session, graph, NULL, &part);
    graph_release(graph);
    TRY(status);
    status = plan_all(part, &plan);
    if (!status)
        return finish(part, plan, out);
    part_release(part);
    return status;
}

Status *part_options(Part *part, const PartRun *run, StepOptions *out) {
    TaskSession *session = part->session;
    NEED(!atomic_load(&session->closed), CANCELLED, "Session has been closed.");
    *out = session->step;
    out->deadline = run->deadline;
    out->parent = run->cancellation;
    out->caller = &part->calls.caller;
    out->step_id = (uint64_t)run->step_id;
    out->trace = run->trace;
    out->place = thread_place();
    out->rendezvous = run->rendezvous;
    return OK;
}

Executor *part_executor(const Part *part) {
    return part->executor;
}

Status *part_run(Part *part, const PartRun *run, const Tensor *const *feeds, Tensor *out_fetches) {
    StepOptions options;
    TRY(part_options(part, run, &options));
    if (run->trace)
        trace_add_plan(run->trace, part->executor->plan);
    return step_run(part->executor, &options, feeds, out_fetches);
}
