// Words — the elementwise operations and those that move elements: see hlo.h.
#include "hlo/hlo_internal.h"

// ---------------------------------------- elementwise

static bool is_chlo(const char *op) {
    return strncmp(op, "chlo.", 5) == 0;
}

HloValue hlo_unary(Hlo *h, const char *op, HloValue x) {
    HLO_STOPS(h);
    if (is_chlo(op))
        return hlo_line(h, x->dtype, x->shape, "%c %v : %t -> %r", op, x, x);
    return hlo_line(h, x->dtype, x->shape, "stablehlo.%c %v : %r", op, x);
}

HloValue hlo_to(Hlo *h, const char *op, HloValue x, DType dtype) {
    HLO_STOPS(h);
    return hlo_line(h, dtype, x->shape, "stablehlo.%c %v : (%t) -> %r", op, x, x);
}

// Brings both to one shape.
static void agree(Hlo *h, HloValue *x, HloValue *y) {
    Shape shape;
    Status *status = shape_broadcast(&(*x)->shape, &(*y)->shape, &shape);
    if (status) {
        hlo_fail(h, status);
        return;
    }
    *x = hlo_broadcast(h, *x, shape);
    *y = hlo_broadcast(h, *y, shape);
    if ((*x)->dtype != (*y)->dtype)
        hlo_fail(h, status_new(INTERNAL, __FILE__, __LINE__, "operands of types %s and %s", dtype_name((*x)->dtype),
                               dtype_name((*y)->dtype)));
}

HloValue hlo_binary(Hlo *h, const char *op, HloValue x, HloValue y) {
    HLO_STOPS(h);
    agree(h, &x, &y);
    HLO_STOPS(h);
    if (is_chlo(op))
        return hlo_line(h, x->dtype, x->shape, "%c %v, %v : %t, %t -> %r", op, x, y, x, y);
    return hlo_line(h, x->dtype, x->shape, "stablehlo.%c %v, %v : %r", op, x, y);
}

const char *hlo_compare_kind(DType dtype) {
    switch (dtype_kind(dtype)) {
    case KIND_FLOAT: case KIND_COMPLEX: return "FLOAT";
    case KIND_INT: return "SIGNED";
    default: return "UNSIGNED";
    }
}

HloValue hlo_compare(Hlo *h, const char *direction, HloValue x, HloValue y) {
    HLO_STOPS(h);
    agree(h, &x, &y);
    HLO_STOPS(h);
    return hlo_line(h, DT_bool, x->shape, "stablehlo.compare %c, %v, %v, %c : (%t, %t) -> %r", direction, x, y,
                    hlo_compare_kind(x->dtype), x, y);
}

HloValue hlo_select(Hlo *h, HloValue condition, HloValue x, HloValue y) {
    HLO_STOPS(h);
    agree(h, &x, &y);
    HLO_STOPS(h);
    Shape shape;
    Status *status = shape_broadcast(&condition->shape, &x->shape, &shape);
    hlo_fail(h, status);
    HLO_STOPS(h);
    condition = hlo_broadcast(h, condition, shape);
    x = hlo_broadcast(h, x, shape);
    y = hlo_broadcast(h, y, shape);
    return hlo_line(h, x->dtype, shape, "stablehlo.select %v, %v, %v : %t, %r", condition, x, y, condition);
}

HloValue hlo_cast(Hlo *h, HloValue x, DType dtype) {
    HLO_STOPS(h);
    if (x->dtype == dtype)
        return x;
    if (dtype == DT_bool)
        return hlo_is(h, "NE", x, 0);
    if (dtype_is_complex(x->dtype) && !dtype_is_complex(dtype))
        x = hlo_real(h, x);
    return hlo_to(h, "convert", x, dtype);
}

HloValue hlo_wide(Hlo *h, HloValue x) {
    return x->dtype == DT_half || x->dtype == DT_bfloat16 ? hlo_cast(h, x, DT_float) : x;
}

HloValue hlo_bitcast(Hlo *h, HloValue x, DType dtype, Shape shape) {
    HLO_STOPS(h);
    return hlo_line(h, dtype, shape, "stablehlo.bitcast_convert %v : (%t) -> %r", x, x);
}

HloValue hlo_complex(Hlo *h, HloValue re, HloValue im) {
    HLO_STOPS(h);
    agree(h, &re, &im);
    DType dtype = re->dtype == DT_double ? DT_complex128 : DT_complex64;
    return hlo_line(h, dtype, re->shape, "stablehlo.complex %v, %v : (%t, %t) -> %r", re, im, re, im);
}

static DType part_type(HloValue x) {
    return x->dtype == DT_complex128 ? DT_double : DT_float;
}

HloValue hlo_real(Hlo *h, HloValue x) {
    return hlo_to(h, "real", x, part_type(x));
}

HloValue hlo_imag(Hlo *h, HloValue x) {
    return hlo_to(h, "imag", x, part_type(x));
}

