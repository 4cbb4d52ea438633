// GatherNd, ScatterNd, TensorScatter* — slices named by vectors of indices: read, added up, put in their place.
#include "loops/elementwise.h"
#include "ops/array/moving.h"

// Places: an index is a vector of `depth` numbers that names a slice of `slice` elements.
typedef struct {
    int64_t n, depth, slice;
    int64_t extents[MAX_RANK], steps[MAX_RANK];  // of the dimensions that are named; steps in slices
    size_t size;                                 // bytes of an element
    ElementwiseLoop combine;                     // fn NULL: replace
    bool ignore_bad;                             // bad_indices_policy IGNORE: they are passed over
} Places;

// The number of the slice that index i names, or -1.
static int64_t place_of(const Places *places, const Tensor *indices, int64_t i) {
    int64_t at = 0;
    for (int64_t d = 0; d < places->depth; d++) {
        int64_t j = indices->dtype == DT_uint16 ? ((const uint16_t *)indices->data)[i * places->depth + d]
                                                : host_int(indices, i * places->depth + d);
        if (j < 0 || j >= places->extents[d])
            return -1;
        at += j * places->steps[d];
    }
    return at;
}

static Status *bad_index(const Places *places, const Tensor *indices, int64_t i, const Shape *shape) {
    AUTO(text) Text text = {0};
    for (int64_t d = 0; d < places->depth; d++)
        text_format(&text, "%s%lld", d ? ", " : "",
                    (long long)(indices->dtype == DT_uint16 ? ((const uint16_t *)indices->data)[i * places->depth + d]
                                                            : host_int(indices, i * places->depth + d)));
    FAIL(INVALID_ARGUMENT, "indices[%lld] = [%s] does not index into shape %s", (long long)i, text.p ? text.p : "",
         shape_text(shape));
}

static Status *places_init(Prepare *p, const Shape *indices, const Shape *whole) {
    Places *places = p->own;
    int depth = (int)indices->dims[indices->rank - 1];
    const AttrValue *policy = node_attr_find(p->node, "bad_indices_policy");
    *places = (Places){.n = shape_span(indices, 0, indices->rank - 1), .depth = depth,
                       .slice = shape_span(whole, depth, whole->rank), .size = moved_size(p->out[0]->dtype)};
    places->ignore_bad = policy && str_is(policy->s, "IGNORE");
    int64_t step = 1;
    for (int d = depth - 1; d >= 0; d--) {
        places->extents[d] = whole->dims[d];
        places->steps[d] = step;
        step *= whole->dims[d];
    }
    p->cost = places->n * (places->slice + 4);
    return OK;
}

// The last dimension of indices, which must not exceed the rank of what they index; -1 where unknown.
static Status *index_depth(const Shape *indices, const Shape *whole, int *out) {
    int64_t depth = indices->rank < 0 ? -1 : indices->dims[indices->rank - 1];
    NEED(depth < 0 || whole->rank < 0 || depth <= whole->rank, INVALID_ARGUMENT,
         "index innermost dimension length must be <= params rank; saw: %lld vs. %d", (long long)depth, whole->rank);
    *out = depth > MAX_RANK ? -1 : (int)depth;
    return OK;
}

