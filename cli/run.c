// millrace run — feeds a model and prints what it gives.
#include <time.h>

#include "cli.h"
#include "profile.h"
#include "tensorflow/c/c_api_experimental.h"

static const char ABOUT[] =
    "Runs a model once. MODEL is a GraphDef file (.pb, .pbtxt) or the folder of a SavedModel; `millrace inspect` tells the "
    "names of its inputs and outputs. Without --output, everything that no node reads is printed.\n";

static const Option OPTIONS[] = {
    {"input", "NAME=TENSOR",
     "a tensor as text, x='[[1 2 3]]', or from a file, x=@a.npy: NumPy's or IDX, plain or gzip; a range may follow: "
     "@images.gz[0:2]; once for each input", 'i'},
    {"output", "NAME[=@FILE]", "to be printed, or to be written as NumPy's .npy; may be repeated", 'o'},
    {"target", "NAME", "a node that is to run and gives nothing, such as a training step; may be repeated", 't'},
    {"checkpoint", "PREFIX", "gives the model's variables their values first", 'c'},
    {"threads", "N", "as many as the process may use unless said otherwise", 'T'},
    {"repeat", "N", "runs the model so many times, and tells how long that took", 'r'},
    {"profile", "FILE", "writes what ran when in the last run: a trace for chrome://tracing or Perfetto", 'p'},
    {"draw", NULL, "draw inputs that are pictures (bytes, [n height width]), each with its outputs", 'd'},
    {"json", NULL, "as JSON: {\"name\": {\"dtype\": ..., \"shape\": [...], \"value\": ...}, ...}", 'j'},
    {0}};

static const char EXAMPLES[] =
    "millrace run model.pb --input x=@a.npy --output y\n"
    "millrace run fashion.pb --input images=@t10k-images-idx3-ubyte.gz[0:2] --output label --draw\n"
    "millrace run training.pb --checkpoint model.ckpt --target train_step --repeat 100\n"
    "millrace run model.pb --input x=@a.npy --repeat 10 --profile trace.json\n";

static void print_result(const char *name, const TF_Tensor *value, bool json, bool first) {
    if (!json) {
        printf("%s = ", name);
        print_tensor(value, MR_SHORT | MR_LINES);
        putchar('\n');
        return;
    }
    printf("%s", first ? "{" : ", ");
    print_json_text(name);
    printf(": {\"dtype\": \"%s\", \"shape\": [", mr_dtype_name(TF_TensorType(value)));
    for (int i = 0; i < TF_NumDims(value); i++)
        printf("%s%lld", i ? ", " : "", (long long)TF_Dim(value, i));
    printf("], \"value\": ");
    print_tensor(value, MR_JSON);
    putchar('}');
}

// One example of a batch of results.
static void print_part(const char *name, const TF_Tensor *value, int64_t i) {
    int64_t dims[8], n = TF_Dim(value, 0);
    int rank = TF_NumDims(value) - 1;
    for (int d = 0; d < rank; d++)
        dims[d] = TF_Dim(value, d + 1);
    size_t bytes = TF_TensorByteSize(value) / (size_t)n;
    TF_Tensor *part = TF_AllocateTensor(TF_TensorType(value), dims, rank, bytes);
    char *from = (char *)TF_TensorData(value) + bytes * (size_t)i;
    if (TF_TensorType(value) == TF_STRING)
        for (size_t s = 0; s < bytes / sizeof(TF_TString); s++)
            TF_StringCopy((TF_TString *)TF_TensorData(part) + s,
                          TF_StringGetDataPointer((TF_TString *)(void *)from + s),
                          TF_StringGetSize((TF_TString *)(void *)from + s));
    else
        memcpy(TF_TensorData(part), from, bytes);
    printf("%s = ", name);
    print_tensor(part, MR_PLAIN);
    putchar('\n');
    TF_DeleteTensor(part);
}

