// Layers of sequences — see net.h: tables of words, memory cells, and losses over more classes than one wants to count.
#include <math.h>

#include "formula/ops.h"
#include "train/layer.h"

// ---------------------------------------- tables

static Output initial_word(Net *net, Shape shape, double limit) {
    return initial_uniform(net, shape, DT_float, -limit, limit);
}

Output layer_embedding(Net *net, const char *name, Output ids, int64_t count, int64_t width) {
    if (!layer_size(net, name, "the number of rows", count) || !layer_size(net, name, "a row's width", width))
        return NONE;
    net_scope(net, name);
    Table table = table_new(net, "table", SHAPE(count, width), initial_word, 0.05, NULL);
    Output y = table_rows(net, &table, ids);
    net_scope(net, NULL);
    return y;
}

// ---------------------------------------- memory cells

static Output zeros(Net *net, Output x, int64_t units) {  // [batch units] for x [batch ...]
    Formula *f = &net->f;
    Output batch = Slice(ShapeOf(x), Ints(0), Ints(1));
    Output shape[] = {batch, Ints(units)};
    return Fill(Concat(shape, 2, Int(0)), Scalar(0, x));
}

// i, f, o = sigmoid, j = tanh of x W + h U + b;  c = f c + i j;  h = o tanh(c)
static void lstm_step(Net *net, Output from_x, Output recurrent, Output state[2]) {
    Formula *f = &net->f;
    Output gates = Split(Add(from_x, MatMul(state[0], recurrent, false, false)), Int(1), 4);
    Output kept = Mul(Sigmoid(At(gates, 2)), state[1]);
    Output written = Mul(Sigmoid(At(gates, 0)), Tanh(At(gates, 1)));
    state[1] = Add(kept, written);
    state[0] = Mul(Sigmoid(At(gates, 3)), Tanh(state[1]));
}

// What remembers starts open: 1 for the quarter of the forget gate.
static Output initial_lstm_bias(Net *net, int64_t units, DType dtype) {
    Formula *f = &net->f;
    Output none = initial_constant(net, SHAPE(units), dtype, 0);
    Output parts[] = {none, none, initial_constant(net, SHAPE(units), dtype, 1), none};
    return Concat(parts, 4, Int(0));
}

Output layer_lstm(Net *net, const char *name, Output x, int64_t units, Output state[2]) {
    Formula *f = &net->f;
    int64_t in;
    if (!layer_channels(net, name, x, 3, &in) || !layer_size(net, name, "the number of units", units))
        return NONE;
    int64_t steps = output_shape(x)->dims[0];
    if (steps < 1 || steps > 10000) {
        formula_fail(f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                   "layer %s takes a known number of steps; got %s",
                                   name, shape_text(output_shape(x))));
        return NONE;
    }
    net_scope(net, name);
    DType dtype = output_type(x);
    int kernel = net_variable(net, "kernel", initial_glorot_uniform(net, SHAPE(in, 4 * units), dtype), true);
    int recurrent = net_variable(net, "recurrent", initial_glorot_uniform(net, SHAPE(units, 4 * units), dtype), true);
    int bias = net_variable(net, "bias", initial_lstm_bias(net, units, dtype), true);
    Output all = MatMul(Reshape(x, Ints(-1, in)), net_value(net, kernel), false, false);  // of all steps at once
    all = Op("BiasAdd", all, net_value(net, bias));
    Output per_step = Split(all, Int(0), steps);
    Output *hs = ARENA_ARRAY(&net->names, Output, (size_t)steps);
    if (!hs)
        formula_fail(f, OUT_OF_MEMORY);
    for (int i = 0; i < 2; i++)
        state[i] = state[i].node ? state[i] : zeros(net, per_step, units);
    for (int64_t i = 0; i < steps && !f->status; i++) {
        lstm_step(net, At(per_step, (int)i), net_value(net, recurrent), state);
        hs[i] = state[0];
    }
    Output y = f->status ? NONE : Pack(hs, (int)steps, 0);
    net_scope(net, NULL);
    return y;
}

