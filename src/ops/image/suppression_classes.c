// CombinedNonMaxSuppression — the best boxes of each picture over all classes, each class suppressed by itself.
#include "ops/image/boxes.h"

typedef struct {
    int64_t batch, boxes, sets, classes;   // sets: 1, or a box per class
    int64_t each, wide;                    // most of a class; places of a picture
    bool pads, clips;
    size_t picture;                        // bytes of scratch of one
} Combined;

typedef struct {
    float score;
    int32_t box, class;
} Found;

static Status *combined_shape(Shapes *s) {
    Shape boxes = s->in[0], scores = s->in[1];
    NEED(boxes.rank < 0 || boxes.rank == 4, INVALID_ARGUMENT, "boxes must be 4-D, got %s", shape_text(&boxes));
    NEED(scores.rank < 0 || scores.rank == 3, INVALID_ARGUMENT, "scores must be 3-D, got %s", shape_text(&scores));
    int64_t batch = boxes.rank < 0 ? scores.rank < 0 ? UNKNOWN_DIM : scores.dims[0] : boxes.dims[0];
    int64_t classes = scores.rank < 0 ? UNKNOWN_DIM : scores.dims[2], each, total, wide = UNKNOWN_DIM, all;
    bool known = shapes_input_int(s, 3, &total), known_each = shapes_input_int(s, 2, &each);
    NEED(!known || total > 0, INVALID_ARGUMENT, "max_total_size must be > 0, got %lld", (long long)total);
    NEED(!known_each || each > 0, INVALID_ARGUMENT, "max_size_per_class must be positive, got %lld", (long long)each);
    if (!node_bool(s->node, "pad_per_class"))
        wide = known ? total : UNKNOWN_DIM;
    else if (known && known_each && classes >= 0)
        wide = mul_i64(each, classes, &all) ? min_i64(total, all) : total;
    s->out[0] = SHAPE(batch, wide, 4);
    s->out[1] = s->out[2] = SHAPE(batch, wide);
    s->out[3] = SHAPE(batch);
    return OK;
}

static Status *combined_prepare(Prepare *p) {
    Combined *own = p->own;
    const Shape *boxes = &p->in[0]->shape, *scores = &p->in[1]->shape;
    NEED(p->in[2]->data && p->in[3]->data, FAILED_PRECONDITION, "the sizes are not known yet");
    *own = (Combined){.batch = boxes->dims[0], .boxes = boxes->dims[1], .sets = boxes->dims[2],
                      .classes = scores->dims[2],
                      .pads = node_bool(p->node, "pad_per_class"), .clips = node_bool(p->node, "clip_boxes")};
    NEED(scores->dims[0] == own->batch && scores->dims[1] == own->boxes, INVALID_ARGUMENT,
         "boxes and scores must have the same batch and number: %s and %s", shape_text(boxes), shape_text(scores));
    NEED(own->sets == 1 || own->sets == own->classes, INVALID_ARGUMENT,
         "third dimension of boxes must be either 1 or num classes, got %lld", (long long)own->sets);
    NEED(own->boxes < INT32_MAX / 4 && own->classes < INT32_MAX, INVALID_ARGUMENT, "too many boxes");
    own->each = min_i64(prepare_input_int(p, 2, 0), own->boxes);
    own->wide = p->out[0]->shape.dims[1];
    size_t found, bytes;
    NEED(mul_size((size_t)(own->each * own->classes + own->boxes), sizeof(Found), &found) &&
             mul_size(found, (size_t)own->batch, &bytes), RESOURCE_EXHAUSTED, "too many boxes");
    own->picture = found;
    p->scratch = bytes;
    p->cost = own->batch * own->boxes * own->classes * 20;
    return OK;
}

static bool is_better(const Found *a, const Found *b) {
    if (a->score != b->score)
        return a->score > b->score;
    return a->class != b->class ? a->class < b->class : a->box < b->box;
}

static void sink(Found *heap, int64_t at, int64_t n) {
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_better(&heap[child + 1], &heap[child]))
            child++;
        if (!is_better(&heap[child], &heap[at]))
            return;
        Found other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}
