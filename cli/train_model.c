// Training of any model — a graph with a training step, fed with columns of data.
#include <math.h>

#include "columns.h"
#include "train.h"

typedef struct {
    const ModelTraining *task;
    const TrainOptions *how;
    Model model;
    Columns data;
    const Column *columns[MOST_EDGES];   // of the feeds
    TF_Output feeds[MOST_EDGES], fetches[MOST_EDGES];
    const char *names[MOST_EDGES];
    int n_feeds, n_fetches;
    Feeds set;                           // placeholders that stay as they are
    int32_t *order;
    uint64_t random;
    int64_t epoch, at;                   // passes begun; rows of this one that were given, -1: it is over
    double began, shown;
    int64_t first;                       // step at which this run began
    const volatile int *stop;
} Job;

// ---------------------------------------- input

static void begin_epoch(Job *j) {
    if (!j->task->in_order)
        shuffle(j->order, j->data.rows, &j->random);
    j->epoch++;
    j->at = 0;
}

// 0: fewer rows than a batch are left. They are left out, as in the demo: shapes stay the same.
static int64_t rows_of_batch(const Job *j) {
    int64_t left = j->data.rows - j->at, batch = j->how->batch;
    return left >= batch ? batch : 0;
}

static TF_Tensor *copy_of(const TF_Tensor *from) {
    int64_t dims[16];
    for (int i = 0; i < TF_NumDims(from) && i < 16; i++)
        dims[i] = TF_Dim(from, i);
    TF_Tensor *copy = TF_AllocateTensor(TF_TensorType(from), dims, TF_NumDims(from), TF_TensorByteSize(from));
    if (copy)
        memcpy(TF_TensorData(copy), TF_TensorData(from), TF_TensorByteSize(from));
    return copy;
}

static int next(void *arg, int64_t step, TF_Tensor **values, TF_Status *status) {
    Job *j = arg;
    (void)step;
    if (j->how->data && j->epoch && j->at >= 0 && !rows_of_batch(j)) {
        j->at = -1;
        return 0;
    }
    if (j->how->data && (!j->epoch || j->at < 0))
        begin_epoch(j);
    int64_t n = j->how->data ? rows_of_batch(j) : 0;
    for (int i = 0; i < j->n_feeds; i++) {
        int constant = i - (j->n_feeds - j->set.n);
        values[i] = constant >= 0 ? copy_of(j->set.values[constant]) : column_rows(j->columns[i], j->order + j->at, n);
        if (!values[i])
            TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory");
    }
    j->at += n;
    return 1;
}

typedef struct {
    int64_t rows, batch, seed, epoch, at;
} Place;

static void free_bytes(void *data, size_t size) {
    (void)size;
    free(data);
}

