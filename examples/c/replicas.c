// replicas — a worker of a cluster, which learns pictures together with the others and survives whoever is lost on the way.
//
// It is a server of its cluster and a client of itself. The variables lie on the tasks of the job "ps"; without such tasks it
// trains alone. A step that fails for want of a task is told of, and the session made anew: worker 0, the chief, gives values to
// variables that have none, those of the last checkpoint or the first ones.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "millrace/cluster.h"
#include "millrace/replicas.h"
#include "shared/learning.h"
#include "shared/pictures.h"

enum { MOST_STORES = 100, TESTED_AT_ONCE = 200, NAME = 64 };

typedef struct Updates {
    pthread_t thread;
    TF_Session *session;
    const TF_Operation *update;
    bool running;
} Updates;

typedef struct Worker {
    mr_cluster *cluster;
    int task, n_workers, n_stores;
    TF_Server *server;
    char store_names[MOST_STORES][NAME], prefixes[MOST_STORES][1024];
    mr_store stores[MOST_STORES];
    TF_Graph *graph;
    mr_net *net;
    mr_replicas steps;
    TF_Output feeds[2], loss, count, tested;   // images, labels
    TF_Operation *init;
    TF_Session *session;
    Updates updates;
    int timeout_ms;                            // of each step
    bool keep;                                 // whether the stores have checkpoints
    int64_t steps_done, steps_wanted;          // of all together
    TF_Status *status;
    double begin;
} Worker;

static const char ABOUT[] =
    "Learns pictures as one of several workers: `millrace cluster --ps 2 --workers 3 -- replicas --data none`. TF_CONFIG in the "
    "environment says who is in the cluster; without it, it learns alone.";
static const Option OPTIONS[] = {
    {"mode", "MODE", "asynchronous, synchronous or bounded; asynchronous"},
    {"needed", "N", "synchronous: gradients of so many workers make a step, the others are backups; all"},
    {"staleness", "N", "bounded: steps that one may be ahead, 3"},
    {"units", "N", "of the hidden layer, 128"},
    {"steps", "N", "steps of all together, 300"},
    {"batch", "N", "pictures in a step, 64"},
    {"rate", "R", "of learning, with gradient descent and momentum, 0.02"},
    {"data", "FOLDER", "IDX files in the manner of MNIST; Fashion-MNIST, else stripes of its own making (none)"},
    {"test", "N", "pictures at most that are tested with, 1000"},
    {"report", "SECONDS", "between reports, 1"},
    {"timeout", "SECONDS", "that a step may take, 20"},
    {"keep", "FOLDER", "where parameter tasks keep checkpoints; nowhere"},
    {"keep-every", "N", "steps between checkpoints, 20"},
    {0}};

// ---------------------------------------- the graph

static TF_Output write_logits(mr_net *net, TF_Output x, int units, int classes) {
    x = mr_max_pool(net, "pool1", mr_conv(net, "conv1", x, 32, 3, 1, "Relu"), 2, 2);
    x = mr_max_pool(net, "pool2", mr_conv(net, "conv2", x, 64, 3, 1, "Relu"), 2, 2);
    x = mr_dense(net, "dense1", mr_flatten(net, "flat", x), units, "Relu");
    return mr_dense(net, "dense2", x, classes, NULL);
}

static void place(Worker *w, const char *keep) {
    const char *names[MOST_STORES];
    char here[NAME];
    snprintf(here, sizeof here, "/job:%s/task:%d", mr_cluster_job(w->cluster), w->task);
    for (int i = 0; i < w->n_stores; i++) {
        snprintf(w->store_names[i], NAME, "/job:ps/task:%d", i);
        snprintf(w->prefixes[i], sizeof w->prefixes[i], "%s/store-%d", keep ? keep : ".", i);
        names[i] = w->store_names[i];
    }
    mr_devices devices = {.struct_size = sizeof devices, .here = here, .stores = names, .num_stores = w->n_stores, .by_size = 1};
    mr_net_devices(w->net, &devices);
}

