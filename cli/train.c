// millrace train — learns to tell pictures apart: the demo.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "train.h"

static const char ABOUT[] =
    "Trains a small convolutional network to tell pictures apart and writes it as a frozen GraphDef, which `millrace "
    "run` and TensorFlow load. FOLDER holds the four IDX files of a data set in the manner of MNIST, packed or not; "
    "without --data it is Fashion-MNIST, from Debian's package dataset-fashion-mnist.\n"
    "\n"
    "Ctrl-C ends the training, and SIGTERM does; the model is written as far as it came, and the exit code is 130 or 143.\n";

enum { DATA = 1, OUTPUT, GRAPH, EPOCHS, BATCH, RATE, OPTIMIZER, CLASSES, SEED, THREADS, PLAIN, JSON };
static const Option OPTIONS[] = {
    {"data", "FOLDER", "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., each perhaps with .gz", DATA},
    {"output", "FILE", "fashion.pb unless said otherwise", OUTPUT},
    {"graph", "FILE",
     "writes the graph of the training too, before it begins: `millrace plan` shows its steps", GRAPH},
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
    "millrace run fashion.pb --input images=@t10k-images-idx3-ubyte.gz[0:2] --output label --draw\n";

static const char DEFAULT_DATA[] = "/usr/share/datasets/fashion-mnist";
static const char *const FASHION[] = {"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
                                      "bag", "ankle boot"};

typedef struct {
    const char *data, *output, *graph, *optimizer;
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

// One line, drawn over the last one: the bar takes what the terminal's width leaves.
static void show_bar(const Progress *p, double rate, const char *left) {
    struct winsize size = {0};
    int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    char text[160];
    int n = snprintf(text, sizeof text, "%3d %%  loss %.4f  accuracy %5.2f %%  %.0f images/s  ETA %s",
                     (int)(p->step * 100 / (p->steps ? p->steps : 1)), p->loss, 100 * p->right, rate, left);
    char front[32];
    int width = columns - n - snprintf(front, sizeof front, "epoch %d/%d ", p->epoch, p->epochs) - 2;
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
        printf("epoch %d/%d  step %lld/%lld  loss %.4f  accuracy %5.2f %%  %.0f images/s  ETA %s\n", p->epoch,
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
    if (!trainer_measure(&t->trainer, &t->tests, &loss, &right))
        return false;
    if (p->json)
        print_measure(p->epoch, loss, right, rate, t->seconds);
    else
        printf("%sepoch %d/%d  test accuracy %.2f %%  test loss %.4f  (%lld pictures)\n", p->bar ? "\n" : "", p->epoch,
               p->epochs, 100 * right, loss, (long long)t->tests.n);
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
    const char *names[256];
    if (w->classes && !split_classes(w->classes, names, classes))
        return false;
    bool fashion = !w->classes && classes == 10 && strstr(w->data, "fashion");
    TrainerWishes net = {.height = t->examples.height, .width = t->examples.width, .classes = classes,
                         .names = w->classes ? names : fashion ? FASHION : NULL, .optimizer = w->optimizer,
                         .seed = w->seed, .threads = w->threads};
    if (!trainer_make(&net, &t->trainer))
        return false;
    int64_t dims[] = {w->batch, net.height, net.width};
    t->images = TF_AllocateTensor(TF_UINT8, dims, 3, (size_t)(w->batch * net.height * net.width));
    t->labels = TF_AllocateTensor(TF_UINT8, dims, 1, (size_t)w->batch);
    t->order = malloc((size_t)t->examples.n * sizeof *t->order);
    if (!t->images || !t->labels || !t->order) {
        fail("out of memory");
        return false;
    }
    for (int64_t i = 0; i < t->examples.n; i++)
        t->order[i] = (int32_t)i;
    t->random = (uint64_t)w->seed;
    t->steps = (int64_t)ceil(w->epochs * (double)(t->examples.n / w->batch));
    return true;
}

// Whether the model can be written, asked before the work and not after it.
static bool can_write(const char *path) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    bool can = access(path, W_OK) == 0 || (errno == ENOENT && access(slash ? folder : ".", W_OK) == 0);
    if (!can)
        fail("%s: %s", path, strerror(errno));
    return can;
}

// What will be done, and in how much memory.
static bool announce(const Training *t) {
    mr_plan_info info = {.struct_size = sizeof info};
    if (!trainer_plan(&t->trainer, t->images, t->labels, &info))
        return false;
    if (t->wishes->json)
        printf("{\"nodes_per_step\": %zu, \"arena_bytes\": %lld, \"lower_bound\": %lld, \"arena_ratio\": %.4f, "
               "\"own_bytes\": %lld, \"num_late\": %zu}\n",
               info.num_run, (long long)info.arena_bytes, (long long)info.lower_bound,
               info.lower_bound ? (double)info.arena_bytes / (double)info.lower_bound : 1, (long long)info.own_bytes,
               info.num_late);
    else
        printf("%lld pictures of %d x %d from %s, %lld to test with\n%zu nodes a step; %s\n", (long long)t->examples.n,
               t->examples.height, t->examples.width, t->wishes->data, (long long)t->tests.n, info.num_run,
               plan_memory(&info));
    return true;
}

static void print_written(const char *path) {
    printf("{\"model\": ");
    print_json_text(path);
    printf("}\n");
}

static int train(const Wishes *wishes) {
    Training t = {.wishes = wishes};
    bool done = can_write(wishes->output) && prepare(&t);
    done = done && (!wishes->graph || trainer_save_graph(&t.trainer, wishes->graph));
    done = done && announce(&t) && train_all(&t);
    done = done && trainer_save(&t.trainer, wishes->output);
    if (done && wishes->json)
        print_written(wishes->output);
    else if (done)
        printf("%.0f images/s on average; the model is in %s\nTry: millrace run %s --input images=@%s/"
               "t10k-images-idx3-ubyte.gz[0:2] --output label --draw\n",
               t.seconds > 0 ? (double)t.seen / t.seconds : 0, wishes->output, wishes->output, wishes->data);
    if (t.images)
        TF_DeleteTensor(t.images);
    if (t.labels)
        TF_DeleteTensor(t.labels);
    free(t.order);
    trainer_clear(&t.trainer);
    examples_clear(&t.examples);
    examples_clear(&t.tests);
    return !done ? EXIT_FAILED : interrupted ? 128 + interrupted : EXIT_DONE;
}

// A number of a least size; false where it is none.
static bool number(const char *text, double least, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= least && *out < 1e9;
}

static bool read_option(int option, const char *text, Wishes *w) {
    double value = 0;
    bool fine = true;
    switch (option) {
    case DATA: w->data = text; break;
    case OUTPUT: w->output = text; break;
    case GRAPH: w->graph = text; break;
    case OPTIMIZER: w->optimizer = text; break;
    case CLASSES: w->classes = (char *)text; break;
    case PLAIN: w->plain = true; break;
    case JSON: w->json = true; break;
    case EPOCHS: fine = number(text, 1e-6, &value), w->epochs = value; break;
    case RATE: fine = number(text, 0, &value), w->rate = value; break;
    case BATCH: fine = number(text, 1, &value), w->batch = (int64_t)value; break;
    case SEED: fine = number(text, 0, &value), w->seed = (int64_t)value; break;
    case THREADS: fine = number(text, 1, &value) && value < 128, w->threads = (int)value; break;
    }
    return fine;
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
        if (!read_option(option, optarg, &w))
            return misuse(&command_train, "'%s' is no value for %s", optarg, argv[optind - 2]);
    }
    if (optind < argc)
        return misuse(&command_train, "unexpected argument '%s'", argv[optind]);
    return train(&w);
}

const Command command_train = {"train", "learn to tell pictures apart: the demo", "", ABOUT, OPTIONS, EXAMPLES, run};