// indices.shape[:-1] + whole.shape[depth:]
static Status *slices_shape(const Shape *indices, const Shape *whole, Shape *out) {
    int depth;
    TRY(index_depth(indices, whole, &depth));
    *out = UNKNOWN_SHAPE;
    if (depth < 0 || whole->rank < 0)
        return OK;
    Shape shape = {.rank = indices->rank - 1 + whole->rank - depth};
    NEED(shape.rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    for (int i = 0; i < indices->rank - 1; i++)
        shape.dims[i] = indices->dims[i];
    for (int i = depth; i < whole->rank; i++)
        shape.dims[indices->rank - 1 + i - depth] = whole->dims[i];
    TRY(shape_check(&shape));
    *out = shape;
    return OK;
}

// ---------------------------------------- GatherNd

static Status *gather_nd_shape(Shapes *s) {
    return slices_shape(&s->in[1], &s->in[0], &s->out[0]);
}

static Status *gather_nd_move(Kernel *k, const void *const *in, void *const *out) {
    const Places *places = k->own;
    size_t bytes = (size_t)places->slice * places->size;
    for (int64_t i = 0; i < places->n; i++) {
        int64_t at = place_of(places, k->in[1], i);
        char *to = (char *)out[0] + (size_t)i * bytes;
        if (at >= 0)
            memcpy(to, (const char *)in[0] + (size_t)at * bytes, bytes);
        else if (places->ignore_bad)
            memset(to, 0, bytes);
        else
            return bad_index(places, k->in[1], i, &k->in[0]->shape);
    }
    return OK;
}

static Status *gather_nd_run(Kernel *k) {
    return move_elements(k, gather_nd_move);
}

static Status *gather_nd_prepare(Prepare *p) {
    return places_init(p, &p->in[1]->shape, &p->in[0]->shape);
}

static void gather_nd_grad(Formula *f) {
    Output indices = f->x[1];
    f->dx[0] = ScatterNd(indices, f->dy[0], formula_shape(f, f->x[0], output_type(indices)));
}

// ---------------------------------------- for devices that compile

// Every component of an index is in range of its dimension.
static COLD void check_places(Hlo *h, HloValue indices, const Shape *shape) {
    int last = indices->shape.rank - 1;
    for (int i = 0; i < indices->shape.dims[last] && !h->status; i++)
        hlo_check_range(h, hlo_part(h, indices, last, i, i + 1), shape->dims[i], "indices are out of range");
}

static COLD Status *gather_nd_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), indices = hlo_in(h, 1);
    TRY(h->status);
    NEED(node_str(h->node, "bad_indices_policy").n == 0, UNIMPLEMENTED, "a bad_indices_policy");
    check_places(h, indices, &x->shape);
    return hlo_out(h, 0, hlo_take_nd(h, x, indices));
}

static COLD Status *scatter_nd_hlo(Hlo *h) {
    HloValue indices = hlo_in(h, 0), updates = hlo_in(h, 1);
    TRY(h->status);
    const Shape *shape = hlo_out_shape(h, 0);
    NEED(shape_is_known(shape), UNIMPLEMENTED, "the shape is not known");
    NEED(node_str(h->node, "bad_indices_policy").n == 0, UNIMPLEMENTED, "a bad_indices_policy");
    check_places(h, indices, shape);
    const char *op = updates->dtype == DT_bool ? "or" : "add";
    return hlo_out(h, 0, hlo_put(h, op, hlo_fill(h, 0, updates->dtype, *shape), indices, updates, true));
}

static COLD Status *tensor_scatter_hlo(Hlo *h) {
    const ElementwiseOp *combine = node_op(h->node)->row;
    HloValue x = hlo_in(h, 0), indices = hlo_in(h, 1), updates = hlo_in(h, 2);
    TRY(h->status);
    NEED(node_str(h->node, "bad_indices_policy").n == 0, UNIMPLEMENTED, "a bad_indices_policy");
    check_places(h, indices, &x->shape);
    bool minus = combine == &elementwise_Sub;
    const char *op = !combine ? NULL : minus || combine == &elementwise_Add ? "add"
                   : combine == &elementwise_Minimum ? "minimum" : "maximum";
    return hlo_out(h, 0, hlo_put(h, op, x, indices, minus ? hlo_neg(h, updates) : updates, true));
}

const Op op_GatherNd = {
    .signature = "GatherNd(params: Tparams, indices: Tindices) -> output: Tparams; Tparams: type; "
                 "Tindices: {int16, int32, int64}; bad_indices_policy: string = \"\"",
    .doc = "The slices of params that the vectors in indices name.", .needs = "rank(params) >= 1, rank(indices) >= 1",
    .shape = gather_nd_shape, .grad = gather_nd_grad, .prepare = gather_nd_prepare, .own_size = sizeof(Places),
    .cpu = ANY_TYPE(gather_nd_run), .hlo = gather_nd_hlo,
};

// ---------------------------------------- adding and putting

