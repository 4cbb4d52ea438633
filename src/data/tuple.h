// Tuple — an element of a dataset: so many tensors, each with a reference to its buffer. Tuples — a row of them.
#pragma once
#include "base/vec.h"
#include "tensor/tensor.h"

void tuple_clear(Tensor *tuple, int n);  // each is forgotten, too
void tuple_retain(const Tensor *from, int n, Tensor *out);

// Row i of a tensor of rank >= 1, in a buffer of its own.
FALLIBLE Status *tuple_row(const Tensor *from, int64_t i, Tensor *out);
// Row i becomes what `row` holds, whose shape is that of the rows.
FALLIBLE Status *tuple_set_row(const Tensor *rows, int64_t i, const Tensor *row);
// The shape with `n` in front; INVALID_ARGUMENT where the rank is too large.
FALLIBLE Status *tuple_rows_shape(int64_t n, const Shape *row, Shape *out);

// Elements of `width` tensors, one behind the other.
typedef struct {
    VEC(Tensor) tensors;
    int width;
} Tuples;

static inline size_t tuples_count(const Tuples *tuples) {
    return tuples->width ? tuples->tensors.n / (size_t)tuples->width : 0;
}
static inline Tensor *tuples_at(const Tuples *tuples, size_t i) {
    return tuples->tensors.p + i * (size_t)tuples->width;
}
// Takes the element over, also on failure.
FALLIBLE Status *tuples_push(Tuples *tuples, Tensor *element);
// Forgets the first n.
void tuples_drop(Tuples *tuples, size_t n);
void tuples_clear(Tuples *tuples);  // gives the room back, too
// Component c of all elements, stacked. INVALID_ARGUMENT where they differ in shape, with words that name both.
FALLIBLE Status *tuples_stack(const Tuples *tuples, int c, Tensor *out);
