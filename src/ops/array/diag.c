// Diagonals — MatrixDiag, MatrixDiagPart, MatrixSetDiag (and V2, V3), Diag, DiagPart, MatrixBandPart.
//
// A band of diagonals lower <= k <= upper lies in a tensor as rows [upper - k, i]: k = 0 is the main diagonal, k > 0
// lies above it. Rows are as long as the longest diagonal; the shorter ones lie at their left or right end.
#include "ops/array/moving.h"

typedef struct {
    int64_t lower, upper;
    int64_t rows, columns;          // of each matrix
    int64_t length;                 // of the longest diagonal
    int64_t batches;
    bool left_above, left_below;    // at which end the shorter diagonals lie
    size_t size;
} Band;

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// k, of one or two elements; *known false where there is no value yet. V1 ops have none: the main diagonal.
static Status *read_k(const Tensor *k, bool has_k, Band *band, bool *known) {
    band->lower = band->upper = 0;
    *known = !has_k || k;
    if (!has_k || !k)
        return OK;
    int64_t n = tensor_count(k);
    NEED(k->shape.rank <= 1 && (n == 1 || n == 2), INVALID_ARGUMENT,
         "diag_index must be a scalar or vector with one or two elements, received %s", shape_text(&k->shape));
    band->lower = tensor_int(k, 0);
    band->upper = tensor_int(k, n - 1);
    NEED(band->lower <= band->upper, INVALID_ARGUMENT,
         "lower_diag_index must not be larger than upper_diag_index: %lld > %lld",
         (long long)band->lower, (long long)band->upper);
    return OK;
}

// The first word of "LEFT_RIGHT" is for the diagonals above the main one, the second for those below. V1 and V2 have no
// `align`: there all short diagonals lie at the left.
static void read_align(const Node *node, Band *band) {
    const AttrValue *align = node_attr_find(node, "align");
    Str word = align ? align->s : STR("LEFT_LEFT");
    band->left_above = str_starts(word, STR("LEFT"));
    band->left_below = str_is(word, "LEFT_LEFT") || str_is(word, "RIGHT_LEFT");
}

// The longest diagonal of the band in a matrix of these extents.
static Status *band_length(Band *band) {
    bool inside = band->lower > -band->rows && band->upper < band->columns;
    NEED(inside || (band->lower == 0 && band->upper == 0), INVALID_ARGUMENT,
         "diagonals %lld to %lld are outside a matrix of %lld rows and %lld columns", (long long)band->lower,
         (long long)band->upper, (long long)band->rows, (long long)band->columns);
    band->length = least(band->rows + least(band->upper, 0), band->columns - most(band->lower, 0));
    return OK;
}

static int64_t diagonals(const Band *band) {
    return band->upper - band->lower + 1;
}

// Copies between the matrices and their diagonals; strings and objects as pointers. The k-th diagonal begins at row
// max(0, -k), column max(0, k), and its next element lies columns + 1 further on. Its row in the band is filled from
// the end that `align` says; the rest of that row keeps the padding.
static void walk(const Band *band, const char *from, char *to, bool to_matrix) {
    size_t size = band->size;
    for (int64_t batch = 0; batch < band->batches; batch++)
        for (int64_t k = band->upper; k >= band->lower; k--) {
            int64_t length = least(band->rows + least(0, k), band->columns - most(0, k));
            bool left = (k >= 0 && band->left_above) || (k <= 0 && band->left_below);
            int64_t at = (batch * diagonals(band) + band->upper - k) * band->length +
                (left ? 0 : band->length - length);
            int64_t place = (batch * band->rows + most(0, -k)) * band->columns + most(0, k);
            for (int64_t i = 0; i < length; i++, at++, place += band->columns + 1) {
                int64_t a = to_matrix ? at : place, b = to_matrix ? place : at;
                memcpy(to + (size_t)b * size, from + (size_t)a * size, size);
            }
        }
}

static void fill(Kernel *k, const Band *band, const void *padding, void *out) {
    static const uint64_t zero[4] = {0};
    fill_run(padding ? padding : zero, band->size, out, tensor_count(k->out[0]));
}

