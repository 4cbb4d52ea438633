// Lu — a unit lower and an upper triangle in one matrix, and where each row of their product comes from.
#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/op.h"

typedef struct {
    int64_t n, batch, cost;
    Elements elements;
} Lu;

static Status *lu_shape(Shapes *s) {
    Shape in;
    TRY(matrix_shape(s, 0, true, &in));
    s->out[0] = in;
    if (in.rank >= 0)
        s->out[1] = matrix_append(matrix_batch(in), in.dims[in.rank - 1]);
    return OK;
}

static Status *lu_prepare(Prepare *p) {
    Lu *own = p->own;
    const Shape *in = &p->in[0]->shape;
    DType dtype = p->in[0]->dtype;
    own->n = in->dims[in->rank - 1];
    own->batch = shape_span(in, 0, in->rank - 2);
    own->cost = own->n * own->n * max_i64(own->n, 1);
    p->cost = own->batch * own->cost;
    return elements_init(dtype, dtype_is_complex(dtype), &own->elements);
}

static Status *lu_one(Kernel *k, int64_t i, Work *work) {
    const Lu *own = k->own;
    const Elements *elements = &own->elements;
    int64_t n = own->n, count = n * n;
    size_t size = elements_size(elements);
    char *a = work_get(work, WORK_MATRIX, size * (size_t)count + 2 * (size_t)n * sizeof(int64_t));
    NEED_MEMORY(a);
    int64_t *pivots = (int64_t *)(void *)(a + size * (size_t)count), *rows = pivots + n;
    elements_load(elements, k->in[0]->data, i * count, count, a);
    NEED_MEMORY(elements->is_complex ? lu_complex128((Complex128 *)(void *)a, n, pivots, work) :
                lu_double((double *)(void *)a, n, pivots, work));
    for (int64_t j = 0; j < n; j++) {
        const double *diagonal = (const double *)(const void *)(a + size * (size_t)(j * (n + 1)));
        NEED(diagonal[0] != 0 || (elements->is_complex && diagonal[1] != 0), INVALID_ARGUMENT, "Input is not invertible.");
        rows[j] = j;
    }
    for (int64_t j = 0; j < n; j++) {
        int64_t kept = rows[j];
        rows[j] = rows[pivots[j]];
        rows[pivots[j]] = kept;
    }
    for (int64_t j = 0; j < n; j++) {
        if (k->out[1]->dtype == DT_int32)
            ((int32_t *)k->out[1]->data)[i * n + j] = (int32_t)rows[j];
        else
            ((int64_t *)k->out[1]->data)[i * n + j] = rows[j];
    }
    elements_store(elements, a, count, k->out[0]->data, i * count);
    return OK;
}

static Status *lu_run(Kernel *k) {
    const Lu *own = k->own;
    return tensor_count(k->in[0]) ? each_matrix(k, own->batch, own->cost, lu_one) : OK;
}

const Op op_Lu = {
    .signature = "Lu(input: T) -> lu: T, p: output_idx_type; T: factored; output_idx_type: {int32, int64} = int32",
    .doc = "The triangles whose product is each matrix with its rows in the order p, in one matrix.",
    .needs = "rank(input) >= 2", .shape = lu_shape, .prepare = lu_prepare, .own_size = sizeof(Lu),
    .cpu = ANY_TYPE(lu_run),
};
