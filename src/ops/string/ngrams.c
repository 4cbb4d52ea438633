// StringNGrams — runs of words of each row of a ragged tensor, joined, as rows of another one.
#include "ops/string/strings.h"

typedef struct {
    Str separator, left, right;
    const int64_t *widths;
    int64_t n_widths, pad;    // words added at either end; < 0: as many as a width allows
    bool keep_short;          // a row too short for every width is one run
} NGramsOwn;

static Status *ngrams_prepare(Prepare *p) {
    NGramsOwn *own = p->own;
    const AttrValue *widths = node_attr_find(p->node, "ngram_widths");
    *own = (NGramsOwn){node_str(p->node, "separator"), node_str(p->node, "left_pad"), node_str(p->node, "right_pad"),
                       widths->is, widths->n, node_int(p->node, "pad_width"),
                       node_bool(p->node, "preserve_short_sequences")};
    for (int64_t i = 0; i < own->n_widths; i++)
        NEED(own->widths[i] >= 1, INVALID_ARGUMENT, "ngram_widths must be positive, got %lld",
             (long long)own->widths[i]);
    return OK;
}

static Status *ngrams_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM);
    s->out[1] = s->in[1];
    return OK;
}

static int64_t pad_of(const NGramsOwn *own, int64_t width) {
    return own->pad < 0 ? width - 1 : min_i64(own->pad, width - 1);
}

// Runs of a row of `n` words.
static Status *count_runs(const NGramsOwn *own, int64_t n, int64_t *out) {
    *out = 0;
    for (int64_t i = 0; i < own->n_widths; i++) {
        int64_t padded;
        NEED(!__builtin_mul_overflow(pad_of(own, own->widths[i]), 2, &padded) && add_i64(padded, n, &padded) &&
                 add_i64(*out, max_i64(0, padded - own->widths[i] + 1), out),
             INVALID_ARGUMENT, "Pad width could lead to integer overflow, got pad_width = %lld", (long long)own->pad);
    }
    if (*out || !own->keep_short || !n)
        return OK;
    NEED(own->pad >= 0, INVALID_ARGUMENT, "Pad width should be >= 0 when preserve_short_sequences is True and "
         "ngram_widths are not provided, got %lld", (long long)own->pad);
    *out = 1;
    return OK;
}

static void add_word(Text *run, Str separator, Str word, bool first) {
    if (!first)
        text_add(run, separator);
    text_add(run, word);
}

// `left` and `right` words of padding around `n` words of the row.
static void write_run(const NGramsOwn *own, const Tensor *words, int64_t at, int64_t left, int64_t n, int64_t right,
                      Text *run) {
    bool first = true;
    for (int64_t i = 0; i < left && !run->failed; i++, first = false)
        add_word(run, own->separator, own->left, first);
    for (int64_t i = 0; i < n; i++, first = false)
        add_word(run, own->separator, string_at(words, at + i), first);
    for (int64_t i = 0; i < right && !run->failed; i++, first = false)
        add_word(run, own->separator, own->right, first);
}

static Status *runs_of_row(Kernel *k, int64_t at, int64_t n, int64_t *to, Text *run) {
    const NGramsOwn *own = k->own;
    int64_t start = *to;
    for (int64_t w = 0; w < own->n_widths; w++) {
        int64_t width = own->widths[w], pad = pad_of(own, width), runs = max_i64(0, n + 2 * pad - width + 1);
        for (int64_t i = 0; i < runs; i++, ++*to) {
            int64_t left = max_i64(0, pad - i), right = max_i64(0, pad - (runs - i - 1));
            write_run(own, k->in[0], at + max_i64(0, i - pad), left, width - left - right, right, run);
            TRY(string_put_text(k->out[0], *to, run));
        }
    }
    if (*to > start || !own->keep_short || !n)
        return OK;
    write_run(own, k->in[0], at, own->pad, n, own->pad, run);
    return string_put_text(k->out[0], (*to)++, run);
}

static Status *check_splits(const Tensor *splits, int64_t n, int64_t words) {
    NEED(n == 0 || tensor_int(splits, 0) == 0, INVALID_ARGUMENT, "First split value must be 0, got %lld",
         (long long)tensor_int(splits, 0));
    for (int64_t i = 1; i < n; i++)
        NEED(tensor_int(splits, i) >= tensor_int(splits, i - 1) && tensor_int(splits, i) <= words, INVALID_ARGUMENT,
             "Invalid split value %lld, must be in [%lld, %lld]", (long long)tensor_int(splits, i),
             (long long)tensor_int(splits, i - 1), (long long)words);
    NEED(n == 0 || tensor_int(splits, n - 1) == words, INVALID_ARGUMENT,
         "Last split value must be data size. Expected %lld, got %lld",
         (long long)words, (long long)tensor_int(splits, n - 1));
    return OK;
}

static Status *ngrams_run(Kernel *k) {
    const Tensor *splits = k->in[1];
    int64_t n = tensor_count(splits), total = 0;
    TRY(check_splits(splits, n, tensor_count(k->in[0])));
    TRY(kernel_output(k, 1, splits->shape));
    for (int64_t i = 0; i < n; i++) {
        int64_t runs = 0;
        if (i > 0)
            TRY(count_runs(k->own, tensor_int(splits, i) - tensor_int(splits, i - 1), &runs));
        NEED(add_i64(total, runs, &total) && (splits->dtype == DT_int64 || total <= INT32_MAX), INVALID_ARGUMENT,
             "there are more runs than the type of data_splits can count");
        if (splits->dtype == DT_int64)
            ((int64_t *)k->out[1]->data)[i] = total;
        else
            ((int32_t *)k->out[1]->data)[i] = (int32_t)total;
    }
    TRY(kernel_output(k, 0, SHAPE(total)));
    AUTO(text) Text run = {0};
    int64_t to = 0;
    for (int64_t i = 1; i < n; i++)
        TRY(runs_of_row(k, tensor_int(splits, i - 1), tensor_int(splits, i) - tensor_int(splits, i - 1), &to, &run));
    return OK;
}

const Op op_StringNGrams = {
    .signature = "StringNGrams(data: string, data_splits: Tsplits) -> ngrams: string, ngrams_splits: Tsplits; "
                 "separator: string; ngram_widths: list(int) >= 0; left_pad: string; right_pad: string; pad_width: int; "
                 "preserve_short_sequences: bool; Tsplits: {int32, int64} = int64",
    .doc = "Runs of so many words of each row, joined.", .needs = "vector(data), vector(data_splits)",
    .shape = ngrams_shape,
    .prepare = ngrams_prepare, .own_size = sizeof(NGramsOwn), .cpu = ANY_TYPE(ngrams_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
