// CTCLoss, CTCLossV2 — how unlikely a sequence of labels is, whatever the moments at which they are said (Graves, 2006).
//
// Sums over all ways to stretch the labels, blanks between them, by logarithms of what came before each moment and what
// comes behind it. In double: a sum of T terms of float loses log2(T) bits.
#include "ops/op.h"

typedef struct {
    int64_t time, batch, classes, blank;
    bool collapses, merges, ignores;
} Loss;

static Status *loss_shape(Shapes *s) {
    const Shape *in = &s->in[0], *lengths = &s->in[3];
    NEED(in->rank < 0 || in->rank == 3, INVALID_ARGUMENT, "inputs is not a 3-Tensor: %s", shape_text(in));
    int64_t batch = in->rank < 0 ? UNKNOWN_DIM : in->dims[1];
    NEED(batch < 0 || lengths->rank < 0 || lengths->dims[0] < 0 || lengths->dims[0] == batch, INVALID_ARGUMENT,
         "len(sequence_length) != batch_size: %s vs. %lld", shape_text(lengths), (long long)batch);
    s->out[0] = SHAPE(batch);
    s->out[1] = *in;
    return OK;
}

static Status *loss_prepare(Prepare *p) {
    const Shape *in = &p->in[0]->shape;
    bool second = node_op(p->node)->row != NULL;
    *(Loss *)p->own = (Loss){
        .time = in->dims[0], .batch = in->dims[1], .classes = in->dims[2], .blank = second ? 0 : in->dims[2] - 1,
        .collapses = node_bool(p->node, "preprocess_collapse_repeated"),
        .merges = node_bool(p->node, "ctc_merge_repeated"),
        .ignores = node_bool(p->node, "ignore_longer_outputs_than_inputs"),
    };
    NEED(in->dims[1] > 0 && in->dims[0] > 0 && in->dims[2] > 0, INVALID_ARGUMENT,
         "inputs must have moments, sequences and classes, got %s", shape_text(in));
    p->cost = shape_count(in) * 100;
    return OK;
}

// ---------------------------------------- labels

// One sequence: the labels of it with blanks between, before and behind, and the classes' logarithms.
typedef struct {
    const Loss *own;
    int64_t index, length;   // of the sequence; its moments
    const int32_t *labels;
    int64_t n_labels;
    int64_t *path, n;        // the labels with blanks
    double *logs;            // [length, classes]
    double *before, *behind; // [length, n]
} Sequence;

static Status *take_labels(Sequence *s) {
    const Loss *own = s->own;
    bool ended = false;
    NEED(s->n_labels > 0, INVALID_ARGUMENT, "Labels length is zero in batch %lld", (long long)s->index);
    s->n = 0;
    s->path[s->n++] = own->blank;
    for (int64_t i = 0; i < s->n_labels; i++) {
        int32_t label = s->labels[i];
        if (i && own->collapses && label == s->labels[i - 1])
            continue;
        bool null = own->blank > 0 && label >= own->blank;
        NEED(null || !ended, INVALID_ARGUMENT, "Saw a non-null label (index >= num_classes - 1) following a null label, "
             "batch: %lld num_classes: %lld", (long long)s->index, (long long)own->classes);
        ended = null;
        if (null)
            continue;
        NEED(label >= 0, INVALID_ARGUMENT, "All labels must be nonnegative integers, batch: %lld labels: %d",
             (long long)s->index, (int)label);
        NEED(label < own->classes, INVALID_ARGUMENT, "No label may be greater than num_classes. num_classes: %lld, "
             "batch: %lld labels: %d", (long long)own->classes, (long long)s->index, (int)label);
        s->path[s->n++] = label;
        s->path[s->n++] = own->blank;
    }
    return OK;
}

// ---------------------------------------- sums

