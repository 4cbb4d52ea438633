// Select, SelectV2 — elements of one tensor where a condition holds, of another where it doesn't.
#include "loops/elementwise.h"
#include "ops/array/moving.h"

typedef struct {
    SelectFn fn;
    int rank;                                       // outer dimensions
    int64_t dims[MAX_RANK], step[3][MAX_RANK];      // elements
    int64_t inner, inner_step[3];
    int64_t rows, cost;
    size_t size;
} Selecting;

typedef struct {
    const Selecting *own;
    const char *in[3];
    char *out;
} Work;

static void select_rows(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    const Selecting *s = w->own;
    for (int64_t row = first; row < last; row++) {
        int64_t at[3] = {0}, rest = row;
        for (int i = s->rank - 1; i >= 0; i--) {
            int64_t index = rest % s->dims[i];
            rest /= s->dims[i];
            for (int j = 0; j < 3; j++)
                at[j] += index * s->step[j][i];
        }
        s->fn((const bool *)w->in[0] + at[0], w->in[1] + at[1] * (int64_t)s->size, w->in[2] + at[2] * (int64_t)s->size,
              w->out + row * s->inner * (int64_t)s->size, s->inner, s->inner_step[0], s->inner_step[1],
              s->inner_step[2]);
    }
}

static void select_flat(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    const Selecting *s = w->own;
    int64_t size = (int64_t)s->size;
    const int64_t *step = s->inner_step;
    s->fn((const bool *)w->in[0] + first * step[0], w->in[1] + first * step[1] * size,
          w->in[2] + first * step[2] * size, w->out + first * size, last - first, step[0], step[1], step[2]);
}

static Status *select_move(Kernel *k, const void *const *in, void *const *out) {
    const Selecting *own = k->own;
    // A bool among bools: the condition is never moved as pointers, since bool is plain.
    Work w = {own, {in[0], in[1], in[2]}, out[0]};
    if (own->rank == 0)
        kernel_share(k, own->inner, own->cost, select_flat, &w);
    else
        kernel_share(k, own->rows, own->cost, select_rows, &w);
    return OK;
}

static Status *select_run(Kernel *k) {
    return move_elements(k, select_move);
}

// Neighbouring dimensions that every input walks alike become one.
static void collapse(const Shape *const in[3], const Shape *out, Selecting *own) {
    int64_t dims[MAX_RANK], step[3][MAX_RANK], next[3] = {1, 1, 1};
    int n = 0;  // dimensions, innermost first
    for (int i = out->rank - 1; i >= 0; i--) {
        int64_t steps[3];
        for (int j = 0; j < 3; j++) {
            int at = i - (out->rank - in[j]->rank);
            int64_t d = at < 0 ? 1 : in[j]->dims[at];
            steps[j] = d == 1 ? 0 : next[j];
            next[j] *= d;
        }
        if (out->dims[i] == 1)
            continue;
        bool joins = n > 0;
        for (int j = 0; j < 3 && joins; j++)
            joins = steps[j] == step[j][n - 1] * dims[n - 1];
        if (joins) {
            dims[n - 1] *= out->dims[i];
            continue;
        }
        dims[n] = out->dims[i];
        for (int j = 0; j < 3; j++)
            step[j][n] = steps[j];
        n++;
    }
    own->inner = n ? dims[0] : 1;
    own->rows = 1;
    own->rank = n > 1 ? n - 1 : 0;
    for (int j = 0; j < 3; j++)
        own->inner_step[j] = n ? step[j][0] : 0;
    for (int i = 1; i < n; i++) {
        own->dims[own->rank - i] = dims[i];
        own->rows *= dims[i];
        for (int j = 0; j < 3; j++)
            own->step[j][own->rank - i] = step[j][i];
    }
}

static Status *select_prepare(Prepare *p) {
    Selecting *own = p->own;
    Shape condition = p->in[0]->shape;
    const Shape *out = &p->out[0]->shape;
    if (node_op(p->node)->row && condition.rank == 1) {  // Select: one bool for each slice
        condition.rank = out->rank;
        for (int i = 1; i < out->rank; i++)
            condition.dims[i] = 1;
    }
    own->size = moved_size(p->out[0]->dtype);
    own->fn = elementwise_select(own->size);
    NEED(own->fn, UNIMPLEMENTED, "no kernel for type %s", dtype_name(p->out[0]->dtype));
    collapse((const Shape *const[3]){&condition, &p->in[1]->shape, &p->in[2]->shape}, out, own);
    int64_t count = shape_count(out);
    p->cost = own->cost = kernel_cost(count, 60, count * (3 * (int64_t)own->size + 1)) + own->rows * 4;
    return OK;
}

// ---------------------------------------- Select

static Status *select_shape(Shapes *s) {
    const Shape *condition = &s->in[0];
    Shape out;
    TRY(shape_merge(&s->in[1], &s->in[2], &out));
    s->out[0] = out;
    if (condition->rank < 0 || out.rank < 0 || condition->rank == 0)
        return OK;
    if (condition->rank == 1 && out.rank != 1) {
        NEED(out.rank >= 1 && (condition->dims[0] < 0 || out.dims[0] < 0 || condition->dims[0] == out.dims[0]),
             INVALID_ARGUMENT, "a condition of shape %s can't choose between tensors of shape %s",
             shape_text(condition), shape_text(&out));
        return OK;
    }
    return shape_merge(condition, &out, &s->out[0]);
}

static void select_grad(Formula *f) {
    Output zeros = ZerosLike(f->x[1]);
    f->dx[1] = formula_3(f, "Select", f->x[0], f->dy[0], zeros);
    f->dx[2] = formula_3(f, "Select", f->x[0], zeros, f->dy[0]);
}

static const char slices[] = "one condition for each slice";

static COLD Status *select_hlo(Hlo *h) {
    HloValue c = hlo_in(h, 0), x = hlo_in(h, 1), y = hlo_in(h, 2);
    if (node_op(h->node)->row && c->shape.rank == 1 && x->shape.rank > 1)
        c = hlo_along(h, c, x, 0);
    return hlo_out(h, 0, hlo_select(h, c, x, y));
}

const Op op_Select = {
    .signature = "Select(condition: bool, t: T, e: T) -> output: T; T: type",
    .doc = "Elements of t where the condition holds, else of e; a vector of conditions chooses slices.",
    .shape = select_shape, .grad = select_grad, .prepare = select_prepare, .own_size = sizeof(Selecting),
    .cpu = ANY_TYPE(select_run), .row = slices,
    .flags = OP_ELEMENTWISE, .hlo = select_hlo,
};

static void select_v2_grad(Formula *f) {
    Output zero = ZerosLike(f->dy[0]);
    f->dx[1] = SumTo(Select(f->x[0], f->dy[0], zero), f->x[1]);
    f->dx[2] = SumTo(Select(f->x[0], zero, f->dy[0]), f->x[2]);
}

const Op op_SelectV2 = {
    .signature = "SelectV2(condition: bool, t: T, e: T) -> output: T; T: type",
    .doc = "Elements of t where the condition holds, else of e, with broadcasting.", .shape = shape_broadcast_all,
    .grad = select_v2_grad, .prepare = select_prepare, .own_size = sizeof(Selecting), .cpu = ANY_TYPE(select_run),
    .flags = OP_ELEMENTWISE, .hlo = select_hlo,
};
