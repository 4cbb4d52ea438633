// SampleDistortedBoundingBox — a random part of a picture, of which some box covers enough.
//
// The numbers are TensorFlow's, drawn in its order: for each attempt a ratio, a height, and a corner.
#include "ops/random/stream.h"

typedef struct {
    float ratios[2], areas[2], covered;
    int64_t attempts;
    bool whole;        // the picture counts as the box where there is none
} Sampling;

typedef struct {
    int64_t left, top, right, bottom;
} Box;

static Status *sample_shape(Shapes *s) {
    s->out[0] = s->out[1] = SHAPE(3);
    s->out[2] = SHAPE(1, 1, 4);
    return OK;
}

static Status *read_range(const Node *node, const char *name, float out[2]) {
    const AttrValue *range = node_attr_find(node, name);
    NEED(range && range->n == 2, INVALID_ARGUMENT, "%s must specify 2 dimensions", name);
    for (int i = 0; i < 2; i++) {
        out[i] = range->fs[i];
        NEED(out[i] > 0, INVALID_ARGUMENT, "%s must be non-negative, got %g", name, (double)out[i]);
    }
    return OK;
}

static Status *sample_prepare(Prepare *p) {
    Sampling *own = p->own;
    TRY(read_range(p->node, "aspect_ratio_range", own->ratios));
    TRY(read_range(p->node, "area_range", own->areas));
    NEED(own->areas[0] <= 1 && own->areas[1] <= 1, INVALID_ARGUMENT, "area_range must be at most 1, got [%g, %g]",
         (double)own->areas[0], (double)own->areas[1]);
    own->attempts = node_int(p->node, "max_attempts");
    NEED(own->attempts > 0 && own->attempts <= INT32_MAX, INVALID_ARGUMENT, "max_attempts must be positive, got %lld",
         (long long)own->attempts);
    own->whole = node_bool(p->node, "use_image_if_no_bounding_boxes");
    if (p->n_in == 2)
        own->covered = node_float(p->node, "min_object_covered");
    return OK;
}

// ---------------------------------------- numbers

static float draw_unit(PhiloxNumbers *numbers) {
    union {
        uint32_t bits;
        float value;
    } one = {.bits = 127u << 23 | (philox_number(numbers) & 0x7fffff)};
    return one.value - 1.0f;
}

static uint32_t draw_below(PhiloxNumbers *numbers, uint32_t n) {
    if (n == 0)
        return philox_number(numbers) * 0;
    if ((n & (n - 1)) == 0)
        return philox_number(numbers) & (n - 1);
    uint32_t uneven = UINT32_MAX % n + 1, drawn = 0;
    do {
        drawn = philox_number(numbers);
    } while (drawn < uneven);
    return drawn % n;
}

// ---------------------------------------- boxes

static float area_of(const Box *box) {
    return (float)((box->right - box->left) * (box->bottom - box->top));
}

static bool covers(const Box *crop, float least, const Box *box) {
    Box both = {max_i64(crop->left, box->left), max_i64(crop->top, box->top), min_i64(crop->right, box->right),
                min_i64(crop->bottom, box->bottom)};
    if (both.left > both.right || both.top > both.bottom)
        both = (Box){0};
    return area_of(box) >= 1 && area_of(&both) / area_of(box) >= least;
}

static int64_t width_of(int64_t height, float ratio) {
    return lrintf((float)height * ratio);
}

// A part of the picture of that ratio, its height drawn between what the areas allow. False where there is none.
static bool draw_part(const Sampling *own, int64_t width, int64_t height, float ratio, PhiloxNumbers *numbers, Box *out) {
    if (width <= 0 || height <= 0 || own->areas[0] > own->areas[1])
        return false;
    float least = own->areas[0] * (float)width * (float)height, most = own->areas[1] * (float)width * (float)height;
    int64_t low = lrintf(sqrtf(least / ratio)), high = lrintf(sqrtf(most / ratio));
    if (width_of(high, ratio) > width) {
        high = (int64_t)(((double)width + 0.5 - (double)0.0000001f) / (double)ratio);
        high -= width_of(high, ratio) > width;
    }
    high = min_i64(high, height);
    low = min_i64(low, high);
    if (low < high)
        low += draw_below(numbers, (uint32_t)(high - low + 1));
    int64_t wide = width_of(low, ratio);
    if ((float)(wide * low) < least)
        wide = width_of(++low, ratio);
    if ((float)(wide * low) > most)
        wide = width_of(--low, ratio);
    float area = (float)(wide * low);
    if (area < least || area > most || wide > width || low > height || wide <= 0 || low <= 0)
        return false;
    int64_t top = low < height ? draw_below(numbers, (uint32_t)(height - low)) : 0;
    int64_t left = wide < width ? draw_below(numbers, (uint32_t)(width - wide)) : 0;
    *out = (Box){left, top, left + wide, top + low};
    return true;
}

static Box box_at(const float *corners, int64_t height, int64_t width) {
    return (Box){(int32_t)(corners[1] * (float)width), (int32_t)(corners[0] * (float)height),
                 (int32_t)(corners[3] * (float)width), (int32_t)(corners[2] * (float)height)};
}

static bool is_good(const Kernel *k, const Box *crop, float least, const Box *whole) {
    int64_t n = tensor_count(k->in[1]) / 4;
    bool good = area_of(crop) >= 1 && n == 0 && covers(crop, least, whole);
    for (int64_t i = 0; area_of(crop) >= 1 && i < n && !good; i++) {
        Box box = box_at((const float *)k->in[1]->data + 4 * i, whole->bottom, whole->right);
        good = covers(crop, least, &box);
    }
    return good;
}

// ---------------------------------------- the op

