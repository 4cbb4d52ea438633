// TF_SessionPRunSetup, TF_SessionPRun — a step in several calls; see c_api.h. A handle is a text that the session
// keeps.
#include <stdio.h>
#include <stdlib.h>

#include "api/tf/session.h"

typedef struct OpenRun {
    struct OpenRun *next;
    PartialRun *run;
    int feeds_left, fetches_left;   // the run is over when both are used up
    bool busy;                      // some thread is in it
    char handle[40];
} OpenRun;

// Runs that the client began and never finished end with the session: their waiting kernels are released.
void session_drop_runs(TF_Session *session) {
    while (session->runs) {
        OpenRun *open = session->runs;
        session->runs = open->next;
        session_partial_end(open->run);
        free(open);
    }
}

static Status *set_up(TF_Session *session, const StepSignature *signature, const char **handle) {
    OpenRun *open = calloc(1, sizeof *open);
    char *copy = malloc(sizeof open->handle);
    Status *status = open && copy ? session_partial_begin(session->session, signature, &open->run) : OUT_OF_MEMORY;
    if (status) {
        free(open);
        free(copy);
        return status;
    }
    open->feeds_left = signature->n_feeds;
    open->fetches_left = signature->n_fetches;
    mutex_lock(&session->lock);
    snprintf(open->handle, sizeof open->handle, "partial_run_%llu", (unsigned long long)++session->last_run);
    *handle = memcpy(copy, open->handle, sizeof open->handle);
    open->next = session->runs;
    session->runs = open;
    mutex_unlock(&session->lock);
    return OK;
}

void TF_SessionPRunSetup(TF_Session *session, const TF_Output *inputs, int ninputs, const TF_Output *outputs,
                         int noutputs, const TF_Operation *const *target_opers, int ntargets, const char **handle,
                         TF_Status *status) {
    StepSignature signature;
    *handle = NULL;
    if (!api_failed(status, session_signature(session, inputs, ninputs, outputs, noutputs, target_opers, ntargets,
                                              &signature)))
        api_set(status, set_up(session, &signature, handle));
}

void TF_DeletePRunHandle(const char *handle) {
    free((void *)handle);
}

static Status *find_run(TF_Session *session, const char *handle, OpenRun **out) {
    Status *status = API_ERROR(INVALID_ARGUMENT, "Must run 'setup' before performing partial runs: no run '%s'",
                               handle ? handle : "");
    mutex_lock(&session->lock);
    for (OpenRun *open = session->runs; open; open = open->next)
        if (handle && strcmp(open->handle, handle) == 0) {
            status_free(status);
            status = open->busy ? API_ERROR(FAILED_PRECONDITION, "another call is in run '%s'", handle) : OK;
            open->busy = true;
            *out = open;
            break;
        }
    mutex_unlock(&session->lock);
    return status;
}

// A call that was refused took nothing: the run goes on as if it had not been made.
static void leave_run(TF_Session *session, OpenRun *open, const StepSignature *part, bool failed) {
    bool over = session_partial_is_over(open->run);
    mutex_lock(&session->lock);
    open->busy = false;
    open->feeds_left -= failed ? 0 : part->n_feeds;
    open->fetches_left -= failed ? 0 : part->n_fetches;
    over |= open->feeds_left <= 0 && open->fetches_left <= 0;
    if (over)
        for (OpenRun **at = &session->runs; *at; at = &(*at)->next)
            if (*at == open) {
                *at = open->next;
                break;
            }
    mutex_unlock(&session->lock);
    if (over) {
        session_partial_end(open->run);
        free(open);
    }
}

static Status *run_part(TF_Session *session, const char *handle, const StepSignature *part,
                        TF_Tensor *const *input_values, TF_Tensor **output_values) {
    AUTO(arena) Arena arena = {0};
    const Tensor **scratch = ARENA_ARRAY(&arena, const Tensor *, part->n_feeds);
    Tensor *decoded = ARENA_ARRAY(&arena, Tensor, part->n_feeds);
    Tensor *results = ARENA_ARRAY(&arena, Tensor, part->n_fetches);
    const Tensor *const *feeds;
    NEED_MEMORY(scratch && decoded && results);
    OpenRun *open;
    TRY(find_run(session, handle, &open));
    Status *status = session_feeds(input_values, part->n_feeds, scratch, decoded, &feeds);
    if (!status)
        status = session_partial_run(open->run, part, feeds, results);
    for (int i = 0; i < part->n_feeds; i++)
        tensor_clear(&decoded[i]);
    leave_run(session, open, part, status != OK);
    return status ? status : session_results(results, part->n_fetches, output_values);
}

void TF_SessionPRun(TF_Session *session, const char *handle, const TF_Output *inputs, TF_Tensor *const *input_values,
                    int ninputs, const TF_Output *outputs, TF_Tensor **output_values, int noutputs,
                    const TF_Operation *const *target_opers, int ntargets, TF_Status *status) {
    StepSignature part;
    for (int i = 0; i < noutputs; i++)
        output_values[i] = NULL;
    Status *error = session_signature(session, inputs, ninputs, outputs, noutputs, target_opers, ntargets, &part);
    if (!error)
        error = run_part(session, handle, &part, input_values, output_values);
    api_set(status, error);
}
