// *CandidateSampler — classes drawn to be told apart from the right ones, with how often each is to be expected; and
// ComputeAccidentalHits, which finds those that happen to be right.
#include <float.h>

#include "base/number.h"
#include "file/disk.h"
#include "loops/elementwise.h"
#include "ops/random/sampler.h"

ELEMENTWISE(Expm1);
ELEMENTWISE(Log1p);

typedef struct Candidates Candidates;

typedef struct {
    int64_t batch, n_true, n_sampled;
    bool unique;
    ElementwiseLoop log1p, expm1;
} Sampling;

// One way of drawing. `draw` gives a class in [0, range), `chances` how likely each of n classes is.
typedef struct {
    int64_t (*draw)(const Candidates *c, Numbers *numbers);
    void (*chances)(const Candidates *c, const Sampling *own, const int64_t *classes, int64_t n, float *out);
    Status *(*open)(const Node *node, Candidates *c);
    bool learns;    // counts the true classes it sees
    bool all;       // every class, once
} Way;

// Of one node in one session.
struct Candidates {
    Stream stream;      // first: stream_open and stream_take know it by its place
    const Way *way;
    int64_t range;
    double log_range;
    Weights weights;
    Mutex lock;         // guards counts while a node learns
    Counts counts;
};

// ---------------------------------------- the ways

// Class c with the chance ln((c + 2) / (c + 1)) / ln(range + 1), by inverting the distribution: classes sorted by
// frequency follow Zipf's law roughly.
static int64_t log_uniform_draw(const Candidates *c, Numbers *numbers) {
    double above = exp(numbers_double(numbers) * c->log_range);
    int64_t class = above < 0x1p63 ? (int64_t)above - 1 : INT64_MAX - 1;
    return class % c->range;    // rounding may reach the range
}
// ln((class + 2) / (class + 1)) / ln(range + 1)
static void log_uniform_chances(const Candidates *c, const Sampling *own, const int64_t *classes, int64_t n,
                                float *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(1 / ((double)classes[i] + 1));
    (void)elementwise_run(&own->log1p, out, NULL, out, n, 1, 1);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)((double)out[i] / c->log_range);
}
static const Way log_uniform = {.draw = log_uniform_draw, .chances = log_uniform_chances};

static int64_t uniform_draw(const Candidates *c, Numbers *numbers) {
    return (int64_t)numbers_below64(numbers, (uint64_t)c->range);
}
static void uniform_chances(const Candidates *c, const Sampling *own, const int64_t *classes, int64_t n, float *out) {
    (void)own, (void)classes;
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(1.0 / (double)c->range);
}
static const Way uniform = {.draw = uniform_draw, .chances = uniform_chances};
static const Way all = {.all = true};

static int64_t learned_draw(const Candidates *c, Numbers *numbers) {
    return counts_draw(&c->counts, numbers);
}
static void learned_chances(const Candidates *c, const Sampling *own, const int64_t *classes, int64_t n, float *out) {
    (void)own;
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)counts_of(&c->counts, classes[i]) / (float)c->counts.total;
}
static Status *learned_open(const Node *node, Candidates *c) {
    (void)node;
    NEED(c->range < INT32_MAX, INVALID_ARGUMENT, "range_max = %lld is too large to be counted", (long long)c->range);
    return counts_open(&c->counts, c->range);
}
static const Way learned = {.draw = learned_draw, .chances = learned_chances, .open = learned_open, .learns = true};

static int64_t fixed_draw(const Candidates *c, Numbers *numbers) {
    return weights_draw(&c->weights, numbers);
}
static void fixed_chances(const Candidates *c, const Sampling *own, const int64_t *classes, int64_t n, float *out) {
    (void)own;
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)((double)c->weights.weights[classes[i]] / c->weights.total);
}

// ---------------------------------------- weights from an attribute or a file

enum { MOST_RESERVED = 1 << 26 };  // classes without a weight that may be asked for

// The weights of this node's shard, as they come.
typedef struct {
    VEC(float) list;
    double total;
    float distortion;
    int64_t shards, shard, next, most;  // next: the number of the coming word; most: longer is of no use
} Gathering;

static Status *gather_weight(Gathering *g, float weight) {
    if (g->next++ % g->shards != g->shard)
        return OK;
    NEED((int64_t)g->list.n < g->most, INVALID_ARGUMENT,
         "range is %lld, must be equal to the number of weights, which is more", (long long)g->most);
    weight = powf(weight, g->distortion);
    g->total += (double)weight;
    NEED_MEMORY(vec_push(&g->list, weight));
    return OK;
}

