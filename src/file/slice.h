// Slice — a rectangular part of a tensor, as checkpoints name them: "4 5 0,2:-" is rows 0 and 1 of a [4,5] tensor.
#pragma once
#include "tensor/tensor.h"

enum { SLICE_ALL = -1 };  // the length of a dimension that is whole

typedef struct {
    int rank;
    int64_t start[MAX_RANK], length[MAX_RANK];  // 0 and SLICE_ALL for a whole dimension
} Slice;

// Reads the text after which a variable is cut: the whole tensor's shape, then the slice. INVALID_ARGUMENT.
FALLIBLE Status *slice_parse(Str text, Shape *out_whole, Slice *out);
Slice slice_whole(int rank);
// The slice's own shape, and with SLICE_ALL resolved. INVALID_ARGUMENT where it doesn't lie in the whole.
FALLIBLE Status *slice_shape(const Slice *slice, const Shape *whole, Shape *out);
FALLIBLE Status *slice_resolve(const Slice *slice, const Shape *whole, Slice *out);
// Copies what two resolved slices have in common from one's tensor to the other's; how many elements that were.
FALLIBLE Status *slice_copy(const Slice *from_at, const Tensor *from, const Slice *to_at, const Tensor *to,
                            int64_t *out_count);
// The key of a slice's entry: sorts by name, then place.
void slice_key(Str name, const Slice *slice, Text *out);
