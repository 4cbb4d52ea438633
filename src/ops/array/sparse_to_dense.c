// SparseToDense — a tensor that is one value everywhere but at the places named.
#include "ops/array/moving.h"

typedef struct {
    int64_t n, depth;
    bool one, ordered;    // the same value at every place; the places must be in order, each once
} Dense;

static Status *dense_shape(Shapes *s) {
    const Shape *indices = &s->in[0], *values = &s->in[2];
    NEED(indices->rank <= 2, INVALID_ARGUMENT, "sparse_indices should be a scalar, vector, or matrix, got shape %s",
         shape_text(indices));
    Shape out;
    TRY(shapes_input_shape(s, 1, &out));
    int64_t n = indices->rank < 0 ? -1 : indices->rank == 0 ? 1 : indices->dims[0];
    int64_t depth = indices->rank < 0 ? -1 : indices->rank == 2 ? indices->dims[1] : 1;
    NEED(depth < 0 || out.rank < 0 || depth == out.rank, INVALID_ARGUMENT,
         "output_shape has incorrect number of elements: %d should be: %lld", out.rank, (long long)depth);
    NEED(n < 0 || values->rank != 1 || values->dims[0] < 0 || values->dims[0] == n, INVALID_ARGUMENT,
         "sparse_values has incorrect shape %s, should be [] or [%lld]", shape_text(values), (long long)n);
    s->out[0] = out;
    return OK;
}

static Status *dense_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    const Shape *indices = &p->in[0]->shape;
    *(Dense *)p->own = (Dense){indices->rank ? indices->dims[0] : 1, indices->rank == 2 ? indices->dims[1] : 1,
                               p->in[2]->shape.rank == 0, node_bool(p->node, "validate_indices")};
    p->cost = shape_count(&p->out[0]->shape) / 4 + shape_count(indices) * 4;
    return OK;
}

// The element that index i names; the index before it named `before`, -1 for none.
static Status *dense_place(const Kernel *k, const Dense *own, int64_t i, int64_t before, int64_t *out) {
    const Shape *shape = &k->out[0]->shape;
    int64_t at = 0;
    for (int64_t d = 0; d < own->depth; d++) {
        int64_t j = tensor_int(k->in[0], i * own->depth + d);
        NEED(j >= 0 && j < shape->dims[d], INVALID_ARGUMENT,
             "indices[%lld] is out of bounds: its element %lld is %lld, need 0 <= index < %lld", (long long)i,
             (long long)d, (long long)j, (long long)shape->dims[d]);
        at = at * shape->dims[d] + j;
    }
    NEED(!own->ordered || at != before, INVALID_ARGUMENT, "indices[%lld] is repeated", (long long)i);
    NEED(!own->ordered || at > before, INVALID_ARGUMENT,
         "indices[%lld] is out of order. Many sparse ops require sorted indices.", (long long)i);
    *out = at;
    return OK;
}

static Status *dense_move(Kernel *k, const void *const *in, void *const *out) {
    const Dense *own = k->own;
    size_t size = moved_size(k->out[0]->dtype);
    fill_run(in[3], size, out[0], tensor_count(k->out[0]));
    for (int64_t i = 0, at = -1; i < own->n; i++) {
        TRY(dense_place(k, own, i, at, &at));
        memcpy((char *)out[0] + (size_t)at * size, (const char *)in[2] + (own->one ? 0 : (size_t)i * size), size);
    }
    return OK;
}

static Status *dense_run(Kernel *k) {
    return move_elements(k, dense_move);
}

static void dense_grad(Formula *f) {  // each value's share; the default's is what is left
    Output indices = f->x[0], values = f->x[2], dy = f->dy[0];
    Output depth = Reshape(Cast(SizeOf(f->x[1]), DT_int32), Ints(1)), rows = Ints(-1);
    Output matrix[] = {rows, depth}, places = Reshape(indices, Concat(matrix, 2, Int(0)));
    Output shares = GatherNd(dy, places), all = Reshape(dy, Ints(-1));
    f->dx[2] = ReshapeLike(output_shape(values)->rank == 0 ? Sum(shares, Int(0), false) : shares, values);
    f->dx[3] = Sub(Sum(all, Int(0), false), Sum(shares, Int(0), false));
}

const Op op_SparseToDense = {
    .signature =
        "SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> "
                 "dense: T; validate_indices: bool = true; T: type; Tindices: {int32, int64}",
    .doc = "A tensor of that shape which is the default value but where the indices put others.",
    .needs = "vector(output_shape), each(output_shape) >= 0, scalar_or_vector(sparse_values), scalar(default_value)",
    .shape = dense_shape, .grad = dense_grad, .prepare = dense_prepare, .own_size = sizeof(Dense),
    .cpu = ANY_TYPE(dense_run), .host = BIT(1),
};
