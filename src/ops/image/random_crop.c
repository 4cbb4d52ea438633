// RandomCrop — a window of a picture at a random place.
#include "ops/image/resize.h"
#include "ops/random/stream.h"

static Status *crop_shape(Shapes *s) {
    Shape size, image = s->in[0];
    NEED(image.rank < 0 || image.rank == 3, INVALID_ARGUMENT, "image must be 3-D, got %s", shape_text(&image));
    TRY(resize_extents(s, 1, 2, 0, &size));
    s->out[0] = SHAPE(size.dims[0], size.dims[1], image.rank < 0 ? UNKNOWN_DIM : image.dims[2]);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *crop_run(Kernel *k) {
    const Shape *in = &k->in[0]->shape, *out = &k->out[0]->shape;
    NEED(in->dims[1] >= out->dims[1] && in->dims[0] >= out->dims[0], FAILED_PRECONDITION,
         "the picture must be as large as the window: %s, %s", shape_text(in), shape_text(out));
    int64_t down = in->dims[0] - out->dims[0], across = in->dims[1] - out->dims[1], left = 0, top = 0;
    NEED(down < UINT32_MAX && across < UINT32_MAX, INVALID_ARGUMENT, "the picture is too large: %s", shape_text(in));
    PhiloxNumbers numbers = {0};
    TRY(stream_take(k, 1, &numbers.philox));
    if (across > 0)
        left = philox_number(&numbers) % (uint32_t)(across + 1);
    if (down > 0)
        top = philox_number(&numbers) % (uint32_t)(down + 1);
    size_t pixel = (size_t)in->dims[2] * dtype_size(k->in[0]->dtype), row = (size_t)out->dims[1] * pixel;
    for (int64_t y = 0; y < out->dims[0] && row; y++)
        memcpy((char *)k->out[0]->data + (size_t)y * row,
               (const char *)k->in[0]->data + (size_t)((top + y) * in->dims[1] + left) * pixel, row);
    return OK;
}

const Op op_RandomCrop = {
    .signature = "RandomCrop(image: T, size: int64) -> output: T; T: {uint8, int8, int16, int32, int64, float, double}; "
                 "seed: int = 0; seed2: int = 0; stateful; deprecated(8, \"use Slice at random offsets\")",
    .doc = "A window of a picture at a random place.", .needs = "rank(image) == 3, vector(size), dim(size, 0) == 2",
    .shape = crop_shape, .host = BIT(1), .cpu = ANY_TYPE(crop_run), .flags = OP_NO_GRADIENT, HAS_STREAM,
};