// Each picture of the first input that holds some, with its part of the results.
static bool draw(const Feeds *feeds, const Fetches *fetches, TF_Tensor *const *results) {
    for (int f = 0; f < feeds->n; f++) {
        const TF_Tensor *images = feeds->values[f];
        if (TF_TensorType(images) != TF_UINT8 || TF_NumDims(images) != 3)
            continue;
        int64_t n = TF_Dim(images, 0);
        int height = (int)TF_Dim(images, 1), width = (int)TF_Dim(images, 2);
        for (int64_t i = 0; i < n && i < 16; i++) {
            const unsigned char *picture = (unsigned char *)TF_TensorData(images) + i * height * width;
            draw_images(&picture, 1, height, width, width);
            for (int r = 0; r < fetches->n; r++)
                if (!fetches->files[r] && TF_NumDims(results[r]) >= 1 && TF_Dim(results[r], 0) == n)
                    print_part(edge_name(fetches->edges[r]), results[r], i);
            putchar('\n');
        }
        return true;
    }
    fail("no input holds pictures: bytes in three dimensions");
    return false;
}

typedef struct {
    char *inputs[MOST_EDGES], *outputs[MOST_EDGES], *targets[MOST_EDGES];
    int n_inputs, n_outputs, n_targets;
    const char *path, *checkpoint, *profile;
    int threads, repeat;
    bool draw, json;
} RunOptions;

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// What the command line chose, found in the model.
typedef struct {
    Feeds feeds;
    Fetches fetches;
    const TF_Operation *targets[MOST_EDGES];
    TF_Tensor *results[MOST_EDGES];
    double *times;   // of each run, in ms
} Choice;

static bool choose(const Model *model, const RunOptions *options, Choice *out) {
    bool done = model_targets(model, options->targets, options->n_targets, out->targets);
    for (int i = 0; i < options->n_inputs && done; i++)
        done = feeds_add(&out->feeds, model, options->inputs[i]);
    for (int i = 0; i < options->n_outputs && done; i++)
        done = fetches_add(&out->fetches, model, options->outputs[i]);
    if (done && !out->fetches.n && !options->n_targets)
        out->fetches.n = model_ends(model, out->fetches.edges, MOST_EDGES);
    out->times = calloc((size_t)options->repeat, sizeof *out->times);
    if (!out->times)
        fail("%s: out of memory for the times", options->path);
    return done && out->times;
}

static void choice_clear(Choice *choice) {
    for (int i = 0; i < choice->fetches.n; i++)
        TF_DeleteTensor(choice->results[i]);
    feeds_clear(&choice->feeds);
    fetches_clear(&choice->fetches);
    free(choice->times);
}

// An input that was needed and not given is told by its option.
static bool report_run(const char *path, const TF_Status *status) {
    static const char LACKS[] = "must feed a value for placeholder tensor '";
    const char *name = TF_GetCode(status) == TF_OK ? NULL : strstr(TF_Message(status), LACKS);
    if (!name)
        return good(status, path);
    name += strlen(LACKS);
    int n = (int)strcspn(name, "'");
    const char *rest = name[n] ? strstr(name + n, "with ") : NULL;
    fail("%s: the input '%.*s' lacks its value, %s: --input %.*s=TENSOR gives it", path, n, name,
         rest ? rest + strlen("with ") : "a tensor", n, name);
    return false;
}

static bool calculate(const Model *model, const RunOptions *options, Choice *c) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *traced = options->profile ? TF_CreateRunOptions(1) : NULL, *metadata = traced ? TF_NewBuffer() : NULL;
    for (int i = 0; i < options->repeat && TF_GetCode(status) == TF_OK; i++) {
        for (int r = 0; r < c->fetches.n; r++) {
            TF_DeleteTensor(c->results[r]);
            c->results[r] = NULL;
        }
        bool last = i == options->repeat - 1;
        double begin = milliseconds();
        TF_SessionRun(model->session, last ? traced : NULL, c->feeds.edges, c->feeds.values, c->feeds.n, c->fetches.edges, c->results,
                      c->fetches.n, c->targets, options->n_targets, last ? metadata : NULL, status);
        c->times[i] = milliseconds() - begin;
    }
    bool done = report_run(options->path, status) && (!metadata || profile_write(options->profile, metadata));
    TF_DeleteBuffer(traced);
    TF_DeleteBuffer(metadata);
    TF_DeleteStatus(status);
    return done;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The first run plans and prepares: it stands apart.
