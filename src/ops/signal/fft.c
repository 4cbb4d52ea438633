// FFT, IFFT, RFFT, IRFFT and those over two and three dimensions — discrete Fourier transforms of the last dimensions.
//
// A block of rows is taken apart into planes of real and imaginary parts; each dimension in turn, the last one first,
// is brought to the front and transformed there, the others being lanes. Real rows of an even length are transformed as
// complex ones of half the length.
#define SELF "ops/signal/fft.c"
#include "loops/fft.h"
#include "ops/array/moving.h"
#include "kernel/lanes.h"
#include "loops/tuning.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

#ifdef T  // ---------------------------------------- once per type

// Planes [rows][n] of one unit, read from rows of the input: cut or filled up with zeros.
static void FN(read_complex)(const Block *b, const T *in, T *re, T *im) {
    int64_t n = b->own->read, given = min_i64(n, b->in_row);
    for (int64_t i = 0; i < given; i++)
        re[i] = in[2 * i], im[i] = in[2 * i + 1];
    for (int64_t i = given; i < n; i++)
        re[i] = im[i] = 0;
}
static void FN(read_real)(const Block *b, const T *in, T *re, T *im) {
    int64_t n = b->own->read, given = min_i64(b->own->length, b->in_row);
    if (!b->own->halves) {
        for (int64_t i = 0; i < n; i++)
            re[i] = i < given ? in[i] : 0, im[i] = 0;
        return;
    }
    for (int64_t i = 0; i < given / 2; i++)
        re[i] = in[2 * i], im[i] = in[2 * i + 1];
    for (int64_t i = given / 2; i < n; i++)
        re[i] = 2 * i < given ? in[2 * i] : 0, im[i] = 0;
}

// to[j][i] = from[i][j], in blocks that stay in the first cache.
static void FN(turn)(const T *from, T *to, int64_t rows, int64_t columns) {
    enum { SIDE = 16 };
    for (int64_t r = 0; r < rows; r += SIDE)
        for (int64_t c = 0; c < columns; c++)
            for (int64_t i = r; i < min_i64(rows, r + SIDE); i++)
                to[c * rows + i] = from[i * columns + c];
}

// z[k] = x[2 k] + i x[2 k + 1], transformed: x's own spectrum, half + 1 rows of `lanes`.
static void FN(part_halves)(const T *zr, const T *zi, int64_t half, int64_t lanes, const T *roots, T *xr, T *xi) {
    for (int64_t k = 0; k <= half; k++) {
        const T *ar = zr + k % half * lanes, *ai = zi + k % half * lanes;
        const T *br = zr + (half - k) % half * lanes, *bi = zi + (half - k) % half * lanes;
        T c = k < half ? roots[2 * k] : -1, s = k < half ? roots[2 * k + 1] : 0;
        for (int64_t q = 0; q < lanes; q++) {
            T even_r = (ar[q] + br[q]) / 2, even_i = (ai[q] - bi[q]) / 2;
            T odd_r = (ai[q] + bi[q]) / 2, odd_i = (br[q] - ar[q]) / 2;
            xr[k * lanes + q] = even_r + odd_r * c - odd_i * s;
            xi[k * lanes + q] = even_i + odd_r * s + odd_i * c;
        }
    }
}
// The way back, without the factor of one half.
static void FN(join_halves)(const T *xr, const T *xi, int64_t half, int64_t lanes, const T *roots, T *zr, T *zi) {
    for (int64_t k = 0; k < half; k++) {
        const T *ar = xr + k * lanes, *ai = xi + k * lanes, *br = xr + (half - k) * lanes,
            *bi = xi + (half - k) * lanes;
        T c = roots[2 * k], s = -roots[2 * k + 1];
        for (int64_t q = 0; q < lanes; q++) {
            T ai_ = k ? ai[q] : 0, bi_ = k ? bi[q] : 0;  // the imaginary parts of both ends mean nothing
            T even_r = ar[q] + br[q], even_i = ai_ - bi_, dr = ar[q] - br[q], di = ai_ + bi_;
            T odd_r = dr * c - di * s, odd_i = dr * s + di * c;
            zr[k * lanes + q] = even_r - odd_i;
            zi[k * lanes + q] = even_i + odd_r;
        }
    }
}
// Rows 0 .. n / 2 of a real signal's spectrum -> all n.
static void FN(mirror)(T *re, T *im, int64_t n, int64_t lanes) {
    for (int64_t q = 0; q < lanes; q++) {
        im[q] = 0;
        for (int64_t k = n / 2 + 1; k < n; k++)
            re[k * lanes + q] = re[(n - k) * lanes + q], im[k * lanes + q] = -im[(n - k) * lanes + q];
    }
}

