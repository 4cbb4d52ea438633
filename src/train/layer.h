// Layer — what the layers are made of; inside src/train only.
#pragma once
#include "train/net.h"

Output layer_activate(Net *net, Output x, const char *activation);
// The last extent of x, which must be known; `rank` 0 for any. False after an error that names the layer.
bool layer_channels(Net *net, const char *layer, Output x, int rank, int64_t *out);
// Whether a size that was asked for is one: false after an error that names the layer, the size and what it was.
bool layer_size(Net *net, const char *layer, const char *what, int64_t size);
// Plus the variable "bias" of the layer at hand.
Output layer_add_bias(Net *net, Output x, int64_t units, const char *activation);
