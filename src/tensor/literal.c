// Literal — see literal.h. Read in two passes: the shape and the tokens, which settle the type; then the elements.
#include "tensor/literal.h"

#include "base/number.h"
#include "base/vec.h"
#include "tensor/float8.h"

typedef enum { TOKEN_NUMBER, TOKEN_COMPLEX, TOKEN_BOOL, TOKEN_STRING } TokenKind;

typedef struct {
    Str text;  // a string's stands between its quotes, escapes unread
    TokenKind kind;
} Token;

typedef enum { FILL_NONE, FILL_ZEROS, FILL_ONES, FILL_IOTA, FILL_SAME } Fill;

typedef struct {
    Str text;
    size_t at;
    VEC(Token) tokens;
    Shape shape;
    Fill fill;
} Reader;

static void reader_auto(Reader *reader) {
    vec_clear(&reader->tokens);
}

#define NEED_HERE(r, condition, format, ...) \
    NEED(condition, INVALID_ARGUMENT, "column %zu: " format, (r)->at + 1 __VA_OPT__(, ) __VA_ARGS__)

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '+' || c == '-';
}

static char peek(const Reader *r) {
    return r->at < r->text.n ? r->text.p[r->at] : 0;
}

static void skip_spaces(Reader *r) {
    while (r->at < r->text.n && is_space(r->text.p[r->at]))
        r->at++;
}

// Between two elements.
static void skip_separator(Reader *r) {
    skip_spaces(r);
    if (peek(r) == ',')
        r->at++;
    skip_spaces(r);
}

static Str peek_word(const Reader *r) {
    size_t end = r->at;
    while (end < r->text.n && is_word(r->text.p[end]))
        end++;
    return (Str){r->text.p + r->at, end - r->at};
}

// ---- first pass

static Status *read_string(Reader *r, Token *out) {
    size_t first = ++r->at;
    for (; peek(r) != '"'; r->at++) {
        if (peek(r) == '\\')
            r->at++;
        NEED_HERE(r, r->at < r->text.n, "the string does not end");
    }
    *out = (Token){{r->text.p + first, r->at - first}, TOKEN_STRING};
    r->at++;
    return OK;
}

static Status *read_scalar(Reader *r) {
    Token token;
    if (peek(r) == '"') {
        TRY(read_string(r, &token));
    } else {
        Str word = peek_word(r);
        NEED_HERE(r, word.n > 0, "expected a value%s", r->at < r->text.n ? "" : ", got the end");
        char last = word.p[word.n - 1];
        bool truth = str_is(word, "true") || str_is(word, "false");
        bool imaginary = (last == 'i' || last == 'j') && word.n > 1;
        token = (Token){word, truth ? TOKEN_BOOL : imaginary ? TOKEN_COMPLEX : TOKEN_NUMBER};
        r->at += word.n;
    }
    NEED_MEMORY(vec_push(&r->tokens, token));
    return OK;
}

// Reads a list, nested at most MAX_RANK deep, into tokens; `out` is the shape of this list.
static Status *read_list(Reader *r, int depth, Shape *out) {
    NEED_HERE(r, depth < MAX_RANK, "more than %d dimensions", MAX_RANK);
    r->at++;
    Shape inner = SCALAR_SHAPE;
    int64_t n = 0;
    for (skip_spaces(r); peek(r) != ']'; skip_separator(r), n++) {
        NEED_HERE(r, r->at < r->text.n, "the list does not end");
        size_t start = r->at;
        Shape element = SCALAR_SHAPE;
        if (peek(r) == '[')
            TRY(read_list(r, depth + 1, &element));
        else
            TRY(read_scalar(r));
        if (n == 0)
            inner = element;
        bool same = shape_equal(&inner, &element);
        if (!same)
            r->at = start;
        NEED_HERE(r, same, "a ragged list: an element of shape %s after one of %s", shape_text(&element),
                  shape_text(&inner));
    }
    r->at++;
    NEED_HERE(r, inner.rank < MAX_RANK, "more than %d dimensions", MAX_RANK);
    Shape shape = {.rank = inner.rank + 1, .dims = {n}};
    memcpy(shape.dims + 1, inner.dims, (size_t)inner.rank * sizeof inner.dims[0]);
    *out = shape;
    return OK;
}