// ---------------------------------------- MatrixDiagPart

static Status *part_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    Band band;
    bool known;
    TRY(read_k(s->n_in > 1 ? s->value[1] : NULL, s->n_in > 1, &band, &known));
    if (in->rank < 0 || !known)
        return OK;
    Shape out = *in;
    out.rank -= 2;
    out.dims[out.rank] = out.dims[out.rank + 1] = 0;
    band.rows = in->dims[in->rank - 2];
    band.columns = in->dims[in->rank - 1];
    if (diagonals(&band) > 1)
        out.dims[out.rank++] = diagonals(&band);
    out.dims[out.rank] = UNKNOWN_DIM;
    if (band.rows >= 0 && band.columns >= 0) {
        TRY(band_length(&band));
        out.dims[out.rank] = band.length;
    }
    out.rank++;
    s->out[0] = out;
    return OK;
}

static Status *part_prepare(Prepare *p) {
    Band *band = p->own;
    const Shape *in = &p->in[0]->shape;
    bool known;
    if (p->n_in > 1)
        NEED_VALUE(p, 1);
    TRY(read_k(p->n_in > 1 ? p->in[1] : NULL, p->n_in > 1, band, &known));
    read_align(p->node, band);
    band->rows = in->dims[in->rank - 2];
    band->columns = in->dims[in->rank - 1];
    band->batches = shape_span(in, 0, in->rank - 2);
    band->size = moved_size(p->out[0]->dtype);
    p->cost = shape_count(&p->out[0]->shape) * 2;
    return band_length(band);
}

static Status *part_move(Kernel *k, const void *const *in, void *const *out) {
    const Band *band = k->own;
    fill(k, band, k->n_in > 2 ? in[2] : NULL, out[0]);
    walk(band, in[0], out[0], false);
    return OK;
}

static Status *part_run(Kernel *k) {
    return tensor_count(k->out[0]) ? move_elements(k, part_move) : OK;
}

// ---------------------------------------- MatrixDiag

