// Cross entropy — the loss of logits against labels, with its gradient, in one pass over the rows.
//
// TensorFlow's op has two outputs, the loss and softmax - labels; its gradient is the second output times what comes to
// the first. Softmax is never stored: the greatest logit is taken off, then exponentials, sum and both outputs are made
// row by row while the row is in the cache.
#include "graph/rewrite.h"
#include "loops/norm.h"
#include "ops/nn/staging.h"
#include "ops/op.h"

typedef struct {
    int64_t rows, classes, abreast, cost;      // abreast: rows of a unit; cost: ns
    DType compute;
    Stage logits, labels, factor, loss, gradient;
    int at_loss, at_gradient;                  // outputs
    bool scaled;                               // input 2 is a factor for each row's gradient
    bool spreads_logits, spreads_labels;       // dense: an input that is broadcast is spread out first
    CopyPlan spread_logits, spread_labels;
    size_t at_logits, at_labels;
} Entropy;

typedef struct {
    const Entropy *own;
    const char *logits, *labels, *factor;      // factor: NULL, or one for each row
    char *loss, *gradient;
    DType index;
    _Atomic int64_t bad;       // sparse: a row whose label is no class, or -1
} Work;

static Status *prepare_rows(Prepare *p, const Shape *shape) {
    Entropy *own = p->own;
    DType dtype = p->in[0]->dtype;
    own->scaled = p->n_in > 2;
    own->at_loss = own->scaled;
    own->at_gradient = !own->scaled;
    own->rows = shape->dims[0];
    own->classes = shape->dims[1];
    own->compute = staging_float(dtype);
    TRY(stage_output(p, dtype, own->compute, &p->out[own->at_loss]->shape, false, &own->loss));
    TRY(stage_output(p, dtype, own->compute, &p->out[own->at_gradient]->shape, false, &own->gradient));
    if (own->scaled)
        TRY(stage_input(p, dtype, own->compute, &p->in[2]->shape, false, &own->factor));
    own->abreast = softmax_abreast(own->compute, own->classes);
    int64_t count = own->rows * own->classes;
    p->cost = own->cost = kernel_cost(count, softmax_picoseconds(own->compute), 2 * count * (int64_t)dtype_size(dtype));
    return OK;
}

static Work work_of(Kernel *k) {
    const Entropy *own = k->own;
    return (Work){
        .own = own, .index = k->in[1]->dtype,
        .factor = own->scaled ? stage_load(&own->factor, k, k->in[2]->data) : NULL,
        .loss = stage_target(&own->loss, k, k->out[own->at_loss]->data),
        .gradient = stage_target(&own->gradient, k, k->out[own->at_gradient]->data),
    };
}

static const void *factors(const Work *work, int64_t row) {
    return work->factor ? work->factor + (size_t)row * dtype_size(work->own->compute) : NULL;
}

static void store(Kernel *k) {
    const Entropy *own = k->own;
    stage_store(&own->loss, k, k->out[own->at_loss]->data);
    stage_store(&own->gradient, k, k->out[own->at_gradient]->data);
}

static void second_derivative(Formula *f, Output logits) {
    // What comes to the op's own gradient output: dx += (dg - sum(dg * softmax)) * softmax. Seldom used: zeros else.
    Output dg = f->dy[1];
    if (!(f->dy_used & BIT(1)))
        return;
    Output softmax = formula_1(f, "Softmax", logits);
    f->dx[0] = Add(f->dx[0], Mul(Sub(dg, SumLast(Mul(dg, softmax))), softmax));
}

// ---------------------------------------- the gradient times what comes in
//
// The rows' factors come from behind the loss, but where they depend on its shape alone they are there before it: the
// planner sees to it that they are. Then the gradient is written once, over the logits where nobody else reads these.

#define SCALED_NEEDS "matrix(factor)"

static Output other_factor(const Node *root, const Node *product) {
    const Output *in = product->inputs;
    return in[in[0].node == root && in[0].index == 1];
}

// A product of the gradient and a column of as many rows.
static bool takes_factor(const Match *match, const Node *next) {
    const Node *root = match->nodes[0];
    if (match->n > 1 || !str_is(next->type->name, "Mul"))
        return false;
    Output factor = other_factor(root, next);
    const Shape *column = &factor.node->output_shapes[factor.index], *rows = &root->output_shapes[1];
    return factor.node != root && !dtype_is_ref(factor.node->output_types[factor.index]) && rows->rank == 2 &&
           column->rank == 2 && column->dims[1] == 1 && rows->dims[0] >= 0 && column->dims[0] == rows->dims[0];
}

static Status *write_scaled(NodeBuilder *builder, const Match *match) {
    const Node *root = match->nodes[0];
    for (int i = 0; i < root->n_inputs; i++)
        builder_input(builder, root->inputs[i]);
    builder_input(builder, other_factor(root, match->nodes[1]));
    for (int i = 0; i < root->n_attrs; i++)
        builder_attr(builder, root->attrs[i].name, &root->attrs[i].value);
    return OK;
}

