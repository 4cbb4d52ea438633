// NonMaxSuppression, V2 to V5, WithOverlaps — the best boxes, without those that lie too much over a better one.
//
// Candidates wait in a heap, the best first. With a sigma, what lies over a better box is not dropped but its score is
// lowered, and it waits anew.
//
// Greedy suppression of n boxes takes n log n for the heap and a comparison with each chosen box; a candidate remembers
// how many it has been compared with (`seen`), so that none is compared twice. With a sigma: Bodla et al., "Soft-NMS",
// 2017.
#include "ops/image/boxes.h"
#include "ops/nn/staging.h"

enum { OF_OVERLAPS = 0, V1, V2, V3, V4, V5 };

typedef struct {
    int64_t boxes;
    int version;
    bool pads;
    float overlap;         // of the first version, where it is an attribute
    Stage box_stage, score_stage;
    size_t at_heap, at_chosen, at_scores;
} Suppression;

typedef struct {
    float score;
    int32_t box, seen;     // seen: chosen boxes that it has been compared with
} Candidate;

static float lesser(float a, float b) {
    return b < a ? b : a;
}
static float greater(float a, float b) {
    return a < b ? b : a;
}

// Intersection over union. Corners may come in either order, as TensorFlow takes them; a box without area overlaps
// none.
float boxes_overlap(const float *a, const float *b) {
    float a_low[2], a_high[2], b_low[2], b_high[2], side[2];
    for (int i = 0; i < 2; i++) {
        a_low[i] = lesser(a[i], a[i + 2]), a_high[i] = greater(a[i], a[i + 2]);
        b_low[i] = lesser(b[i], b[i + 2]), b_high[i] = greater(b[i], b[i + 2]);
        side[i] = greater(lesser(a_high[i], b_high[i]) - greater(a_low[i], b_low[i]), 0);
    }
    float area_a = (a_high[0] - a_low[0]) * (a_high[1] - a_low[1]),
        area_b = (b_high[0] - b_low[0]) * (b_high[1] - b_low[1]);
    float both = side[0] * side[1];
    return area_a <= 0 || area_b <= 0 ? 0 : both / (area_a + area_b - both);
}

// Equal scores go by index, so that the result does not depend on the heap.
static bool is_better(const Candidate *a, const Candidate *b) {
    return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void sink(Candidate *heap, int64_t at, int64_t n) {
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_better(&heap[child + 1], &heap[child]))
            child++;
        if (!is_better(&heap[child], &heap[at]))
            return;
        Candidate other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}

