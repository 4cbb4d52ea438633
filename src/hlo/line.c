// Lines — the text of a module: operations, types, constants; see hlo_internal.h.
#include <math.h>

#include "base/number.h"
#include "hlo/hlo_internal.h"

// Its extents are 1, so that whatever is computed of them after an error does no harm.
const struct HloArray hlo_nothing = {DT_float, {1, {1, 1, 1, 1, 1, 1, 1, 1}}, 0, -1};

const char *hlo_type_name(DType dtype) {
    static const char *const names[DTYPES] = {
        [DT_bool] = "i1", [DT_int8] = "i8", [DT_int16] = "i16", [DT_int32] = "i32", [DT_int64] = "i64",
        [DT_uint8] = "ui8", [DT_uint16] = "ui16", [DT_uint32] = "ui32", [DT_uint64] = "ui64", [DT_half] = "f16",
        [DT_bfloat16] = "bf16", [DT_float] = "f32", [DT_double] = "f64", [DT_complex64] = "complex<f32>",
        [DT_complex128] = "complex<f64>",
    };
    return dtype_is_valid(dtype) && !dtype_is_ref(dtype) ? names[dtype] : NULL;
}

void hlo_fail(Hlo *h, Status *status) {
    if (h->status)
        status_free(status);
    else
        h->status = status;
}

HloValue hlo_array(Hlo *h, DType dtype, Shape shape) {
    HLO_STOPS(h);
    HloWriter *w = hlo_writer(h);
    struct HloArray *array = ARENA_NEW(&w->module->arena, struct HloArray);
    if (!array)
        hlo_fail(h, OUT_OF_MEMORY);
    else if (!hlo_type_name(dtype))
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "a device that compiles has no type %s", dtype_name(dtype)));
    else if (!shape_is_known(&shape))
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "the shape %s is not known", shape_text(&shape)));
    HLO_STOPS(h);
    Status *status = shape_check(&shape);  // shapes that words make haven't been seen by a shape function
    if (status)
        hlo_fail(h, status);
    HLO_STOPS(h);
    *array = (struct HloArray){dtype, shape, w->next++, -1};
    return array;
}

void hlo_results(Hlo *h, const DType *dtypes, const Shape *shapes, int n, HloValue *out) {
    int32_t id = hlo_writer(h)->next++;
    for (int i = 0; i < n; i++) {
        HloValue part = hlo_array(h, dtypes[i], shapes[i]);
        out[i] = part;
        if (h->status)
            continue;
        ((struct HloArray *)part)->id = id;
        ((struct HloArray *)part)->part = i;
    }
}

// ---------------------------------------- text

static void put_type(Text *text, DType dtype, const Shape *shape) {
    text_add(text, STR("tensor<"));
    for (int i = 0; shape && i < shape->rank; i++)
        text_format(text, "%lldx", (long long)shape->dims[i]);
    text_format(text, "%s>", hlo_type_name(dtype) ? hlo_type_name(dtype) : "none");
}

static void put_value(Text *text, HloValue value) {
    text_format(text, value->part >= 0 ? "%%%d#%d" : "%%%d", (int)value->id, (int)value->part);
}

static void put_list(Text *text, const Shape *list) {
    for (int i = 0; i < list->rank; i++)
        text_format(text, "%s%lld", i ? ", " : "", (long long)list->dims[i]);
}

static void put_format(Text *text, const struct HloArray *result, const char *format, va_list args) {
    for (const char *c = format; *c; c++) {
        if (*c != '%') {
            text_char(text, *c);
            continue;
        }
        HloValue value = NULL;
        Shape list;
        switch (*++c) {
        case 'v': put_value(text, va_arg(args, HloValue)); break;
        case 't': value = va_arg(args, HloValue); put_type(text, value->dtype, &value->shape); break;
        case 's': put_type(text, va_arg(args, HloValue)->dtype, NULL); break;
        case 'r': put_type(text, result->dtype, &result->shape); break;
        case 'e': put_type(text, result->dtype, NULL); break;
        case 'l': list = va_arg(args, Shape); text_char(text, '['); put_list(text, &list); text_char(text, ']'); break;
        case 'a':
            list = va_arg(args, Shape);
            text_add(text, list.rank ? STR("array<i64: ") : STR("array<i64"));
            put_list(text, &list);
            text_char(text, '>');
            break;
        case 'd': text_format(text, "%lld", (long long)va_arg(args, int64_t)); break;
        case 'c': text_add(text, str_of(va_arg(args, const char *))); break;
        default: text_char(text, *c);
        }
    }
}

static void check_text(Hlo *h) {
    HloWriter *w = hlo_writer(h);
    size_t limit = w->spec->max_text ? w->spec->max_text : (size_t)64 << 20;
    if (w->text->failed || w->constants.failed)
        hlo_fail(h, OUT_OF_MEMORY);
    else if (w->text->n + w->constants.n > limit)
        hlo_fail(h, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "the module takes more than %zu bytes of text", limit));
}