static Status *read_dims(Reader *r) {
    int64_t dims[MAX_RANK];
    int rank = 0;
    NEED_HERE(r, peek(r) == '[', "expected the extents, [2 3]");
    r->at++;
    for (skip_spaces(r); peek(r) != ']'; skip_separator(r)) {
        Str word = peek_word(r);
        NEED_HERE(r, rank < MAX_RANK, "more than %d dimensions", MAX_RANK);
        NEED_HERE(r, str_to_int(word, &dims[rank]) && dims[rank] >= 0, "expected an extent");
        r->at += word.n;
        rank++;
    }
    r->at++;
    return shape_make(dims, rank, &r->shape);
}

static Fill find_fill(Str word) {
    return str_is(word, "zeros") ? FILL_ZEROS : str_is(word, "ones") ? FILL_ONES
         : str_is(word, "iota") ? FILL_IOTA : str_is(word, "fill") ? FILL_SAME : FILL_NONE;
}

static Status *read_value(Reader *r) {
    skip_spaces(r);
    if (peek(r) == '[')
        return read_list(r, 0, &r->shape);
    r->fill = find_fill(peek_word(r));
    if (r->fill) {
        r->at += peek_word(r).n;
        TRY(read_dims(r));
        skip_spaces(r);
    }
    return !r->fill || r->fill == FILL_SAME ? read_scalar(r) : OK;
}

static DType infer(const Reader *r) {
    DType dtype = DT_INVALID;
    for (size_t i = 0; i < r->tokens.n; i++) {
        switch (r->tokens.p[i].kind) {
        case TOKEN_STRING: return DT_string;
        case TOKEN_BOOL: return DT_bool;
        case TOKEN_COMPLEX: return DT_complex64;
        default: dtype = DT_float;
        }
    }
    return dtype ? dtype : DT_float;
}

// ---- second pass

// False where the type is no integer.
static bool integer_range(DType dtype, int64_t *low, int64_t *high) {
    DTypeKind kind = dtype_kind(dtype);
    bool four = dtype == DT_int4 || dtype == DT_uint4, two = dtype == DT_int2 || dtype == DT_uint2;
    if (kind != KIND_INT && kind != KIND_UINT && kind != KIND_QUANTIZED && !four && !two)
        return false;
    int bits = four ? 4 : two ? 2 : (int)dtype_size(dtype) * 8;
    bool is_unsigned = kind == KIND_UINT || dtype == DT_quint8 || dtype == DT_quint16 || dtype == DT_uint4 ||
                       dtype == DT_uint2;
    int64_t half = (int64_t)((1ull << (bits - 1)) - 1);
    *low = is_unsigned ? 0 : -half - 1;
    *high = is_unsigned && bits < 64 ? half * 2 + 1 : half;
    return true;
}

