// Unicode — strings taken apart into code points, put together of them, and moved from one encoding to another.
//
// What is malformed is cut as Unicode recommends: the longest start of a character is one mistake, then reading goes
// on.
#include "base/vec.h"
#include "ops/string/strings.h"

typedef enum { UTF8, UTF16_BE, UTF16_LE, UTF32_BE, UTF32_LE, LATIN_1, ASCII } Encoding;
enum { MALFORMED = -1 };

typedef struct {
    Encoding in, out;
    enum { STRICT, REPLACE, IGNORE } errors;
    int32_t replacement;
    bool no_controls;        // the first 32 code points are replaced
} UnicodeOwn;

static const struct {
    const char *name;        // in capitals, without what is no letter or digit
    Encoding encoding;
} ENCODINGS[] = {
    {"UTF8", UTF8},        {"UTF16BE", UTF16_BE}, {"UTF16LE", UTF16_LE}, {"UTF32BE", UTF32_BE},  {"UTF32LE", UTF32_LE},
    {"LATIN1", LATIN_1},   {"ISO88591", LATIN_1}, {"ASCII", ASCII},      {"USASCII", ASCII},
};

static Status *find_encoding(Str name, const char *side, Encoding *out) {
    char plain[16] = {0};
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 1 < sizeof plain; i++) {
        char c = name.p[i];
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
            plain[n++] = c;
    }
    for (size_t i = 0; i < sizeof ENCODINGS / sizeof *ENCODINGS; i++)
        if (strcmp(plain, ENCODINGS[i].name) == 0) {
            *out = ENCODINGS[i].encoding;
            return OK;
        }
    FAIL(INVALID_ARGUMENT, "Could not create converter for %s encoding: %.*s", side, STR_ARGS(name));
}

static Status *unicode_prepare(Prepare *p) {
    UnicodeOwn *own = p->own;
    Str errors = node_str(p->node, "errors");
    int64_t replacement = node_int(p->node, "replacement_char");
    if (node_attr_find(p->node, "input_encoding")) {
        TRY(find_encoding(node_str(p->node, "input_encoding"), "input", &own->in));
        own->no_controls = node_bool(p->node, "replace_control_characters");
    }
    if (node_attr_find(p->node, "output_encoding"))
        TRY(find_encoding(node_str(p->node, "output_encoding"), "output", &own->out));
    NEED(replacement >= 0 && replacement <= 0x10ffff, INVALID_ARGUMENT,
         "replacement_char out of unicode codepoint range: %lld", (long long)replacement);
    own->errors = str_is(errors, "strict") ? STRICT : str_is(errors, "ignore") ? IGNORE : REPLACE;
    own->replacement = (int32_t)replacement;
    return OK;
}

// ---------------------------------------- reading

// Bytes of the character, or of the mistake, at the start. The bounds of the second byte refuse what the Unicode
// standard calls ill-formed: overlong forms (behind E0 and F0), surrogates (behind ED) and points above 10FFFF (behind
// F4).
static size_t next_utf8(const unsigned char *p, size_t left, int32_t *out) {
    int more = p[0] < 0x80 ? 0 : p[0] >= 0xc2 && p[0] < 0xe0 ? 1 : p[0] >= 0xe0 && p[0] < 0xf0 ? 2 : p[0] >= 0xf0 &&
        p[0] < 0xf5 ? 3 : -1;
    unsigned char least = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80,
        most = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    *out = MALFORMED;
    if (more < 0)
        return 1;
    int32_t point = more == 0 ? p[0] : p[0] & (0x3f >> more);
    for (int i = 1; i <= more; i++, least = 0x80, most = 0xbf) {
        if ((size_t)i >= left || p[i] < least || p[i] > most)
            return (size_t)i;
        point = point << 6 | (p[i] & 0x3f);
    }
    *out = point;
    return (size_t)more + 1;
}

static uint32_t unit_at(const unsigned char *p, int bytes, bool big) {
    uint32_t unit = 0;
    for (int i = 0; i < bytes; i++)
        unit |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
    return unit;
}

// A high surrogate must be followed by a low one; a lone one is a mistake of two bytes.
static size_t next_utf16(const unsigned char *p, size_t left, bool big, int32_t *out) {
    *out = MALFORMED;
    if (left < 2)
        return left;
    uint32_t first = unit_at(p, 2, big), second = left < 4 ? 0 : unit_at(p + 2, 2, big);
    if (first < 0xd800 || first > 0xdfff) {
        *out = (int32_t)first;
        return 2;
    }
    if (first > 0xdbff || second < 0xdc00 || second > 0xdfff)
        return left == 3 && first <= 0xdbff ? 3 : 2;
    *out = (int32_t)(0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff));
    return 4;
}

