// millrace profile — runs a model and tells where its time and its bytes go.
#include <time.h>

#include "cli.h"
#include "tensorflow/c/c_api_experimental.h"
#include "time_table.h"

static const char ABOUT[] =
    "Runs a model some times and tells where the time goes, by op and by layer, beside what this machine does at best: bytes "
    "from memory, and floating-point operations, a second. MODEL is a GraphDef file (.pb, .pbtxt) or the folder of a "
    "SavedModel. A layer is a scope of names: what stands before the last / of a node's name. \"given\" is the size of what an op "
    "gave; GB/s are those of that size, and \"roof\" is their part of the machine's: more than 100 % where caches hold it.\n";

static const Option OPTIONS[] = {
    {"input", "NAME=TENSOR", "a tensor as text or from a file, as for `millrace run`; once for each input", 'i'},
    {"output", "NAME", "what is computed; everything that no node reads unless said otherwise; may be repeated", 'o'},
    {"target", "NAME", "a node that is to run and gives nothing, such as a training step; may be repeated", 't'},
    {"checkpoint", "PREFIX", "gives the model's variables their values first", 'c'},
    {"threads", "N", "as many as the process may use unless said otherwise", 'T'},
    {"repeat", "N", "runs that are looked at, 10; one before them plans", 'r'},
    {"depth", "N", "words of a scope that make a layer; all of them unless said otherwise", 'd'},
    {"rows", "N", "of a table, 15", 'n'},
    {"svg", "FILE", "writes the tables as a picture, too", 's'},
    {"json", NULL, "as JSON, all rows", 'j'},
    {0}};

static const char EXAMPLES[] =
    "millrace profile fashion.pb --input images=@t10k-images-idx3-ubyte.gz[0:64]\n"
    "millrace profile model.pb --input x=@a.npy --repeat 100 --svg time.svg\n"
    "millrace profile training.pb --checkpoint model.ckpt --target train_step --depth 2\n";

typedef struct {
    char *inputs[MOST_EDGES], *outputs[MOST_EDGES], *targets[MOST_EDGES];
    int n_inputs, n_outputs, n_targets;
    const char *path, *checkpoint, *svg;
    int threads, repeat, depth, rows;
    bool json;
} ProfileOptions;

typedef struct {
    Feeds feeds;
    Fetches fetches;
    const TF_Operation *targets[MOST_EDGES];
} Chosen;

static bool choose(const Model *model, const ProfileOptions *options, Chosen *out) {
    bool done = model_targets(model, options->targets, options->n_targets, out->targets);
    for (int i = 0; i < options->n_inputs && done; i++)
        done = feeds_add(&out->feeds, model, options->inputs[i]);
    for (int i = 0; i < options->n_outputs && done; i++)
        done = fetches_add(&out->fetches, model, options->outputs[i]);
    if (done && !out->fetches.n && !options->n_targets)
        out->fetches.n = model_ends(model, out->fetches.edges, MOST_EDGES);
    return done && (!options->checkpoint || model_restore(model, options->checkpoint));
}

static double now_in_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool run_once(const Model *model, const ProfileOptions *options, const Chosen *c, bool counts, TimeReport *report) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *traced = counts ? TF_CreateRunOptions(1) : NULL, *metadata = counts ? TF_NewBuffer() : NULL;
    TF_Tensor *results[MOST_EDGES] = {0};
    double began = now_in_seconds();
    TF_SessionRun(model->session, traced, c->feeds.edges, c->feeds.values, c->feeds.n, c->fetches.edges, results, c->fetches.n,
                  c->targets, options->n_targets, metadata, status);
    report->seconds += counts ? now_in_seconds() - began : 0;
    bool done = good(status, options->path) && (!counts || time_report_add(report, metadata, options->depth));
    for (int i = 0; i < c->fetches.n; i++)
        TF_DeleteTensor(results[i]);
    TF_DeleteBuffer(traced);
    TF_DeleteBuffer(metadata);
    TF_DeleteStatus(status);
    return done;
}

static bool tell(const ProfileOptions *options, TimeReport *report) {
    Roofline roof = {0};
    if (!roofline_measure(options->threads, &roof))
        return false;
    time_report_sort(report);
    if (options->json)
        time_report_json(report, &roof);
    else
        time_report_print(report, &roof, options->rows);
    return !options->svg || time_report_svg(report, &roof, options->path, options->svg);
}

static int profile_model(const ProfileOptions *options) {
    Model model;
    Chosen chosen = {0};
    TimeReport report = {0};
    if (!model_open(options->path, options->threads, &model))
        return EXIT_FAILED;
    bool done = (!options->svg || can_write(options->svg)) && choose(&model, options, &chosen);
    for (int i = 0; i <= options->repeat && done; i++)
        done = run_once(&model, options, &chosen, i > 0, &report);
    done = done && tell(options, &report);
    time_report_clear(&report);
    feeds_clear(&chosen.feeds);
    fetches_clear(&chosen.fetches);
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
static const char *read_option(int option, char *text, ProfileOptions *o) {
    switch (option) {
    case 'i': o->inputs[o->n_inputs++] = text; break;
    case 'o': o->outputs[o->n_outputs++] = text; break;
    case 't': o->targets[o->n_targets++] = text; break;
    case 'c': o->checkpoint = text; break;
    case 's': o->svg = text; break;
    case 'j': o->json = true; break;
    case 'T': return (o->threads = whole(text, 127)) > 0 ? NULL : "a whole number from 1 to 127";
    case 'r': return (o->repeat = whole(text, 1000000)) > 0 ? NULL : "a whole number from 1 to 1000000";
    case 'd': return (o->depth = whole(text, 100)) > 0 ? NULL : "a whole number from 1 to 100";
    case 'n': return (o->rows = whole(text, 100000)) > 0 ? NULL : "a whole number from 1 to 100000";
    }
    return NULL;
}

static int run(int argc, char **argv) {
    ProfileOptions options = {.repeat = 10, .rows = 15};
    int option;
    while ((option = next_option(&command_profile, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        const char *takes = read_option(option, optarg, &options);
        if (takes)
            return misuse_value(&command_profile, option, takes, optarg);
        if (options.n_inputs == MOST_EDGES || options.n_outputs == MOST_EDGES || options.n_targets == MOST_EDGES)
            return misuse(&command_profile, "at most %d inputs, outputs and targets", MOST_EDGES - 1);
    }
    if (!one_model(&command_profile, argc, argv))
        return EXIT_USAGE;
    options.path = argv[optind];
    return profile_model(&options);
}

const Command command_profile = {"profile", "tell where a model's time and bytes go", "MODEL", ABOUT, OPTIONS, EXAMPLES, run};
