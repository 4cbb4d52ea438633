// millrace train — learns to tell pictures apart: the demo.
#include <math.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "curve.h"
#include "train.h"

static const char ABOUT[] =
    "Trains a small convolutional network to tell pictures apart and writes it as a frozen GraphDef, which `millrace "
    "run` and TensorFlow load. FOLDER holds the four IDX files of a data set in the manner of MNIST, packed or not; "
    "without --data it is Fashion-MNIST, from Debian's package dataset-fashion-mnist.\n"
    "\n"
    "At the end stand the curve of loss and accuracy, which classes are confused, and the worst mistakes.\n"
    "\n"
    "Ctrl-C ends the training, and SIGTERM does; the model is written as far as it came, and the exit code is 130 or 143.\n";

enum { DATA = 1, OUTPUT, GRAPH, SVG, EPOCHS, BATCH, RATE, OPTIMIZER, CLASSES, SEED, THREADS, PLAIN, JSON };
static const Option OPTIONS[] = {
    {"data", "FOLDER", "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., each perhaps with .gz", DATA},
    {"output", "FILE", "fashion.pb unless said otherwise", OUTPUT},
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
    {0}};

static const char EXAMPLES[] =
    "millrace train\n"
    "millrace train --data ~/mnist --output mnist.pb --epochs 2\n"
    "millrace train --graph training.pb --epochs 0.1\n"
    "millrace train --svg curve.svg\n"
    "millrace run fashion.pb --input images=@t10k-images-idx3-ubyte.gz[0:2] --output label --draw\n";

static const char DEFAULT_DATA[] = "/usr/share/datasets/fashion-mnist";
static const char *const FASHION[] = {"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
                                      "bag", "ankle boot"};

typedef struct {
    const char *data, *output, *graph, *svg, *optimizer;
    char *classes;
    double epochs, rate;
    int64_t batch, seed;
    int threads;
    bool plain, json;
} Wishes;

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

// ---------------------------------------- order

static uint64_t next_random(uint64_t *state) {  // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(int32_t *order, int64_t n, uint64_t *state) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(next_random(state) % (uint64_t)(i + 1));
        int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

// ---------------------------------------- showing

static void show_time(char *text, size_t room, double seconds) {
    int s = seconds > 0 && seconds < 1e6 ? (int)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, room, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, room, "%d:%02d", s / 60, s % 60);
}

// One line, drawn over the last one: the bar takes what the terminal's width leaves; what has no room is left out.
static void show_bar(const Progress *p, double rate, const char *left) {
    int columns = text_width(stdout) - 1, n = 0;   // a full line would begin the next one
    char parts[4][48], text[200] = "", front[32];
    snprintf(parts[0], sizeof parts[0], "%3d %%", (int)(p->step * 100 / (p->steps ? p->steps : 1)));
    snprintf(parts[1], sizeof parts[1], "  loss %.4f  accuracy %5.2f %%", p->loss, 100 * p->right);
    snprintf(parts[2], sizeof parts[2], "  ETA %s", left);
    snprintf(parts[3], sizeof parts[3], "  %.0f images/s", rate);
    int used = snprintf(front, sizeof front, "epoch %d/%d ", p->epoch, p->epochs);
    for (int i = 0; i < 4; i++)
        if (used + n + (int)strlen(parts[i]) <= columns)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s", parts[i]);
    int width = columns - n - used - 1;
    width = width > 40 ? 40 : width;
    int full = width > 0 ? (int)(p->step * width / (p->steps ? p->steps : 1)) : 0;
    printf("\r\033[K%s", front);
    for (int i = 0; i < width; i++)
        printf("%s", i < full ? "━" : i == full ? "╸" : "─");
    printf("%s%s", width > 0 ? " " : "", text);
}