static void rise(Candidate *heap, int64_t at) {
    for (; at > 0 && is_better(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        Candidate other = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = other;
    }
}

typedef struct {
    const float *boxes;     // corners, or with `side` how much each box overlaps each
    int64_t side;
    float most_overlap, least_score, sigma;
    int64_t most;
    int32_t *chosen;
    float *scores;
} Wanted;

// Lowers the score of what lies over chosen boxes (soft suppression: by exp(-overlap^2 / 2 sigma)). False: it is out.
// The latest choices are compared first, as in TensorFlow: so the product of the factors is rounded in the same order.
static bool compare(const Wanted *w, Candidate *c, int64_t n_chosen) {
    bool out = false;
    for (int64_t j = n_chosen - 1; j >= c->seen && !out; j--) {
        float overlap = w->side ? w->boxes[c->box * w->side + w->chosen[j]]
                                : boxes_overlap(w->boxes + 4 * c->box, w->boxes + 4 * w->chosen[j]);
        if (w->sigma > 0)
            c->score *= expf(-0.5f / w->sigma * overlap * overlap);
        out = overlap > w->most_overlap && !(w->sigma > 0);
        if (c->score <= w->least_score)
            break;
    }
    c->seen = (int32_t)n_chosen;
    return !out;
}

// A candidate whose score was lowered is no longer known to be the best, so it goes back into the heap with `seen`
// brought up to date.
static int64_t suppress(const Wanted *w, Candidate *heap, int64_t n) {
    int64_t n_chosen = 0;
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sink(heap, i, n);
    while (n > 0 && n_chosen < w->most) {
        Candidate best = heap[0];
        float before = best.score;
        heap[0] = heap[--n];
        sink(heap, 0, n);
        if (!compare(w, &best, n_chosen))
            continue;
        if (best.score == before) {
            w->scores[n_chosen] = best.score;
            w->chosen[n_chosen++] = best.box;
        } else if (best.score > w->least_score) {
            heap[n] = best;
            rise(heap, n++);
        }
    }
    return n_chosen;
}

// ---------------------------------------- the op

static int version_of(const Node *node) {
    return (int)(intptr_t)node_op(node)->row;
}
static bool pads(const Node *node) {
    const AttrValue *attr = node_attr_find(node, "pad_to_max_output_size");
    return attr && attr->b;
}

static Status *suppression_shape(Shapes *s) {
    const Shape *boxes = &s->in[0], *scores = &s->in[1];
    int64_t wide = version_of(s->node) == OF_OVERLAPS ? boxes->rank == 2 ? boxes->dims[0] : UNKNOWN_DIM : 4;
    NEED(boxes->rank < 0 || (boxes->rank == 2 && (boxes->dims[1] < 0 || wide < 0 || boxes->dims[1] == wide)),
         INVALID_ARGUMENT, "boxes must be [n, 4], overlaps [n, n], got %s", shape_text(boxes));
    NEED(boxes->rank < 0 || scores->rank < 0 || boxes->dims[0] < 0 || scores->dims[0] < 0 ||
         boxes->dims[0] == scores->dims[0],
         INVALID_ARGUMENT, "there must be a score for each box: %s and %s", shape_text(scores), shape_text(boxes));
    int64_t most = UNKNOWN_DIM;
    bool known = shapes_input_int(s, 2, &most);
    NEED(!known || most >= 0, INVALID_ARGUMENT, "max_output_size must be non-negative, got %lld", (long long)most);
    int version = version_of(s->node);
    s->out[0] = SHAPE(known && pads(s->node) ? most : UNKNOWN_DIM);
    if (version == V5)
        s->out[1] = s->out[0];
    if (version >= V4)
        s->out[version - V4 + 1] = (Shape){.rank = 0};
    return OK;
}

static Status *suppression_prepare(Prepare *p) {
    Suppression *own = p->own;
    DType type = p->in[0]->dtype;
    own->boxes = p->in[0]->shape.dims[0];
    own->version = version_of(p->node);
    own->pads = pads(p->node);
    own->overlap = own->version == V1 ? node_float(p->node, "iou_threshold") : 0;
    NEED(own->boxes < INT32_MAX / 4, INVALID_ARGUMENT, "too many boxes");
    TRY(stage_input(p, type, DT_float, &p->in[0]->shape, false, &own->box_stage));
    TRY(stage_input(p, type, DT_float, &p->in[1]->shape, false, &own->score_stage));
    own->at_heap = round_up(p->scratch, 64);
    own->at_chosen = own->at_heap + (size_t)own->boxes * sizeof(Candidate);
    own->at_scores = own->at_chosen + (size_t)own->boxes * sizeof(int32_t);
    p->scratch = own->at_scores + (size_t)own->boxes * sizeof(float);
    p->cost = own->boxes * 50;
    return OK;
}

static float number_of(const Tensor *t) {
    return t->dtype == DT_half ? half_to_float(*(const Half *)t->data) : *(const float *)t->data;
}

static Status *thresholds(const Kernel *k, Wanted *w) {
    const Suppression *own = k->own;
    int version = own->version;
    w->most_overlap = version != V1 ? number_of(k->in[3]) : own->overlap;
    w->least_score = version >= V3 || version == OF_OVERLAPS ? number_of(k->in[4]) : -INFINITY;
    w->sigma = version == V5 ? number_of(k->in[5]) : 0;
    w->most = *(const int32_t *)k->in[2]->data;
    NEED(w->most >= 0, INVALID_ARGUMENT, "max_output_size must be non-negative, got %lld", (long long)w->most);
    NEED(version == OF_OVERLAPS || (w->most_overlap >= 0 && w->most_overlap <= 1), INVALID_ARGUMENT,
         "iou_threshold must be in [0, 1], got %g", (double)w->most_overlap);
    NEED(w->sigma >= 0, INVALID_ARGUMENT, "soft_nms_sigma must not be negative, got %g", (double)w->sigma);
    return OK;
}

static Status *write_chosen(Kernel *k, const Wanted *w, int64_t n, int64_t wide) {
    int version = ((const Suppression *)k->own)->version;
    TRY(kernel_output(k, 0, SHAPE(wide)));
    int32_t *out = k->out[0]->data;
    for (int64_t i = 0; i < wide; i++)
        out[i] = i < n ? w->chosen[i] : 0;
    if (version == V5) {
        TRY(kernel_output(k, 1, SHAPE(wide)));
        for (int64_t i = 0; i < wide; i++)
            if (k->out[1]->dtype == DT_half)
                ((Half *)k->out[1]->data)[i] = half_from_float(i < n ? w->scores[i] : 0);
            else
                ((float *)k->out[1]->data)[i] = i < n ? w->scores[i] : 0;
    }
    if (version >= V4) {
        TRY(kernel_output(k, version - V4 + 1, (Shape){.rank = 0}));
        *(int32_t *)k->out[version - V4 + 1]->data = (int32_t)n;
    }
    return OK;
}

static Status *suppression_run(Kernel *k) {
    const Suppression *own = k->own;
    Wanted w = {.boxes = stage_load(&own->box_stage, k, k->in[0]->data),
                .chosen = (void *)((char *)k->scratch + own->at_chosen),
                .scores = (void *)((char *)k->scratch + own->at_scores)};
    TRY(thresholds(k, &w));
    w.side = own->version == OF_OVERLAPS ? own->boxes : 0;
    const float *scores = stage_load(&own->score_stage, k, k->in[1]->data);
    Candidate *heap = (void *)((char *)k->scratch + own->at_heap);
    int64_t n = 0, wide = w.most;
    for (int64_t i = 0; i < own->boxes; i++)
        if (scores[i] > w.least_score)
            heap[n++] = (Candidate){scores[i], (int32_t)i, 0};
    w.most = min_i64(w.most, own->boxes);
    int64_t chosen = suppress(&w, heap, n);
    return write_chosen(k, &w, chosen, own->pads ? wide : chosen);
}

#define SUPPRESSION(Name, version, outputs, types, attributes, inputs, conditions)                                  \
    const Op op_##Name = {                                                                                          \
        .signature = #Name "(boxes: " types ", scores: " types ", max_output_size: int32" inputs                    \
                           ") -> selected_indices: int32" outputs attributes,                                       \
        .doc = "The best boxes, without those that lie over better ones.",                                          \
        .needs = "matrix(boxes), vector(scores), dim(boxes, 1) == 4, dim(boxes, 0) == dim(scores, 0), "             \
                 "scalar(max_output_size)" conditions,                                                              \
        .shape = suppression_shape, .prepare = suppression_prepare, .own_size = sizeof(Suppression),                \
        .cpu = ANY_TYPE(suppression_run), .row = (const void *)(intptr_t)(version), .host = BIT(2),                 \
        .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,                                                                          \
    };
