// Features — what a parser of examples is asked for, and the walk that finds it in a batch of them.
//
// A batch is walked twice, in chunks that threads share: first each chunk notes where the features that were asked for
// lie, 48 bytes for each that is there, and checks and counts their values; then, the outputs having their sizes, the
// values are read to where they belong.
#pragma once
#include "base/map.h"
#include "ops/op.h"

typedef enum { FEATURE_FIXED, FEATURE_VARIABLE, FEATURE_SPARSE, FEATURE_RAGGED } FeatureKind;

typedef struct {
    Str key;
    FeatureKind kind;
    DType dtype;             // string, float or int64
    Shape shape;             // of one example's value; the first extent of a variable one is not known
    int64_t stride;          // elements of it; of a variable one, behind the first extent
    const Tensor *fallback;  // where it is missing: of that shape, without elements if it must not be missing; of a
                             // variable one a single element, to fill up rows
    DType splits;            // of a ragged one
    int first, second, third; // outputs: a value; indices, values and shape; values and splits
} FeatureSpec;

typedef struct {
    FeatureSpec *specs;
    int n;
    Map by_key;              // its index + 1
} FeatureSpecs;

FALLIBLE Status *feature_specs_init(FeatureSpecs *specs, int n);
void feature_specs_clear(FeatureSpecs *specs);
// After all are set: keys differ, shapes and fallbacks fit.
FALLIBLE Status *feature_specs_check(FeatureSpecs *specs, int first_dense);

// Parses every element of `serialized`, a vector, or the one example that is a scalar: then no output has a batch in
// front. `names` may be empty; they stand in messages. Allocates the outputs.
FALLIBLE Status *features_parse(Kernel *k, const FeatureSpecs *specs, const Tensor *serialized, const Tensor *names);
