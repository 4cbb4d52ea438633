// Iterator — the resource that steps get elements from: a puller, once a dataset was given to it.
#pragma once
#include "data/puller.h"
#include "resource/resource.h"

typedef struct Iterator {
    Resource resource;
    Arena arena;                 // of the next three, which don't change
    DType *dtypes;               // what its node promises
    Shape *shapes;
    int n_components;
    Mutex lock;
    Puller *puller;              // guarded by lock; NULL: not initialized
} Iterator;

extern const ResourceType iterator_type;

// One reference. Takes what it promises from the attributes output_types and output_shapes.
FALLIBLE Status *iterator_new(const Node *node, Iterator **out);
// Whether what the node promises is what the iterator does: INVALID_ARGUMENT.
FALLIBLE Status *iterator_check(const Iterator *iterator, const Node *node);
// From now on its elements are the dataset's, from the first. INVALID_ARGUMENT where they are not as promised.
FALLIBLE Status *iterator_set(Iterator *iterator, const Dataset *dataset, const StepContext *context);
// Retained. FAILED_PRECONDITION: it is not initialized.
FALLIBLE Status *iterator_puller(Iterator *iterator, Puller **out);
// Where it stands, and back there, over the dataset that it was initialized with. FAILED_PRECONDITION: it is not.
FALLIBLE Status *iterator_save(Iterator *iterator, const StepContext *context, Text *out);
FALLIBLE Status *iterator_load(Iterator *iterator, const StepContext *context, Str bytes);
// It is not initialized any more.
void iterator_reset(Iterator *iterator);