HloValue hlo_line(Hlo *h, DType dtype, Shape shape, const char *format, ...) {
    HloValue result = hlo_array(h, dtype, shape);
    HLO_STOPS(h);
    Text *text = hlo_writer(h)->text;
    text_add(text, STR("    "));
    put_value(text, result);
    text_add(text, STR(" = "));
    va_list args;
    va_start(args, format);
    put_format(text, result, format, args);
    va_end(args);
    text_char(text, '\n');
    check_text(h);
    return result;
}

void hlo_put_text(Hlo *h, const char *format, ...) {
    if (h->status)
        return;
    va_list args;
    va_start(args, format);
    put_format(hlo_writer(h)->text, &hlo_nothing, format, args);
    va_end(args);
    check_text(h);
}

Text *hlo_region_begin(Hlo *h, Text *region) {
    HloWriter *w = hlo_writer(h);
    Text *outer = w->text;
    w->text = region;
    w->regions++;
    return outer;
}

void hlo_region_end(Hlo *h, Text *outer) {
    HloWriter *w = hlo_writer(h);
    w->text = outer;
    w->regions--;
}

void hlo_list_add(Hlo *h, Shape *list, int64_t extent) {
    if (list->rank < MAX_RANK)
        list->dims[list->rank++] = extent;
    else
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "more than %d dimensions on the way", MAX_RANK));
}

// ---------------------------------------- constants

// A decimal number as MLIR reads one: with a point. What isn't finite is written as its bits.
static void put_float(Text *text, double value, DType dtype) {
    if (!isfinite(value)) {
        double rest = isnan(value) ? NAN : value;
        static const struct { DType dtype; const char *inf, *minus, *nan; } bits[] = {
            {DT_half, "0x7C00", "0xFC00", "0x7E00"}, {DT_bfloat16, "0x7F80", "0xFF80", "0x7FC0"},
            {DT_float, "0x7F800000", "0xFF800000", "0x7FC00000"},
            {DT_double, "0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"},
        };
        for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
            if (bits[i].dtype == dtype)
                text_add(text, str_of(isnan(rest) ? bits[i].nan : rest > 0 ? bits[i].inf : bits[i].minus));
        return;
    }
    AUTO(text) Text number = {0};
    if (dtype == DT_double)
        text_double(&number, value);
    else
        text_float(&number, (float)value);
    Str s = text_str(&number);
    size_t exponent = 0;
    while (exponent < s.n && s.p[exponent] != 'e')
        exponent++;
    bool point = memchr(s.p, '.', s.n) != NULL;
    text_add(text, (Str){s.p, exponent});
    text_add(text, point ? STR("") : STR(".0"));
    text_add(text, (Str){s.p + exponent, s.n - exponent});
    text->failed |= number.failed;
}

static double float_at(const Tensor *tensor, int64_t i) {
    switch (tensor->dtype) {
    case DT_half: return (double)half_to_float(((const Half *)tensor->data)[i]);
    case DT_bfloat16: return (double)bfloat16_to_float(((const Bfloat16 *)tensor->data)[i]);
    case DT_float: return (double)((const float *)tensor->data)[i];
    default: return ((const double *)tensor->data)[i];
    }
}

// An integer of any width, its sign kept.
static void put_integer(Text *text, const Tensor *tensor, int64_t i) {
    uint64_t bits = 0;
    size_t size = dtype_size(tensor->dtype);
    memcpy(&bits, (const char *)tensor->data + (size_t)i * size, size);
    if (dtype_kind(tensor->dtype) == KIND_UINT) {
        text_format(text, "%llu", (unsigned long long)bits);
        return;
    }
    unsigned spare = 64 - 8 * (unsigned)size;
    text_format(text, "%lld", (long long)((int64_t)(bits << spare) >> spare));
}

static void put_element(Text *text, const Tensor *tensor, int64_t i) {
    switch (dtype_kind(tensor->dtype)) {
    case KIND_FLOAT: put_float(text, float_at(tensor, i), tensor->dtype); break;
    case KIND_BOOL: text_add(text, ((const bool *)tensor->data)[i] ? STR("true") : STR("false")); break;
    case KIND_COMPLEX: {
        Tensor parts = *tensor;
        parts.dtype = tensor->dtype == DT_complex64 ? DT_float : DT_double;
        text_char(text, '(');
        put_float(text, float_at(&parts, 2 * i), parts.dtype);
        text_add(text, STR(", "));
        put_float(text, float_at(&parts, 2 * i + 1), parts.dtype);
        text_char(text, ')');
        break;
    }
    default: put_integer(text, tensor, i);
    }
}

static void put_nested(Text *text, const Tensor *tensor) {
    const Shape *shape = &tensor->shape;
    int64_t count = tensor_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        int64_t span = 1;
        int opens = 0;
        for (int d = shape->rank - 1; d >= 0 && i % (span *= shape->dims[d]) == 0; d--)
            opens++;
        text_add(text, i ? STR(", ") : STR(""));
        for (int d = 0; d < opens; d++)
            text_char(text, '[');
        put_element(text, tensor, i);
        span = 1;
        for (int d = shape->rank - 1; d >= 0 && (i + 1) % (span *= shape->dims[d]) == 0; d--)
            text_char(text, ']');
    }
}

