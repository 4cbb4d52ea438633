// Shapes — see shapes.h. The graph is imported with feeds of known shape in place of its own, and the library says the
// rest.
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

typedef struct Reader {
    const Api *api;
    TF_Graph *graph;
    TF_Status *status;
    Work *work;
    int backward[2];         // Conv2DBackpropInput, Conv2DBackpropFilter
    char *error;
    size_t room;
} Reader;

static bool bad(Reader *r, const char *what) {
    if (!*r->error)
        snprintf(r->error, r->room, "%s: %s", what, r->api->TF_GetCode(r->status) ? r->api->TF_Message(r->status) : "");
    return false;
}

static bool good(Reader *r, const char *what) {
    return !r->api->TF_GetCode(r->status) || bad(r, what);
}

// Puts a placeholder of the shape that is fed in the place of the graph's own.
static bool replace_feed(Reader *r, TF_ImportGraphDefOptions *options, const WorkloadFeed *feed) {
    char name[64];
    snprintf(name, sizeof name, "fed_%s", feed->name);
    TF_OperationDescription *description = r->api->TF_NewOperation(r->graph, "Placeholder", name);
    r->api->TF_SetAttrType(description, "dtype", feed->dtype);
    r->api->TF_SetAttrShape(description, "shape", feed->dims, feed->rank);
    TF_Output output = {r->api->TF_FinishOperation(description, r->status), 0};
    if (!good(r, name))
        return false;
    r->api->TF_ImportGraphDefOptionsAddInputMapping(options, feed->name, 0, output);
    return true;
}

static bool import(Reader *r, const char *workload) {
    GraphDef g = {0};
    workload_graph(workload, &g);
    if (!g.bytes.size)
        return bad(r, "no graph");
    TF_Buffer buffer = {g.bytes.data, g.bytes.size, NULL};
    TF_ImportGraphDefOptions *options = r->api->TF_NewImportGraphDefOptions();
    const WorkloadFeed *feed;
    bool fine = true;
    for (int i = 0; fine && (feed = workload_feed(workload, i)); i++)
        fine = replace_feed(r, options, feed);
    if (fine)
        r->api->TF_GraphImportGraphDef(r->graph, &buffer, options, r->status);
    r->api->TF_DeleteImportGraphDefOptions(options);
    graphdef_clear(&g);
    return fine && good(r, "import");
}

static bool shape_of(Reader *r, TF_Output output, int rank, int64_t *dims) {
    if (r->api->TF_GraphGetTensorNumDims(r->graph, output, r->status) != rank)
        return bad(r, "a shape is not known");
    r->api->TF_GraphGetTensorShape(r->graph, output, dims, rank, r->status);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            return bad(r, "a shape is not known");
    return good(r, "a shape");
}

static TF_Output input(Reader *r, TF_Operation *op, int i) {
    return r->api->TF_OperationInput((TF_Input){op, i});
}

static bool take_padding(Reader *r, TF_Operation *op, Conv *c) {
    char padding[16] = "";
    int64_t explicit[8] = {0};
    r->api->TF_OperationGetAttrString(op, "padding", padding, sizeof padding - 1, r->status);
    if (!strcmp(padding, "EXPLICIT"))
        r->api->TF_OperationGetAttrIntList(op, "explicit_paddings", explicit, 8, r->status);
    for (int i = 0; i < 2; i++) {
        int64_t all = (c->y[i + 1] - 1) * c->strides[i] + c->filter[i] - c->x[i + 1];
        all = !strcmp(padding, "SAME") && all > 0 ? all : 0;
        c->before[i] = explicit[2 + 2 * i] + all / 2;
        c->after[i] = explicit[3 + 2 * i] + all - all / 2;
    }
    return good(r, "padding");
}

static bool take_conv(Reader *r, TF_Operation *op) {
    Conv c = {.forward = true};
    int64_t strides[4] = {1, 1, 1, 1};
    TF_Output x = input(r, op, 0);
    if (!shape_of(r, x, 4, c.x) || !shape_of(r, input(r, op, 1), 4, c.filter) ||
        !shape_of(r, (TF_Output){op, 0}, 4, c.y))
        return false;
    r->api->TF_OperationGetAttrIntList(op, "strides", strides, 4, r->status);
    c.strides[0] = strides[1];
    c.strides[1] = strides[2];
    c.input = strcmp(r->api->TF_OperationOpType(x.oper), "Placeholder") != 0;
    c.weights = true;
    if (!good(r, "strides") || !take_padding(r, op, &c))
        return false;
    Conv *convs = realloc(r->work->convs, (size_t)(r->work->conv_count + 1) * sizeof c);
    if (!convs)
        return bad(r, "no memory");
    r->work->convs = convs;
    convs[r->work->conv_count++] = c;
    return true;
}

static bool take_product(Reader *r, TF_Operation *op) {
    int64_t a[2], y[2];
    unsigned char transposed = 0;
    if (!shape_of(r, input(r, op, 0), 2, a) || !shape_of(r, (TF_Output){op, 0}, 2, y))
        return false;
    r->api->TF_OperationGetAttrBool(op, "transpose_a", &transposed, r->status);
    if (!good(r, "transpose"))
        return false;
    Product *products = realloc(r->work->products, (size_t)(r->work->product_count + 1) * sizeof *products);
    if (!products)
        return bad(r, "no memory");
    r->work->products = products;
    products[r->work->product_count++] = (Product){y[0], y[1], a[transposed ? 0 : 1]};
    return true;
}

static bool take_all(Reader *r) {
    size_t at = 0;
    for (TF_Operation *op; (op = r->api->TF_GraphNextOperation(r->graph, &at));) {
        const char *type = r->api->TF_OperationOpType(op);
        if (!strcmp(type, "Conv2D") && !take_conv(r, op))
            return false;
        if (!strcmp(type, "MatMul") && !take_product(r, op))
            return false;
        r->backward[0] += !strcmp(type, "Conv2DBackpropInput");
        r->backward[1] += !strcmp(type, "Conv2DBackpropFilter");
    }
    return true;
}

static bool settle_backward(Reader *r) {
    int inputs = 0;
    for (int i = 0; i < r->work->conv_count; i++) {
        Conv *c = &r->work->convs[i];
        c->weights = c->weights && r->backward[1];
        c->input = c->input && r->backward[1];
        inputs += c->input;
    }
    if (r->backward[1] && (r->backward[1] != r->work->conv_count || r->backward[0] < inputs))
        return bad(r, "convolutions without gradients");
    return true;
}

bool work_read(const Api *api, const char *workload, Work *out, char *error, size_t room) {
    Reader r = {.api = api, .graph = api->TF_NewGraph(), .status = api->TF_NewStatus(), .work = out, .error = error,
                .room = room};
    *out = (Work){0};
    *error = 0;
    bool fine = import(&r, workload) && take_all(&r) && settle_backward(&r);
    api->TF_DeleteGraph(r.graph);
    api->TF_DeleteStatus(r.status);
    if (!fine)
        work_clear(out);
    return fine;
}

void work_clear(Work *work) {
    free(work->convs);
    free(work->products);
    *work = (Work){0};
}
