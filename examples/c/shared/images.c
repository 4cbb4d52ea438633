// Images — see images.h.
#define _GNU_SOURCE
#include "images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"
#include "pictures.h"

// ---------------------------------------- the graph

typedef struct Trainer {
    TF_Graph *graph;
    mr_net *net;
    TF_Output feeds[3];                  // images, labels, rate
    TF_Output loss, accuracy, tested;    // `tested`: the accuracy when nothing is learned
    TF_Operation *train, *init;
} Trainer;

static void inputs(Trainer *t, int size, int channels) {
    t->feeds[0] = mr_input(t->net, "images", TF_FLOAT, (int64_t[]){-1, size, size, channels}, 4);
    t->feeds[1] = mr_input(t->net, "labels", TF_INT32, (int64_t[]){-1}, 1);
}

static void finish(Trainer *t, const char *optimizer, TF_Output rate) {
    TF_Status *status = TF_NewStatus();
    mr_optimizer rule = {.struct_size = sizeof rule, .name = optimizer};
    t->train = mr_minimize(t->net, &rule, rate, t->loss);
    t->init = mr_init(t->net);
    mr_net_status(t->net, status);
    check(status);
    TF_DeleteStatus(status);
}

// As in the benchmarks of whole networks: no dropout, gradient descent.
static void write_graph(const ImageNet *net, const char *path, int size, int classes) {
    Trainer t = {.graph = TF_NewGraph()};
    t.net = mr_net_new(t.graph, 1);
    inputs(&t, size, net->channels);
    TF_Output logits = net->logits(t.net, t.feeds[0], size, classes, (TF_Output){0});
    t.loss = mr_named(t.net, "loss", mr_loss_softmax(t.net, logits, t.feeds[1]));
    finish(&t, "gradient-descent", mr_scalar(t.net, 1e-3, TF_FLOAT));
    graph_save(t.graph, path);
    mr_net_delete(t.net);
    TF_DeleteGraph(t.graph);
}

// What answers: with variables, or with their first values as constants.
static void write_answers(const ImageNet *net, const char *path, int size, int classes, bool frozen) {
    Trainer t = {.graph = TF_NewGraph()};
    t.net = mr_net_new(t.graph, 1);
    inputs(&t, size, net->channels);
    mr_testing(t.net, 1);
    TF_Output logits = net->logits(t.net, t.feeds[0], size, classes, (TF_Output){0});
    TF_Output answer = mr_named(t.net, "answer", mr_op(t.net, "Softmax", &logits, 1));
    t.init = mr_init(t.net);
    TF_Status *status = TF_NewStatus();
    mr_net_status(t.net, status);
    check(status);
    if (frozen) {
        TF_Session *session = session_new(t.graph, 0);
        TF_Buffer *bytes = TF_NewBuffer();
        session_step(session, NULL, NULL, 0, NULL, NULL, 0, t.init);
        mr_freeze(session, &answer, 1, bytes, status);
        check(status);
        file_save(path, bytes->data, bytes->length);
        TF_DeleteBuffer(bytes);
        session_delete(session);
    } else
        graph_save(t.graph, path);
    TF_DeleteStatus(status);
    mr_net_delete(t.net);
    TF_DeleteGraph(t.graph);
}

static void write_trainer(Trainer *t, const ImageNet *net, const Pictures *p, int64_t seed) {
    t->graph = TF_NewGraph();
    t->net = mr_net_new(t->graph, seed);
    inputs(t, p->size, 1);
    t->feeds[2] = mr_input(t->net, "rate", TF_FLOAT, NULL, 0);
    TF_Output half = mr_scalar(t->net, 0.5, TF_FLOAT);
    TF_Output logits = net->logits(t->net, t->feeds[0], p->size, p->classes, half);
    t->loss = mr_loss_softmax(t->net, logits, t->feeds[1]);
    t->accuracy = mr_accuracy(t->net, logits, t->feeds[1]);
    finish(t, "adam", t->feeds[2]);
    mr_testing(t->net, 1);
    logits = net->logits(t->net, t->feeds[0], p->size, p->classes, half);
    t->tested = mr_accuracy(t->net, logits, t->feeds[1]);
    TF_Status *status = TF_NewStatus();
    mr_net_status(t->net, status);
    check(status);
    TF_DeleteStatus(status);
}

