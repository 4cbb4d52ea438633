// Segment reductions — rows folded together by number: UnsortedSegment* of any numbers, Segment* of ascending ones.
//
// Rows are combined as they come, on one thread: floats are added in the order of the input, so the bits are the same
// for any number of threads.
#include <float.h>

#include "loops/elementwise.h"
#include "ops/array/moving.h"

typedef struct {
    const ElementwiseOp *op;
    enum { START_ZERO, START_ONE, START_LOWEST, START_HIGHEST } start;  // of a segment without rows
    bool mean;
} SegmentRow;

typedef struct {
    ElementwiseLoop loop, divide;
    int64_t rows, row;       // of the data, and elements of one
    union { char bytes[16]; Complex128 align; } start;
} Segments;

// Of a segment without rows: the lowest and highest finite value, not the infinities, as TensorFlow has it.
static Status *start_value(DType dtype, const SegmentRow *row, void *out) {
    bool low = row->start == START_LOWEST, high = row->start == START_HIGHEST;
    double small = row->start == START_ONE;
    memset(out, 0, 16);
#define WHOLE(number, c_type, least, most) \
    case number: *(c_type *)out = low ? least : high ? most : (c_type)(small != 0); break;
    switch (dtype) {
    case DT_float: *(float *)out = (float)(low ? -FLT_MAX : high ? FLT_MAX : small); break;
    case DT_double: *(double *)out = low ? -DBL_MAX : high ? DBL_MAX : small; break;
    case DT_half: *(Half *)out = half_from_float((float)(low ? -65504 : high ? 65504 : small)); break;
    case DT_bfloat16: ((Bfloat16 *)out)->bits = low ? 0xff7f : high ? 0x7f7f : bfloat16_from_float((float)small).bits;
        break;
    case DT_complex64: *(Complex64 *)out = (float)small; break;
    case DT_complex128: *(Complex128 *)out = small; break;
    WHOLE(DT_int8, int8_t, INT8_MIN, INT8_MAX)
    WHOLE(DT_int16, int16_t, INT16_MIN, INT16_MAX)
    WHOLE(DT_int32, int32_t, INT32_MIN, INT32_MAX)
    WHOLE(DT_int64, int64_t, INT64_MIN, INT64_MAX)
    WHOLE(DT_uint8, uint8_t, 0, UINT8_MAX)
    WHOLE(DT_uint16, uint16_t, 0, UINT16_MAX)
    WHOLE(DT_uint32, uint32_t, 0, UINT32_MAX)
    WHOLE(DT_uint64, uint64_t, 0, UINT64_MAX)
    default: FAIL(UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    }
#undef WHOLE
    return OK;
}

static Status *segment_prepare(Prepare *p) {
    Segments *own = p->own;
    const SegmentRow *row = node_op(p->node)->row;
    const Tensor *data = p->in[0];
    const Shape *ids = &p->in[1]->shape;
    NEED(elementwise_find(row->op, data->dtype, &own->loop), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(data->dtype));
    NEED(!row->mean || elementwise_find(&elementwise_Div, data->dtype, &own->divide), INTERNAL, "no quotient");
    TRY(start_value(data->dtype, row, &own->start));
    own->rows = shape_count(ids);
    own->row = shape_span(&data->shape, ids->rank, data->shape.rank);
    p->cost = shape_count(&data->shape) + own->rows * 8;
    return OK;
}

// ---------------------------------------- any numbers

static Status *unsorted_shape(Shapes *s) {
    const Shape *data = &s->in[0], *ids = &s->in[1];
    // The number of segments is a value, not a shape: known if it is a constant, or computed from shapes.
    int64_t n = UNKNOWN_DIM;
    bool known = shapes_input_int(s, 2, &n);
    NEED(s->in[2].rank <= 0, INVALID_ARGUMENT, "num_segments must be a scalar, got shape %s", shape_text(&s->in[2]));
    NEED(!known || n >= 0, INVALID_ARGUMENT, "Input num_segments == %lld must not be negative.", (long long)n);
    if (data->rank < 0 || ids->rank < 0)
        return OK;
    bool fits = ids->rank <= data->rank;
    for (int i = 0; i < ids->rank && fits; i++)
        fits = ids->dims[i] < 0 || data->dims[i] < 0 || ids->dims[i] == data->dims[i];
    NEED(fits, INVALID_ARGUMENT, "data.shape = %s does not start with segment_ids.shape = %s", shape_text(data),
         shape_text(ids));
    Shape out = {.rank = data->rank - ids->rank + 1, .dims = {known ? n : UNKNOWN_DIM}};
    NEED(out.rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    for (int i = 1; i < out.rank; i++)
        out.dims[i] = data->dims[ids->rank + i - 1];
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *unsorted_run(Kernel *k) {
    const Segments *own = k->own;
    const Tensor *out = k->out[0];
    int64_t segments = out->shape.dims[0], bytes = own->row * own->loop.in_size;
    fill_run(&own->start, own->loop.in_size, out->data, tensor_count(out));
    for (int64_t i = 0; i < own->rows; i++) {
        int64_t id = host_int(k->in[1], i);
        if (id < 0)
            continue;
        NEED(id < segments, INVALID_ARGUMENT, "segment_ids[%lld] = %lld is out of range [0, %lld)", (long long)i,
             (long long)id, (long long)segments);
        char *to = (char *)out->data + id * bytes;
        elementwise_run(&own->loop, to, (const char *)k->in[0]->data + i * bytes, to, own->row, 1, 1);
    }
    return OK;
}

// Rows of x by number; negative numbers give zeros. `mask` gets which rows have a number, shaped to go with them.
static Output gather_numbered(Formula *f, Output x, Output ids, Output like, Output *mask) {
    Output rows = Gather(x, Maximum(ids, ZerosLike(ids)), Int(0));
    Output positive = GreaterEqual(ids, ZerosLike(ids));
    int inner = output_shape(like)->rank < 0 || output_shape(ids)->rank < 0
              ? -1 : output_shape(like)->rank - output_shape(ids)->rank;
    for (int i = 0; i < inner; i++)
        positive = ExpandDims(positive, Int(-1));
    if (inner < 0) {
        Output ones = Fill(Reshape(Sub(Rank(like), Rank(ids)), Ints(1)), Int(1));
        positive = Reshape(positive, Concat(((Output[]){ShapeOf(ids), ones}), 2, Int(0)));
    }
    *mask = positive;
    return Select(positive, rows, ZerosLike(rows));
}

static void unsorted_sum_grad(Formula *f) {
    Output mask;
    f->dx[0] = gather_numbered(f, f->dy[0], f->x[1], f->x[0], &mask);
}

static void unsorted_extreme_grad(Formula *f) {
    Output x = f->x[0], ids = f->x[1], mask;
    Output rows = gather_numbered(f, f->y[0], ids, x, &mask);
    Output chosen = LogicalAnd(Equal(x, rows), mask);
    Output equals = UnsortedSegmentSum(Cast(chosen, output_type(f->dy[0])), ids, f->x[2]);
    Output share = gather_numbered(f, Div(f->dy[0], equals), ids, x, &mask);
    f->dx[0] = Select(chosen, share, ZerosLike(share));
}

// dy times the product of the others: where x is 0 the product without zeros, if it is the only one.
static void unsorted_prod_grad(Formula *f) {
    Output x = f->x[0], ids = f->x[1], n = f->x[2], mask;
    Output is_zero = Equal(x, ZerosLike(x));
    Output zeros = UnsortedSegmentSum(Cast(is_zero, DT_int32), ids, n);
    Output dy = Select(Greater(zeros, Int(1)), ZerosLike(f->dy[0]), f->dy[0]);
    Output without = formula_3(f, "UnsortedSegmentProd", Select(is_zero, OnesLike(x), x), ids, n);
    Output clipped = Maximum(ids, ZerosLike(ids));
    Output quotient = Div(Gather(f->y[0], clipped, Int(0)), x);
    Output others = Select(is_zero, Gather(without, clipped, Int(0)), quotient);
    f->dx[0] = Mul(gather_numbered(f, dy, ids, x, &mask), others);
}


// Rows whose number is negative go nowhere; segments of no rows are what the combination begins with.
static COLD Status *segment_hlo(Hlo *h) {
    const SegmentRow *row = node_op(h->node)->row;
    HloValue x = hlo_in(h, 0), ids = hlo_cast(h, hlo_in(h, 1), DT_int64);
    const Shape *out = hlo_out_shape(h, 0);
    NEED(shape_is_known(out) && out->rank >= 1, UNIMPLEMENTED, "how many segments there are is not known");
    const char *word = row->op == &elementwise_Add ? "add" : row->op == &elementwise_Mul ? "multiply"
                     : row->op == &elementwise_Maximum ? "maximum" : "minimum";
    Segments own;
    TRY(start_value(x->dtype, row, &own.start));
    bool sorted = row->start == START_ZERO && word[0] == 'm' && word[1] != 'u';  // its extremes begin with the first row
    HloValue start = sorted ? hlo_number(h, word[1] == 'a' ? (double)-INFINITY : (double)INFINITY, x->dtype)
                            : hlo_tensor(h, &(Tensor){.data = &own.start, .dtype = x->dtype});
    hlo_check(h, hlo_lt(h, ids, hlo_int(h, out->dims[0], DT_int64)), INVALID_ARGUMENT,
              "segment_ids are out of range");
    HloValue y = hlo_put(h, word, hlo_broadcast(h, start, *out), ids, x, false);
    if (!row->mean && !sorted)
        return hlo_out(h, 0, y);
    Shape rows = {.rank = out->rank};  // how many rows each has
    for (int i = 0; i < rows.rank; i++)
        rows.dims[i] = i ? 1 : out->dims[0];
    HloValue count = hlo_put(h, "add", hlo_fill(h, 0, x->dtype, rows), ids, hlo_like(h, 1, x), false);
    if (row->mean)
        return hlo_out(h, 0, hlo_div(h, y, hlo_max(h, count, hlo_like(h, 1, count))));
    return hlo_out(h, 0, hlo_select(h, hlo_is(h, "GT", count, 0), y, hlo_like(h, 0, y)));
}

#define UNSORTED(Name, combine, begin, types, indices, text, gradient)                                           \
    static const SegmentRow UnsortedSegment##Name##_row = {&elementwise_##combine, START_##begin, false};        \
    const Op op_UnsortedSegment##Name = {                                                                        \
        .signature = "UnsortedSegment" #Name "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> "  \
                     "output: T; T: " types "; Tindices: {" indices "}; Tnumsegments: {int32, int64} = int32",   \
        .doc = text, .shape = unsorted_shape, .grad = gradient,                                                  \
        .prepare = segment_prepare, .own_size = sizeof(Segments), .cpu = ANY_TYPE(unsorted_run), .host = BIT(2), \
        .hlo = segment_hlo, .row = &UnsortedSegment##Name##_row,                                                 \
    };
UNSORTED(Sum, Add, ZERO, "numbers", "int16, int32, int64",
         "Sums of the rows with equal numbers; negative ones are left out.", unsorted_sum_grad)
UNSORTED(Prod, Mul, ONE, "numbers", "int32, int64", "Products of the rows with equal numbers.", unsorted_prod_grad)
UNSORTED(Max, Maximum, LOWEST, "reals", "int32, int64", "Largest elements of the rows with equal numbers.",
         unsorted_extreme_grad)
UNSORTED(Min, Minimum, HIGHEST, "reals", "int32, int64", "Smallest elements of the rows with equal numbers.",
         unsorted_extreme_grad)

// ---------------------------------------- ascending numbers

static Status *sorted_shape(Shapes *s) {
    const Shape *data = &s->in[0], *ids = &s->in[1];
    NEED(ids->rank < 0 || ids->dims[0] < 0 || data->rank < 0 || data->dims[0] < 0 || ids->dims[0] == data->dims[0],
         INVALID_ARGUMENT, "segment_ids should be the same size as dimension 0 of input.");
    if (data->rank < 0)
        return OK;
    s->out[0] = *data;
    s->out[0].dims[0] = UNKNOWN_DIM;
    return OK;
}

static Status *check_sorted(const Tensor *ids, int64_t n, int64_t *out_segments) {
    int64_t last = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t id = tensor_int(ids, i);
        NEED(id >= 0, INVALID_ARGUMENT, "segment ids must be >= 0");
        NEED(id >= last, INVALID_ARGUMENT, "segment ids are not increasing");
        last = id;
    }
    NEED(last < INT64_MAX, INVALID_ARGUMENT, "a segment id is too large");
    *out_segments = last + 1;
    return OK;
}

static Status *divide_by(const Segments *own, void *row, int64_t count) {
    union { float f; double d; int64_t i; Complex64 c; Complex128 z; Half h; Bfloat16 b; } by = {.i = count};
    switch (own->divide.in) {
    case DT_float: by.f = (float)count; break;
    case DT_double: by.d = (double)count; break;
    case DT_complex64: by.c = (float)count; break;
    case DT_complex128: by.z = (double)count; break;
    case DT_half: by.h = half_from_float((float)count); break;
    case DT_bfloat16: by.b = bfloat16_from_float((float)count); break;
    default: break;  // an integer of any width: a count below its range fits
    }
    NEED(elementwise_run(&own->divide, row, &by, row, own->row, 1, 0) == 0, INVALID_ARGUMENT,
         "%lld rows are too many for the type", (long long)count);
    return OK;
}

static Status *sorted_run(Kernel *k) {
    const Segments *own = k->own;
    const SegmentRow *row = node_op(k->node)->row;
    int64_t segments, bytes = own->row * own->loop.in_size;
    TRY(check_sorted(k->in[1], own->rows, &segments));
    Shape shape = k->in[0]->shape;
    shape.dims[0] = segments;
    TRY(kernel_output(k, 0, shape));
    char *out = k->out[0]->data;
    const char *in = k->in[0]->data;
    fill_run(&own->start, own->loop.in_size, out, tensor_count(k->out[0]));
    for (int64_t i = 0; i < own->rows;) {
        int64_t id = tensor_int(k->in[1], i), first = i;
        char *to = out + id * bytes;
        memcpy(to, in + i * bytes, (size_t)bytes);
        for (i++; i < own->rows && tensor_int(k->in[1], i) == id; i++)
            elementwise_run(&own->loop, to, in + i * bytes, to, own->row, 1, 1);
        if (row->mean)
            TRY(divide_by(own, to, i - first));
    }
    return OK;
}

static void sum_grad(Formula *f) {
    f->dx[0] = Gather(f->dy[0], f->x[1], Int(0));
}

static void mean_grad(Formula *f) {  // dy / (rows of the segment)
    Output ids = f->x[1], dy = f->dy[0];
    Output ones = Fill(Concat(((Output[]){ShapeOf(ids), Fill(Reshape(Sub(Rank(f->x[0]), Int(1)), Ints(1)), Int(1))}), 2,
                              Int(0)), Scalar(1, dy));
    f->dx[0] = Gather(Div(dy, SegmentSum(ones, ids)), ids, Int(0));
}

// dy times the product of the others, as above.
static void prod_grad(Formula *f) {
    Output x = f->x[0], ids = f->x[1];
    Output is_zero = Equal(x, ZerosLike(x));
    Output zeros = SegmentSum(Cast(is_zero, DT_int32), ids);
    Output dy = Select(Greater(zeros, Int(1)), ZerosLike(f->dy[0]), f->dy[0]);
    Output others = Select(is_zero, OnesLike(x), x);
    Output without = Gather(formula_2(f, "SegmentProd", others, ids), ids, Int(0));
    Output quotient = Div(Gather(f->y[0], ids, Int(0)), others);
    f->dx[0] = Mul(Gather(dy, ids, Int(0)), Select(is_zero, without, quotient));
}

static void extreme_grad(Formula *f) {
    Output x = f->x[0], ids = f->x[1];
    Output chosen = Cast(Equal(x, Gather(f->y[0], ids, Int(0))), output_type(x));
    Output share = Div(f->dy[0], SegmentSum(chosen, ids));
    f->dx[0] = Mul(chosen, Gather(share, ids, Int(0)));
}

#define SORTED(Name, combine, begin, is_mean, types, text, ...)                                                  \
    static const SegmentRow Segment##Name##_row = {&elementwise_##combine, START_##begin, is_mean};              \
    const Op op_Segment##Name = {                                                                                \
        .signature = "Segment" #Name "(data: T, segment_ids: Tindices) -> output: T; T: " types                  \
                     "; Tindices: {int32, int64}",                                                               \
        .doc = text, .needs = "vector(segment_ids), rank(data) >= 1", .shape = sorted_shape,                     \
        .prepare = segment_prepare, .own_size = sizeof(Segments), .cpu = ANY_TYPE(sorted_run), .flags = OP_DYNAMIC_SHAPE, \
        .hlo = segment_hlo, .row = &Segment##Name##_row, __VA_ARGS__                                              \
    };