// ---------------------------------------- a choice of classes

// Log-uniform (Zipfian) sampling of classes in [0, n), as TensorFlow's LogUniformCandidateSampler: class i with
// probability log((i + 2) / (i + 1)) / log(n + 1), with repetition. By inversion: floor(exp(u)) - 1 for u uniform in
// [0, log(n + 1)). It suits words sorted by frequency.
static Output draw_classes(Net *net, int64_t samples, int64_t n) {
    Formula *f = &net->f;
    Output u = initial_uniform(net, SHAPE(samples), DT_float, 0, log((double)n + 1));
    Output drawn = Cast(Sub(Exp(u), Number(1, DT_float)), DT_int64);
    return Minimum(drawn, Int64(n - 1));
}

static Output chance(Net *net, Output classes, int64_t n) {
    Formula *f = &net->f;
    Output i = Cast(classes, DT_float);
    return Mul(Log1p(Reciprocal(Add(i, Number(1, DT_float)))), Number(1 / log((double)n + 1), DT_float));
}

// Logits of samples stand for all classes: less by the log of how often they are expected. The true class is there in
// any case, but as often as it is among the samples at all, 1 - (1 - chance)^samples, others stand for it.
static Output less_true(Net *net, Output labels, int64_t samples, int64_t n) {
    Formula *f = &net->f;
    Output drawn = Mul(Log1p(Neg(chance(net, labels, n))), Number((double)samples, DT_float));
    return Log(Neg(Expm1(drawn)));
}

static Output less_drawn(Net *net, Output drawn, int64_t samples, int64_t n) {
    Formula *f = &net->f;
    return Log(Mul(chance(net, drawn, n), Number((double)samples, DT_float)));
}

// [batch 1 + samples]: the true class first. A sample that is the true class counts nothing.
static Output sampled_logits(Net *net, const Table *kernel, const Table *bias, Output x, Output labels, int64_t classes,
                             int64_t samples) {
    Formula *f = &net->f;
    Output drawn = draw_classes(net, samples, classes);
    Output ids = Concat(((Output[]){labels, drawn}), 2, Int(0));
    Output w = table_rows(net, kernel, ids), b = table_rows(net, bias, ids);
    Output n = Slice(ShapeOf(labels), Ints(0), Ints(1)), zero = Ints(0);
    Output zeros2 = Ints(0, 0), width = Ints(-1);
    Output begin2 = Concat(((Output[]){n, zero}), 2, Int(0)), size2 = Concat(((Output[]){n, width}), 2, Int(0));
    Output less[] = {less_true(net, labels, samples, classes), less_drawn(net, drawn, samples, classes)};
    b = Sub(b, StopGradient(Concat(less, 2, Int(0))));
    Output true_logits = Add(SumLast(Mul(x, Slice(w, zeros2, size2))), ExpandDims(Slice(b, zero, n), Int(1)));
    Output others = Add(MatMul(x, Slice(w, begin2, Ints(-1, -1)), false, true), Slice(b, n, Ints(-1)));
    Output hit = Equal(ExpandDims(labels, Int(1)), ExpandDims(drawn, Int(0)));
    others = Select(hit, Number(-1e9, DT_float), others);
    return Concat(((Output[]){true_logits, others}), 2, Int(1));
}

typedef struct {
    Table kernel, bias;
    Output x, labels;
} Classes;

static Output initial_kernel(Net *net, Shape shape, double deviation) {
    return initial_truncated_normal(net, shape, DT_float, deviation);
}

static Output initial_bias(Net *net, Shape shape, double value) {
    return initial_constant(net, shape, DT_float, value);
}

