// Decode — image files to pixels: DecodeJpeg, DecodeAndCropJpeg, DecodePng, DecodeBmp, DecodeGif, DecodeImage, and
// ExtractJpegShape, which reads no pixels.
//
// Each looks at the file's first bytes, not at its own name: all but DecodeBmp and DecodeAndCropJpeg take JPEG, PNG and GIF.
#include <stdlib.h>

#include "file/bmp.h"
#include "file/gif.h"
#include "file/jpeg.h"
#include "file/png.h"
#include "ops/string/strings.h"

typedef enum { OF_JPEG, OF_CROP, OF_PNG, OF_BMP, OF_GIF, OF_ANY } Kind;
typedef enum { FORMAT_UNKNOWN, FORMAT_JPEG, FORMAT_PNG, FORMAT_GIF, FORMAT_BMP, FORMAT_WEBP } Format;

typedef struct {
    Kind kind;
    JpegOptions jpeg;
    int channels;
    DType dtype;
    bool animated;
} Decoding;

static Kind kind_of(const Node *node) {
    return (Kind)(intptr_t)node_op(node)->row;
}

static Status *decode_shape(Shapes *s) {
    Kind kind = kind_of(s->node);
    if (kind == OF_ANY && node_bool(s->node, "expand_animations"))
        return OK;
    int64_t channels = kind == OF_GIF ? 3 : node_int(s->node, "channels"), height = UNKNOWN_DIM, width = UNKNOWN_DIM;
    NEED(channels >= 0, INVALID_ARGUMENT, "channels must be non-negative, got %lld", (long long)channels);
    Shape window;
    if (kind == OF_CROP) {
        TRY(shapes_input_shape(s, 1, &window));
        if (window.rank == 4) {
            height = window.dims[2];
            width = window.dims[3];
        }
    }
    if (kind == OF_GIF)
        s->out[0] = SHAPE(UNKNOWN_DIM, height, width, channels);
    else
        s->out[0] = SHAPE(height, width, channels ? channels : UNKNOWN_DIM);
    return OK;
}

