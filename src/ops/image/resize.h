// Resize — what the ops that make pictures larger or smaller share.
#pragma once
#include "ops/op.h"

Status *resize_shape(Shapes *s);       // [batch, height, width, channels] with the height and width of input 1
Status *resize_grad_shape(Shapes *s);  // with those of the tensor that is input 1

// The n extents that an input names, UNKNOWN_DIM where they are not known. INVALID_ARGUMENT for another number of them, and
// for one below `least`.
FALLIBLE Status *resize_extents(Shapes *s, int input, int n, int64_t least, Shape *out);

// Input coordinates per output coordinate, by the attributes align_corners and half_pixel_centers. INVALID_ARGUMENT where
// both are set, for no pixels, and for more than a float counts.
FALLIBLE Status *resize_scale(const Prepare *p, int64_t in, int64_t out, float *out_scale);
