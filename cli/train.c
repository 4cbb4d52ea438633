// millrace train — learns to tell pictures apart: the demo.
#include <math.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "train.h"

static const char ABOUT[] =
    "Trains a small convolutional network to tell pictures apart and writes it as a frozen GraphDef, which `millrace "
    "run` and TensorFlow load. FOLDER holds the four IDX files of a data set in the manner of MNIST, packed or not; "
    "without --data it is Fashion-MNIST, from Debian's package dataset-fashion-mnist.\n"
    "\n"
    "With MODEL, a GraphDef or a SavedModel that has a training step, that is what learns: --data is a file of columns (.npz, "
    ".csv with names in its first line, TFRecords of Examples), or a folder: of IDX files, or of a folder of pictures for each class "
    "(columns image, the bytes of the files, and label). Without --data the model feeds itself, from iterators, whose place is kept "
    "in checkpoints too. What it has learned is in --checkpoints.\n"
    "\n"
    "At the end of the demo stand the curve of loss and accuracy, which classes are confused, and the worst mistakes.\n"
    "\n"
    "Ctrl-C ends the training, and SIGTERM does; the model is written as far as it came, and the exit code is 130 or 143. With "
    "--checkpoints the same command goes on where it was, as if it had not ended: with as many threads every loss is the same.\n";

enum { DATA = 1, OUTPUT, CHECKPOINTS, SAVE_STEPS, KEEP, LOGDIR, LOG_STEPS, GRAPH, SVG, EPOCHS, BATCH, RATE, OPTIMIZER, CLASSES, SEED,
       THREADS, PLAIN, JSON, FEED, LOSS, TRAIN_OP, INIT, FETCH, STEPS, PATIENCE, IN_ORDER, SET, SAVED_MODEL };
static const Option OPTIONS[] = {
    {"data", "FOLDER", "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., each perhaps with .gz", DATA},
    {"output", "FILE", "fashion.pb unless said otherwise", OUTPUT},
    {"saved-model", "FOLDER", "writes the model as a SavedModel, too: variables, and a signature", SAVED_MODEL},
    {"checkpoints", "FOLDER", "keeps what is learned there, and goes on from it: also after Ctrl-C, or a crash", CHECKPOINTS},
    {"save-steps", "N", "a checkpoint every N steps; every 30 seconds unless said otherwise, and at the end", SAVE_STEPS},
    {"keep", "N", "how many checkpoints stay, 5", KEEP},
    {"logdir", "FOLDER", "events for TensorBoard: loss, accuracy, the graph", LOGDIR},
    {"log-steps", "N", "loss and accuracy every N steps, 100", LOG_STEPS},
    {"graph", "FILE",
     "writes the graph of the training too, before it begins: `millrace plan` shows its steps", GRAPH},
    {"svg", "FILE", "writes how loss and accuracy went, as a picture", SVG},
    {"epochs", "N", "passes over the data, 3; less than one is possible: 0.1", EPOCHS},
    {"batch", "N", "pictures per step, 64", BATCH},
    {"rate", "R", "learning rate at the beginning, 0.002; it falls to nothing along half a cosine", RATE},
    {"optimizer", "NAME", "adam, gradient-descent, momentum, adagrad, rmsprop", OPTIMIZER},
    {"classes", "A,B,...", "names of the classes", CLASSES},
    {"seed", "N", "of first values and order, 1", SEED},
    {"threads", "N", "as many as the process may use unless said otherwise", THREADS},
    {"plain", NULL, "no progress bar", PLAIN},
    {"json", NULL, "progress and result as JSON, one object per line", JSON},
    {"feed", "NODE=COLUMN", "of a MODEL: which column a placeholder takes; that of its own name where none is said", FEED},
    {"set", "NODE=TENSOR", "of a MODEL: a placeholder that no column is for: rate=0.01", SET},
    {"loss", "NODE", "of a MODEL: what becomes less, 'loss'", LOSS},
    {"train-op", "NODE", "of a MODEL: the training step, 'train_step'", TRAIN_OP},
    {"init", "NODE", "of a MODEL: what gives variables first values, 'init' where there is one", INIT},
    {"fetch", "NODE", "of a MODEL: another number to show and to log", FETCH},
    {"steps", "N", "of a MODEL: ends after so many, rather than after --epochs", STEPS},
    {"patience", "N", "of a MODEL: ends when the loss was not less for so many steps", PATIENCE},
    {"in-order", NULL, "of a MODEL: rows come as they stand", IN_ORDER},
    {0}};

