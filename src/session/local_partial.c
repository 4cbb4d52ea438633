// Partial runs of a local session — one step in several calls; see session.h.
#include <stdlib.h>

#include "session/local_internal.h"
#include "thread/place.h"

typedef struct {
    PartialRun run;        // first: what clients hold
    LocalSession *session;
    StepSignature signature;
    Executor *executor;
    Step *step;
    StepOptions options;
    Ticket ticket;
    Arena arena;
    bool over;
    const Tensor **feeds;  // by feed of the whole: of the call at hand
    Tensor **fetches;
    bool *fed, *fetched;   // by earlier calls
    Mutex lock;            // one call at a time
} LocalPartialRun;

static LocalPartialRun *run_of(PartialRun *run) {
    return (LocalPartialRun *)run;
}

static Status *partial_fill(LocalPartialRun *run, const StepSignature *signature) {
    TRY(signature_copy(&run->arena, signature, &run->signature));
    run->feeds = ARENA_ARRAY(&run->arena, const Tensor *, signature->n_feeds);
    run->fetches = ARENA_ARRAY(&run->arena, Tensor *, signature->n_fetches);
    run->fed = ARENA_ARRAY(&run->arena, bool, signature->n_feeds);
    run->fetched = ARENA_ARRAY(&run->arena, bool, signature->n_fetches);
    NEED_MEMORY(run->feeds && run->fetches && run->fed && run->fetched);
    TRY(local_session_bind(run->session, signature, true, &run->executor));
    int place = run->options.place;
    run->options = run->session->options;
    run->options.deadline = NO_DEADLINE;
    run->options.place = place;
    return step_take(run->executor, &run->options, &run->step);
}

Status *local_partial_begin(Session *any, const StepSignature *signature, PartialRun **out) {
    LocalSession *session = local_session_of(any);
    int place = thread_place();
    Ticket ticket;
    TRY(local_session_begin(session, place, &ticket));
    readers_stop_reading(&session->readers, place, &ticket);  // it has a plan of its own
    LocalPartialRun *run = calloc(1, sizeof *run);
    if (!run)
        local_session_end(session, place, ticket);
    NEED_MEMORY(run);
    run->run.type = &local_session_type;
    run->session = session;
    run->ticket = ticket;
    run->options.place = place;
    mutex_init(&run->lock);
    Status *status = partial_fill(run, signature);
    if (status)
        local_partial_end(&run->run);
    else
        *out = &run->run;
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
static Status *check_part(LocalPartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
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
        NEED(feeds[i]->dtype == run->executor->plan->feeds[at].dtype, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): is of type %s, but was fed a %s", NODE_ARGS(part->feeds[i].node),
             dtype_name(run->executor->plan->feeds[at].dtype), dtype_name(feeds[i]->dtype));
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

Status *local_partial_run(PartialRun *partial, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    LocalPartialRun *run = run_of(partial);
    mutex_lock(&run->lock);
    Status *status = check_part(run, part, feeds, out);
    if (!status) {
        run->step->context.deadline = local_session_deadline(run->session, &run_settings_default);
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

bool local_partial_is_over(const PartialRun *run) {
    return ((const LocalPartialRun *)run)->over;
}

void local_partial_end(PartialRun *partial) {
    LocalPartialRun *run = run_of(partial);
    if (run->step)
        step_free_partial(run->step);
    executor_release(run->executor);
    local_session_end(run->session, run->options.place, run->ticket);
    mutex_clear(&run->lock);
    arena_clear(&run->arena);
    free(run);
}
