// Move — bytes from one place to another: transposes, slices, tiles, broadcasts, reversals, pads, gathers.
//
// One engine copies between any two strided views; the functions below it say which view an op means. An element is 1,
// 2, 4, 8, 16 or 24 bytes, copied as bytes: strings and objects must be retained by the caller.
#pragma once
#include "tensor/shape.h"

enum { COPY_RANK = 2 * MAX_RANK };

typedef struct {
    int rank;
    int64_t dims[COPY_RANK], from[COPY_RANK], to[COPY_RANK];  // extents; steps in elements, of either sign or 0
    int64_t offset_from, offset_to;                           // elements
    size_t size;                                              // bytes of an element
    int kind;                                                 // which inner loop
    int64_t units, per_unit;                                  // outer positions, shared out in groups
    int64_t outer;
} CopyPlan;

// Any view to any view. The views in `out` must not meet themselves where threads share the units.
void copy_prepare(int rank, const int64_t *dims, const int64_t *from, const int64_t *to, size_t size, CopyPlan *plan);
// Copies units [first, last) of [0, plan->units); `in` and `out` are the first elements of the tensors.
void copy_run(const CopyPlan *plan, const void *in, void *out, int64_t first, int64_t last);
// What the walk takes besides the bytes that it moves, roughly.
int64_t copy_picoseconds(const CopyPlan *plan);

// out dimension i is in dimension perm[i].
void copy_transpose(const Shape *in, const int *perm, size_t size, CopyPlan *plan);
// out[i] = in[begin + i * stride] in each dimension; `out` has the rank of `in` and lies wholly inside.
void copy_slice(const Shape *in, const int64_t *begin, const int64_t *stride, const Shape *out, size_t size,
                CopyPlan *plan);
// The opposite way: in[begin + i * stride] = out[i]; what is not named stays.
void copy_into_slice(const Shape *in, const int64_t *begin, const int64_t *stride, const Shape *out, size_t size,
                     CopyPlan *plan);
void copy_broadcast(const Shape *in, const Shape *out, size_t size, CopyPlan *plan);
// Each dimension repeated multiples[i] times.
void copy_tile(const Shape *in, const int64_t *multiples, size_t size, CopyPlan *plan);
// Dimensions whose bit is set run backwards.
void copy_reverse(const Shape *in, uint32_t axes, size_t size, CopyPlan *plan);

typedef enum { PAD_CONSTANT, PAD_REFLECT, PAD_SYMMETRIC } PadMode;
// Rows (innermost runs) [first, last) of the output of shape in + before + after. REFLECT leaves the edge out of the
// mirror, so before and after are below the extent; SYMMETRIC repeats it. `value` is one element.
void pad_run(PadMode mode, const Shape *in, const int64_t *before, const int64_t *after, const void *value, size_t size,
             const void *from, void *to, int64_t first, int64_t last);
int64_t pad_rows(const Shape *in, const int64_t *before, const int64_t *after);

// Row r of the output is row r of each input in turn; row_bytes[i] of input i. Rows [first, last).
void concat_run(const void *const *in, const size_t *row_bytes, int n, void *out, int64_t first, int64_t last);
// The reverse: a NULL output is passed over.
void split_run(const void *in, void *const *out, const size_t *row_bytes, int n, int64_t first, int64_t last);

// out[o, i, :] = in[o, indices[i], :] for in [outer, extent, row] and `count` indices of int32 or int64. Positions
// [first, last) of outer * count. Returns -1, or the place in `indices` of the first outside [0, extent); rows of such
// are zeroed.
int64_t gather_rows(const void *in, int64_t extent, size_t row_bytes, const void *indices, DType index, int64_t count,
                    void *out, int64_t first, int64_t last);

// out[o, d, i] = indices[o, i] == d ? on : off, for out [outer, depth, inner]; outers [first, last).
void one_hot_run(const void *indices, DType index, int64_t depth, int64_t inner, const void *on, const void *off,
                 size_t size, void *out, int64_t first, int64_t last);

// n copies of one element.
void fill_run(const void *value, size_t size, void *out, int64_t n);