HloValue hlo_conj(Hlo *h, HloValue x) {
    return dtype_is_complex(x->dtype) ? hlo_complex(h, hlo_real(h, x), hlo_neg(h, hlo_imag(h, x))) : x;
}

HloValue hlo_divisor(Hlo *h, HloValue y) {
    if (!dtype_is_integer(y->dtype))
        return y;
    HloValue good = hlo_is(h, "NE", y, 0);
    const Shape *shape = hlo_out_shape(h, 0);
    if (!shape_is_known(shape) || shape_count(shape) > 0)  // nothing may be divided by zero
        hlo_check(h, good, INVALID_ARGUMENT, "Integer division by zero");
    return hlo_select(h, good, y, hlo_like(h, 1, y));
}

HloValue hlo_iota(Hlo *h, DType dtype, Shape shape, int axis) {
    return hlo_line(h, dtype, shape, "stablehlo.iota dim = %d : %r", (int64_t)axis);
}

// ---------------------------------------- shapes

HloValue hlo_reshape(Hlo *h, HloValue x, Shape shape) {
    HLO_STOPS(h);
    if (shape_equal(&x->shape, &shape))
        return x;
    if (shape_count(&shape) != shape_count(&x->shape))
        hlo_fail(h, status_new(INTERNAL, __FILE__, __LINE__, "%s is reshaped to %s", shape_text(&x->shape), shape_text(&shape)));
    return hlo_line(h, x->dtype, shape, "stablehlo.reshape %v : (%t) -> %r", x, x);
}

HloValue hlo_spread(Hlo *h, HloValue x, Shape shape, Shape axes) {
    HLO_STOPS(h);
    return hlo_line(h, x->dtype, shape, "stablehlo.broadcast_in_dim %v, dims = %l : (%t) -> %r", x, axes, x);
}

// Extents of 1 that are to grow go first.
HloValue hlo_broadcast(Hlo *h, HloValue x, Shape shape) {
    HLO_STOPS(h);
    if (shape_equal(&x->shape, &shape))
        return x;
    Shape kept = {0}, axes = {0};
    int more = shape.rank - x->shape.rank;
    for (int i = 0; i < x->shape.rank; i++) {
        int64_t extent = x->shape.dims[i], wanted = i + more >= 0 ? shape.dims[i + more] : -1;
        if (extent != wanted && extent != 1)
            hlo_fail(h, status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "%s doesn't broadcast to %s",
                                   shape_text(&x->shape), shape_text(&shape)));
        if (extent == wanted) {
            kept.dims[kept.rank++] = extent;
            axes.dims[axes.rank++] = i + more;
        }
    }
    return hlo_spread(h, hlo_reshape(h, x, kept), shape, axes);
}

HloValue hlo_along(Hlo *h, HloValue vector, HloValue x, int axis) {
    return hlo_spread(h, vector, x->shape, SHAPE(axis));
}

HloValue hlo_transpose(Hlo *h, HloValue x, Shape perm) {
    HLO_STOPS(h);
    Shape shape = {.rank = perm.rank};
    bool moves = false;
    for (int i = 0; i < perm.rank; i++) {
        shape.dims[i] = x->shape.dims[perm.dims[i]];
        moves |= perm.dims[i] != i;
    }
    return moves ? hlo_line(h, x->dtype, shape, "stablehlo.transpose %v, dims = %l : (%t) -> %r", x, perm, x) : x;
}

Shape hlo_axes(uint32_t mask) {
    Shape axes = {0};
    for (int i = 0; i < MAX_RANK; i++)
        if (mask & BIT(i))
            axes.dims[axes.rank++] = i;
    return axes;
}

HloValue hlo_reverse(Hlo *h, HloValue x, uint32_t axes) {
    HLO_STOPS(h);
    return axes ? hlo_line(h, x->dtype, x->shape, "stablehlo.reverse %v, dims = %l : %r", x, hlo_axes(axes)) : x;
}

// "[0:2:1, 1:5:2]"
static void put_limits(Text *text, Shape begin, Shape end, const Shape *stride) {
    text_char(text, '[');
    for (int i = 0; i < begin.rank; i++)
        text_format(text, "%s%lld:%lld:%lld", i ? ", " : "", (long long)begin.dims[i], (long long)end.dims[i],
                    stride ? (long long)stride->dims[i] : 1LL);
    text_char(text, ']');
}

HloValue hlo_slice(Hlo *h, HloValue x, Shape begin, Shape end, const Shape *stride) {
    HLO_STOPS(h);
    Shape shape = {.rank = x->shape.rank};
    for (int i = 0; i < shape.rank; i++) {
        int64_t step = stride ? stride->dims[i] : 1, span = end.dims[i] - begin.dims[i];
        if (step <= 0 || begin.dims[i] < 0 || span < 0 || end.dims[i] > x->shape.dims[i]) {
            hlo_fail(h, status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "[%lld, %lld) is not in dimension %d of %s",
                                   (long long)begin.dims[i], (long long)end.dims[i], i, shape_text(&x->shape)));
            return &hlo_nothing;
        }
        shape.dims[i] = span / step + (span % step != 0);
    }
    if (shape_equal(&shape, &x->shape))
        return x;
    AUTO(text) Text limits = {0};
    put_limits(&limits, begin, end, stride);
    hlo_fail(h, limits.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    return hlo_line(h, x->dtype, shape, "stablehlo.slice %v %c : (%t) -> %r", x, limits.p ? limits.p : "[]", x);
}

