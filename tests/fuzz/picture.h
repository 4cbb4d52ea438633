// Picture — where the fuzz targets of image files have pixels put: in memory that is as long as it has to be, and no longer
// than the file accounts for.
#pragma once
#include <stdlib.h>

#include "file/picture.h"

typedef struct {
    size_t bytes;     // of the file
    uint8_t *pixels;
} Picture;

enum { PICTURE_PER_BYTE = 1 << 17 };   // 2,730 pixels of three bytes in GIF; 8,256 pixels of eight bytes in PNG

static inline Status *picture_place(void *arg, PictureShape shape, void **out) {
    Picture *picture = arg;
    size_t n = (size_t)(shape.frames * shape.height * shape.width * shape.channels) * 2;
    if (n > (size_t)PICTURE_ALWAYS * 128 + picture->bytes * PICTURE_PER_BYTE || picture->pixels)
        abort();
    *out = picture->pixels = malloc(n + !n);
    NEED_MEMORY(picture->pixels);
    return OK;
}

static inline void picture_drop(Picture *picture) {
    free(picture->pixels);
}
