// Literal, printing — see literal.h.
#include <math.h>

#include "base/number.h"
#include "tensor/float8.h"
#include "tensor/literal.h"

typedef struct {
    Text *text;
    const Tensor *tensor;
    LiteralStyle style;
    bool edges;       // the tensor is too large to be shown whole
    int64_t shown;    // elements at each end of a dimension then
} Printer;

// ---- numbers

// The value nearest to `value` that the type has.
static double in_type(DType dtype, double value) {
    float f = float_to_odd(value);
    switch (dtype) {
    case DT_half: return (double)half_to_float(half_from_float(f));
    case DT_bfloat16: return (double)bfloat16_to_float(bfloat16_from_float(f));
    default: return (double)float8_to_float(dtype, float8_from_float(dtype, f));
    }
}

// The narrow types need fewer digits than a float: the fewest that come back; but whole numbers stay what they are.
static double fewest_digits(DType dtype, double value) {
    if (!isfinite(value) || (fabs(value) < 1e5 && value == floor(value)))
        return value;
    int exponent = (int)floor(log10(fabs(value)));
    for (int digits = 1; digits <= 9; digits++) {
        int places = digits - 1 - exponent;  // after the point; negative: zeros before it
        double scale = pow(10, places < 0 ? -places : places);
        double rounded = places < 0 ? round(value / scale) * scale : round(value * scale) / scale;
        if (in_type(dtype, rounded) == value)
            return rounded;
    }
    return value;
}

static void print_real(Printer *p, DType dtype, const void *at) {
    double value;
    switch (dtype) {
    case DT_float: value = (double)*(const float *)at; break;
    case DT_double: value = *(const double *)at; break;
    case DT_half: value = fewest_digits(dtype, (double)half_to_float(*(const Half *)at)); break;
    case DT_bfloat16: value = fewest_digits(dtype, (double)bfloat16_to_float(*(const Bfloat16 *)at)); break;
    default: value = fewest_digits(dtype, (double)float8_to_float(dtype, *(const uint8_t *)at)); break;
    }
    if (p->style.json && !isfinite(value))
        text_add(p->text, isnan(value) ? STR("\"NaN\"") : value > 0 ? STR("\"Infinity\"") : STR("\"-Infinity\""));
    else if (dtype == DT_double)
        text_double(p->text, value);
    else
        text_float(p->text, (float)value);
}

static void print_complex(Printer *p, DType dtype, const char *at) {
    DType part = dtype == DT_complex64 ? DT_float : DT_double;
    const char *imaginary = at + dtype_size(part);
    double sign = part == DT_float ? (double)*(const float *)imaginary : *(const double *)imaginary;
    if (p->style.json)
        text_char(p->text, '[');
    print_real(p, part, at);
    if (p->style.json)
        text_add(p->text, STR(", "));
    else if (isnan(sign) || !signbit(sign))
        text_char(p->text, '+');
    print_real(p, part, imaginary);
    text_char(p->text, p->style.json ? ']' : 'i');
}

static void print_integer(Printer *p, DType dtype, const void *at) {
    switch (dtype) {
    case DT_int64: text_format(p->text, "%lld", (long long)*(const int64_t *)at); break;
    case DT_uint64: text_format(p->text, "%llu", (unsigned long long)*(const uint64_t *)at); break;
    case DT_int32: case DT_qint32: text_format(p->text, "%d", *(const int32_t *)at); break;
    case DT_uint32: text_format(p->text, "%u", *(const uint32_t *)at); break;
    case DT_int16: case DT_qint16: text_format(p->text, "%d", *(const int16_t *)at); break;
    case DT_uint16: case DT_quint16: text_format(p->text, "%u", *(const uint16_t *)at); break;
    case DT_int8: case DT_qint8: case DT_int4: case DT_int2: text_format(p->text, "%d", *(const int8_t *)at); break;
    default: text_format(p->text, "%u", *(const uint8_t *)at); break;
    }
}

// ---- strings

// Bytes of the well-formed UTF-8 character at s[i]; 0 where there is none.
static size_t utf8_at(Str s, size_t i) {
    unsigned char c = (unsigned char)s.p[i];
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (n == 0 || n > s.n - i)
        return 0;
    for (size_t k = 1; k < n; k++)
        if (((unsigned char)s.p[i + k] & 0xc0) != 0x80)
            return 0;
    unsigned char second = n > 1 ? (unsigned char)s.p[i + 1] : 0x80;
    bool overlong = (c == 0xe0 && second < 0xa0) || (c == 0xf0 && second < 0x90);
    bool beyond = (c == 0xed && second >= 0xa0) || (c == 0xf4 && second >= 0x90);
    return overlong || beyond ? 0 : n;
}

static void print_base64(Text *text, Str s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned left = (unsigned)(s.n - i);
        unsigned bits = (unsigned)(unsigned char)s.p[i] << 16;
        bits |= left > 1 ? (unsigned)(unsigned char)s.p[i + 1] << 8 : 0;
        bits |= left > 2 ? (unsigned)(unsigned char)s.p[i + 2] : 0;
        text_char(text, digits[bits >> 18]);
        text_char(text, digits[bits >> 12 & 63]);
        text_char(text, left > 1 ? digits[bits >> 6 & 63] : '=');
        text_char(text, left > 2 ? digits[bits & 63] : '=');
    }
}

