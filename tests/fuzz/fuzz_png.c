// fuzz_png — any bytes as a PNG file: refused, or read; memory bounded by the input.
#include "file/png.h"

#include "picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    Picture picture = {.bytes = n};
    PictureSink sink = {picture_place, &picture};
    int pick = n ? bytes[n - 1] : 0;
    Str file = {(const char *)bytes, n};
    status_free(png_decode(file, pick % 5, pick & 1 ? 16 : 8, &sink));
    picture_drop(&picture);
    return 0;
}