// log(e^a + e^b) by the larger one, so that nothing overflows.
static double add_logs(double a, double b) {
    if (a == (double)-INFINITY)
        return b;
    if (b == (double)-INFINITY)
        return a;
    return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

static double log_of(const Sequence *s, int64_t t, int64_t u) {
    return s->logs[t * s->own->classes + s->path[u]];
}

static bool stays(const Sequence *s, int64_t u) {
    return s->own->merges || s->path[u] == s->own->blank;
}

// A blank between u and u + 2 may be left out.
static bool skips(const Sequence *s, int64_t u) {
    return s->path[u] != s->own->blank && !(s->own->merges && s->path[u] == s->path[u + 2]);
}

static int64_t first_at(const Sequence *s, int64_t t) {
    return max_i64(0, s->n - 2 * (s->length - t));
}

static int64_t end_at(const Sequence *s, int64_t t) {
    return min_i64(s->n, 2 * (t + 1));
}

// The forward variable (alpha) of Graves' forward-backward algorithm, restricted to the labels that can still be
// reached (first_at, end_at).
static void sum_before(Sequence *s) {
    double *row = s->before;
    row[0] = log_of(s, 0, 0);
    if (s->n > 1)
        row[1] = log_of(s, 0, 1);
    for (int64_t t = 1; t < s->length; t++, row += s->n)
        for (int64_t u = first_at(s, t); u < end_at(s, t); u++) {
            double sum = stays(s, u) ? row[u] : (double)-INFINITY;
            if (u > 0)
                sum = add_logs(sum, row[u - 1]);
            if (u > 1 && skips(s, u - 2) && s->path[u] != s->own->blank)
                sum = add_logs(sum, row[u - 2]);
            row[s->n + u] = sum + log_of(s, t, u);
        }
}

// The backward variable (beta).
static void sum_behind(Sequence *s) {
    double *row = s->behind + (s->length - 1) * s->n;
    for (int64_t u = max_i64(0, s->n - 2); u < s->n; u++)
        row[u] = 0;
    for (int64_t t = s->length - 2; t >= 0; t--) {
        double *next = row;
        row -= s->n;
        for (int64_t u = first_at(s, t); u < end_at(s, t); u++) {
            double sum = stays(s, u) ? next[u] + log_of(s, t + 1, u) : (double)-INFINITY;
            if (u + 1 < s->n)
                sum = add_logs(sum, next[u + 1] + log_of(s, t + 1, u + 1));
            if (u + 2 < s->n && skips(s, u))
                sum = add_logs(sum, next[u + 2] + log_of(s, t + 1, u + 2));
            row[u] = sum;
        }
    }
}

// ---------------------------------------- one sequence

static double load(const Tensor *t, int64_t i) {
    return t->dtype == DT_float ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

static void store(const Tensor *t, int64_t i, double value) {
    if (t->dtype == DT_float)
        ((float *)t->data)[i] = (float)value;
    else
        ((double *)t->data)[i] = value;
}

static int64_t place(const Sequence *s, int64_t t, int64_t c) {
    return (t * s->own->batch + s->index) * s->own->classes + c;
}

static void take_logs(Sequence *s, const Tensor *inputs) {
    int64_t classes = s->own->classes;
    for (int64_t t = 0; t < s->length; t++) {
        double *row = s->logs + t * classes, most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < classes; c++) {
            row[c] = load(inputs, place(s, t, c));
            most = fmax(most, row[c]);
        }
        for (int64_t c = 0; c < classes; c++)
            sum += exp(row[c] - most);
        for (int64_t c = 0; c < classes; c++)
            row[c] -= most + log(sum);
    }
}

// dy: the classes' share less what of it goes through the labels.
static void put_gradient(const Sequence *s, double whole, double *parts, const Tensor *out) {
    int64_t classes = s->own->classes;
    for (int64_t t = 0; t < s->length; t++) {
        for (int64_t c = 0; c < classes; c++)
            parts[c] = -INFINITY;
        for (int64_t u = 0; u < s->n; u++)
            parts[s->path[u]] = add_logs(parts[s->path[u]], s->before[t * s->n + u] + s->behind[t * s->n + u]);
        for (int64_t c = 0; c < classes; c++) {
            double share = exp(s->logs[t * classes + c]);
            store(out, place(s, t, c), whole == (double)-INFINITY ? share : share - exp(parts[c] - whole));
        }
    }
}

static Status *loss_one(Kernel *k, Sequence *s, Arena *arena) {
    int64_t classes = s->own->classes;
    s->path = ARENA_ARRAY(arena, int64_t, 2 * s->n_labels + 1);
    NEED_MEMORY(s->path);
    TRY(take_labels(s));
    int64_t wanted = (s->n - 1) / 2;
    NEED(wanted <= s->length || s->own->ignores, INVALID_ARGUMENT,
         "Not enough time for target transition sequence (required: %lld, available: %lld) in batch %lld. You can turn "
         "this error into a warning by using the flag ignore_longer_outputs_than_inputs", (long long)wanted,
         (long long)s->length, (long long)s->index);
    if (wanted > s->length || s->length == 0)
        return OK;
    int64_t cells;
    NEED(mul_i64(s->length, s->n, &cells), RESOURCE_EXHAUSTED, "a sequence is too long");
    s->logs = ARENA_ARRAY(arena, double, s->length * classes);
    s->before = ARENA_ARRAY(arena, double, cells);
    s->behind = ARENA_ARRAY(arena, double, cells);
    double *parts = ARENA_ARRAY(arena, double, classes), whole = -INFINITY;
    NEED_MEMORY(s->logs && s->before && s->behind && parts);
    for (int64_t i = 0; i < cells; i++)
        s->before[i] = s->behind[i] = -INFINITY;
    take_logs(s, k->in[0]);
    sum_before(s);
    sum_behind(s);
    for (int64_t u = 0; u < s->n; u++)
        whole = add_logs(whole, s->before[u] + s->behind[u]);
    store(k->out[0], s->index, -whole);
    put_gradient(s, whole, parts, k->out[1]);
    return OK;
}

// ---------------------------------------- all

static Status *check_labels(const Kernel *k, const Loss *own) {
    const Tensor *indices = k->in[1], *values = k->in[2], *lengths = k->in[3];
    const int64_t *rows = indices->data;
    for (int64_t i = 0; i < indices->shape.dims[0]; i++) {
        NEED(rows[2 * i] >= 0 && rows[2 * i] < own->batch, INVALID_ARGUMENT,
             "labels batch index must be between 0 and %lld but saw: %lld", (long long)own->batch, (long long)rows[2 * i]);
        NEED(i == 0 || rows[2 * i - 2] < rows[2 * i] || (rows[2 * i - 2] == rows[2 * i] && rows[2 * i - 1] < rows[2 * i + 1]),
             INVALID_ARGUMENT, "label SparseTensor is not valid: indices[%lld] is out of order", (long long)i);
    }
    NEED(tensor_count(values) == indices->shape.dims[0], INVALID_ARGUMENT,
         "labels_indices and labels_values must contain the same number of rows, but saw shapes: %s vs. %s",
         shape_text(&indices->shape), shape_text(&values->shape));
    for (int64_t b = 0; b < own->batch; b++)
        NEED(tensor_int(lengths, b) >= 0 && tensor_int(lengths, b) <= own->time, INVALID_ARGUMENT,
             "sequence_length(%lld) <= %lld", (long long)b, (long long)own->time);
    return OK;
}

static Status *loss_run(Kernel *k) {
    const Loss *own = k->own;
    const int64_t *rows = k->in[1]->data;
    int64_t n = tensor_count(k->in[2]), first = 0;
    TRY(check_labels(k, own));
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    memset(k->out[1]->data, 0, tensor_bytes(k->out[1]));
    for (int64_t b = 0; b < own->batch; b++) {
        AUTO(arena) Arena arena = {0};
        int64_t end = first;
        TRY(context_check(k->step));
        while (end < n && rows[2 * end] == b)
            end++;
        Sequence s = {.own = own, .index = b, .length = tensor_int(k->in[3], b),
                      .labels = (const int32_t *)k->in[2]->data + first, .n_labels = end - first};
        TRY(loss_one(k, &s, &arena));
        first = end;
    }
    return OK;
}

static void loss_grad(Formula *f) {
    Output slope = OpWith("PreventGradient", NULL, f->y[1]);
    f->dx[0] = Mul(ExpandDims(f->dy[0], Int(-1)), slope);
}

#define LOSS_ARGUMENTS "labels_indices: int64, labels_values: int32, sequence_length: int32) -> "
#define LOSS_ATTRIBUTES "preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; " \
                        "ignore_longer_outputs_than_inputs: bool = false"
#define LOSS_FIELDS                                                                                                \
    .needs = "rank(inputs) == 3, matrix(labels_indices), dim(labels_indices, 1) == 2, vector(labels_values), "     \
             "vector(sequence_length)",                                                                            \
    .shape = loss_shape, .prepare = loss_prepare, .own_size = sizeof(Loss), .grad = loss_grad, .cpu = ANY_TYPE(loss_run)
const Op op_CTCLoss = {
    .signature = "CTCLoss(inputs: T, " LOSS_ARGUMENTS "loss: T, gradient: T; " LOSS_ATTRIBUTES
                 "; T: {float, double} = float",
    .doc = "How unlikely labels are, whenever they are said; the last class is the blank.", LOSS_FIELDS,
};
const Op op_CTCLossV2 = {
    .signature = "CTCLossV2(inputs: float, " LOSS_ARGUMENTS "loss: float, gradient: float; " LOSS_ATTRIBUTES,
    .doc = "How unlikely labels are, whenever they are said; the first class is the blank.", LOSS_FIELDS,
    .row = "the first class is the blank",
};