// The extents that the diagonals, and the numbers of rows and columns where they aren't -1, ask for. TensorFlow's rule:
// without either the matrix is square; with one the other is the least that holds the diagonals; and one of them must
// be the least, or the longest diagonal would not reach an edge.
static Status *extents(Band *band, int64_t length, int64_t rows, int64_t columns) {
    int64_t least_rows = length - least(band->upper, 0), least_columns = length + most(band->lower, 0);
    bool open_rows = rows == -1, open_columns = columns == -1;
    if (open_rows && open_columns)
        rows = columns = most(least_rows, least_columns);
    else if (open_rows)
        rows = least_rows;
    else if (open_columns)
        columns = least_columns;
    NEED(rows >= least_rows && columns >= least_columns, INVALID_ARGUMENT,
         "num_rows or num_cols is too small: %lld rows, %lld columns", (long long)rows, (long long)columns);
    NEED(rows == least_rows || columns == least_columns, INVALID_ARGUMENT,
         "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
    band->rows = rows;
    band->columns = columns;
    return OK;
}

static Status *diag_band(const Tensor *const *value, int n_in, const Shape *in, Band *band, bool *known) {
    bool has_k = n_in > 1;
    TRY(read_k(has_k ? value[1] : NULL, has_k, band, known));
    *known &= !has_k || (value[2] && value[3]);
    if (!*known)
        return OK;
    NEED(diagonals(band) == 1 || (in->rank >= 2 && (in->dims[in->rank - 2] < 0 ||
                                                    in->dims[in->rank - 2] == diagonals(band))),
         INVALID_ARGUMENT, "The number of diagonals provided in the input does not match the lower_diag_index and "
         "upper_diag_index range: %s", shape_text(in));
    int64_t length = in->dims[in->rank - 1];
    *known = length >= 0;
    band->length = length;
    return *known ? extents(band, length, has_k ? tensor_int(value[2], 0) : -1, has_k ? tensor_int(value[3], 0) : -1)
        : OK;
}

static Status *diag_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    Band band;
    bool known;
    if (in->rank < 0)
        return OK;
    TRY(diag_band(s->value, s->n_in, in, &band, &known));
    if (!known)
        return OK;
    Shape out = *in;
    out.rank -= diagonals(&band) > 1 ? 2 : 1;
    NEED(out.rank + 2 <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    for (int i = out.rank; i < MAX_RANK; i++)
        out.dims[i] = 0;
    out.dims[out.rank++] = band.rows;
    out.dims[out.rank++] = band.columns;
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *diag_prepare(Prepare *p) {
    Band *band = p->own;
    const Tensor *values[5] = {0};
    bool known;
    for (int i = 0; i < p->n_in && i < 5; i++)
        values[i] = p->in[i]->data ? p->in[i] : NULL;
    TRY(diag_band(values, p->n_in, &p->in[0]->shape, band, &known));
    NEED(known, FAILED_PRECONDITION, "the diagonals are not known yet");
    read_align(p->node, band);
    band->batches = shape_span(&p->out[0]->shape, 0, p->out[0]->shape.rank - 2);
    band->size = moved_size(p->out[0]->dtype);
    p->cost = shape_count(&p->out[0]->shape);
    return OK;
}

static Status *diag_move(Kernel *k, const void *const *in, void *const *out) {
    const Band *band = k->own;
    fill(k, band, k->n_in > 4 ? in[4] : NULL, out[0]);
    walk(band, in[0], out[0], true);
    return OK;
}

static Status *diag_run(Kernel *k) {
    return tensor_count(k->out[0]) ? move_elements(k, diag_move) : OK;
}

// ---------------------------------------- MatrixSetDiag

static Status *set_band(const Node *node, const Tensor *k, bool has_k, const Shape *in, const Shape *diagonal,
                        Band *band, bool *known) {
    TRY(read_k(k, has_k, band, known));
    read_align(node, band);
    *known &= in->rank >= 0 && diagonal->rank >= 0;
    if (!*known)
        return OK;
    band->rows = in->dims[in->rank - 2];
    band->columns = in->dims[in->rank - 1];
    if (band->rows < 0 || band->columns < 0)
        return OK;
    TRY(band_length(band));
    Shape wanted = *in;
    wanted.rank -= 2;
    if (diagonals(band) > 1)
        wanted.dims[wanted.rank++] = diagonals(band);
    wanted.dims[wanted.rank++] = band->length;
    for (int i = wanted.rank; i < MAX_RANK; i++)
        wanted.dims[i] = 0;
    NEED(shape_compatible(&wanted, diagonal), INVALID_ARGUMENT, "Expected diagonal shape %s for input shape %s, got %s",
         shape_text(&wanted), shape_text(in), shape_text(diagonal));
    return OK;
}

static Status *set_shape(Shapes *s) {
    Band band;
    bool known;
    TRY(set_band(s->node, s->n_in > 2 ? s->value[2] : NULL, s->n_in > 2, &s->in[0], &s->in[1], &band, &known));
    s->out[0] = s->in[0];
    return OK;
}

static Status *set_prepare(Prepare *p) {
    Band *band = p->own;
    const Shape *in = &p->in[0]->shape;
    bool known;
    if (p->n_in > 2)
        NEED_VALUE(p, 2);
    TRY(set_band(p->node, p->n_in > 2 ? p->in[2] : NULL, p->n_in > 2, in, &p->in[1]->shape, band, &known));
    band->batches = shape_span(in, 0, in->rank - 2);
    band->size = moved_size(p->out[0]->dtype);
    p->cost = shape_count(in);
    return OK;
}

static Status *set_move(Kernel *k, const void *const *in, void *const *out) {
    const Band *band = k->own;
    if (in[0] != out[0])
        memcpy(out[0], in[0], (size_t)tensor_count(k->out[0]) * band->size);
    walk(band, in[1], out[0], true);
    return OK;
}

static Status *set_run(Kernel *k) {
    return tensor_count(k->out[0]) ? move_elements(k, set_move) : OK;
}

// ---------------------------------------- gradients

// The gradient's ops are of the same version as the op: V1 has no k, and V3 differs in where short diagonals lie.
static const char *other(Formula *f, const char *v1, const char *v2, const char *v3) {
    Str name = f->node->type->name;
    char version = name.p[name.n - 1];
    return version == '3' ? v3 : version == '2' ? v2 : v1;
}

static Output parts(Formula *f, const char *v1, const char *v2, const char *v3, Output matrices, const Output *k) {
    Output in[] = {matrices, k ? *k : NONE, Scalar(0, matrices)};
    return formula_alike(f, other(f, v1, v2, v3), in, k ? 3 : 1);
}

static Output with_parts(Formula *f, Output matrices, Output diagonal, const Output *k) {
    Output in[] = {matrices, diagonal, k ? *k : NONE};
    return formula_alike(f, other(f, "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"), in, k ? 3 : 2);
}

#define PART_OPS "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"

static void diag_grad(Formula *f) {
    f->dx[0] = parts(f, PART_OPS, f->dy[0], f->n_x > 1 ? &f->x[1] : NULL);
}
static void part_grad(Formula *f) {
    f->dx[0] = with_parts(f, ZerosLike(f->x[0]), f->dy[0], f->n_x > 1 ? &f->x[1] : NULL);
}
static void set_grad(Formula *f) {
    const Output *k = f->n_x > 2 ? &f->x[2] : NULL;
    f->dx[0] = with_parts(f, f->dy[0], ZerosLike(f->x[1]), k);
    f->dx[1] = parts(f, PART_OPS, f->dy[0], k);
}

// ---------------------------------------- for devices that compile

enum { MOST_PLACES = 1 << 20 };

// Where each element of the result comes from: a place in a flat matrix (or in its diagonals), -1 for none.
static COLD Status *places_of(Hlo *h, Band *band, bool to_matrix, HloValue *out) {
    int64_t matrix = band->rows * band->columns, flat = diagonals(band) * band->length;
    int64_t from = to_matrix ? flat : matrix, to = to_matrix ? matrix : flat;
    NEED(from <= MOST_PLACES && to <= MOST_PLACES, UNIMPLEMENTED, "matrices of more than %d elements", MOST_PLACES);
    int32_t *places = malloc(sizeof *places * (size_t)(from + to + 1));
    NEED_MEMORY(places);
    for (int64_t i = 0; i < from; i++)
        places[i] = (int32_t)i;
    for (int64_t i = 0; i < to; i++)
        places[from + i] = -1;
    band->batches = 1;
    band->size = sizeof *places;
    walk(band, (const char *)places, (char *)(places + from), to_matrix);
    *out = hlo_tensor(h, &(Tensor){.data = places + from, .dtype = DT_int32, .shape = SHAPE(to)});
    free(places);
    return OK;
}

// `from` read at these places; `otherwise` where there is none.
static COLD HloValue at_places(Hlo *h, HloValue from, int64_t each, HloValue places, HloValue otherwise) {
    int64_t batches = each ? shape_count(&from->shape) / each : 0;
    HloValue rows = hlo_reshape(h, from, SHAPE(batches, each));
    HloValue taken = hlo_take(h, rows, hlo_max(h, places, hlo_like(h, 0, places)), 1, 0);
    return hlo_select(h, hlo_is(h, "GE", places, 0), taken, hlo_reshape(h, otherwise, otherwise->shape.rank
                      ? SHAPE(batches, places->shape.dims[0]) : SCALAR_SHAPE));
}

static COLD HloValue padding_of(Hlo *h, int i) {
    return h->n_in > i ? hlo_in(h, i) : hlo_number(h, 0, hlo_out_type(h, 0));
}

static COLD Status *band_of(Hlo *h, int k_at, Band *band) {
    const Tensor *k = NULL;
    const Shape *in = hlo_in_shape(h, 0);
    bool known;
    if (h->n_in > k_at)
        TRY(hlo_need(h, k_at, &k));
    TRY(read_k(k, h->n_in > k_at, band, &known));
    read_align(h->node, band);
    band->rows = in->dims[in->rank - 2];
    band->columns = in->dims[in->rank - 1];
    NEED(shape_count(in) > 0, UNIMPLEMENTED, "matrices without elements");
    return band_length(band);
}

static COLD Status *part_hlo(Hlo *h) {
    Band band;
    HloValue x = hlo_in(h, 0), places;
    TRY(h->status);
    TRY(band_of(h, 1, &band));
    TRY(places_of(h, &band, false, &places));
    HloValue y = at_places(h, x, band.rows * band.columns, places, padding_of(h, 2));
    return hlo_out(h, 0, hlo_reshape(h, y, *hlo_out_shape(h, 0)));
}

static COLD Status *diag_hlo(Hlo *h) {
    Band band;
    bool known;
    HloValue x = hlo_in(h, 0), places;
    TRY(h->status);
    const Tensor *values[5] = {0};
    for (int i = 1; i < h->n_in && i < 4; i++)
        TRY(hlo_need(h, i, &values[i]));
    TRY(diag_band(values, h->n_in, &x->shape, &band, &known));
    NEED(shape_count(&x->shape) > 0, UNIMPLEMENTED, "matrices without elements");
    read_align(h->node, &band);
    TRY(places_of(h, &band, true, &places));
    HloValue y = at_places(h, x, diagonals(&band) * band.length, places, padding_of(h, 4));
    return hlo_out(h, 0, hlo_reshape(h, y, *hlo_out_shape(h, 0)));
}

static COLD Status *set_hlo(Hlo *h) {
    Band band;
    HloValue x = hlo_in(h, 0), diagonal = hlo_in(h, 1), places;
    TRY(h->status);
    TRY(band_of(h, 2, &band));
    TRY(places_of(h, &band, true, &places));
    HloValue y = at_places(h, diagonal, diagonals(&band) * band.length, places, x);
    return hlo_out(h, 0, hlo_reshape(h, y, x->shape));
}

static COLD HloValue on_diagonal(Hlo *h, int64_t n) {
    return hlo_eq(h, hlo_iota(h, DT_int32, SHAPE(n, n), 0), hlo_iota(h, DT_int32, SHAPE(n, n), 1));
}

static COLD Status *tensor_diag_hlo(Hlo *h) {
    HloValue x = hlo_flat(h, hlo_in(h, 0));
    HloValue y = hlo_select(h, on_diagonal(h, x->shape.dims[0]), x, hlo_like(h, 0, x));
    return hlo_out(h, 0, hlo_reshape(h, y, *hlo_out_shape(h, 0)));
}

static COLD Status *tensor_part_hlo(Hlo *h) {
    int64_t n = shape_count(hlo_out_shape(h, 0));
    HloValue x = hlo_reshape(h, hlo_in(h, 0), SHAPE(n, n));
    HloValue y = hlo_reduce(h, "add", hlo_select(h, on_diagonal(h, n), x, hlo_like(h, 0, x)), BIT(0), DROP);
    return hlo_out(h, 0, hlo_reshape(h, y, *hlo_out_shape(h, 0)));
}

// How far a place is below the diagonal is at most num_lower, how far above at most num_upper; negative: any.
static COLD Status *band_part_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), inside[2];
    TRY(h->status);
    int rank = x->shape.rank;
    Shape matrix = SHAPE(x->shape.dims[rank - 2], x->shape.dims[rank - 1]);
    DType index = node_input_type(h->node, 1);
    HloValue below = hlo_sub(h, hlo_iota(h, index, matrix, 0), hlo_iota(h, index, matrix, 1));
    for (int i = 0; i < 2; i++) {
        HloValue most = hlo_in(h, 1 + i);
        hlo_check(h, hlo_is(h, "LE", most, (double)matrix.dims[i]), INVALID_ARGUMENT,
                  "num_lower and num_upper must be negative or at most the number of rows and columns");
        inside[i] = hlo_or(h, hlo_is(h, "LT", most, 0), hlo_le(h, i ? hlo_neg(h, below) : below, most));
    }
    return hlo_out(h, 0, hlo_select(h, hlo_and(h, inside[0], inside[1]), x, hlo_like(h, 0, x)));
}