void progress_show(Progress *p, bool last) {
    double time = now(), rate = p->seconds > 0 ? (double)p->seen / p->seconds : 0;
    if (!last && time - p->shown < (p->bar ? 0.1 : 5))
        return;
    p->shown = time;
    char left[32];
    show_time(left, sizeof left, p->left);
    if (p->json) {
        printf("{\"epoch\": %d, \"step\": %lld, \"steps\": %lld, \"loss\": ", p->epoch, (long long)p->step,
               (long long)p->steps);
        print_json_number(p->loss, 5);
        printf(", \"accuracy\": ");
        print_json_number(p->right, 5);
        printf(", \"images_per_second\": %.1f, \"seconds_left\": %.1f}\n", rate, p->left);
    } else if (p->bar) {
        show_bar(p, rate, left);
    } else {
        print_text(stdout, 2, "epoch %d/%d  step %lld/%lld  loss %.4f  accuracy %5.2f %%  %.0f images/s  ETA %s", p->epoch,
                   p->epochs, (long long)p->step, (long long)p->steps, p->loss, 100 * p->right, rate, left);
    }
    fflush(stdout);
}

// ---------------------------------------- training

typedef struct {
    const Wishes *wishes;
    Trainer trainer;
    Examples examples, tests;
    int32_t *order;
    TF_Tensor *images, *labels;   // one batch
    const char *names[256];       // of the classes
    unsigned char *guesses;       // what is answered to the tests, and how surely
    float *chances;
    Report report;
    Curve curve;
    uint64_t random;
    int64_t steps, done;          // of the whole training
    double seconds;
    int64_t seen;
} Training;

static void fill_batch(Training *t, int64_t first) {
    size_t picture = (size_t)t->examples.height * (size_t)t->examples.width;
    const char *from = TF_TensorData(t->examples.images), *labels = TF_TensorData(t->examples.labels);
    for (int64_t i = 0; i < t->wishes->batch; i++) {
        size_t which = (size_t)t->order[first + i];
        memcpy((char *)TF_TensorData(t->images) + (size_t)i * picture, from + which * picture, picture);
        ((char *)TF_TensorData(t->labels))[i] = labels[which];
    }
}

// The mean over about the last hundred steps.
static void running_mean(double *mean, double value, int64_t step) {
    double weight = fmax(0.01, 1.0 / (double)(step + 1));
    *mean += weight * (value - *mean);
}

enum { CURVE_POINTS = 400 };

static double epochs_done(const Training *t) {
    return (double)t->done / (double)(t->examples.n / t->wishes->batch);
}

static bool add_learned(Training *t, const Progress *p) {
    int64_t every = t->steps / CURVE_POINTS + 1;
    return (t->done % every && t->done != 1 && t->done != t->steps) ||
           curve_add(&t->curve, (CurvePoint){epochs_done(t), p->loss, p->right, false});
}

static bool train_epoch(Training *t, Progress *p) {
    const Wishes *w = t->wishes;
    shuffle(t->order, t->examples.n, &t->random);
    p->steps = t->examples.n / w->batch;
    if (t->steps - t->done < p->steps)
        p->steps = t->steps - t->done;
    p->seconds = 0;
    p->seen = 0;
    for (p->step = 0; p->step < p->steps && !interrupted;) {
        double begin = now(), loss, right;
        double rate = w->rate * 0.5 * (1 + cos(M_PI * (double)t->done / (double)t->steps));
        fill_batch(t, p->step * w->batch);
        if (!trainer_step(&t->trainer, t->images, t->labels, rate, &loss, &right))
            return false;
        running_mean(&p->loss, loss, t->done);
        running_mean(&p->right, right, t->done);
        p->step++;
        t->done++;
        p->seen += w->batch;
        if (!add_learned(t, p))
            return false;
        p->seconds += now() - begin;
        p->left = p->seconds / (double)p->step * (double)(t->steps - t->done);
        progress_show(p, p->step == p->steps || interrupted);
    }
    t->seconds += p->seconds;
    t->seen += p->seen;
    return true;
}

static void print_measure(int epoch, double loss, double right, double rate, double all_seconds) {
    printf("{\"epoch\": %d, \"test_loss\": ", epoch);
    print_json_number(loss, 5);
    printf(", \"test_accuracy\": ");
    print_json_number(right, 5);
    printf(", \"images_per_second\": %.1f, \"seconds\": %.1f}\n", rate, all_seconds);
}