static Status *check_updates(const Shape *indices, const Shape *updates, const Shape *whole) {
    Shape wanted, both;
    TRY(slices_shape(indices, whole, &wanted));
    Status *status = shape_merge(&wanted, updates, &both);
    bool fits = !status;
    status_free(status);
    NEED(fits, INVALID_ARGUMENT, "updates of shape %s don't fit indices of shape %s into shape %s; expected %s",
         shape_text(updates), shape_text(indices), shape_text(whole), shape_text(&wanted));
    return OK;
}

// What a graph takes: as far as the shapes are known, and updates that are scalars in any case.
static Status *check_known_updates(const Shape *indices, const Shape *updates, const Shape *whole) {
    int outer = indices->rank - 1;
    if (outer < 0 || updates->rank <= 0 || indices->dims[outer] < 0)
        return OK;
    NEED(updates->rank >= outer, INVALID_ARGUMENT, "updates of shape %s don't fit indices of shape %s",
         shape_text(updates), shape_text(indices));
    bool fits = true;
    for (int i = 0; i < outer; i++)
        fits &= indices->dims[i] < 0 || updates->dims[i] < 0 || indices->dims[i] == updates->dims[i];
    NEED(fits, INVALID_ARGUMENT, "updates of shape %s don't fit indices of shape %s", shape_text(updates),
         shape_text(indices));
    return whole->rank >= 0 ? check_updates(indices, updates, whole) : OK;
}

// In the order of the indices, on one thread: equal indices add up, or the last one stays, and the order of the sums is
// the same at each run.
static Status *scatter_into(Kernel *k, const Tensor *indices, const void *updates, void *out) {
    const Places *places = k->own;
    size_t bytes = (size_t)places->slice * places->size;
    for (int64_t i = 0; i < places->n; i++) {
        int64_t at = place_of(places, indices, i);
        if (at < 0 && places->ignore_bad)
            continue;
        if (at < 0)
            return bad_index(places, indices, i, &k->out[0]->shape);
        char *to = (char *)out + (size_t)at * bytes;
        const char *from = (const char *)updates + (size_t)i * bytes;
        if (places->combine.fn)
            elementwise_run(&places->combine, to, from, to, places->slice, 1, 1);
        else
            memcpy(to, from, bytes);
    }
    return OK;
}

ELEMENTWISE(LogicalOr);