#define HALF_OR_FLOAT "; T: {half, float} = float"
#define OF_THRESHOLD "; T_threshold: {half, float} = float"
#define PADS "; pad_to_max_output_size: bool = false"
SUPPRESSION(NonMaxSuppression, V1, "", "float", "; iou_threshold: float = 0.5", "", "")
SUPPRESSION(NonMaxSuppressionV2, V2, "", "T", HALF_OR_FLOAT OF_THRESHOLD, ", iou_threshold: T_threshold",
            ", scalar(iou_threshold)")
SUPPRESSION(NonMaxSuppressionV3, V3, "", "T", HALF_OR_FLOAT OF_THRESHOLD,
            ", iou_threshold: T_threshold, score_threshold: T_threshold",
            ", scalar(iou_threshold), scalar(score_threshold)")
SUPPRESSION(NonMaxSuppressionV4, V4, ", valid_outputs: int32", "T", HALF_OR_FLOAT OF_THRESHOLD PADS,
            ", iou_threshold: T_threshold, score_threshold: T_threshold",
            ", scalar(iou_threshold), scalar(score_threshold)")
SUPPRESSION(NonMaxSuppressionV5, V5, ", selected_scores: T, valid_outputs: int32", "T", HALF_OR_FLOAT PADS,
            ", iou_threshold: T, score_threshold: T, soft_nms_sigma: T",
            ", scalar(iou_threshold), scalar(score_threshold), scalar(soft_nms_sigma)")

const Op op_NonMaxSuppressionWithOverlaps = {
    .signature = "NonMaxSuppressionWithOverlaps(overlaps: float, scores: float, max_output_size: int32, overlap_threshold: "
                 "float, score_threshold: float) -> selected_indices: int32",
    .doc = "The best boxes, without those that better ones overlap too much, by a table of overlaps.",
    .needs = "matrix(overlaps), vector(scores), dim(overlaps, 0) == dim(scores, 0), dim(overlaps, 1) == dim(scores, 0), "
             "scalar(max_output_size), scalar(overlap_threshold), scalar(score_threshold)",
    .shape = suppression_shape, .prepare = suppression_prepare, .own_size = sizeof(Suppression),
    .cpu = ANY_TYPE(suppression_run), .row = (const void *)(intptr_t)OF_OVERLAPS, .host = BIT(2),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
