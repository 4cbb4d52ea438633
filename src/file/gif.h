// Gif — GIF files, one frame or many, to pixels.
#pragma once
#include "file/picture.h"

// Frames of uint8 with 3 channels, each drawn over the one before it; only the first where `animated` is false. All are as
// wide and high as the largest. A file that is cut short gives the frames that are whole. INVALID_ARGUMENT for what is no GIF
// file, RESOURCE_EXHAUSTED where its frames together are larger than its size can account for.
FALLIBLE Status *gif_decode(Str bytes, bool animated, const PictureSink *sink);
