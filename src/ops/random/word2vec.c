// Skipgram, NegTrain — TensorFlow's first word2vec: examples out of a text, and a step of training with negative samples.
#include <ctype.h>
#include <stdlib.h>

#include "base/map.h"
#include "file/disk.h"
#include "ops/random/sampler.h"

// ---------------------------------------- the text as numbers

typedef struct {
    Str text;
    int32_t count, id;
} Word;

enum { EXAMPLES = 3000, SENTENCE = 1000, UNKNOWN_WORD = 0 };

typedef struct {
    int32_t example, label;
} Pair;

typedef struct {
    Mutex lock;
    Numbers numbers;             // guarded by lock, as is all that follows
    Tensor words, counts;        // of the vocabulary, the most frequent first; 0 stands for all that are rare
    int32_t *corpus;
    int64_t n;                   // words of the corpus
    int64_t window;
    float subsample;
    int32_t sentence[SENTENCE];
    Pair pairs[EXAMPLES];
    int64_t next_pair, at;       // the pair that comes next; the corpus' place behind the sentence
    int64_t word, label, labels_end;
    int64_t processed;
    int32_t epoch;
} Skipgram;

static bool next_word(Str text, size_t *at, Str *out) {
    while (*at < text.n && isspace((unsigned char)text.p[*at]))
        (*at)++;
    size_t first = *at;
    while (*at < text.n && !isspace((unsigned char)text.p[*at]))
        (*at)++;
    *out = (Str){text.p + first, *at - first};
    return out->n > 0;
}

static int more_frequent(const void *a, const void *b) {
    const Word *x = *(Word *const *)a, *y = *(Word *const *)b;
    return x->count != y->count ? (x->count > y->count ? -1 : 1) : str_compare(x->text, y->text);
}

typedef struct {
    Arena arena;
    Map map;                     // Str -> Word *
    VEC(Word *) words;
    int64_t n;
} Counting;

static Status *count_words(Counting *c, Str text) {
    Str word;
    for (size_t at = 0; next_word(text, &at, &word);) {
        Word *known = map_find(&c->map, word);
        if (!known) {
            known = ARENA_NEW(&c->arena, Word);
            NEED_MEMORY(known && vec_reserve(&c->words, c->words.n + 1));
            *known = (Word){.text = word};
            NEED_MEMORY(map_set(&c->map, word, known));
            c->words.p[c->words.n++] = known;
        }
        NEED(known->count < INT32_MAX, INVALID_ARGUMENT, "'%.*s' is there too often", STR_ARGS(word));
        known->count++;
        c->n++;
    }
    return OK;
}

// Words that are there often enough get numbers; the tables of words and counts are made.
static Status *make_vocabulary(Skipgram *s, Counting *c, int64_t min_count) {
    size_t kept = 0;
    int64_t counted = 0;
    for (size_t i = 0; i < c->words.n; i++)
        if (c->words.p[i]->count >= min_count)
            c->words.p[kept++] = c->words.p[i];
    if (kept > 1)
        qsort(c->words.p, kept, sizeof *c->words.p, more_frequent);
    NEED(kept < INT32_MAX, INVALID_ARGUMENT, "the vocabulary is too large");
    TRY(tensor_new(DT_string, SHAPE((int64_t)kept + 1), &s->words));
    TRY(tensor_new(DT_int32, SHAPE((int64_t)kept + 1), &s->counts));
    TString *texts = s->words.data;
    int32_t *counts = s->counts.data;
    NEED_MEMORY(tstring_assign(&texts[UNKNOWN_WORD], STR("UNK")));
    for (size_t i = 0; i < kept; i++) {
        c->words.p[i]->id = (int32_t)i + 1;
        NEED_MEMORY(tstring_assign(&texts[i + 1], c->words.p[i]->text));
        counts[i + 1] = c->words.p[i]->count;
        counted += counts[i + 1];
    }
    counts[UNKNOWN_WORD] = (int32_t)min_i64(c->n - counted, INT32_MAX);
    return OK;
}

static Status *read_corpus(Skipgram *s, Counting *c, const Node *node) {
    AUTO(text) Text bytes = {0};
    Str filename = node_str(node, "filename"), word;
    TRY(disk_read(filename, &bytes));
    TRY(count_words(c, text_str(&bytes)));
    NEED(c->n >= s->window * 10, INVALID_ARGUMENT, "The text file %.*s contains too little data: %lld words",
         STR_ARGS(filename), (long long)c->n);
    TRY(make_vocabulary(s, c, node_int(node, "min_count")));
    s->n = c->n;
    s->corpus = calloc((size_t)c->n + 1, sizeof *s->corpus);
    NEED_MEMORY(s->corpus);
    int64_t i = 0;
    for (size_t at = 0; next_word(text_str(&bytes), &at, &word) && i < c->n; i++)
        s->corpus[i] = ((const Word *)map_find(&c->map, word))->id;
    return OK;
}

