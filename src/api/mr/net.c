// Networks of the C interface — see millrace/millrace.h: src/train by its outside names.
#include <stdlib.h>

#include "api/mr/net.h"
#include "api/tf/session.h"
#include "formula/ops.h"
#include "train/freeze.h"

mr_net *mr_net_new(TF_Graph *graph, int64_t seed) {
    mr_net *net = calloc(1, sizeof *net);
    if (!net)
        return NULL;
    api_graph_retain(graph);
    net->graph = graph;
    net_init(&net->net, graph->graph, seed);
    return net;
}

void mr_net_delete(mr_net *net) {
    if (!net)
        return;
    net_clear(&net->net);
    api_graph_release(net->graph);
    free(net);
}

void mr_net_status(const mr_net *net, TF_Status *status) {
    api_set(status, status_copy(net->net.f.status));
}

// ---------------------------------------- parts

// A node under exactly that name, if it is free.
static Output add(mr_net *net, const char *op, const char *name, Output input, const AttrEntry *attrs, int n_attrs) {
    Formula *f = &net->net.f;
    Node *node = NULL;
    Str unique;
    if (f->status)
        return NONE;
    Status *status = graph_unique_name(f->graph, str_of(name), &unique);
    if (!status) {
        AUTO(builder) NodeBuilder builder;
        builder_init(&builder, f->graph, str_of(op), unique);
        if (input.node)
            builder_input(&builder, input);
        for (int i = 0; i < n_attrs; i++)
            builder_attr(&builder, attrs[i].name, &attrs[i].value);
        status = builder_finish(&builder, &node);
    }
    if (status)
        formula_fail(f, status);
    return (Output){node, 0};
}

static Output input(mr_net *net, const char *name, TF_DataType dtype, const int64_t *dims, int num_dims) {
    Shape shape;
    Status *status = num_dims > 0 && !dims ? API_ERROR(INVALID_ARGUMENT, "%d dimensions, but no list of them", num_dims)
                                           : api_shape(dims, num_dims, &shape);
    if (status) {
        formula_fail(&net->net.f, status);
        return NONE;
    }
    AttrEntry attrs[] = {{STR("dtype"), ATTR_OF_TYPE((DType)dtype)},
                         {STR("shape"), {.kind = ATTR_SHAPE, .shape = &shape}}};
    return add(net, "Placeholder", name, NONE, attrs, 2);
}

TF_Output mr_input(mr_net *net, const char *name, TF_DataType dtype, const int64_t *dims, int num_dims) {
    WRITE(input(net, name, dtype, dims, num_dims));
}

TF_Output mr_variable(mr_net *net, const char *name, TF_Output initial, int trainable) {
    WRITE(net_value(&net->net, net_variable(&net->net, name, inside(net, initial), trainable)));
}

TF_Output mr_constant(mr_net *net, const TF_Tensor *value) {
    if (!value)
        formula_fail(&net->net.f, API_ERROR(INVALID_ARGUMENT, "a constant of no tensor"));
    WRITE(value ? formula_tensor(f, &value->tensor) : NONE);
}

TF_Output mr_scalar(mr_net *net, double value, TF_DataType dtype) {
    WRITE(Number(value, (DType)dtype));
}

TF_Output mr_op(mr_net *net, const char *op, const TF_Output *inputs, int ninputs) {
    WRITE(formula_op(f, op, (const Output *)inputs, ninputs, NULL));
}

TF_Output mr_cast(mr_net *net, TF_Output x, TF_DataType dtype) {
    WRITE(Cast(inside(net, x), (DType)dtype));
}

static Output concat(mr_net *net, const TF_Output *xs, int n, int axis) {
    Formula *f = &net->net.f;
    for (int i = 0; i < n; i++)
        inside(net, xs[i]);
    return Concat((const Output *)xs, n, Int(axis));
}

TF_Output mr_concat(mr_net *net, const TF_Output *xs, int nxs, int axis) {
    WRITE(concat(net, xs, nxs, axis));
}

static Output as_rows(mr_net *net, Output x, int64_t width) {
    Formula *f = &net->net.f;
    if (width < 0)
        formula_fail(f, API_ERROR(INVALID_ARGUMENT, "rows of %lld elements", (long long)width));
    return Reshape(x, width > 0 ? Ints(-1, width) : Ints(-1));
}

TF_Output mr_rows(mr_net *net, TF_Output x, int64_t width) {
    WRITE(as_rows(net, inside(net, x), width));
}

void mr_testing(mr_net *net, int on) {
    mutex_lock(&net->graph->lock);
    net->net.testing = on != 0;
    mutex_unlock(&net->graph->lock);
}

TF_Output mr_named(mr_net *net, const char *name, TF_Output x) {
    WRITE(add(net, "Identity", name, inside(net, x), NULL, 0));
}

// ---------------------------------------- layers, losses

TF_Output mr_dense(mr_net *net, const char *name, TF_Output x, int64_t units, const char *activation) {
    WRITE(layer_dense(&net->net, name, inside(net, x), units, activation));
}