static Status *find_combine(Places *places, const ElementwiseOp *op, DType dtype) {
    if (dtype == DT_bool && op == &elementwise_Add)
        op = &elementwise_LogicalOr;
    NEED(elementwise_find(op, dtype, &places->combine), UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    return OK;
}

static Status *scatter_nd_shape(Shapes *s) {
    Shape whole;
    TRY(shapes_input_shape(s, 2, &whole));
    TRY(check_known_updates(&s->in[0], &s->in[1], &whole));
    s->out[0] = whole;
    return OK;
}

static Status *scatter_nd_move(Kernel *k, const void *const *in, void *const *out) {
    memset(out[0], 0, (size_t)tensor_count(k->out[0]) * moved_size(k->out[0]->dtype));
    return scatter_into(k, k->in[0], in[1], out[0]);
}

static Status *scatter_nd_run(Kernel *k) {
    return move_elements(k, scatter_nd_move);
}

static Status *scatter_nd_prepare(Prepare *p) {
    NEED_VALUE(p, 2);
    TRY(check_updates(&p->in[0]->shape, &p->in[1]->shape, &p->out[0]->shape));
    TRY(places_init(p, &p->in[0]->shape, &p->out[0]->shape));
    return dtype_is_plain(p->out[0]->dtype) ? find_combine(p->own, &elementwise_Add, p->out[0]->dtype) : OK;
}

static void scatter_nd_grad(Formula *f) {
    f->dx[1] = GatherNd(f->dy[0], f->x[0]);
}

const Op op_ScatterNd = {
    .signature = "ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> output: T; T: type; "
                 "Tindices: {int16, int32, int64}; bad_indices_policy: string = \"\"",
    .doc = "Zeros of that shape, with the updates added where the vectors in indices say.",
    .needs = "rank(indices) >= 1, vector(shape), each(shape) >= 0", .shape = scatter_nd_shape,
    .grad = scatter_nd_grad, .prepare = scatter_nd_prepare, .own_size = sizeof(Places),
    .cpu = ANY_TYPE(scatter_nd_run), .host = BIT(2), .hlo = scatter_nd_hlo,
};

// ---------------------------------------- into a copy of a tensor

static Status *tensor_scatter_shape(Shapes *s) {
    TRY(check_known_updates(&s->in[1], &s->in[2], &s->in[0]));
    s->out[0] = s->in[0];
    return OK;
}

static Status *tensor_scatter_move(Kernel *k, const void *const *in, void *const *out) {
    if (out[0] != in[0])
        memcpy(out[0], in[0], (size_t)tensor_count(k->out[0]) * moved_size(k->out[0]->dtype));
    return scatter_into(k, k->in[1], in[2], out[0]);
}

static Status *tensor_scatter_run(Kernel *k) {
    return move_elements(k, tensor_scatter_move);
}

static Status *tensor_scatter_prepare(Prepare *p) {
    const ElementwiseOp *combine = node_op(p->node)->row;
    TRY(check_updates(&p->in[1]->shape, &p->in[2]->shape, &p->in[0]->shape));
    TRY(places_init(p, &p->in[1]->shape, &p->in[0]->shape));
    return combine ? find_combine(p->own, combine, p->out[0]->dtype) : OK;
}

static void update_grad(Formula *f) {
    f->dx[0] = formula_3(f, "TensorScatterUpdate", f->dy[0], f->x[1], ZerosLike(f->x[2]));
    f->dx[2] = GatherNd(f->dy[0], f->x[1]);
}
static void add_grad(Formula *f) {
    f->dx[0] = f->dy[0];
    f->dx[2] = GatherNd(f->dy[0], f->x[1]);
}
static void sub_grad(Formula *f) {
    f->dx[0] = f->dy[0];
    f->dx[2] = Neg(GatherNd(f->dy[0], f->x[1]));
}
// dy goes to whichever is the extreme, shared out equally where x and updates tie, as TensorFlow's gradient does.
static void extreme_grad(Formula *f) {
    Output x = f->x[0], indices = f->x[1], updates = f->x[2], y = f->y[0], dy = f->dy[0];
    Output of_x = Cast(Equal(x, y), output_type(x));
    Output of_updates = Cast(Equal(updates, GatherNd(y, indices)), output_type(x));
    Output share = Div(dy, formula_3(f, "TensorScatterAdd", of_x, indices, of_updates));
    f->dx[0] = Mul(of_x, share);
    f->dx[2] = Mul(of_updates, GatherNd(share, indices));
}

#define TENSOR_SCATTER(Name, types, text, gradient, combine)                                                         \
    const Op op_##Name = {                                                                                           \
        .signature = #Name "(tensor: T, indices: Tindices, updates: T) -> output: T; T: type; Tindices: {" types "}; " \
                           "bad_indices_policy: string = \"\"",                                                      \
        .doc = text, .needs = "rank(tensor) >= 1, rank(indices) >= 1", .shape = tensor_scatter_shape,                \
        .grad = gradient, .prepare = tensor_scatter_prepare, .own_size = sizeof(Places),                             \
        .cpu = ANY_TYPE(tensor_scatter_run), .inplace = BIT(0), .hlo = tensor_scatter_hlo, .row = combine,           \
    };
TENSOR_SCATTER(TensorScatterUpdate, "int16, int32, int64, uint16", "The tensor with slices replaced.", update_grad,
               NULL)
TENSOR_SCATTER(TensorScatterAdd, "int32, int64", "The tensor with updates added to slices.", add_grad,
               &elementwise_Add)
TENSOR_SCATTER(TensorScatterSub, "int32, int64", "The tensor with updates taken from slices.", sub_grad,
               &elementwise_Sub)
TENSOR_SCATTER(TensorScatterMin, "int32, int64", "The tensor with slices cut at the updates from above.", extreme_grad,
               &elementwise_Minimum)
TENSOR_SCATTER(TensorScatterMax, "int32, int64", "The tensor with slices cut at the updates from below.", extreme_grad,
               &elementwise_Maximum)
