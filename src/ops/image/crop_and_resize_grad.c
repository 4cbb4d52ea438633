// CropAndResizeGradImage, CropAndResizeGradBoxes — gradients of CropAndResize: of its pictures, and of where its boxes are.
#include "loops/cast.h"
#include "ops/image/resize.h"

typedef struct {
    int64_t batch, height, width, channels, crops, out_h, out_w;
    bool nearest, casts;
    CastLoop cast;
} Cropping;

static Status *open_cropping(const Prepare *p, const Shape *image, Cropping *own) {
    const Shape *dy = &p->in[0]->shape;
    *own = (Cropping){.batch = image->dims[0], .height = image->dims[1], .width = image->dims[2],
                      .channels = image->dims[3], .crops = dy->dims[0], .out_h = dy->dims[1], .out_w = dy->dims[2],
                      .nearest = str_is(node_str(p->node, "method"), "nearest")};
    NEED(own->height > 0 && own->width > 0, INVALID_ARGUMENT, "image dimensions must be positive, got %s",
         shape_text(image));
    NEED(own->out_h > 0 && own->out_w > 0, INVALID_ARGUMENT, "grads dimensions must be positive, got %s", shape_text(dy));
    NEED(own->channels == dy->dims[3], INVALID_ARGUMENT, "image and grads have different depths: %s, %s", shape_text(image),
         shape_text(dy));
    return OK;
}

static Status *check_boxes(const Cropping *own, const Tensor *which) {
    const int32_t *at = which->data;
    for (int64_t n = 0; n < own->crops; n++)
        NEED(at[n] >= 0 && at[n] < own->batch, OUT_OF_RANGE, "box_ind[%lld] = %d is not in [0, %lld)", (long long)n,
             (int)at[n], (long long)own->batch);
    return OK;
}

// Where row or column i of n lies in the picture.
static float place_of(float from, float to, int64_t extent, int64_t i, int64_t n) {
    float most = (float)(extent - 1);
    if (n > 1)
        return from * most + (float)i * ((to - from) * most / (float)(n - 1));
    return (float)(0.5 * (double)(from + to) * (double)most);
}

// The same, in the order of operations that the gradient of boxes has: a place just beside a pixel has another slope.
static float place_by_ratio(float from, float to, int64_t extent, int64_t i, int64_t n) {
    float most = (float)(extent - 1);
    return n > 1 ? from * most + (float)i * ((to - from) * (most / (float)(n - 1))) : place_of(from, to, extent, i, n);
}

static bool is_inside(float at, int64_t extent) {
    return at >= 0 && at <= (float)(extent - 1);
}

// ---------------------------------------- of pictures

