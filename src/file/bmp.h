// Bmp — BMP files of 8, 24 or 32 bits per pixel, not compressed, to pixels.
#pragma once
#include "file/picture.h"

// One frame of uint8 with 3 or 4 channels, red first; 0: as the file has them, 8 bits being 1. Rows may stand upside down.
// INVALID_ARGUMENT for what is no such file or not as long as it says.
FALLIBLE Status *bmp_decode(Str bytes, int channels, const PictureSink *sink);