TF_Output mr_conv(mr_net *net, const char *name, TF_Output x, int64_t filters, int size, int stride,
                  const char *activation) {
    WRITE(layer_conv(&net->net, name, inside(net, x), filters, size, stride, activation));
}

TF_Output mr_max_pool(mr_net *net, const char *name, TF_Output x, int size, int stride) {
    WRITE(layer_pool(&net->net, name, "MaxPool", inside(net, x), size, stride, "VALID"));
}

TF_Output mr_average_pool(mr_net *net, const char *name, TF_Output x, int size, int stride) {
    WRITE(layer_pool(&net->net, name, "AvgPool", inside(net, x), size, stride, "VALID"));
}

TF_Output mr_flatten(mr_net *net, const char *name, TF_Output x) {
    WRITE(layer_flatten(&net->net, name, inside(net, x)));
}

TF_Output mr_dropout(mr_net *net, const char *name, TF_Output x, TF_Output rate) {
    WRITE(layer_dropout(&net->net, name, inside(net, x), inside(net, rate)));
}

TF_Output mr_bias(mr_net *net, const char *name, TF_Output x, const char *activation) {
    WRITE(layer_bias(&net->net, name, inside(net, x), activation));
}

TF_Output mr_convolve(mr_net *net, const char *name, TF_Output x, int64_t filters, int height, int width, int stride,
                      const char *padding) {
    WRITE(layer_convolve(&net->net, name, inside(net, x), filters, height, width, stride, padding));
}

TF_Output mr_pool(mr_net *net, const char *name, const char *op, TF_Output x, int size, int stride,
                  const char *padding) {
    WRITE(layer_pool(&net->net, name, op, inside(net, x), size, stride, padding));
}

TF_Output mr_global_average(mr_net *net, const char *name, TF_Output x) {
    WRITE(layer_global_average(&net->net, name, inside(net, x)));
}

TF_Output mr_batch_norm(mr_net *net, const char *name, TF_Output x, const char *activation) {
    WRITE(layer_batch_norm(&net->net, name, inside(net, x), activation));
}

TF_Output mr_lrn(mr_net *net, const char *name, TF_Output x, int radius, double bias, double alpha, double beta) {
    WRITE(layer_lrn(&net->net, name, inside(net, x), radius, bias, alpha, beta));
}

TF_Output mr_embedding(mr_net *net, const char *name, TF_Output ids, int64_t count, int64_t width) {
    WRITE(layer_embedding(&net->net, name, inside(net, ids), count, width));
}

TF_Output mr_lstm(mr_net *net, const char *name, TF_Output x, int64_t units, TF_Output state[2]) {
    mutex_lock(&net->graph->lock);
    Output now[2] = {NONE, NONE};
    for (int i = 0; i < 2; i++)
        now[i] = state[i].oper ? inside(net, state[i]) : NONE;
    Output y = layer_lstm(&net->net, name, inside(net, x), units, now);
    for (int i = 0; i < 2; i++)
        state[i] = outside(now[i]);
    mutex_unlock(&net->graph->lock);
    return outside(y);
}

TF_Output mr_loss_softmax(mr_net *net, TF_Output logits, TF_Output labels) {
    WRITE(loss_softmax(&net->net, inside(net, logits), inside(net, labels)));
}

TF_Output mr_loss_squared(mr_net *net, TF_Output predictions, TF_Output targets) {
    WRITE(loss_squared(&net->net, inside(net, predictions), inside(net, targets)));
}

TF_Output mr_loss_sampled_softmax(mr_net *net, const char *name, TF_Output x, TF_Output labels, int64_t classes,
                                  int64_t samples) {
    WRITE(loss_sampled_softmax(&net->net, name, inside(net, x), inside(net, labels), classes, samples));
}

TF_Output mr_loss_nce(mr_net *net, const char *name, TF_Output x, TF_Output labels, int64_t classes, int64_t samples) {
    WRITE(loss_nce(&net->net, name, inside(net, x), inside(net, labels), classes, samples));
}

TF_Output mr_all_logits(mr_net *net, const char *name, TF_Output x, int64_t classes) {
    WRITE(layer_all_logits(&net->net, name, inside(net, x), classes));
}

TF_Output mr_accuracy(mr_net *net, TF_Output logits, TF_Output labels) {
    WRITE(net_accuracy(&net->net, inside(net, logits), inside(net, labels)));
}

// ---------------------------------------- training

TF_Output mr_steps(mr_net *net) {
    WRITE(net_steps(&net->net));
}

static Output rate_of(Net *net, const mr_schedule *s) {
    Formula *f = &net->f;
    Output step = net_steps(net), rate = NONE;
    Str name = str_of(s->name ? s->name : "constant");
    if (str_is(name, "constant"))
        rate = Number(s->rate, DT_float);
    else if (s->steps <= 0)
        formula_fail(f, API_ERROR(INVALID_ARGUMENT, "the schedule '%s' takes a number of steps above 0", s->name));
    else if (str_is(name, "exponential"))
        rate = schedule_exponential(net, s->rate, step, s->steps, s->factor, s->staircase != 0);
    else if (str_is(name, "polynomial"))
        rate = schedule_polynomial(net, s->rate, step, s->steps, s->last, s->power != 0 ? s->power : 1);
    else if (str_is(name, "cosine"))
        rate = schedule_cosine(net, s->rate, step, s->steps, s->last);
    else if (str_is(name, "inverse-time"))
        rate = schedule_inverse_time(net, s->rate, step, s->steps, s->factor);
    else
        formula_fail(f, API_ERROR(NOT_FOUND, "there is no schedule '%s'", s->name));
    return s->warmup > 0 && rate.node ? schedule_warmup(net, rate, step, s->warmup) : rate;
}