static size_t next_utf32(const unsigned char *p, size_t left, bool big, int32_t *out) {
    *out = MALFORMED;
    if (left < 4)
        return left;
    uint32_t point = unit_at(p, 4, big);
    if (point <= 0x10ffff && (point < 0xd800 || point > 0xdfff))
        *out = (int32_t)point;
    return 4;
}

static size_t next_point(Encoding encoding, Str s, int32_t *out) {
    const unsigned char *p = (const unsigned char *)s.p;
    switch (encoding) {
    case UTF8: return next_utf8(p, s.n, out);
    case UTF16_BE: return next_utf16(p, s.n, true, out);
    case UTF16_LE: return next_utf16(p, s.n, false, out);
    case UTF32_BE: return next_utf32(p, s.n, true, out);
    case UTF32_LE: return next_utf32(p, s.n, false, out);
    default: *out = encoding == ASCII && *p > 0x7f ? MALFORMED : *p; return 1;
    }
}

typedef struct {
    VEC(int32_t) points;
    VEC(int64_t) starts;     // the byte where each begins
} Points;

static void points_clear(Points *points) {
    vec_clear(&points->points);
    vec_clear(&points->starts);
}

// Behind characters that are left out the next one begins where it does.
static Status *read_points(const UnicodeOwn *own, Str s, Points *to) {
    for (size_t at = 0, n; at < s.n; at += n) {
        int32_t point;
        n = next_point(own->in, (Str){s.p + at, s.n - at}, &point);
        NEED(point != MALFORMED || own->errors != STRICT, INVALID_ARGUMENT, "Invalid formatting on input string");
        if (point == MALFORMED && own->errors == IGNORE)
            continue;
        if (point == MALFORMED || (own->no_controls && point < 32))
            point = own->replacement;
        NEED_MEMORY(vec_push(&to->points, point) && vec_push(&to->starts, (int64_t)at));
    }
    return OK;
}

// ---------------------------------------- writing

