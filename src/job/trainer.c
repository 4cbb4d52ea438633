// Trainer — see trainer.h.
//
// A loop over steps with hooks: events, checkpoints by steps or seconds, the best metric, reasons to end. All state of
// the training goes into the checkpoint with the variables (counters, random streams, the input's position), so that
// one that was killed goes on as if it had not been.
#include "job/trainer.h"

#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "file/summary.h"
#include "graph/graph_def.h"
#include "job/iterators.h"
#include "run/trace.h"
#include "session/step_stats.h"

// The names of what a checkpoint holds besides variables.
#define KEY_STEP STR("_millrace/step")
#define KEY_INPUT STR("_millrace/input")
#define KEY_STATES STR("_millrace/states")

struct Trainer {
    TrainerOptions options;
    GraphVariables variables;
    GraphIterators iterators;
    Saver *saver;           // NULL: no checkpoints
    EventWriter *events;    // NULL: no events
    Text report;
    Arena arena;
    Tensor *fetched;        // n_fetches, and the summary
    Tensor *fed;
    Output *edges;
    const Tensor **feeds;
    double *values;
    int64_t step, epoch;
    int64_t saved_step;     // of the last checkpoint
    int64_t saved_at, begun;  // of clock_now()
    double best;
    int64_t best_step;
};

// ---- state

static Status *add_tensor(NamedTensors *list, Str name, DType dtype, Tensor **out) {
    Tensor tensor;
    TRY(tensor_new(dtype, SCALAR_SHAPE, &tensor));
    if (!vec_push(list, ((NamedTensor){name, tensor}))) {
        tensor_clear(&tensor);
        return OUT_OF_MEMORY;
    }
    *out = &vec_last(list).tensor;
    return OK;
}

static Status *add_text(NamedTensors *list, Str name, const Text *text) {
    Tensor *tensor;
    NEED_MEMORY(!text->failed);
    TRY(add_tensor(list, name, DT_string, &tensor));
    NEED_MEMORY(tstring_assign(tensor->data, text_str(text)));
    return OK;
}

// Step, passes, best metric and its step, as int64 and double: one tensor [4] of int64 bits.
enum { COUNTERS = 4 };

static Status *add_counters(const Trainer *t, NamedTensors *list) {
    Tensor tensor;
    TRY(tensor_new(DT_int64, SHAPE(COUNTERS), &tensor));
    int64_t *counters = tensor.data;
    counters[0] = t->step;
    counters[1] = t->epoch;
    memcpy(&counters[2], &t->best, sizeof t->best);
    counters[3] = t->best_step;
    if (vec_push(list, ((NamedTensor){KEY_STEP, tensor})))
        return OK;
    tensor_clear(&tensor);
    return OUT_OF_MEMORY;
}

static Status *collect(Trainer *t, NamedTensors *list) {
    AUTO(text) Text states = {0};
    AUTO(text) Text position = {0};
    TRY(variables_read(&t->variables, t->options.session, list));
    TRY(add_counters(t, list));
    TRY(session_save_states(t->options.session, &states));
    TRY(add_text(list, KEY_STATES, &states));
    TRY(iterators_read(&t->iterators, t->options.session, list));
    if (!t->options.save_position)
        return OK;
    TRY(t->options.save_position(t->options.input, &position));
    return add_text(list, KEY_INPUT, &position);
}

// Events are flushed first: those of steps that the checkpoint holds would never be written again, as a training that
// is resumed begins behind them.
static Status *save(Trainer *t, bool later) {
    if (t->events)
        TRY(event_writer_flush(t->events));
    NamedTensors list = {0};
    double metric = t->step ? t->values[t->options.metric] : NAN;
    Status *status = collect(t, &list);
    if (!status)
        status = later ? saver_save_later(t->saver, t->step, metric, list.p, list.n)
                       : saver_save(t->saver, t->step, metric, list.p, list.n);
    named_tensors_clear(&list);
    t->saved_step = t->step;
    t->saved_at = clock_now();
    return status;
}

Status *trainer_save(Trainer *t) {
    NEED(t->saver, FAILED_PRECONDITION, "the trainer has no folder for checkpoints");
    return save(t, false);
}

// ---- recovering

static Status *read_tensor(BundleReader *reader, Str name, DType dtype, int64_t n, Tensor *out) {
    BundleEntry entry;
    TRY(bundle_find(reader, name, &entry));
    NEED(entry.dtype == dtype && shape_count(&entry.shape) == n, DATA_LOSS, "'%.*s' is %s%s", STR_ARGS(name),
         dtype_name(entry.dtype), shape_text(&entry.shape));
    return bundle_read(reader, name, &entry, NULL, out);
}