static const char EXAMPLES[] =
    "millrace train\n"
    "millrace train --data ~/mnist --output mnist.pb --epochs 2\n"
    "millrace train --graph training.pb --epochs 0.1\n"
    "millrace train --svg curve.svg\n"
    "millrace train --checkpoints fashion --logdir fashion\n"
    "millrace train training.pb --data digits.npz --feed images=x --feed labels=y --checkpoints digits\n"
    "millrace run fashion.pb --input images=@t10k-images-idx3-ubyte.gz[0:2] --output label --draw\n";

static const char DEFAULT_DATA[] = "/usr/share/datasets/fashion-mnist";
static const char *const FASHION[] = {"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
                                      "bag", "ankle boot"};

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    interrupted = number;
    signal(SIGINT, SIG_DFL);  // a second one ends at once
    signal(SIGTERM, SIG_DFL);
}

// ---------------------------------------- training

static bool train_all(Training *t) {
    const TrainOptions *o = t->options;
    TF_Status *status = TF_NewStatus();
    mr_trainer_options options = training_options(t);
    t->progress = (Progress){.bar = !o->plain && !o->json && has_terminal(stdout), .json = o->json,
                             .epochs = (int)ceil(o->epochs)};
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    mr_trainer *trainer = mr_trainer_new(t->network.session, &options, status);
    bool done = good(status, o->checkpoints ? o->checkpoints : "the training");
    if (done && !o->json)
        print_report(trainer);
    if (done)
        mr_trainer_run(trainer, status);
    done = done && good(status, "training") && !t->failed;
    mr_trainer_delete(trainer);
    TF_DeleteStatus(status);
    if (done && interrupted && !o->json)
        printf("\nInterrupted after %lld of %lld steps.\n", (long long)t->done, (long long)t->steps);
    return done && (t->measured || training_measure(t));
}

// ---------------------------------------- the command

static bool split_classes(char *list, const char **names, int n) {
    int found = 0;
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (found++ < n)
            names[found - 1] = name;
    if (found != n)
        fail("the data has %d classes, --classes names %d", n, found);
    return found == n;
}

static bool prepare(Training *t) {
    const TrainOptions *o = t->options;
    if (!examples_read(o->data, "train", &t->examples) || !examples_read(o->data, "t10k", &t->tests))
        return false;
    if (t->tests.height != t->examples.height || t->tests.width != t->examples.width) {
        fail("%s: pictures to train with and to test with differ in size", o->data);
        return false;
    }
    if (t->examples.n < o->batch) {
        fail("%s: %lld pictures are less than one batch of %lld", o->data, (long long)t->examples.n,
             (long long)o->batch);
        return false;
    }
    int classes = examples_classes(&t->examples), more = examples_classes(&t->tests);
    classes = more > classes ? more : classes;
    if (o->classes && !split_classes(o->classes, t->names, classes))
        return false;
    bool fashion = !o->classes && classes == 10 && strstr(o->data, "fashion");
    NetworkSpec net = {.height = t->examples.height, .width = t->examples.width, .classes = classes,
                         .names = o->classes ? t->names : fashion ? FASHION : NULL, .optimizer = o->optimizer,
                         .seed = o->seed, .threads = o->threads};
    if (!network_make(&net, &t->network))
        return false;
    t->order = malloc((size_t)t->examples.n * sizeof *t->order);
    t->guesses = malloc((size_t)t->tests.n);
    t->chances = malloc((size_t)t->tests.n * sizeof *t->chances);
    t->report = (Report){&t->tests, t->guesses, t->chances, net.names, classes};
    if (!t->order || !t->guesses || !t->chances) {
        fail("out of memory");
        return false;
    }
    for (int64_t i = 0; i < t->examples.n; i++)
        t->order[i] = (int32_t)i;
    t->random = (uint64_t)o->seed;
    t->steps = (int64_t)ceil(o->epochs * (double)(t->examples.n / o->batch));
    return true;
}

