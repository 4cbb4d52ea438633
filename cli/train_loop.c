// Training loop — what mr_trainer asks for while the demo learns: pictures in an order of chance, what is shown after each
// step and pass, and where all of that stands, for checkpoints.
#include <math.h>

#include "train.h"

// ---------------------------------------- order

uint64_t next_random(uint64_t *state) {  // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void shuffle(int32_t *order, int64_t n, uint64_t *state) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(next_random(state) % (uint64_t)(i + 1));
        int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static int64_t steps_of_epoch(const Training *t) {
    return t->examples.n / t->options->batch;
}

// Each pass shuffles the order that the one before it had.
static void begin_epoch(Training *t) {
    shuffle(t->order, t->examples.n, &t->random);
    t->epoch++;
    t->at = 0;
    t->progress.epoch = (int)t->epoch;
    t->progress.step = 0;
    t->progress.steps = steps_of_epoch(t);
    if (t->steps - t->done < t->progress.steps)
        t->progress.steps = t->steps - t->done;
    t->progress.seconds = 0;
    t->progress.seen = 0;
}

// ---------------------------------------- input

static void fill_batch(const Training *t, TF_Tensor *images, TF_Tensor *labels) {
    size_t picture = (size_t)t->examples.height * (size_t)t->examples.width;
    const char *from = TF_TensorData(t->examples.images), *classes = TF_TensorData(t->examples.labels);
    for (int64_t i = 0; i < t->options->batch; i++) {
        size_t which = (size_t)t->order[t->at * t->options->batch + i];
        memcpy((char *)TF_TensorData(images) + (size_t)i * picture, from + which * picture, picture);
        ((char *)TF_TensorData(labels))[i] = classes[which];
    }
}

bool training_batch(const Training *t, int64_t step, TF_Tensor *out[3]) {
    int64_t dims[] = {t->options->batch, t->examples.height, t->examples.width};
    out[0] = TF_AllocateTensor(TF_UINT8, dims, 3, (size_t)(dims[0] * dims[1] * dims[2]));
    out[1] = TF_AllocateTensor(TF_UINT8, dims, 1, (size_t)dims[0]);
    out[2] = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
    if (!out[0] || !out[1] || !out[2])
        return false;
    fill_batch(t, out[0], out[1]);
    *(float *)TF_TensorData(out[2]) =
        (float)(t->options->rate * 0.5 * (1 + cos(M_PI * (double)step / (double)t->steps)));
    return true;
}

static int next(void *arg, int64_t step, TF_Tensor **values, TF_Status *status) {
    Training *t = arg;
    if (t->epoch && t->at == steps_of_epoch(t)) {
        t->at = -1;
        return 0;
    }
    if (!t->epoch || t->at < 0)
        begin_epoch(t);
    t->step_began = now();
    if (!training_batch(t, step, values))
        TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory");
    t->at++;
    return 1;
}

// ---------------------------------------- where it stands

// The head of what a checkpoint holds of the input; the points of the curve follow.
typedef struct {
    int64_t n, batch, seed, steps;   // of the data and the command: others can't go on from here
    int64_t epoch, at, points;
    double loss, right;
} Position;

static Position position_of(const Training *t) {
    return (Position){t->examples.n, t->options->batch, t->options->seed, t->steps, t->epoch, t->at, t->curve.n,
                      t->progress.loss, t->progress.right};
}

static void free_bytes(void *data, size_t size) {
    (void)size;
    free(data);
}

static void save_position(void *arg, TF_Buffer *out, TF_Status *status) {
    const Training *t = arg;
    Position position = position_of(t);
    size_t points = (size_t)t->curve.n * sizeof *t->curve.points;
    char *bytes = malloc(sizeof position + points);
    if (!bytes) {
        TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    memcpy(bytes, &position, sizeof position);
    if (points)
        memcpy(bytes + sizeof position, t->curve.points, points);
    *out = (TF_Buffer){bytes, sizeof position + points, free_bytes};
}

// The passes before are shuffled again, from the seed: that takes 0.3 ms each.
static void go_to(Training *t, const Position *there) {
    for (t->done = 0; t->epoch < there->epoch; t->done += t->epoch < there->epoch ? steps_of_epoch(t) : 0)
        begin_epoch(t);
    t->at = there->at;
    t->progress.step = there->at < 0 ? t->progress.steps : there->at;
    t->done += t->progress.step;
    t->progress.loss = there->loss;
    t->progress.right = there->right;
}

static void load_position(void *arg, const void *bytes, size_t n, TF_Status *status) {
    Training *t = arg;
    Position there, here = position_of(t);
    bool whole = n >= sizeof there;
    if (whole)
        memcpy(&there, bytes, sizeof there);
    if (!whole || n - sizeof there != (size_t)there.points * sizeof(CurvePoint)) {
        TF_SetStatus(status, TF_DATA_LOSS, "what the checkpoint holds of the input is malformed");
        return;
    }
    if (memcmp(&here, &there, 4 * sizeof(int64_t)) != 0 || there.epoch < 0 ||
        there.epoch > t->steps / steps_of_epoch(t) + 1 || there.at > steps_of_epoch(t)) {
        TF_SetStatus(status, TF_FAILED_PRECONDITION,
                     "the checkpoint was made with other --data, --batch, --seed or --epochs: give these, or another folder");
        return;
    }
    const char *points = (const char *)bytes + sizeof there;
    for (int64_t i = 0; i < there.points; i++) {
        CurvePoint point;
        memcpy(&point, points + (size_t)i * sizeof point, sizeof point);
        if (!curve_add(&t->curve, point))
            TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory");
    }
    go_to(t, &there);
}

// ---------------------------------------- after steps

// The mean over about the last hundred steps.
static void running_mean(double *mean, double value, int64_t step) {
    double weight = fmax(0.01, 1.0 / (double)(step + 1));
    *mean += weight * (value - *mean);
}

enum { CURVE_POINTS = 400 };

static double epochs_done(const Training *t) {
    return (double)t->done / (double)steps_of_epoch(t);
}

static bool add_learned(Training *t) {
    int64_t every = t->steps / CURVE_POINTS + 1;
    return (t->done % every && t->done != 1 && t->done != t->steps) ||
           curve_add(&t->curve, (CurvePoint){epochs_done(t), t->progress.loss, t->progress.right, false});
}

static int after_step(void *arg, const mr_trainer_progress *progress) {
    Training *t = arg;
    Progress *p = &t->progress;
    running_mean(&p->loss, progress->values[0], t->done);
    running_mean(&p->right, progress->values[1], t->done);
    p->step++;
    t->done = progress->step;
    p->seen += t->options->batch;
    t->seen += t->options->batch;
    t->failed = t->failed || !add_learned(t);
    double took = now() - t->step_began;
    p->seconds += took;
    t->seconds += took;
    p->left = p->seconds / (double)(p->seen / t->options->batch) * (double)(t->steps - t->done);
    progress_show(p, p->step == p->steps || *t->stop);
    t->measured = false;
    return t->failed;
}

static void print_measure(int epoch, double loss, double right, double rate, double all_seconds) {
    printf("{\"epoch\": %d, \"test_loss\": ", epoch);
    print_json_number(loss, 5);
    printf(", \"test_accuracy\": ");
    print_json_number(right, 5);
    printf(", \"images_per_second\": %.1f, \"seconds\": %.1f}\n", rate, all_seconds);
}

bool training_measure(Training *t) {
    const Progress *p = &t->progress;
    double loss, right, rate = t->seconds > 0 ? (double)t->seen / t->seconds : 0;
    if (!network_measure(&t->network, &t->tests, t->guesses, t->chances, &loss, &right) ||
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
    t->measured = true;
    return true;
}

static int after_epoch(void *arg, const mr_trainer_progress *progress) {
    Training *t = arg;
    (void)progress;
    t->failed = t->failed || !training_measure(t);
    return t->failed;
}

mr_trainer_options training_options(Training *t) {
    static const char *const NAMES[] = {"loss", "accuracy"};
    const Network *net = &t->network;
    const TrainOptions *w = t->options;
    memcpy(t->feeds, (TF_Output[]){net->images, net->labels, net->rate}, sizeof t->feeds);
    memcpy(t->fetches, (TF_Output[]){net->loss, net->right}, sizeof t->fetches);
    return (mr_trainer_options){
        .struct_size = sizeof(mr_trainer_options), .train = net->train, .init = net->init, .fetches = t->fetches,
        .names = NAMES, .num_fetches = 2, .feeds = t->feeds, .num_feeds = 3, .next = next,
        .save_position = save_position, .load_position = load_position, .input = t, .after_step = after_step,
        .after_epoch = after_epoch, .hooks = t, .folder = w->checkpoints, .save_steps = w->save_steps,
        .save_seconds = w->save_steps ? 0 : 30, .keep = w->keep, .logdir = w->logdir, .summary_steps = w->log_steps,
        .steps = t->steps, .stop = t->stop,
    };
}
