// SparseReshape — the same elements at the same places in the row-major order of another shape.
#include "ops/op.h"

static Status *reshape_shape(Shapes *s) {
    int64_t n = s->in[0].rank == 2 ? s->in[0].dims[0] : UNKNOWN_DIM;
    int64_t rank = s->in[2].rank == 1 ? s->in[2].dims[0] : UNKNOWN_DIM;
    s->out[0] = SHAPE(n, rank);
    s->out[1] = SHAPE(rank);
    return OK;
}

// The product of extents that came from outside.
static Status *count_elements(const Tensor *shape, const char *what, int64_t *out) {
    int64_t count = 1;
    for (int64_t i = 0; i < tensor_count(shape); i++) {
        int64_t extent = tensor_int(shape, i);
        NEED(extent >= 0 && mul_i64(count, extent, &count), INVALID_ARGUMENT, "%s[%lld] = %lld is no extent", what,
             (long long)i, (long long)extent);
    }
    *out = count;
    return OK;
}

// The new shape with its unknown extent, of which there is at most one.
static Status *infer(const Tensor *wanted, int64_t count, int64_t *out) {
    int64_t unknown = -1, product = 1, rank = tensor_count(wanted);
    for (int64_t i = 0; i < rank; i++) {
        out[i] = tensor_int(wanted, i);
        if (out[i] == -1) {
            NEED(unknown < 0, INVALID_ARGUMENT, "only one output dimension may be -1, not both %lld and %lld",
                 (long long)unknown, (long long)i);
            unknown = i;
            continue;
        }
        NEED(out[i] >= 0, INVALID_ARGUMENT, "size %lld must be non-negative, not %lld", (long long)i,
             (long long)out[i]);
        NEED(mul_i64(product, out[i], &product), INVALID_ARGUMENT, "the new shape has too many elements");
    }
    if (unknown >= 0) {
        NEED(product > 0, INVALID_ARGUMENT, "reshape cannot infer the missing input size for an empty tensor unless "
             "all specified input sizes are non-zero");
        out[unknown] = count / product;
        NEED(out[unknown] * product == count, INVALID_ARGUMENT, "Input to reshape is a SparseTensor with %lld dense "
             "values, but the requested shape requires a multiple of %lld", (long long)count, (long long)product);
        product = count;
    }
    NEED(product == count, INVALID_ARGUMENT, "Input to reshape is a tensor with %lld dense values, but the requested "
         "shape has %lld", (long long)count, (long long)product);
    return OK;
}

static Status *reshape_run(Kernel *k) {
    const Tensor *old = k->in[1];
    int64_t n = k->in[0]->shape.dims[0], rank = tensor_count(old), new_rank = tensor_count(k->in[2]), count;
    NEED(k->in[0]->shape.dims[1] == rank, INVALID_ARGUMENT, "indices of %lld columns for a shape of %lld extents",
         (long long)k->in[0]->shape.dims[1], (long long)rank);
    TRY(count_elements(old, "input_shape", &count));
    TRY(kernel_output(k, 1, SHAPE(new_rank)));
    int64_t *shape = k->out[1]->data;
    TRY(infer(k->in[2], count, shape));
    TRY(kernel_output(k, 0, SHAPE(n, new_rank)));
    const int64_t *from = k->in[0]->data;
    int64_t *to = k->out[0]->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = 0;
        for (int64_t d = 0; d < rank; d++) {
            int64_t at = from[i * rank + d], extent = tensor_int(old, d);
            NEED(at >= 0 && at < extent, INVALID_ARGUMENT, "indices[%lld,%lld] = %lld is not in [0, %lld)",
                 (long long)i, (long long)d, (long long)at, (long long)extent);
            place = place * extent + at;
        }
        for (int64_t d = new_rank - 1; d >= 0; d--) {
            to[i * new_rank + d] = place % shape[d];
            place /= shape[d];
        }
    }
    return OK;
}

const Op op_SparseReshape = {
    .signature = "SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> output_indices: int64, "
                 "output_shape: int64",
    .doc = "The same sparse tensor in another shape; one extent may be -1, which follows from the others.",
    .needs = "rank(input_indices) == 2, vector(input_shape), vector(new_shape)", .shape = reshape_shape,
    .cpu = ANY_TYPE(reshape_run), .host = BIT(1) | BIT(2), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