// Takes the variables of that name where they are, whether testing or not. `labels` may be {NULL}.
static bool open_classes(Net *net, const char *name, Output x, Output labels, int64_t classes, Classes *out) {
    Formula *f = &net->f;
    int64_t width;
    bool testing = net->testing;
    if (!layer_channels(net, name, x, 2, &width) || !layer_size(net, name, "the number of classes", classes))
        return false;
    net_scope(net, name);
    net->testing = true;
    double deviation = 1 / sqrt((double)width);
    out->kernel = table_new(net, "kernel", SHAPE(classes, width), initial_kernel, deviation, NULL);
    out->bias = table_new(net, "bias", SHAPE(classes), initial_bias, 0, &out->kernel);
    net->testing = testing;
    out->x = x;
    out->labels = labels.node ? Cast(labels, DT_int64) : NONE;
    return true;
}

// Each shard's logits are computed where it lies. Joined they stand by shards: class i is the i / n-th of shard i % n.
static Output all_logits(Net *net, const Classes *c) {
    Formula *f = &net->f;
    int n = c->kernel.n;
    int64_t *order = ARENA_ARRAY(&net->names, int64_t, c->kernel.rows), first = 0;
    Output *logits = ARENA_ARRAY(&net->names, Output, n);
    if (!order || !logits)
        formula_fail(f, OUT_OF_MEMORY);
    for (int i = 0; i < n && !f->status; i++) {
        int kernel = c->kernel.first + i, bias = c->bias.first + i;
        NetPlace place = net_go(net, net->variables.p[kernel].device, false);
        logits[i] = Op("BiasAdd", MatMul(c->x, net_value(net, kernel), false, true), net_value(net, bias));
        net_return(net, place);
        for (int64_t k = i; k < c->kernel.rows; k += n)
            order[k] = first++;
    }
    if (f->status || n == 1)
        return f->status ? NONE : logits[0];
    return Gather(Concat(logits, n, Int(1)), formula_ints(f, order, (int)c->kernel.rows, DT_int32), Int(1));
}

Output layer_all_logits(Net *net, const char *name, Output x, int64_t classes) {
    Classes c;
    if (!open_classes(net, name, x, NONE, classes, &c))
        return NONE;
    Output y = all_logits(net, &c);
    net_scope(net, NULL);
    return y;
}

static Output softmax_mean(Net *net, Output logits, Output labels) {
    Formula *f = &net->f;
    return Mean(Op("SparseSoftmaxCrossEntropyWithLogits", logits, labels), Int(0), false);
}

Output loss_sampled_softmax(Net *net, const char *name, Output x, Output labels, int64_t classes, int64_t samples) {
    Formula *f = &net->f;
    Classes c;
    if (!layer_size(net, name, "the number of samples", samples) || !open_classes(net, name, x, labels, classes, &c))
        return NONE;
    Output y;
    if (net->testing)
        y = softmax_mean(net, all_logits(net, &c), c.labels);
    else
        y = softmax_mean(net, sampled_logits(net, &c.kernel, &c.bias, x, c.labels, classes, samples),
                         ZerosLike(c.labels));
    net_scope(net, NULL);
    return y;
}

// sum over the classes of log(1 + exp(-z)) for the true one, log(1 + exp(z)) for the others; the mean over the batch
Output loss_nce(Net *net, const char *name, Output x, Output labels, int64_t classes, int64_t samples) {
    Formula *f = &net->f;
    Classes c;
    if (net->testing)
        return loss_sampled_softmax(net, name, x, labels, classes, samples);
    if (!layer_size(net, name, "the number of samples", samples) || !open_classes(net, name, x, labels, classes, &c))
        return NONE;
    Output z = sampled_logits(net, &c.kernel, &c.bias, x, c.labels, classes, samples);
    Output first = Slice(z, Ints(0, 0), Ints(-1, 1)), rest = Slice(z, Ints(0, 1), Ints(-1, -1));
    Output per_example = Add(Sum(Softplus(Neg(first)), Int(1), false), Sum(Softplus(rest), Int(1), false));
    Output y = Mean(per_example, Int(0), false);
    net_scope(net, NULL);
    return y;
}
