// Sums, partial — the gradients that come to one output from its uses, added up; sparse ones stay sparse as long as
// they can.
//
// A sparse gradient is TensorFlow's IndexedSlices: rows, and which rows they are. That of a lookup in a large table
// must never become as large as the table; sums of sparse ones are concatenations, doubles included.
#include "autodiff/autodiff_internal.h"
#include "formula/ops.h"

Status *partial_add(Autodiff *a, Output of, Gradient gradient) {
    Info *info = info_of(a, of.node);
    if (!info->partials) {
        info->partials = ARENA_ARRAY(&a->arena, Partials, of.node->n_outputs);
        NEED_MEMORY(info->partials);
    }
    Partials *p = &info->partials[of.index];
    if (p->n == p->room) {
        int32_t room = p->room ? p->room * 2 : 2;
        Gradient *grown = ARENA_ARRAY(&a->arena, Gradient, room);
        NEED_MEMORY(grown);
        if (p->n)
            memcpy(grown, p->parts, (size_t)p->n * sizeof *grown);
        p->parts = grown;
        p->room = room;
    }
    p->parts[p->n++] = gradient;
    return OK;
}

// The rows of a sparse gradient, scattered into zeros.
Output gradient_dense(Formula *f, Gradient gradient) {
    if (!gradient.indices.node)
        return gradient.values;
    const Tensor *shape = output_constant(gradient.shape);
    Output rows;
    if (shape && (shape->dtype == DT_int32 || shape->dtype == DT_int64) && tensor_count(shape) > 0)
        rows = formula_int(f, tensor_int(shape, 0), shape->dtype);
    else
        rows = OpWith("StridedSlice", ATTRS(INT_ATTR("shrink_axis_mask", 1)), gradient.shape, Ints(0), Ints(1),
                      Ints(1));
    return UnsortedSegmentSum(gradient.values, gradient.indices, rows);
}

// Indices of different widths become int64.
static Gradient sum_sparse(Formula *f, const Partials *p, Output *list) {
    Gradient sum = p->parts[0];
    for (int i = 0; i < p->n; i++)
        list[i] = p->parts[i].values;
    sum.values = Concat(list, p->n, Int(0));
    DType type = DT_int32;
    for (int i = 0; i < p->n; i++)
        if (output_type(p->parts[i].indices) == DT_int64)
            type = DT_int64;
    for (int i = 0; i < p->n; i++)
        list[i] = Cast(p->parts[i].indices, type);
    sum.indices = Concat(list, p->n, Int(0));
    return sum;
}

// AddN once over all, not pairwise: one pass over memory, and what TensorFlow's aggregation writes. By parts where
// there are more than a node has inputs.
static Output add_all(Formula *f, Output *list, int n) {
    enum { MOST = 1 << 14 };
    while (n > MOST) {
        int sums = 0;
        for (int i = 0; i < n; i += MOST, sums++)
            list[sums] = AddN(list + i, n - i < MOST ? n - i : MOST);
        n = sums;
    }
    return AddN(list, n);
}

// The sum takes the place of its parts: who asks again gets the same node.
Gradient partial_sum(Autodiff *a, Formula *f, Output of) {
    Partials *p = info_of(a, of.node)->partials ? &info_of(a, of.node)->partials[of.index] : NULL;
    if (!p || p->n == 0 || f->status)
        return (Gradient){0};
    if (p->n == 1)
        return p->parts[0];
    Output *list = ARENA_ARRAY(&a->arena, Output, p->n);
    if (!list) {
        formula_fail(f, OUT_OF_MEMORY);
        return (Gradient){0};
    }
    bool sparse = true;
    for (int i = 0; i < p->n; i++)
        sparse &= p->parts[i].indices.node != NULL;
    Gradient sum = {0};
    if (sparse) {
        sum = sum_sparse(f, p, list);
    } else {
        for (int i = 0; i < p->n; i++)
            list[i] = gradient_dense(f, p->parts[i]);
        sum.values = add_all(f, list, p->n);
    }
    p->parts[0] = sum;
    p->n = 1;
    return sum;
}

// One level out: a value read inside a branch that was not switched there. On the other side of the conditional the
// gradient is zero, of the source's shape.
static Output lift(Formula *f, Output gradient, const Branch *branch, Output source) {
    Output other = At(formula_2(f, "Switch", source, branch->pred), 1 - branch->side);
    if (f->status)
        return NONE;
    Output list[2];
    list[branch->side] = gradient;
    list[1 - branch->side] = ZerosLike(other);
    return formula_of_list(f, "Merge", list, 2, NULL);
}

// From the branch of the reader out to that of the source, one conditional at a time.
Status *contribute(Autodiff *a, Formula *f, Branch *from, Output source, Gradient gradient) {
    if (!gradient.values.node || !source.node || !is_between(a, source.node) ||
        !dtype_has_gradient(source.node->output_types[source.index]))
        return OK;
    Branch *to;
    TRY(branch_of(a, source, &to));
    while (from && (!to || from->depth > to->depth)) {
        gradient = (Gradient){.values = lift(f, gradient_dense(f, gradient), from, source)};
        from = from->parent;
    }
    return f->status ? OK : partial_add(a, source, gradient);
}