// ---------------------------------------- the ops

#define ALIGN "; align: {\"LEFT_RIGHT\", \"RIGHT_LEFT\", \"LEFT_LEFT\", \"RIGHT_RIGHT\"} = \"RIGHT_LEFT\""
#define DIAGONAL_OP(Name, word, in, out, attrs, more_needs, text, ...)                                              \
    const Op op_##Name = {                                                                                          \
        .signature = #Name "(" in ") -> " out ": T; T: type" attrs, .doc = text, .needs = more_needs,                \
        .shape = word##_shape, .grad = word##_grad, .prepare = word##_prepare, .own_size = sizeof(Band),             \
        .cpu = ANY_TYPE(word##_run), .hlo = word##_hlo, __VA_ARGS__                                                  \
    };
#define DIAG_INPUTS "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T"
#define DIAG_NEEDS "rank(diagonal) >= 1, scalar(num_rows), scalar(num_cols), scalar(padding_value)"
#define DIAG_TEXT "Matrices with the given diagonals."
DIAGONAL_OP(MatrixDiag, diag, "diagonal: T", "output", "", "rank(diagonal) >= 1", DIAG_TEXT, .host = 0)
DIAGONAL_OP(MatrixDiagV2, diag, DIAG_INPUTS, "output", "", DIAG_NEEDS, DIAG_TEXT, .host = BIT(1) | BIT(2) | BIT(3))
DIAGONAL_OP(MatrixDiagV3, diag, DIAG_INPUTS, "output", ALIGN, DIAG_NEEDS, DIAG_TEXT, .host = BIT(1) | BIT(2) | BIT(3))
#define PART_INPUTS "input: T, k: int32, padding_value: T"
#define PART_NEEDS "rank(input) >= 2, scalar(padding_value)"
#define PART_TEXT "Diagonals of matrices."
DIAGONAL_OP(MatrixDiagPart, part, "input: T", "diagonal", "", "rank(input) >= 2", PART_TEXT, .host = 0)
DIAGONAL_OP(MatrixDiagPartV2, part, PART_INPUTS, "diagonal", "", PART_NEEDS, PART_TEXT, .host = BIT(1))
DIAGONAL_OP(MatrixDiagPartV3, part, PART_INPUTS, "diagonal", ALIGN, PART_NEEDS, PART_TEXT, .host = BIT(1))
#define SET_INPUTS "input: T, diagonal: T, k: int32"
#define SET_NEEDS "rank(input) >= 2, rank(diagonal) >= 1"
#define SET_TEXT "Matrices with their diagonals replaced."
DIAGONAL_OP(MatrixSetDiag, set, "input: T, diagonal: T", "output", "", SET_NEEDS, SET_TEXT, .inplace = BIT(0))
DIAGONAL_OP(MatrixSetDiagV2, set, SET_INPUTS, "output", "", SET_NEEDS, SET_TEXT, .host = BIT(2), .inplace = BIT(0))
DIAGONAL_OP(MatrixSetDiagV3, set, SET_INPUTS, "output", ALIGN, SET_NEEDS, SET_TEXT, .host = BIT(2), .inplace = BIT(0))

