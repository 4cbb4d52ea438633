// Cumsum, Cumprod, CumulativeLogsumexp — running folds along an axis.
#include "loops/reduce.h"
#include "ops/array/moving.h"

static Status *scan_shape(Shapes *s) {
    int64_t axis;
    const Shape *in = &s->in[0];
    if (in->rank >= 0 && shapes_input_int(s, 1, &axis))
        NEED(axis >= -in->rank && axis < in->rank, INVALID_ARGUMENT,
             "ScanOp: Expected scan axis in the range [%d, %d), but got %lld", -in->rank, in->rank, (long long)axis);
    s->out[0] = *in;
    return OK;
}

typedef struct {
    int64_t outer, n, inner;
    ScanOp op;
    bool exclusive, reverse;
} Scan;

static void scan_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Scan *own = k->own;
    DType dtype = k->in[0]->dtype;
    size_t offset = (size_t)(first * own->n * own->inner) * dtype_size(dtype);
    (void)reduce_scan(own->op, dtype, (const char *)k->in[0]->data + offset, (char *)k->out[0]->data + offset,
                      last - first, own->n, own->inner, own->exclusive, own->reverse);
}

static Status *scan_run(Kernel *k) {
    const Scan *own = k->own;
    if (own->outer && own->n && own->inner)
        kernel_parallel(k, own->outer, own->n * own->inner + 1, scan_range, k);
    return OK;
}

static Status *scan_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Scan *own = p->own;
    const Tensor *in = p->in[0];
    int axis;
    TRY(shape_axis(prepare_input_int(p, 1, 0), in->shape.rank, &axis));
    *own = (Scan){shape_span(&in->shape, 0, axis), in->shape.dims[axis],
                  shape_span(&in->shape, axis + 1, in->shape.rank),
                  *(const ScanOp *)node_op(p->node)->row, node_bool(p->node, "exclusive"),
                  node_bool(p->node, "reverse")};
    char one[16] = {0}, result[16];
    NEED(reduce_scan(own->op, in->dtype, one, result, 1, 1, 1, false, false), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(in->dtype));
    p->cost = shape_count(&in->shape);
    return OK;
}

static Output scan_back(Formula *f, Output x) {
    return Cumsum(x, f->x[1], node_bool(f->node, "exclusive"), !node_bool(f->node, "reverse"));
}

static void cumsum_grad(Formula *f) {
    f->dx[0] = scan_back(f, f->dy[0]);
}

static void cumprod_grad(Formula *f) {  // the running sum of y dy from the other end, over x
    f->dx[0] = DivNoNan(scan_back(f, Mul(f->y[0], f->dy[0])), f->x[0]);
}

static void logsumexp_grad(Formula *f) {  // exp(x) times the sum of dy exp(-y) from the other end, in logarithms by
                                          // sign
    Output x = f->x[0], y = f->y[0], dy = f->dy[0], zero = ZerosLike(dy);
    FormulaAttr attrs[] = {BOOL_ATTR("exclusive", node_bool(f->node, "exclusive")),
                           BOOL_ATTR("reverse", !node_bool(f->node, "reverse")), {0}};
    Output lowest = Scalar(-INFINITY, dy), parts[2];
    for (int i = 0; i < 2; i++) {
        Output side = i ? Neg(dy) : dy;
        Output logs = Select(Greater(side, zero), Log(Maximum(side, zero)), lowest);
        parts[i] = Exp(Add(formula_op(f, "CumulativeLogsumexp", (Output[]){Sub(logs, y), f->x[1]}, 2, attrs), x));
    }
    f->dx[0] = Sub(parts[0], parts[1]);
}

// log(exp(a) + exp(b)), where both may be -inf.
static COLD HloValue log_sum(Hlo *h, HloValue a, HloValue b) {
    HloValue most = hlo_max(h, a, b), apart = hlo_neg(h, hlo_abs(h, hlo_sub(h, a, b)));
    return hlo_select(h, hlo_to(h, "is_finite", most, DT_bool), hlo_add(h, most, hlo_log1p(h, hlo_exp(h, apart))), most);
}

