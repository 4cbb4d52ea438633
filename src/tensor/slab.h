// Slab — small constants side by side: a graph of a million nodes has as many scalars, which a buffer of its own each
// would give 320 bytes and more.
#pragma once
#include "tensor/tensor.h"

enum { SLAB_MOST = 192 };  // bytes of an element's data

// Zero-initialised is empty; one owner, one thread at a time. Buffers outlive it: they count their block's references.
typedef struct {
    struct SlabBlock *block;  // the one that is being filled
} Slab;

// Whether the tensor is one for a slab: plain, small, contiguous.
bool slab_takes(const Tensor *tensor);
// A copy with a buffer of its own, which lies in the slab. RESOURCE_EXHAUSTED.
FALLIBLE Status *slab_copy(Slab *slab, const Tensor *from, Tensor *out);
void slab_clear(Slab *slab);