static Status *read_state(Trainer *t, BundleReader *reader) {
    AUTO(tensor) Tensor counters = {0};
    AUTO(tensor) Tensor states = {0};
    AUTO(tensor) Tensor position = {0};
    TRY(read_tensor(reader, KEY_STEP, DT_int64, COUNTERS, &counters));
    TRY(read_tensor(reader, KEY_STATES, DT_string, 1, &states));
    TRY(session_load_states(t->options.session, tstring_str(states.data)));
    TRY(iterators_restore(&t->iterators, t->options.session, reader));
    if (t->options.load_position) {
        TRY(read_tensor(reader, KEY_INPUT, DT_string, 1, &position));
        TRY(t->options.load_position(t->options.input, tstring_str(position.data)));
    }
    const int64_t *from = counters.data;
    t->step = from[0];
    t->epoch = from[1];
    memcpy(&t->best, &from[2], sizeof t->best);
    t->best_step = from[3];
    t->saved_step = t->step;
    return OK;
}

static Status *recover(Trainer *t, Str prefix) {
    AUTO(BundleReader) BundleReader reader = {0};
    AUTO(text) Text left_out = {0};
    TRY(variables_restore(&t->variables, t->options.session, prefix, &(RestoreRules){0}, &left_out));
    TRY(bundle_open(prefix, &reader));
    TRY(read_state(t, &reader));
    text_format(&t->report, "going on from %.*s, step %" PRId64 "\n", STR_ARGS(prefix), t->step);
    return OK;
}

static Status *run_node(Session *session, Node *node) {
    StepSignature signature = {.targets = &node, .n_targets = 1};
    return session_run(session, &signature, &run_settings_default, NULL, NULL);
}

static Status *start_anew(Trainer *t) {
    AUTO(text) Text left_out = {0};
    if (t->options.init)
        TRY(status_prefix(run_node(t->options.session, t->options.init), "giving first values"));
    if (!t->options.warm_start.n)
        return OK;
    TRY(variables_restore(&t->variables, t->options.session, t->options.warm_start, &t->options.warm_rules, &left_out));
    text_format(&t->report, "beginning with what %.*s holds\n", STR_ARGS(t->options.warm_start));
    text_add(&t->report, text_str(&left_out));
    return OK;
}

// Variables get first values before they are restored: what has no place in a checkpoint, a table, is made by init.
static Status *start(Trainer *t) {
    AUTO(text) Text prefix = {0};
    AUTO(text) Text skipped = {0};
    Status *status = t->saver ? saver_latest(t->saver, &prefix, &skipped) : OK;
    text_add(&t->report, text_str(&skipped));
    bool found = t->saver && !status;
    if (status_code(status) == NOT_FOUND && !skipped.n) {
        status_free(status);
        status = OK;
    }
    TRY(status);  // every checkpoint damaged: to begin anew would hide it
    if (!found)
        return start_anew(t);
    if (t->options.init)
        TRY(status_prefix(run_node(t->options.session, t->options.init), "giving first values"));
    return recover(t, text_str(&prefix));
}

// ---- events

static Status *write_graph(Trainer *t) {
    AUTO(text) Text bytes = {0};
    if (t->options.graph_lock)
        mutex_lock(t->options.graph_lock);
    Status *status = graph_to_proto(t->options.graph, &bytes);
    if (t->options.graph_lock)
        mutex_unlock(t->options.graph_lock);
    TRY(status);
    return event_writer_graph(t->events, text_str(&bytes));
}

static Status *write_summary(Trainer *t, const Tensor *summary) {
    AUTO(arena) Arena arena = {0};
    SummaryProto *proto;
    NEED(summary->dtype == DT_string && tensor_count(summary) == 1, INVALID_ARGUMENT, "a summary is one string, not %s%s",
         dtype_name(summary->dtype), shape_text(&summary->shape));
    TRY(PROTO_DECODE(SummaryProto, &arena, tstring_str(summary->data), &proto));
    return event_writer_summary(t->events, t->step, proto->value.p, proto->value.n);
}

static Status *write_trace(Trainer *t, const Trace *trace) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    RunMetadataProto metadata = {0};
    TRY(step_stats_message(trace, &arena, &metadata.step_stats));
    TRY(PROTO_ENCODE(RunMetadataProto, &metadata, &bytes));
    Str tag = str_format(&arena, "step %" PRId64, t->step);
    NEED_MEMORY(tag.p);
    return event_writer_run_metadata(t->events, t->step, tag, text_str(&bytes));
}

