// Splits — strings cut into words, as a sparse matrix: one row for each string.
#include "base/vec.h"
#include "ops/string/strings.h"

typedef VEC(Str) Words;

static Status *split_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM, 2);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(2);
    return OK;
}

typedef struct {
    bool skip_empty;
    int64_t most;    // cuts; < 0: no limit
} SplitOwn;

// Any of the delimiter's characters cuts; without one, every byte is a word.
static bool split_at_any(Str s, Str delimiter, bool skip_empty, Words *words) {
    if (!delimiter.n) {
        for (size_t i = 0; i < s.n; i++)
            if (!vec_push(words, ((Str){s.p + i, 1})))
                return false;
        return true;
    }
    size_t start = 0;
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && !memchr(delimiter.p, s.p[i], delimiter.n))
            continue;
        if ((i > start || !skip_empty) && !vec_push(words, ((Str){s.p + start, i - start})))
            return false;
        start = i + 1;
    }
    return true;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool split_at_spaces(Str s, int64_t most, Words *words) {
    size_t at = 0;
    for (int64_t cuts = 0;; cuts++) {
        while (at < s.n && is_space(s.p[at]))
            at++;
        if (at == s.n)
            return true;
        size_t end = at;
        while (end < s.n && !is_space(s.p[end]))
            end++;
        if (most >= 0 && cuts == most) {
            end = s.n;
            while (is_space(s.p[end - 1]))
                end--;
        }
        if (!vec_push(words, ((Str){s.p + at, end - at})))
            return false;
        if (most >= 0 && cuts == most)
            return true;
        at = end;
    }
}

// The separator as a whole cuts; without one, runs of spaces do.
static bool split_at(Str s, Str separator, int64_t most, Words *words) {
    if (!separator.n)
        return split_at_spaces(s, most, words);
    size_t start = 0;
    for (size_t i = 0; i + separator.n <= s.n && (most < 0 || most > 0);) {
        if (memcmp(s.p + i, separator.p, separator.n) != 0) {
            i++;
            continue;
        }
        if (!vec_push(words, ((Str){s.p + start, i - start})))
            return false;
        start = i += separator.n;
        most -= most > 0;
        if (most == 0)
            break;
    }
    return vec_push(words, ((Str){s.p + start, s.n - start}));
}

static Status *put_words(Kernel *k, const Words *words, const int64_t *counts) {
    int64_t rows = tensor_count(k->in[0]), at = 0, widest = 0;
    TRY(kernel_output(k, 0, SHAPE((int64_t)words->n, 2)));
    TRY(kernel_output(k, 1, SHAPE((int64_t)words->n)));
    TRY(kernel_output(k, 2, SHAPE(2)));
    int64_t *indices = k->out[0]->data, *shape = k->out[2]->data;
    for (int64_t row = 0; row < rows; row++) {
        widest = max_i64(widest, counts[row]);
        for (int64_t column = 0; column < counts[row]; column++, at++) {
            indices[2 * at] = row;
            indices[2 * at + 1] = column;
            TRY(string_put(k->out[1], at, words->p[at]));
        }
    }
    shape[0] = rows;
    shape[1] = widest;
    return OK;
}

static Status *split_run(Kernel *k, bool second) {
    const SplitOwn *own = k->own;
    Str separator = string_at(k->in[1], 0);
    int64_t rows = tensor_count(k->in[0]);
    AUTO(arena) Arena arena = {0};
    int64_t *counts = ARENA_ARRAY(&arena, int64_t, rows);
    NEED_MEMORY(counts);
    Words words = {0};
    bool good = true;
    for (int64_t i = 0; i < rows && good; i++) {
        size_t before = words.n;
        Str s = string_at(k->in[0], i);
        good = second ? split_at(s, separator, own->most, &words) : split_at_any(s, separator, own->skip_empty, &words);
        counts[i] = (int64_t)(words.n - before);
    }
    Status *status = good ? put_words(k, &words, counts)
                          : OUT_OF_MEMORY;
    vec_clear(&words);
    return status;
}

static Status *split_1_run(Kernel *k) {
    return split_run(k, false);
}

static Status *split_2_run(Kernel *k) {
    return split_run(k, true);
}

static Status *split_1_prepare(Prepare *p) {
    ((SplitOwn *)p->own)->skip_empty = node_bool(p->node, "skip_empty");
    return OK;
}

static Status *split_2_prepare(Prepare *p) {
    ((SplitOwn *)p->own)->most = node_int(p->node, "maxsplit");
    return OK;
}

const Op op_StringSplit = {
    .signature = "StringSplit(input: string, delimiter: string) -> indices: int64, values: string, shape: int64; "
                 "skip_empty: bool = true",
    .doc = "Words between any of the delimiter's characters.", .needs = "vector(input), scalar(delimiter)",
    .shape = split_shape, .prepare = split_1_prepare, .own_size = sizeof(SplitOwn), .cpu = ANY_TYPE(split_1_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_StringSplitV2 = {
    .signature = "StringSplitV2(input: string, sep: string) -> indices: int64, values: string, shape: int64; "
                 "maxsplit: int = -1",
    .doc = "Words between separators; between spaces where there is none.", .needs = "vector(input), scalar(sep)",
    .shape = split_shape, .prepare = split_2_prepare, .own_size = sizeof(SplitOwn), .cpu = ANY_TYPE(split_2_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
