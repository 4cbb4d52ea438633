// Cross entropy — the loss of logits against labels, with its gradient, in one pass over the rows.
#include "loops/norm.h"
#include "ops/nn/staging.h"
#include "ops/op.h"

typedef struct {
    int64_t rows, classes;
    DType compute;
    Stage logits, labels, loss, gradient;
    bool spreads_logits, spreads_labels;       // dense: an input that is broadcast is spread out first
    CopyPlan spread_logits, spread_labels;
    size_t at_logits, at_labels;
} Entropy;

typedef struct {
    const Entropy *own;
    const char *logits, *labels;
    char *loss, *gradient;
    DType index;
    _Atomic int64_t bad;       // sparse: a row whose label is no class, or -1
} Work;

static Status *prepare_rows(Prepare *p, const Shape *shape) {
    Entropy *own = p->own;
    DType dtype = p->in[0]->dtype;
    own->rows = shape->dims[0];
    own->classes = shape->dims[1];
    own->compute = staging_float(dtype);
    TRY(stage_output(p, dtype, own->compute, &p->out[0]->shape, false, &own->loss));
    TRY(stage_output(p, dtype, own->compute, &p->out[1]->shape, false, &own->gradient));
    p->cost = own->rows * own->classes * 3;
    return OK;
}

static void second_derivative(Formula *f, Output logits) {
    // What comes to the op's own gradient output: dx += (dg - sum(dg * softmax)) * softmax. Seldom used: zeros else.
    Output dg = f->dy[1];
    if (formula_is_zero(dg) || str_is(dg.node->type->name, "ZerosLike"))
        return;
    Output softmax = formula_1(f, "Softmax", logits);
    f->dx[0] = Add(f->dx[0], Mul(Sub(dg, SumLast(Mul(dg, softmax))), softmax));
}

// ---------------------------------------- labels as distributions

static Status *dense_shape(Shapes *s) {
    Shape shape;
    TRY(shape_broadcast(&s->in[0], &s->in[1], &shape));
    NEED(shape.rank < 0 || shape.rank == 2, INVALID_ARGUMENT, "logits and labels must be either 2-dimensional, or "
         "broadcasted to 2-dimensional, got %s and %s", shape_text(&s->in[0]), shape_text(&s->in[1]));
    s->out[0] = SHAPE(shape.rank == 2 ? shape.dims[0] : UNKNOWN_DIM);
    s->out[1] = shape.rank == 2 ? shape : (Shape){2, {UNKNOWN_DIM, UNKNOWN_DIM}};
    return OK;
}

static Status *plan_spread(Prepare *p, int input, const Shape *shape, DType compute, Stage *stage, bool *spreads,
                           CopyPlan *copy, size_t *at) {
    const Shape *in = &p->in[input]->shape;
    TRY(stage_input(p, p->in[input]->dtype, compute, in, false, stage));
    *spreads = !shape_equal(in, shape);
    if (!*spreads)
        return OK;
    size_t bytes;
    TRY(shape_bytes(shape, compute, &bytes));
    copy_broadcast(in, shape, dtype_size(compute), copy);
    *at = round_up(p->scratch, 64);
    p->scratch = *at + bytes;
    return OK;
}

static Status *dense_prepare(Prepare *p) {
    Entropy *own = p->own;
    const Shape *shape = &p->out[1]->shape;
    TRY(prepare_rows(p, shape));
    TRY(plan_spread(p, 0, shape, own->compute, &own->logits, &own->spreads_logits, &own->spread_logits, &own->at_logits));
    return plan_spread(p, 1, shape, own->compute, &own->labels, &own->spreads_labels, &own->spread_labels,
                       &own->at_labels);
}

static void dense_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Entropy *own = work->own;
    size_t size = dtype_size(own->compute), at = (size_t)(first * own->classes) * size;
    cross_entropy_rows(own->compute, work->logits + at, work->labels + at, NULL, work->loss + (size_t)first * size,
                       work->gradient + at, last - first, own->classes);
}

static const void *spread_out(bool spreads, const CopyPlan *plan, const void *from, void *to) {
    if (!spreads)
        return from;
    copy_run(plan, from, to, 0, plan->units);
    return to;
}

static Status *dense_run(Kernel *k) {
    const Entropy *own = k->own;
    const void *logits = stage_load(&own->logits, k, k->in[0]->data), *labels = stage_load(&own->labels, k, k->in[1]->data);
    char *scratch = k->scratch;
    Work work = {.own = own, .loss = stage_target(&own->loss, k, k->out[0]->data),
                 .gradient = stage_target(&own->gradient, k, k->out[1]->data)};
    work.logits = spread_out(own->spreads_logits, &own->spread_logits, logits, scratch + own->at_logits);
    work.labels = spread_out(own->spreads_labels, &own->spread_labels, labels, scratch + own->at_labels);
    if (own->rows && own->classes)
        kernel_parallel(k, own->rows, own->classes * 3, dense_rows, &work);
    else if (own->rows)
        memset(work.loss, 0, (size_t)own->rows * dtype_size(own->compute));
    stage_store(&own->loss, k, k->out[0]->data);
    stage_store(&own->gradient, k, k->out[1]->data);
    return OK;
}

