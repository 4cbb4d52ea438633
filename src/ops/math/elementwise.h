// Elementwise rows — what the unary and binary families share, and what the fusing pass asks of a row.
#pragma once
#include "loops/broadcast.h"
#include "ops/op.h"

// Op.row of every op of the two families.
typedef struct {
    const ElementwiseOp *op;
    const char *parameter;   // the attribute that is the loop's parameter, or NULL
} ElementwiseRow;

#define ELEMENTWISE_ROW(Name) \
    ELEMENTWISE(Name);        \
    static const ElementwiseRow Name##_row = {&elementwise_##Name, NULL};

// What prepare leaves: the loop, and how the inputs are walked.
typedef struct {
    ElementwiseLoop loop;
    const ElementwiseOp *op;
    int64_t count;
    int64_t cost;            // ns
    int64_t sa, sb;          // strides of a flat walk
    BroadcastPlan broadcast; // only where neither is flat; last, so that the rest is two cache lines
} Elementwise;

Status *elementwise_prepare(Prepare *p);
Status *elementwise_run_flat(Kernel *k);

// For loops of a few rare ops: how far an input's element moves with each dimension of the output that it broadcasts
// to, and where the element for the output's element i lies.
void broadcast_steps(const Shape *in, const Shape *out, int64_t *step);
int64_t broadcast_place(const Shape *out, const int64_t *step, int64_t i);

#define ELEMENTWISE_FAMILY \
    .prepare = elementwise_prepare, .own_size = sizeof(Elementwise), .cpu = ANY_TYPE(elementwise_run_flat)

// Ops that are another's loop under a second name.
#define elementwise_AddV2 elementwise_Add
#define elementwise_RealDiv elementwise_Div
#define elementwise_Mod elementwise_TruncateMod
#define elementwise_Inv elementwise_Reciprocal
#define elementwise_InvGrad elementwise_ReciprocalGrad
#define elementwise_Rint elementwise_Round
