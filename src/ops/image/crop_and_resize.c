// CropAndResize — parts of pictures, each brought to one size.
#include "loops/cast.h"
#include "ops/op.h"

typedef struct {
    int64_t batch, height, width, channels, crops, out_h, out_w;
    bool nearest, casts;
    float outside;
    CastLoop cast;
    size_t pixel;        // bytes of a channel's value
} Cropping;

static Status *crop_shape(Shapes *s) {
    const Shape *image = &s->in[0], *boxes = &s->in[1];
    Shape size;
    NEED(image->rank < 0 || image->rank == 4, INVALID_ARGUMENT, "input image must be 4-D, got %s", shape_text(image));
    TRY(shapes_input_shape(s, 3, &size));
    NEED(size.rank < 0 || size.rank == 2, INVALID_ARGUMENT, "crop_size must have two elements, got %d", size.rank);
    int64_t height = size.rank < 0 ? UNKNOWN_DIM : size.dims[0], width = size.rank < 0 ? UNKNOWN_DIM : size.dims[1];
    NEED(height != 0 && width != 0, INVALID_ARGUMENT, "crop dimensions must be positive");
    s->out[0] = SHAPE(boxes->rank == 2 ? boxes->dims[0] : UNKNOWN_DIM, height, width,
                      image->rank < 0 ? UNKNOWN_DIM : image->dims[3]);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *crop_prepare(Prepare *p) {
    Cropping *own = p->own;
    const Shape *image = &p->in[0]->shape, *out = &p->out[0]->shape;
    DType type = p->in[0]->dtype;
    *own = (Cropping){.batch = image->dims[0], .height = image->dims[1], .width = image->dims[2],
                      .channels = image->dims[3],
                      .crops = out->dims[0], .out_h = out->dims[1], .out_w = out->dims[2], .pixel = dtype_size(type),
                      .outside = node_float(p->node, "extrapolation_value"),
                      .nearest = str_is(node_str(p->node, "method"), "nearest"), .casts = type != DT_float};
    NEED(own->height > 0 && own->width > 0, INVALID_ARGUMENT, "image dimensions must be positive, got %s",
         shape_text(image));
    NEED(own->out_h > 0 && own->out_w > 0, INVALID_ARGUMENT, "crop dimensions must be positive");
    NEED(!own->casts || cast_find(type, DT_float, &own->cast), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(type));
    p->cost = shape_count(out) * 2;
    if (own->casts)
        p->scratch = (size_t)shape_count(image) * sizeof(float);
    return OK;
}

typedef struct {
    const Cropping *own;
    const float *image, *boxes;
    const int32_t *which;
    float *out;
} Work;

// Where row or column i of a crop lies in the picture.
static float place_of(float from, float to, int64_t extent, int64_t i, int64_t n) {
    float most = (float)(extent - 1);
    return n > 1 ? from * most + (float)i * ((to - from) * most / (float)(n - 1)) : 0.5f * (from + to) * most;
}

static void crop_pixel(const Cropping *own, const float *image, float y, float x, float *out) {
    int64_t c = own->channels;
    if (own->nearest) {
        memcpy(out, image + ((int64_t)roundf(y) * own->width + (int64_t)roundf(x)) * c, (size_t)c * sizeof *out);
        return;
    }
    int64_t top = (int64_t)floorf(y), bottom = (int64_t)ceilf(y), left = (int64_t)floorf(x), right = (int64_t)ceilf(x);
    const float *a = image + (top * own->width + left) * c, *b = image + (top * own->width + right) * c;
    const float *d = image + (bottom * own->width + left) * c, *e = image + (bottom * own->width + right) * c;
    float down = y - (float)top, across = x - (float)left;
    for (int64_t i = 0; i < c; i++) {
        float upper = a[i] + (b[i] - a[i]) * across, lower = d[i] + (e[i] - d[i]) * across;
        out[i] = upper + (lower - upper) * down;
    }
}

static void crop_boxes(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Cropping *own = work->own;
    for (int64_t n = first; n < last; n++) {
        const float *box = work->boxes + 4 * n, *image = work->image + work->which[n] * own->height * own->width *
            own->channels;
        float *out = work->out + n * own->out_h * own->out_w * own->channels;
        for (int64_t i = 0; i < own->out_h; i++) {
            float y = place_of(box[0], box[2], own->height, i, own->out_h);
            bool above = !(y >= 0 && y <= (float)(own->height - 1));
            for (int64_t j = 0; j < own->out_w; j++, out += own->channels) {
                float x = place_of(box[1], box[3], own->width, j, own->out_w);
                if (!above && x >= 0 && x <= (float)(own->width - 1))
                    crop_pixel(own, image, y, x, out);
                else
                    for (int64_t c = 0; c < own->channels; c++)
                        out[c] = own->outside;
            }
        }
    }
}

static Status *crop_run(Kernel *k) {
    const Cropping *own = k->own;
    Work work = {own, k->in[0]->data, k->in[1]->data, k->in[2]->data, k->out[0]->data};
    for (int64_t n = 0; n < own->crops; n++)
        NEED(work.which[n] >= 0 && work.which[n] < own->batch, OUT_OF_RANGE, "box_ind[%lld] = %d is not in [0, %lld)",
             (long long)n, (int)work.which[n], (long long)own->batch);
    if (own->casts && tensor_count(k->in[0])) {
        cast_run(&own->cast, k->in[0]->data, k->scratch, tensor_count(k->in[0]));
        work.image = k->scratch;
    }
    if (own->crops && own->channels)
        kernel_parallel(k, own->crops, max_i64(1, 2 * own->out_h * own->out_w * own->channels), crop_boxes, &work);
    return OK;
}

static void crop_grad(Formula *f) {
    DType type = output_type(f->x[0]);
    if (type == DT_float || type == DT_half || type == DT_double)
        f->dx[0] = OpWith("CropAndResizeGradImage",
                          ATTRS(TYPE_ATTR("T", type), {"method", ATTR_OF_STRING(node_str(f->node, "method"))}), f->dy[0],
                          f->x[1], f->x[2], ShapeOf(f->x[0]));
    f->dx[1] = Op("CropAndResizeGradBoxes", f->dy[0], f->x[0], f->x[1], f->x[2]);
}

const Op op_CropAndResize = {
    .signature = "CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> crops: float; "
                 "T: {uint8, uint16, signed_integers, half, float, double}; method: {\"bilinear\", \"nearest\"} = "
                 "\"bilinear\"; extrapolation_value: float = 0",
    .doc = "Parts of pictures, each brought to one size.",
    .needs = "rank(image) == 4, matrix(boxes), dim(boxes, 1) == 4, vector(box_ind), dim(box_ind, 0) == dim(boxes, 0)",
    .shape = crop_shape, .prepare = crop_prepare, .own_size = sizeof(Cropping), .cpu = ANY_TYPE(crop_run),
    .host = BIT(3), .grad = crop_grad,
};