static void write_graph(Worker *w, const Pictures *p, int argc, char **argv) {
    w->graph = TF_NewGraph();
    w->net = mr_net_new(w->graph, 1);
    place(w, option(argc, argv, "keep", NULL));
    w->feeds[0] = mr_input(w->net, "images", TF_FLOAT, (int64_t[]){-1, p->size, p->size, 1}, 4);
    w->feeds[1] = mr_input(w->net, "labels", TF_INT32, (int64_t[]){-1}, 1);
    TF_Output logits = write_logits(w->net, w->feeds[0], (int)option_number(argc, argv, "units", 128), p->classes);
    w->loss = mr_loss_softmax(w->net, logits, w->feeds[1]);
    w->tested = mr_accuracy(w->net, logits, w->feeds[1]);
    w->steps = (mr_replicas){.struct_size = sizeof w->steps, .mode = option(argc, argv, "mode", "asynchronous"),
                             .num_replicas = w->n_workers, .replica = w->task,
                             .needed = (int)option_number(argc, argv, "needed", 0),
                             .staleness = (int)option_number(argc, argv, "staleness", 3)};
    mr_optimizer rule = {.struct_size = sizeof rule, .name = "momentum"};
    mr_minimize_replicas(w->net, &rule, mr_scalar(w->net, option_number(argc, argv, "rate", 0.02), TF_FLOAT), w->loss, &w->steps);
    w->count = mr_steps(w->net);
    w->init = mr_init(w->net);
    for (int i = 0; i < w->n_stores; i++) {
        w->stores[i] = (mr_store){.struct_size = sizeof(mr_store), .device = w->store_names[i], .prefix = w->prefixes[i]};
        mr_keep_store(w->net, &w->stores[i]);
    }
    mr_net_status(w->net, w->status);
    check(w->status);
}

// ---------------------------------------- the session

static size_t put_number(unsigned char *at, uint64_t value) {
    size_t n = 0;
    for (; value >= 128; value >>= 7)
        at[n++] = (unsigned char)(value | 128);
    at[n++] = (unsigned char)value;
    return n;
}

// A ConfigProto: device_filters (4), so that a session waits for nobody but the stores and this worker, and
// operation_timeout_in_ms (11).
static void configure(const Worker *w, TF_SessionOptions *options) {
    unsigned char config[MOST_STORES * NAME + 32];
    size_t n = 0;
    for (int i = -1; i < w->n_stores; i++) {
        char name[NAME];
        int length = i < 0 ? snprintf(name, sizeof name, "/job:%s/task:%d", mr_cluster_job(w->cluster), w->task)
                           : snprintf(name, sizeof name, "%s", w->store_names[i]);
        config[n++] = 4 << 3 | 2;
        config[n++] = (unsigned char)length;
        memcpy(config + n, name, (size_t)length);
        n += (size_t)length;
    }
    config[n++] = 11 << 3;
    n += put_number(config + n, (uint64_t)w->timeout_ms);
    TF_SetConfig(options, config, n, w->status);
    check(w->status);
}

static void session_open(Worker *w) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    configure(w, options);
    TF_SetTarget(options, TF_ServerTarget(w->server));
    w->session = TF_NewSession(w->graph, options, w->status);
    check(w->status);
    TF_DeleteSessionOptions(options);
}

// The chief's updates, as long as its session lasts.
static void *update(void *arg) {
    Updates *u = arg;
    TF_Status *status = TF_NewStatus();
    while (TF_GetCode(status) == TF_OK || TF_GetCode(status) == TF_DEADLINE_EXCEEDED)
        TF_SessionRun(u->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &u->update, 1, NULL, status);
    TF_DeleteStatus(status);
    return NULL;
}

static void updates_begin(Worker *w) {
    Updates *u = &w->updates;
    *u = (Updates){.session = w->session, .update = w->steps.update};
    u->running = u->update && pthread_create(&u->thread, NULL, update, u) == 0;
}

static void session_drop(Worker *w) {
    TF_Status *ignored = TF_NewStatus();
    TF_CloseSession(w->session, ignored);
    if (w->updates.running)
        pthread_join(w->updates.thread, NULL);
    w->updates.running = false;
    TF_DeleteSession(w->session, ignored);
    TF_DeleteStatus(ignored);
    w->session = NULL;
}

// A number that a step gives; what went wrong is in w->status.
static double fetch(Worker *w, TF_Tensor *const *values, TF_Output edge, const TF_Operation *target) {
    TF_Tensor *result = NULL;
    TF_SessionRun(w->session, NULL, w->feeds, values, values ? 2 : 0, edge.oper ? &edge : NULL, &result, edge.oper != NULL,
                  target ? &target : NULL, target != NULL, NULL, w->status);
    if (TF_GetCode(w->status) != TF_OK || !result)
        return 0;
    const void *data = TF_TensorData(result);
    double number = TF_TensorType(result) == TF_FLOAT   ? (double)*(const float *)data
                    : TF_TensorType(result) == TF_INT64 ? (double)*(const int64_t *)data
                                                        : *(const unsigned char *)data;
    TF_DeleteTensor(result);
    return number;
}

