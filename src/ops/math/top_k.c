// TopK, TopKV2, NthElement — the largest elements of each row, and where they are.
//
// A heap of the k best so far, whose root is the worst of them: n log k comparisons and no copy of the row. Of equal
// elements the first comes first, as in TensorFlow.
#define SELF "ops/math/top_k.c"
#include "ops/array/moving.h"

#ifdef T  // ---------------------------------------- kernels, once per dtype
// Whether element i comes before element j: the larger, of equals the first; NaN before every number.
static inline bool FN(before)(const T *x, int64_t i, int64_t j) {
    ACC a = LOAD(x[i]), b = LOAD(x[j]);
#ifndef IS_INTEGER
    bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan)
        return a_nan && (!b_nan || i < j);
#endif
    return a > b || (a == b && i < j);
}
// Sinks the root of a heap whose root is the last of its elements in that order.
static void FN(sink)(const T *x, int64_t *heap, int64_t at, int64_t n) {
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= n)
            return;
        if (child + 1 < n && FN(before)(x, heap[child], heap[child + 1]))
            child++;
        if (FN(before)(x, heap[child], heap[at]))
            return;
        int64_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}
// The k first of n elements in order of size, into `heap`.
static void FN(choose)(const T *x, int64_t n, int64_t k, int64_t *heap) {
    for (int64_t i = 0; i < k; i++)
        heap[i] = i;
    for (int64_t i = k / 2 - 1; i >= 0; i--)
        FN(sink)(x, heap, i, k);
    for (int64_t i = k; i < n && k > 0; i++)
        if (FN(before)(x, i, heap[0])) {
            heap[0] = i;
            FN(sink)(x, heap, 0, k);
        }
    for (int64_t last = k - 1; last > 0; last--) {
        int64_t other = heap[0];
        heap[0] = heap[last];
        heap[last] = other;
        FN(sink)(x, heap, 0, last);
    }
}
static Status *FN(top_k)(Kernel *k) {
    const TopK *own = k->own;
    int64_t *heap = k->scratch;
    for (int64_t row = 0; row < own->rows; row++) {
        const T *x = (const T *)k->in[0]->data + row * own->n;
        FN(choose)(x, own->n, own->k, heap);
        for (int64_t i = 0; i < own->k; i++)
            ((T *)k->out[0]->data)[row * own->k + i] = x[heap[i]];
        put_indices(k->out[1], row * own->k, heap, own->k);
    }
    return OK;
}
// The n-th smallest (own->last: largest) element, which is the last of the n + 1 that come first.
static Status *FN(nth)(Kernel *k) {
    const TopK *own = k->own;
    int64_t *heap = k->scratch;
    for (int64_t row = 0; row < own->rows; row++) {
        const T *x = (const T *)k->in[0]->data + row * own->n;
        FN(choose)(x, own->n, own->k, heap);
        ((T *)k->out[0]->data)[row] = x[heap[own->k - 1]];
    }
    return OK;
}
#else     // ---------------------------------------- shapes and schema
typedef struct {
    int64_t rows, n, k;
} TopK;

static void put_indices(const Tensor *out, int64_t at, const int64_t *values, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        switch (out->dtype) {
        case DT_int16: ((int16_t *)out->data)[at + i] = (int16_t)values[i]; break;
        case DT_int32: ((int32_t *)out->data)[at + i] = (int32_t)values[i]; break;
        default: ((int64_t *)out->data)[at + i] = values[i]; break;
        }
    }
}

#define EACH_REAL
#include "ops/each_dtype.h"

// k as an attribute, or as a host input; -1 where unknown.
static Status *k_of(const Node *node, const Tensor *value, int64_t *out) {
    const AttrValue *attr = node_attr_find(node, "k");
    *out = attr ? attr->i : value ? host_int(value, 0) : -1;
    NEED((!attr && !value) || *out >= 0, INVALID_ARGUMENT, "Need k >= 0, got %lld", (long long)*out);
    return OK;
}

static Status *top_k_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t k;
    TRY(k_of(s->node, s->n_in > 1 ? s->value[1] : NULL, &k));
    if (in->rank < 0)
        return OK;
    int64_t n = in->dims[in->rank - 1];
    NEED(n < 0 || k < 0 || n >= k, INVALID_ARGUMENT, "input must have at least k columns. Had %lld, needed %lld",
         (long long)n, (long long)k);
    Shape out = *in;
    out.dims[in->rank - 1] = k < 0 ? UNKNOWN_DIM : k;
    s->out[0] = s->out[1] = out;
    return OK;
}

static Status *top_k_prepare(Prepare *p) {
    TopK *own = p->own;
    const Shape *in = &p->in[0]->shape;
    if (p->n_in > 1)
        NEED_VALUE(p, 1);
    TRY(k_of(p->node, p->n_in > 1 ? p->in[1] : NULL, &own->k));
    own->n = in->dims[in->rank - 1];
    own->rows = shape_span(in, 0, in->rank - 1);
    p->scratch = (size_t)(own->k + 1) * sizeof(int64_t);
    p->cost = shape_count(in) * 2;
    return OK;
}