static int64_t extent_at(const Tensor *size, int i) {
    switch (size->dtype) {
    case DT_uint8: return ((const uint8_t *)size->data)[i];
    case DT_int8: return ((const int8_t *)size->data)[i];
    case DT_int16: return ((const int16_t *)size->data)[i];
    default: return tensor_int(size, i);
    }
}

static void extent_put(const Tensor *to, int i, int64_t value) {
    switch (to->dtype) {
    case DT_uint8: ((uint8_t *)to->data)[i] = (uint8_t)value; break;
    case DT_int8: ((int8_t *)to->data)[i] = (int8_t)value; break;
    case DT_int16: ((int16_t *)to->data)[i] = (int16_t)value; break;
    case DT_int32: ((int32_t *)to->data)[i] = (int32_t)value; break;
    default: ((int64_t *)to->data)[i] = value; break;
    }
}

static Status *check_inputs(Kernel *k, int64_t height, int64_t width) {
    const Sampling *own = k->own;
    const float *corners = k->in[1]->data;
    NEED(height >= 0 && height < INT32_MAX, INVALID_ARGUMENT, "image height cannot be >= int32 max");
    NEED(width >= 0 && width < INT32_MAX, INVALID_ARGUMENT, "image width cannot be >= int32 max");
    for (int64_t i = 0; i < tensor_count(k->in[1]); i++)
        NEED(corners[i] >= 0 && corners[i] <= 1, INVALID_ARGUMENT,
             "All bounding box coordinates must be in [0.0, 1.0]: %g", (double)corners[i]);
    NEED(own->whole || tensor_count(k->in[1]), INVALID_ARGUMENT,
         "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not provide "
         "any bounding boxes.");
    return OK;
}

static Status *sample(Kernel *k, const Philox *philox) {
    const Sampling *own = k->own;
    PhiloxNumbers numbers = {.philox = *philox};
    int64_t height = extent_at(k->in[0], 0), width = extent_at(k->in[0], 1);
    float least = k->n_in > 2 ? *(const float *)k->in[2]->data : own->covered;
    NEED(least >= 0, INVALID_ARGUMENT, "Min object covered must be non-negative: %g", (double)least);
    TRY(check_inputs(k, height, width));
    Box whole = {0, 0, width, height}, crop = whole;
    for (int64_t i = 0; i < own->attempts; i++) {
        Box part;
        float ratio = draw_unit(&numbers) * (own->ratios[1] - own->ratios[0]) + own->ratios[0];
        if (ratio > 0 && draw_part(own, width, height, ratio, &numbers, &part) && is_good(k, &part, least, &whole)) {
            crop = part;
            break;
        }
        if (i % 1024 == 1023)
            TRY(context_check(k->step));
    }
    const int64_t begin[] = {crop.top, crop.left, 0}, size[] = {crop.bottom - crop.top, crop.right - crop.left, -1};
    for (int i = 0; i < 3; i++) {
        extent_put(k->out[0], i, begin[i]);
        extent_put(k->out[1], i, size[i]);
    }
    float *box = k->out[2]->data;
    box[0] = (float)crop.top / (float)height;
    box[1] = (float)crop.left / (float)width;
    box[2] = (float)crop.bottom / (float)height;
    box[3] = (float)crop.right / (float)width;
    return OK;
}

static Status *sample_run(Kernel *k) {
    const Sampling *own = k->own;
    Philox philox;
    TRY(stream_take(k, (uint64_t)own->attempts, &philox));
    return sample(k, &philox);
}
static Status *stateless_run(Kernel *k) {
    Philox philox = stateless_philox(k->in[3]);
    return sample(k, &philox);
}

#define OF_A_PICTURE "vector(image_size), dim(image_size, 0) == 3, rank(bounding_boxes) == 3, dim(bounding_boxes, 2) == 4"
#define SAMPLES .shape = sample_shape, .prepare = sample_prepare, .own_size = sizeof(Sampling), .flags = OP_NO_GRADIENT

const Op op_SampleDistortedBoundingBox = {
    .signature = "SampleDistortedBoundingBox(image_size: T, bounding_boxes: float) -> begin: T, size: T, bboxes: float; T: "
                 "{uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; min_object_covered: float = 0.1; "
                 "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; max_attempts: int = "
                 "100; use_image_if_no_bounding_boxes: bool = false; stateful",
    .doc = "A random part of a picture that covers enough of a box.", .needs = OF_A_PICTURE, .cpu = ANY_TYPE(sample_run),
    SAMPLES, HAS_STREAM,
};
const Op op_SampleDistortedBoundingBoxV2 = {
    .signature = "SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float, min_object_covered: float) -> begin: "
                 "T, size: T, bboxes: float; T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; "
                 "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; max_attempts: int = "
                 "100; use_image_if_no_bounding_boxes: bool = false; stateful",
    .doc = "A random part of a picture that covers enough of a box.", .needs = OF_A_PICTURE ", scalar(min_object_covered)",
    .cpu = ANY_TYPE(sample_run), SAMPLES, HAS_STREAM,
};
const Op op_StatelessSampleDistortedBoundingBox = {
    .signature = "StatelessSampleDistortedBoundingBox(image_size: T, bounding_boxes: float, min_object_covered: float, "
                 "seed: Tseed) -> begin: T, size: T, bboxes: float; T: {uint8, int8, int16, int32, int64}; Tseed: {int32, "
                 "int64}; aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; "
                 "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false",
    .doc = "A part of a picture that covers enough of a box, and follows from the seed.",
    .needs = OF_A_PICTURE ", scalar(min_object_covered), vector(seed), dim(seed, 0) == 2", .cpu = ANY_TYPE(stateless_run),
    SAMPLES,
};
