// DrawBoundingBoxes — frames of rectangles drawn into pictures.
#include "loops/cast.h"
#include "ops/op.h"

// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
static const float colours[10][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5f, 0, 0.5f, 1},
                                     {0.5f, 0.5f, 0, 1}, {0.5f, 0, 0, 1}, {0, 0, 0.5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

static Status *draw_prepare(Prepare *p) {
    const Shape *image = &p->in[0]->shape;
    int64_t depth = image->dims[3];
    NEED(depth == 1 || depth == 3 || depth == 4, INVALID_ARGUMENT,
         "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got %lld", (long long)depth);
    NEED(p->n_in < 3 || p->in[2]->shape.dims[1] >= depth, INVALID_ARGUMENT,
         "colors must have equal or more channels than the image: %s", shape_text(&p->in[2]->shape));
    p->cost = kernel_cost(0, 0, 2 * shape_count(image) * (int64_t)dtype_size(p->in[0]->dtype));
    return OK;
}

typedef struct {
    char *canvas;
    int64_t height, width;
    size_t pixel;     // bytes
} Picture;

static void draw_row(const Picture *picture, int64_t y, int64_t left, int64_t right, const void *colour) {
    for (int64_t x = left; x <= right; x++)
        memcpy(picture->canvas + (size_t)(y * picture->width + x) * picture->pixel, colour, picture->pixel);
}
static void draw_column(const Picture *picture, int64_t x, int64_t top, int64_t bottom, const void *colour) {
    for (int64_t y = top; y <= bottom; y++)
        memcpy(picture->canvas + (size_t)(y * picture->width + x) * picture->pixel, colour, picture->pixel);
}

// Where a corner lies, cut towards zero; what is too large, or no number, is far outside, above and to the left, where x86 puts it.
static int64_t corner(float part, int64_t extent) {
    float at = part * (float)(extent - 1);
    return at > -9e18f && at < 9e18f ? (int64_t)at : INT64_MIN;
}

static void draw_box(const Picture *picture, const float *box, const void *colour) {
    int64_t height = picture->height, width = picture->width;
    int64_t top = corner(box[0], height), left = corner(box[1], width), bottom = corner(box[2], height),
            right = corner(box[3], width);
    if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0)
        return;
    int64_t first_row = max_i64(top, 0), last_row = min_i64(bottom, height - 1);
    int64_t first_column = max_i64(left, 0), last_column = min_i64(right, width - 1);
    if (top >= 0)
        draw_row(picture, top, first_column, last_column, colour);
    if (bottom < height)
        draw_row(picture, bottom, first_column, last_column, colour);
    if (left >= 0)
        draw_column(picture, left, first_row, last_row, colour);
    if (right < width)
        draw_column(picture, right, first_row, last_row, colour);
}

// The colour that box number i has, in the picture's type.
static const void *colour_of(const Kernel *k, int64_t i, int64_t depth, float *plain, Half *halves) {
    const Tensor *given = k->n_in > 2 && k->in[2]->shape.dims[0] > 0 && k->in[2]->shape.dims[1] > 0 ? k->in[2] : NULL;
    for (int64_t c = 0; c < depth; c++) {
        if (given)
            plain[c] = ((const float *)given->data)[i % given->shape.dims[0] * given->shape.dims[1] + c];
        else
            plain[c] = depth == 1 ? 1 : colours[i % 10][c];
        halves[c] = half_from_float(plain[c]);
    }
    return k->out[0]->dtype == DT_half ? (const void *)halves : plain;
}

static Status *draw_run(Kernel *k) {
    const Shape *image = &k->in[0]->shape, *boxes = &k->in[1]->shape;
    float plain[4];
    Half halves[4];
    size_t size = dtype_size(k->out[0]->dtype);
    if (k->out[0]->data != k->in[0]->data)
        memcpy(k->out[0]->data, k->in[0]->data, tensor_bytes(k->in[0]));
    if (!tensor_count(k->out[0]))
        return OK;
    for (int64_t n = 0; n < image->dims[0]; n++) {
        Picture picture = {.height = image->dims[1], .width = image->dims[2], .pixel = (size_t)image->dims[3] * size};
        picture.canvas = (char *)k->out[0]->data + (size_t)(n * picture.height * picture.width) * picture.pixel;
        for (int64_t i = 0; i < boxes->dims[1]; i++)
            draw_box(&picture, (const float *)k->in[1]->data + 4 * (n * boxes->dims[1] + i),
                     colour_of(k, i, image->dims[3], plain, halves));
    }
    return OK;
}

#define OF_BOXES "rank(images) == 4, rank(boxes) == 3, dim(boxes, 0) == dim(images, 0), dim(boxes, 2) == 4"
#define DRAWS .shape = shape_unchanged, .prepare = draw_prepare, .cpu = ANY_TYPE(draw_run), .inplace = BIT(0), \
    .flags = OP_NO_GRADIENT

const Op op_DrawBoundingBoxes = {
    .signature = "DrawBoundingBoxes(images: T, boxes: float) -> output: T; T: {float, half} = float",
    .doc = "Pictures with the frames of boxes in ten colours.", .needs = OF_BOXES, DRAWS,
};
const Op op_DrawBoundingBoxesV2 = {
    .signature = "DrawBoundingBoxesV2(images: T, boxes: float, colors: float) -> output: T; T: {float, half} = float",
    .doc = "Pictures with the frames of boxes in the colours given.", .needs = OF_BOXES ", matrix(colors)", DRAWS,
};