static void FN(write)(const Block *b, const T *re, const T *im, int64_t row, T *out) {
    const Transform *own = b->own;
    int64_t n = own->bins;
    const T scale = (T)own->scale;
    if (own->kind != KIND_IRFFT) {
        for (int64_t i = 0; i < n; i++)
            out[2 * i] = re[row * own->made + i] * scale, out[2 * i + 1] = im[row * own->made + i] * scale;
    } else if (own->halves) {
        for (int64_t i = 0; i < n / 2; i++)
            out[2 * i] = re[row * own->made + i] * scale, out[2 * i + 1] = im[row * own->made + i] * scale;
    } else {
        for (int64_t i = 0; i < n; i++)
            out[i] = re[row * own->made + i] * scale;
    }
}

// [rows][columns] -> [columns][rows], both planes, by way of the other two.
static void FN(turn_planes)(Block *b, int64_t rows, int64_t columns) {
    for (int part = 0; part < 2; part++) {
        FN(turn)(b->plane[part], b->plane[2 + part], rows, columns);
        void *other = b->plane[part];
        b->plane[part] = b->plane[2 + part];
        b->plane[2 + part] = other;
    }
}

// The last dimension, which is at the front now: `lanes` others.
static void FN(real_axis)(Block *b, int64_t lanes) {
    const Transform *own = b->own;
    bool back = own->kind == KIND_IRFFT;
    int64_t half = own->length / 2;
    if (back && own->halves) {
        FN(join_halves)(b->plane[0], b->plane[1], half, lanes, own->roots, b->plane[2], b->plane[3]);
        for (int part = 0; part < 2; part++) {
            void *other = b->plane[part];
            b->plane[part] = b->plane[2 + part];
            b->plane[2 + part] = other;
        }
    } else if (back) {
        FN(mirror)(b->plane[0], b->plane[1], own->length, lanes);
    }
    fft_run(&own->plan[0], back, lanes, b->plane[0], b->plane[1], b->work);
    if (!back && own->halves) {
        FN(part_halves)(b->plane[0], b->plane[1], half, lanes, own->roots, b->plane[2], b->plane[3]);
        for (int part = 0; part < 2; part++) {
            void *other = b->plane[part];
            b->plane[part] = b->plane[2 + part];
            b->plane[2 + part] = other;
        }
    }
}

static void FN(other_axes)(Block *b, int64_t *count, int64_t rows) {
    const Transform *own = b->own;
    bool back = own->kind == KIND_IRFFT || own->kind == KIND_IFFT;
    for (int d = own->rank - 2; d >= 0; d--) {
        int64_t extent = own->extent[d];
        FN(turn_planes)(b, *count / extent, extent);
        fft_run(&own->plan[own->rank - 1 - d], back, *count / extent, b->plane[0], b->plane[1], b->work);
    }
    FN(turn_planes)(b, *count / rows, rows);
}

static void FN(unit)(Block *b, const T *in, T *out) {
    const Transform *own = b->own;
    int64_t rows = b->rows, lanes = rows * own->outer, in_width = own->kind == KIND_RFFT ? 1 : 2;
    for (int64_t r = 0; r < lanes; r++) {
        int64_t at = r * own->read;
        T *re = (T *)b->plane[0] + at, *im = (T *)b->plane[1] + at;
        const T *from = source_row(own, b->first * own->outer + r) < 0
                            ? NULL : in + source_row(own, b->first * own->outer + r) * b->in_row * in_width;
        if (!from)
            memset(re, 0, (size_t)own->read * sizeof *re), memset(im, 0, (size_t)own->read * sizeof *im);
        else if (own->kind == KIND_RFFT)
            FN(read_real)(b, from, re, im);
        else
            FN(read_complex)(b, from, re, im);
    }
    int64_t count = lanes * own->read;
    if (own->kind == KIND_IRFFT && own->rank > 1) {  // the others come first, and the last goes round once more
        FN(turn_planes)(b, lanes, own->read);
        FN(other_axes)(b, &count, rows);
    }
    FN(turn_planes)(b, lanes, own->read);
    if (own->kind == KIND_FFT || own->kind == KIND_IFFT)
        fft_run(&own->plan[0], own->kind == KIND_IFFT, lanes, b->plane[0], b->plane[1], b->work);
    else
        FN(real_axis)(b, lanes);
    count = lanes * own->made;
    if (own->kind == KIND_IRFFT)
        FN(turn_planes)(b, own->made, lanes);
    else
        FN(other_axes)(b, &count, rows);
    int64_t out_row = own->bins * (own->kind == KIND_IRFFT ? 1 : 2);
    for (int64_t r = 0; r < lanes; r++)
        FN(write)(b, b->plane[0], b->plane[1], r, out + (b->first * own->outer + r) * out_row);
}

