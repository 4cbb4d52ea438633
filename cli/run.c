// millrace run — feeds a model and prints what it gives.
#include "cli.h"

static const char HELP[] =
    "usage: millrace run MODEL [--input NAME=TENSOR] [--input NAME=@FILE] [--output NAME[=@FILE.npy]] ...\n"
    "\n"
    "Runs a model once. MODEL is a GraphDef file (.pb) or the folder of a SavedModel; `millrace inspect` tells the names\n"
    "of its inputs and outputs. Without --output, everything that no node reads is printed.\n"
    "\n"
    "  --input NAME=TENSOR   a tensor as text: x='[[1 2 3]]'\n"
    "  --input NAME=@FILE    from a NumPy file (.npy) or an IDX file, plain or gzip; a range may follow: @images.gz[0:2]\n"
    "  --output NAME         to be printed; NAME=@FILE.npy: to be written\n"
    "  --draw                draw inputs that are pictures (bytes, [n height width]), each with its outputs\n"
    "  --json                as JSON: {\"name\": {\"dtype\": ..., \"shape\": [...], \"value\": ...}, ...}\n"
    "\n"
    "Examples:\n"
    "  millrace run model.pb --input x=@a.npy --output y\n"
    "  millrace run fashion.pb --input images=@t10k-images-idx3-ubyte.gz[0:2] --output label --draw\n";

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
            TF_StringCopy((TF_TString *)TF_TensorData(part) + s, TF_StringGetDataPointer((TF_TString *)(void *)from + s),
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
            draw_image((unsigned char *)TF_TensorData(images) + i * height * width, height, width);
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

static bool calculate(const Model *model, const Feeds *feeds, const Fetches *fetches, TF_Tensor **results) {
    TF_Status *status = TF_NewStatus();
    TF_SessionRun(model->session, NULL, feeds->edges, feeds->values, feeds->n, fetches->edges, results, fetches->n, NULL, 0,
                  NULL, status);
    bool done = good(status, "the model");
    TF_DeleteStatus(status);
    return done;
}

static bool hand_out(const Feeds *feeds, const Fetches *fetches, TF_Tensor *const *results, bool drawn, bool json) {
    bool done = true, first = true;
    if (drawn && !json)
        done = draw(feeds, fetches, results);
    for (int i = 0; i < fetches->n && done; i++) {
        if (fetches->files[i])
            done = write_npy(fetches->files[i], results[i]);
        else if (json || !drawn)
            print_result(edge_name(fetches->edges[i]), results[i], json, first);
        first = first && fetches->files[i];
    }
    if (json)
        printf("%s}\n", first ? "{" : "");
    return done;
}

typedef struct {
    char *inputs[MOST_EDGES], *outputs[MOST_EDGES];
    int n_inputs, n_outputs;
    bool draw, json;
} Wishes;

static int run_model(const char *path, const Wishes *wishes) {
    Model model;
    Feeds feeds = {0};
    Fetches fetches = {0};
    if (!model_open(path, &model))
        return EXIT_FAILED;
    bool done = true;
    for (int i = 0; i < wishes->n_inputs && done; i++)
        done = feeds_add(&feeds, &model, wishes->inputs[i]);
    for (int i = 0; i < wishes->n_outputs && done; i++)
        done = fetches_add(&fetches, &model, wishes->outputs[i]);
    if (done && !fetches.n)
        fetches.n = model_ends(&model, fetches.edges, MOST_EDGES);
    TF_Tensor *results[MOST_EDGES] = {0};
    done = done && calculate(&model, &feeds, &fetches, results);
    done = done && hand_out(&feeds, &fetches, results, wishes->draw, wishes->json);
    for (int i = 0; i < fetches.n; i++)
        TF_DeleteTensor(results[i]);
    feeds_clear(&feeds);
    fetches_clear(&fetches);
    model_close(&model);
    return done ? EXIT_DONE : EXIT_FAILED;
}

static int run(int argc, char **argv) {
    static const struct option OPTIONS[] = {
        {"help", no_argument, NULL, 'h'},       {"json", no_argument, NULL, 'j'},     {"draw", no_argument, NULL, 'd'},
        {"input", required_argument, NULL, 'i'}, {"output", required_argument, NULL, 'o'}, {0}};
    Wishes wishes = {0};
    int option;
    while ((option = next_option(&command_run, argc, argv, OPTIONS)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        if (wishes.n_inputs == MOST_EDGES || wishes.n_outputs == MOST_EDGES)
            return misuse(&command_run, "at most %d inputs and outputs", MOST_EDGES - 1);
        if (option == 'i')
            wishes.inputs[wishes.n_inputs++] = optarg;
        if (option == 'o')
            wishes.outputs[wishes.n_outputs++] = optarg;
        wishes.draw |= option == 'd';
        wishes.json |= option == 'j';
    }
    if (argc - optind != 1)
        return misuse(&command_run, "one model is expected");
    return run_model(argv[optind], &wishes);
}

const Command command_run = {"run", "feed a model and print what it gives", HELP, run};
