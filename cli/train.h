// Train — what the files of `millrace train` share: the data, the network, the progress shown.
#pragma once
#include <stdint.h>

#include "cli.h"
#include "curve.h"
#include "millrace/trainer.h"

// One part of a data set: bytes [n height width] and their classes.
typedef struct {
    TF_Tensor *images, *labels;   // both of bytes
    int64_t n;
    int height, width;
} Examples;
// DIR/PART-images-idx3-ubyte(.gz) and DIR/PART-labels-idx1-ubyte(.gz); PART is "train" or "t10k".
bool examples_read(const char *folder, const char *part, Examples *out);
void examples_clear(Examples *examples);
int examples_classes(const Examples *examples);   // one more than the largest label

// The network in its graph, and a session for it.
typedef struct {
    TF_Graph *graph;
    mr_net *net;
    TF_Session *session;
    TF_Output images, labels, rate;         // fed
    TF_Output loss, right;                  // the mean loss, and the part that was right
    TF_Output ends[3];                      // of the saved model: label, probabilities, class
    TF_Operation *init, *train;
} Network;
typedef struct {
    int height, width, classes;
    const char *const *names;               // of the classes; NULL: their numbers
    const char *optimizer;
    int64_t seed;
    int threads;                            // 0: all
} NetworkSpec;
bool network_make(const NetworkSpec *spec, Network *out);
void network_clear(Network *network);
// The plan of a step of the training.
bool network_plan(const Network *network, TF_Tensor *images, TF_Tensor *labels, mr_plan_info *out);
// `guesses`, `chances`: of each example the most probable class and its probability; room for all of them.
bool network_measure(const Network *network, const Examples *examples, unsigned char *guesses, float *chances, double *loss,
                     double *right);
bool network_save(const Network *network, const char *path);
bool network_save_model(const Network *network, const char *folder);   // as a SavedModel
bool network_save_graph(const Network *network, const char *path);   // all of it, to train with

// What was answered to the pictures that are tested with: which classes are confused, and the worst mistakes.
typedef struct {
    const Examples *tests;
    const unsigned char *guesses;           // as network_measure gives them
    const float *chances;
    const char *const *names;               // of the classes; NULL: their numbers
    int classes;
} Report;
bool report_print(const Report *report);    // false after a message
bool report_print_json(const Report *report);   // one line

// The state of a training as it is shown; a bar in a terminal, a line now and then elsewhere.
typedef struct {
    bool bar, json;
    int epoch, epochs;
    int64_t step, steps;                    // of the epoch
    double loss, right;                     // running means
    double seconds;                         // spent in steps of this epoch
    int64_t seen;                           // examples in them
    double left;                            // seconds until the end of all epochs
    double shown;                           // when it was last shown
} Progress;
void progress_show(Progress *progress, bool last);
void print_report(const mr_trainer *trainer);   // its lines
double now(void);                           // seconds, monotonic

// ---- order: every pass shuffles what the one before it left
uint64_t next_random(uint64_t *state);
void shuffle(int32_t *order, int64_t n, uint64_t *state);

// ---- a training of any model (train_model.c)
typedef struct {
    const char *path, *train, *init, *loss;
    const char *feeds[MOST_EDGES], *fetches[MOST_EDGES];   // "NODE=COLUMN"; names
    const char *set[MOST_EDGES];                           // "NODE=TENSOR"
    int n_feeds, n_fetches, n_set;
    int64_t steps, patience;
    bool in_order;
} ModelTraining;
struct TrainOptions;
int train_model(const ModelTraining *model, const struct TrainOptions *options, const volatile int *stop);   // the exit code

// ---- the demo's training (train_loop.c)
typedef struct TrainOptions {
    const char *data, *output, *graph, *svg, *optimizer;
    const char *checkpoints, *logdir, *saved_model;   // folders; NULL: none
    char *classes;
    double epochs, rate;
    int64_t batch, seed, save_steps, log_steps;
    int threads, keep;
    bool plain, json;
} TrainOptions;

typedef struct {
    const TrainOptions *options;
    Network network;
    Examples examples, tests;
    int32_t *order;
    const char *names[256];                 // of the classes
    unsigned char *guesses;                 // what is answered to the tests, and how surely
    float *chances;
    Report report;
    Curve curve;
    Progress progress;
    TF_Output feeds[3], fetches[2];
    uint64_t random;
    int64_t steps, done;                    // of the whole training
    int64_t epoch, at;                      // passes begun; batches of this one that were given; -1: it is over
    double seconds, step_began;
    int64_t seen;
    const volatile int *stop;
    bool measured, failed;                  // since the last step; after a message
} Training;
// The feeds of a step, the rate at that step last; false when memory is out.
bool training_batch(const Training *training, int64_t step, TF_Tensor *out[3]);
// What is answered to the tests, shown; false after a message.
bool training_measure(Training *training);
mr_trainer_options training_options(Training *training);