static Status *gather_reserved(Gathering *g, int64_t reserved) {
    int64_t n = reserved > g->shard ? (reserved - g->shard - 1) / g->shards + 1 : 0;
    NEED(n <= g->most && n <= MOST_RESERVED, INVALID_ARGUMENT, "%lld reserved ids are too many for a range of %lld",
         (long long)n, (long long)g->most);
    if (n <= 0)
        return OK;
    NEED_MEMORY(vec_reserve(&g->list, (size_t)n));
    memset(g->list.p, 0, (size_t)n * sizeof(float));
    g->list.n = (size_t)n;
    g->next = n;    // words are numbered from here on, as TensorFlow does, whatever the shard
    return OK;
}

// The last column of each line that isn't empty.
static Status *gather_file(Gathering *g, Str path) {
    AUTO(text) Text text = {0};
    TRY(disk_read(path, &text));
    for (Str rest = text_str(&text); rest.n;) {
        const char *end = memchr(rest.p, '\n', rest.n);
        Str line = {rest.p, end ? (size_t)(end - rest.p) : rest.n}, cell = line;
        rest = end ? (Str){end + 1, rest.n - line.n - 1} : (Str){0};
        for (const char *comma; (comma = memchr(cell.p, ',', cell.n));)
            cell = (Str){comma + 1, cell.n - (size_t)(comma + 1 - cell.p)};
        float weight;
        NEED(!line.n || str_to_float(cell, &weight), INVALID_ARGUMENT, "Wrong vocabulary format at line: %.*s",
             STR_ARGS(line));
        if (line.n)
            TRY(gather_weight(g, weight));
    }
    return OK;
}

static Status *gather(const Node *node, Gathering *g) {
    const AttrValue *list = node_list(node, "unigrams");
    Str file = node_str(node, "vocab_file");
    NEED(file.n || list->n, INVALID_ARGUMENT, "Must provide either vocab_file or unigrams.");
    NEED(!file.n || !list->n, INVALID_ARGUMENT, "Must only provide one of vocab_file and unigrams.");
    NEED(g->shard < g->shards, INVALID_ARGUMENT, "shard %lld is not below num_shards %lld", (long long)g->shard,
         (long long)g->shards);
    TRY(gather_reserved(g, node_int(node, "num_reserved_ids")));
    for (int32_t i = 0; i < list->n; i++)
        TRY(gather_weight(g, list->fs[i]));
    if (file.n)
        TRY(gather_file(g, file));
    NEED((int64_t)g->list.n == g->most, INVALID_ARGUMENT, "range is %lld, must be equal to weights size %zu",
         (long long)g->most, g->list.n);
    NEED(g->most <= INT32_MAX, INVALID_ARGUMENT, "%lld weights are too many", (long long)g->most);
    return OK;
}

static Status *fixed_open(const Node *node, Candidates *c) {
    Gathering g = {.distortion = node_float(node, "distortion"), .shards = node_int(node, "num_shards"),
                   .shard = node_int(node, "shard"), .most = c->range};
    Status *status = gather(node, &g);
    c->weights = (Weights){.weights = g.list.p, .n = (int64_t)g.list.n, .total = g.total};
    return status ? status : weights_open(&c->weights);
}
static const Way fixed = {.draw = fixed_draw, .chances = fixed_chances, .open = fixed_open};

// ---------------------------------------- state

static void candidates_close(void *state) {
    Candidates *c = state;
    weights_clear(&c->weights);
    counts_clear(&c->counts);
    mutex_clear(&c->lock);
    stream_close(&c->stream);
}

static Status *candidates_open(Opening *o) {
    Candidates *c = o->state;
    TRY(stream_open(o));
    mutex_init(&c->lock);
    c->way = node_op(o->node)->row;
    c->range = node_int(o->node, c->way->all ? "num_sampled" : "range_max");
    c->log_range = log1p((double)c->range);
    return c->way->open ? c->way->open(o->node, c) : OK;
}

// ---------------------------------------- drawing

