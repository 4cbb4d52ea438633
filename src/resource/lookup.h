// Lookup — a table of keys and values between steps: the vocabulary of a model. Keys are integers or strings; a value
// is one element, or a tensor of a fixed shape.
//
// A table that is filled once refuses to be read before, and to be filled again with something else.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"

typedef struct Lookup Lookup;

// One type for all, so that an op on a handle need not know what fills the table.
extern const ResourceType lookup_type;

typedef struct {
    DType key, value;
    Shape value_shape;    // of one value: [] for an element
    bool once;            // filled once, then only read
    Shape key_shape;      // of one key: [] for an element, [n] for n integers
    // Keys that no row can have, NULL where all are good: how TensorFlow's open hashing marks free and emptied places,
    // which it also writes into checkpoints. lookup_new copies them.
    const Tensor *empty, *deleted;
    int64_t buckets;      // with `empty`: places at first, a power of 2, doubled beyond this load
    float load;
} LookupSpec;

// One reference. INVALID_ARGUMENT for types that a table can't have.
FALLIBLE Status *lookup_new(const LookupSpec *spec, Lookup **out);
// NULL where the resource is something else.
Lookup *lookup_of(Resource *resource);
const LookupSpec *lookup_spec(const Lookup *lookup);
// INVALID_ARGUMENT where a node asks for the table of this name with other types.
FALLIBLE Status *lookup_check_spec(const Lookup *lookup, const LookupSpec *spec);

// `keys` of any shape, `values` of that shape with the value's behind it. For a table that is filled once: all of it;
// a second time is well when it says the same. INVALID_ARGUMENT, FAILED_PRECONDITION.
FALLIBLE Status *lookup_fill(Lookup *lookup, const Tensor *keys, const Tensor *values);
// Adds or replaces, with `anew` in an emptied table. A table that is filled once is filled by `anew`; adding is
// UNIMPLEMENTED.
FALLIBLE Status *lookup_insert(Lookup *lookup, const Tensor *keys, const Tensor *values, bool anew);
FALLIBLE Status *lookup_remove(Lookup *lookup, const Tensor *keys);
// `out` is allocated: the keys' shape with the value's behind it. Missing keys get the default: one value for all, or
// one for each key.
FALLIBLE Status *lookup_find(Lookup *lookup, const Tensor *keys, const Tensor *otherwise, const Tensor *out);
// In no order; with `empty`, `deleted` no row has such a key: an import passes over them, all else refuses them.
FALLIBLE Status *lookup_export(Lookup *lookup, Tensor *out_keys, Tensor *out_values);
int64_t lookup_size(Lookup *lookup);
