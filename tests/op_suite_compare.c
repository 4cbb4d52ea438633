// Op suite compare — numbers as doubles, tolerances, results against the text that a line expects.
#include "op_suite.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

#include "loops/cast.h"
#include "tensor/float8.h"
#include "tensor/literal.h"

Tolerance tolerance_of(DType dtype, bool loose) {
    double base = dtype == DT_bfloat16 ? 1e-2 : dtype == DT_half ? 1e-3 : dtype_is_float8(dtype) ? 0.07
                : dtype == DT_float || dtype == DT_complex64 ? 1e-5
                : dtype == DT_double || dtype == DT_complex128 ? 1e-9 : 0;
    if (loose && base > 0)
        base = base < 1e-3 ? 1e-3 : 4 * base;
    return (Tolerance){base, base};
}

Status *tensor_cast(const Tensor *from, DType to, Tensor *out) {
    CastLoop loop;
    NEED(cast_find(from->dtype, to, &loop), UNIMPLEMENTED, "no cast from %s to %s", dtype_name(from->dtype),
         dtype_name(to));
    TRY(tensor_new(to, from->shape, out));
    cast_run(&loop, from->data, out->data, tensor_count(from));
    return OK;
}

// Element i; the real part of a complex one. False for what is no number.
static bool complex_at(const Tensor *t, int64_t i, Complex128 *out) {
    const char *at = (const char *)t->data + (size_t)i * dtype_size(t->dtype);
    CastLoop loop;
    if (dtype_is_float8(t->dtype)) {
        *out = float8_to_float(t->dtype, *(const uint8_t *)at);
        return true;
    }
    if (!cast_find(t->dtype, DT_complex128, &loop))
        return false;
    cast_run(&loop, at, out, 1);
    return true;
}

double tensor_number(const Tensor *tensor, int64_t i) {
    Complex128 value = 0;
    complex_at(tensor, i, &value);
    return creal(value);
}

static bool is_near(double a, double b, Tolerance t) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= t.absolute + t.relative * fmax(fabs(a), fabs(b));
}

bool tensor_is_finite(const Tensor *tensor) {
    for (int64_t i = 0; i < tensor_count(tensor); i++) {
        Complex128 value;
        if (complex_at(tensor, i, &value) && !(isfinite(creal(value)) && isfinite(cimag(value))))
            return false;
    }
    return true;
}

static bool same_element(const Tensor *a, const Tensor *b, int64_t i) {
    if (a->dtype == DT_string)
        return str_equal(tstring_str((TString *)a->data + i), tstring_str((TString *)b->data + i));
    size_t size = dtype_size(a->dtype);
    return memcmp((char *)a->data + (size_t)i * size, (char *)b->data + (size_t)i * size, size) == 0;
}

bool tensor_same_bits(const Tensor *a, const Tensor *b) {
    bool same = a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
    if (dtype_kind(a->dtype) == KIND_OBJECT)
        return same;
    for (int64_t i = 0; same && i < tensor_count(a); i++)
        same = same_element(a, b, i);
    return same;
}

static const char *explain(const Tensor *got, const Tensor *wanted) {
    static char text[1024];
    AUTO(text) Text message = {0};
    LiteralStyle style = {.most = 64, .edge = 4};
    text_add(&message, STR("got "));
    literal_print(&message, got, &style);
    text_add(&message, STR(", wanted "));
    literal_print(&message, wanted, &style);
    snprintf(text, sizeof text, "%.*s", STR_ARGS(text_str(&message)));
    return text;
}

const char *tensor_difference(const Tensor *got, const Tensor *wanted, Tolerance tolerance) {
    if (got->dtype != wanted->dtype || !shape_equal(&got->shape, &wanted->shape))
        return explain(got, wanted);
    for (int64_t i = 0; i < tensor_count(got); i++) {
        Complex128 a, b;
        bool number = tolerance.relative > 0 && complex_at(got, i, &a) && complex_at(wanted, i, &b);
        bool near = number ? is_near(creal(a), creal(b), tolerance) && is_near(cimag(a), cimag(b), tolerance)
                           : dtype_kind(got->dtype) == KIND_OBJECT || same_element(got, wanted, i);
        if (!near)
            return explain(got, wanted);
    }
    return NULL;
}

// ---------------------------------------- against the text of a line

// "_": anything; "_[2 3]": anything of that shape.
static Status *compare_any(Str *text, const Tensor *got, const char **difference) {
    size_t end = expression_item(*text, ",");
    Str item = expression_trim((Str){text->p + 1, end - 1});
    text->p += end;
    text->n -= end;
    if (!item.n)
        return OK;
    AUTO(text) Text shape = {0};
    text_format(&shape, "zeros%.*s", STR_ARGS(item));
    AUTO(tensor) Tensor zeros = {0};
    TRY(literal_parse(text_str(&shape), DT_bool, &zeros, NULL));
    static char message[128];
    if (!shape_equal(&zeros.shape, &got->shape)) {
        snprintf(message, sizeof message, "got shape %s, wanted %s", shape_text(&got->shape), shape_text(&zeros.shape));
        *difference = message;
    }
    return OK;
}

static Status *compare_one(const Line *line, Str *text, const Tensor *got, DType widest, bool *fits,
                           const char **difference) {
    *text = expression_trim(*text);
    if (text->n && text->p[0] == '_')
        return compare_any(text, got, difference);
    NEED(text->n, INVALID_ARGUMENT, "there are more results than the line expects");
    AUTO(tensor) Tensor wanted = {0};
    size_t used;
    Status *status = literal_parse(*text, got->dtype, &wanted, &used);
    if (status && widest != DT_INVALID) {
        status_free(status);
        *fits = false;
        return OK;
    }
    TRY(status);
    text->p += used;
    text->n -= used;
    Tolerance tolerance = tolerance_of(got->dtype, line->loose), wide = tolerance_of(widest, line->loose);
    if (tolerance.relative > 0 && wide.relative > tolerance.relative)
        tolerance = wide;
    *difference = tensor_difference(got, &wanted, tolerance);
    return OK;
}

Status *compare_expected(const Line *line, const Tensors *got, size_t outputs, DType widest, bool *fits,
                         const char **difference) {
    Str text = line->expected;
    *fits = true;
    *difference = NULL;
    for (size_t i = 0; i < got->n && *fits && !*difference; i++) {
        text = expression_trim(text);
        if (i >= outputs && text.n == 0)
            return OK;  // of variables a line tells what it likes
        if (i && text.p[0] == ',')
            text = (Str){text.p + 1, text.n - 1};
        TRY(compare_one(line, &text, &got->p[i], widest, fits, difference));
    }
    if (*fits && !*difference)
        NEED(expression_trim(text).n == 0, INVALID_ARGUMENT, "more is expected than the %zu results there are: %.*s",
             got->n, STR_ARGS(text));
    return OK;
}
