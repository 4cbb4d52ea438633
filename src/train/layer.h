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

// A learned table of rows in n variables, those from `first` on: row i is row i / n of the i % n-th.
typedef struct {
    int first, n;
    int64_t rows;
} Table;
// First values of a shard: initial_truncated_normal, say, with that number.
typedef Output TableInitial(Net *net, Shape shape, double number);
// In net->shards variables (fewer where there are fewer rows), each with its first values where it lies; `beside`: where the
// shards of that table are, or NULL.
Table table_new(Net *net, const char *name, Shape shape, TableInitial *initial, double number, const Table *beside);
// The rows `ids`, integers of any shape. Each row crosses from its shard once, as does its gradient.
Output table_rows(Net *net, const Table *table, Output ids);