#elif !defined(FFT_TYPES)  // ---------------------------------------- geometry
#define FFT_TYPES
enum { MOST_AXES = 3 };
typedef enum { KIND_FFT, KIND_IFFT, KIND_RFFT, KIND_IRFFT } Kind;

// Op.row.
typedef struct {
    Kind kind;
    int rank;
} FftRow;

typedef struct {
    Kind kind;
    int rank;
    bool is_double, halves;           // halves: real rows of an even length
    int64_t length;                   // of the last dimension, as a signal
    int64_t extent[MOST_AXES];        // of all dimensions that are transformed; the last: what lies in the planes
    int64_t given[MOST_AXES];         // of the input
    int64_t outer;                    // product of those before the last
    int64_t read, made, bins;         // of the last: read into the planes, in them afterwards, written
    int64_t in_row, rows, unit_rows;  // rows: how many transforms; unit_rows: so many at once
    double scale;
    FftPlan plan[MOST_AXES];          // of the last dimension, of the one before it, ...
    const void *roots;                // of `length`
    size_t plane;                     // bytes
    LanePlan lanes;
} Transform;

typedef struct {
    const Transform *own;
    int64_t first, rows, in_row;
    void *plane[4], *work;
} Block;

// The input's row that belongs to a row of the planes, or -1 where that is beyond the input.
static int64_t source_row(const Transform *own, int64_t row) {
    int64_t at = 0, step = 1;
    for (int d = own->rank - 2; d >= 0; d--) {
        int64_t place = row % own->extent[d];
        if (place >= own->given[d])
            return -1;
        row /= own->extent[d];
        at += place * step;
        step *= own->given[d];
    }
    return at + row * step;
}

#define EACH_WIDE_FLOAT
#include "ops/each_dtype.h"

static const FftRow *row_of(const Node *node) {
    return node_op(node)->row;
}