static Status *image_shape(Shapes *s) {
    TRY(resize_extents(s, 3, 4, 0, &s->out[0]));
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *image_prepare(Prepare *p) {
    Cropping *own = p->own;
    TRY(open_cropping(p, &p->out[0]->shape, own));
    p->cost = shape_count(&p->in[0]->shape) * 4;
    return OK;
}

// Sums are in the output's type, as TensorFlow's are: of half, too.
typedef struct {
    DType dtype;
    char *out;
    int64_t width, channels;
} Image;

static void add_pixel(const Image *image, int64_t y, int64_t x, const float *dy, float down, float across) {
    int64_t at = (y * image->width + x) * image->channels;
    for (int64_t c = 0; c < image->channels; c++) {
        float part = across * (down * dy[c]);
        if (image->dtype == DT_float) {
            ((float *)(void *)image->out)[at + c] += part;
        } else if (image->dtype == DT_double) {
            ((double *)(void *)image->out)[at + c] += (double)part;
        } else {
            Half *to = (Half *)(void *)image->out + at + c;
            *to = half_from_float(half_to_float(*to) + half_to_float(half_from_float(part)));
        }
    }
}

static void add_place(const Cropping *own, const Image *image, float y, float x, const float *dy) {
    if (own->nearest) {
        add_pixel(image, (int64_t)roundf(y), (int64_t)roundf(x), dy, 1, 1);
        return;
    }
    int64_t top = (int64_t)floorf(y), bottom = (int64_t)ceilf(y), left = (int64_t)floorf(x), right = (int64_t)ceilf(x);
    float down = y - (float)top, across = x - (float)left;
    add_pixel(image, top, left, dy, 1 - down, 1 - across);
    add_pixel(image, top, right, dy, 1 - down, across);
    add_pixel(image, bottom, left, dy, down, 1 - across);
    add_pixel(image, bottom, right, dy, down, across);
}

static Status *image_run(Kernel *k) {
    const Cropping *own = k->own;
    const float *dy = k->in[0]->data, *boxes = k->in[1]->data;
    const int32_t *which = k->in[2]->data;
    DType dtype = k->out[0]->dtype;
    int64_t picture = own->height * own->width * own->channels;
    TRY(check_boxes(own, k->in[2]));
    if (!tensor_count(k->out[0]))
        return OK;
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    for (int64_t b = 0; b < own->crops; b++) {
        const float *box = boxes + 4 * b;
        Image image = {dtype, (char *)k->out[0]->data + (size_t)(which[b] * picture) * dtype_size(dtype), own->width,
                       own->channels};
        for (int64_t i = 0; i < own->out_h; i++) {
            float y = place_of(box[0], box[2], own->height, i, own->out_h);
            for (int64_t j = 0; j < own->out_w; j++, dy += own->channels) {
                float x = place_of(box[1], box[3], own->width, j, own->out_w);
                if (is_inside(y, own->height) && is_inside(x, own->width))
                    add_place(own, &image, y, x, dy);
            }
        }
    }
    return OK;
}

// ---------------------------------------- of boxes

static Status *boxes_shape(Shapes *s) {
    s->out[0] = s->in[2];
    return OK;
}

static Status *boxes_prepare(Prepare *p) {
    Cropping *own = p->own;
    DType dtype = p->in[1]->dtype;
    TRY(open_cropping(p, &p->in[1]->shape, own));
    own->casts = dtype != DT_float;
    NEED(!own->casts || cast_find(dtype, DT_float, &own->cast), UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    p->scratch = own->casts ? (size_t)shape_count(&p->in[1]->shape) * sizeof(float) : 0;
    p->cost = shape_count(&p->in[0]->shape) * 6;
    return OK;
}

// How the picture changes at a place, downwards and across, times dy.
static void slope_at(const Cropping *own, const float *image, float y, float x, float dy, float *out_down, float *out_across) {
    int64_t c = own->channels, top = (int64_t)floorf(y), bottom = (int64_t)ceilf(y), left = (int64_t)floorf(x),
            right = (int64_t)ceilf(x);
    float down = y - (float)top, across = x - (float)left;
    float a = image[(top * own->width + left) * c], b = image[(top * own->width + right) * c];
    float d = image[(bottom * own->width + left) * c], e = image[(bottom * own->width + right) * c];
    *out_down = ((1 - across) * (d - a) + across * (e - b)) * dy;
    *out_across = ((1 - down) * (b - a) + down * (e - d)) * dy;
}

// Adds to the gradients of the two ends that place i of n lies between.
static void add_ends(float slope, int64_t extent, int64_t i, int64_t n, float *low, float *high) {
    if (n > 1) {
        float share = (float)i * ((float)(extent - 1) / (float)(n - 1));
        *low += slope * ((float)(extent - 1) - share);
        *high += slope * share;
    } else {
        *low = (float)((double)*low + (double)slope * 0.5 * (double)(extent - 1));
        *high = (float)((double)*high + (double)slope * 0.5 * (double)(extent - 1));
    }
}

static void boxes_units(void *arg, int64_t first, int64_t last) {
    const Kernel *k = arg;
    const Cropping *own = k->own;
    const float *images = own->casts ? k->scratch : k->in[1]->data;
    for (int64_t b = first; b < last; b++) {
        const float *box = (const float *)k->in[2]->data + 4 * b;
        const float *dy = (const float *)k->in[0]->data + b * own->out_h * own->out_w * own->channels;
        const float *image = images + ((const int32_t *)k->in[3]->data)[b] * own->height * own->width * own->channels;
        float *out = (float *)k->out[0]->data + 4 * b;
        memset(out, 0, 4 * sizeof *out);
        for (int64_t i = 0; i < own->out_h; i++) {
            float y = place_by_ratio(box[0], box[2], own->height, i, own->out_h);
            for (int64_t j = 0; j < own->out_w; j++) {
                float x = place_by_ratio(box[1], box[3], own->width, j, own->out_w);
                bool inside = is_inside(y, own->height) && is_inside(x, own->width);
                for (int64_t c = 0; c < own->channels; c++, dy++) {
                    float down, across;
                    if (!inside)
                        continue;
                    slope_at(own, image + c, y, x, *dy, &down, &across);
                    add_ends(down, own->height, i, own->out_h, &out[0], &out[2]);
                    add_ends(across, own->width, j, own->out_w, &out[1], &out[3]);
                }
            }
        }
    }
}

static Status *boxes_run(Kernel *k) {
    const Cropping *own = k->own;
    TRY(check_boxes(own, k->in[3]));
    if (own->casts && tensor_count(k->in[1]))
        cast_run(&own->cast, k->in[1]->data, k->scratch, tensor_count(k->in[1]));
    kernel_parallel(k, own->crops, max_i64(1, 6 * own->out_h * own->out_w * own->channels), boxes_units, k);
    return OK;
}

#define OF_CROPS "rank(grads) == 4, matrix(boxes), dim(boxes, 1) == 4, vector(box_ind), dim(box_ind, 0) == dim(boxes, 0), " \
                 "dim(grads, 0) == dim(boxes, 0)"

const Op op_CropAndResizeGradImage = {
    .signature = "CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, image_size: int32) -> output: T; T: "
                 "{float, half, double}; method: {\"bilinear\", \"nearest\"} = \"bilinear\"",
    .doc = "Gradient of CropAndResize of its pictures.", .needs = OF_CROPS ", vector(image_size), dim(image_size, 0) == 4",
    .shape = image_shape, .host = BIT(3), .prepare = image_prepare, .own_size = sizeof(Cropping),
    .cpu = ANY_TYPE(image_run),
};
const Op op_CropAndResizeGradBoxes = {
    .signature = "CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32) -> output: float; T: {uint8, "
                 "uint16, signed_integers, half, float, double}; method: {\"bilinear\"} = \"bilinear\"",
    .doc = "Gradient of CropAndResize of where its boxes are.", .needs = OF_CROPS ", rank(image) == 4", .shape = boxes_shape,
    .prepare = boxes_prepare, .own_size = sizeof(Cropping), .cpu = ANY_TYPE(boxes_run),
};