static bool summary_is_due(const Trainer *t, int64_t step) {
    int64_t every = t->options.summary_steps > 0 ? t->options.summary_steps : 100;
    return t->events && (step % every == 0 || step == 1);
}

static Status *write_values(Trainer *t, bool has_summary) {
    for (int i = 0; i < t->options.n_fetches; i++)
        TRY(event_writer_scalar(t->events, t->step, str_of(t->options.names[i]), t->values[i]));
    return has_summary ? write_summary(t, &t->fetched[t->options.n_fetches]) : OK;
}

// ---- steps

static Status *run_step(Trainer *t, bool has_summary, Trace *trace) {
    const TrainerOptions *o = &t->options;
    Node *target = o->train;
    RunSettings settings = run_settings_default;
    settings.trace = trace;
    StepSignature signature = {.feeds = o->feeds, .fetches = t->edges, .targets = &target, .n_feeds = o->n_feeds,
                               .n_fetches = o->n_fetches + has_summary, .n_targets = target ? 1 : 0};
    return session_run(o->session, &signature, &settings, t->feeds, t->fetched);
}

static Status *take_values(Trainer *t) {
    for (int i = 0; i < t->options.n_fetches; i++) {
        const Tensor *value = &t->fetched[i];
        NEED(tensor_count(value) == 1, INVALID_ARGUMENT, "'%s' is %s%s, not one number", t->options.names[i],
             dtype_name(value->dtype), shape_text(&value->shape));
        t->values[i] = summary_number(value, 0);
    }
    NEED(t->options.nan_is_fine || !t->options.n_fetches || isfinite(t->values[0]), INVALID_ARGUMENT,
         "'%s' is %g in step %" PRId64, t->options.names[0], t->values[0], t->step + 1);
    return OK;
}

static Status *do_step(Trainer *t) {
    bool summary_due = summary_is_due(t, t->step + 1), has_summary = summary_due && t->options.summary.node;
    bool traced = t->events && t->options.trace_step == t->step + 1;
    AUTO(trace) Trace trace = {0};
    if (traced)
        trace_begin(&trace);
    TRY(run_step(t, has_summary, traced ? &trace : NULL));
    Status *status = take_values(t);
    if (!status) {
        t->step++;
        if (summary_due)
            status = write_values(t, has_summary);
        if (!status && traced)
            status = write_trace(t, &trace);
    }
    for (int i = 0; i < t->options.n_fetches + has_summary; i++)
        tensor_clear(&t->fetched[i]);
    return status;
}

static void drop_feeds(Trainer *t) {
    for (int i = 0; i < t->options.n_feeds; i++)
        tensor_clear(&t->fed[i]);
}

static double seconds_since(int64_t then) {
    return (double)(clock_now() - then) * 1e-9;
}

static TrainerProgress progress_of(const Trainer *t) {
    return (TrainerProgress){t->step, t->epoch, t->values, seconds_since(t->begun)};
}

// Whether the training goes on, asked before each step.
static TrainerEnd find_end(const Trainer *t) {
    const TrainerOptions *o = &t->options;
    if (o->stop && *o->stop)
        return END_STOPPED;
    if (o->steps > 0 && t->step >= o->steps)
        return END_STEPS;
    if (o->epochs > 0 && t->epoch >= o->epochs)
        return END_EPOCHS;
    if (o->seconds > 0 && seconds_since(t->begun) >= o->seconds)
        return END_TIME;
    return o->patience > 0 && t->step - t->best_step >= o->patience ? END_NO_BETTER : END_NONE;
}

static void judge(Trainer *t) {
    double metric = t->options.n_fetches ? t->values[t->options.metric] : NAN;
    bool better = isnan(t->best) || (t->options.policy.less_is_better ? metric < t->best : metric > t->best);
    if (better && !isnan(metric)) {
        t->best = metric;
        t->best_step = t->step;
    }
}

static Status *save_if_due(Trainer *t) {
    const TrainerOptions *o = &t->options;
    bool due = (o->save_steps > 0 && t->step - t->saved_step >= o->save_steps) ||
               (o->save_seconds > 0 && seconds_since(t->saved_at) >= o->save_seconds);
    return t->saver && due ? save(t, true) : OK;
}