HloValue hlo_part(Hlo *h, HloValue x, int axis, int64_t begin, int64_t end) {
    Shape from = {.rank = x->shape.rank}, to = x->shape;
    from.dims[axis] = begin;
    to.dims[axis] = end;
    return hlo_slice(h, x, from, to, NULL);
}

// ", %1, %2" and ", tensor<i32>, tensor<i32>"
static void put_begin(Text *values, Text *types, const HloValue *begin, int n) {
    for (int i = 0; i < n; i++) {
        text_format(values, begin[i]->part >= 0 ? ", %%%d#%d" : ", %%%d", (int)begin[i]->id, (int)begin[i]->part);
        text_format(types, ", tensor<%s>", hlo_type_name(begin[i]->dtype));
    }
}

HloValue hlo_dynamic_slice(Hlo *h, HloValue x, const HloValue *begin, Shape sizes) {
    HLO_STOPS(h);
    AUTO(text) Text values = {0};
    AUTO(text) Text types = {0};
    put_begin(&values, &types, begin, x->shape.rank);
    hlo_fail(h, values.failed || types.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    if (!x->shape.rank)
        return x;
    return hlo_line(h, x->dtype, sizes, "stablehlo.dynamic_slice %v%c, sizes = %l : (%t%c) -> %r", x, values.p, sizes, x,
                    types.p);
}

HloValue hlo_update_slice(Hlo *h, HloValue x, HloValue update, const HloValue *begin) {
    HLO_STOPS(h);
    AUTO(text) Text values = {0};
    AUTO(text) Text types = {0};
    put_begin(&values, &types, begin, x->shape.rank);
    hlo_fail(h, values.failed || types.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    if (!x->shape.rank)
        return update;
    return hlo_line(h, x->dtype, x->shape, "stablehlo.dynamic_update_slice %v, %v%c : (%t, %t%c) -> %r", x, update,
                    values.p, x, update, types.p);
}

HloValue hlo_pad(Hlo *h, HloValue x, HloValue value, Shape low, Shape high, const Shape *interior) {
    HLO_STOPS(h);
    Shape shape = x->shape, inside = interior ? *interior : (Shape){.rank = x->shape.rank};
    bool moves = false;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] += low.dims[i] + high.dims[i] + (shape.dims[i] > 0 ? (shape.dims[i] - 1) * inside.dims[i] : 0);
        moves |= low.dims[i] != 0 || high.dims[i] != 0 || inside.dims[i] != 0;
    }
    if (!moves)
        return x;
    value = value ? value : hlo_like(h, 0, x);
    return hlo_line(h, x->dtype, shape, "stablehlo.pad %v, %v, low = %l, high = %l, interior = %l : (%t, %t) -> %r", x, value,
                    low, high, inside, x, value);
}

HloValue hlo_concat(Hlo *h, const HloValue *list, int n, int axis) {
    HLO_STOPS(h);
    if (n == 1)
        return list[0];
    AUTO(text) Text values = {0};
    AUTO(text) Text types = {0};
    Shape shape = list[0]->shape;
    shape.dims[axis] = 0;
    for (int i = 0; i < n; i++) {
        text_format(&values, list[i]->part >= 0 ? "%s%%%d#%d" : "%s%%%d", i ? ", " : "", (int)list[i]->id, (int)list[i]->part);
        text_add(&types, i ? STR(", tensor<") : STR("tensor<"));
        for (int d = 0; d < list[i]->shape.rank; d++)
            text_format(&types, "%lldx", (long long)list[i]->shape.dims[d]);
        text_format(&types, "%s>", hlo_type_name(list[i]->dtype));
        shape.dims[axis] += list[i]->shape.dims[axis];
    }
    hlo_fail(h, values.failed || types.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    return hlo_line(h, list[0]->dtype, shape, "stablehlo.concatenate %c, dim = %d : (%c) -> %r", values.p, (int64_t)axis, types.p);
}

HloValue hlo_expand(Hlo *h, HloValue x, int axis) {
    HLO_STOPS(h);
    Shape shape = {0};
    for (int i = 0; i <= x->shape.rank; i++) {
        if (i == axis)
            hlo_list_add(h, &shape, 1);
        if (i < x->shape.rank)
            hlo_list_add(h, &shape, x->shape.dims[i]);
    }
    HLO_STOPS(h);
    return hlo_reshape(h, x, shape);
}

HloValue hlo_flat(Hlo *h, HloValue x) {
    return hlo_reshape(h, x, SHAPE(shape_count(&x->shape)));
}
