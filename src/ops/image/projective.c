// ImageProjectiveTransform, V2 and V3 — pictures seen from elsewhere: each output pixel by the input place that eight numbers
// send it to.
#include "loops/cast.h"
#include "ops/image/resize.h"

typedef enum { FILL_CONSTANT, FILL_REFLECT, FILL_WRAP, FILL_NEAREST, FILLS } Fill;

typedef struct {
    int64_t batch, in_h, in_w, out_h, out_w, channels;
    bool nearest, one;      // one transform for all
    Fill fill;
    DType dtype;
    size_t size;            // bytes of an element
    CastLoop to_float, from_float;
    size_t at_out;          // in the scratch, behind the pictures as floats
} Projection;

static Status *projective_shape(Shapes *s) {
    Shape image = s->in[0], size;
    NEED(image.rank < 0 || image.rank == 4, INVALID_ARGUMENT, "images must have rank 4, got %s", shape_text(&image));
    TRY(resize_extents(s, 2, 2, 1, &size));
    s->out[0] = SHAPE(image.rank < 0 ? UNKNOWN_DIM : image.dims[0], size.dims[0], size.dims[1],
                      image.rank < 0 ? UNKNOWN_DIM : image.dims[3]);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *projective_prepare(Prepare *p) {
    static const char *const names[] = {"CONSTANT", "REFLECT", "WRAP", "NEAREST"};
    Projection *own = p->own;
    const Shape *in = &p->in[0]->shape, *out = &p->out[0]->shape;
    Str kind = node_str(p->node, "interpolation"), fill = node_str(p->node, "fill_mode");
    *own = (Projection){.batch = in->dims[0], .in_h = in->dims[1], .in_w = in->dims[2], .out_h = out->dims[1],
                        .out_w = out->dims[2], .channels = in->dims[3], .nearest = str_is(kind, "NEAREST"),
                        .one = p->in[1]->shape.dims[0] == 1, .dtype = p->in[0]->dtype,
                        .size = dtype_size(p->in[0]->dtype)};
    NEED(own->nearest || str_is(kind, "BILINEAR"), INVALID_ARGUMENT, "interpolation is NEAREST or BILINEAR, not %.*s",
         STR_ARGS(kind));
    while (own->fill < FILLS && !str_is(fill, names[own->fill]))
        own->fill++;
    NEED(own->fill < FILLS, INVALID_ARGUMENT, "fill_mode is REFLECT, WRAP, CONSTANT or NEAREST, not %.*s", STR_ARGS(fill));
    NEED(own->one || p->in[1]->shape.dims[0] == own->batch, INVALID_ARGUMENT,
         "Input transform should be num_images x 8 or 1 x 8, got %s", shape_text(&p->in[1]->shape));
    NEED(cast_find(own->dtype, DT_float, &own->to_float) && cast_find(DT_float, own->dtype, &own->from_float),
         UNIMPLEMENTED, "no kernel for type %s", dtype_name(own->dtype));
    if (!own->nearest && own->dtype != DT_float) {
        size_t out_bytes;
        NEED(mul_size((size_t)shape_count(out), sizeof(float), &out_bytes), RESOURCE_EXHAUSTED, "too large");
        own->at_out = round_up((size_t)shape_count(in) * sizeof(float), 64);
        p->scratch = own->at_out + out_bytes;
    }
    p->cost = kernel_cost(shape_count(out), 5000, 0);
    return OK;
}

// [abcd] goes on as [dcba|abcd|dcba], [abcd|abcd|abcd] or [aaaa|abcd|dddd].
static float bring_inside(Fill fill, float at, int64_t n) {
    float most = (float)(n - 1), twice = (float)(2 * n);
    if (fill == FILL_REFLECT && at < 0) {
        at += n <= 1 ? -at : twice * (float)(int64_t)(-at / twice);
        if (n > 1)
            at = at < (float)-n ? at + twice : -at - 1;
    } else if (fill == FILL_REFLECT && at > most) {
        at = n <= 1 ? 0 : at - twice * (float)(int64_t)(at / twice);
        if (n > 1 && at >= (float)n)
            at = twice - at - 1;
    } else if (fill == FILL_WRAP && at < 0) {
        at = n <= 1 ? 0 : at + (float)(n * ((int64_t)(-at / most) + 1));
    } else if (fill == FILL_WRAP && at > most) {
        at = n <= 1 ? 0 : at - (float)(n * (int64_t)(at / most));
    }
    return fill == FILL_CONSTANT ? at : fminf(fmaxf(at, 0), most);
}

typedef struct {
    const Projection *own;
    const char *in;          // floats for bilinear
    const float *transforms;
    char *out;
    const void *fill;        // one element, as the output holds it
} Work;

// The input place of an output pixel; false where there is none.
static bool place_of(const Work *work, int64_t n, int64_t y, int64_t x, float *out_y, float *out_x) {
    const Projection *own = work->own;
    const float *t = work->transforms + (own->one ? 0 : 8 * n);
    float depth = t[6] * (float)x + t[7] * (float)y + 1.0f;
    float across = (t[0] * (float)x + t[1] * (float)y + t[2]) / depth;
    float down = (t[3] * (float)x + t[4] * (float)y + t[5]) / depth;
    if (depth == 0 || !(fabsf(across) < 1e15f) || !(fabsf(down) < 1e15f))
        return false;
    *out_x = bring_inside(own->fill, across, own->in_w);
    *out_y = bring_inside(own->fill, down, own->in_h);
    return true;
}

// Whether a pixel is there.
static bool has(const Projection *own, int64_t y, int64_t x) {
    return y >= 0 && y < own->in_h && x >= 0 && x < own->in_w;
}

static void fill_pixel(const Work *work, char *out, size_t size) {
    for (int64_t c = 0; c < work->own->channels; c++)
        memcpy(out + (size_t)c * size, work->fill, size);
}

static void nearest_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Projection *own = work->own;
    size_t pixel = (size_t)own->channels * own->size;
    char *out = work->out + (size_t)(first * own->out_w) * pixel;
    for (int64_t row = first; row < last; row++)
        for (int64_t x = 0; x < own->out_w; x++, out += pixel) {
            int64_t n = row / own->out_h;
            float down, across;
            bool there = place_of(work, n, row % own->out_h, x, &down, &across);
            int64_t top = there ? (int64_t)roundf(down) : -1, left = there ? (int64_t)roundf(across) : -1;
            if (has(own, top, left))
                memcpy(out, work->in + (size_t)((n * own->in_h + top) * own->in_w + left) * pixel, pixel);
            else
                fill_pixel(work, out, own->size);
        }
}

