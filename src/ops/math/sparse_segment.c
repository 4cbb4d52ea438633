// SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN — rows that indices name, folded together by ascending
// number.
#include "loops/elementwise.h"
#include "ops/array/moving.h"

typedef enum { FOLD_SUM, FOLD_MEAN, FOLD_SQRT } Folding;

typedef struct {
    ElementwiseLoop add, divide;
    int64_t row;           // elements
    Folding folding;
} Segments;

static Status *sparse_shape(Shapes *s) {
    const Shape *data = &s->in[0];
    NEED(shape_compatible(&s->in[1], &s->in[2]), INVALID_ARGUMENT, "segment_ids and indices should have same size.");
    if (data->rank < 0)
        return OK;
    s->out[0] = *data;
    s->out[0].dims[0] = UNKNOWN_DIM;
    if (s->n_in == 4 && shapes_input_int(s, 3, &s->out[0].dims[0]))
        NEED(s->out[0].dims[0] >= 0, INVALID_ARGUMENT, "num_segments must not be negative, but is %lld",
             (long long)s->out[0].dims[0]);
    return OK;
}

static Status *sparse_prepare(Prepare *p) {
    Segments *own = p->own;
    const Tensor *data = p->in[0];
    own->folding = *(const Folding *)node_op(p->node)->row;
    own->row = shape_span(&data->shape, 1, data->shape.rank);
    NEED(elementwise_find(&elementwise_Add, data->dtype, &own->add), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(data->dtype));
    NEED(own->folding == FOLD_SUM || elementwise_find(&elementwise_Div, data->dtype, &own->divide), INTERNAL,
         "no quotient");
    p->cost = shape_count(&p->in[1]->shape) * (own->row + 8);
    return OK;
}

static void divide_by(const Segments *own, void *row, double by) {
    union { Half h; Bfloat16 b; float f; double d; } value = {.d = by};
    switch (own->divide.in) {
    case DT_half: value.h = half_from_float((float)by); break;
    case DT_bfloat16: value.b = bfloat16_from_float((float)by); break;
    case DT_float: value.f = (float)by; break;
    default: break;
    }
    elementwise_run(&own->divide, row, &value, row, own->row, 1, 0);
}

static Status *check(const Kernel *k, int64_t n, int64_t *out_segments) {
    int64_t last = -1, rows = k->in[0]->shape.dims[0];
    for (int64_t i = 0; i < n; i++) {
        int64_t id = tensor_int(k->in[2], i), index = tensor_int(k->in[1], i);
        NEED(id >= 0 && id < INT64_MAX, INVALID_ARGUMENT, "segment ids must be >= 0");
        NEED(id >= last, INVALID_ARGUMENT, "segment ids are not increasing");
        if (index < 0 || index >= rows)
            KERNEL_INDEX_ERROR("indices", i, index, rows);
        last = id;
    }
    *out_segments = last + 1;
    return OK;
}

static Status *sparse_run(Kernel *k) {
    const Segments *own = k->own;
    int64_t n = tensor_count(k->in[1]), segments, bytes = own->row * own->add.in_size;
    TRY(check(k, n, &segments));
    if (k->n_in == 4) {
        int64_t wanted = tensor_int(k->in[3], 0);
        NEED(segments <= wanted, INVALID_ARGUMENT, "segment ids must be < num_segments, which is %lld, but %lld is there",
             (long long)wanted, (long long)segments - 1);
        segments = wanted;
    }
    Shape shape = k->in[0]->shape;
    shape.dims[0] = segments;
    TRY(kernel_output(k, 0, shape));
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    const char *in = k->in[0]->data;
    for (int64_t i = 0; i < n;) {
        int64_t id = tensor_int(k->in[2], i), first = i;
        char *to = (char *)k->out[0]->data + id * bytes;
        for (; i < n && tensor_int(k->in[2], i) == id; i++)
            elementwise_run(&own->add, to, in + tensor_int(k->in[1], i) * bytes, to, own->row, 1, 1);
        if (own->folding != FOLD_SUM)
            divide_by(own, to, own->folding == FOLD_MEAN ? (double)(i - first) : sqrt((double)(i - first)));
    }
    return OK;
}