static bool done_well(const Worker *w) {
    return TF_GetCode(w->status) == TF_OK;
}

static void tell(const Worker *w, const char *format, const char *text) {
    printf("%.2f ", seconds() - w->begin);
    printf(format, text);
    printf("\n");
    fflush(stdout);
}

static bool run_op(Worker *w, const TF_Operation *op) {
    if (op)
        fetch(w, NULL, (TF_Output){0}, op);
    return !op || done_well(w);
}

// The stores whose variables have no values; what went wrong is in w->status.
static int find_missing(Worker *w, bool *out_missing) {
    int missing = 0;
    for (int i = 0; i < w->n_stores && done_well(w); i++) {
        out_missing[i] = w->stores[i].ready.oper && fetch(w, NULL, w->stores[i].ready, NULL) == 0;
        missing += out_missing[i];
    }
    return missing;
}

static bool has_checkpoint(const Worker *w, int store) {
    char path[1100];
    snprintf(path, sizeof path, "%s.index", w->prefixes[store]);
    return w->keep && access(path, F_OK) == 0;
}

// Stores that have no values get those of their checkpoints or, where one has none, all get first values. That is the chief's;
// the others wait for it.
static bool give_values(Worker *w) {
    bool missing[MOST_STORES] = {false};
    TF_SetStatus(w->status, TF_OK, "");
    int left = find_missing(w, missing);
    if (!done_well(w) || w->task != 0)
        return done_well(w) && !left;
    for (int i = 0; i < w->n_stores; i++)
        if (missing[i] && has_checkpoint(w, i) && run_op(w, w->stores[i].restore)) {
            tell(w, "%s is restored from its checkpoint", w->store_names[i]);
            left--;
        }
    return done_well(w) && ((w->n_stores && !left) || run_op(w, w->init));
}

// Who begins anew when all is done would wait at its gate for others that have left.
static bool is_done(Worker *w) {
    int64_t count = (int64_t)fetch(w, NULL, w->count, NULL);
    if (done_well(w))
        w->steps_done = count;
    return done_well(w) && count >= w->steps_wanted;
}

// A session whose variables have values; with `start` this worker has its part of them, unless all is done.
static void make_ready(Worker *w, bool start) {
    for (;;) {
        if (learning_asked_to_end())
            return;
        if (!w->session)
            session_open(w);
        bool good = give_values(w);
        if (good && start && is_done(w))
            return;
        good = done_well(w) && good;
        if (good && start)
            updates_begin(w);   // who begins anew may have to wait for the others
        if (good && run_op(w, start ? w->steps.start : NULL))
            return;
        session_drop(w);
        usleep(100000);
    }
}

// ---------------------------------------- training

typedef struct Plan {
    int64_t keep_every;
    int batch;
    double report;
} Plan;

typedef struct Order {
    int *at, n, next;
    unsigned seed;
} Order;

static void next_batch(const Pictures *data, Order *order, int batch, TF_Tensor **values) {
    if (order->next + batch > order->n) {
        pictures_shuffle(order->at, order->n, &order->seed);
        order->next = 0;
    }
    pictures_take(data, order->at, order->next, values[0], values[1]);
    order->next += batch;
}

static void keep_values(Worker *w) {
    for (int i = 0; i < w->n_stores && done_well(w); i++)
        run_op(w, w->stores[i].save);
}