// How often each class is expected among n_sampled, of which each was tried until it was new.
static void expect(const Kernel *k, const Candidates *c, const int64_t *classes, int64_t n, int64_t tries, float *out) {
    const Sampling *own = k->own;
    if (c->way->all) {
        for (int64_t i = 0; i < n; i++)
            out[i] = 1;
        return;
    }
    c->way->chances(c, own, classes, n, out);
    if (tries == own->n_sampled) {
        for (int64_t i = 0; i < n; i++)
            out[i] *= (float)tries;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = -out[i];
    (void)elementwise_run(&own->log1p, out, NULL, out, n, 1, 1);
    for (int64_t i = 0; i < n; i++)
        out[i] *= (float)tries;
    (void)elementwise_run(&own->expm1, out, NULL, out, n, 1, 1);
    for (int64_t i = 0; i < n; i++)
        out[i] = -out[i];
}

// Draws until there are n different classes. Gives the number of tries, from which the expected counts follow.
static Status *draw_different(Kernel *k, const Candidates *c, Numbers *numbers, int64_t *out_tries) {
    int64_t n = ((const Sampling *)k->own)->n_sampled, *out = k->out[0]->data, tries = 0;
    Places seen;
    NEED(n <= c->range, INVALID_ARGUMENT, "Sampler's range is too small.");
    NEED(!c->weights.n || n <= c->weights.possible, INVALID_ARGUMENT, "Only %lld classes have a weight above 0",
         (long long)c->weights.possible);
    places_open(&seen, k->scratch, n);
    for (int64_t i = 0; i < n;) {
        if ((++tries & 0xffff) == 0)
            TRY(context_check(k->step));
        NEED(tries < INT32_MAX, INVALID_ARGUMENT, "%lld different classes don't turn up", (long long)n);
        out[i] = c->way->draw(c, numbers);
        i += places_set(&seen, out[i], (int32_t)i);
    }
    *out_tries = tries;
    return OK;
}

static Status *draw_all(Kernel *k, Candidates *c) {
    const Sampling *own = k->own;
    Numbers numbers = {0};
    TRY(stream_take(k, 512 * (uint64_t)own->n_sampled, &numbers.philox));
    const int64_t *true_classes = k->in[0]->data;
    int64_t *out = k->out[0]->data, n = own->n_sampled, n_true = own->batch * own->n_true, tries = n;
    for (int64_t i = 0; i < n_true; i++)
        if (true_classes[i] < 0 || true_classes[i] >= c->range)
            KERNEL_INDEX_ERROR("true_classes", i, true_classes[i], c->range);
    if (own->unique && !c->way->all)
        TRY(draw_different(k, c, &numbers, &tries));
    for (int64_t i = 0; i < n && (!own->unique || c->way->all); i++)
        out[i] = c->way->all ? i : c->way->draw(c, &numbers);
    expect(k, c, out, n, tries, k->out[2]->data);
    expect(k, c, true_classes, n_true, tries, k->out[1]->data);
    for (int64_t i = 0; c->way->learns && i < n_true && c->counts.total < INT32_MAX; i++)
        counts_add(&c->counts, true_classes[i]);
    return OK;
}

static Status *candidates_run(Kernel *k) {
    Candidates *c = k->state;
    NEED(c, FAILED_PRECONDITION, "a random stream needs a session to live in");
    if (!c->way->learns)
        return draw_all(k, c);
    mutex_lock(&c->lock);
    Status *status = draw_all(k, c);
    mutex_unlock(&c->lock);
    return status;
}

static Status *candidates_shape(Shapes *s) {
    int64_t n_true = node_int(s->node, "num_true"), n_sampled = node_int(s->node, "num_sampled");
    const Shape *classes = &s->in[0];
    NEED(classes->rank < 0 || classes->dims[1] < 0 || classes->dims[1] == n_true, INVALID_ARGUMENT,
         "true_classes must have num_true columns, expected: %lld, was: %s", (long long)n_true, shape_text(classes));
    s->out[0] = s->out[2] = SHAPE(n_sampled);
    s->out[1] = SHAPE(classes->rank < 0 ? UNKNOWN_DIM : classes->dims[0], n_true);
    return OK;
}

static Status *candidates_prepare(Prepare *p) {
    Sampling *own = p->own;
    *own = (Sampling){.batch = p->in[0]->shape.dims[0], .n_true = node_int(p->node, "num_true"),
                      .n_sampled = node_int(p->node, "num_sampled"), .unique = node_bool(p->node, "unique")};
    NEED(elementwise_find(&elementwise_Log1p, DT_float, &own->log1p) &&
         elementwise_find(&elementwise_Expm1, DT_float, &own->expm1), INTERNAL, "no loops");
    NEED(own->n_sampled <= INT32_MAX, INVALID_ARGUMENT, "num_sampled = %lld is not in [1, 2^31)",
         (long long)own->n_sampled);
    p->scratch = own->unique ? places_size(own->n_sampled) : 0;
    p->cost = own->n_sampled * 40 + own->batch * own->n_true * 5;
    return OK;
}

#define SAMPLER_START "(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float, " \
    "sampled_expected_count: float; num_true: int >= 1; num_sampled: int >= 1; unique: bool; "
#define SAMPLER_END "seed: int = 0; seed2: int = 0; stateful"
#define RANGE "range_max: int >= 1; "
#define SAMPLER(Name, attributes, text, way)                                                                        \
    const Op op_##Name = {                                                                                          \
        .signature = #Name SAMPLER_START attributes SAMPLER_END, .doc = text, .needs = "matrix(true_classes)",      \
        .shape = candidates_shape, .prepare = candidates_prepare, .own_size = sizeof(Sampling),                     \
        .cpu = ANY_TYPE(candidates_run), .flags = OP_NO_GRADIENT, .row = &(way), .open = candidates_open,           \
        .close = candidates_close, .state_size = sizeof(Candidates), STREAM_LASTS,                                  \
    };
