// fuzz_jpeg — any bytes as a JPEG file: refused, or read; memory bounded by the input.
#include "file/jpeg.h"

#include "picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    Picture picture = {.bytes = n};
    PictureSink sink = {picture_place, &picture};
    int pick = n ? bytes[n - 1] : 0;
    Str file = {(const char *)bytes, n};
    JpegOptions options = {
        .ratio = 1 << (pick & 3), .fancy_upscaling = pick & 4, .recover = pick & 8, .accurate = pick & 16,
        .channels = pick & 32 ? 0 : 1, .crops = pick & 64, .crop_y = 1, .crop_x = 2, .crop_height = 3, .crop_width = 4,
    };
    status_free(jpeg_decode(file, &options, &sink));
    PictureShape shape;
    status_free(jpeg_shape(file, &shape));
    picture_drop(&picture);
    return 0;
}
