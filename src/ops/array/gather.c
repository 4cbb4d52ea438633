// Gather, GatherV2, GatherNd — slices of a tensor by index.
#include "ops/array/moving.h"

typedef struct {
    int64_t batches, outer, extent, count;  // params [batches, outer, extent, row], indices [batches, count]
    size_t row;                             // bytes
    int64_t cost;                           // ns per slice
} Gathering;

typedef struct {
    const Gathering *own;
    const char *in, *indices;
    char *out;
    DType index;
    _Atomic int64_t bad;                    // the first place in indices that is out of range, plus 1
} Work;

static void note(Work *w, int64_t place) {
    int64_t seen = atomic_load(&w->bad);
    while ((seen == 0 || place + 1 < seen) && !atomic_compare_exchange_weak(&w->bad, &seen, place + 1))
        continue;
}

static void gather_range(void *arg, int64_t first, int64_t last) {
    Work *w = arg;
    const Gathering *g = w->own;
    int64_t per_batch = g->outer * g->count;
    size_t index_size = dtype_size(w->index);
    while (first < last) {
        int64_t batch = first / per_batch, begin = first % per_batch, end = min_i64(per_batch, begin + last - first);
        const char *in = w->in + (size_t)(batch * g->outer * g->extent) * g->row;
        const char *indices = w->indices + (size_t)(batch * g->count) * index_size;
        char *out = w->out + (size_t)(batch * per_batch) * g->row;
        int64_t bad = gather_rows(in, g->extent, g->row, indices, w->index, g->count, out, begin, end);
        if (bad >= 0)
            note(w, batch * g->count + bad);
        first += end - begin;
    }
}

// "indices[0,2] = 7 is not in [0, 5)"
static Status *index_error(const Tensor *indices, int64_t place, int64_t extent) {
    AUTO(text) Text text = {0};
    for (int d = 0; d < indices->shape.rank; d++) {
        int64_t step = shape_span(&indices->shape, d + 1, indices->shape.rank);
        text_format(&text, "%s%lld", d ? "," : "", (long long)(place / step % indices->shape.dims[d]));
    }
    FAIL(INVALID_ARGUMENT, "indices[%s] = %lld is not in [0, %lld)", text.p ? text.p : "",
         (long long)host_int(indices, place), (long long)extent);
}

static Status *gather_move(Kernel *k, const void *const *in, void *const *out) {
    const Gathering *g = k->own;
    const Tensor *indices = k->in[1];
    Work w = {.own = g, .in = in[0], .indices = indices->data, .out = out[0], .index = indices->dtype};
    if (indices->dtype == DT_int16) {
        int32_t *wide = k->scratch;
        for (int64_t i = 0, n = tensor_count(indices); i < n; i++)
            wide[i] = ((const int16_t *)indices->data)[i];
        w.indices = (const char *)wide;
        w.index = DT_int32;
    }
    int64_t slices = g->batches * g->outer * g->count;
    if (slices)
        kernel_parallel(k, slices, g->cost, gather_range, &w);
    int64_t bad = atomic_load(&w.bad);
    return bad ? index_error(indices, bad - 1, g->extent) : OK;
}

static Status *gather_run(Kernel *k) {
    return move_elements(k, gather_move);
}

// ---------------------------------------- geometry

static Status *batch_dims_of(const Node *node, const Shape *params, const Shape *indices, int *out) {
    const AttrValue *attr = node_attr_find(node, "batch_dims");
    int64_t batch = attr ? attr->i : 0;
    *out = batch < 0 || indices->rank >= 0 ? 0 : (int)min_i64(batch, MAX_RANK);
    if (indices->rank < 0)
        return OK;
    NEED(batch >= -indices->rank && batch <= indices->rank, INVALID_ARGUMENT,
         "Expected batch_dims in the range [%d, %d], but got %lld", -indices->rank, indices->rank, (long long)batch);
    batch += batch < 0 ? indices->rank : 0;
    NEED(params->rank < 0 || batch < params->rank || batch == 0, INVALID_ARGUMENT,
         "batch_dims (%lld) must be less than rank(params) (%d)", (long long)batch, params->rank);
    *out = (int)batch;
    return OK;
}

