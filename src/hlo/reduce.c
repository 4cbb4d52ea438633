// Reductions — over axes and over windows, sorting: see hlo.h.
#include <math.h>

#include "hlo/hlo_internal.h"

// What an operation begins with: it leaves every element as it is.
static HloValue neutral(Hlo *h, const char *op, DType dtype) {
    switch (op[0] == 'm' ? op[1] : op[0]) {
    case 'u': return hlo_number(h, 1, dtype);           // multiply
    case 'a': return op[0] == 'm' ? hlo_number(h, -INFINITY, dtype)        // maximum
                                  : hlo_number(h, op[1] == 'n', dtype);    // add, and
    case 'i': return hlo_number(h, INFINITY, dtype);    // minimum
    default: return hlo_number(h, 0, dtype);            // or
    }
}

// Sums of many elements need more digits than these types have.
static bool sums_in_float(const char *op, DType dtype) {
    return (dtype == DT_half || dtype == DT_bfloat16) && (op[0] == 'a' || op[1] == 'u');
}

static Shape without(const Shape *shape, uint32_t axes, bool keep) {
    Shape result = {0};
    for (int i = 0; i < shape->rank; i++)
        if (keep || !(axes & BIT(i)))
            result.dims[result.rank++] = axes & BIT(i) ? 1 : shape->dims[i];
    return result;
}

HloValue hlo_reduce(Hlo *h, const char *op, HloValue x, uint32_t axes, int keep) {
    HLO_STOPS(h);
    axes &= ALL_AXES(x);
    if (!axes)
        return x;
    DType dtype = x->dtype;
    if (sums_in_float(op, dtype))
        x = hlo_cast(h, x, DT_float);
    HloValue start = neutral(h, op, x->dtype);
    HloValue sum = hlo_line(h, x->dtype, without(&x->shape, axes, false),
                            "stablehlo.reduce(%v init: %v) applies stablehlo.%c across dimensions = %l : (%t, %t) -> %r", x,
                            start, op, hlo_axes(axes), x, start);
    sum = hlo_cast(h, sum, dtype);
    return keep ? hlo_reshape(h, sum, without(&x->shape, axes, true)) : sum;
}

HloValue hlo_mean(Hlo *h, HloValue x, uint32_t axes, int keep) {
    HLO_STOPS(h);
    DType dtype = x->dtype;
    x = hlo_wide(h, x);
    int64_t count = 1;
    for (int i = 0; i < x->shape.rank; i++)
        count *= axes & BIT(i) ? x->shape.dims[i] : 1;
    if ((dtype_is_integer(dtype) || dtype_is_complex(dtype)) && !count)
        count = 1;  // of nothing: the sum, 0
    HloValue sum = hlo_reduce(h, "add", x, axes, keep);
    return hlo_cast(h, hlo_div(h, sum, hlo_like(h, (double)count, sum)), dtype);
}

HloValue hlo_arg(Hlo *h, const char *direction, HloValue x, int axis, DType index) {
    HLO_STOPS(h);
    HloValue at = hlo_iota(h, DT_int32, x->shape, axis), zero = hlo_int(h, 0, DT_int32);
    HloValue worst = neutral(h, direction[0] == 'G' ? "maximum" : "minimum", x->dtype), both[2];
    Shape shape = without(&x->shape, BIT(axis), false);
    hlo_results(h, (DType[]){x->dtype, DT_int32}, (Shape[]){shape, shape}, 2, both);
    HLO_STOPS(h);
    const char *kind = hlo_compare_kind(x->dtype);
    hlo_put_text(h, "    %%%d:2 = stablehlo.reduce(%v init: %v), (%v init: %v) across dimensions = [%d] : "
                    "(%t, %t, %s, %s) -> (%t, %t)\n     reducer(%%a: %s, %%b: %s) (%%i: %s, %%j: %s) {\n",
                 (int64_t)both[0]->id, x, worst, at, zero, (int64_t)axis, x, at, x, at, both[0], both[1], x, x, at, at);
    // The second where it is better, as good and earlier, or where the first is no number.
    hlo_put_text(h, "      %%p = stablehlo.compare %c, %%b, %%a, %c : (%s, %s) -> tensor<i1>\n"
                    "      %%q = stablehlo.compare EQ, %%b, %%a, %c : (%s, %s) -> tensor<i1>\n"
                    "      %%r = stablehlo.compare LT, %%j, %%i, SIGNED : (%s, %s) -> tensor<i1>\n"
                    "      %%n = stablehlo.compare NE, %%a, %%a, %c : (%s, %s) -> tensor<i1>\n"
                    "      %%s = stablehlo.and %%q, %%r : tensor<i1>\n      %%u = stablehlo.or %%p, %%s : tensor<i1>\n"
                    "      %%t = stablehlo.or %%u, %%n : tensor<i1>\n",
                 direction, kind, x, x, kind, x, x, at, at, kind, x, x);
    hlo_put_text(h, "      %%x = stablehlo.select %%t, %%b, %%a : tensor<i1>, %s\n"
                    "      %%y = stablehlo.select %%t, %%j, %%i : tensor<i1>, %s\n"
                    "      stablehlo.return %%x, %%y : %s, %s\n    }\n", x, at, x, at);
    return hlo_cast(h, both[1], index);
}