static bool measure(Training *t, const Progress *p) {
    double loss, right, rate = t->seconds > 0 ? (double)t->seen / t->seconds : 0;
    if (!trainer_measure(&t->trainer, &t->tests, t->guesses, t->chances, &loss, &right) ||
        !curve_add(&t->curve, (CurvePoint){epochs_done(t), loss, right, true}))
        return false;
    if (p->bar)
        putchar('\n');
    if (p->json)
        print_measure(p->epoch, loss, right, rate, t->seconds);
    else
        print_text(stdout, 2, "epoch %d/%d  test accuracy %.2f %%  test loss %.4f  (%lld pictures)", p->epoch, p->epochs,
                   100 * right, loss, (long long)t->tests.n);
    fflush(stdout);
    return true;
}

static bool train_all(Training *t) {
    const Wishes *w = t->wishes;
    Progress p = {.bar = !w->plain && !w->json && has_terminal(stdout), .json = w->json,
                  .epochs = (int)ceil(w->epochs)};
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    while (t->done < t->steps && !interrupted) {
        p.epoch++;
        if (!train_epoch(t, &p))
            return false;
        if (interrupted && !w->json)
            printf("\nInterrupted after %lld of %lld steps.\n", (long long)t->done, (long long)t->steps);
        if (!measure(t, &p))
            return false;
    }
    return true;
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
    const Wishes *w = t->wishes;
    if (!examples_read(w->data, "train", &t->examples) || !examples_read(w->data, "t10k", &t->tests))
        return false;
    if (t->tests.height != t->examples.height || t->tests.width != t->examples.width) {
        fail("%s: pictures to train with and to test with differ in size", w->data);
        return false;
    }
    if (t->examples.n < w->batch) {
        fail("%s: %lld pictures are less than one batch of %lld", w->data, (long long)t->examples.n,
             (long long)w->batch);
        return false;
    }
    int classes = examples_classes(&t->examples), more = examples_classes(&t->tests);
    classes = more > classes ? more : classes;
    if (w->classes && !split_classes(w->classes, t->names, classes))
        return false;
    bool fashion = !w->classes && classes == 10 && strstr(w->data, "fashion");
    TrainerWishes net = {.height = t->examples.height, .width = t->examples.width, .classes = classes,
                         .names = w->classes ? t->names : fashion ? FASHION : NULL, .optimizer = w->optimizer,
                         .seed = w->seed, .threads = w->threads};
    if (!trainer_make(&net, &t->trainer))
        return false;
    int64_t dims[] = {w->batch, net.height, net.width};
    t->images = TF_AllocateTensor(TF_UINT8, dims, 3, (size_t)(w->batch * net.height * net.width));
    t->labels = TF_AllocateTensor(TF_UINT8, dims, 1, (size_t)w->batch);
    t->order = malloc((size_t)t->examples.n * sizeof *t->order);
    t->guesses = malloc((size_t)t->tests.n);
    t->chances = malloc((size_t)t->tests.n * sizeof *t->chances);
    t->report = (Report){&t->tests, t->guesses, t->chances, net.names, classes};
    if (!t->images || !t->labels || !t->order || !t->guesses || !t->chances) {
        fail("out of memory");
        return false;
    }
    for (int64_t i = 0; i < t->examples.n; i++)
        t->order[i] = (int32_t)i;
    t->random = (uint64_t)w->seed;
    t->steps = (int64_t)ceil(w->epochs * (double)(t->examples.n / w->batch));
    return true;
}

// What will be done, and in how much memory.
static bool announce(const Training *t) {
    mr_plan_info info = {.struct_size = sizeof info};
    if (!trainer_plan(&t->trainer, t->images, t->labels, &info))
        return false;
    if (t->wishes->json)
        printf("{\"nodes_per_step\": %zu, \"arena_bytes\": %lld, \"lower_bound\": %lld, \"arena_ratio\": %.4f, "
               "\"own_bytes\": %lld, \"num_dynamic\": %zu}\n",
               info.num_run, (long long)info.arena_bytes, (long long)info.lower_bound,
               info.lower_bound ? (double)info.arena_bytes / (double)info.lower_bound : 1, (long long)info.own_bytes,
               info.num_dynamic);
    else
        print_text(stdout, 2, "%lld pictures of %d x %d from %s, %lld to test with", (long long)t->examples.n,
                   t->examples.height, t->examples.width, t->wishes->data, (long long)t->tests.n);
    if (!t->wishes->json)
        print_text(stdout, 2, "%zu nodes a step; %s", info.num_run, plan_memory(&info));
    return true;
}

