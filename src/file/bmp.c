// Bmp — see bmp.h. The header is not asked for its kind: offset, extents and depth stand at one place in all of them.
#include "file/bmp.h"

enum { HEADER = 32, AT_OFFSET = 10, AT_WIDTH = 18, AT_HEIGHT = 22, AT_DEPTH = 28 };

static int32_t read_int32(Str bytes, size_t at) {
    int32_t v;
    memcpy(&v, bytes.p + at, sizeof v);
    return v;
}

static void copy_pixel(const uint8_t *in, int64_t held, uint8_t *out, int64_t wanted) {
    if (held == 1) {
        out[0] = in[0];
        if (wanted >= 3)
            out[1] = out[2] = in[0];
    } else {  // blue comes first in the file
        out[0] = in[2];
        out[1] = in[1];
        out[2] = in[0];
    }
    if (wanted == 4)
        out[3] = held == 4 ? in[3] : 255;
}

Status *bmp_decode(Str bytes, int channels, const PictureSink *sink) {
    NEED(bytes.n >= HEADER, INVALID_ARGUMENT, "incomplete BMP content: a header takes %d bytes, got %zu", HEADER, bytes.n);
    int64_t offset = read_int32(bytes, AT_OFFSET), width = read_int32(bytes, AT_WIDTH);
    int64_t height = read_int32(bytes, AT_HEIGHT), held;
    int16_t depth;
    memcpy(&depth, bytes.p + AT_DEPTH, sizeof depth);
    held = depth / 8;
    NEED(held == 1 || held == 3 || held == 4, INVALID_ARGUMENT,
         "Number of channels inherent in the image must be 1, 3 or 4, was %lld", (long long)held);
    NEED(width > 0, INVALID_ARGUMENT, "Width must be positive");
    NEED(height != 0, INVALID_ARGUMENT, "Height must be nonzero");
    NEED(offset >= 0, INVALID_ARGUMENT, "header size must be nonnegative");
    bool downwards = height < 0;
    height = downwards ? -height : height;
    NEED(width * height < INT32_MAX / 8, INVALID_ARGUMENT, "Total possible pixel bytes must be less than 2^30");
    int64_t row = (held * width + 3) / 4 * 4, differ = (int64_t)bytes.n - offset - row * height;
    NEED(differ == 0, INVALID_ARGUMENT,
         "Input size should match (header_size + row_size * abs_height) but they differ by %lld", (long long)differ);
    int64_t wanted = channels ? channels : held;
    uint8_t *out;
    TRY(sink->room(sink->arg, (PictureShape){1, height, width, wanted}, (void **)&out));
    for (int64_t y = 0; y < height; y++) {
        const uint8_t *in = (const uint8_t *)bytes.p + offset + (downwards ? y : height - 1 - y) * row;
        for (int64_t x = 0; x < width; x++, in += held, out += wanted)
            copy_pixel(in, held, out, wanted);
    }
    return OK;
}