static Status *prepare_jpeg(const Node *node, JpegOptions *out) {
    int64_t ratio = node_int(node, "ratio");
    Str method = node_str(node, "dct_method");
    NEED(ratio == 1 || ratio == 2 || ratio == 4 || ratio == 8, INVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %lld",
         (long long)ratio);
    NEED(!method.n || str_is(method, "INTEGER_FAST") || str_is(method, "INTEGER_ACCURATE"), INVALID_ARGUMENT,
         "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
    *out = (JpegOptions){.ratio = (int)ratio, .fancy_upscaling = node_bool(node, "fancy_upscaling"),
                         .recover = node_bool(node, "try_recover_truncated"),
                         .acceptable_fraction = node_float(node, "acceptable_fraction"),
                         .accurate = str_is(method, "INTEGER_ACCURATE")};
    return OK;
}

static Status *decode_prepare(Prepare *p) {
    enum { COST = 100 * 1000 };  // ns; the picture's size is not known
    Decoding *own = p->own;
    Kind kind = kind_of(p->node);
    int64_t channels = kind == OF_GIF ? 3 : node_int(p->node, "channels");
    *own = (Decoding){.kind = kind, .dtype = p->out[0]->dtype, .animated = true,
                      .jpeg = {.ratio = 1, .fancy_upscaling = true, .acceptable_fraction = 1}};
    if (kind == OF_JPEG || kind == OF_CROP)
        TRY(prepare_jpeg(p->node, &own->jpeg));
    if (kind == OF_ANY)
        own->animated = node_bool(p->node, "expand_animations");
    NEED(channels == 0 || channels == 1 || channels == 3 || channels == 4, INVALID_ARGUMENT,
         "`channels` must be 0, 1, 3 or 4 but got %lld", (long long)channels);
    own->channels = own->jpeg.channels = (int)channels;
    p->cost = COST;
    return OK;
}

static Format format_of(Str bytes) {
    if (str_starts(bytes, STR("\xff\xd8\xff")))
        return FORMAT_JPEG;
    if (str_starts(bytes, STR("\x89PNG\r\n\x1a\n")))
        return FORMAT_PNG;
    if (str_starts(bytes, STR("GIF8")))
        return FORMAT_GIF;
    if (str_starts(bytes, STR("BM")))
        return FORMAT_BMP;
    bool riff = str_starts(bytes, STR("RIFF")) && bytes.n > 12;
    return riff && memcmp(bytes.p + 8, "WEBP", 4) == 0 ? FORMAT_WEBP : FORMAT_UNKNOWN;
}

// ---------------------------------------- where the samples go

typedef struct {
    Kernel *k;
    Format format;
    DType held;      // of the samples that the file gives
    void *samples;   // where these are of another type than the output
} Target;

static Status *room(void *arg, PictureShape shape, void **out) {
    Target *target = arg;
    Kernel *k = target->k;
    const Decoding *own = k->own;
    bool film = own->kind == OF_GIF || (own->kind == OF_ANY && own->animated && target->format == FORMAT_GIF);
    NEED(film || shape.frames == 1, INVALID_ARGUMENT,
         "Got %lld frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image",
         (long long)shape.frames);
    TRY(kernel_output(k, 0, film ? SHAPE(shape.frames, shape.height, shape.width, shape.channels)
                                 : SHAPE(shape.height, shape.width, shape.channels)));
    *out = k->out[0]->data;
    if (target->held != own->dtype) {
        size_t bytes;
        NEED(mul_size((size_t)tensor_count(k->out[0]), dtype_size(target->held), &bytes), RESOURCE_EXHAUSTED, "too large");
        target->samples = *out = malloc(bytes + 1);
        NEED_MEMORY(target->samples);
    }
    return OK;
}

// uint8 as uint16 by shifting; as float in [0, 1], uint16 too.
static void convert(const Target *target) {
    const Tensor *out = target->k->out[0];
    int64_t n = tensor_count(out);
    const uint8_t *bytes = target->samples;
    const uint16_t *shorts = target->samples;
    for (int64_t i = 0; i < n; i++)
        if (out->dtype == DT_uint16)
            ((uint16_t *)out->data)[i] = (uint16_t)(bytes[i] << 8);
        else if (target->held == DT_uint8)
            ((float *)out->data)[i] = (float)bytes[i] * (float)(1.0 / UINT8_MAX);
        else
            ((float *)out->data)[i] = (float)shorts[i] * (float)(1.0 / UINT16_MAX);
}

// ---------------------------------------- which decoder

static Status *check_kind(const Decoding *own, Format format) {
    static const char *const names[] = {"", "JPEG", "PNG", "GIF", "BMP", ""};
    const char *name = names[format];
    NEED(format != FORMAT_UNKNOWN, INVALID_ARGUMENT, "Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
    NEED(format != FORMAT_WEBP, UNIMPLEMENTED, "WebP is not read");
    NEED(own->kind != OF_CROP || format == FORMAT_JPEG, INVALID_ARGUMENT,
         "DecodeAndCropJpeg operation can run on JPEG only, but detected %s.", name);
    NEED(own->kind == OF_ANY || (own->kind == OF_BMP) == (format == FORMAT_BMP), INVALID_ARGUMENT,
         "Trying to decode %s format using a wrong op", name);
    int channels = own->channels;
    NEED(format != FORMAT_JPEG || channels != 4, INVALID_ARGUMENT, "JPEG does not support 4 channels");
    NEED(format != FORMAT_GIF || channels == 0 || channels == 3, INVALID_ARGUMENT,
         "channels must be 0 or 3 for GIF, got %d", channels);
    NEED(format != FORMAT_BMP || channels != 1, INVALID_ARGUMENT, "`channels` must be 0, 3 or 4 for BMP, but got %d",
         channels);
    return OK;
}

static Status *decode_format(Str bytes, const Decoding *own, Target *target) {
    PictureSink sink = {room, target};
    JpegOptions jpeg = own->jpeg;
    switch (target->format) {
    case FORMAT_JPEG:
        if (own->kind == OF_CROP) {
            const int32_t *window = target->k->in[1]->data;
            jpeg.crops = true;
            jpeg.crop_y = window[0];
            jpeg.crop_x = window[1];
            jpeg.crop_height = window[2];
            jpeg.crop_width = window[3];
        }
        return jpeg_decode(bytes, &jpeg, &sink);
    case FORMAT_PNG:
        return png_decode(bytes, own->channels, target->held == DT_uint16 ? 16 : 8, &sink);
    case FORMAT_GIF:
        return gif_decode(bytes, own->animated, &sink);
    default:
        return bmp_decode(bytes, own->channels, &sink);
    }
}

static Status *decode_run(Kernel *k) {
    const Decoding *own = k->own;
    Str bytes = string_at(k->in[0], 0);
    NEED(bytes.n, INVALID_ARGUMENT, "Input is empty.");
    NEED(bytes.n <= INT32_MAX, INVALID_ARGUMENT, "Input contents are too large for int: %zu", bytes.n);
    Target target = {.k = k, .format = format_of(bytes), .held = DT_uint8};
    if (target.format == FORMAT_PNG && own->dtype != DT_uint8)
        target.held = DT_uint16;
    TRY(check_kind(own, target.format));
    Status *status = decode_format(bytes, own, &target);
    if (!status && target.samples)
        convert(&target);
    free(target.samples);
    return status;
}

#define DECODES(number)                                                                                      \
    .shape = decode_shape, .prepare = decode_prepare, .own_size = sizeof(Decoding), .cpu = ANY_TYPE(decode_run), \
    .row = (const void *)(intptr_t)(number), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT

const Op op_DecodeJpeg = {
    .signature = "DecodeJpeg(contents: string) -> image: uint8; channels: int = 0; ratio: int = 1; fancy_upscaling: bool = "
                 "true; try_recover_truncated: bool = false; acceptable_fraction: float = 1; dct_method: string = \"\"",
    .doc = "The pixels of a JPEG file; of a PNG file or a GIF file of one frame, too.", .needs = "scalar(contents)",
    DECODES(OF_JPEG),
};
const Op op_DecodeAndCropJpeg = {
    .signature = "DecodeAndCropJpeg(contents: string, crop_window: int32) -> image: uint8; channels: int = 0; ratio: int = "
                 "1; fancy_upscaling: bool = true; try_recover_truncated: bool = false; acceptable_fraction: float = 1; "
                 "dct_method: string = \"\"",
    .doc = "A window of a JPEG file: y, x, height, width. The rest is not decoded as far as that can be avoided.",
    .needs = "scalar(contents), vector(crop_window), dim(crop_window, 0) == 4", .host = BIT(1), DECODES(OF_CROP),
};
const Op op_DecodePng = {
    .signature = "DecodePng(contents: string) -> image: dtype; channels: int = 0; dtype: {uint8, uint16} = uint8",
    .doc = "The samples of a PNG file; of a JPEG file or a GIF file of one frame, too.", .needs = "scalar(contents)",
    DECODES(OF_PNG),
};
const Op op_DecodeBmp = {
    .signature = "DecodeBmp(contents: string) -> image: uint8; channels: int = 0",
    .doc = "The pixels of a BMP file that is not compressed.", .needs = "scalar(contents)", DECODES(OF_BMP),
};
const Op op_DecodeGif = {
    .signature = "DecodeGif(contents: string) -> image: uint8",
    .doc = "The frames of a GIF file; a JPEG or PNG file is one.", .needs = "scalar(contents)", DECODES(OF_GIF),
};
const Op op_DecodeImage = {
    .signature = "DecodeImage(contents: string) -> image: dtype; channels: int = 0; dtype: {uint8, uint16, float} = "
                 "uint8; expand_animations: bool = true",
    .doc = "The pixels of a JPEG, PNG, GIF or BMP file; float ones are in [0, 1].", .needs = "scalar(contents)",
    DECODES(OF_ANY),
};

// ---------------------------------------- ExtractJpegShape

static Status *three_shape(Shapes *s) {
    s->out[0] = SHAPE(3);
    return OK;
}

static Status *extract_run(Kernel *k) {
    PictureShape shape;
    TRY(jpeg_shape(string_at(k->in[0], 0), &shape));
    const int64_t extents[] = {shape.height, shape.width, shape.channels};
    for (int i = 0; i < 3; i++)
        if (k->out[0]->dtype == DT_int32)
            ((int32_t *)k->out[0]->data)[i] = (int32_t)extents[i];
        else
            ((int64_t *)k->out[0]->data)[i] = extents[i];
    return OK;
}

const Op op_ExtractJpegShape = {
    .signature = "ExtractJpegShape(contents: string) -> image_shape: output_type; output_type: {int32, int64} = int32",
    .doc = "Height, width and channels of a JPEG file, by its header.", .needs = "scalar(contents)",
    .shape = three_shape, .cpu = ANY_TYPE(extract_run), .flags = OP_NO_GRADIENT,
};
