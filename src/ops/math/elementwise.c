// Elementwise — the kernels of every op that makes one element of one or two.
//
// prepare chooses the walk: one element (a direct call of the loop), a flat run (equal shapes or a scalar beside a
// tensor), or rows that broadcast. Elements that have no result (an integer divided by zero) are an error.
#include "ops/math/elementwise.h"

ELEMENTWISE(Pow);

static Status *check_faults(const Elementwise *e, int64_t faults) {
    NEED(faults == 0, INVALID_ARGUMENT, "%s", e->op == &elementwise_Pow
         ? "Integers to negative integer powers are not allowed" : "Integer division by zero");
    return OK;
}

// One element, in memory of the loop's own type: nothing but the call.
static Status *run_one(Kernel *k) {
    const Elementwise *e = k->own;
    const void *b = k->n_in > 1 ? k->in[1]->data : NULL;
    int64_t faults = e->loop.fn(k->in[0]->data, b, k->out[0]->data, 1, 0, 0, e->loop.param);
    return __builtin_expect(faults == 0, 1) ? OK : check_faults(e, faults);
}

typedef struct {
    Kernel *k;
    _Atomic int64_t faults;
} Work;

static void flat_range(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    Kernel *k = work->k;
    const Elementwise *e = k->own;
    const char *a = k->in[0]->data, *b = k->n_in > 1 ? k->in[1]->data : NULL;
    a += first * e->sa * e->loop.in_size;
    b = b ? b + first * e->sb * e->loop.in_size : NULL;
    char *out = (char *)k->out[0]->data + first * e->loop.out_size;
    int64_t faults = elementwise_run(&e->loop, a, b, out, last - first, e->sa, e->sb);
    if (faults)
        atomic_fetch_add(&work->faults, faults);
}

Status *elementwise_run_flat(Kernel *k) {
    const Elementwise *e = k->own;
    Work work = {.k = k};
    kernel_share(k, e->count, e->cost, flat_range, &work);
    return check_faults(e, work.faults);
}

static void broadcast_range(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    Kernel *k = work->k;
    const Elementwise *e = k->own;
    int64_t faults =
        broadcast_run(&e->broadcast, &e->loop, k->in[0]->data, k->in[1]->data, k->out[0]->data, first, last);
    if (faults)
        atomic_fetch_add(&work->faults, faults);
}

static Status *run_broadcast(Kernel *k) {
    const Elementwise *e = k->own;
    Work work = {.k = k};
    kernel_share(k, e->broadcast.units, e->cost, broadcast_range, &work);
    return check_faults(e, work.faults);
}

// Add joins strings: the only arithmetic that they have.
static Status *join_strings(Kernel *k) {
    const Tensor *out = k->out[0];
    int64_t step[2][MAX_RANK];
    broadcast_steps(&k->in[0]->shape, &out->shape, step[0]);
    broadcast_steps(&k->in[1]->shape, &out->shape, step[1]);
    for (int64_t i = 0, n = tensor_count(out); i < n; i++) {
        AUTO(text) Text text = {0};
        text_add(&text, tstring_str((const TString *)k->in[0]->data + broadcast_place(&out->shape, step[0], i)));
        text_add(&text, tstring_str((const TString *)k->in[1]->data + broadcast_place(&out->shape, step[1], i)));
        NEED_MEMORY(!text.failed && tstring_assign((TString *)out->data + i, text_str(&text)));
    }
    return OK;
}

Status *elementwise_prepare(Prepare *p) {
    const ElementwiseRow *row = node_op(p->node)->row;
    Elementwise *e = p->own;
    DType dtype = p->in[0]->dtype;
    e->op = row->op;
    if (dtype == DT_string && row->op == &elementwise_Add) {
        p->run = join_strings;
        return OK;
    }
    NEED(elementwise_find(row->op, dtype, &e->loop), UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    if (row->parameter)
        e->loop.param = (double)node_float(p->node, row->parameter);
    e->count = shape_count(&p->out[0]->shape);
    const Shape *a = &p->in[0]->shape, *b = &p->in[p->n_in - 1]->shape;
    int64_t na = shape_count(a), nb = shape_count(b);
    e->sa = na != 1 || e->count == 1;
    e->sb = nb != 1 || e->count == 1;
    int64_t bytes = e->count * e->loop.out_size + (na + (p->n_in > 1 ? nb : 0)) * e->loop.in_size;
    p->cost = e->cost = kernel_cost(e->count, elementwise_picoseconds(row->op, &e->loop), bytes);
    if (e->count == 1 && !e->loop.load && !e->loop.store) {
        p->run = run_one;
    } else if ((na == 1 || na == e->count) && (nb == 1 || nb == e->count)) {
        p->run = elementwise_run_flat;
    } else {
        broadcast_prepare(a, b, &p->out[0]->shape, &e->broadcast);
        p->run = run_broadcast;
    }
    return OK;
}

void broadcast_steps(const Shape *in, const Shape *out, int64_t *step) {
    int64_t next = 1;
    for (int d = out->rank - 1; d >= 0; d--) {
        int at = d - (out->rank - in->rank);
        int64_t extent = at < 0 ? 1 : in->dims[at];
        step[d] = extent == 1 ? 0 : next;
        next *= extent;
    }
}

int64_t broadcast_place(const Shape *out, const int64_t *step, int64_t i) {
    int64_t at = 0;
    for (int d = out->rank - 1; d >= 0; d--) {
        at += i % out->dims[d] * step[d];
        i /= out->dims[d];
    }
    return at;
}