static void make_heap(Found *found, int64_t n) {
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sink(found, i, n);
}
// The best, which comes out: a few are wanted of many.
static Found take_best(Found *heap, int64_t *n) {
    Found best = heap[0];
    heap[0] = heap[--*n];
    sink(heap, 0, *n);
    return best;
}

typedef struct {
    Kernel *k;
    const Combined *own;
    float most_overlap, least_score;
} Work;

static const float *box_of(const Work *work, int64_t n, const Found *found) {
    const Combined *own = work->own;
    int64_t set = own->sets == 1 ? 0 : found->class;
    return (const float *)work->k->in[0]->data + ((n * own->boxes + found->box) * own->sets + set) * 4;
}

// The best of one class go to `chosen`; `waiting` has room for all boxes.
static int64_t one_class(const Work *work, int64_t n, int64_t class, Found *waiting, Found *chosen) {
    const Combined *own = work->own;
    const float *scores = (const float *)work->k->in[1]->data + n * own->boxes * own->classes + class;
    int64_t many = 0, kept = 0;
    for (int64_t i = 0; i < own->boxes; i++)
        if (scores[i * own->classes] > work->least_score)
            waiting[many++] = (Found){scores[i * own->classes], (int32_t)i, (int32_t)class};
    make_heap(waiting, many);
    while (many > 0 && kept < own->each) {
        Found best = take_best(waiting, &many);
        const float *box = box_of(work, n, &best);
        bool over = false;
        for (int64_t j = kept - 1; j >= 0 && !over; j--)
            over = boxes_overlap(box, box_of(work, n, &chosen[j])) > work->most_overlap;
        if (!over)
            chosen[kept++] = best;
    }
    return kept;
}

static void pictures(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Combined *own = work->own;
    Tensor *const *out = work->k->out;
    for (int64_t n = first; n < last; n++) {
        Found *chosen = (void *)((char *)work->k->scratch + (size_t)n * own->picture);
        Found *waiting = chosen + own->each * own->classes;
        int64_t many = 0;
        for (int64_t class = 0; class < own->classes; class++)
            many += one_class(work, n, class, waiting, chosen + many);
        make_heap(chosen, many);
        ((int32_t *)out[3]->data)[n] = (int32_t)min_i64(many, own->wide);
        for (int64_t i = 0; i < own->wide; i++) {
            Found found = {0};
            const float *box = NULL;
            if (many > 0) {
                found = take_best(chosen, &many);
                box = box_of(work, n, &found);
            }
            for (int c = 0; c < 4; c++) {
                float at = box ? box[c] : 0;
                ((float *)out[0]->data)[(n * own->wide + i) * 4 + c] = own->clips ? fmaxf(fminf(at, 1), 0) : at;
            }
            ((float *)out[1]->data)[n * own->wide + i] = found.score;
            ((float *)out[2]->data)[n * own->wide + i] = (float)found.class;
        }
    }
}

static Status *combined_run(Kernel *k) {
    const Combined *own = k->own;
    Work work = {k, own, *(const float *)k->in[4]->data, *(const float *)k->in[5]->data};
    NEED(work.most_overlap >= 0 && work.most_overlap <= 1, INVALID_ARGUMENT, "iou_threshold must be in [0, 1], got %g",
         (double)work.most_overlap);
    kernel_parallel(k, own->batch, max_i64(1, own->boxes * own->classes * 20), pictures, &work);
    return OK;
}

const Op op_CombinedNonMaxSuppression = {
    .signature = "CombinedNonMaxSuppression(boxes: float, scores: float, max_output_size_per_class: int32, "
                 "max_total_size: int32, iou_threshold: float, score_threshold: float) -> nmsed_boxes: float, "
                 "nmsed_scores: float, nmsed_classes: float, valid_detections: int32; pad_per_class: bool = false; "
                 "clip_boxes: bool = true",
    .doc = "The best boxes of each picture, without those that lie over better ones of their class.",
    .needs = "rank(boxes) == 4, rank(scores) == 3, dim(boxes, 3) == 4, scalar(max_output_size_per_class), "
             "scalar(max_total_size), scalar(iou_threshold), scalar(score_threshold)",
    .shape = combined_shape, .prepare = combined_prepare, .own_size = sizeof(Combined), .cpu = ANY_TYPE(combined_run),
    .host = BIT(2) | BIT(3), .flags = OP_NO_GRADIENT,
};
