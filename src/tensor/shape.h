// Shape — the extents of a tensor, each known (>= 0) or not (-1), or nothing known at all (rank -1).
//
// A shape whose extents are all known has passed shape_check, so its element count fits an int64 whatever the order of
// multiplication: that is checked here and nowhere else.
#pragma once
#include "base/str.h"
#include "tensor/dtype.h"

enum { MAX_RANK = 8, UNKNOWN_RANK = -1, UNKNOWN_DIM = -1 };

typedef struct {
    int32_t rank;
    int64_t dims[MAX_RANK];  // those past the rank are 0
} Shape;

#define SHAPE(...)                                                               \
    ((Shape){(int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define SCALAR_SHAPE ((Shape){0})
#define UNKNOWN_SHAPE ((Shape){.rank = UNKNOWN_RANK})

// Makes a shape of numbers that came from outside: rank 0 to MAX_RANK or -1, extents >= -1, and where all are known
// the product of the non-zero extents fits (so [0, 2^40, 2^40] is refused whatever the order).
FALLIBLE Status *shape_make(const int64_t *dims, int64_t rank, Shape *out);
FALLIBLE Status *shape_check(const Shape *shape);

bool shape_is_known(const Shape *shape);                      // rank and every extent
static inline bool shape_equal(const Shape *a, const Shape *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}
bool shape_compatible(const Shape *a, const Shape *b);        // some known shape fits both
// The shape that knows what either knows; INVALID_ARGUMENT where they disagree.
FALLIBLE Status *shape_merge(const Shape *a, const Shape *b, Shape *out);
// NumPy's broadcasting, unknown extents included. INVALID_ARGUMENT "Incompatible shapes: [2,3] vs. [4]".
FALLIBLE Status *shape_broadcast(const Shape *a, const Shape *b, Shape *out);
// Elements of a known shape; -1 where something is unknown.
int64_t shape_count(const Shape *shape);
// Bytes of a known shape; RESOURCE_EXHAUSTED where they don't fit.
FALLIBLE Status *shape_bytes(const Shape *shape, DType dtype, size_t *out);
// "axis" of a tensor of that rank, negative ones counted from the end; INVALID_ARGUMENT outside [-rank, rank).
FALLIBLE Status *shape_axis(int64_t axis, int rank, int *out);
// Product of the extents first <= i < last of a known shape.
int64_t shape_span(const Shape *shape, int first, int last);
void shape_print(Text *text, const Shape *shape);             // "[2,?,3]", "<unknown>"

// Text of a shape for one message: valid until the eighth next call on the thread.
const char *shape_text(const Shape *shape);