static void close_skipgram(void *state) {
    Skipgram *s = state;
    tensor_clear(&s->words);
    tensor_clear(&s->counts);
    free(s->corpus);
    mutex_clear(&s->lock);
}

static Status *open_skipgram(Opening *o) {
    Skipgram *s = o->state;
    Counting counting = {0};
    mutex_init(&s->lock);
    s->numbers.philox = philox_seeded(stream_system_seed(), stream_system_seed());
    s->window = node_int(o->node, "window_size");
    s->subsample = node_float(o->node, "subsample");
    NEED(s->window > 0 && s->window <= INT32_MAX && node_int(o->node, "batch_size") >= 0, INVALID_ARGUMENT,
         "window_size and batch_size must be positive");
    Status *status = read_corpus(s, &counting, o->node);
    s->at = s->n;
    s->word = SENTENCE;
    s->next_pair = EXAMPLES;
    map_clear(&counting.map);
    vec_clear(&counting.words);
    arena_clear(&counting.arena);
    return status;
}

// ---------------------------------------- examples

// Frequent words are left out now and then: equation 5 of Mikolov et al. (2013).
static bool keeps_word(Skipgram *s, int32_t id) {
    if (!(s->subsample > 0))
        return true;
    double count = ((const int32_t *)s->counts.data)[id], scale = (double)s->subsample * (double)s->n;
    return numbers_double(&s->numbers) <= (sqrt(count / scale) + 1) * scale / count;
}

static Status *next_sentence(Kernel *k, Skipgram *s) {
    for (int64_t i = 0, tries = 0; i < SENTENCE; s->at++) {
        if (++tries % (1 << 16) == 0)
            TRY(context_check(k->step));
        if (s->at >= s->n) {
            s->epoch++;
            s->at = 0;
        }
        if (keeps_word(s, s->corpus[s->at]))
            s->sentence[i++] = s->corpus[s->at];
    }
    return OK;
}

static Status *next_example(Kernel *k, Skipgram *s, Pair *out) {
    for (;; s->label++) {
        if (s->label >= s->labels_end) {
            s->processed++;
            if (++s->word >= SENTENCE) {
                s->word = 0;
                TRY(next_sentence(k, s));
            }
            int64_t reach = 1 + (int64_t)numbers_below64(&s->numbers, (uint64_t)s->window);
            s->label = max_i64(0, s->word - reach);
            s->labels_end = min_i64(SENTENCE, s->word + reach + 1);
        }
        if (s->label != s->word)
            break;
    }
    *out = (Pair){s->sentence[s->word], s->sentence[s->label++]};
    return OK;
}

static Status *put_examples(Kernel *k, Skipgram *s) {
    int64_t n = tensor_count(k->out[5]);
    for (int64_t i = 0; i < n; i++) {
        if (s->next_pair >= EXAMPLES) {
            for (int j = 0; j < EXAMPLES; j++)
                TRY(next_example(k, s, &s->pairs[j]));
            s->next_pair = 0;
        }
        ((int32_t *)k->out[5]->data)[i] = s->pairs[s->next_pair].example;
        ((int32_t *)k->out[6]->data)[i] = s->pairs[s->next_pair++].label;
    }
    *(int64_t *)k->out[2]->data = s->n;
    *(int32_t *)k->out[3]->data = s->epoch;
    *(int64_t *)k->out[4]->data = s->processed;
    return OK;
}

static Status *skipgram_run(Kernel *k) {
    Skipgram *s = k->state;
    NEED(s, FAILED_PRECONDITION, "examples of a text need a session to live in");
    for (int i = 2; i < 5; i++)
        TRY(kernel_output(k, i, SCALAR_SHAPE));
    for (int i = 5; i < 7; i++)
        TRY(kernel_output(k, i, SHAPE(node_int(k->node, "batch_size"))));
    mutex_lock(&s->lock);
    Status *status = put_examples(k, s);
    mutex_unlock(&s->lock);
    if (!status) {
        kernel_set_output(k, 0, tensor_retain(&s->words));
        kernel_set_output(k, 1, tensor_retain(&s->counts));
    }
    return status;
}

static Status *skipgram_shape(Shapes *s) {
    for (int i = 0; i < 7; i++)
        s->out[i] = i >= 2 && i < 5 ? SCALAR_SHAPE : SHAPE(UNKNOWN_DIM);
    return OK;
}

