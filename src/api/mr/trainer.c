// Trainings of the C interface — see millrace/trainer.h: src/job by its outside names.
#include <stdlib.h>

#include "api/tf/session.h"
#include "job/trainer.h"
#include "millrace/trainer.h"

_Static_assert((int)MR_END_STEPS == (int)END_STEPS && (int)MR_END_NO_BETTER == (int)END_NO_BETTER, "");
_Static_assert(sizeof(mr_trainer_progress) == sizeof(TrainerProgress) &&
                   offsetof(mr_trainer_progress, values) == offsetof(TrainerProgress, values), "");

struct mr_trainer {
    TF_Session *session;
    mr_trainer_options options;
    Trainer *trainer;
    TF_Status *status;          // what a callback sets
    TF_Tensor **values;         // of a step's feeds
};

// ---- callbacks

static Status *taken(mr_trainer *t) {
    Status *error = t->status->error;
    t->status->error = NULL;
    return error;
}

static Status *next(void *arg, int64_t step, Tensor *values, bool *out_end) {
    mr_trainer *t = arg;
    int n = t->options.num_feeds;
    memset(t->values, 0, (size_t)n * sizeof *t->values);
    bool more = t->options.next(t->options.input, step, t->values, t->status) != 0;
    Status *status = taken(t);
    for (int i = 0; i < n; i++) {
        if (more && !status && !t->values[i])
            status = API_ERROR(INVALID_ARGUMENT, "there is no tensor for feed %d", i);
        if (more && !status)
            status = api_tensor_in(t->values[i], &values[i]);
        TF_DeleteTensor(t->values[i]);
    }
    for (int i = 0; i < n && status; i++)
        tensor_clear(&values[i]);
    *out_end = !more;
    return status;
}

static Status *save_position(void *arg, Text *out) {
    mr_trainer *t = arg;
    TF_Buffer *buffer = TF_NewBuffer();
    NEED_MEMORY(buffer);
    t->options.save_position(t->options.input, buffer, t->status);
    text_add(out, api_bytes(buffer->data, buffer->length));
    TF_DeleteBuffer(buffer);
    TRY(taken(t));
    NEED_MEMORY(!out->failed);
    return OK;
}

static Status *load_position(void *arg, Str bytes) {
    mr_trainer *t = arg;
    t->options.load_position(t->options.input, bytes.p, bytes.n, t->status);
    return taken(t);
}

static bool after_step(void *arg, const TrainerProgress *progress) {
    const mr_trainer *t = arg;
    return t->options.after_step(t->options.hooks, (const mr_trainer_progress *)progress) != 0;
}

static bool after_epoch(void *arg, const TrainerProgress *progress) {
    const mr_trainer *t = arg;
    return t->options.after_epoch(t->options.hooks, (const mr_trainer_progress *)progress) != 0;
}

// ---- life

static SaverPolicy policy_of(const mr_trainer_options *o) {
    return (SaverPolicy){.folder = str_of(o->folder), .keep = o->keep == 0 ? 5 : o->keep < 0 ? 0 : o->keep,
                         .keep_hours = o->keep_hours, .keep_best = o->keep_best, .less_is_better = !o->more_is_better};
}

static Status *open_trainer(mr_trainer *t) {
    const mr_trainer_options *o = &t->options;
    TF_Graph *graph = t->session->graph;
    StepSignature signature;  // whether all of it is of the session's graph
    TRY(session_signature(t->session, o->feeds, o->num_feeds, o->fetches, o->num_fetches, NULL, 0, &signature));
    TRY(o->summary.oper ? api_output_check(graph->graph, o->summary) : OK);
    t->status = TF_NewStatus();
    t->values = calloc((size_t)o->num_feeds + 1, sizeof *t->values);
    NEED_MEMORY(t->status && t->values);
    bool rarely = o->save_steps == 0 && o->save_seconds <= 0;
    TrainerOptions options = {
        .graph = graph->graph, .graph_lock = &graph->lock, .session = t->session->session,
        .train = api_node(o->train), .init = api_node(o->init), .fetches = (const Output *)o->fetches, .names = o->names,
        .n_fetches = o->num_fetches, .feeds = (const Output *)o->feeds, .n_feeds = o->num_feeds,
        .summary = api_output(o->summary), .next = o->next ? next : NULL,
        .save_position = o->save_position ? save_position : NULL,
        .load_position = o->load_position ? load_position : NULL, .input = t,
        .after_step = o->after_step ? after_step : NULL, .after_epoch = o->after_epoch ? after_epoch : NULL, .hooks = t,
        .policy = policy_of(o), .save_steps = o->save_steps, .save_seconds = rarely ? 600 : o->save_seconds,
        .metric = o->metric, .logdir = str_of(o->logdir), .summary_steps = o->summary_steps,
        .trace_step = o->trace_step, .warm_start = str_of(o->warm_start),
        .warm_rules = {o->warm_only, o->num_warm_only, o->warm_except, o->num_warm_except, o->warm_renames,
                       o->num_warm_renames, true},
        .steps = o->steps, .epochs = o->epochs, .seconds = o->seconds, .patience = o->patience,
        .nan_is_fine = o->nan_is_fine, .stop = o->stop,
    };
    return trainer_new(&options, &t->trainer);
}

mr_trainer *mr_trainer_new(TF_Session *session, const mr_trainer_options *options, TF_Status *status) {
    mr_trainer *t = calloc(1, sizeof *t);
    if (!t) {
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    t->session = session;
    size_t size = options->struct_size < sizeof t->options ? options->struct_size : sizeof t->options;
    memcpy(&t->options, options, size);
    if (!api_failed(status, open_trainer(t)))
        return t;
    mr_trainer_delete(t);
    return NULL;
}

void mr_trainer_delete(mr_trainer *t) {
    if (!t)
        return;
    trainer_free(t->trainer);
    TF_DeleteStatus(t->status);
    free(t->values);
    free(t);
}

mr_trainer_end mr_trainer_run(mr_trainer *t, TF_Status *status) {
    TrainerEnd end = END_NONE;
    api_set(status, trainer_run(t->trainer, &end));
    return (mr_trainer_end)end;
}

void mr_trainer_save(mr_trainer *t, TF_Status *status) {
    api_set(status, trainer_save(t->trainer));
}

int64_t mr_trainer_steps(const mr_trainer *t) {
    return trainer_step(t->trainer);
}

const char *mr_trainer_report(const mr_trainer *t) {
    return trainer_report(t->trainer).p;
}
