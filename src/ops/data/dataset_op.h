// What the ops that make datasets share. A file here is one family: the DatasetType, and the ops whose row it is.
#pragma once
#include "base/checked.h"
#include "data/dataset.h"
#include "data/position.h"
#include "ops/op.h"

// The fields of an op that makes datasets of that type.
#define MAKES(type) \
    .shape = shape_scalar, .cpu = ANY_TYPE(dataset_run), .row = &(type), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT

// The ends of signatures.
#define ELEMENTS "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"
#define METADATA "; metadata: string = \"\""

// An op that gives the only element of a dataset of the type in its row, made of its inputs: a kernel that is started
// (iterator.c), and the shape that the attributes say.
void dataset_one_start(Kernel *k);
Status *dataset_element_shape(Shapes *s);

// Outputs of ops whose resource lives as long as its handles (nameless.c): the handle, and a second one that once deleted
// it. A dummy's handle names nothing: what would be in the resource is then the dataset's own.
FALLIBLE Status *nameless_output(Kernel *k, Resource *resource);
FALLIBLE Status *nameless_dummy(Kernel *k, const struct ResourceType *type);
// The resource of that argument, retained; NULL where the op has none, or a dummy.
FALLIBLE Status *nameless_input(Kernel *k, const char *argument, const struct ResourceType *type, Resource **out);

// A pull inside a source: returns where it failed, or where the element comes later.
#define TRY_NEXT(source, pull, out, how)             \
    do {                                             \
        TRY(source_next((source), (pull), (out), (how))); \
        if (*(how) == PULLED_LATER)                  \
            return OK;                               \
    } while (0)

static inline Status *pulled_end(Pulled *how) {
    *how = PULLED_END;
    return OK;
}
static inline Status *pulled(Pulled *how) {
    *how = PULLED;
    return OK;
}
static inline void tuples_auto(Tuples *tuples) {
    tuples_clear(tuples);
}

// Memory for an element of a source's input while something is made of it; on failure the source's `close` must not
// be reached with it unset. Zeroed.
static inline Tensor *tuple_new(int n) {
    return calloc((size_t)n + 1, sizeof(Tensor));
}