SORTED(Sum, Add, ZERO, false, "numbers", "Sums of the rows of each segment.", .grad = sum_grad)
SORTED(Mean, Add, ZERO, true, "numbers", "Means of the rows of each segment.", .grad = mean_grad)
SORTED(Prod, Mul, ONE, false, "numbers", "Products of the rows of each segment.", .grad = prod_grad)
SORTED(Max, Maximum, ZERO, false, "reals", "Largest elements of the rows of each segment.", .grad = extreme_grad)
SORTED(Min, Minimum, ZERO, false, "reals", "Smallest elements of the rows of each segment.", .grad = extreme_grad)

#define LIKE_UNSORTED(Name, types, text)                                                                          \
    static void segment_##Name##_expand(Formula *f) {                                                             \
        f->results[0] = formula_3(f, "UnsortedSegment" #Name, f->x[0], f->x[1], f->x[2]);                         \
    }                                                                                                             \
    const Op op_Segment##Name##V2 = {                                                                             \
        .signature = "Segment" #Name "V2(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: " \
                     "T; T: " types "; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32",           \
        .doc = text, .shape = unsorted_shape, .expand = segment_##Name##_expand, .host = BIT(2),                  \
    };
LIKE_UNSORTED(Sum, "numbers", "Sums of the rows of each of so many segments.")
LIKE_UNSORTED(Prod, "numbers", "Products of the rows of each of so many segments.")
LIKE_UNSORTED(Max, "reals", "Largest elements of the rows of each of so many segments.")
LIKE_UNSORTED(Min, "reals", "Smallest elements of the rows of each of so many segments.")
