// Boxes — corners of rectangles, and how much two of them have in common.
#pragma once
#include "ops/op.h"

// In the part that both cover of all that either covers. A box is two corners, in any order: y, x, y, x.
float boxes_overlap(const float *a, const float *b);
