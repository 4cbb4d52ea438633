// fuzz_bmp — any bytes as a BMP file: refused, or read; memory bounded by the input.
#include "file/bmp.h"

#include "picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    Picture picture = {.bytes = n};
    PictureSink sink = {picture_place, &picture};
    int pick = n ? bytes[n - 1] : 0;
    Str file = {(const char *)bytes, n};
    status_free(bmp_decode(file, pick & 1 ? 3 : 4, &sink));
    picture_drop(&picture);
    return 0;
}