static void print_written(const char *path) {
    printf("{\"model\": ");
    print_json_text(path);
    printf("}\n");
}

static bool report(const Training *t) {
    if (t->wishes->svg && !curve_save(&t->curve, t->wishes->svg))
        return false;
    if (t->wishes->json)
        return report_print_json(&t->report);
    putchar('\n');
    curve_draw(&t->curve);
    return report_print(&t->report);
}

static void print_end(const Training *t) {
    const Wishes *w = t->wishes;
    if (w->json) {
        print_written(w->output);
        return;
    }
    print_text(stdout, 2, "%.0f images/s on average; the model is in %s%s%s",
               t->seconds > 0 ? (double)t->seen / t->seconds : 0, w->output, w->svg ? ", the curve in " : "",
               w->svg ? w->svg : "");
    print_text(stdout, 4, "Try: millrace run %s --input images=@%s/t10k-images-idx3-ubyte.gz[0:2] --output label --draw",
               w->output, w->data);
}

static void training_clear(Training *t) {
    if (t->images)
        TF_DeleteTensor(t->images);
    if (t->labels)
        TF_DeleteTensor(t->labels);
    free(t->order);
    free(t->guesses);
    free(t->chances);
    curve_clear(&t->curve);
    trainer_clear(&t->trainer);
    examples_clear(&t->examples);
    examples_clear(&t->tests);
}

static int train(const Wishes *wishes) {
    Training t = {.wishes = wishes};
    bool done = can_write(wishes->output) && (!wishes->svg || can_write(wishes->svg)) &&
                (!wishes->graph || can_write(wishes->graph)) && prepare(&t);
    done = done && (!wishes->graph || trainer_save_graph(&t.trainer, wishes->graph));
    done = done && announce(&t) && train_all(&t);
    done = done && trainer_save(&t.trainer, wishes->output) && report(&t);
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
static const char *read_option(int option, const char *text, Wishes *w) {
    double value = 0;
    switch (option) {
    case DATA: w->data = text; return NULL;
    case OUTPUT: w->output = text; return NULL;
    case GRAPH: w->graph = text; return NULL;
    case SVG: w->svg = text; return NULL;
    case CLASSES: w->classes = (char *)text; return NULL;
    case PLAIN: w->plain = true; return NULL;
    case JSON: w->json = true; return NULL;
    case OPTIMIZER:
        w->optimizer = text;
        return is_optimizer(text) ? NULL : "adam, gradient-descent, momentum, adagrad or rmsprop";
    case EPOCHS:
        return number(text, 1e-6, &w->epochs) ? NULL : "a number above 0";
    case RATE:
        return number(text, 0, &w->rate) ? NULL : "a number from 0";
    }
    bool fine = whole(text, option == SEED ? 0 : 1, &value) && (option != THREADS || value < 128);
    if (option == BATCH)
        w->batch = (int64_t)value;
    else if (option == SEED)
        w->seed = (int64_t)value;
    else
        w->threads = (int)value;
    return fine ? NULL : option == SEED ? "a whole number from 0" : option == BATCH ? "a whole number from 1"
                                                                                     : "a whole number from 1 to 127";
}

static int run(int argc, char **argv) {
    Wishes w = {.data = DEFAULT_DATA, .output = "fashion.pb", .optimizer = "adam", .epochs = 3, .rate = 2e-3,
                .batch = 64,
                .seed = 1};
    int option;
    while ((option = next_option(&command_train, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        const char *takes = read_option(option, optarg, &w);
        if (takes)
            return misuse_value(&command_train, option, takes, optarg);
    }
    if (optind < argc)
        return misuse(&command_train, "there is nothing to do with '%s': it takes options only", argv[optind]);
    return train(&w);
}

const Command command_train = {"train", "learn to tell pictures apart: the demo", "", ABOUT, OPTIONS, EXAMPLES, run};
