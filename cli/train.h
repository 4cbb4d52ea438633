// Train — what the files of `millrace train` share: the data, the network, the progress shown.
#pragma once
#include <stdint.h>

#include "cli.h"

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
} Trainer;
typedef struct {
    int height, width, classes;
    const char *const *names;               // of the classes; NULL: their numbers
    const char *optimizer;
    int64_t seed;
    int threads;                            // 0: all
} TrainerWishes;
bool trainer_make(const TrainerWishes *wishes, Trainer *out);
void trainer_clear(Trainer *trainer);
bool trainer_step(const Trainer *trainer, TF_Tensor *images, TF_Tensor *labels, double rate, double *loss,
                  double *right);
// The plan of such a step.
bool trainer_plan(const Trainer *trainer, TF_Tensor *images, TF_Tensor *labels, mr_plan_info *out);
// `guesses`, `chances`: of each example the most probable class and its probability; room for all of them.
bool trainer_measure(const Trainer *trainer, const Examples *examples, unsigned char *guesses, float *chances, double *loss,
                     double *right);
bool trainer_save(const Trainer *trainer, const char *path);
bool trainer_save_graph(const Trainer *trainer, const char *path);   // all of it, to train with

// What was answered to the pictures that are tested with: which classes are confused, and the worst mistakes.
typedef struct {
    const Examples *tests;
    const unsigned char *guesses;           // as trainer_measure gives them
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
double now(void);                           // seconds, monotonic