static Status *gathered_shape(Shapes *s, bool axis_known, int64_t asked) {
    const Shape *params = &s->in[0], *indices = &s->in[1];
    int batch;
    TRY(batch_dims_of(s->node, params, indices, &batch));
    if (params->rank < 0 || indices->rank < 0)
        return OK;
    NEED(params->rank >= 1, INVALID_ARGUMENT, "params must be at least 1 dimensional");
    Shape out = {.rank = params->rank - 1 + indices->rank - batch};
    NEED(out.rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = UNKNOWN_DIM;
    if (axis_known) {
        NEED(asked >= -params->rank && asked < params->rank, INVALID_ARGUMENT,
             "Expected axis in the range [%d, %d), but got %lld", -params->rank, params->rank, (long long)asked);
        int axis = (int)(asked < 0 ? asked + params->rank : asked), n = 0;
        NEED(batch <= axis, INVALID_ARGUMENT, "batch_dims (%d) must be less than or equal to axis (%d)", batch, axis);
        for (int i = 0; i < batch; i++)
            NEED(params->dims[i] < 0 || indices->dims[i] < 0 || params->dims[i] == indices->dims[i], INVALID_ARGUMENT,
                 "params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld", i, (long long)params->dims[i], i,
                 (long long)indices->dims[i]);
        for (int i = 0; i < axis; i++)
            out.dims[n++] = i < batch && params->dims[i] < 0 ? indices->dims[i] : params->dims[i];
        for (int i = batch; i < indices->rank; i++)
            out.dims[n++] = indices->dims[i];
        for (int i = axis + 1; i < params->rank; i++)
            out.dims[n++] = params->dims[i];
    }
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *gather_shape(Shapes *s) {
    return gathered_shape(s, true, 0);
}

static Status *gather_v2_shape(Shapes *s) {
    int64_t axis = 0;
    bool known = shapes_input_int(s, 2, &axis);
    return gathered_shape(s, known, axis);
}

static Status *gather_geometry(Prepare *p, int64_t asked) {
    Gathering *g = p->own;
    const Shape *params = &p->in[0]->shape, *indices = &p->in[1]->shape;
    int axis, batch;
    TRY(shape_axis(asked, params->rank, &axis));
    TRY(batch_dims_of(p->node, params, indices, &batch));
    *g = (Gathering){.batches = shape_span(params, 0, batch), .outer = shape_span(params, batch, axis),
                     .extent = params->dims[axis], .count = shape_span(indices, batch, indices->rank),
                     .row = (size_t)shape_span(params, axis + 1, params->rank) * moved_size(p->out[0]->dtype)};
    g->cost = (int64_t)g->row / 8 + 3;
    p->cost = g->cost * g->batches * g->outer * g->count;
    p->scratch = p->in[1]->dtype == DT_int16 ? (size_t)shape_count(indices) * 4 + 4 : 0;
    return OK;
}

static Status *gather_prepare(Prepare *p) {
    return gather_geometry(p, 0);
}

static Status *gather_v2_prepare(Prepare *p) {
    NEED_VALUE(p, 2);
    return gather_geometry(p, prepare_input_int(p, 2, 0));
}

// ---------------------------------------- gradients

static Output piece(Formula *f, Output vector, int from, int n) {
    return Slice(vector, Ints(from), Ints(n));
}

// Of rows: dy as the rows of an IndexedSlices.
static void gather_rows_grad(Formula *f) {
    Output params = f->x[0], shape = ShapeOf(params), indices = f->x[1];
    int rank = output_shape(params)->rank;
    Output tail = rank > 0 ? piece(f, shape, 1, rank - 1) : Slice(shape, Ints(1), Ints(-1));
    Output rows = Reshape(SizeOf(indices), Ints(1));
    f->dx[0] = Reshape(f->dy[0], Concat(((Output[]){rows, tail}), 2, Int(0)));
    f->dx_indices[0] = Reshape(indices, Ints(-1));
    f->dx_shape[0] = shape;
}

static Output product(Formula *f, Output extents) {
    return Prod(extents, Int(0), false);
}

// Along another axis, or in batches: params are [batches, outer, extent, inner], dy is [batches, outer, count, inner];
// the slices are brought together as [batches * count, outer, inner] and summed by index.
static void gather_axis_grad(Formula *f, int batch) {
    Output params = f->x[0], shape = ShapeOf(params), axis = Cast(f->x[2], DT_int32), rank = Rank(params);
    Output at = Reshape(FloorMod(Add(axis, rank), rank), Ints(1)), one = Ints(1);
    Output batches = product(f, piece(f, shape, 0, batch)), inner = product(f, Slice(shape, Add(at, one), Ints(-1)));
    Output outer = product(f, Slice(shape, Ints(batch), Sub(at, Ints(batch))));
    Output extent = Reshape(Slice(shape, at, one), NoInts);
    Output ids = Cast(f->x[1], DT_int32);
    Output count = product(f, Slice(ShapeOf(ids), Ints(batch), Ints(-1)));
    ids = Reshape(ids, Pack(((Output[]){batches, count}), 2, 0));
    ids = Add(ids, ExpandDims(Mul(Range(Int(0), batches, Int(1)), extent), Int(1)));
    Output values = Reshape(f->dy[0], Pack(((Output[]){batches, outer, count, inner}), 4, 0));
    Output sums = UnsortedSegmentSum(Transpose(values, Ints(0, 2, 1, 3)), ids, Mul(batches, extent));
    sums = Reshape(sums, Pack(((Output[]){batches, extent, outer, inner}), 4, 0));
    f->dx[0] = Reshape(Transpose(sums, Ints(0, 2, 1, 3)), shape);
}

static void gather_v2_grad(Formula *f) {
    const Tensor *value = output_constant(f->x[2]);
    const Shape *params = output_shape(f->x[0]), *indices = output_shape(f->x[1]);
    int batch;
    Status *status = batch_dims_of(f->node, params, indices, &batch);
    if (!status && node_int(f->node, "batch_dims") < 0 && indices->rank < 0)
        status = status_new(UNIMPLEMENTED, __FILE__, __LINE__,
                            "the gradient of GatherV2 with negative batch_dims needs indices of known rank");
    if (status)
        formula_fail(f, status);
    else if (value && batch == 0 && tensor_int(value, 0) == 0)
        gather_rows_grad(f);
    else
        gather_axis_grad(f, batch);
}

// ---------------------------------------- for devices that compile

static COLD Status *gather_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), indices = hlo_in(h, 1);
    bool v2 = h->n_in > 2;
    int64_t batch = v2 ? node_int(h->node, "batch_dims") : 0;
    int axis = v2 ? hlo_need_axis(h, 2, x->shape.rank) : 0;
    TRY(h->status);
    hlo_check_range(h, indices, x->shape.dims[axis], "indices are out of range");
    return hlo_out(h, 0, hlo_take(h, x, indices, axis, (int)(batch < 0 ? batch + indices->shape.rank : batch)));
}

const Op op_Gather = {
    .signature = "Gather(params: Tparams, indices: Tindices) -> output: Tparams; validate_indices: bool = true; "
                 "Tparams: type; Tindices: {int32, int64}",
    .doc = "The rows of params that the indices name.", .needs = "rank(params) >= 1", .shape = gather_shape,
    .grad = gather_rows_grad, .prepare = gather_prepare, .own_size = sizeof(Gathering), .cpu = ANY_TYPE(gather_run),
    .hlo = gather_hlo,
};
const Op op_GatherV2 = {
    .signature = "GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> output: Tparams; batch_dims: int = 0; "
                 "Tparams: type; Tindices: {int16, int32, int64}; Taxis: {int32, int64}",
    .doc = "The slices of params along an axis that the indices name; leading dimensions may go hand in hand.",
    .needs = "rank(params) >= 1, scalar(axis)", .shape = gather_v2_shape, .grad = gather_v2_grad,
    .prepare = gather_v2_prepare, .own_size = sizeof(Gathering), .cpu = ANY_TYPE(gather_run), .host = BIT(2),
    .hlo = gather_hlo,
};