static Status *fft_shape(Shapes *s) {
    const FftRow *row = row_of(s->node);
    Shape out = s->in[0], length;
    NEED(out.rank < 0 || out.rank >= row->rank, INVALID_ARGUMENT, "Input must have rank of at least %d but got: %s",
         row->rank, shape_text(&out));
    s->out[0] = out;
    if (row->kind == KIND_FFT || row->kind == KIND_IFFT)
        return OK;
    TRY(shapes_input_shape(s, 1, &length));
    NEED(length.rank < 0 || length.rank == row->rank, INVALID_ARGUMENT, "fft_length must have shape [%d]", row->rank);
    if (out.rank < 0)
        return OK;
    for (int i = 0; i < row->rank; i++) {
        int64_t extent = length.rank < 0 ? UNKNOWN_DIM : length.dims[i];
        if (row->kind == KIND_RFFT && i == row->rank - 1 && extent >= 0)
            extent = extent ? extent / 2 + 1 : 0;
        out.dims[out.rank - row->rank + i] = extent;
    }
    if (shape_is_known(&out))
        TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *find_lengths(const Prepare *p, Transform *own) {
    const Shape *in = &p->in[0]->shape, *out = &p->out[0]->shape;
    bool real = own->kind == KIND_RFFT || own->kind == KIND_IRFFT;
    int first = in->rank - own->rank;
    own->outer = 1;
    own->scale = 1;
    for (int d = 0; d < own->rank; d++) {
        own->given[d] = in->dims[first + d];
        own->extent[d] = real ? prepare_input_int(p, 1, d) : out->dims[first + d];
        NEED(own->extent[d] >= 0, INVALID_ARGUMENT, "fft_length[%d] must >= 0, but got: %lld", d,
             (long long)own->extent[d]);
        int64_t least = own->kind == KIND_IRFFT && d == own->rank - 1 ? own->extent[d] / 2 + 1 : own->extent[d];
        NEED(!own->extent[d] || !own->given[d] || own->given[d] >= least, INVALID_ARGUMENT,
             "Input dimension %d must have length of at least %lld but got: %lld", first + d, (long long)least,
             (long long)own->given[d]);
        if (d < own->rank - 1)
            own->outer *= own->extent[d];
        if (own->kind == KIND_IFFT || own->kind == KIND_IRFFT)
            own->scale /= (double)max_i64(1, own->extent[d]);
    }
    own->length = own->extent[own->rank - 1];
    own->halves = real && own->length % 2 == 0;
    int64_t bins = own->length / 2 + 1, full = own->halves ? own->length / 2 : own->length;
    own->read = own->kind == KIND_IRFFT ? (own->halves ? bins : own->length) : full;
    own->made = own->kind == KIND_RFFT ? (own->halves ? bins : own->length) : full;
    own->bins = own->kind == KIND_RFFT ? bins : own->length;
    own->in_row = in->dims[in->rank - 1];
    own->rows = shape_span(in, 0, first);
    return OK;
}

static Status *plan_axis(Prepare *p, int64_t n, bool is_double, FftPlan *plan) {
    size_t bytes = fft_plan_bytes(n, is_double);
    NEED(bytes, INVALID_ARGUMENT, "a transform of %lld elements is too long", (long long)n);
    void *memory = arena_alloc(p->arena, bytes + 64);
    NEED_MEMORY(memory);
    fft_prepare(n, is_double, (void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63), plan);
    return OK;
}

static Status *fft_prepare_op(Prepare *p) {
    Transform *own = p->own;
    const FftRow *row = row_of(p->node);
    DType type = row->kind == KIND_RFFT ? p->in[0]->dtype : p->out[0]->dtype;
    own->kind = row->kind, own->rank = row->rank;
    own->is_double = type == DT_double || type == DT_complex128;
    NEED(dtype_size(p->in[0]->dtype) * (row->kind == KIND_RFFT ? 2 : 1) ==
             dtype_size(p->out[0]->dtype) * (row->kind == KIND_IRFFT ? 2 : 1),
         UNIMPLEMENTED, "no kernel from %s to %s", dtype_name(p->in[0]->dtype), dtype_name(p->out[0]->dtype));
    if (p->n_in > 1)
        NEED_VALUE(p, 1);
    TRY(find_lengths(p, own));
    if (!shape_count(&p->out[0]->shape))
        return OK;
    TRY(plan_axis(p, own->halves ? own->length / 2 : own->length, own->is_double, &own->plan[0]));
    for (int i = 1; i < own->rank; i++)
        TRY(plan_axis(p, own->extent[own->rank - 1 - i], own->is_double, &own->plan[i]));
    int64_t size = own->is_double ? 8 : 4, wide = max_i64(own->read, max_i64(own->made, own->length)), all;
    if (own->halves) {
        void *roots = arena_alloc(p->arena, (size_t)(own->length * size) * 2);
        NEED_MEMORY(roots);
        fft_roots(own->length, own->is_double, roots);
        own->roots = roots;
    }
    NEED(mul_i64(wide, own->outer, &all) && all < INT64_MAX / 1024, RESOURCE_EXHAUSTED, "too many elements");
    own->unit_rows = max_i64(1, min_i64(16, TUNED_FFT_UNIT / max_i64(1, all * size)));
    all *= own->unit_rows;
    own->plane = round_up((size_t)(all * size), 64);
    size_t work = 0;
    for (int i = 0; i < own->rank; i++) {
        size_t bytes = fft_scratch(&own->plan[i], div_up(all, own->plan[i].n));
        work = bytes > work ? bytes : work;
    }
    lanes_prepare(p, 4 * own->plane + work, div_up(own->rows, own->unit_rows), &own->lanes);
    p->cost = kernel_cost(shape_count(&p->out[0]->shape), 6000, 0);
    return OK;
}

// ---------------------------------------- kernel

typedef struct {
    const Transform *own;
    const char *in;
    char *out;
    Lanes lanes;
} Work;

static void fft_units(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Transform *own = work->own;
    int lane = lanes_take(&work->lanes);
    char *memory = lanes_memory(&work->lanes, lane);
    for (int64_t unit = first; unit < last; unit++) {
        Block b = {.own = own, .first = unit * own->unit_rows, .in_row = own->in_row, .work = memory + 4 * own->plane};
        b.rows = min_i64(own->unit_rows, own->rows - b.first);
        for (int i = 0; i < 4; i++)
            b.plane[i] = memory + (size_t)i * own->plane;
        if (own->is_double)
            unit_double(&b, (const double *)(const void *)work->in, (double *)(void *)work->out);
        else
            unit_float(&b, (const float *)(const void *)work->in, (float *)(void *)work->out);
    }
    lanes_give(&work->lanes, lane);
}

static Status *fft_run_op(Kernel *k) {
    const Transform *own = k->own;
    int64_t n = tensor_count(k->out[0]), units = own->unit_rows ? div_up(own->rows, own->unit_rows) : 0;
    if (!n)
        return OK;
    if (!tensor_count(k->in[0])) {
        memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
        return OK;
    }
    Work work = {.own = own, .in = k->in[0]->data, .out = k->out[0]->data};
    lanes_open(k, &own->lanes, &work.lanes);
    kernel_parallel(k, units, max_i64(1, 6 * n / units), fft_units, &work);
    return OK;
}

// ---------------------------------------- schemas and gradients

// Elements that one transform sums up, of the gradient's type.
static Output summed(Formula *f) {
    Output shape = ShapeOf(f->dy[0]), rank = Rank(f->dy[0]);
    Output last = Range(Sub(rank, Int(((const FftRow *)node_op(f->node)->row)->rank)), rank, Int(1));
    return Cast(Prod(Gather(shape, last, Int(0)), Int(0), false), output_type(f->dy[0]));
}
static void fft_grad(Formula *f, const char *inverse, bool forward) {
    Output dx = Op(inverse, f->dy[0]), n = summed(f);
    f->dx[0] = forward ? Mul(dx, n) : Div(dx, n);
}
static void fft_1_grad(Formula *f) { fft_grad(f, "IFFT", true); }
static void fft_2_grad(Formula *f) { fft_grad(f, "IFFT2D", true); }
static void fft_3_grad(Formula *f) { fft_grad(f, "IFFT3D", true); }
static void ifft_1_grad(Formula *f) { fft_grad(f, "FFT", false); }
static void ifft_2_grad(Formula *f) { fft_grad(f, "FFT2D", false); }
static void ifft_3_grad(Formula *f) { fft_grad(f, "FFT3D", false); }

// The last dimension filled up with zeros to `n` elements.
static Output filled_up(Formula *f, Output x, Output n) {
    Output shape = ShapeOf(x), last = Sub(Rank(x), Int(1));
    Output head = Slice(shape, Ints(0), Reshape(last, Ints(1))), missing = Sub(n, Gather(shape, last, Int(0)));
    Output parts[] = {head, Reshape(missing, Ints(1))};
    Output zero = Cast(Number(0, DT_float), output_type(x));
    return Concat(((Output[]){x, Fill(Concat(parts, 2, Int(0)), zero)}), 2, Int(-1));
}
static Output last_extent(Formula *f, Output x) {
    return Gather(ShapeOf(x), Sub(Rank(x), Int(1)), Int(0));
}
// dx[n] = the real part of sum over k of dy[k] e^(2 pi i k n / length).
static void rfft_grad(Formula *f) {
    Output x = f->x[0], n = Reshape(f->x[1], NoInts);
    Output back = RealPart(Op("IFFT", filled_up(f, f->dy[0], n)), output_type(x));
    f->dx[0] = filled_up(f, Mul(back, Cast(n, output_type(x))), last_extent(f, x));
}
// All but the two ends stand for two coefficients each.
static void irfft_grad(Formula *f) {
    Output dy = f->dy[0], n = Reshape(f->x[1], NoInts), k = Range(Int(0), Add(FloorDiv(n, Int(2)), Int(1)), Int(1));
    DType real = output_type(dy);
    Output end = Op("LogicalOr", Equal(k, Int(0)), Equal(Mul(k, Int(2)), n));
    Output share = Div(Select(end, Number(1, real), Number(2, real)), Cast(n, real));
    FormulaAttr attrs[] = {TYPE_ATTR("Tcomplex", output_type(f->x[0])), {0}};
    Output spectrum = OpWith("RFFT", attrs, dy, f->x[1]);
    f->dx[0] = filled_up(f, Mul(spectrum, Cast(share, output_type(f->x[0]))), last_extent(f, f->x[0]));
}

// A signal of another length is cut, or has zeros behind it. The inverse of a real one reads half of it and one more.
static COLD Status *fft_hlo(Hlo *h) {
    static const char *const words[] = {
        [KIND_FFT] = "FFT", [KIND_IFFT] = "IFFT", [KIND_RFFT] = "RFFT", [KIND_IRFFT] = "IRFFT",
    };
    const FftRow *row = row_of(h->node);
    HloValue x = hlo_in(h, 0);
    Shape none = {.rank = x->shape.rank}, high = none, lengths = {.rank = row->rank};
    bool given = row->kind == KIND_RFFT || row->kind == KIND_IRFFT;
    Shape wanted = given ? hlo_need_list(h, 1) : (Shape){0};
    TRY(h->status);
    for (int i = 0; i < row->rank; i++) {
        int at = x->shape.rank - row->rank + i;
        lengths.dims[i] = given ? wanted.dims[i] : x->shape.dims[at];
        bool half = row->kind == KIND_IRFFT && i == row->rank - 1;
        high.dims[at] = (half ? lengths.dims[i] / 2 + 1 : lengths.dims[i]) - x->shape.dims[at];
    }
    NEED(shape_count(&x->shape) > 0 && shape_count(hlo_out_shape(h, 0)) > 0, UNIMPLEMENTED, "no signals");
    NEED(dtype_size(x->dtype) * (row->kind == KIND_RFFT ? 2 : 1) ==
             dtype_size(hlo_out_type(h, 0)) * (row->kind == KIND_IRFFT ? 2 : 1), UNIMPLEMENTED, "%s of %s",
         dtype_name(hlo_out_type(h, 0)), dtype_name(x->dtype));
    x = hlo_pad(h, x, NULL, none, high, NULL);
    return hlo_out(h, 0, hlo_fft(h, x, words[row->kind], lengths, hlo_out_type(h, 0), *hlo_out_shape(h, 0)));
}

#define FFT_FIELDS(row_)                                                                                    \
    .shape = fft_shape, .prepare = fft_prepare_op, .own_size = sizeof(Transform), .cpu = ANY_TYPE(fft_run_op), \
    .hlo = fft_hlo, .row = row_
#define COMPLEX_FFT(Name, kind, rank, text, gradient)                                                \
    static const FftRow Name##_row = {kind, rank};                                                   \
    const Op op_##Name = {                                                                           \
        .signature = #Name "(input: Tcomplex) -> output: Tcomplex; Tcomplex: complexes = complex64", \
        .doc = text, .grad = gradient, FFT_FIELDS(&Name##_row),                                      \
    };
#define REAL_FFT(Name, kind, rank, from, to, text, ...)                                                               \
    static const FftRow Name##_row = {kind, rank};                                                                    \
    const Op op_##Name = {                                                                                            \
        .signature = #Name "(input: " from ", fft_length: int32) -> output: " to "; Treal: {float, double} = float; " \
                           "Tcomplex: complexes = complex64",                                                         \
        .doc = text, .host = BIT(1), FFT_FIELDS(&Name##_row), __VA_ARGS__                                             \
    };
COMPLEX_FFT(FFT, KIND_FFT, 1, "Discrete Fourier transform of the last dimension.", fft_1_grad)
COMPLEX_FFT(FFT2D, KIND_FFT, 2, "Discrete Fourier transform of the last two dimensions.", fft_2_grad)
COMPLEX_FFT(FFT3D, KIND_FFT, 3, "Discrete Fourier transform of the last three dimensions.", fft_3_grad)
COMPLEX_FFT(IFFT, KIND_IFFT, 1, "Inverse Fourier transform of the last dimension.", ifft_1_grad)
COMPLEX_FFT(IFFT2D, KIND_IFFT, 2, "Inverse Fourier transform of the last two dimensions.", ifft_2_grad)
COMPLEX_FFT(IFFT3D, KIND_IFFT, 3, "Inverse Fourier transform of the last three dimensions.", ifft_3_grad)
REAL_FFT(RFFT, KIND_RFFT, 1, "Treal", "Tcomplex", "Fourier transform of real rows: the half that tells all.",
         .grad = rfft_grad)
REAL_FFT(RFFT2D, KIND_RFFT, 2, "Treal", "Tcomplex", "Fourier transform of real planes: the half that tells all.",
         .flags = 0)
REAL_FFT(RFFT3D, KIND_RFFT, 3, "Treal", "Tcomplex", "Fourier transform of real volumes: the half that tells all.",
         .flags = 0)
REAL_FFT(IRFFT, KIND_IRFFT, 1, "Tcomplex", "Treal", "Real rows of the half of their Fourier transform.",
         .grad = irfft_grad)
REAL_FFT(IRFFT2D, KIND_IRFFT, 2, "Tcomplex", "Treal", "Real planes of the half of their Fourier transform.", .flags = 0)
REAL_FFT(IRFFT3D, KIND_IRFFT, 3, "Tcomplex", "Treal", "Real volumes of the half of their Fourier transform.",
         .flags = 0)
#endif