const Op op_Skipgram = {
    .signature = "Skipgram() -> vocab_word: string, vocab_freq: int32, words_per_epoch: int64, current_epoch: int32, "
                 "total_words_processed: int64, examples: int32, labels: int32; filename: string; batch_size: int; "
                 "window_size: int = 5; min_count: int = 5; subsample: float = 0.001; stateful; deprecated(19, \"no op "
                 "takes its place\")",
    .doc = "Pairs of a word and one near it out of a text, and the text's vocabulary.", .shape = skipgram_shape,
    .open = open_skipgram, .close = close_skipgram, .state_size = sizeof(Skipgram), .cpu = ANY_TYPE(skipgram_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- NegTrain

typedef struct {
    Mutex lock;
    Numbers numbers;             // guarded by lock
    Weights weights;
} Negatives;

static void close_negatives(void *state) {
    Negatives *s = state;
    weights_clear(&s->weights);
    mutex_clear(&s->lock);
}

static Status *open_negatives(Opening *o) {
    Negatives *s = o->state;
    const AttrValue *counts = node_list(o->node, "vocab_count");
    mutex_init(&s->lock);
    s->numbers.philox = philox_seeded(stream_system_seed(), stream_system_seed());
    s->weights.n = counts->n;
    NEED(counts->n > 0, INVALID_ARGUMENT, "vocab_count must not be empty");
    s->weights.weights = calloc((size_t)counts->n, sizeof *s->weights.weights);
    NEED_MEMORY(s->weights.weights);
    for (int i = 0; i < counts->n; i++)
        s->weights.weights[i] = powf((float)counts->is[i], 0.75f);
    return weights_open(&s->weights);
}

// v and w move along each other by the slope of log(sigmoid(sign * v.w)); v's part is added to `sum`.
static void pull(const float *v, float *w, float sign, float rate, int64_t n, float *sum) {
    float dot = 0;
    for (int64_t i = 0; i < n; i++)
        dot += v[i] * w[i];
    float step = sign / (expf(sign * dot) + 1) * rate;
    for (int64_t i = 0; i < n; i++) {
        sum[i] += w[i] * step;
        w[i] += v[i] * step;
    }
}

static Status *check_ids(const Tensor *ids, const char *what, int64_t limit) {
    for (int64_t i = 0; i < tensor_count(ids); i++)
        if (tensor_int(ids, i) < 0 || tensor_int(ids, i) >= limit)
            KERNEL_INDEX_ERROR(what, i, tensor_int(ids, i), limit);
    return OK;
}

static Status *train_run(Kernel *k) {
    Negatives *s = k->state;
    NEED(s, FAILED_PRECONDITION, "negative samples need a session to live in");
    int64_t words = k->in[0]->shape.dims[0], n = k->in[0]->shape.dims[1], batch = tensor_count(k->in[2]);
    int64_t negatives = node_int(k->node, "num_negative_samples");
    float rate = *(const float *)k->in[4]->data, *sum = k->scratch;
    NEED(words == s->weights.n, INVALID_ARGUMENT, "vocab_size mismatches: %lld vs. %lld", (long long)words,
         (long long)s->weights.n);
    TRY(check_ids(k->in[2], "examples", words));
    TRY(check_ids(k->in[3], "labels", words));
    for (int64_t i = 0; i < batch; i++) {
        float *v = (float *)k->in[0]->data + tensor_int(k->in[2], i) * n, *out = k->in[1]->data;
        int64_t label = tensor_int(k->in[3], i);
        TRY(context_check(k->step));
        memset(sum, 0, (size_t)n * sizeof *sum);
        pull(v, out + label * n, 1, rate, n, sum);
        for (int64_t j = 0; j < negatives; j++) {
            mutex_lock(&s->lock);
            int64_t sample = weights_draw(&s->weights, &s->numbers);
            mutex_unlock(&s->lock);
            if (sample != label)
                pull(v, out + sample * n, -1, rate, n, sum);
        }
        for (int64_t d = 0; d < n; d++)
            v[d] += sum[d];
    }
    return OK;
}

static Status *train_prepare(Prepare *p) {
    p->scratch = (size_t)p->in[0]->shape.dims[1] * sizeof(float);
    p->cost = shape_count(&p->in[2]->shape) * p->in[0]->shape.dims[1] * (node_int(p->node, "num_negative_samples") + 1);
    return OK;
}

const Op op_NegTrain = {
    .signature = "NegTrain(w_in: ref float, w_out: ref float, examples: int32, labels: int32, lr: float); vocab_count: "
                 "list(int); num_negative_samples: int; stateful; deprecated(19, \"no op takes its place\")",
    .doc = "A step of word2vec: examples and labels pull each other, examples and words drawn by chance push.",
    .needs = "matrix(w_in), same_shape(w_in, w_out), vector(examples), same_shape(examples, labels), scalar(lr)",
    .shape = shape_none, .prepare = train_prepare, .open = open_negatives, .close = close_negatives,
    .state_size = sizeof(Negatives), .cpu = ANY_TYPE(train_run), .update = BIT(0) | BIT(1), .flags = OP_NO_GRADIENT,
};
