// Text — joining, cutting, measuring and changing the case of strings.
#define _GNU_SOURCE
#include <locale.h>
#include <pthread.h>
#include <wctype.h>

#include "ops/string/strings.h"

// ---------------------------------------- characters

size_t utf8_length(const char *p, size_t left) {
    unsigned char first = (unsigned char)*p;
    size_t n = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (n > left)
        return 1;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 1;
    return n;
}

// Bytes that don't go on with a character.
static int64_t utf8_count(Str s) {
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

typedef struct {
    bool characters;  // unit is UTF8_CHAR, not BYTE
} UnitOwn;

static Status *unit_prepare(Prepare *p) {
    ((UnitOwn *)p->own)->characters = str_is(node_str(p->node, "unit"), "UTF8_CHAR");
    return OK;
}

// ---------------------------------------- StringJoin

static Status *join_shape(Shapes *s) {
    Shape shape = SCALAR_SHAPE;
    bool open = false;
    for (int i = 0; i < s->n_in; i++) {
        if (s->in[i].rank == 0)
            continue;
        open |= s->in[i].rank < 0;
        if (s->in[i].rank > 0)
            TRY(shape.rank == 0 ? (shape = s->in[i], OK) : shape_merge(&shape, &s->in[i], &shape));
    }
    s->out[0] = open && shape.rank == 0 ? UNKNOWN_SHAPE : shape;
    return OK;
}

typedef struct {
    Str separator;
} JoinOwn;

static Status *join_prepare(Prepare *p) {
    ((JoinOwn *)p->own)->separator = node_str(p->node, "separator");
    return OK;
}

static Status *join_run(Kernel *k) {
    Str separator = ((const JoinOwn *)k->own)->separator;
    AUTO(text) Text text = {0};
    for (int64_t j = 0, n = tensor_count(k->out[0]); j < n; j++) {
        for (int i = 0; i < k->n_in; i++) {
            if (i)
                text_add(&text, separator);
            text_add(&text, string_at(k->in[i], k->in[i]->shape.rank == 0 ? 0 : j));
        }
        TRY(string_put_text(k->out[0], j, &text));
    }
    return OK;
}

const Op op_StringJoin = {
    .signature = "StringJoin(inputs: N * string) -> output: string; N: int >= 0; separator: string = \"\"",
    .doc = "The strings of the inputs, element by element, one behind the other; scalars stand for all.",
    .shape = join_shape, .prepare = join_prepare, .own_size = sizeof(JoinOwn), .cpu = ANY_TYPE(join_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- ReduceJoin

typedef struct {
    Str separator;
    bool keep;
    int n_axes, axes[MAX_RANK];
} ReduceOwn;

static Status *read_axes(const Tensor *value, int rank, int *out_n, int *axes) {
    int64_t n = tensor_count(value);
    uint32_t seen = 0;
    NEED(n <= rank, INVALID_ARGUMENT, "%lld reduction indices for a tensor of rank %d", (long long)n, rank);
    for (int64_t i = 0; i < n; i++) {
        TRY(shape_axis(tensor_int(value, i), rank, &axes[i]));
        NEED(!(seen & BIT(axes[i])), INVALID_ARGUMENT, "Duplicate reduction dimension %d", axes[i]);
        seen |= BIT(axes[i]);
    }
    *out_n = (int)n;
    return OK;
}

static Status *reduce_shape(Shapes *s) {
    bool keep = node_bool(s->node, "keep_dims");
    const Shape *in = &s->in[0];
    if (!s->value[1] || in->rank < 0)
        return OK;
    int n, axes[MAX_RANK];
    TRY(read_axes(s->value[1], in->rank, &n, axes));
    uint32_t bits = 0;
    for (int i = 0; i < n; i++)
        bits |= BIT(axes[i]);
    Shape out = {.rank = 0};
    for (int i = 0; i < in->rank; i++) {
        if (!(bits & BIT(i)))
            out.dims[out.rank++] = in->dims[i];
        else if (keep)
            out.dims[out.rank++] = 1;
    }
    s->out[0] = out;
    return OK;
}

static Status *reduce_prepare(Prepare *p) {
    ReduceOwn *own = p->own;
    own->separator = node_str(p->node, "separator");
    NEED(p->in[1]->data, FAILED_PRECONDITION, "the reduction indices are not known yet");
    return read_axes(p->in[1], p->in[0]->shape.rank, &own->n_axes, own->axes);
}

// As one axis after the other, in the order in which they were named: the first varies fastest.
static Status *reduce_run(Kernel *k) {
    const ReduceOwn *own = k->own;
    const Shape *in = &k->in[0]->shape;
    int64_t steps[MAX_RANK], dims[MAX_RANK], walk_steps[MAX_RANK], walk_dims[MAX_RANK], joined = 1;
    int kept = 0;
    uint32_t bits = 0;
    for (int i = 0; i < own->n_axes; i++) {
        bits |= BIT(own->axes[i]);
        walk_dims[i] = in->dims[own->axes[i]];
        walk_steps[i] = shape_span(in, own->axes[i] + 1, in->rank);
        joined *= walk_dims[i];
    }
    for (int i = 0; i < in->rank; i++) {
        if (bits & BIT(i))
            continue;
        dims[kept] = in->dims[i];
        steps[kept++] = shape_span(in, i + 1, in->rank);
    }
    AUTO(text) Text text = {0};
    for (int64_t j = 0, n = tensor_count(k->out[0]); j < n; j++) {
        int64_t base = 0, rest = j;
        for (int i = kept - 1; i >= 0; i--) {
            base += rest % dims[i] * steps[i];
            rest /= dims[i];
        }
        for (int64_t w = 0; w < joined; w++) {
            int64_t at = base;
            rest = w;
            for (int i = 0; i < own->n_axes; i++) {
                at += rest % walk_dims[i] * walk_steps[i];
                rest /= walk_dims[i];
            }
            if (w)
                text_add(&text, own->separator);
            text_add(&text, string_at(k->in[0], at));
        }
        TRY(string_put_text(k->out[0], j, &text));
    }
    return OK;
}

const Op op_ReduceJoin = {
    .signature = "ReduceJoin(inputs: string, reduction_indices: int32) -> output: string; keep_dims: bool = false; "
                 "separator: string = \"\"",
    .doc = "Joins the strings along dimensions, in the order in which these are named.",
    .needs = "scalar_or_vector(reduction_indices)", .shape = reduce_shape, .prepare = reduce_prepare,
    .own_size = sizeof(ReduceOwn), .cpu = ANY_TYPE(reduce_run), .host = BIT(1), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- lengths and parts

static Status *length_run(Kernel *k) {
    bool characters = ((const UnitOwn *)k->own)->characters;
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        Str s = string_at(k->in[0], i);
        int64_t length = characters ? utf8_count(s) : (int64_t)s.n;
        ((int32_t *)k->out[0]->data)[i] = (int32_t)min_i64(length, INT32_MAX);
    }
    return OK;
}

const Op op_StringLength = {
    .signature = "StringLength(input: string) -> output: int32; unit: {\"BYTE\", \"UTF8_CHAR\"} = \"BYTE\"",
    .doc = "How long each string is.", .shape = shape_unchanged, .prepare = unit_prepare, .own_size = sizeof(UnitOwn),
    .cpu = ANY_TYPE(length_run), .flags = OP_NO_GRADIENT,
};

static Status *substr_shape(Shapes *s) {
    Shape position;
    TRY(shape_merge(&s->in[1], &s->in[2], &position));
    return shape_broadcast(&s->in[0], &position, &s->out[0]);
}

// The element of a broadcast input that belongs to element j of the output.
static int64_t broadcast_index(const Shape *in, const Shape *out, int64_t j) {
    int64_t index = 0, step = 1;
    for (int i = 1; i <= out->rank; i++) {
        int64_t at = j % out->dims[out->rank - i];
        j /= out->dims[out->rank - i];
        if (i <= in->rank) {
            index += in->dims[in->rank - i] == 1 ? 0 : at * step;
            step *= in->dims[in->rank - i];
        }
    }
    return index;
}

// Where character `n` begins; the end for the one behind the last.
static size_t character_at(Str s, int64_t n) {
    size_t at = 0;
    while (n-- > 0 && at < s.n)
        at += utf8_length(s.p + at, s.n - at);
    return at;
}

static Status *substr_run(Kernel *k) {
    bool characters = ((const UnitOwn *)k->own)->characters;
    const Shape *out = &k->out[0]->shape;
    for (int64_t j = 0, n = tensor_count(k->out[0]); j < n; j++) {
        int64_t at = broadcast_index(&k->in[1]->shape, out, j);
        Str s = string_at(k->in[0], broadcast_index(&k->in[0]->shape, out, j));
        int64_t pos = tensor_int(k->in[1], at), len = max_i64(tensor_int(k->in[2], at), 0);
        int64_t size = characters ? utf8_count(s) : (int64_t)s.n;
        int64_t from = pos < 0 ? pos + size : pos;
        NEED(from >= 0 && from <= size, INVALID_ARGUMENT, "pos %lld out of range for string b'%.*s' at index %lld",
             (long long)pos, STR_ARGS(s), (long long)j);
        len = min_i64(len, size - from);
        size_t first = characters ? character_at(s, from) : (size_t)from;
        Str rest = {s.p + first, s.n - first};
        TRY(string_put(k->out[0], j, (Str){rest.p, characters ? character_at(rest, len) : (size_t)len}));
    }
    return OK;
}

const Op op_Substr = {
    .signature = "Substr(input: string, pos: T, len: T) -> output: string; T: {int32, int64}; unit: {\"BYTE\", "
                 "\"UTF8_CHAR\"} = \"BYTE\"",
    .doc = "A part of each string; a negative position counts from the end.", .needs = "same_shape(pos, len)",
    .shape = substr_shape, .prepare = unit_prepare, .own_size = sizeof(UnitOwn), .cpu = ANY_TYPE(substr_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- cases and spaces

static locale_t unicode;
static pthread_once_t unicode_once = PTHREAD_ONCE_INIT;

static void make_unicode(void) {
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

typedef struct {
    bool utf8;
} CaseOwn;

static Status *case_prepare(Prepare *p) {
    Str encoding = node_str(p->node, "encoding");
    bool utf8 = str_is(encoding, "utf-8");
    NEED(!encoding.n || utf8, INVALID_ARGUMENT, "only utf-8 or '' (no encoding) is supported, received encoding '%.*s'",
         STR_ARGS(encoding));
    ((CaseOwn *)p->own)->utf8 = utf8;
    return OK;
}

static uint32_t decode(const char *p, size_t n) {
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)*p & mask[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

static void encode(Text *out, uint32_t c) {
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    text_char(out, (char)(lead[n] | c >> (6 * (n - 1))));
    for (int i = n - 2; i >= 0; i--)
        text_char(out, (char)(0x80 | ((c >> (6 * i)) & 0x3f)));
}

static void change_case(Str s, bool utf8, bool upper, Text *out) {
    for (size_t i = 0; i < s.n;) {
        size_t n = utf8 ? utf8_length(s.p + i, s.n - i) : 1;
        char c = s.p[i];
        uint32_t point = n > 1 ? decode(s.p + i, n) : 0;
        if (upper && point == 0xdf) {  // the one common letter whose capital is two
            text_add(out, STR("SS"));
        } else if (n > 1) {
            encode(out, (uint32_t)(upper ? towupper_l((wint_t)point, unicode) : towlower_l((wint_t)point, unicode)));
        } else if (upper) {
            text_char(out, c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
        } else {
            text_char(out, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
        }
        i += n;
    }
}

static Status *case_run(Kernel *k, bool upper) {
    bool utf8 = ((const CaseOwn *)k->own)->utf8;
    if (utf8) {
        pthread_once(&unicode_once, make_unicode);
        NEED(unicode, UNIMPLEMENTED, "the system has no locale C.UTF-8, which tells the cases of letters");
    }
    AUTO(text) Text text = {0};
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        change_case(string_at(k->in[0], i), utf8, upper, &text);
        TRY(string_put_text(k->out[0], i, &text));
    }
    return OK;
}

static Status *lower_run(Kernel *k) {
    return case_run(k, false);
}

static Status *upper_run(Kernel *k) {
    return case_run(k, true);
}

const Op op_StringLower = {
    .signature = "StringLower(input: string) -> output: string; encoding: string = \"\"",
    .doc = "Capital letters become small ones: those of ASCII, or of Unicode.", .shape = shape_unchanged,
    .prepare = case_prepare, .own_size = sizeof(CaseOwn), .cpu = ANY_TYPE(lower_run), .flags = OP_NO_GRADIENT,
};
const Op op_StringUpper = {
    .signature = "StringUpper(input: string) -> output: string; encoding: string = \"\"",
    .doc = "Small letters become capital ones: those of ASCII, or of Unicode.", .shape = shape_unchanged,
    .prepare = case_prepare, .own_size = sizeof(CaseOwn), .cpu = ANY_TYPE(upper_run), .flags = OP_NO_GRADIENT,
};

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static Status *strip_run(Kernel *k) {
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        Str s = string_at(k->in[0], i);
        while (s.n && is_space(s.p[0]))
            s = (Str){s.p + 1, s.n - 1};
        while (s.n && is_space(s.p[s.n - 1]))
            s.n--;
        TRY(string_put(k->out[0], i, s));
    }
    return OK;
}

const Op op_StringStrip = {
    .signature = "StringStrip(input: string) -> output: string", .doc = "Strings without the spaces at their ends.",
    .shape = shape_unchanged, .cpu = ANY_TYPE(strip_run), .flags = OP_NO_GRADIENT,
};
