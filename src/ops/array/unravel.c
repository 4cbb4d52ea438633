// UnravelIndex, DataFormatDimMap, DataFormatVecPermute — where an element stands; what a dimension is called elsewhere.
#include "ops/op.h"

// ---------------------------------------- UnravelIndex

static Status *unravel_shape(Shapes *s) {
    const Shape *indices = &s->in[0], *dims = &s->in[1];
    int64_t rank = dims->rank == 1 ? dims->dims[0] : UNKNOWN_DIM;
    if (indices->rank == 0)
        s->out[0] = SHAPE(rank);
    else if (indices->rank > 0)
        s->out[0] = SHAPE(rank, shape_count(indices));
    return OK;
}

static void put_int(const Tensor *t, int64_t i, int64_t value) {
    if (t->dtype == DT_int32)
        ((int32_t *)t->data)[i] = (int32_t)value;
    else
        ((int64_t *)t->data)[i] = value;
}

static Status *unravel_run(Kernel *k) {
    const Tensor *indices = k->in[0], *dims = k->in[1];
    int64_t n = tensor_count(indices), rank = tensor_count(dims), all = 1;
    for (int64_t d = 0; d < rank; d++)
        NEED(tensor_int(dims, d) != 0, INVALID_ARGUMENT, "Input dims cannot contain a dim of zero, but dims[%lld] is",
             (long long)d);
    for (int64_t d = 0; d < rank; d++)
        NEED(tensor_int(dims, d) > 0 && mul_i64(all, tensor_int(dims, d), &all), INVALID_ARGUMENT,
             "Input dims product is too large or negative: dims[%lld] = %lld", (long long)d,
             (long long)tensor_int(dims, d));
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = tensor_int(indices, i);
        NEED(rest >= 0 && rest < all, INVALID_ARGUMENT, "index is out of bound as with dims: %lld is not in [0, %lld)",
             (long long)rest, (long long)all);
        for (int64_t d = rank - 1; d >= 0; d--) {
            int64_t extent = tensor_int(dims, d);
            put_int(k->out[0], d * n + i, rest % extent);
            rest /= extent;
        }
    }
    return OK;
}

const Op op_UnravelIndex = {
    .signature = "UnravelIndex(indices: Tidx, dims: Tidx) -> output: Tidx; Tidx: {int32, int64} = int32",
    .doc = "The coordinates, one row for each dimension, of elements whose row-major places are given.",
    .needs = "vector(dims)", .shape = unravel_shape, .cpu = ANY_TYPE(unravel_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- data formats

typedef struct {
    int map[8];              // destination dimension i is source dimension map[i]
    int back[8];             // source dimension i is destination dimension back[i]
    int n;
} Formats;

// Letters of the one as places of the other; without N and C where `spatial`.
static Status *formats_of(const Node *node, bool spatial, Formats *out) {
    Str texts[2] = {node_attr_find(node, "src_format")->s, node_attr_find(node, "dst_format")->s};
    char letters[2][8];
    int n[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        NEED(texts[i].n == 4 || texts[i].n == 5, INVALID_ARGUMENT,
             "%s format must be of length 4 or 5, received '%.*s'", i ? "Destination" : "Source", STR_ARGS(texts[i]));
        for (size_t j = 0; j < texts[i].n; j++)
            if (!spatial || (texts[i].p[j] != 'N' && texts[i].p[j] != 'C'))
                letters[i][n[i]++] = texts[i].p[j];
    }
    NEED(n[0] == n[1], INVALID_ARGUMENT, "'%.*s' and '%.*s' have not as many dimensions", STR_ARGS(texts[0]),
         STR_ARGS(texts[1]));
    out->n = n[0];
    uint32_t seen = 0;
    for (int i = 0; i < n[1]; i++)
        for (int j = 0; j < n[0]; j++)
            if (letters[1][i] == letters[0][j]) {
                out->map[i] = j;
                out->back[j] = i;
                seen |= BIT(j);
            }
    NEED(seen == BIT(n[0]) - 1, INVALID_ARGUMENT, "'%.*s' is no permutation of '%.*s'", STR_ARGS(texts[1]),
         STR_ARGS(texts[0]));
    return OK;
}

static Status *dim_map_run(Kernel *k) {
    Formats formats;
    TRY(formats_of(k->node, false, &formats));
    for (int64_t i = 0; i < tensor_count(k->in[0]); i++) {
        int64_t at = tensor_int(k->in[0], i);
        NEED(at >= -formats.n && at < formats.n, INVALID_ARGUMENT, "%lld is no dimension of %d", (long long)at,
             formats.n);
        put_int(k->out[0], i, formats.back[at < 0 ? at + formats.n : at]);
    }
    return OK;
}

static Status *permute_run(Kernel *k) {
    const Shape *shape = &k->in[0]->shape;
    Formats formats;
    int64_t n = shape->dims[0], columns = shape->rank == 2 ? shape->dims[1] : 1;
    int whole = (int)node_attr_find(k->node, "src_format")->s.n;
    NEED(shape->rank <= 2 && (n == whole || n == whole - 2) && (shape->rank == 1 || columns == 2), INVALID_ARGUMENT,
         "input must be a vector of %d or %d elements or have two columns, got %s", whole, whole - 2, shape_text(shape));
    TRY(formats_of(k->node, n == whole - 2, &formats));
    NEED(formats.n == n, INVALID_ARGUMENT, "%lld elements for %d dimensions", (long long)n, formats.n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < columns; j++)
            put_int(k->out[0], i * columns + j, tensor_int(k->in[0], formats.map[i] * columns + j));
    return OK;
}

#define FORMATS "T: {int32, int64} = int32; src_format: string = \"NHWC\"; dst_format: string = \"NCHW\""
const Op op_DataFormatDimMap = {
    .signature = "DataFormatDimMap(x: T) -> y: T; " FORMATS,
    .doc = "Which dimensions of one data format those of another are.", .shape = shape_unchanged,
    .cpu = ANY_TYPE(dim_map_run), .flags = OP_NO_GRADIENT,
};
const Op op_DataFormatVecPermute = {
    .signature = "DataFormatVecPermute(x: T) -> y: T; " FORMATS,
    .doc = "What is said of each dimension, in the order of another data format.", .needs = "rank(x) >= 1",
    .shape = shape_unchanged, .cpu = ANY_TYPE(permute_run), .flags = OP_NO_GRADIENT,
};