TF_Output mr_rate(mr_net *net, const mr_schedule *schedule) {
    mr_schedule given = {0};
    if (!schedule) {
        WRITE((formula_fail(f, API_ERROR(INVALID_ARGUMENT, "there is no schedule")), NONE));
    }
    memcpy(&given, schedule, schedule->struct_size < sizeof given ? schedule->struct_size : sizeof given);
    WRITE(rate_of(&net->net, &given));
}

Status *net_read_optimizer(const mr_optimizer *from, Optimizer *out, Clip *clip) {
    mr_optimizer given = {0};
    NEED(from, INVALID_ARGUMENT, "there is no optimizer");
    memcpy(&given, from, from->struct_size < sizeof given ? from->struct_size : sizeof given);
    int kind = 0;
    NEED(given.name, INVALID_ARGUMENT, "the optimizer has no name");
    while (optimizer_name((OptimizerKind)kind) && strcmp(optimizer_name((OptimizerKind)kind), given.name) != 0)
        kind++;
    NEED(kind < OPTIMIZERS, NOT_FOUND, "there is no optimizer '%s'", given.name);
    Optimizer optimizer = optimizer_of((OptimizerKind)kind);
    optimizer.fused = !given.as_formulas;
    optimizer.momentum = given.momentum != 0 ? given.momentum : optimizer.momentum;
    optimizer.rho = given.rho != 0 ? given.rho : optimizer.rho;
    optimizer.beta1 = given.beta1 != 0 ? given.beta1 : optimizer.beta1;
    optimizer.beta2 = given.beta2 != 0 ? given.beta2 : optimizer.beta2;
    optimizer.epsilon = given.epsilon != 0 ? given.epsilon : optimizer.epsilon;
    *clip = (Clip){given.clip_value, given.clip_norm, given.clip_global_norm};
    *out = optimizer;
    return OK;
}

TF_Operation *mr_minimize(mr_net *net, const mr_optimizer *optimizer, TF_Output rate, TF_Output loss) {
    Optimizer kind;
    Clip clip;
    Node *node = NULL;
    Status *status = net_read_optimizer(optimizer, &kind, &clip);
    mutex_lock(&net->graph->lock);
    if (status)
        formula_fail(&net->net.f, status);
    else
        node = optimizer_minimize(&net->net, &kind, inside(net, rate), inside(net, loss), &clip);
    mutex_unlock(&net->graph->lock);
    return api_operation(node);
}

TF_Operation *mr_init(mr_net *net) {
    mutex_lock(&net->graph->lock);
    Node *node = net_init_all(&net->net);
    mutex_unlock(&net->graph->lock);
    return api_operation(node);
}

// ---------------------------------------- freezing

static Status *write_frozen(TF_Session *session, const Output *outputs, int n, const OutputList *reads, Tensor *values,
                            TF_Buffer *out) {
    StepSignature signature = {.fetches = reads->p, .n_fetches = (int)reads->n};
    if (reads->n)
        TRY(session_run(session->session, &signature, &run_settings_default, NULL, values));
    mutex_lock(&session->graph->lock);
    Graph *frozen = NULL;
    Status *status = freeze_write(session->graph->graph, outputs, n, reads, values, &frozen);
    mutex_unlock(&session->graph->lock);
    TRY(status);
    AUTO(text) Text text = {0};
    status = graph_to_proto(frozen, &text);
    graph_release(frozen);
    TRY(status);
    return buffer_fill(out, &text);
}

static Status *freeze(TF_Session *session, const TF_Output *outputs, int n, TF_Buffer *out) {
    for (int i = 0; i < n; i++)
        TRY(api_output_check(session->graph->graph, outputs[i]));
    NEED(out && !out->data, INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
    OutputList reads = {0};
    mutex_lock(&session->graph->lock);
    Status *status = freeze_reads(session->graph->graph, (const Output *)outputs, n, &reads);
    mutex_unlock(&session->graph->lock);
    AUTO(arena) Arena arena = {0};
    Tensor *values = ARENA_ARRAY(&arena, Tensor, reads.n);
    if (!status && !values)
        status = OUT_OF_MEMORY;
    if (!status)
        status = write_frozen(session, (const Output *)outputs, n, &reads, values, out);
    for (size_t i = 0; values && i < reads.n; i++)
        tensor_clear(&values[i]);
    vec_clear(&reads);
    return status;
}

void mr_freeze(TF_Session *session, const TF_Output *outputs, int noutputs, TF_Buffer *graph_def, TF_Status *status) {
    api_set(status, freeze(session, outputs, noutputs, graph_def));
}