// What will be done, and in how much memory.
static bool announce(const Training *t) {
    mr_plan_info info = {.struct_size = sizeof info};
    TF_Tensor *batch[3] = {0};
    bool planned = training_batch(t, 0, batch) && network_plan(&t->network, batch[0], batch[1], &info);
    for (int i = 0; i < 3; i++)
        TF_DeleteTensor(batch[i]);
    if (!planned)
        return false;
    if (t->options->json)
        printf("{\"nodes_per_step\": %zu, \"arena_bytes\": %lld, \"lower_bound\": %lld, \"arena_ratio\": %.4f, "
               "\"own_bytes\": %lld, \"num_dynamic\": %zu}\n",
               info.num_run, (long long)info.arena_bytes, (long long)info.lower_bound,
               info.lower_bound ? (double)info.arena_bytes / (double)info.lower_bound : 1, (long long)info.own_bytes,
               info.num_dynamic);
    else
        print_text(stdout, 2, "%lld pictures of %d x %d from %s, %lld to test with", (long long)t->examples.n,
                   t->examples.height, t->examples.width, t->options->data, (long long)t->tests.n);
    if (!t->options->json)
        print_text(stdout, 2, "%zu nodes a step; %s", info.num_run, plan_memory(&info));
    return true;
}

static void print_written(const char *path) {
    printf("{\"model\": ");
    print_json_text(path);
    printf("}\n");
}

static bool report(const Training *t) {
    if (t->options->svg && !curve_save(&t->curve, t->options->svg))
        return false;
    if (t->options->json)
        return report_print_json(&t->report);
    putchar('\n');
    curve_draw(&t->curve);
    return report_print(&t->report);
}

static void print_end(const Training *t) {
    const TrainOptions *o = t->options;
    if (o->json) {
        print_written(o->output);
        return;
    }
    print_text(stdout, 2, "%.0f images/s on average; the model is in %s%s%s",
               t->seconds > 0 ? (double)t->seen / t->seconds : 0, o->output, o->svg ? ", the curve in " : "",
               o->svg ? o->svg : "");
    print_text(stdout, 4, "Try: millrace run %s --input images=@%s/t10k-images-idx3-ubyte.gz[0:2] --output label --draw",
               o->output, o->data);
}

static void training_clear(Training *t) {
    free(t->order);
    free(t->guesses);
    free(t->chances);
    curve_clear(&t->curve);
    network_clear(&t->network);
    examples_clear(&t->examples);
    examples_clear(&t->tests);
}

static int train(const TrainOptions *options) {
    Training t = {.options = options, .stop = &interrupted};
    bool done = can_write(options->output) && (!options->svg || can_write(options->svg)) &&
                (!options->graph || can_write(options->graph)) && prepare(&t);
    done = done && (!options->graph || network_save_graph(&t.network, options->graph));
    done = done && announce(&t) && train_all(&t);
    done = done && network_save(&t.network, options->output) &&
           (!options->saved_model || network_save_model(&t.network, options->saved_model)) && report(&t);
    if (done)
        print_end(&t);
    training_clear(&t);
    return !done ? EXIT_FAILED : interrupted ? 128 + interrupted : EXIT_DONE;
}

// A number of a least size; false where it is none.
static bool number(const char *text, double least, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= least && *out < 1e9;
}

static bool whole(const char *text, double least, double *out) {
    return number(text, least, out) && *out == floor(*out);
}