SAMPLER(UniformCandidateSampler, RANGE, "Classes drawn with the same chance.", uniform)
SAMPLER(LogUniformCandidateSampler, RANGE, "Classes drawn with a chance that falls as the frequency of words does.",
        log_uniform)
SAMPLER(LearnedUnigramCandidateSampler, RANGE, "Classes drawn as often as they were seen among the true ones.", learned)
SAMPLER(ThreadUnsafeUnigramCandidateSampler, RANGE, "Classes drawn as often as they were seen among the true ones.",
        learned)
SAMPLER(FixedUnigramCandidateSampler,
        RANGE "vocab_file: string = \"\"; distortion: float = 1; num_reserved_ids: int = 0; num_shards: int >= 1 = 1; "
              "shard: int >= 0 = 0; unigrams: list(float) = []; ",
        "Classes drawn in proportion to given weights, raised to a power.", fixed)
SAMPLER(AllCandidateSampler, "", "All classes.", all)

// ---------------------------------------- ComputeAccidentalHits

static Status *hits_shape(Shapes *s) {
    int64_t n_true = node_int(s->node, "num_true");
    const Shape *classes = &s->in[0];
    NEED(classes->rank < 0 || classes->dims[1] < 0 || classes->dims[1] == n_true, INVALID_ARGUMENT,
         "true_classes must have num_true columns, expected: %lld, was: %s", (long long)n_true, shape_text(classes));
    s->out[0] = s->out[1] = s->out[2] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *hits_prepare(Prepare *p) {
    int64_t n = p->in[1]->shape.dims[0];
    NEED(n <= INT32_MAX && p->in[0]->shape.dims[0] <= INT32_MAX, INVALID_ARGUMENT, "%lld candidates are too many",
         (long long)n);
    p->scratch = places_size(n);
    return OK;
}

static Status *hits_run(Kernel *k) {
    const int64_t *classes = k->in[0]->data, *sampled = k->in[1]->data;
    int64_t n_classes = tensor_count(k->in[0]), n_sampled = tensor_count(k->in[1]), n_hits = 0, per_row = 0;
    Places places;
    places_open(&places, k->scratch, n_sampled);
    for (int64_t i = 0; i < n_sampled; i++)
        (void)places_set(&places, sampled[i], (int32_t)i);
    for (int64_t i = 0; i < n_classes; i++)
        n_hits += places_find(&places, classes[i]) >= 0;
    for (int i = 0; i < 3; i++)
        TRY(kernel_output(k, i, SHAPE(n_hits)));
    int32_t *rows = k->out[0]->data;
    int64_t *ids = k->out[1]->data;
    float *weights = k->out[2]->data;
    per_row = k->in[0]->shape.dims[1];
    for (int64_t i = 0, at = 0; i < n_classes; i++) {
        int32_t place = places_find(&places, classes[i]);
        if (place < 0)
            continue;
        rows[at] = (int32_t)(i / per_row);
        ids[at] = place;
        weights[at++] = -FLT_MAX;
    }
    return OK;
}

const Op op_ComputeAccidentalHits = {
    .signature = "ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64) -> indices: int32, ids: int64, "
                 "weights: float; num_true: int; seed: int = 0; seed2: int = 0",
    .doc =
    "Where the sampled candidates are true classes: the row, the place among the candidates, and the lowest weight.",
    .needs = "matrix(true_classes), vector(sampled_candidates)", .shape = hits_shape, .prepare = hits_prepare,
    .cpu = ANY_TYPE(hits_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