// ---------------------------------------- training

enum { TESTED_AT_ONCE = 200 };

static double measure(const Trainer *t, TF_Session *session, const Pictures *test, int most) {
    most = most < test->n ? most : test->n;
    int batch = most < TESTED_AT_ONCE ? most : TESTED_AT_ONCE, rounds = 0;
    TF_Tensor *values[] = {tensor_of(TF_FLOAT, 4, (int64_t[]){batch, test->size, test->size, 1}),
                           tensor_of(TF_INT32, 1, (int64_t[]){batch})};
    double sum = 0, part;
    for (int at = 0; at + batch <= most; at += batch, rounds++) {
        pictures_take(test, NULL, at, values[0], values[1]);
        session_step(session, t->feeds, values, 2, &t->tested, &part, 1, NULL);
        sum += part;
    }
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
    return sum / rounds;
}

typedef struct Plan {
    int steps, batch, report, tested;
    double rate;
    unsigned seed;
    int64_t begin;              // the steps that were taken before
    const Checkpoint *kept;
    FILE *curve;
} Plan;

// Gives the steps that are taken in all.
static int64_t train(const Trainer *t, TF_Session *session, const Pictures *data, const Pictures *test, const Plan *plan) {
    TF_Tensor *values[] = {tensor_of(TF_FLOAT, 4, (int64_t[]){plan->batch, data->size, data->size, 1}),
                           tensor_of(TF_INT32, 1, (int64_t[]){plan->batch}), tensor_of(TF_FLOAT, 0, NULL)};
    *(float *)TF_TensorData(values[2]) = (float)plan->rate;
    int *order = malloc((size_t)data->n * sizeof *order), at = data->n;
    unsigned seed = plan->seed + (unsigned)plan->begin;
    int step = 0;
    for (int i = 0; order && i < data->n; i++)
        order[i] = i;
    double loss = 0, right = 0, begin = seconds();
    for (; step < plan->steps && order && !learning_asked_to_end(); at += plan->batch) {
        if (at + plan->batch > data->n) {
            pictures_shuffle(order, data->n, &seed);
            at = 0;
        }
        pictures_take(data, order, at, values[0], values[1]);
        double numbers[2];
        session_step(session, t->feeds, values, 3, (TF_Output[]){t->loss, t->accuracy}, numbers, 2, t->train);
        loss += numbers[0];
        right += numbers[1];
        if (++step % plan->report && step != plan->steps)
            continue;
        int n = (step - 1) % plan->report + 1;
        double tested = measure(t, session, test, plan->tested);
        printf("step %5lld  loss %.4f  learned %5.1f %%  unseen %5.1f %%  %.0f images/s\n", (long long)plan->begin + step,
               loss / n, 100 * right / n, 100 * tested, step * plan->batch / (seconds() - begin));
        if (plan->curve)
            fprintf(plan->curve, "%lld %.6f %.6f\n", (long long)plan->begin + step, loss / n, tested);
        fflush(stdout);
        checkpoint_save(plan->kept, session, plan->begin + step, data->classes);
        loss = right = 0;
    }
    free(order);
    for (int i = 0; i < 3; i++)
        TF_DeleteTensor(values[i]);
    return plan->begin + step;
}