static void bilinear_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Projection *own = work->own;
    float fill = *(const float *)work->fill;
    float *out = (float *)(void *)work->out + first * own->out_w * own->channels;
    for (int64_t row = first; row < last; row++)
        for (int64_t x = 0; x < own->out_w; x++, out += own->channels) {
            int64_t n = row / own->out_h;
            float y_at, x_at;
            if (!place_of(work, n, row % own->out_h, x, &y_at, &x_at)) {
                fill_pixel(work, (char *)out, sizeof *out);
                continue;
            }
            int64_t top = (int64_t)floorf(y_at), left = (int64_t)floorf(x_at);
            float down = y_at - (float)top, across = x_at - (float)left, rest = (float)(left + 1) - x_at;
            const float *images = (const float *)(const void *)work->in;
            const float *at[4];  // the corners that are there
            for (int i = 0; i < 4; i++) {
                int64_t y = top + i / 2, column = left + i % 2;
                at[i] = has(own, y, column) ? images + ((n * own->in_h + y) * own->in_w + column) * own->channels : NULL;
            }
            for (int64_t c = 0; c < own->channels; c++) {
                float v[4];
                for (int i = 0; i < 4; i++)
                    v[i] = at[i] ? at[i][c] : fill;
                out[c] = ((float)(top + 1) - y_at) * (rest * v[0] + across * v[1]) + down * (rest * v[2] + across * v[3]);
            }
        }
}