static bool is_splat(const Tensor *tensor) {
    size_t size = dtype_size(tensor->dtype), bytes = tensor_bytes(tensor);
    return bytes == 0 || memcmp(tensor->data, (const char *)tensor->data + size, bytes - size) == 0;
}

// Constants stand before everything else, each once.
static HloValue put_constant(Hlo *h, DType dtype, Shape shape, const Tensor *elements) {
    HloWriter *w = hlo_writer(h);
    AUTO(text) Text line = {0};
    text_add(&line, STR("stablehlo.constant dense<"));
    if (shape_count(&shape) > 0 && is_splat(elements))
        put_element(&line, elements, 0);
    else
        put_nested(&line, elements);
    text_add(&line, STR("> : "));
    put_type(&line, dtype, &shape);
    struct HloArray *old = line.failed ? NULL : map_find(&w->known_constants, text_str(&line));
    if (old)
        return old;
    HloValue value = hlo_array(h, dtype, shape);
    HLO_STOPS(h);
    Str key = str_copy(&w->module->arena, text_str(&line));
    if (line.failed || !key.p || !map_set(&w->known_constants, key, (void *)value))
        hlo_fail(h, OUT_OF_MEMORY);
    text_add(&w->constants, STR("    "));
    put_value(&w->constants, value);
    text_add(&w->constants, STR(" = "));
    text_add(&w->constants, key);
    text_char(&w->constants, '\n');
    check_text(h);
    return value;
}

HloValue hlo_tensor(Hlo *h, const Tensor *value) {
    HLO_STOPS(h);
    HloWriter *w = hlo_writer(h);
    if (!hlo_type_name(value->dtype) || value->layout != LAYOUT_PLAIN) {
        hlo_fail(h, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "a device that compiles has no type %s", dtype_name(value->dtype)));
        return &hlo_nothing;
    }
    size_t limit = w->spec->max_constant ? w->spec->max_constant : 1024;
    if (tensor_bytes(value) <= limit || is_splat(value))
        return put_constant(h, value->dtype, value->shape, value);
    HloArgument argument = {.kind = HLO_CONSTANT, .index = -1, .dtype = value->dtype, .shape = value->shape};
    Status *status = value->buffer ? OK : tensor_copy(value, &argument.constant);
    hlo_fail(h, status);
    HLO_STOPS(h);
    if (value->buffer)
        argument.constant = tensor_retain(value);
    return hlo_argument(h, &argument);
}

// One element of that type from a number.
static void element_of(double value, int64_t integer, bool exact, DType dtype, void *out) {
    DTypeKind kind = dtype_kind(dtype);
    if (kind == KIND_INT || kind == KIND_UINT || kind == KIND_BOOL) {
        unsigned bits = 8 * (unsigned)dtype_size(dtype);
        uint64_t most = kind == KIND_UINT ? UINT64_MAX >> (64 - bits) : (UINT64_MAX >> (64 - bits)) >> 1;
        int64_t number = exact ? integer : isinf(value) || isnan(value) ? 0 : (int64_t)value;
        if (!exact && isinf(value))
            number = value > 0 ? (int64_t)most : kind == KIND_UINT ? 0 : -(int64_t)most - 1;
        memcpy(out, &number, dtype_size(dtype));  // little endian
        return;
    }
    double number = exact ? (double)integer : value;
    Half half = half_from_float((float)number);
    Bfloat16 bfloat16 = bfloat16_from_float((float)number);
    float single[2] = {(float)number, 0};
    double twice[2] = {number, 0};
    switch (dtype) {
    case DT_half: memcpy(out, &half, sizeof half); break;
    case DT_bfloat16: memcpy(out, &bfloat16, sizeof bfloat16); break;
    case DT_float: case DT_complex64: memcpy(out, single, dtype_size(dtype)); break;
    default: memcpy(out, twice, dtype_size(dtype) <= sizeof twice ? dtype_size(dtype) : 0);
    }
}

HloValue hlo_fill(Hlo *h, double value, DType dtype, Shape shape) {
    HLO_STOPS(h);
    char element[16] = {0};
    element_of(value, 0, false, dtype, element);
    Tensor one = {.data = element, .dtype = dtype};
    HloValue scalar = put_constant(h, dtype, SCALAR_SHAPE, &one);
    return hlo_broadcast(h, scalar, shape);
}

HloValue hlo_number(Hlo *h, double value, DType dtype) {
    return hlo_fill(h, value, dtype, SCALAR_SHAPE);
}

HloValue hlo_like(Hlo *h, double value, HloValue like) {
    return hlo_fill(h, value, like->dtype, SCALAR_SHAPE);
}

HloValue hlo_int(Hlo *h, int64_t value, DType dtype) {
    HLO_STOPS(h);
    char element[16] = {0};
    element_of(0, value, true, dtype, element);
    Tensor one = {.data = element, .dtype = dtype};
    return put_constant(h, dtype, SCALAR_SHAPE, &one);
}

HloValue hlo_floats(Hlo *h, const float *values, Shape shape) {
    Tensor tensor = {.data = (void *)values, .dtype = DT_float, .shape = shape};
    return hlo_tensor(h, &tensor);
}
