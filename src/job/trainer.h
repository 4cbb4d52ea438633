// Trainer — runs a training step until an end is reached: starts or recovers, saves, writes events, and can be killed at any
// moment and go on as if it had not been.
//
// A checkpoint holds the variables, how many steps were done, where the nodes' random streams are, and where the input
// is: the caller's, and the graph's own iterators. With one budget of threads the losses after a restart are, bit for bit,
// those of a run that never stopped.
#pragma once
#include "file/event_writer.h"
#include "job/saver.h"
#include "job/variables.h"

// Why a training ended.
typedef enum {
    END_NONE,          // it has not
    END_STEPS,
    END_EPOCHS,
    END_TIME,
    END_STOPPED,       // the hook, or who set `*stop`
    END_NO_BETTER,     // `patience` steps without a better metric
} TrainerEnd;

typedef struct {
    int64_t step, epoch;        // steps done; passes over the data that were completed
    const double *values;       // what was fetched, as numbers; the first is the loss
    double seconds;             // of this run
} TrainerProgress;

typedef struct {
    Graph *graph;
    Mutex *graph_lock;          // held while the graph grows; NULL: nobody else touches it
    Session *session;
    Node *train;                // run in each step
    Node *init;                 // gives first values; NULL: there are some
    const Output *fetches;      // scalars that each step gives: first the loss
    const char *const *names;   // theirs, in events and messages
    int n_fetches;
    const Output *feeds;
    int n_feeds;
    Output summary;             // a serialized Summary, fetched every summary_steps; {NULL}: none

    // The values of a step's feeds, with references that the trainer takes over; `out_end` true instead: a pass over the
    // data has ended, and the next call begins another. NULL where nothing is fed: there is one pass then, and a step that is
    // out of range ends it.
    Status *(*next)(void *arg, int64_t step, Tensor *values, bool *out_end);
    // Where the input is, as bytes; and back there. Both or neither.
    Status *(*save_position)(void *arg, Text *out);
    Status *(*load_position)(void *arg, Str bytes);
    void *input;

    // After each step; true ends the training.
    bool (*after_step)(void *arg, const TrainerProgress *progress);
    // After each pass over the data; true ends the training.
    bool (*after_epoch)(void *arg, const TrainerProgress *progress);
    void *hooks;

    SaverPolicy policy;         // folder empty: no checkpoints
    int64_t save_steps;         // a checkpoint every so many steps; 0: none
    double save_seconds;        // or seconds; 0: none
    int metric;                 // which value the best checkpoint and patience go by; policy.less_is_better says how
    Str logdir;                 // of events; empty: none
    int64_t summary_steps;      // values become events every so many steps; 0: 100
    int64_t trace_step;         // times of nodes become an event then; 0: never

    Str warm_start;             // a checkpoint whose variables are taken where nothing is recovered; empty: none
    RestoreRules warm_rules;

    int64_t steps;              // 0: no end
    int64_t epochs;
    double seconds;
    int64_t patience;           // steps without a better metric
    bool nan_is_fine;           // else a loss that is no number ends the training with an error
    const volatile int *stop;   // looked at before each step; set by a signal's handler
} TrainerOptions;

typedef struct Trainer Trainer;

// What is in `options` lives as long as the trainer. Recovers the newest good checkpoint; where there is none gives first
// values, and warm ones.
FALLIBLE Status *trainer_new(const TrainerOptions *options, Trainer **out);
void trainer_free(Trainer *trainer);
// Goes on until an end, with a checkpoint at it. INVALID_ARGUMENT where the loss is no number; what a step or a save failed
// with.
FALLIBLE Status *trainer_run(Trainer *trainer, TrainerEnd *out);
// A checkpoint now.
FALLIBLE Status *trainer_save(Trainer *trainer);
int64_t trainer_step(const Trainer *trainer);
int64_t trainer_epoch(const Trainer *trainer);
// Lines for people: what was recovered, passed over, left out. Lives as long as the trainer.
Str trainer_report(const Trainer *trainer);
