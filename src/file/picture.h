// Picture — what decoders of image files share: where the samples go, and how many of them a file may claim to hold.
#pragma once
#include "base/checked.h"
#include "base/str.h"

typedef struct {
    int64_t frames, height, width, channels;
} PictureShape;

// Who wants the samples. A decoder calls `room` once, when it has checked the header, and then fills what it got: frame by
// frame, row by row, channels innermost.
typedef struct {
    Status *(*room)(void *arg, PictureShape shape, void **out);
    void *arg;
} PictureSink;

// Small claims are believed: 2^20.
enum { PICTURE_ALWAYS = 1 << 20 };

// Whether a file of so many bytes can hold so many samples, each byte at most `most` of them. A header of 20 bytes can claim
// a picture of gigabytes: no memory is taken before this was asked.
static inline bool picture_fits(int64_t samples, size_t bytes, int64_t most) {
    return samples <= PICTURE_ALWAYS || (uint64_t)div_up(samples, most) <= bytes;
}