static void write_utf8(Text *to, uint32_t c) {
    if (c < 0x80) {
        text_char(to, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char MARKS[] = {0, 0xc0, 0xe0, 0xf0};
    text_char(to, (char)(MARKS[more] | c >> 6 * more));
    while (more--)
        text_char(to, (char)(0x80 | ((c >> 6 * more) & 0x3f)));
}

static void write_units(Text *to, uint32_t unit, int bytes) {
    while (bytes--)
        text_char(to, (char)(unit >> 8 * bytes));
}

static void write_point(Text *to, Encoding encoding, uint32_t c) {
    if (encoding == UTF8) {
        write_utf8(to, c);
    } else if (encoding == UTF32_BE) {
        write_units(to, c, 4);
    } else if (c < 0x10000) {
        write_units(to, c, 2);
    } else {
        write_units(to, 0xd800 + ((c - 0x10000) >> 10), 2);
        write_units(to, 0xdc00 + ((c - 0x10000) & 0x3ff), 2);
    }
}

// ---------------------------------------- ops

static Status *decode_shape(Shapes *s) {
    int64_t n = shape_count(&s->in[0]);
    s->out[0] = SHAPE(n < 0 ? UNKNOWN_DIM : n + 1);
    for (int i = 1; i < s->n_out; i++)
        s->out[i] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *put_split(const Tensor *splits, int64_t i, int64_t value) {
    NEED(splits->dtype == DT_int64 || value <= INT32_MAX, INVALID_ARGUMENT,
         "there are more characters than row_splits can count");
    if (splits->dtype == DT_int64)
        ((int64_t *)splits->data)[i] = value;
    else
        ((int32_t *)splits->data)[i] = (int32_t)value;
    return OK;
}

static Status *decode_all(Kernel *k, Points *points) {
    int64_t n = tensor_count(k->in[0]);
    TRY(kernel_output(k, 0, SHAPE(n + 1)));
    TRY(put_split(k->out[0], 0, 0));
    for (int64_t i = 0; i < n; i++) {
        TRY(read_points(k->own, string_at(k->in[0], i), points));
        TRY(put_split(k->out[0], i + 1, (int64_t)points->points.n));
    }
    for (int i = 1; i < k->n_out; i++)
        TRY(kernel_output(k, i, SHAPE((int64_t)points->points.n)));
    if (points->points.n)
        memcpy(k->out[1]->data, points->points.p, points->points.n * sizeof *points->points.p);
    if (points->points.n && k->n_out > 2)
        memcpy(k->out[2]->data, points->starts.p, points->starts.n * sizeof *points->starts.p);
    return OK;
}

static Status *decode_run(Kernel *k) {
    Points points = {0};
    Status *status = decode_all(k, &points);
    points_clear(&points);
    return status;
}

static Status *transcode_one(Kernel *k, int64_t i, Points *points, Text *text) {
    const UnicodeOwn *own = k->own;
    points->points.n = points->starts.n = 0;
    TRY(read_points(own, string_at(k->in[0], i), points));
    for (size_t j = 0; j < points->points.n; j++)
        write_point(text, own->out, (uint32_t)points->points.p[j]);
    return string_put_text(k->out[0], i, text);
}

static Status *transcode_run(Kernel *k) {
    Points points = {0};
    Text text = {0};
    Status *status = OK;
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n && !status; i++)
        status = transcode_one(k, i, &points, &text);
    points_clear(&points);
    text_clear(&text);
    return status;
}

static Status *encode_shape(Shapes *s) {
    int64_t n = s->in[1].rank < 0 ? UNKNOWN_DIM : s->in[1].dims[0];
    NEED(n != 0, INVALID_ARGUMENT, "Input_splits should contain elements");
    s->out[0] = SHAPE(n < 0 ? UNKNOWN_DIM : n - 1);
    return OK;
}

static Status *encode_row(Kernel *k, int64_t first, int64_t last, Text *text) {
    const UnicodeOwn *own = k->own;
    for (int64_t j = first; j < last; j++) {
        int32_t point = ((const int32_t *)k->in[0]->data)[j];
        bool good = point >= 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        NEED(good || own->errors != STRICT, INVALID_ARGUMENT,
             "Code point is out of range for Unicode, or is a surrogate.");
        if (good || own->errors == REPLACE)
            write_point(text, own->out, (uint32_t)(good ? point : own->replacement));
    }
    return OK;
}

static Status *encode_run(Kernel *k) {
    const Tensor *splits = k->in[1];
    int64_t n = tensor_count(splits), points = tensor_count(k->in[0]);
    AUTO(text) Text text = {0};
    NEED(tensor_int(splits, 0) == 0, INVALID_ARGUMENT, "First value in input_splits must be zero.");
    NEED(tensor_int(splits, n - 1) == points, INVALID_ARGUMENT,
         "Last value in input_splits must be equal to length of input_tensor.");
    for (int64_t i = 1; i < n; i++) {
        int64_t first = tensor_int(splits, i - 1), last = tensor_int(splits, i);
        NEED(first <= last && last <= points, INVALID_ARGUMENT,
             "Values in input_splits must be equal or in ascending order.");
        TRY(encode_row(k, first, last, &text));
        TRY(string_put_text(k->out[0], i - 1, &text));
    }
    return OK;
}

#define ERRORS(a, b, c) "errors: {\"" a "\", \"" b "\", \"" c "\"} = \"replace\"; "
#define READING "input_encoding: string; "
#define REPLACING "replacement_char: int = 65533"
#define CONTROLS "; replace_control_characters: bool = false"
const Op op_UnicodeDecode = {
    .signature = "UnicodeDecode(input: string) -> row_splits: Tsplits, char_values: int32; " READING ERRORS("strict",
                 "replace", "ignore") REPLACING CONTROLS "; Tsplits: {int32, int64} = int64",
    .doc = "The code points of each string.", .prepare = unicode_prepare, .own_size = sizeof(UnicodeOwn),
    .cpu = ANY_TYPE(decode_run), .shape = decode_shape, .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_UnicodeDecodeWithOffsets = {
    .signature = "UnicodeDecodeWithOffsets(input: string) -> row_splits: Tsplits, char_values: int32, "
                 "char_to_byte_starts: int64; " READING ERRORS("strict", "replace", "ignore") REPLACING CONTROLS "; "
                 "Tsplits: {int32, int64} = int64",
    .doc = "The code points of each string, and the byte where each begins.", .prepare = unicode_prepare,
    .own_size = sizeof(UnicodeOwn), .cpu = ANY_TYPE(decode_run), .shape = decode_shape,
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_UnicodeTranscode = {
    .signature = "UnicodeTranscode(input: string) -> output: string; " READING "output_encoding: {\"UTF-8\", "
                 "\"UTF-16-BE\", \"UTF-32-BE\"}; " ERRORS("strict", "replace", "ignore") REPLACING CONTROLS,
    .doc = "Strings in another encoding.", .prepare = unicode_prepare, .own_size = sizeof(UnicodeOwn),
    .cpu = ANY_TYPE(transcode_run), .shape = shape_unchanged, .flags = OP_NO_GRADIENT,
};
const Op op_UnicodeEncode = {
    .signature = "UnicodeEncode(input_values: int32, input_splits: Tsplits) -> output: string; " ERRORS("ignore",
                 "replace", "strict") "output_encoding: {\"UTF-8\", \"UTF-16-BE\", \"UTF-32-BE\"}; " REPLACING
    "; Tsplits: {int32, int64} = int64",
    .doc = "Strings of the code points of each row.", .prepare = unicode_prepare, .own_size = sizeof(UnicodeOwn),
    .cpu = ANY_TYPE(encode_run), .needs = "vector(input_values), vector(input_splits)", .shape = encode_shape,
    .flags = OP_NO_GRADIENT,
};