// ---------------------------------------- Diag, DiagPart

static Status *tensor_diag_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    if (in->rank < 0)
        return OK;
    NEED(in->rank * 2 <= MAX_RANK, UNIMPLEMENTED, "Diag of more than %d dimensions", MAX_RANK / 2);
    Shape out = {.rank = 2 * in->rank};
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = in->dims[i % in->rank];
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *tensor_part_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    if (in->rank < 0)
        return OK;
    NEED(in->rank % 2 == 0, INVALID_ARGUMENT, "The rank of the tensor should be even and positive, got shape %s",
         shape_text(in));
    Shape out = {.rank = in->rank / 2};
    for (int i = 0; i < out.rank; i++) {
        int64_t a = in->dims[i], b = in->dims[i + out.rank];
        NEED(a < 0 || b < 0 || a == b, INVALID_ARGUMENT, "Invalid shape, %s: dimensions %d and %d do not match",
             shape_text(in), i, i + out.rank);
        out.dims[i] = a < 0 ? b : a;
    }
    s->out[0] = out;
    return OK;
}

static Status *tensor_diag_run(Kernel *k) {
    size_t n = (size_t)tensor_count(k->in[0]), size = dtype_size(k->in[0]->dtype);
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    for (size_t i = 0; i < n; i++)
        memcpy((char *)k->out[0]->data + (i * n + i) * size, (const char *)k->in[0]->data + i * size, size);
    return OK;
}

