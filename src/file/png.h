// Png — PNG files to samples and back, by libpng, which is opened by name when it is first needed.
#pragma once
#include "file/picture.h"

// One frame with so many channels (0: as the file has them, palettes as 3, with transparency as 4) of 8 or 16 bits each.
// INVALID_ARGUMENT for what is no PNG file; UNIMPLEMENTED without the library.
FALLIBLE Status *png_decode(Str bytes, int channels, int bits, const PictureSink *sink);

// Appends a file with samples[height][width][channels], channels 1 to 4, of 8 or 16 bits. `compression` is zlib's level, -1
// its usual one. INVALID_ARGUMENT where the library refuses.
FALLIBLE Status *png_encode(const void *samples, PictureShape shape, int bits, int compression, Text *out);