static void save_position(void *arg, TF_Buffer *out, TF_Status *status) {
    const Job *j = arg;
    Place *place = malloc(sizeof *place);
    if (!place) {
        TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    *place = (Place){j->data.rows, j->how->batch, j->how->seed, j->epoch, j->at};
    *out = (TF_Buffer){place, sizeof *place, free_bytes};
}

static void load_position(void *arg, const void *bytes, size_t n, TF_Status *status) {
    Job *j = arg;
    Place place;
    if (n != sizeof place) {
        TF_SetStatus(status, TF_DATA_LOSS, "what the checkpoint holds of the input is malformed");
        return;
    }
    memcpy(&place, bytes, sizeof place);
    if (place.rows != j->data.rows || place.batch != j->how->batch || place.seed != j->how->seed || place.at > place.rows) {
        TF_SetStatus(status, TF_FAILED_PRECONDITION,
                     "the checkpoint was made with other --data, --batch or --seed: give these, or another folder");
        return;
    }
    while (j->epoch < place.epoch)
        begin_epoch(j);
    j->at = place.at;
}

// ---------------------------------------- showing

static void show(const Job *j, const mr_trainer_progress *progress) {
    double rate = progress->seconds > 0 ? (double)(progress->step - j->first) / progress->seconds : 0;
    if (j->how->json)
        printf("{\"step\": %lld, \"epoch\": %lld", (long long)progress->step, (long long)j->epoch);
    else
        printf("step %lld  epoch %lld", (long long)progress->step, (long long)j->epoch);
    for (int i = 0; i < j->n_fetches; i++) {
        if (j->how->json) {
            printf(", ");
            print_json_text(j->names[i]);
            printf(": ");
            print_json_number(progress->values[i], 6);
        } else {
            printf("  %s %.5g", j->names[i], progress->values[i]);
        }
    }
    printf(j->how->json ? ", \"steps_per_second\": %.1f}\n" : "  %.1f steps/s\n", rate);
    fflush(stdout);
}

static int after_step(void *arg, const mr_trainer_progress *progress) {
    Job *j = arg;
    double time = now();
    bool last = progress->step == j->task->steps || *j->stop;
    if (!last && time - j->shown < 1 && progress->step != j->first + 1)
        return 0;
    j->shown = time;
    show(j, progress);
    return 0;
}

// ---------------------------------------- what the command line names

static bool add_feed(Job *j, const char *text) {
    char name[512];
    const char *equals = strchr(text, '=');
    if (!j->how->data) {
        fail("'%.*s' is fed, but there is no --data", (int)strcspn(text, "="), text);
        return false;
    }
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
        fail("--feed takes NODE=COLUMN, not '%s'", text);
        return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    Column *column = columns_find(&j->data, equals + 1);
    if (!column || !model_edge(&j->model, name, &j->feeds[j->n_feeds]))
        return false;
    column->tensor = convert_tensor(column->tensor, TF_OperationOutputType(j->feeds[j->n_feeds]), column->name);
    j->columns[j->n_feeds++] = column;
    return column->tensor != NULL;
}

static bool is_set(const Job *j, const TF_Operation *node) {
    for (int i = 0; i < j->set.n; i++)
        if (j->set.edges[i].oper == node)
            return true;
    return false;
}

// Without --feed every placeholder takes the column of its name.
static bool add_feeds(Job *j) {
    for (int i = 0; i < j->task->n_feeds; i++)
        if (!add_feed(j, j->task->feeds[i]))
            return false;
    for (int i = 0; i < j->task->n_set; i++) {
        if (!feeds_add(&j->set, &j->model, j->task->set[i]))
            return false;
        if (TF_TensorType(j->set.values[i]) == TF_STRING) {
            fail("--set takes numbers, not texts: '%s'", j->task->set[i]);
            return false;
        }
    }
    size_t at = 0;
    char text[1100];
    for (TF_Operation *node; !j->task->n_feeds && (node = TF_GraphNextOperation(j->model.graph, &at));) {
        if (strcmp(TF_OperationOpType(node), "Placeholder") != 0 || is_set(j, node))
            continue;
        snprintf(text, sizeof text, "%.500s=%.500s", TF_OperationName(node), TF_OperationName(node));
        if (j->n_feeds == MOST_EDGES || !add_feed(j, text))
            return false;
    }
    for (int i = 0; i < j->set.n && j->n_feeds < MOST_EDGES; i++)
        j->feeds[j->n_feeds++] = j->set.edges[i];
    return true;
}

static bool add_fetch(Job *j, const char *name) {
    j->names[j->n_fetches] = name;
    return model_edge(&j->model, name, &j->fetches[j->n_fetches++]);
}

static bool prepare(Job *j) {
    const ModelTraining *w = j->task;
    if (!model_open(w->path, j->how->threads, &j->model) || (j->how->data && !columns_read(j->how->data, &j->data)) ||
        !add_feeds(j) || !add_fetch(j, w->loss))
        return false;
    for (int i = 0; i < w->n_fetches; i++)
        if (!add_fetch(j, w->fetches[i]))
            return false;
    if (!j->how->data)
        return true;
    if (j->data.rows < j->how->batch) {
        fail("%s: %lld rows are less than one batch of %lld", j->how->data, (long long)j->data.rows, (long long)j->how->batch);
        return false;
    }
    j->order = malloc((size_t)j->data.rows * sizeof *j->order);
    if (!j->order)
        fail("out of memory");
    for (int64_t i = 0; i < j->data.rows && j->order; i++)
        j->order[i] = (int32_t)i;
    j->random = (uint64_t)j->how->seed;
    return j->order != NULL;
}

static bool run(Job *j) {
    const ModelTraining *w = j->task;
    const TF_Operation *train = NULL, *init = NULL;
    TF_Status *status = TF_NewStatus();
    bool done = model_targets(&j->model, (char *const[]){(char *)(uintptr_t)w->train}, 1, &train) &&
                (!w->init || model_targets(&j->model, (char *const[]){(char *)(uintptr_t)w->init}, 1, &init));
    if (!w->init)
        init = TF_GraphOperationByName(j->model.graph, "init");
    mr_trainer_options options = {
        .struct_size = sizeof options, .train = train, .init = init, .fetches = j->fetches, .names = j->names,
        .num_fetches = j->n_fetches, .feeds = j->feeds, .num_feeds = j->n_feeds, .next = j->how->data || j->n_feeds ? next : NULL,
        .save_position = save_position, .load_position = load_position, .input = j, .after_step = after_step, .hooks = j,
        .folder = j->how->checkpoints, .save_steps = j->how->save_steps, .save_seconds = j->how->save_steps ? 0 : 30,
        .keep = j->how->keep, .logdir = j->how->logdir, .summary_steps = j->how->log_steps, .steps = w->steps,
        .epochs = w->steps ? 0 : (int64_t)ceil(j->how->epochs), .patience = w->patience, .stop = j->stop,
    };
    mr_trainer *trainer = done ? mr_trainer_new(j->model.session, &options, status) : NULL;
    done = done && good(status, w->path);
    if (done && !j->how->json && j->how->data)
        print_text(stdout, 2, "%lld rows from %s", (long long)j->data.rows, j->how->data);
    if (done && !j->how->json)
        print_report(trainer);
    if (done) {
        j->first = mr_trainer_steps(trainer);
        mr_trainer_run(trainer, status);
    }
    done = done && good(status, w->path);
    if (done && !j->how->json)
        printf("%lld steps done%s%s\n", (long long)mr_trainer_steps(trainer), j->how->checkpoints ? "; checkpoints are in " : "",
               j->how->checkpoints ? j->how->checkpoints : "");
    mr_trainer_delete(trainer);
    TF_DeleteStatus(status);
    return done;
}

int train_model(const ModelTraining *model, const TrainOptions *options, const volatile int *stop) {
    Job job = {.task = model, .how = options, .stop = stop};
    bool done = prepare(&job) && run(&job);
    free(job.order);
    columns_clear(&job.data);
    feeds_clear(&job.set);
    if (job.model.graph)
        model_close(&job.model);
    return !done ? EXIT_FAILED : *stop ? 128 + *stop : EXIT_DONE;
}
