// Training network — the convnet, its steps, and the file that it leaves.
//
// Two convolutions of 3 x 3 with 32 and 64 filters, each followed by a pool of 2 x 2; a dense layer of 128; one output
// per class. It takes pictures as they lie in the files, so that the saved model does so too.
#include "millrace/saved_model.h"
#include "train.h"

// ---------------------------------------- the graph

static TF_Output cast(Network *t, TF_Output x, TF_DataType dtype, const char *name, TF_Status *status) {
    TF_OperationDescription *node = TF_NewOperation(t->graph, "Cast", name);
    TF_AddInput(node, x);
    TF_SetAttrType(node, "DstT", dtype);
    return (TF_Output){TF_FinishOperation(node, status), 0};
}

static TF_Output text_constant(Network *t, const NetworkSpec *spec) {
    int64_t n = spec->classes;
    TF_Tensor *names = TF_AllocateTensor(TF_STRING, &n, 1, (size_t)n * sizeof(TF_TString));
    for (int i = 0; i < n; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        const char *name = spec->names ? spec->names[i] : number;
        TF_StringInit((TF_TString *)TF_TensorData(names) + i);
        TF_StringCopy((TF_TString *)TF_TensorData(names) + i, name, strlen(name));
    }
    TF_Output constant = mr_constant(t->net, names);
    TF_DeleteTensor(names);
    return constant;
}

// What the saved model gives: the name of the most likely class, the likelihood of each, the class's number.
static void write_ends(Network *t, const NetworkSpec *spec, TF_Output logits) {
    TF_Output axis = mr_scalar(t->net, 1, TF_INT32), zero = mr_scalar(t->net, 0, TF_INT32);
    TF_Output guess = mr_op(t->net, "ArgMax", (TF_Output[]){logits, axis}, 2);
    TF_Output name = mr_op(t->net, "GatherV2", (TF_Output[]){text_constant(t, spec), guess, zero}, 3);
    t->ends[0] = mr_named(t->net, "label", name);
    t->ends[1] = mr_named(t->net, "probabilities", mr_op(t->net, "Softmax", &logits, 1));
    t->ends[2] = mr_named(t->net, "class", guess);
}

static void write_net(Network *t, const NetworkSpec *spec, TF_Status *status) {
    mr_net *net = t->net;
    int64_t dims[] = {-1, spec->height, spec->width}, batch = -1;
    t->images = mr_input(net, "images", TF_UINT8, dims, 3);
    t->labels = mr_input(net, "labels", TF_UINT8, &batch, 1);
    t->rate = mr_input(net, "rate", TF_FLOAT, NULL, 0);
    mr_net_status(net, status);
    if (TF_GetCode(status) != TF_OK)
        return;
    TF_Output floats = cast(t, t->images, TF_FLOAT, "floats", status);
    TF_Output labels = cast(t, t->labels, TF_INT32, "classes", status);
    if (TF_GetCode(status) != TF_OK)
        return;
    TF_Output scaled = mr_op(net, "Mul", (TF_Output[]){floats, mr_scalar(net, 1.0 / 255, TF_FLOAT)}, 2);
    TF_Output x = mr_op(net, "ExpandDims", (TF_Output[]){scaled, mr_scalar(net, 3, TF_INT32)}, 2);
    x = mr_max_pool(net, "pool1", mr_conv(net, "conv1", x, 32, 3, 1, "Relu"), 2, 2);
    x = mr_max_pool(net, "pool2", mr_conv(net, "conv2", x, 64, 3, 1, "Relu"), 2, 2);
    x = mr_dense(net, "dense1", mr_flatten(net, "flat", x), 128, "Relu");
    TF_Output logits = mr_dense(net, "dense2", x, spec->classes, NULL);
    t->loss = mr_loss_softmax(net, logits, labels);
    t->right = mr_accuracy(net, logits, labels);
    write_ends(t, spec, logits);
    mr_optimizer optimizer = {.struct_size = sizeof optimizer, .name = spec->optimizer};
    t->train = mr_minimize(net, &optimizer, t->rate, t->loss);
    t->init = mr_init(net);
    mr_net_status(net, status);
}

// A ConfigProto with intra_op_parallelism_threads (2) and inter_op_parallelism_threads (5).
static void set_threads(TF_SessionOptions *options, int threads, TF_Status *status) {
    unsigned char config[] = {0x10, (unsigned char)threads, 0x28, (unsigned char)threads};
    if (threads > 0 && threads < 128)
        TF_SetConfig(options, config, sizeof config, status);
}

bool network_make(const NetworkSpec *spec, Network *out) {
    TF_Status *status = TF_NewStatus();
    Network t = {.graph = TF_NewGraph()};
    t.net = mr_net_new(t.graph, spec->seed);
    write_net(&t, spec, status);
    bool done = good(status, "the network");
    if (done) {
        TF_SessionOptions *options = TF_NewSessionOptions();
        set_threads(options, spec->threads, status);
        t.session = TF_NewSession(t.graph, options, status);
        TF_DeleteSessionOptions(options);
        done = good(status, "the session");
    }
    TF_DeleteStatus(status);
    if (done)
        *out = t;
    else
        network_clear(&t);
    return done;
}

