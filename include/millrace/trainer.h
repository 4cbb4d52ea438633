// trainer.h — a training around a session: first values or recovery, steps, checkpoints, events, an end. Its rules are those of
// millrace.h.
/*
 *     mr_trainer_options options = {.struct_size = sizeof options, .train = step, .init = first_values, .fetches = &loss,
 *                                   .names = names, .num_fetches = 1, .folder = "run", .steps = 1000};
 *     mr_trainer *trainer = mr_trainer_new(session, &options, status);
 *     mr_trainer_run(trainer, status);
 *     mr_trainer_delete(trainer);
 *
 * Killed at any moment and started again it goes on from its newest good checkpoint, which holds the variables, the number
 * of steps done, where the random streams of the graph's nodes are, and where the input is: with the same number of threads
 * the losses are, bit for bit, those of a training that was not killed.
 */
#ifndef MILLRACE_TRAINER_H_
#define MILLRACE_TRAINER_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mr_trainer mr_trainer;

/* Why mr_trainer_run came to an end. */
typedef enum {
    MR_END_FAILED = 0,      /* the status says of what */
    MR_END_STEPS = 1,
    MR_END_EPOCHS = 2,
    MR_END_TIME = 3,
    MR_END_STOPPED = 4,     /* a hook, or who set `*stop` */
    MR_END_NO_BETTER = 5,   /* `patience` steps without a better metric */
} mr_trainer_end;

typedef struct mr_trainer_progress {
    int64_t step;           /* steps done, of all runs together */
    int64_t epoch;          /* passes over the data that were completed */
    const double *values;   /* what the last step gave: num_fetches numbers */
    double seconds;         /* of this call of mr_trainer_run */
} mr_trainer_progress;

/* All zeros but struct_size and what a training needs is fine. */
typedef struct mr_trainer_options {
    size_t struct_size;             /* to be set: sizeof(mr_trainer_options) */

    /* A step. What is fetched are numbers, the first of them the loss; their names are those in events. */
    const TF_Operation *train;      /* what mr_minimize gives, or any operation */
    const TF_Operation *init;       /* what mr_init gives; NULL: variables have values already */
    const TF_Output *fetches;
    const char *const *names;
    int num_fetches;
    const TF_Output *feeds;
    int num_feeds;
    TF_Output summary;              /* a serialized Summary, as MergeSummary gives it; {NULL}: none */

    /* The input. `next` stores a tensor for each feed, which the trainer deletes, and returns 1; or returns 0 where a pass
     * over the data has ended: it is called again for the next. Where it sets the status the training ends with that.
     * `step`: how many were done. */
    int (*next)(void *input, int64_t step, TF_Tensor **values, TF_Status *status);
    void (*save_position)(void *input, TF_Buffer *out, TF_Status *status);   /* into an empty buffer */
    void (*load_position)(void *input, const void *bytes, size_t length, TF_Status *status);
    void *input;

    /* Called after each step, and after each pass; what is not 0 ends the training. */
    int (*after_step)(void *hooks, const mr_trainer_progress *progress);
    int (*after_epoch)(void *hooks, const mr_trainer_progress *progress);
    void *hooks;

    /* Checkpoints: FOLDER/model-STEP and the file `checkpoint`, as TensorFlow's Saver has them. */
    const char *folder;             /* NULL: none */
    int64_t save_steps;             /* one every so many steps; */
    double save_seconds;            /* and so many seconds; both 0: every 600 seconds */
    int keep;                       /* the newest so many stay; 0: 5; -1: all */
    double keep_hours;              /* one in so many hours stays for ever; 0: none */
    int keep_best;                  /* so many of the best `metric` stay, the best named by the file `best` */
    int metric;                     /* which of the fetches that is, and `patience` goes by */
    int more_is_better;             /* an accuracy, not a loss */

    /* Events for TensorBoard: the graph, the fetches, the summary. */
    const char *logdir;             /* NULL: none */
    int64_t summary_steps;          /* every so many steps; 0: 100 */
    int64_t trace_step;             /* when the times of the graph's nodes are written; 0: never */

    /* Where no checkpoint is found: variables that a checkpoint of another training gives after the first values. Those that
     * match a pattern of `warm_except` ("head*") keep these, as do those that are missing there or have another shape. */
    const char *warm_start;         /* its prefix; NULL: none */
    const char *const *warm_only;   /* patterns of names; none: all */
    int num_warm_only;
    const char *const *warm_except;
    int num_warm_except;
    const char *const *warm_renames; /* "here=there": names that begin with "here" begin with "there" in the checkpoint */
    int num_warm_renames;

    /* Ends; what is 0 ends nothing. */
    int64_t steps;                  /* of all runs together */
    int64_t epochs;
    double seconds;                 /* of one call of mr_trainer_run */
    int64_t patience;               /* steps without a better metric */
    const volatile int *stop;       /* looked at before each step: for a handler of signals to set */
    int nan_is_fine;                /* else INVALID_ARGUMENT tells in which step the loss was no number */
} mr_trainer_options;

/* Adds to the graph what reads and writes its variables, then recovers the newest good checkpoint, or gives first values. What
 * `options` points to must live as long as the trainer, as must the session. DATA_LOSS where there are checkpoints and none
 * is good. */
MR_EXPORT mr_trainer *mr_trainer_new(TF_Session *session, const mr_trainer_options *options, TF_Status *status);
/* Does not save; mr_trainer_run did. */
MR_EXPORT void mr_trainer_delete(mr_trainer *trainer);
/* Steps until an end, and saves a checkpoint there. */
MR_EXPORT mr_trainer_end mr_trainer_run(mr_trainer *trainer, TF_Status *status);
/* Saves a checkpoint now. */
MR_EXPORT void mr_trainer_save(mr_trainer *trainer, TF_Status *status);
MR_EXPORT int64_t mr_trainer_steps(const mr_trainer *trainer);
/* Lines for people: from where it goes on, which checkpoints were passed over and why, what a warm start left out. */
MR_EXPORT const char *mr_trainer_report(const mr_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_TRAINER_H_ */