static Status *tensor_part_run(Kernel *k) {
    size_t n = (size_t)tensor_count(k->out[0]), size = dtype_size(k->in[0]->dtype);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)k->out[0]->data + i * size, (const char *)k->in[0]->data + (i * n + i) * size, size);
    return OK;
}

static void tensor_diag_grad(Formula *f) {
    f->dx[0] = formula_1(f, "DiagPart", f->dy[0]);
}
static void tensor_part_grad(Formula *f) {
    f->dx[0] = formula_1(f, "Diag", f->dy[0]);
}

const Op op_Diag = {
    .signature = "Diag(diagonal: T) -> output: T; T: {floats, int32, int64, complexes}",
    .doc = "A tensor of twice the rank with the input on its diagonal.", .needs = "rank(diagonal) >= 1",
    .shape = tensor_diag_shape, .grad = tensor_diag_grad, .cpu = ANY_TYPE(tensor_diag_run), .hlo = tensor_diag_hlo,
};
const Op op_DiagPart = {
    .signature = "DiagPart(input: T) -> diagonal: T; T: {floats, int32, int64, complexes}",
    .doc = "The diagonal of a tensor of even rank.", .needs = "rank(input) >= 2", .shape = tensor_part_shape,
    .grad = tensor_part_grad, .cpu = ANY_TYPE(tensor_part_run), .hlo = tensor_part_hlo,
};

