// Roll, ReverseSequence — elements moved round along dimensions; the beginnings of sequences reversed.
#include "ops/array/moving.h"

// ---------------------------------------- Roll

typedef struct {
    int64_t shift[MAX_RANK];   // of each dimension, in [0, extent)
    int64_t rows;
    size_t size;
} Rolling;

// A row of the innermost dimension moves as two runs: what stays behind the shift, and what wraps round to the front.
static Status *roll_move(Kernel *k, const void *const *in, void *const *out) {
    const Rolling *own = k->own;
    const Shape *shape = &k->in[0]->shape;
    if (shape->rank == 0) {
        memcpy(out[0], in[0], own->size);
        return OK;
    }
    int last = shape->rank - 1;
    int64_t n = shape->dims[last], by = own->shift[last];
    for (int64_t row = 0; row < own->rows; row++) {
        int64_t rest = row, to = 0, step = 1;
        for (int d = last - 1; d >= 0; d--) {
            int64_t at = rest % shape->dims[d] + own->shift[d];
            rest /= shape->dims[d];
            to += (at >= shape->dims[d] ? at - shape->dims[d] : at) * step;
            step *= shape->dims[d];
        }
        const char *from = (const char *)in[0] + (size_t)(row * n) * own->size;
        char *target = (char *)out[0] + (size_t)(to * n) * own->size;
        memcpy(target + (size_t)by * own->size, from, (size_t)(n - by) * own->size);
        memcpy(target, from + (size_t)(n - by) * own->size, (size_t)by * own->size);
    }
    return OK;
}

static Status *roll_run(Kernel *k) {
    return move_elements(k, roll_move);
}

static Status *roll_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    NEED_VALUE(p, 2);
    Rolling *own = p->own;
    const Shape *in = &p->in[0]->shape;
    int64_t n = tensor_count(p->in[1]);
    NEED(n == tensor_count(p->in[2]), INVALID_ARGUMENT, "shift and axis must have the same size");
    own->size = moved_size(p->out[0]->dtype);
    own->rows = shape_count(in) == 0 ? 0 : shape_span(in, 0, in->rank - 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t asked = prepare_input_int(p, 2, i), axis = asked < 0 ? asked + in->rank : asked;
        NEED(axis >= 0 && axis < in->rank, INVALID_ARGUMENT, "axis %lld is out of range", (long long)asked);
        int64_t extent = in->dims[axis], shift = extent ? prepare_input_int(p, 1, i) % extent : 0;
        shift += own->shift[axis] + (shift < 0 ? extent : 0);
        own->shift[axis] = extent ? shift % extent : 0;
    }
    p->cost = shape_count(in) * (int64_t)own->size / 8;
    return OK;
}

static void roll_grad(Formula *f) {
    f->dx[0] = formula_3(f, "Roll", f->dy[0], Neg(f->x[1]), f->x[2]);
}

static COLD Status *roll_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    Shape shift = hlo_need_list(h, 1), axes = hlo_need_list(h, 2);
    NEED(shift.rank == axes.rank, INVALID_ARGUMENT, "shift and axis must have the same size");
    for (int i = 0; i < shift.rank && !h->status; i++) {
        int axis;
        TRY(shape_axis(axes.dims[i], x->shape.rank, &axis));
        int64_t n = x->shape.dims[axis], by = n > 0 ? (shift.dims[i] % n + n) % n : 0;
        if (by)
            x = hlo_concat(h, (HloValue[]){hlo_part(h, x, axis, n - by, n), hlo_part(h, x, axis, 0, n - by)}, 2, axis);
    }
    return hlo_out(h, 0, x);
}

const Op op_Roll = {
    .signature = "Roll(input: T, shift: Tshift, axis: Taxis) -> output: T; T: type; Tshift: {int32, int64}; "
                 "Taxis: {int32, int64}",
    .doc = "The elements moved on along dimensions; what leaves at the end comes in at the beginning.",
    .needs = "rank(input) >= 1, scalar_or_vector(shift), scalar_or_vector(axis)", .shape = shape_unchanged,
    .grad = roll_grad, .prepare = roll_prepare, .own_size = sizeof(Rolling), .cpu = ANY_TYPE(roll_run),
    .host = BIT(1) | BIT(2), .hlo = roll_hlo,
};

// ---------------------------------------- ReverseSequence