static bool write_files(int argc, char **argv, const ImageNet *net) {
    const char *graph = option(argc, argv, "graph", NULL), *answers = option(argc, argv, "answers", NULL);
    const char *frozen = option(argc, argv, "frozen", NULL);
    int size = (int)option_number(argc, argv, "size", net->size);
    int classes = (int)option_number(argc, argv, "classes", net->size < 100 ? 10 : 1000);
    if (graph)
        write_graph(net, graph, size, classes);
    if (answers)
        write_answers(net, answers, size, classes, false);
    if (frozen)
        write_answers(net, frozen, size, classes, true);
    return graph || answers || frozen;
}

static const char ABOUT[] =
    "Learns to tell pictures apart. Ctrl-C ends it; what was learned until then is kept.";
static const Option OPTIONS[] = {
    {"data", "FOLDER", "IDX files in the manner of MNIST; Fashion-MNIST, else stripes of its own making (none)"},
    {"steps", "N", "steps to take"},
    {"batch", "N", "pictures in a step, 64"},
    {"rate", "R", "of learning, with Adam"},
    {"test", "N", "pictures at most that are tested with"},
    {"report", "N", "steps between reports, and between checkpoints; a tenth of all"},
    LEARNING_OPTIONS,
    {"threads", "N", "as many as the process may use unless said otherwise"},
    {"seed", "N", "of first values and order, 1"},
    {"curve", "FILE", "writes step, loss and accuracy at each report"},
    {"graph", "FILE", "writes the training step as a GraphDef instead of learning"},
    {"answers", "FILE", "the same of what answers"},
    {"frozen", "FILE", "the same with its first values as constants"},
    {"size", "N", "of the pictures in these files; the network's own"},
    {"classes", "N", "in these files; 1000, or 10 of a small network"},
    {0}};

static Plan read_plan(int argc, char **argv, const ImageNet *net) {
#define NUMBER(name, otherwise) option_number(argc, argv, (name), (otherwise))
    const char *curve = option(argc, argv, "curve", NULL);
    Plan plan = {.steps = (int)NUMBER("steps", net->steps), .batch = (int)NUMBER("batch", 64),
                 .rate = NUMBER("rate", net->rate), .seed = (unsigned)NUMBER("seed", 1)};
    plan.report = (int)NUMBER("report", plan.steps >= 10 ? plan.steps / 10 : 1);
    plan.tested = (int)NUMBER("test", plan.steps >= 100 ? 10000 : TESTED_AT_ONCE);
    if (plan.steps < 1 || plan.batch < 1 || plan.report < 1 || plan.tested < 1)
        quit("%s: --steps, --batch, --report and --test are 1 at least", net->name);
    if (curve && !(plan.curve = fopen(curve, "we")))
        quit("%s: can't be written", curve);
    return plan;
}

int image_program(int argc, char **argv, const ImageNet *net) {
    check_options(argc, argv, ABOUT, OPTIONS);
    if (write_files(argc, argv, net))
        return 0;
    Plan plan = read_plan(argc, argv, net);
    Pictures data, test;
    const char *folder = pictures_open(option(argc, argv, "data", NULL), &data, &test);
    printf("%s: %d pictures of %s, batches of %d\n", net->name, data.n, folder ? folder : "stripes", plan.batch);
    Trainer t = {0};
    write_trainer(&t, net, &data, plan.seed);
    Checkpoint kept = checkpoint_new(t.graph, argc, argv);
    TF_Session *session = session_new(t.graph, (int)NUMBER("threads", 0));
    session_step(session, NULL, NULL, 0, NULL, NULL, 0, t.init);
    plan.kept = &kept;
    plan.begin = checkpoint_load(&kept, session, data.classes);
    learning_begin();
    int64_t steps = train(&t, session, &data, &test, &plan);
    checkpoint_save(&kept, session, steps, data.classes);
    checkpoint_tell(&kept, steps);
    session_delete(session);
    mr_net_delete(t.net);
    TF_DeleteGraph(t.graph);
    pictures_clear(&data);
    pictures_clear(&test);
    file_close(plan.curve, option(argc, argv, "curve", NULL));
    output_written();
    return learning_code();
}