static bool is_optimizer(const char *name) {
    static const char *const NAMES[] = {"adam", "gradient-descent", "momentum", "adagrad", "rmsprop"};
    size_t i = 0;
    while (i < sizeof NAMES / sizeof *NAMES && strcmp(NAMES[i], name) != 0)
        i++;
    return i < sizeof NAMES / sizeof *NAMES;
}

// Gives what the value may be, where it is something else.
static const char *read_option(int option, const char *text, TrainOptions *o, ModelTraining *m) {
    double value = 0;
    switch (option) {
    case DATA: o->data = text; return NULL;
    case OUTPUT: o->output = text; return NULL;
    case CHECKPOINTS: o->checkpoints = text; return NULL;
    case SAVED_MODEL: o->saved_model = text; return NULL;
    case LOGDIR: o->logdir = text; return NULL;
    case GRAPH: o->graph = text; return NULL;
    case SVG: o->svg = text; return NULL;
    case CLASSES: o->classes = (char *)text; return NULL;
    case LOSS: m->loss = text; return NULL;
    case TRAIN_OP: m->train = text; return NULL;
    case INIT: m->init = text; return NULL;
    case IN_ORDER: m->in_order = true; return NULL;
    case FEED:
        return m->n_feeds < MOST_EDGES && (m->feeds[m->n_feeds++] = text) ? NULL : "64 of them at most";
    case SET:
        return m->n_set < MOST_EDGES && (m->set[m->n_set++] = text) ? NULL : "64 of them at most";
    case FETCH:
        return m->n_fetches < MOST_EDGES - 1 && (m->fetches[m->n_fetches++] = text) ? NULL : "63 of them at most";
    case PLAIN: o->plain = true; return NULL;
    case JSON: o->json = true; return NULL;
    case OPTIMIZER:
        o->optimizer = text;
        return is_optimizer(text) ? NULL : "adam, gradient-descent, momentum, adagrad or rmsprop";
    case EPOCHS:
        return number(text, 1e-6, &o->epochs) ? NULL : "a number above 0";
    case RATE:
        return number(text, 0, &o->rate) ? NULL : "a number from 0";
    }
    bool fine = whole(text, option == SEED ? 0 : 1, &value) && (option != THREADS || value < 128);
    switch (option) {
    case BATCH: o->batch = (int64_t)value; break;
    case SEED: o->seed = (int64_t)value; break;
    case SAVE_STEPS: o->save_steps = (int64_t)value; break;
    case LOG_STEPS: o->log_steps = (int64_t)value; break;
    case KEEP: o->keep = (int)value; break;
    case STEPS: m->steps = (int64_t)value; break;
    case PATIENCE: m->patience = (int64_t)value; break;
    default: o->threads = (int)value;
    }
    return fine                ? NULL
           : option == SEED    ? "a whole number from 0"
           : option == THREADS ? "a whole number from 1 to 127"
                               : "a whole number from 1";
}

static int run(int argc, char **argv) {
    TrainOptions o = {.data = DEFAULT_DATA, .output = "fashion.pb", .optimizer = "adam", .epochs = 3, .rate = 2e-3,
                .batch = 64,
                .seed = 1};
    ModelTraining m = {.loss = "loss", .train = "train_step"};
    bool data_given = false;
    int option;
    while ((option = next_option(&command_train, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        const char *takes = read_option(option, optarg, &o, &m);
        data_given = data_given || option == DATA;
        if (takes)
            return misuse_value(&command_train, option, takes, optarg);
    }
    if (optind == argc)
        return train(&o);
    if (optind + 1 < argc)
        return misuse(&command_train, "there is nothing to do with '%s': one MODEL is trained", argv[optind + 1]);
    if (!data_given)
        o.data = NULL;  // the model feeds itself
    m.path = argv[optind];
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    return train_model(&m, &o, &interrupted);
}

const Command command_train = {"train", "learn to tell pictures apart: the demo; or train a model", "[MODEL]",
                               ABOUT, OPTIONS, EXAMPLES, run};
