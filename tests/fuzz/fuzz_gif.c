// fuzz_gif — any bytes as a GIF file: refused, or read; memory bounded by the input.
#include "file/gif.h"

#include "picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    Picture picture = {.bytes = n};
    PictureSink sink = {picture_place, &picture};
    int pick = n ? bytes[n - 1] : 0;
    Str file = {(const char *)bytes, n};
    status_free(gif_decode(file, pick & 1, &sink));
    picture_drop(&picture);
    return 0;
}