static Status *sequence_axes(const Node *node, const Shape *in, int *batch, int *sequence) {
    int64_t b = node_int(node, "batch_dim"), s = node_int(node, "seq_dim");
    NEED(b >= 0 && b < in->rank, INVALID_ARGUMENT, "batch_dim must be < input rank (%lld vs. %d)", (long long)b,
         in->rank);
    NEED(s >= 0 && s < in->rank, INVALID_ARGUMENT, "seq_dim must be < input rank (%lld vs. %d)", (long long)s,
         in->rank);
    NEED(b != s, INVALID_ARGUMENT, "batch_dim == seq_dim == %lld", (long long)b);
    *batch = (int)b;
    *sequence = (int)s;
    return OK;
}

static Status *sequence_shape(Shapes *s) {
    int batch, sequence;
    s->out[0] = s->in[0];
    if (s->in[0].rank < 0)
        return OK;
    TRY(sequence_axes(s->node, &s->in[0], &batch, &sequence));
    NEED(s->in[1].rank < 0 || s->in[1].dims[0] < 0 || s->in[0].dims[batch] < 0 ||
         s->in[1].dims[0] == s->in[0].dims[batch],
         INVALID_ARGUMENT, "Length of seq_lengths != input.dims(%d), (%lld vs. %lld)", batch,
         (long long)s->in[1].dims[0], (long long)s->in[0].dims[batch]);
    return OK;
}

static Status *sequence_move(Kernel *k, const void *const *in, void *const *out) {
    const Shape *shape = &k->in[0]->shape;
    int batch, sequence;
    TRY(sequence_axes(k->node, shape, &batch, &sequence));
    int64_t n = shape->dims[sequence];
    for (int64_t i = 0; i < shape->dims[batch]; i++) {
        int64_t length = tensor_int(k->in[1], i);
        NEED(length >= 0 && length <= n, INVALID_ARGUMENT, "seq_lengths(%lld) = %lld is not in [0, %lld]", (long long)i,
             (long long)length, (long long)n);
    }
    // Runs behind the inner of the two dimensions move whole.
    int split = batch > sequence ? batch : sequence;
    int64_t runs = shape_span(shape, 0, split + 1), run = shape_span(shape, split + 1, shape->rank);
    size_t bytes = (size_t)run * moved_size(k->out[0]->dtype);
    int64_t step = shape_span(shape, sequence + 1, split + 1), per_batch = shape_span(shape, batch + 1, split + 1);
    for (int64_t i = 0; i < runs && run; i++) {
        int64_t at = i / step % n, length = tensor_int(k->in[1], i / per_batch % shape->dims[batch]);
        int64_t from = at < length ? i + (length - 1 - 2 * at) * step : i;
        memcpy((char *)out[0] + (size_t)i * bytes, (const char *)in[0] + (size_t)from * bytes, bytes);
    }
    return OK;
}

static Status *sequence_run(Kernel *k) {
    return move_elements(k, sequence_move);
}

static void sequence_grad(Formula *f) {
    f->dx[0] = Like("ReverseSequence", f->dy[0], f->x[1]);
}

// As [batch, sequence, the rest]: what each place is read from, then back.
static COLD Status *sequence_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), lengths = hlo_cast(h, hlo_in(h, 1), DT_int64);
    int batch, sequence;
    TRY(h->status);
    TRY(sequence_axes(h->node, &x->shape, &batch, &sequence));
    Shape perm = SHAPE(batch, sequence), back = x->shape;
    for (int i = 0; i < x->shape.rank; i++)
        if (i != batch && i != sequence)
            hlo_list_add(h, &perm, i);
    for (int i = 0; i < perm.rank; i++)
        back.dims[perm.dims[i]] = i;
    Shape rows = SHAPE(x->shape.dims[batch], x->shape.dims[sequence]);
    HloValue good = hlo_and(h, hlo_is(h, "GE", lengths, 0), hlo_is(h, "LE", lengths, (double)rows.dims[1]));
    hlo_check(h, good, INVALID_ARGUMENT, "seq_lengths are out of range");
    HloValue at = hlo_iota(h, DT_int64, rows, 1), length = hlo_expand(h, lengths, 1);
    HloValue from = hlo_select(h, hlo_lt(h, at, length), hlo_sub(h, hlo_plus(h, length, -1), at), at);
    HloValue y = hlo_take(h, hlo_transpose(h, x, perm), from, 1, 1);
    return hlo_out(h, 0, hlo_transpose(h, y, back));
}

const Op op_ReverseSequence = {
    .signature =
        "ReverseSequence(input: T, seq_lengths: Tlen) -> output: T; seq_dim: int; batch_dim: int = 0; T: type; "
                 "Tlen: {int32, int64} = int64",
    .doc = "Each sequence of a batch, its first elements in reverse order.",
    .needs = "vector(seq_lengths), rank(input) >= 1",
    .shape = sequence_shape, .grad = sequence_grad, .cpu = ANY_TYPE(sequence_run), .hlo = sequence_hlo,
};