// Rows of dy over what they were divided by, added where they came from.
static void sparse_grad(Formula *f) {
    Folding folding = *(const Folding *)node_op(f->node)->row;
    Output indices = f->x[1], ids = f->x[2], rows = Gather(f->dy[0], ids, Int(0));
    if (folding != FOLD_SUM) {
        Output counts = SegmentSum(Fill(ShapeOf(ids), Scalar(1, f->dy[0])), ids);
        Output scale = Gather(folding == FOLD_MEAN ? Reciprocal(counts) : Rsqrt(counts), ids, Int(0));
        Output ones = Fill(Reshape(Sub(Rank(rows), Int(1)), Ints(1)), Int(1));
        rows = Mul(rows, Reshape(scale, Concat(((Output[]){ShapeOf(scale), ones}), 2, Int(0))));
    }
    Output extent = Reshape(Slice(ShapeOf(f->x[0]), Ints(0), Ints(1)), NoInts);
    f->dx[0] = UnsortedSegmentSum(rows, indices, extent);
}

static const Folding sums = FOLD_SUM, means = FOLD_MEAN, roots = FOLD_SQRT;
const Op op_SparseSegmentSum = {
    .signature = "SparseSegmentSum(data: T, indices: Tidx, segment_ids: Tsegmentids) -> output: T; T: reals; "
                 "Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false",
    .doc = "Sums of the named rows of each segment.",
    .needs = "rank(data) >= 1, vector(indices), vector(segment_ids)", .shape = sparse_shape, .grad = sparse_grad,
    .prepare = sparse_prepare, .own_size = sizeof(Segments), .cpu = ANY_TYPE(sparse_run), .flags = OP_DYNAMIC_SHAPE,
    .row = &sums,
};
const Op op_SparseSegmentMean = {
    .signature = "SparseSegmentMean(data: T, indices: Tidx, segment_ids: Tsegmentids) -> output: T; T: floats; "
                 "Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false",
    .doc = "Means of the named rows of each segment.",
    .needs = "rank(data) >= 1, vector(indices), vector(segment_ids)", .shape = sparse_shape, .grad = sparse_grad,
    .prepare = sparse_prepare, .own_size = sizeof(Segments), .cpu = ANY_TYPE(sparse_run), .flags = OP_DYNAMIC_SHAPE,
    .row = &means,
};
const Op op_SparseSegmentSqrtN = {
    .signature = "SparseSegmentSqrtN(data: T, indices: Tidx, segment_ids: Tsegmentids) -> output: T; T: floats; "
                 "Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false",
    .doc = "Sums of the named rows of each segment over the square root of their number.",
    .needs = "rank(data) >= 1, vector(indices), vector(segment_ids)", .shape = sparse_shape, .grad = sparse_grad,
    .prepare = sparse_prepare, .own_size = sizeof(Segments), .cpu = ANY_TYPE(sparse_run), .flags = OP_DYNAMIC_SHAPE,
    .row = &roots,
};

#define COUNTED(Name, types, of, text)                                                                              \
    const Op op_SparseSegment##Name##WithNumSegments = {                                                            \
        .signature = "SparseSegment" #Name "WithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, "     \
                     "num_segments: Tnumsegments) -> output: T; T: " types "; Tidx: {int32, int64} = int32; "       \
                     "Tnumsegments: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; "                  \
                     "sparse_gradient: bool = false",                                                               \
        .doc = text, .needs = "rank(data) >= 1, vector(indices), vector(segment_ids), one(num_segments)",           \
        .shape = sparse_shape, .grad = sparse_grad, .prepare = sparse_prepare, .own_size = sizeof(Segments),        \
        .cpu = ANY_TYPE(sparse_run), .host = BIT(3), .flags = OP_DYNAMIC_SHAPE, .row = &(of),                       \
    };
COUNTED(Sum, "reals", sums, "Sums of the named rows of each of so many segments.")
COUNTED(Mean, "floats", means, "Means of the named rows of each of so many segments.")
COUNTED(SqrtN, "floats", roots, "Sums of the named rows of each of so many segments over the square root of their number.")
