// Coordinates — sparse tensors as ops take them: indices [n, rank], values [n], a shape [rank], all of them from outside.
#pragma once
#include "loops/elementwise.h"
#include "ops/array/moving.h"

typedef struct {
    const int64_t *indices;  // n rows of `rank`
    const Tensor *values;
    const int64_t *dims;     // NULL where the op has no shape
    int64_t n, rank;
} Coo;

// Inputs first, first + 1 and first + 2 as a sparse tensor. INVALID_ARGUMENT where they don't go together.
FALLIBLE Status *coo_get(const Kernel *k, int first, Coo *out);
// Every index lies in its extent. INVALID_ARGUMENT "indices[1] = [0,5] is out of bounds: need 0 <= index < [2,3]".
FALLIBLE Status *coo_check(const Coo *coo);
// And rows ascend, without one that is there twice.
FALLIBLE Status *coo_check_order(const Coo *coo);
// Two of the same shape. INVALID_ARGUMENT.
FALLIBLE Status *coo_match(const Coo *a, const Coo *b);
// <0, 0, >0: the first `rank` columns of two rows, in row-major order.
int coo_compare(const int64_t *a, const int64_t *b, int64_t rank);
// order[i]: the row that comes as i-th in row-major order of the first `columns`; rows that are equal stay in theirs.
FALLIBLE Status *coo_sort(const int64_t *indices, int64_t n, int64_t step, int64_t columns, int64_t *order);
// Outputs 0, 1 and 2 of n elements of that rank; `dims` may be NULL: then there are two outputs.
FALLIBLE Status *coo_output(Kernel *k, int64_t n, int64_t rank, const int64_t *dims);
// The product of extents, checked. INVALID_ARGUMENT.
FALLIBLE Status *coo_count(const int64_t *dims, int64_t rank, int64_t *out);
// As Shape. INVALID_ARGUMENT.
FALLIBLE Status *coo_shape(const Coo *coo, Shape *out);
