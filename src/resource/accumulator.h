// Accumulator — gradients summed up until enough have come; whoever takes the sum waits for that without a thread.
//
// It counts steps: a gradient that was computed from values of an earlier step is dropped, and each take begins the
// next. Takes are served in the order in which they came. A sparse one keeps rows with their indices, as TensorFlow's:
// the mean of a row is over the gradients that had it, and the indices of a gradient are taken to be sorted.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"
#include "thread/cancellation.h"

typedef struct Accumulator Accumulator;

extern const ResourceType accumulator_type;

// Arithmetic of one dtype, over n elements.
typedef struct {
    void (*add)(void *sum, const void *more, int64_t n);
    void (*divide)(void *sum, int64_t by, int64_t n);
} AccumulatorMath;

typedef struct {
    DType dtype;
    Shape shape;        // of a gradient; may be unknown, in parts or wholly
    bool sparse, mean;  // not mean: the sum
    const AccumulatorMath *math;
} AccumulatorSpec;

// The indices, the rows and, where the gradient tells it, the shape of the whole: a vector of int64.
typedef struct {
    const Tensor *indices, *values, *shape;
} SparseGradient;

// Takes over `status`. `parts`: the sum; of a sparse one indices, values and shape. NULL on failure.
typedef void AccumulatorDone(void *arg, Status *status, Tensor *parts);

// One reference.
FALLIBLE Status *accumulator_new(const AccumulatorSpec *spec, Accumulator **out);
// NULL where the resource is something else.
Accumulator *accumulator_of(Resource *resource);
// INVALID_ARGUMENT where a node asks for the accumulator of this name with another type, shape or reduction.
FALLIBLE Status *accumulator_check_spec(const Accumulator *accumulator, const AccumulatorSpec *spec);
// INVALID_ARGUMENT where it is of another type, or of the other kind.
FALLIBLE Status *accumulator_check(const Accumulator *accumulator, DType dtype, bool sparse);

// Adds a gradient, or drops it where `step` has passed. INVALID_ARGUMENT for a shape that doesn't fit.
FALLIBLE Status *accumulator_apply(Accumulator *accumulator, int64_t step, const Tensor *gradient);
FALLIBLE Status *accumulator_apply_sparse(Accumulator *accumulator, int64_t step, SparseGradient gradient);
// The reduced sum, once `required` gradients have come. `done` is called exactly once, with no lock held, before this
// returns or later on another thread; CANCELLED by `cancellation`, which may be NULL and outlives the wait.
void accumulator_take(Accumulator *accumulator, int64_t required, Cancellation *cancellation, AccumulatorDone *done,
                      void *arg);
void accumulator_set_step(Accumulator *accumulator, int64_t step);
int64_t accumulator_count(Accumulator *accumulator);