// Every element with what is `by` before it (behind it).
static COLD HloValue moved(Hlo *h, HloValue x, int axis, int64_t by, bool reverse, double fill) {
    Shape low = {.rank = x->shape.rank}, high = low;
    low.dims[axis] = reverse ? -by : by;
    high.dims[axis] = -low.dims[axis];
    return hlo_pad(h, x, hlo_like(h, fill, x), low, high, NULL);
}

static COLD Status *scan_hlo(Hlo *h) {
    ScanOp op = *(const ScanOp *)node_op(h->node)->row;
    bool exclusive = node_bool(h->node, "exclusive"), reverse = node_bool(h->node, "reverse");
    HloValue x = hlo_in(h, 0);
    int axis = hlo_need_axis(h, 1, x->shape.rank);
    int64_t n = x->shape.dims[axis];
    if (exclusive && n > 0)
        x = moved(h, x, axis, 1, reverse, op == SCAN_SUM ? 0 : op == SCAN_PROD ? 1 : (double)-INFINITY);
    for (int64_t by = 1; by < n && op == SCAN_LOGSUMEXP; by *= 2)
        x = log_sum(h, x, moved(h, x, axis, by, reverse, (double)-INFINITY));
    if (n <= 1 || op == SCAN_LOGSUMEXP)
        return hlo_out(h, 0, x);
    HloWindow window = {.size = {.rank = x->shape.rank}};
    for (int i = 0; i < x->shape.rank; i++)
        window.size.dims[i] = 1;
    window.stride = window.size;
    window.low = window.high = (Shape){.rank = x->shape.rank};
    window.size.dims[axis] = n;
    (reverse ? &window.high : &window.low)->dims[axis] = n - 1;
    return hlo_out(h, 0, hlo_window(h, op == SCAN_SUM ? "add" : "multiply", x, &window));
}

static const ScanOp Cumsum_row = SCAN_SUM;
const Op op_Cumsum = {
    .signature = "Cumsum(x: T, axis: Tidx) -> out: T; exclusive: bool = false; reverse: bool = false; T: numbers; "
                 "Tidx: {int32, int64} = int32",
    .doc = "Running sum along an axis.", .needs = "scalar(axis)", .shape = scan_shape, .grad = cumsum_grad,
    .prepare = scan_prepare, .own_size = sizeof(Scan), .cpu = ANY_TYPE(scan_run), .host = BIT(1), .row = &Cumsum_row,
    .hlo = scan_hlo,
};
static const ScanOp Cumprod_row = SCAN_PROD;
const Op op_Cumprod = {
    .signature = "Cumprod(x: T, axis: Tidx) -> out: T; exclusive: bool = false; reverse: bool = false; T: numbers; "
                 "Tidx: {int32, int64} = int32",
    .doc = "Running product along an axis.", .needs = "scalar(axis)", .shape = scan_shape, .grad = cumprod_grad,
    .prepare = scan_prepare, .own_size = sizeof(Scan), .cpu = ANY_TYPE(scan_run), .host = BIT(1), .row = &Cumprod_row,
    .hlo = scan_hlo,
};
static const ScanOp CumulativeLogsumexp_row = SCAN_LOGSUMEXP;
const Op op_CumulativeLogsumexp = {
    .signature = "CumulativeLogsumexp(x: T, axis: Tidx) -> out: T; exclusive: bool = false; reverse: bool = false; "
                 "T: floats; Tidx: {int32, int64} = int32",
    .doc = "Running logarithm of the sum of exponentials along an axis.", .needs = "scalar(axis)",
    .shape = scan_shape, .grad = logsumexp_grad, .prepare = scan_prepare, .own_size = sizeof(Scan),
    .cpu = ANY_TYPE(scan_run), .host = BIT(1), .row = &CumulativeLogsumexp_row, .hlo = scan_hlo,
};