void hlo_sort(Hlo *h, const char *direction, HloValue x, HloValue *out_sorted, HloValue *out_indices) {
    *out_sorted = *out_indices = &hlo_nothing;
    if (h->status)
        return;
    int axis = x->shape.rank - 1;
    HloValue at = hlo_iota(h, DT_int32, x->shape, axis), both[2];
    hlo_results(h, (DType[]){x->dtype, DT_int32}, (Shape[]){x->shape, x->shape}, 2, both);
    if (h->status)
        return;
    const char *kind = hlo_compare_kind(x->dtype);
    hlo_put_text(h, "    %%%d:2 = \"stablehlo.sort\"(%v, %v) <{dimension = %d : i64, is_stable = true}> ({\n"
                    "    ^bb0(%%a: %s, %%b: %s, %%i: %s, %%j: %s):\n"
                    "      %%p = stablehlo.compare %c, %%a, %%b, %c : (%s, %s) -> tensor<i1>\n"
                    "      stablehlo.return %%p : tensor<i1>\n    }) : (%t, %t) -> (%t, %t)\n",
                 (int64_t)both[0]->id, x, at, (int64_t)axis, x, x, at, at, direction, kind, x, x, x, at, x, at);
    *out_sorted = both[0];
    *out_indices = both[1];
}

// ---------------------------------------- windows

// "<{window_dimensions = ..., window_strides = ..., padding = ...}>"
static void put_window(Text *text, const HloWindow *window) {
    const struct { const char *name; const Shape *list; } lists[] = {
        {"<{window_dimensions", &window->size}, {", window_strides", &window->stride}, {", window_dilations", &window->dilation},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!lists[i].list->rank)
            continue;
        text_format(text, "%s = array<i64: ", lists[i].name);
        for (int d = 0; d < lists[i].list->rank; d++)
            text_format(text, "%s%lld", d ? ", " : "", (long long)lists[i].list->dims[d]);
        text_char(text, '>');
    }
    text_add(text, STR(", padding = dense<["));
    for (int d = 0; d < window->size.rank; d++)
        text_format(text, "%s[%lld, %lld]", d ? ", " : "", (long long)window->low.dims[d], (long long)window->high.dims[d]);
    text_format(text, "]> : tensor<%dx2xi64>}>", (int)window->size.rank);
}

HloValue hlo_window(Hlo *h, const char *op, HloValue x, const HloWindow *window) {
    HLO_STOPS(h);
    DType dtype = x->dtype;
    if (sums_in_float(op, dtype))
        x = hlo_cast(h, x, DT_float);
    Shape shape = {.rank = x->shape.rank};
    for (int i = 0; i < shape.rank; i++) {
        int64_t wide = (window->size.dims[i] - 1) * (window->dilation.rank ? window->dilation.dims[i] : 1) + 1;
        int64_t rest = x->shape.dims[i] + window->low.dims[i] + window->high.dims[i] - wide;
        shape.dims[i] = rest < 0 || window->stride.dims[i] < 1 ? 0 : rest / window->stride.dims[i] + 1;
    }
    AUTO(text) Text text = {0};
    put_window(&text, window);
    hlo_fail(h, text.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    HloValue start = neutral(h, op, x->dtype);
    HloValue y = hlo_line(h, x->dtype, shape,
                          "\"stablehlo.reduce_window\"(%v, %v) %c ({\n    ^bb0(%%a: %s, %%b: %s):\n"
                          "      %%c = stablehlo.%c %%a, %%b : %s\n      stablehlo.return %%c : %s\n    }) : (%t, %t) -> %r",
                          x, start, text.p, x, x, op, x, x, x, start);
    return hlo_cast(h, y, dtype);
}

HloValue hlo_select_and_scatter(Hlo *h, HloValue x, HloValue dy, const HloWindow *window) {
    HLO_STOPS(h);
    AUTO(text) Text text = {0};
    put_window(&text, window);
    hlo_fail(h, text.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    HloValue zero = hlo_like(h, 0, x);
    return hlo_line(h, x->dtype, x->shape,
                    "\"stablehlo.select_and_scatter\"(%v, %v, %v) %c ({\n    ^bb0(%%a: %e, %%b: %e):\n"
                    "      %%c = stablehlo.compare GE, %%a, %%b, %c : (%e, %e) -> tensor<i1>\n"
                    "      stablehlo.return %%c : tensor<i1>\n    }, {\n    ^bb0(%%a: %e, %%b: %e):\n"
                    "      %%c = stablehlo.add %%a, %%b : %e\n      stablehlo.return %%c : %e\n    }) : (%t, %t, %t) -> %r",
                    x, dy, zero, text.p, hlo_compare_kind(x->dtype), x, dy, zero);
}