void network_clear(Network *t) {
    TF_Status *status = TF_NewStatus();
    if (t->session)
        TF_DeleteSession(t->session, status);
    mr_net_delete(t->net);
    if (t->graph)
        TF_DeleteGraph(t->graph);
    TF_DeleteStatus(status);
    *t = (Network){0};
}

// ---------------------------------------- steps

static double take(TF_Tensor *scalar) {
    double value = *(float *)TF_TensorData(scalar);
    TF_DeleteTensor(scalar);
    return value;
}

bool network_plan(const Network *t, TF_Tensor *images, TF_Tensor *labels, mr_plan_info *out) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *rate = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
    TF_Output feeds[] = {t->images, t->labels, t->rate}, fetches[] = {t->loss, t->right};
    const TF_Operation *train = t->train;
    mr_plan *plan = mr_plan_new(t->session, feeds, (TF_Tensor *[]){images, labels, rate}, 3, fetches, 2, &train, 1,
                                status);
    bool done = good(status, "the plan of a step");
    if (plan)
        mr_plan_get_info(plan, out);
    mr_plan_delete(plan);
    TF_DeleteTensor(rate);
    TF_DeleteStatus(status);
    return done;
}

enum { MEASURED_AT_ONCE = 500 };

static void nothing(void *data, size_t length, void *arg) {
    (void)data, (void)length, (void)arg;
}

// Examples [first, first + n) as tensors that only view them.
static void view(const Examples *e, int64_t first, int64_t n, TF_Tensor *out[2]) {
    int64_t dims[] = {n, e->height, e->width}, picture = (int64_t)e->height * e->width;
    out[0] = TF_NewTensor(TF_UINT8, dims, 3, (char *)TF_TensorData(e->images) + first * picture, (size_t)(n * picture),
                          nothing, NULL);
    out[1] = TF_NewTensor(TF_UINT8, dims, 1, (char *)TF_TensorData(e->labels) + first, (size_t)n, nothing, NULL);
}

// The most probable class of each row, and its probability; takes the tensor.
static void take_guesses(TF_Tensor *probabilities, unsigned char *guesses, float *chances) {
    const float *row = TF_TensorData(probabilities);
    int64_t n = TF_Dim(probabilities, 0), classes = TF_Dim(probabilities, 1);
    for (int64_t i = 0; i < n; i++, row += classes) {
        guesses[i] = 0;
        for (int64_t class = 1; class < classes; class++)
            guesses[i] = row[class] > row[guesses[i]] ? (unsigned char)class : guesses[i];
        chances[i] = row[guesses[i]];
    }
    TF_DeleteTensor(probabilities);
}

bool network_measure(const Network *t, const Examples *e, unsigned char *guesses, float *chances, double *loss,
                     double *right) {
    TF_Status *status = TF_NewStatus();
    TF_Output feeds[] = {t->images, t->labels}, fetches[] = {t->loss, t->right, t->ends[1]};
    double losses = 0, rights = 0;
    bool done = true;
    for (int64_t at = 0; at < e->n && done; at += MEASURED_AT_ONCE) {
        int64_t n = e->n - at < MEASURED_AT_ONCE ? e->n - at : MEASURED_AT_ONCE;
        TF_Tensor *values[2], *results[3];
        view(e, at, n, values);
        TF_SessionRun(t->session, NULL, feeds, values, 2, fetches, results, 3, NULL, 0, NULL, status);
        done = good(status, "measuring");
        if (done) {
            losses += take(results[0]) * (double)n;
            rights += take(results[1]) * (double)n;
            take_guesses(results[2], guesses + at, chances + at);
        }
        TF_DeleteTensor(values[0]);
        TF_DeleteTensor(values[1]);
    }
    *loss = losses / (double)e->n;
    *right = rights / (double)e->n;
    TF_DeleteStatus(status);
    return done;
}

bool network_save(const Network *t, const char *path) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *bytes = TF_NewBuffer();
    mr_freeze(t->session, t->ends, 3, bytes, status);
    bool done = good(status, "saving") && write_file(path, bytes->data, bytes->length);
    TF_DeleteBuffer(bytes);
    TF_DeleteStatus(status);
    return done;
}

bool network_save_model(const Network *t, const char *folder) {
    static const char *const NAMES[] = {"label", "probabilities", "class"}, *const INPUTS[] = {"images"};
    TF_Status *status = TF_NewStatus();
    mr_signature signature = {.struct_size = sizeof signature, .input_names = INPUTS, .inputs = &t->images, .num_inputs = 1,
                              .output_names = NAMES, .outputs = t->ends, .num_outputs = 3};
    mr_saved_model_options options = {.struct_size = sizeof options, .signatures = &signature, .num_signatures = 1};
    mr_saved_model_write(t->session, folder, &options, status);
    bool done = good(status, folder);
    TF_DeleteStatus(status);
    return done;
}

bool network_save_graph(const Network *t, const char *path) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *bytes = TF_NewBuffer();
    TF_GraphToGraphDef(t->graph, bytes, status);
    bool done = good(status, "the graph") && write_file(path, bytes->data, bytes->length);
    TF_DeleteBuffer(bytes);
    TF_DeleteStatus(status);
    return done;
}
