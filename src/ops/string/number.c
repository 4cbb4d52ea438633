// Numbers and strings — AsString and StringToNumber; bytes as numbers and as base64.
#include <locale.h>
#include <stdio.h>

#include "base/number.h"
#include "ops/string/strings.h"

// ---------------------------------------- AsString

enum { MOST_WIDTH = 1 << 16 };

typedef struct {
    char format[32];   // of one number, for printf: made of checked parts
} AsStringOwn;

static Status *as_string_prepare(Prepare *p) {
    AsStringOwn *own = p->own;
    DType dtype = p->in[0]->dtype;
    int64_t precision = node_int(p->node, "precision"), width = node_int(p->node, "width");
    bool scientific = node_bool(p->node, "scientific"), shortest = node_bool(p->node, "shortest");
    Str fill = node_str(p->node, "fill");
    bool real = dtype_is_float(dtype) || dtype_is_complex(dtype);
    NEED(dtype != DT_variant, UNIMPLEMENTED, "AsString of a variant");
    NEED(real || precision < 0, INVALID_ARGUMENT, "precision not supported for datatype %s", dtype_name(dtype));
    NEED(real || (!scientific && !shortest), INVALID_ARGUMENT,
         "scientific and shortest format not supported for datatype %s", dtype_name(dtype));
    NEED(!scientific || !shortest, INVALID_ARGUMENT, "Cannot select both scientific and shortest notation");
    NEED(fill.n <= 1, INVALID_ARGUMENT, "Fill string must be one or fewer characters");
    NEED(!fill.n || (fill.p[0] && strchr(" +-0#", fill.p[0])), INVALID_ARGUMENT,
         "Fill argument not supported: \"%.*s\"", STR_ARGS(fill));
    NEED(width <= MOST_WIDTH && precision <= MOST_WIDTH, INVALID_ARGUMENT, "width and precision are at most %d",
         MOST_WIDTH);
    AUTO(text) Text format = {0};
    text_char(&format, '%');
    text_add(&format, fill);
    if (width > -1)
        text_format(&format, "%d", (int)width);
    if (precision > -1)
        text_format(&format, ".%d", (int)precision);
    if (real)
        text_char(&format, scientific ? 'e' : shortest ? 'g' : 'f');
    else
        text_add(&format, dtype_kind(dtype) == KIND_UINT ? STR("llu") : dtype == DT_string ? STR("s") : STR("lld"));
    NEED(!format.failed && format.n < sizeof own->format, INVALID_ARGUMENT, "the format is too long");
    memcpy(own->format, format.p, format.n);
    return OK;
}

static double real_at(const Tensor *t, int64_t i) {
    switch (t->dtype) {
    case DT_half: return half_to_float(((const Half *)t->data)[i]);
    case DT_bfloat16: return bfloat16_to_float(((const Bfloat16 *)t->data)[i]);
    case DT_double: return ((const double *)t->data)[i];
    default: return ((const float *)t->data)[i];
    }
}

