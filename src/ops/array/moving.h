// Moving — what ops share that only move elements: one kernel for every element type.
//
// Plain elements are moved as bytes. Strings and objects can't be: their movers see arrays of pointers to the elements
// instead, 8 bytes each, and what arrives is copied (retained) at the end; a NULL pointer leaves an empty element. So a
// mover never knows the difference: it moves elements of moved_size(dtype) bytes.
#pragma once
#include "loops/move.h"
#include "ops/op.h"

// Moves from in to out, one entry per input and output. Outputs whose entry is NULL have no elements to be written.
typedef Status *MoveFn(Kernel *k, const void *const *in, void *const *out);
// Calls the mover for the inputs and outputs whose type is that of output 0; others are given as they are.
FALLIBLE Status *move_elements(Kernel *k, MoveFn *mover);

static inline size_t moved_size(DType dtype) {
    return dtype_is_plain(dtype) ? dtype_size(dtype) : sizeof(void *);
}

// The kernel of ops that copy one view of input `source` to output 0: own begins with a Move.
typedef struct {
    CopyPlan copy;
    int64_t cost;    // ns
    int source;
} Move;
Status *move_run(Kernel *k);
// Fills in what follows from the plan.
void move_ready(Prepare *p, Move *move, int source);
// Runs a plan on the kernel's threads.
void move_parallel(Kernel *k, const Move *move, const void *in, void *out);

// Element i of `to` becomes a copy of element j of `from`: same type, strings and objects included.
FALLIBLE Status *element_copy(const Tensor *from, int64_t j, const Tensor *to, int64_t i);

// Axes of a tensor of `rank` dimensions as bits. INVALID_ARGUMENT where one is outside [-rank, rank) or named twice.
FALLIBLE Status *axes_to_bits(const Tensor *axes, int rank, const char *what, uint32_t *out);

// Element i of an integer tensor of any width: int8, int16, int32, int64.
int64_t host_int(const Tensor *tensor, int64_t i);

// In prepare: the value of a host input is needed now. (Where it isn't known yet the node is prepared again, late.)
#define NEED_VALUE(p, i) NEED((p)->in[i]->data, FAILED_PRECONDITION, "the value of input %d is not known yet", (i))