// ---------------------------------------- MatrixBandPart

static Status *band_part_run(Kernel *k) {
    const Tensor *in = k->in[0], *out = k->out[0];
    int64_t rows = in->shape.dims[in->shape.rank - 2], columns = in->shape.dims[in->shape.rank - 1];
    int64_t below = tensor_int(k->in[1], 0), above = tensor_int(k->in[2], 0);
    int64_t batches = shape_span(&in->shape, 0, in->shape.rank - 2);
    NEED(below <= rows, INVALID_ARGUMENT,
         "num_lower must be negative or less or equal to number of rows (%lld) got: %lld",
         (long long)rows, (long long)below);
    NEED(above <= columns, INVALID_ARGUMENT,
         "num_upper must be negative or less or equal to number of columns (%lld) got: %lld", (long long)columns,
         (long long)above);
    NEED(dtype_is_plain(in->dtype), UNIMPLEMENTED, "no kernel for type %s", dtype_name(in->dtype));
    size_t size = dtype_size(in->dtype);
    memset(out->data, 0, tensor_bytes(out));
    for (int64_t r = 0; r < batches * rows; r++) {
        int64_t row = r % rows;
        int64_t first = below < 0 ? 0 : most(0, row - below), end = above < 0 ? columns
            : least(columns, row + above + 1);
        if (first < end)
            memcpy((char *)out->data + (size_t)(r * columns + first) * size,
                   (const char *)in->data + (size_t)(r * columns + first) * size, (size_t)(end - first) * size);
    }
    return OK;
}

static void band_part_grad(Formula *f) {
    f->dx[0] = MatrixBandPart(f->dy[0], f->x[1], f->x[2]);
}

const Op op_MatrixBandPart = {
    .signature = "MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> band: T; T: type; "
                 "Tindex: {int32, int64} = int64",
    .doc = "Matrices with zeros outside a band around the diagonal; -1 stands for the whole triangle.",
    .needs = "rank(input) >= 2, scalar(num_lower), scalar(num_upper)", .shape = shape_unchanged, .grad = band_part_grad,
    .cpu = ANY_TYPE(band_part_run), .hlo = band_part_hlo,
};