static Status *projective_run(Kernel *k) {
    const Projection *own = k->own;
    int64_t n = tensor_count(k->out[0]);
    float fill = k->n_in > 3 ? *(const float *)k->in[3]->data : 0, filled;
    char element[16] = {0};
    if (!n)
        return OK;
    cast_run(&own->from_float, &fill, element, 1);
    cast_run(&own->to_float, element, &filled, 1);
    Work work = {own, k->in[0]->data, k->in[1]->data, k->out[0]->data, element};
    if (own->nearest) {
        kernel_parallel(k, own->batch * own->out_h, max_i64(1, own->out_w * 10), nearest_rows, &work);
        return OK;
    }
    work.fill = &filled;
    if (own->dtype != DT_float) {
        if (tensor_count(k->in[0]))
            cast_run(&own->to_float, k->in[0]->data, k->scratch, tensor_count(k->in[0]));
        work.in = k->scratch;
        work.out = (char *)k->scratch + own->at_out;
    }
    kernel_parallel(k, own->batch * own->out_h, max_i64(1, own->out_w * (10 + 5 * own->channels)), bilinear_rows, &work);
    if (own->dtype != DT_float)
        cast_run(&own->from_float, work.out, k->out[0]->data, n);
    return OK;
}

// The transform that leads back, whose last number is 1: the inverse of [[a b c] [d e f] [g h 1]].
static void projective_grad(Formula *f) {
    Output ones = Fill(Concat(((Output[]){Slice(ShapeOf(f->x[1]), Ints(0), Ints(1)), Ints(1)}), 2, Int(0)), Number(1, DT_float));
    Output flat = Concat(((Output[]){f->x[1], ones}), 2, Int(1));
    Output inverse = Reshape(Op("MatrixInverse", Reshape(flat, Ints(-1, 3, 3))), Ints(-1, 9));
    inverse = Div(inverse, Slice(inverse, Ints(0, 8), Ints(-1, 1)));
    Output back = Slice(inverse, Ints(0, 0), Ints(-1, 8)), size = Slice(ShapeOf(f->x[0]), Ints(1), Ints(2));
    if (f->n_x == 4)
        f->dx[0] = Like("ImageProjectiveTransformV3", f->dy[0], back, size, Number(0, DT_float));
    else
        f->dx[0] = Like("ImageProjectiveTransformV2", f->dy[0], back, size);
}

#define OF_EIGHT "rank(images) == 4, matrix(transforms), dim(transforms, 1) == 8, vector(output_shape), dim(output_shape, 0) == 2"
#define PROJECTS                                                                                                     \
    .shape = projective_shape, .prepare = projective_prepare, .own_size = sizeof(Projection), .grad = projective_grad, \
    .cpu = ANY_TYPE(projective_run), .host = BIT(2)

const Op op_ImageProjectiveTransformV2 = {
    .signature = "ImageProjectiveTransformV2(images: dtype, transforms: float, output_shape: int32) -> transformed_images: "
                 "dtype; dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string; fill_mode: "
                 "string = \"CONSTANT\"",
    .doc = "Pictures seen from elsewhere, by eight numbers each.", .needs = OF_EIGHT, PROJECTS,
};
const Op op_ImageProjectiveTransformV3 = {
    .signature = "ImageProjectiveTransformV3(images: dtype, transforms: float, output_shape: int32, fill_value: float) -> "
                 "transformed_images: dtype; dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: "
                 "string; fill_mode: string = \"CONSTANT\"",
    .doc = "Pictures seen from elsewhere, by eight numbers each.", .needs = OF_EIGHT ", scalar(fill_value)", PROJECTS,
};