// The outputs of `shape` the other way round, and the factors beside them.
static Status *scaled_shape(Shapes *s, ShapeFn *shape) {
    const Shape *factor = &s->in[2];
    TRY(shape(s));
    Shape loss = s->out[0];
    s->out[0] = s->out[1];
    s->out[1] = loss;
    Shape column = SHAPE(loss.dims[0], 1);
    NEED(shape_compatible(factor, &column), INVALID_ARGUMENT, "a factor for each row is wanted, %s, got %s",
         shape_text(&column), shape_text(factor));
    return OK;
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

static Status *scaled_dense_shape(Shapes *s) {
    return scaled_shape(s, dense_shape);
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
    const Shape *shape = &p->out[p->n_in < 3]->shape;
    TRY(prepare_rows(p, shape));
    TRY(plan_spread(p, 0, shape, own->compute, &own->logits, &own->spreads_logits, &own->spread_logits,
                    &own->at_logits));
    return plan_spread(p, 1, shape, own->compute, &own->labels, &own->spreads_labels, &own->spread_labels,
                       &own->at_labels);
}

static void dense_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Entropy *own = work->own;
    first *= own->abreast;
    last = min_i64(own->rows, last * own->abreast);
    size_t size = dtype_size(own->compute), at = (size_t)(first * own->classes) * size;
    cross_entropy_rows(own->compute, work->logits + at, work->labels + at, factors(work, first),
                       work->loss + (size_t)first * size,
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
    const void *logits = stage_load(&own->logits, k, k->in[0]->data),
        *labels = stage_load(&own->labels, k, k->in[1]->data);
    char *scratch = k->scratch;
    Work work = work_of(k);
    work.logits = spread_out(own->spreads_logits, &own->spread_logits, logits, scratch + own->at_logits);
    work.labels = spread_out(own->spreads_labels, &own->spread_labels, labels, scratch + own->at_labels);
    if (own->rows && own->classes)
        kernel_share(k, div_up(own->rows, own->abreast), own->cost, dense_rows, &work);
    else if (own->rows)
        memset(work.loss, 0, (size_t)own->rows * dtype_size(own->compute));
    store(k);
    return OK;
}

static void dense_grad(Formula *f) {  // d logits = dl * (softmax - labels), d labels = -dl * log softmax
    Output dl = ExpandDims(f->dy[0], Int(-1)), logits = f->x[0];
    f->dx[0] = Mul(dl, f->y[1]);
    second_derivative(f, logits);
    f->dx[0] = SumTo(f->dx[0], logits);
    f->dx[1] = SumTo(Neg(Mul(dl, formula_1(f, "LogSoftmax", logits))), f->x[1]);
}

// ---------------------------------------- for devices that compile

// The loss of each row and its gradient, from the distance of logits to their logarithm of the sum.
static COLD Status *entropy_out(Hlo *h, HloValue loss, HloValue gradient) {
    TRY(hlo_out(h, 0, hlo_cast(h, loss, hlo_out_type(h, 0))));
    return hlo_out(h, 1, hlo_cast(h, gradient, hlo_out_type(h, 1)));
}

static COLD HloValue below_most(Hlo *h, HloValue x) {
    return hlo_sub(h, x, hlo_reduce(h, "maximum", x, LAST(x), KEEP));
}

static COLD Status *dense_hlo(Hlo *h) {
    HloValue labels = hlo_broadcast(h, hlo_wide(h, hlo_in(h, 1)), *hlo_out_shape(h, 1));
    HloValue s = below_most(h, hlo_broadcast(h, hlo_wide(h, hlo_in(h, 0)), *hlo_out_shape(h, 1)));
    HloValue e = hlo_exp(h, s), sum = hlo_reduce(h, "add", e, BIT(1), KEEP);
    HloValue terms = hlo_mul(h, labels, hlo_sub(h, hlo_log(h, sum), s));
    terms = hlo_select(h, hlo_is(h, "EQ", labels, 0), hlo_like(h, 0, labels), terms);
    return entropy_out(h, hlo_reduce(h, "add", terms, BIT(1), DROP), hlo_sub(h, hlo_div(h, e, sum), labels));
}

static COLD Status *sparse_hlo(Hlo *h) {
    HloValue s = below_most(h, hlo_wide(h, hlo_in(h, 0))), labels = hlo_in(h, 1);
    TRY(h->status);
    hlo_check_range(h, labels, s->shape.dims[1], "a label is no class");
    HloValue hot = hlo_eq(h, hlo_iota(h, labels->dtype, s->shape, 1), hlo_expand(h, labels, 1));
    HloValue e = hlo_exp(h, s), sum = hlo_reduce(h, "add", e, BIT(1), KEEP);
    HloValue own = hlo_reduce(h, "add", hlo_select(h, hot, s, hlo_like(h, 0, s)), BIT(1), DROP);
    HloValue loss = hlo_sub(h, hlo_log(h, hlo_reshape(h, sum, own->shape)), own);
    return entropy_out(h, loss, hlo_sub(h, hlo_div(h, e, sum), hlo_cast(h, hot, s->dtype)));
}

const Op op__ScaledSoftmaxCrossEntropyWithLogits = {
    .signature = "_ScaledSoftmaxCrossEntropyWithLogits(features: T, labels: T, factor: T) -> backprop: T, loss: T; "
                 "T: floats_half_first",
    .doc = "The cross entropy, and its gradient by the logits, each row by a factor.", .needs = SCALED_NEEDS,
    .shape = scaled_dense_shape, .prepare = dense_prepare, .own_size = sizeof(Entropy), .cpu = ANY_TYPE(dense_run),
    .inplace = BIT(0),
};
const Rewrite rewrite_dense_cross_entropy = {
    .name = "scale-cross-entropy", .kind = REWRITE_FUSE_READERS, .roots = ROOTS("SoftmaxCrossEntropyWithLogits"),
    .output = 1, .op = "_ScaledSoftmaxCrossEntropyWithLogits", .takes = takes_factor, .write = write_scaled,
};

const Op op_SoftmaxCrossEntropyWithLogits = {
    .signature = "SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> loss: T, backprop: T; "
                 "T: floats_half_first",
    .doc = "The cross entropy of each row's softmax against a distribution, and its gradient by the logits.",
    .shape = dense_shape, .grad = dense_grad, .prepare = dense_prepare, .own_size = sizeof(Entropy),
    .cpu = ANY_TYPE(dense_run), .hlo = dense_hlo,
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

static Status *scaled_sparse_shape(Shapes *s) {
    return scaled_shape(s, sparse_shape);
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
    first *= own->abreast;
    last = min_i64(own->rows, last * own->abreast);
    size_t size = dtype_size(own->compute), at = (size_t)(first * own->classes) * size;
    int64_t bad = sparse_cross_entropy_rows(own->compute, work->logits + at,
                                            work->labels + (size_t)first * dtype_size(work->index), work->index,
                                            factors(work, first), work->loss + (size_t)first * size,
                                            work->gradient + at, last - first, own->classes);
    if (bad >= 0)
        atomic_store(&work->bad, first + bad);
}

static Status *sparse_run(Kernel *k) {
    const Entropy *own = k->own;
    Work work = work_of(k);
    work.logits = stage_load(&own->logits, k, k->in[0]->data);
    work.labels = k->in[1]->data;
    atomic_init(&work.bad, -1);
    if (own->rows)
        kernel_share(k, div_up(own->rows, own->abreast), own->cost, sparse_rows, &work);
    int64_t bad = atomic_load(&work.bad);
    NEED(bad < 0, INVALID_ARGUMENT, "Received a label value of %lld which is outside the valid range of [0, %lld)",
         (long long)tensor_int(k->in[1], bad), (long long)own->classes);
    store(k);
    return OK;
}

static void sparse_grad(Formula *f) {
    f->dx[0] = Mul(ExpandDims(f->dy[0], Int(-1)), f->y[1]);
    second_derivative(f, f->x[0]);
}

const Op op__ScaledSparseSoftmaxCrossEntropyWithLogits = {
    .signature = "_ScaledSparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels, factor: T) -> backprop: T, "
                 "loss: T; T: floats_half_first; Tlabels: {int32, int64} = int64",
    .doc = "The cross entropy, and its gradient by the logits, each row by a factor.",
    .needs = "matrix(features), vector(labels), " SCALED_NEEDS, .shape = scaled_sparse_shape, .prepare = sparse_prepare,
    .own_size = sizeof(Entropy), .cpu = ANY_TYPE(sparse_run), .inplace = BIT(0),
};
const Rewrite rewrite_sparse_cross_entropy = {
    .name = "scale-cross-entropy", .kind = REWRITE_FUSE_READERS, .roots = ROOTS("SparseSoftmaxCrossEntropyWithLogits"),
    .output = 1, .op = "_ScaledSparseSoftmaxCrossEntropyWithLogits", .takes = takes_factor, .write = write_scaled,
};

const Op op_SparseSoftmaxCrossEntropyWithLogits = {
    .signature = "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> loss: T, backprop: T; "
                 "T: floats_half_first; Tlabels: {int32, int64} = int64",
    .doc = "The cross entropy of each row's softmax against one class, and its gradient by the logits.",
    .needs = "matrix(features), vector(labels)", .shape = sparse_shape, .grad = sparse_grad, .prepare = sparse_prepare,
    .own_size = sizeof(Entropy), .cpu = ANY_TYPE(sparse_run), .hlo = sparse_hlo,
};
