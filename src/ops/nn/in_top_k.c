// InTopK — whether the target is among the k best predictions of its row.
#include "ops/op.h"

typedef struct {
    int64_t rows, classes, k;   // k of the attribute
    bool k_is_input;
} InTop;

static Status *in_top_shape(Shapes *s) {
    int64_t rows = s->in[0].rank == 2 ? s->in[0].dims[0] : UNKNOWN_DIM;
    int64_t targets = s->in[1].rank == 1 ? s->in[1].dims[0] : UNKNOWN_DIM;
    NEED(rows < 0 || targets < 0 || rows == targets, INVALID_ARGUMENT,
         "First dimension of predictions %lld must match length of targets %lld", (long long)rows, (long long)targets);
    s->out[0] = SHAPE(rows >= 0 ? rows : targets);
    return OK;
}

static Status *in_top_prepare(Prepare *p) {
    InTop *own = p->own;
    own->rows = p->in[0]->shape.dims[0];
    own->classes = p->in[0]->shape.dims[1];
    own->k_is_input = p->n_in > 2;
    own->k = own->k_is_input ? 0 : node_int(p->node, "k");
    p->cost = own->rows * own->classes;
    return OK;
}

// Nothing can be said of a row with a prediction that is not finite, nor of a target outside it.
static bool in_top(const float *row, int64_t classes, int64_t target, int64_t k) {
    if (target < 0 || target >= classes || !isfinite(row[target]))
        return false;
    int64_t better = 0;
    for (int64_t i = 0; i < classes && better <= k; i++) {
        if (!isfinite(row[i]))
            return false;
        better += row[i] > row[target];
    }
    return better < k;
}

static void in_top_rows(void *arg, int64_t first, int64_t last) {
    const Kernel *kernel = arg;
    const InTop *own = kernel->own;
    int64_t k = own->k_is_input ? tensor_int(kernel->in[2], 0) : own->k;
    const float *predictions = kernel->in[0]->data;
    bool *out = kernel->out[0]->data;
    for (int64_t i = first; i < last; i++)
        out[i] = in_top(predictions + i * own->classes, own->classes, tensor_int(kernel->in[1], i), k);
}

static Status *in_top_run(Kernel *k) {
    const InTop *own = k->own;
    kernel_parallel(k, own->rows, own->classes + 1, in_top_rows, k);
    return OK;
}

// Fewer than k are better, where the target and all predictions of its row are finite.
static COLD Status *in_top_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), target = hlo_expand(h, hlo_in(h, 1), 1);
    HloValue k = h->n_in > 2 ? hlo_cast(h, hlo_in(h, 2), DT_int64) : hlo_int(h, node_int(h->node, "k"), DT_int64);
    HloValue hot = hlo_eq(h, hlo_iota(h, target->dtype, x->shape, 1), target);
    HloValue own = hlo_reduce(h, "add", hlo_select(h, hot, x, hlo_like(h, 0, x)), BIT(1), KEEP);
    HloValue better = hlo_reduce(h, "add", hlo_cast(h, hlo_gt(h, x, own), DT_int64), BIT(1), DROP);
    HloValue finite = hlo_reduce(h, "and", hlo_to(h, "is_finite", x, DT_bool), BIT(1), DROP);
    HloValue there = hlo_reduce(h, "or", hot, BIT(1), DROP);
    return hlo_out(h, 0, hlo_and(h, hlo_lt(h, better, k), hlo_and(h, finite, there)));
}

#define IN_TOP_FIELDS                                                                               \
    .doc = "Whether the target is among the k best predictions of its row.", .shape = in_top_shape, \
    .prepare = in_top_prepare, .own_size = sizeof(InTop), .cpu = ANY_TYPE(in_top_run), .hlo = in_top_hlo, \
    .flags = OP_NO_GRADIENT
const Op op_InTopK = {
    .signature = "InTopK(predictions: float, targets: T) -> precision: bool; k: int; T: {int32, int64} = int32",
    .needs = "matrix(predictions), vector(targets)", IN_TOP_FIELDS,
};
const Op op_InTopKV2 = {
    .signature = "InTopKV2(predictions: float, targets: T, k: T) -> precision: bool; T: {int32, int64} = int32",
    .needs = "matrix(predictions), vector(targets), scalar(k)", IN_TOP_FIELDS,
};
