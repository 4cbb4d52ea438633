// SparseSegmentSumGrad, MeanGrad, SqrtNGrad — the rows of a gradient, scaled, added where their segments' rows came from.
#define SELF "ops/math/sparse_segment_grad.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- kernel, once per dtype

static void FN(add_row)(T *to, const T *from, int64_t n, ACC scale) {
    for (int64_t i = 0; i < n; i++)
        to[i] = STORE(LOAD(to[i]) + LOAD(from[i]) * scale);
}

static Status *FN(segment_grad)(Kernel *k) {
    const SegmentGrad *own = k->own;
    const T *grad = k->in[0]->data;
    int64_t n = tensor_count(k->in[1]), segments = k->in[0]->shape.dims[0], rows = k->out[0]->shape.dims[0];
    int64_t *counts = k->scratch;
    TRY(count_rows(k, n, segments, rows, counts));
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    for (int64_t i = 0; i < n; i++) {
        int64_t id = tensor_int(k->in[2], i);
        double count = own->folding == FOLD_SUM ? 1 : (double)counts[id];
        ACC scale = (ACC)(1 / (own->folding == FOLD_SQRT ? sqrt(count) : count));
        FN(add_row)((T *)k->out[0]->data + tensor_int(k->in[1], i) * own->row, grad + id * own->row, own->row, scale);
    }
    return OK;
}

#else     // ---------------------------------------- schema
typedef enum { FOLD_SUM, FOLD_MEAN, FOLD_SQRT } Folding;

typedef struct {
    int64_t row;  // elements
    Folding folding;
} SegmentGrad;

// How many rows each segment has.
static Status *count_rows(const Kernel *k, int64_t n, int64_t segments, int64_t rows, int64_t *counts) {
    memset(counts, 0, (size_t)segments * sizeof *counts);
    for (int64_t i = 0; i < n; i++) {
        int64_t index = tensor_int(k->in[1], i), id = tensor_int(k->in[2], i);
        NEED(id >= 0 && id < segments, INVALID_ARGUMENT,
             "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not sorted.",
             (long long)id, (long long)segments);
        NEED(index >= 0 && index < rows, INVALID_ARGUMENT, "Index %lld out of range [0, %lld).", (long long)index,
             (long long)rows);
        counts[id]++;
    }
    return OK;
}

#define EACH_FLOAT
#include "ops/each_dtype.h"

static Status *grad_shape(Shapes *s) {
    int64_t rows = UNKNOWN_DIM;
    NEED(shape_compatible(&s->in[1], &s->in[2]), INVALID_ARGUMENT, "segment_ids and indices should have same size.");
    if (s->in[0].rank < 0)
        return OK;
    NEED(s->in[0].rank >= 1, INVALID_ARGUMENT, "Shape must be at least rank 1");
    NEED(!shapes_input_int(s, 3, &rows) || rows >= 0, INVALID_ARGUMENT, "Cannot specify a negative value for output_dim0");
    s->out[0] = s->in[0];
    s->out[0].dims[0] = rows;
    return OK;
}

static Status *grad_prepare(Prepare *p) {
    SegmentGrad *own = p->own;
    own->folding = *(const Folding *)node_op(p->node)->row;
    own->row = shape_span(&p->in[0]->shape, 1, p->in[0]->shape.rank);
    p->scratch = (size_t)p->in[0]->shape.dims[0] * sizeof(int64_t);
    p->cost = shape_count(&p->in[1]->shape) * (own->row + 8);
    return OK;
}

static const Folding sums = FOLD_SUM, means = FOLD_MEAN, roots = FOLD_SQRT;
#define SEGMENT_GRAD(Name, fold)                                                                                    \
    const Op op_SparseSegment##Name##Grad = {                                                                       \
        .signature = "SparseSegment" #Name "Grad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: "   \
                     "int32) -> output: T; T: floats; Tidx: {int32, int64} = int32; "                               \
                     "Tsegmentids: {int32, int64} = int32",                                                         \
        .doc = "The gradient of SparseSegment" #Name ".",                                                           \
        .needs = "rank(grad) >= 1, vector(indices), vector(segment_ids), scalar(output_dim0)", .shape = grad_shape, \
        .prepare = grad_prepare, .own_size = sizeof(SegmentGrad), .cpu = KERNELS(FLOATS, segment_grad),             \
        .host = BIT(3), .flags = OP_NO_GRADIENT, .row = &fold,                                                      \
    };
SEGMENT_GRAD(Sum, sums)
SEGMENT_GRAD(Mean, means)
SEGMENT_GRAD(SqrtN, roots)
#endif