static long long integer_at(const Tensor *t, int64_t i) {
    switch (t->dtype) {
    case DT_int8: return ((const int8_t *)t->data)[i];
    case DT_uint8: return ((const uint8_t *)t->data)[i];
    case DT_int16: return ((const int16_t *)t->data)[i];
    case DT_uint16: return ((const uint16_t *)t->data)[i];
    case DT_int32: return ((const int32_t *)t->data)[i];
    case DT_uint32: return ((const uint32_t *)t->data)[i];
    default: return ((const int64_t *)t->data)[i];
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
// printf writes the decimal point of the program's locale: here it is always a point.
static void add_real(Text *out, const char *format, double value) {
    size_t first = out->n;
    text_format(out, format, value);
    const char *point = localeconv()->decimal_point;
    for (size_t i = first; i < out->n && !out->failed && *point && !point[1] && *point != '.'; i++)
        if (out->p[i] == *point)
            out->p[i] = '.';
}

static void add_element(Text *out, const char *format, const Tensor *t, int64_t i) {
    if (t->dtype == DT_bool) {
        text_add(out, ((const bool *)t->data)[i] ? STR("true") : STR("false"));
    } else if (t->dtype == DT_string) {
        text_add(out, string_at(t, i));
    } else if (dtype_is_complex(t->dtype)) {
        bool wide = t->dtype == DT_complex128;
        Complex128 z = wide ? ((const Complex128 *)t->data)[i] : ((const Complex64 *)t->data)[i];
        text_char(out, '(');
        add_real(out, format, creal(z));
        text_char(out, ',');
        add_real(out, format, cimag(z));
        text_char(out, ')');
    } else if (dtype_is_float(t->dtype)) {
        add_real(out, format, real_at(t, i));
    } else {
        text_format(out, format, integer_at(t, i));
    }
}
#pragma GCC diagnostic pop

static Status *as_string_run(Kernel *k) {
    const AsStringOwn *own = k->own;
    AUTO(text) Text text = {0};
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        add_element(&text, own->format, k->in[0], i);
        TRY(string_put_text(k->out[0], i, &text));
    }
    return OK;
}

const Op op_AsString = {
    .signature = "AsString(input: T) -> output: string; T: {reals, complexes, bool, variant, string}; "
                 "precision: int = -1; "
                 "scientific: bool = false; shortest: bool = false; width: int = -1; fill: string = \"\"",
    .doc = "Each element as text.", .shape = shape_unchanged, .prepare = as_string_prepare,
    .own_size = sizeof(AsStringOwn), .cpu = ANY_TYPE(as_string_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- StringToNumber

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool to_unsigned(Str s, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)(s.p[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return s.n > 0;
}

// Without the C library, whose strtod takes the locale's decimal point and whose strtol saturates: out of range is an
// error here, as in TensorFlow.
static bool convert(Str s, const Tensor *out, int64_t i) {
    int64_t number;
    uint64_t natural;
    switch (out->dtype) {
    case DT_float: return str_to_float(s, (float *)out->data + i);
    case DT_double: return str_to_double(s, (double *)out->data + i);
    case DT_int64: return str_to_int(s, (int64_t *)out->data + i);
    case DT_uint64: return to_unsigned(s, (uint64_t *)out->data + i);
    case DT_int32:
        if (!str_to_int(s, &number) || number < INT32_MIN || number > INT32_MAX)
            return false;
        ((int32_t *)out->data)[i] = (int32_t)number;
        return true;
    default:
        if (!to_unsigned(s, &natural) || natural > UINT32_MAX)
            return false;
        ((uint32_t *)out->data)[i] = (uint32_t)natural;
        return true;
    }
}

static Status *to_number_run(Kernel *k) {
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        Str text = string_at(k->in[0], i), s = text;
        while (s.n && is_space(s.p[0]))
            s = (Str){s.p + 1, s.n - 1};
        while (s.n && is_space(s.p[s.n - 1]))
            s.n--;
        NEED(convert(s, k->out[0], i), INVALID_ARGUMENT, "StringToNumberOp could not correctly convert string: %.*s",
             STR_ARGS(text));
    }
    return OK;
}

const Op op_StringToNumber = {
    .signature = "StringToNumber(string_tensor: string) -> output: out_type; out_type: {float, double, int32, int64, "
                 "uint32, uint64} = float",
    .doc = "The number that each string tells.", .shape = shape_unchanged, .cpu = ANY_TYPE(to_number_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- DecodeRaw

static Status *with_last_dim(const Shape *in, int64_t last, Shape *out) {
    int64_t dims[MAX_RANK + 1];
    for (int i = 0; i < in->rank; i++)
        dims[i] = in->dims[i];
    dims[in->rank] = last;
    return shape_make(dims, in->rank + 1, out);
}

static Status *decode_raw_shape(Shapes *s) {
    return s->in[0].rank < 0 ? OK : with_last_dim(&s->in[0], UNKNOWN_DIM, &s->out[0]);
}

typedef struct {
    bool swap;
} DecodeOwn;

static Status *decode_raw_prepare(Prepare *p) {
    ((DecodeOwn *)p->own)->swap = !node_bool(p->node, "little_endian");
    return OK;
}

static void swap_units(char *p, size_t n, size_t unit) {
    for (size_t i = 0; i + unit <= n; i += unit)
        for (size_t j = 0; j < unit / 2; j++) {
            char kept = p[i + j];
            p[i + j] = p[i + unit - 1 - j];
            p[i + unit - 1 - j] = kept;
        }
}

static Status *decode_raw_run(Kernel *k) {
    DType dtype = node_value_type(k->node, 0);
    size_t size = dtype_size(dtype), unit = dtype_is_complex(dtype) ? size / 2 : size;
    int64_t n = tensor_count(k->in[0]);
    size_t length = n ? string_at(k->in[0], 0).n : 0;
    Shape shape;
    NEED(length % size == 0, INVALID_ARGUMENT,
         "Input to DecodeRaw has length %zu that is not a multiple of %zu, the size of %s", length, size,
         dtype_name(dtype));
    TRY(with_last_dim(&k->in[0]->shape, (int64_t)(length / size), &shape));
    TRY(kernel_output(k, 0, shape));
    for (int64_t i = 0; i < n; i++) {
        Str s = string_at(k->in[0], i);
        NEED(s.n == length, INVALID_ARGUMENT, "DecodeRaw requires input strings to all be the same size, but element "
             "%lld has size %zu != %zu", (long long)i, s.n, length);
        char *to = (char *)k->out[0]->data + (size_t)i * length;
        if (length)
            memcpy(to, s.p, length);
        if (((const DecodeOwn *)k->own)->swap)
            swap_units(to, length, unit);
    }
    return OK;
}

const Op op_DecodeRaw = {
    .signature = "DecodeRaw(bytes: string) -> output: out_type; "
                 "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complexes, bool, "
                 "bfloat16}; little_endian: bool = true",
    .doc = "The bytes of strings as numbers.", .shape = decode_raw_shape, .prepare = decode_raw_prepare,
    .own_size = sizeof(DecodeOwn), .cpu = ANY_TYPE(decode_raw_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- base64, the form for URLs

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(Str s, bool pad, Text *out) {
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i < 3 ? s.n - i : 3;
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < left ? (unsigned char)s.p[i + j] : 0);
        for (size_t j = 0; j < 4; j++) {
            if (j <= left)
                text_char(out, digits[bits >> (18 - 6 * j) & 63]);
            else if (pad)
                text_char(out, '=');
        }
    }
}

// Padding is optional, as RFC 4648 (section 3.2) lets a format decide: the length tells what is missing; a rest of one digit
// is no byte.
static bool decode(Str s, Text *out) {
    int most = s.n % 4 == 0 ? 2 : 0;
    for (int i = 0; i < most && s.n && s.p[s.n - 1] == '='; i++)
        s.n--;
    if (s.n % 4 == 1)
        return false;
    for (size_t i = 0; i < s.n; i += 4) {
        size_t left = s.n - i < 4 ? s.n - i : 4;
        uint32_t bits = 0;
        for (size_t j = 0; j < 4; j++) {
            const char *at = j < left && s.p[i + j] ? strchr(digits, s.p[i + j]) : j < left ? NULL : digits;
            if (!at)
                return false;
            bits = bits << 6 | (uint32_t)(at - digits);
        }
        for (size_t j = 0; j + 1 < left; j++)
            text_char(out, (char)(bits >> (16 - 8 * j)));
    }
    return true;
}

typedef struct {
    bool pad;
} Base64Own;

static Status *base64_prepare(Prepare *p) {
    ((Base64Own *)p->own)->pad = node_bool(p->node, "pad");
    return OK;
}

static Status *encode_run(Kernel *k) {
    AUTO(text) Text text = {0};
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        encode(string_at(k->in[0], i), ((const Base64Own *)k->own)->pad, &text);
        TRY(string_put_text(k->out[0], i, &text));
    }
    return OK;
}

static Status *decode_run(Kernel *k) {
    AUTO(text) Text text = {0};
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        NEED(decode(string_at(k->in[0], i), &text), INVALID_ARGUMENT, "Invalid character found in base64.");
        TRY(string_put_text(k->out[0], i, &text));
    }
    return OK;
}

const Op op_EncodeBase64 = {
    .signature = "EncodeBase64(input: string) -> output: string; pad: bool = false",
    .doc = "Bytes as base64, in the form for URLs.", .shape = shape_unchanged, .prepare = base64_prepare,
    .own_size = sizeof(Base64Own), .cpu = ANY_TYPE(encode_run), .flags = OP_NO_GRADIENT,
};
const Op op_DecodeBase64 = {
    .signature = "DecodeBase64(input: string) -> output: string",
    .doc = "The bytes that base64, in the form for URLs, stands for.", .shape = shape_unchanged,
    .cpu = ANY_TYPE(decode_run), .flags = OP_NO_GRADIENT,
};