static bool is_utf8(Str s) {
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_at(s, i);
        if (!n)
            return false;
    }
    return true;
}

static void print_string(Printer *p, Str s) {
    bool json = p->style.json;
    if (json && !is_utf8(s)) {
        text_add(p->text, STR("{\"b64\": \""));
        print_base64(p->text, s);
        text_add(p->text, STR("\"}"));
        return;
    }
    text_char(p->text, '"');
    for (size_t i = 0, n; i < s.n; i += n) {
        unsigned char c = (unsigned char)s.p[i];
        n = utf8_at(s, i);
        const char *known = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : c == '"' ? "\\\""
                          : c == '\\' ? "\\\\" : NULL;
        if (known)
            text_add(p->text, str_of(known));
        else if (n == 0 || c < ' ' || c == 0x7f)
            text_format(p->text, json ? "\\u%04x" : "\\x%02x", c);
        else
            text_add(p->text, (Str){s.p + i, n});
        n = n ? n : 1;
    }
    text_char(p->text, '"');
}

static void print_object(Printer *p, const Object *object) {
    if (p->style.json)
        text_char(p->text, '"');
    if (object && object->type->print && !p->style.json)
        object->type->print(object, p->text);
    else
        text_format(p->text, "<%s>", object ? object->type->name : "nothing");
    if (p->style.json)
        text_char(p->text, '"');
}

// ---- the whole

static void print_element(Printer *p, int64_t i) {
    DType dtype = p->tensor->dtype;
    const char *at = (const char *)p->tensor->data + (size_t)i * dtype_size(dtype);
    switch (dtype_kind(dtype)) {
    case KIND_FLOAT: print_real(p, dtype, at); break;
    case KIND_COMPLEX: print_complex(p, dtype, at); break;
    case KIND_BOOL: text_add(p->text, *(const bool *)at ? STR("true") : STR("false")); break;
    case KIND_STRING: print_string(p, tstring_str((const TString *)at)); break;
    case KIND_OBJECT: print_object(p, *(Object *const *)at); break;
    case KIND_SMALL:
        if (dtype_is_float8(dtype)) {
            print_real(p, dtype, at);
            break;
        }
        // fall through
    default: print_integer(p, dtype, at); break;
    }
}

static void print_between(Printer *p, int depth) {
    int below = p->tensor->shape.rank - depth - 1;  // dimensions inside each element
    if (p->style.json)
        text_char(p->text, ',');
    if (!p->style.lines || below == 0) {
        text_char(p->text, ' ');
        return;
    }
    for (int i = 0; i < below; i++)
        text_char(p->text, '\n');
    for (int i = 0; i <= depth; i++)
        text_char(p->text, ' ');
}

static void print_from(Printer *p, int depth, int64_t first) {
    const Shape *shape = &p->tensor->shape;
    if (depth == shape->rank) {
        print_element(p, first);
        return;
    }
    int64_t n = shape->dims[depth], step = shape_span(shape, depth + 1, shape->rank);
    text_char(p->text, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i > 0)
            print_between(p, depth);
        if (p->edges && i == p->shown && n > 2 * p->shown) {
            text_add(p->text, p->style.json ? STR("\"...\"") : STR("..."));
            i = n - p->shown - 1;
            continue;
        }
        print_from(p, depth + 1, first + i * step);
    }
    text_char(p->text, ']');
}

// What literal_parse would take the text for, the type unnamed.
static DType inferred(const Tensor *tensor) {
    if (tensor_count(tensor) == 0)
        return DT_float;
    DType dtype = tensor->dtype;
    return dtype == DT_bool || dtype == DT_string || dtype == DT_complex64 ? dtype : DT_float;
}

void literal_print(Text *text, const Tensor *tensor, const LiteralStyle *style) {
    Printer p = {.text = text, .tensor = tensor, .style = style ? *style : (LiteralStyle){0}};
    p.edges = p.style.most > 0 && tensor_count(tensor) > p.style.most;
    p.shown = p.style.edge > 0 ? p.style.edge : 3;
    bool object = dtype_kind(tensor->dtype) == KIND_OBJECT;
    if (!p.style.json && !p.style.untyped && !object && inferred(tensor) != tensor->dtype)
        text_format(text, "%s ", dtype_name(tensor->dtype));
    // Empty lists can't show every extent, and there may be very many of them.
    bool empty = tensor_count(tensor) == 0 && tensor->shape.rank > 1;
    if (!empty) {
        print_from(&p, 0, 0);
        return;
    }
    if (p.style.json) {
        text_add(text, STR("[]"));
        return;
    }
    text_add(text, STR("zeros["));
    for (int i = 0; i < tensor->shape.rank; i++)
        text_format(text, i ? " %lld" : "%lld", (long long)tensor->shape.dims[i]);
    text_char(text, ']');
}
