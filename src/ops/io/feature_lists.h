// Feature lists — the second half of SequenceExamples: for each key a list of features, one for each moment.
#pragma once
#include "ops/op.h"

typedef enum { LIST_SPARSE, LIST_DENSE, LIST_RAGGED } FeatureListKind;

typedef struct {
    Str key;
    FeatureListKind kind;
    DType dtype;              // string, float or int64
    Shape shape;              // of a moment's value, where it is dense
    bool may_be_missing;      // then it is empty
    DType splits;
    int first, second, third; // outputs: indices, values and shape; values and lengths (-1: none); values, outer and
                              // inner splits
} FeatureListSpec;

// Parses every element of `serialized`, a vector, or the one example that is a scalar: then no output has a batch in
// front. `names` may be NULL or empty. Allocates the outputs.
FALLIBLE Status *feature_lists_parse(Kernel *k, const FeatureListSpec *specs, int n, const Tensor *serialized,
                                     const Tensor *names);