// A step, or the end of a pass over the data; `*end` is set where a hook ends the training.
static Status *advance(Trainer *t, TrainerEnd *end) {
    const TrainerOptions *o = &t->options;
    bool over = false;
    if (o->next)
        TRY(status_prefix(o->next(o->input, t->step, t->fed, &over), "the input of step %" PRId64, t->step + 1));
    if (over) {
        t->epoch++;
        TrainerProgress progress = progress_of(t);
        if (o->after_epoch && o->after_epoch(o->hooks, &progress))
            *end = END_STOPPED;
        return OK;
    }
    Status *status = do_step(t);
    drop_feeds(t);
    bool feeds_itself = !o->next || t->iterators.list.n;
    if (feeds_itself && status_code(status) == OUT_OF_RANGE) {  // its own input is over
        status_free(status);
        t->epoch++;
        *end = END_EPOCHS;
        return OK;
    }
    TRY(status_prefix(status, "step %" PRId64, t->step + (status != OK)));
    judge(t);
    TrainerProgress progress = progress_of(t);
    if (o->after_step && o->after_step(o->hooks, &progress))
        *end = END_STOPPED;
    return save_if_due(t);
}

Status *trainer_run(Trainer *t, TrainerEnd *out) {
    TrainerEnd end = END_NONE;
    t->begun = t->saved_at = clock_now();
    while (end == END_NONE && (end = find_end(t)) == END_NONE)
        TRY(advance(t, &end));
    if (t->events)
        TRY(event_writer_flush(t->events));
    if (t->saver && t->saved_step != t->step)
        TRY(save(t, false));
    if (t->saver)
        TRY(saver_wait(t->saver));
    *out = end;
    return OK;
}

// ---- life

static Status *make_room(Trainer *t) {
    const TrainerOptions *o = &t->options;
    size_t n = (size_t)o->n_fetches;
    t->edges = ARENA_ARRAY(&t->arena, Output, n + 1);
    t->fetched = ARENA_ARRAY(&t->arena, Tensor, n + 1);
    t->values = ARENA_ARRAY(&t->arena, double, n + 1);
    t->fed = ARENA_ARRAY(&t->arena, Tensor, o->n_feeds + 1);
    t->feeds = ARENA_ARRAY(&t->arena, const Tensor *, o->n_feeds + 1);
    NEED_MEMORY(t->edges && t->fetched && t->values && t->fed && t->feeds);
    for (size_t i = 0; i < n; i++) {
        t->edges[i] = o->fetches[i];
        t->values[i] = NAN;
    }
    t->edges[n] = o->summary;
    t->values[n] = NAN;
    for (int i = 0; i < o->n_feeds; i++)
        t->feeds[i] = &t->fed[i];
    return OK;
}

static Status *open_trainer(Trainer *t) {
    const TrainerOptions *o = &t->options;
    NEED(o->train || o->n_fetches, INVALID_ARGUMENT, "a trainer needs something to run in each step");
    NEED(o->n_feeds == 0 || o->next, INVALID_ARGUMENT, "a trainer with feeds needs an input");
    NEED(o->metric >= 0 && (o->metric < o->n_fetches || !o->metric), INVALID_ARGUMENT, "there is no value %d", o->metric);
    TRY(make_room(t));
    if (o->graph_lock)
        mutex_lock(o->graph_lock);
    Status *status = variables_open(o->graph, &t->variables);
    if (!status)
        status = iterators_open(o->graph, &t->iterators);
    if (o->graph_lock)
        mutex_unlock(o->graph_lock);
    TRY(status);
    TRY(session_extend(o->session));
    if (o->policy.folder.n)
        TRY(saver_new(&o->policy, &t->saver));
    TRY(start(t));
    if (!o->logdir.n)
        return OK;
    TRY(event_writer_new(o->logdir, &(EventWriterOptions){0}, &t->events));
    return write_graph(t);
}

Status *trainer_new(const TrainerOptions *options, Trainer **out) {
    Trainer *t = calloc(1, sizeof *t);
    NEED_MEMORY(t);
    t->options = *options;
    t->best = NAN;
    Status *status = open_trainer(t);
    if (status)
        trainer_free(t);
    else
        *out = t;
    return status;
}

void trainer_free(Trainer *t) {
    if (!t)
        return;
    saver_free(t->saver);
    event_writer_free(t->events);
    variables_clear(&t->variables);
    iterators_clear(&t->iterators);
    text_clear(&t->report);
    arena_clear(&t->arena);
    free(t);
}

int64_t trainer_step(const Trainer *t) {
    return t->step;
}

int64_t trainer_epoch(const Trainer *t) {
    return t->epoch;
}

Str trainer_report(const Trainer *t) {
    return text_str(&t->report);
}