// dy scattered to where the elements were.
static void top_k_grad(Formula *f) {
    Output x = f->x[0], dy = f->dy[0], shape = ShapeOf(x), zero = Int(0);
    Output columns = Gather(shape, Sub(Rank(x), Int(1)), zero);
    Output indices = Cast(f->y[1], DT_int32), wide = ShapeOf(indices);
    Output k = Gather(wide, Sub(Rank(x), Int(1)), zero);
    Output flat = Reshape(indices, Pack(((Output[]){Int(-1), k}), 2, 0));
    Output rows = Reshape(Slice(ShapeOf(flat), Ints(0), Ints(1)), NoInts);
    Output starts = ExpandDims(Mul(Range(zero, rows, Int(1)), columns), Int(-1));
    Output places = Reshape(Add(flat, starts), Ints(-1, 1));
    Output all = Reshape(Prod(shape, zero, false), Ints(1));
    f->dx[0] = Reshape(ScatterNd(places, Reshape(dy, Ints(-1)), all), shape);
}

// The first of equals stays the first: the sort keeps their order.
static COLD Status *top_k_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), sorted, indices;
    const Shape *out = hlo_out_shape(h, 0);
    NEED(shape_is_known(out), UNIMPLEMENTED, "how many are wanted is not known");
    int axis = x->shape.rank - 1;
    hlo_sort(h, "GT", x, &sorted, &indices);
    TRY(hlo_out(h, 0, hlo_part(h, sorted, axis, 0, out->dims[axis])));
    return hlo_out(h, 1, hlo_cast(h, hlo_part(h, indices, axis, 0, out->dims[axis]), hlo_out_type(h, 1)));
}

static COLD Status *nth_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), sorted, indices;
    int axis = x->shape.rank - 1;
    int64_t n = (int64_t)hlo_need_number(h, 1, 0);
    hlo_sort(h, node_bool(h->node, "reverse") ? "GT" : "LT", x, &sorted, &indices);
    return hlo_out(h, 0, hlo_reshape(h, hlo_part(h, sorted, axis, n, n + 1), *hlo_out_shape(h, 0)));
}

#define TOP_K .shape = top_k_shape, .grad = top_k_grad, .prepare = top_k_prepare, .own_size = sizeof(TopK), \
    .cpu = KERNELS(REALS, top_k), .hlo = top_k_hlo
const Op op_TopK = {
    .signature = "TopK(input: T) -> values: T, indices: int32; k: int >= 0; sorted: bool = true; T: reals"
                 "; deprecated(7, \"use TopKV2\")",
    .doc = "The k largest elements of each row in falling order, and where they are.", .needs = "rank(input) >= 1",
    TOP_K,
};
const Op op_TopKV2 = {
    .signature = "TopKV2(input: T, k: Tk) -> values: T, indices: index_type; sorted: bool = true; T: reals"
                 "; Tk: {int16, int32, int64} = int32; index_type: {int16, int32, int64} = int32",
    .doc = "The k largest elements of each row in falling order, and where they are.",
    .needs = "rank(input) >= 1, scalar(k)", .host = BIT(1), TOP_K,
};

// ---------------------------------------- NthElement

static Status *nth_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t n;
    bool known = shapes_input_int(s, 1, &n);
    NEED(!known || n >= 0, INVALID_ARGUMENT, "n must be non-negative, got %lld", (long long)n);
    if (in->rank < 0)
        return OK;
    NEED(!known || in->dims[in->rank - 1] < 0 || n < in->dims[in->rank - 1], INVALID_ARGUMENT,
         "Input must have last dimension > n = %lld", (long long)n);
    s->out[0] = *in;
    s->out[0].dims[--s->out[0].rank] = 0;
    return OK;
}

static Status *nth_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    TopK *own = p->own;
    const Shape *in = &p->in[0]->shape;
    int64_t n = prepare_input_int(p, 1, 0);
    own->n = in->dims[in->rank - 1];
    NEED(n >= 0 && n < own->n, INVALID_ARGUMENT, "Input must have last dimension > n = %lld", (long long)n);
    own->k = node_bool(p->node, "reverse") ? n + 1 : own->n - n;
    own->rows = shape_span(in, 0, in->rank - 1);
    p->scratch = (size_t)(own->k + 1) * sizeof(int64_t);
    p->cost = shape_count(in) * 4;
    return OK;
}

static void nth_grad(Formula *f) {  // shared out among the elements that are equal
    Output chosen = Cast(Equal(ExpandDims(f->y[0], Int(-1)), f->x[0]), output_type(f->dy[0]));
    Output dy = ExpandDims(f->dy[0], Int(-1));
    f->dx[0] = Mul(Div(chosen, SumLast(chosen)), dy);
}

const Op op_NthElement = {
    .signature = "NthElement(input: T, n: int32) -> values: T; reverse: bool = false; T: reals",
    .doc = "The element of each row that n others come before in order of size.",
    .needs = "rank(input) >= 1, scalar(n)",
    .shape = nth_shape, .grad = nth_grad, .prepare = nth_prepare, .own_size = sizeof(TopK), .cpu = KERNELS(REALS, nth),
    .host = BIT(1), .hlo = nth_hlo,
};
#endif
