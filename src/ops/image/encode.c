// Encode — pixels to image files: EncodeJpeg, EncodeJpegVariableQuality, EncodePng.
#include "file/jpeg.h"
#include "file/png.h"
#include "ops/string/strings.h"

typedef struct {
    JpegSettings settings;
    PictureShape shape;
} Jpeg;

static Status *jpeg_extents(const Shape *image, Str format, PictureShape *out) {
    int64_t channels = image->dims[2];
    if (format.n) {
        int64_t wanted = str_is(format, "grayscale") ? 1 : 3;
        NEED(channels == wanted, INVALID_ARGUMENT, "format %.*s expects %lld channels, got %s", STR_ARGS(format),
             (long long)wanted, shape_text(image));
    }
    NEED(channels == 1 || channels == 3, INVALID_ARGUMENT, "image must have 1 or 3 channels, got %s", shape_text(image));
    NEED(shape_count(image) < INT32_MAX, INVALID_ARGUMENT, "Cannot encode images with >= max int32 elements");
    *out = (PictureShape){1, image->dims[0], image->dims[1], channels};
    return OK;
}

static int64_t encode_cost(const Shape *image) {
    return kernel_cost(shape_count(image), 10 * 1000, 0);
}

static Status *encode_jpeg_prepare(Prepare *p) {
    Jpeg *own = p->own;
    const Node *node = p->node;
    int64_t quality = node_int(node, "quality");
    NEED(quality >= 0 && quality <= 100, INVALID_ARGUMENT, "quality must be in [0,100], got %lld", (long long)quality);
    TRY(jpeg_extents(&p->in[0]->shape, node_str(node, "format"), &own->shape));
    own->settings = (JpegSettings){
        .quality = (int)quality, .progressive = node_bool(node, "progressive"),
        .optimised = node_bool(node, "optimize_size"), .full_chroma = !node_bool(node, "chroma_downsampling"),
        .density_unit = str_is(node_str(node, "density_unit"), "in") ? 1 : 2,
        .x_density = (int)node_int(node, "x_density"), .y_density = (int)node_int(node, "y_density"),
        .xmp = node_str(node, "xmp_metadata"),
    };
    p->cost = encode_cost(&p->in[0]->shape);
    return OK;
}

static Status *encode_quality_prepare(Prepare *p) {
    Jpeg *own = p->own;
    TRY(jpeg_extents(&p->in[0]->shape, STR(""), &own->shape));
    own->settings = (JpegSettings){.density_unit = 1, .x_density = 300, .y_density = 300};
    p->cost = encode_cost(&p->in[0]->shape);
    return OK;
}

static Status *encode_jpeg_run(Kernel *k) {
    const Jpeg *own = k->own;
    JpegSettings settings = own->settings;
    if (k->n_in > 1) {
        settings.quality = *(const int32_t *)k->in[1]->data;
        NEED(settings.quality >= 0 && settings.quality <= 100, INVALID_ARGUMENT, "quality must be in [0,100], got %d",
             settings.quality);
    }
    AUTO(text) Text text = {0};
    TRY(jpeg_encode(k->in[0]->data, own->shape, &settings, &text));
    return string_put_text(k->out[0], 0, &text);
}

#define JPEGS .shape = shape_scalar, .own_size = sizeof(Jpeg), .cpu = ANY_TYPE(encode_jpeg_run), .flags = OP_NO_GRADIENT

const Op op_EncodeJpeg = {
    .signature = "EncodeJpeg(image: uint8) -> contents: string; format: {\"\", \"grayscale\", \"rgb\"} = \"\"; quality: "
                 "int = 95; progressive: bool = false; optimize_size: bool = false; chroma_downsampling: bool = true; "
                 "density_unit: {\"in\", \"cm\"} = \"in\"; x_density: int = 300; y_density: int = 300; xmp_metadata: "
                 "string = \"\"",
    .doc = "A picture as a JPEG file.", .needs = "rank(image) == 3", .prepare = encode_jpeg_prepare, JPEGS,
};
const Op op_EncodeJpegVariableQuality = {
    .signature = "EncodeJpegVariableQuality(images: uint8, quality: int32) -> contents: string",
    .doc = "A picture as a JPEG file of a quality that comes as an input.", .needs = "rank(images) == 3, scalar(quality)",
    .prepare = encode_quality_prepare, JPEGS,
};

// ---------------------------------------- PNG

typedef struct {
    PictureShape shape;
    int bits, compression;
} Png;

static Status *encode_png_shape(Shapes *s) {
    Shape shape = s->in[0];
    NEED(shape.rank < 0 || shape.rank >= 3, INVALID_ARGUMENT, "image must be at least rank 3, got %s", shape_text(&shape));
    shape.rank -= shape.rank < 0 ? 0 : 3;
    s->out[0] = shape;
    return OK;
}

static Status *encode_png_prepare(Prepare *p) {
    Png *own = p->own;
    const Shape *image = &p->in[0]->shape;
    int64_t compression = node_int(p->node, "compression");
    NEED(compression >= -1 && compression <= 9, INVALID_ARGUMENT, "compression should be in [-1,9], got %lld",
         (long long)compression);
    NEED(shape_count(image) < INT32_MAX, INVALID_ARGUMENT, "image cannot have >= int32 max elements");
    *own = (Png){.shape = {shape_count(&p->out[0]->shape), image->dims[image->rank - 3], image->dims[image->rank - 2],
                           image->dims[image->rank - 1]},
                 .bits = (int)dtype_size(p->in[0]->dtype) * 8, .compression = (int)compression};
    NEED(own->shape.channels >= 1 && own->shape.channels <= 4, INVALID_ARGUMENT,
         "image must have 1, 2, 3, or 4 channels, got %lld", (long long)own->shape.channels);
    p->cost = encode_cost(image) * 3;
    return OK;
}

static Status *encode_png_run(Kernel *k) {
    const Png *own = k->own;
    size_t bytes = (size_t)(own->shape.height * own->shape.width * own->shape.channels) * (size_t)own->bits / 8;
    AUTO(text) Text text = {0};
    for (int64_t i = 0; i < own->shape.frames; i++) {
        const char *samples = (const char *)k->in[0]->data + (size_t)i * bytes;
        TRY(png_encode(samples, own->shape, own->bits, own->compression, &text));
        TRY(string_put_text(k->out[0], i, &text));
    }
    return OK;
}

const Op op_EncodePng = {
    .signature = "EncodePng(image: T) -> contents: string; compression: int = -1; T: {uint8, uint16} = uint8",
    .doc = "Pictures as PNG files, one for each of the dimensions in front of the last three.",
    .shape = encode_png_shape, .prepare = encode_png_prepare, .own_size = sizeof(Png), .cpu = ANY_TYPE(encode_png_run),
    .flags = OP_NO_GRADIENT,
};