static void print_times(double *times, int n, bool json) {
    double first = times[0];
    qsort(times + 1, (size_t)n - 1, sizeof *times, by_size);
    double middle = n > 1 ? times[n / 2] : first, least = n > 1 ? times[1] : first, most = n > 1 ? times[n - 1] : first;
    if (json)
        printf("\"@times\": {\"runs\": %d, \"first_ms\": %.4f, \"median_ms\": %.4f, \"least_ms\": %.4f, \"most_ms\": %.4f}", n,
               first, middle, least, most);
    else
        print_text(stdout, 2, "%d runs: the first %.3f ms; of the others the median %.3f ms, %.3f at least, %.3f at most", n,
                   first, middle, least, most);
}

static bool hand_out(const RunOptions *options, const Choice *c) {
    bool done = true, first = true, json = options->json, drawn = options->draw;
    if (drawn && !json)
        done = draw(&c->feeds, &c->fetches, c->results);
    for (int i = 0; i < c->fetches.n && done; i++) {
        if (c->fetches.files[i])
            done = write_npy(c->fetches.files[i], c->results[i]);
        else if (json || !drawn)
            print_result(edge_name(c->fetches.edges[i]), c->results[i], json, first);
        first = first && c->fetches.files[i];
    }
    if (json)
        printf("%s", first ? "{" : options->repeat > 1 ? ", " : "");
    if (options->repeat > 1)
        print_times(c->times, options->repeat, json);
    if (json)
        puts("}");
    return done;
}

static int run_model(const RunOptions *options) {
    Model model;
    if (!model_open(options->path, options->threads, &model))
        return EXIT_FAILED;
    Choice choice = {0};
    bool done = (!options->profile || can_write(options->profile)) && choose(&model, options, &choice);
    done = done && (!options->checkpoint || model_restore(&model, options->checkpoint));
    done = done && calculate(&model, options, &choice) && hand_out(options, &choice);
    choice_clear(&choice);
    model_close(&model);
    return done ? EXIT_DONE : EXIT_FAILED;
}

// A whole number from 1 to `most`; 0 where it is none.
static int whole(const char *text, int most) {
    char *end;
    long value = strtol(text, &end, 10);
    return end != text && !*end && value >= 1 && value <= most ? (int)value : 0;
}

// Gives what the value may be, where it is something else.
static const char *read_option(int option, char *text, RunOptions *o) {
    switch (option) {
    case 'i': o->inputs[o->n_inputs++] = text; break;
    case 'o': o->outputs[o->n_outputs++] = text; break;
    case 't': o->targets[o->n_targets++] = text; break;
    case 'c': o->checkpoint = text; break;
    case 'T': return (o->threads = whole(text, 127)) > 0 ? NULL : "a whole number from 1 to 127";
    case 'r': return (o->repeat = whole(text, 100000000)) > 0 ? NULL : "a whole number from 1 to 100000000";
    case 'p': o->profile = text; break;
    case 'd': o->draw = true; break;
    case 'j': o->json = true; break;
    }
    return NULL;
}

static int run(int argc, char **argv) {
    RunOptions options = {.repeat = 1};
    int option;
    while ((option = next_option(&command_run, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        const char *takes = read_option(option, optarg, &options);
        if (takes)
            return misuse_value(&command_run, option, takes, optarg);
        if (options.n_inputs == MOST_EDGES || options.n_outputs == MOST_EDGES || options.n_targets == MOST_EDGES)
            return misuse(&command_run, "at most %d inputs, outputs and targets", MOST_EDGES - 1);
    }
    if (!one_model(&command_run, argc, argv))
        return EXIT_USAGE;
    options.path = argv[optind];
    return run_model(&options);
}

const Command command_run = {"run", "feed a model and print what it gives", "MODEL", ABOUT, OPTIONS, EXAMPLES, run};