static void dense_grad(Formula *f) {  // d logits = dl * (softmax - labels), d labels = -dl * log softmax
    Output dl = ExpandDims(f->dy[0], Int(-1)), logits = f->x[0];
    f->dx[0] = Mul(dl, f->y[1]);
    second_derivative(f, logits);
    f->dx[0] = SumTo(f->dx[0], logits);
    f->dx[1] = SumTo(Neg(Mul(dl, formula_1(f, "LogSoftmax", logits))), f->x[1]);
}

const Op op_SoftmaxCrossEntropyWithLogits = {
    .signature = "SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> loss: T, backprop: T; "
                 "T: {half, bfloat16, float, double}",
    .doc = "The cross entropy of each row's softmax against a distribution, and its gradient by the logits.",
    .shape = dense_shape, .grad = dense_grad, .prepare = dense_prepare, .own_size = sizeof(Entropy),
    .cpu = ANY_TYPE(dense_run),
};

// ---------------------------------------- labels as classes

static Status *sparse_shape(Shapes *s) {
    const Shape *logits = &s->in[0], *labels = &s->in[1];
    int64_t rows = logits->rank == 2 ? logits->dims[0] : UNKNOWN_DIM;
    int64_t more = labels->rank == 1 ? labels->dims[0] : UNKNOWN_DIM;
    NEED(rows < 0 || more < 0 || rows == more, INVALID_ARGUMENT,
         "logits and labels must have the same first dimension, got logits shape %s and labels shape %s",
         shape_text(logits), shape_text(labels));
    s->out[0] = SHAPE(rows >= 0 ? rows : more);
    s->out[1] = logits->rank == 2 ? *logits : (Shape){2, {more, UNKNOWN_DIM}};
    return OK;
}

static Status *sparse_prepare(Prepare *p) {
    Entropy *own = p->own;
    TRY(prepare_rows(p, &p->in[0]->shape));
    NEED(own->classes > 0, INVALID_ARGUMENT, "Must have at least one class, but got logits shape %s",
         shape_text(&p->in[0]->shape));
    return stage_input(p, p->in[0]->dtype, own->compute, &p->in[0]->shape, false, &own->logits);
}

static void sparse_rows(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Entropy *own = work->own;
    size_t size = dtype_size(own->compute), at = (size_t)(first * own->classes) * size;
    int64_t bad = sparse_cross_entropy_rows(own->compute, work->logits + at,
                                            work->labels + (size_t)first * dtype_size(work->index), work->index,
                                            NULL, work->loss + (size_t)first * size, work->gradient + at, last - first,
                                            own->classes);
    if (bad >= 0)
        atomic_store(&work->bad, first + bad);
}

static Status *sparse_run(Kernel *k) {
    const Entropy *own = k->own;
    Work work = {.own = own, .logits = stage_load(&own->logits, k, k->in[0]->data), .labels = k->in[1]->data,
                 .loss = stage_target(&own->loss, k, k->out[0]->data), .index = k->in[1]->dtype,
                 .gradient = stage_target(&own->gradient, k, k->out[1]->data)};
    atomic_init(&work.bad, -1);
    if (own->rows)
        kernel_parallel(k, own->rows, own->classes * 3, sparse_rows, &work);
    int64_t bad = atomic_load(&work.bad);
    NEED(bad < 0, INVALID_ARGUMENT, "Received a label value of %lld which is outside the valid range of [0, %lld)",
         (long long)tensor_int(k->in[1], bad), (long long)own->classes);
    stage_store(&own->loss, k, k->out[0]->data);
    stage_store(&own->gradient, k, k->out[1]->data);
    return OK;
}

static void sparse_grad(Formula *f) {
    f->dx[0] = Mul(ExpandDims(f->dy[0], Int(-1)), f->y[1]);
    second_derivative(f, f->x[0]);
}

const Op op_SparseSoftmaxCrossEntropyWithLogits = {
    .signature = "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> loss: T, backprop: T; "
                 "T: {half, bfloat16, float, double}; Tlabels: {int32, int64} = int64",
    .doc = "The cross entropy of each row's softmax against one class, and its gradient by the logits.",
    .needs = "matrix(features), vector(labels)", .shape = sparse_shape, .grad = sparse_grad, .prepare = sparse_prepare,
    .own_size = sizeof(Entropy), .cpu = ANY_TYPE(sparse_run),
};
