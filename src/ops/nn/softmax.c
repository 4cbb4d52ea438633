// Softmax and LogSoftmax — exponentials of each row, scaled to sum to one; and their logarithms.
#include "loops/norm.h"
#include "ops/nn/staging.h"
#include "ops/op.h"

typedef struct {
    int64_t rows, length, abreast, cost;  // abreast: rows of a unit; cost: ns
    DType compute;
    Stage in, out;
} Rows;

static Status *rows_prepare(Prepare *p) {
    Rows *own = p->own;
    const Shape *shape = &p->in[0]->shape;
    DType dtype = p->in[0]->dtype;
    own->length = shape->dims[shape->rank - 1];
    own->rows = own->length ? shape_span(shape, 0, shape->rank - 1) : 0;
    own->compute = staging_float(dtype);
    TRY(stage_input(p, dtype, own->compute, shape, false, &own->in));
    TRY(stage_output(p, dtype, own->compute, shape, false, &own->out));
    own->abreast = softmax_abreast(own->compute, own->length);
    int64_t count = own->rows * own->length;
    p->cost = own->cost = kernel_cost(count, softmax_picoseconds(own->compute), 2 * count * (int64_t)dtype_size(dtype));
    return OK;
}

typedef struct {
    const Rows *own;
    const char *x;
    char *y;
    bool logarithm;
} Work;

static void rows_range(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    first *= work->own->abreast;
    last = min_i64(work->own->rows, last * work->own->abreast);
    size_t at = (size_t)(first * work->own->length) * dtype_size(work->own->compute);
    softmax_rows(work->own->compute, work->x + at, work->y + at, last - first, work->own->length, work->logarithm);
}

static Status *rows_run(Kernel *k, bool logarithm) {
    const Rows *own = k->own;
    Work work = {own, stage_load(&own->in, k, k->in[0]->data), stage_target(&own->out, k, k->out[0]->data), logarithm};
    if (own->rows)
        kernel_share(k, div_up(own->rows, own->abreast), own->cost, rows_range, &work);
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

static Status *softmax_run(Kernel *k) {
    return rows_run(k, false);
}
static Status *log_softmax_run(Kernel *k) {
    return rows_run(k, true);
}

static void softmax_grad(Formula *f) {  // dx = (dy - sum(dy * y)) * y
    Output y = f->y[0], dy = f->dy[0];
    f->dx[0] = Mul(Sub(dy, SumLast(Mul(dy, y))), y);
}

static void log_softmax_grad(Formula *f) {  // dx = dy - sum(dy) * exp(y)
    Output y = f->y[0], dy = f->dy[0];
    f->dx[0] = Sub(dy, Mul(SumLast(dy), Exp(y)));
}

static COLD Status *softmax_hlo(Hlo *h) {  // exp(x - max) / sum, or x - max - log(sum), in float
    HloValue x = hlo_wide(h, hlo_in(h, 0)), s = hlo_sub(h, x, hlo_reduce(h, "maximum", x, LAST(x), KEEP));
    HloValue e = hlo_exp(h, s), sum = hlo_reduce(h, "add", e, LAST(e), KEEP);
    HloValue y = node_op(h->node)->row ? hlo_sub(h, s, hlo_log(h, sum)) : hlo_div(h, e, sum);
    return hlo_out(h, 0, hlo_cast(h, y, hlo_out_type(h, 0)));
}

#define ROWS_FIELDS                                                                                      \
    .needs = "rank(logits) >= 1", .shape = shape_unchanged, .prepare = rows_prepare, .own_size = sizeof(Rows), \
    .inplace = BIT(0), .hlo = softmax_hlo
const Op op_Softmax = {
    .signature = "Softmax(logits: T) -> softmax: T; T: floats_half_first",
    .doc = "Exponentials of each row, scaled to sum to one.", .grad = softmax_grad, .cpu = ANY_TYPE(softmax_run),
    ROWS_FIELDS,
};
const Op op_LogSoftmax = {
    .signature = "LogSoftmax(logits: T) -> logsoftmax: T; T: floats_half_first",
    .doc = "Logarithm of Softmax.", .grad = log_softmax_grad, .cpu = ANY_TYPE(log_softmax_run), ROWS_FIELDS,
    .row = "logarithm",
};
