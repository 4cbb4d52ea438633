// Partial runs of a local session — one step in several calls; see session.h.
//
// The step is planned for all feeds and fetches of the set-up and propagated: what can run with the feeds so far runs
// in each call. It keeps its ticket from set-up to end, so the session isn't freed under it.
#include <stdlib.h>

#include "session/local_internal.h"
#include "session/partial_ends.h"
#include "thread/place.h"

typedef struct {
    PartialRun run;        // first: what clients hold
    LocalSession *session;
    PartialEnds ends;
    Executor *executor;
    Step *step;
    StepOptions options;
    Ticket ticket;
    Arena arena;
    bool over;
    Mutex lock;            // one call at a time
} LocalPartialRun;

static LocalPartialRun *run_of(PartialRun *run) {
    return (LocalPartialRun *)run;
}

// No deadline for the whole: each call has its own.
static Status *partial_fill(LocalPartialRun *run, const StepSignature *signature) {
    TRY(partial_ends_init(&run->ends, &run->arena, signature));
    TRY(local_session_bind(run->session, signature, true, &run->executor));
    // The thread of the set-up has the ticket; later calls may come from others.
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

// A call that is refused has done nothing, and may be made again.
static Status *check_part(LocalPartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    PartialEnds *ends = &run->ends;
    NEED(!run->over, FAILED_PRECONDITION, "this partial run has ended");
    TRY(partial_ends_take(ends, part, feeds, out));
    return step_check_part(run->step, ends->fed, ends->feeds, ends->fetches);
}

// After an error the step is over: some of its nodes will never run.
Status *local_partial_run(PartialRun *partial, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    LocalPartialRun *run = run_of(partial);
    mutex_lock(&run->lock);
    Status *status = check_part(run, part, feeds, out);
    if (!status) {
        run->step->context.deadline = local_session_deadline(run->session, &run_settings_default);
        status = step_continue(run->step, run->ends.feeds, run->ends.fetches, partial_ends_last(&run->ends));
        run->over = status != OK;
        partial_ends_done(&run->ends);
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