static int hex_digit(char c) {
    char low = (char)(c | 32);
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// Decimal or 0x...; magnitude and sign.
static bool parse_integer(Str word, bool *negative, uint64_t *out) {
    size_t i = 0;
    *negative = word.n > 0 && word.p[0] == '-';
    if (word.n > 0 && (word.p[0] == '-' || word.p[0] == '+'))
        i++;
    bool hex = word.n - i > 2 && word.p[i] == '0' && (word.p[i + 1] | 32) == 'x';
    i += hex ? 2 : 0;
    uint64_t value = 0;
    uint64_t base = hex ? 16 : 10;
    bool any = false;
    for (; i < word.n; i++, any = true) {
        int digit = hex_digit(word.p[i]);
        if (digit < 0 || digit >= (int)base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return any;
}

static bool store_integer(DType dtype, int64_t low, int64_t high, bool negative, uint64_t magnitude, void *to) {
    uint64_t bits = negative ? 0 - magnitude : magnitude;
    bool fits = negative ? magnitude <= (uint64_t)-(low + 1) + 1 && low < 0
                         : dtype == DT_uint64 || magnitude <= (uint64_t)high;
    if (negative && magnitude == 0)
        fits = true;
    if (fits)
        memcpy(to, &bits, dtype_size(dtype));
    return fits;
}

static bool store_real(DType dtype, Str word, void *to) {
    double value;
    if (dtype == DT_float)
        return str_to_float(word, to);
    if (!str_to_double(word, &value))
        return false;
    switch (dtype) {
    case DT_double: *(double *)to = value; return true;
    case DT_half: *(Half *)to = half_from_float(float_to_odd(value)); return true;
    case DT_bfloat16: *(Bfloat16 *)to = bfloat16_from_float(float_to_odd(value)); return true;
    default: *(uint8_t *)to = float8_from_float(dtype, float_to_odd(value)); return true;
    }
}

static bool store_complex(DType dtype, Token token, void *to) {
    DType part = dtype == DT_complex64 ? DT_float : DT_double;
    char *parts = to;
    memset(parts, 0, dtype_size(dtype));
    if (token.kind == TOKEN_NUMBER)
        return store_real(part, token.text, parts);
    // The sign between the parts is the last one that no exponent owns.
    Str word = {token.text.p, token.text.n - 1};
    size_t split = word.n;
    while (split > 0) {
        split--;
        char c = word.p[split];
        if ((c == '+' || c == '-') && (split == 0 || (word.p[split - 1] | 32) != 'e'))
            break;
    }
    Str imaginary = {word.p + split, word.n - split};
    if (imaginary.n && imaginary.p[0] == '+')
        imaginary = (Str){imaginary.p + 1, imaginary.n - 1};
    return store_real(part, imaginary, parts + dtype_size(part)) &&
           (split == 0 || store_real(part, (Str){word.p, split}, parts));
}

static Status *store_string(Str quoted, TString *to) {
    AUTO(text) Text text = {0};
    for (size_t i = 0; i < quoted.n; i++) {
        char c = quoted.p[i];
        if (c == '\\') {
            char escape = quoted.p[++i];
            switch (escape) {
            case 'n': c = '\n'; break;
            case 't': c = '\t'; break;
            case 'r': c = '\r'; break;
            case '0': c = '\0'; break;
            case '"': case '\\': c = escape; break;
            case 'x':
                NEED(i + 2 < quoted.n && hex_digit(quoted.p[i + 1]) >= 0 && hex_digit(quoted.p[i + 2]) >= 0,
                     INVALID_ARGUMENT, "\\x needs two hexadecimal digits");
                c = (char)(hex_digit(quoted.p[i + 1]) * 16 + hex_digit(quoted.p[i + 2]));
                i += 2;
                break;
            default: FAIL(INVALID_ARGUMENT, "unknown escape \\%c", escape);
            }
        }
        text_char(&text, c);
    }
    NEED_MEMORY(!text.failed && tstring_assign(to, text_str(&text)));
    return OK;
}

static bool store_number(DType dtype, Token token, void *to) {
    int64_t low, high;
    if (token.kind == TOKEN_BOOL || token.kind == TOKEN_NUMBER) {
        bool truth = str_is(token.text, "true") || str_is(token.text, "1");
        bool binary = truth || str_is(token.text, "false") || str_is(token.text, "0");
        if (dtype == DT_bool && binary)
            *(bool *)to = truth;
        if (dtype == DT_bool || token.kind == TOKEN_BOOL)
            return dtype == DT_bool && binary;
    }
    if (token.kind == TOKEN_STRING)
        return false;
    if (dtype_is_complex(dtype))
        return store_complex(dtype, token, to);
    if (token.kind == TOKEN_COMPLEX)
        return false;
    if (integer_range(dtype, &low, &high)) {
        bool negative;
        uint64_t magnitude;
        return parse_integer(token.text, &negative, &magnitude) &&
               store_integer(dtype, low, high, negative, magnitude, to);
    }
    return store_real(dtype, token.text, to);
}

static Status *store(const Reader *r, Token token, const Tensor *tensor, int64_t i) {
    char *to = (char *)tensor->data + (size_t)i * dtype_size(tensor->dtype);
    size_t column = (size_t)(token.text.p - r->text.p) + 1;
    if (tensor->dtype == DT_string && token.kind == TOKEN_STRING)
        return status_prefix(store_string(token.text, (TString *)to), "column %zu", column);
    NEED(tensor->dtype != DT_string && store_number(tensor->dtype, token, to), INVALID_ARGUMENT,
         "column %zu: '%.*s' is not a value of %s", column, STR_ARGS(token.text), dtype_name(tensor->dtype));
    return OK;
}

static Status *store_counted(const Reader *r, const Tensor *tensor, int64_t i, int64_t value) {
    char digits[24];
    int n = 0;
    uint64_t rest = (uint64_t)value;
    do
        digits[sizeof digits - (size_t)++n] = (char)('0' + rest % 10);
    while (rest /= 10);
    Token token = {{digits + sizeof digits - n, (size_t)n}, TOKEN_NUMBER};
    char *to = (char *)tensor->data + (size_t)i * dtype_size(tensor->dtype);
    NEED(tensor->dtype != DT_string && store_number(tensor->dtype, token, to), INVALID_ARGUMENT,
         "column %zu: %lld is not a value of %s", r->at, (long long)value, dtype_name(tensor->dtype));
    return OK;
}

static Status *store_fill(const Reader *r, const Tensor *tensor) {
    int64_t count = tensor_count(tensor);
    size_t size = dtype_size(tensor->dtype);
    if (r->fill == FILL_ZEROS) {
        // Zeroed bytes are zero, false and the empty string.
        if (tensor->dtype != DT_string)
            memset(tensor->data, 0, (size_t)count * size);
        return OK;
    }
    for (int64_t i = 0; i < count; i++) {
        bool first = i == 0 || tensor->dtype == DT_string;
        if (r->fill == FILL_IOTA)
            TRY(store_counted(r, tensor, i, i));
        else if (!first)
            memcpy((char *)tensor->data + (size_t)i * size, tensor->data, size);
        else if (r->fill == FILL_ONES)
            TRY(store_counted(r, tensor, i, 1));
        else
            TRY(store(r, r->tokens.p[0], tensor, i));
    }
    return OK;
}

Status *literal_parse(Str text, DType wanted, Tensor *out, size_t *consumed) {
    AUTO(reader) Reader r = {.text = text};
    skip_spaces(&r);
    DType dtype = dtype_find(peek_word(&r));
    if (dtype) {
        NEED_HERE(&r, !wanted || wanted == dtype, "expected %s, got %s", dtype_name(wanted), dtype_name(dtype));
        r.at += peek_word(&r).n;
    }
    if (!dtype)
        dtype = wanted;
    TRY(read_value(&r));
    if (!dtype)
        dtype = infer(&r);
    NEED_HERE(&r, !dtype_is_ref(dtype) && dtype_kind(dtype) != KIND_OBJECT, "a %s has no literal", dtype_name(dtype));
    if (!consumed) {
        skip_spaces(&r);
        NEED_HERE(&r, r.at == text.n, "text after the value");
    }
    AUTO(tensor) Tensor tensor = {0};
    TRY(tensor_new(dtype, r.shape, &tensor));
    if (r.fill)
        TRY(store_fill(&r, &tensor));
    for (size_t i = 0; !r.fill && i < r.tokens.n; i++)
        TRY(store(&r, r.tokens.p[i], &tensor, (int64_t)i));
    *out = tensor_retain(&tensor);
    if (consumed)
        *consumed = r.at;
    return OK;
}
