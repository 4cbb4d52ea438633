// Stored — a dataset of elements at hand: what windows are.
#pragma once
#include "data/dataset.h"

typedef struct {
    Dataset dataset;
    Tuples elements;
} StoredDataset;

// Without elements yet. One reference.
FALLIBLE Status *stored_new(int n, const DType *dtypes, const Shape *shapes, StoredDataset **out);
// NULL where it is a dataset of another type.
StoredDataset *stored_of(Dataset *dataset);
