// Jpeg — JPEG files to pixels and back, by libjpeg-turbo, which is opened by name when it is first needed.
//
// The pixels are TensorFlow's: the same library with the same settings, and the same handling of what is cut short.
#pragma once
#include "file/picture.h"

typedef struct {
    int channels;                // 0: as many as the file has, CMYK as 3; 1; 3
    int ratio;                   // 1, 2, 4 or 8: the picture is so many times smaller
    bool fancy_upscaling, accurate, recover;   // recover: what is missing repeats what is there
    float acceptable_fraction;   // of the rows; less is an error, more is filled with zeros
    bool crops;                  // only this window
    int64_t crop_y, crop_x, crop_height, crop_width;
} JpegOptions;

// One frame of uint8. INVALID_ARGUMENT for what is no JPEG file or no window of it; UNIMPLEMENTED without the library.
FALLIBLE Status *jpeg_decode(Str bytes, const JpegOptions *options, const PictureSink *sink);
// Height, width and channels, from the header alone.
FALLIBLE Status *jpeg_shape(Str bytes, PictureShape *out);

typedef struct {
    int quality;                 // 0 to 100
    bool progressive, optimised, full_chroma;  // full_chroma: colour at every pixel, not every fourth
    int density_unit;            // 1: inch, 2: centimetre
    int x_density, y_density;
    Str xmp;                     // metadata, or empty
} JpegSettings;

// Appends a file with pixels[height][width][channels], channels 1 or 3. INVALID_ARGUMENT where the library refuses.
FALLIBLE Status *jpeg_encode(const uint8_t *pixels, PictureShape shape, const JpegSettings *settings, Text *out);