// After a failure: says what it was, and begins anew.
static void recover(Worker *w, bool start) {
    char message[400];
    snprintf(message, sizeof message, "%s", TF_Message(w->status));
    for (char *p = message; *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    tell(w, "noticed: %s", message);
    session_drop(w);
    make_ready(w, start);
    if (!learning_asked_to_end())
        tell(w, "goes on%s", "");
}

static void train(Worker *w, const Pictures *data, const Plan *plan) {
    TF_Tensor *values[] = {tensor_of(TF_FLOAT, 4, (int64_t[]){plan->batch, data->size, data->size, 1}),
                           tensor_of(TF_INT32, 1, (int64_t[]){plan->batch})};
    Order order = {malloc((size_t)data->n * sizeof(int)), data->n, data->n, 17 + (unsigned)w->task};
    for (int i = 0; order.at && i < order.n; i++)
        order.at[i] = i;
    int64_t kept = 0, own = 0, own_reported = 0;
    double reported = seconds();
    while (w->steps_done < w->steps_wanted && order.at && !learning_asked_to_end()) {
        next_batch(data, &order, plan->batch, values);
        double loss = fetch(w, values, w->loss, w->steps.train);
        bool over = done_well(w) && is_done(w);
        if (done_well(w) && w->task == 0 && w->keep && w->steps_done >= kept + plan->keep_every) {
            keep_values(w);
            kept = w->steps_done;
        }
        if (TF_GetCode(w->status) == TF_OUT_OF_RANGE)
            break;   // the chief has ended the training
        if (!done_well(w)) {
            recover(w, true);
            continue;
        }
        own++;
        if (seconds() - reported < plan->report && !over)
            continue;
        printf("%.2f step %lld own %lld rate %.2f loss %.4f\n", seconds() - w->begin, (long long)w->steps_done, (long long)own,
               (double)(own - own_reported) / (seconds() - reported), loss);
        fflush(stdout);
        reported = seconds();
        own_reported = own;
    }
    if (!learning_asked_to_end() && w->task == 0)
        run_op(w, w->steps.end);
    free(order.at);
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
}

static void test(Worker *w, const Pictures *test, int most) {
    int n = most < test->n ? most : test->n, batch = n < TESTED_AT_ONCE ? n : TESTED_AT_ONCE, rounds = 0;
    TF_Tensor *values[] = {tensor_of(TF_FLOAT, 4, (int64_t[]){batch, test->size, test->size, 1}),
                           tensor_of(TF_INT32, 1, (int64_t[]){batch})};
    double sum = 0;
    session_drop(w);
    make_ready(w, false);
    while ((rounds + 1) * batch <= n && w->session) {
        pictures_take(test, NULL, rounds * batch, values[0], values[1]);
        double right = fetch(w, values, w->tested, NULL);
        if (!done_well(w)) {
            recover(w, false);   // who is lost then is waited for, too
            continue;
        }
        sum += right;
        rounds++;
    }
    printf("%.2f accuracy %.4f\n", seconds() - w->begin, rounds ? sum / rounds : 0);
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
}

// ---------------------------------------- the worker

static void serve(Worker *w) {
    TF_Buffer *def = TF_NewBuffer();
    w->cluster = mr_cluster_new(NULL, w->status);
    check(w->status);
    mr_server_def(getenv("TF_CONFIG"), NULL, -1, 0, def, w->status);
    check(w->status);
    w->server = TF_NewServer(def->data, def->length, w->status);
    check(w->status);
    TF_ServerStart(w->server, w->status);
    check(w->status);
    TF_DeleteBuffer(def);
    w->task = mr_cluster_task(w->cluster);
    w->n_workers = mr_cluster_num_tasks(w->cluster, mr_cluster_job(w->cluster));
    w->n_stores = mr_cluster_num_tasks(w->cluster, "ps");
    if (w->n_stores > MOST_STORES)
        quit("%d parameter tasks, expected %d at most", w->n_stores, MOST_STORES);
}

static void leave(Worker *w) {
    if (w->session)
        session_drop(w);
    mr_net_delete(w->net);
    TF_DeleteGraph(w->graph);
    TF_DeleteServer(w->server);
    mr_cluster_delete(w->cluster);
    TF_DeleteStatus(w->status);
}

int main(int argc, char **argv) {
    check_options(argc, argv, ABOUT, OPTIONS);
    Worker w = {.status = TF_NewStatus(), .begin = seconds(), .timeout_ms = (int)(1000 * option_number(argc, argv, "timeout", 20)),
                .keep = option(argc, argv, "keep", NULL) != NULL};
    w.steps_wanted = (int64_t)option_number(argc, argv, "steps", 300);
    Plan plan = {.batch = (int)option_number(argc, argv, "batch", 64),
                 .report = option_number(argc, argv, "report", 1),
                 .keep_every = (int64_t)option_number(argc, argv, "keep-every", 20)};
    int tested = (int)option_number(argc, argv, "test", 1000);
    if (w.steps_wanted < 1 || plan.batch < 1 || tested < 1 || w.timeout_ms < 1)
        quit("--steps, --batch and --test are 1 at least, --timeout is above 0");
    Pictures data, unseen;
    pictures_open(option(argc, argv, "data", NULL), &data, &unseen);
    learning_begin();
    serve(&w);
    write_graph(&w, &data, argc, argv);
    make_ready(&w, true);
    tell(&w, "begins%s", "");
    train(&w, &data, &plan);
    if (w.task == 0 && !learning_asked_to_end())
        test(&w, &unseen, tested);
    leave(&w);
    pictures_clear(&data);
    pictures_clear(&unseen);
    output_written();
    return learning_code();
}
