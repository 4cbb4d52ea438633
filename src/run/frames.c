// Frames of a running step — making, recycling and freeing iterations, frames and values.
//
// A loop makes an iteration for each turn and drops the oldest; free lists in the step make that free of malloc after
// the first few turns, and they stay with the step for its next caller.
#include <stdlib.h>

#include "run/propagate.h"

// Values come by the block from the step's arena, and go back to a free list, never to malloc.
enum { MORE_VALUES = 32 };

bool values_grow(Propagation *p) {
    Value *values = arena_aligned(&p->step->arena, MORE_VALUES * sizeof *values, BUFFER_ALIGNMENT);
    for (int i = 0; values && i < MORE_VALUES; i++) {
        values[i].next = p->free_values;
        p->free_values = &values[i];
    }
    return values != NULL;
}

static size_t state_bytes(const PlanFrame *plan) {
    return (size_t)plan->n_slots * sizeof(IterationSlot) + (size_t)plan->n_nodes * sizeof(IterationNode);
}

// Slots, counts and child frames lie in one block behind the header; the first two are laid out as in PlanFrame, whose
// arrays lie side by side for this.
static Iteration *iteration_make(const PlanFrame *plan) {
    size_t state = state_bytes(plan);
    Iteration *iteration = calloc(1, sizeof *iteration + state + (size_t)plan->n_children * sizeof(Frame *));
    if (!iteration)
        return NULL;
    iteration->slots = (IterationSlot *)(iteration + 1);
    iteration->nodes = (IterationNode *)(iteration->slots + plan->n_slots);
    iteration->children = (Frame **)(iteration->nodes + plan->n_nodes);
    return iteration;
}

Iteration *iteration_new(Propagation *p, Frame *frame) {
    const PlanFrame *plan = frame->plan;
    Iteration *iteration = p->free_iterations[frame->index];
    if (iteration)
        p->free_iterations[frame->index] = iteration->next;
    else
        iteration = iteration_make(plan);
    if (!iteration)
        return NULL;
    // All counts of pending inputs and readers at once.
    memcpy(iteration->slots, plan->slots, state_bytes(plan));
    iteration->frame = frame;
    iteration->next = NULL;
    iteration->number = frame->newest ? frame->newest->number + 1 : 0;
    iteration->outstanding = 0;
    if (frame->newest)
        frame->newest->next = iteration;
    else
        frame->oldest = iteration;
    frame->newest = iteration;
    frame->active++;
    return iteration;
}

// A value may be left in a slot: the step failed, or nobody read it.
void iteration_free(Propagation *p, Iteration *iteration) {
    const PlanFrame *plan = iteration->frame->plan;
    for (int32_t i = 0; i < plan->n_slots; i++)
        if (iteration->slots[i].value)
            value_release(p, iteration->slots[i].value);
    for (int32_t i = 0; i < plan->n_children; i++) {
        if (iteration->children[i])
            frame_free(p, iteration->children[i]);
        iteration->children[i] = NULL;
    }
    int32_t index = iteration->frame->index;
    iteration->next = p->free_iterations[index];
    p->free_iterations[index] = iteration;
}

// TensorFlow's, since frames of its workers and of ours are the same loop.
static uint64_t combine(uint64_t a, uint64_t b) {
    return a ^ (b + UINT64_C(0x9e3779b97f4a7800) + (a << 10) + (a >> 4));
}

static uint64_t id_of(const PlanFrame *plan, const Iteration *parent) {
    return parent ? combine(parent->frame->id, combine((uint64_t)parent->number, plan->name_hash)) : 0;
}

Frame *frame_new(Propagation *p, int32_t index, Iteration *parent) {
    const PlanFrame *plan = &p->plan->frames[index];
    size_t constants = (size_t)plan->n_constants, exits = (size_t)plan->n_exits;
    Frame *frame = calloc(1, sizeof *frame + constants * (sizeof(Value *) + 1) + exits);
    if (!frame)
        return NULL;
    frame->plan = plan;
    frame->id = id_of(plan, parent);
    frame->index = index;
    frame->parent = parent;
    frame->constants = (Value **)(frame + 1);
    frame->constant_dead = (uint8_t *)(frame->constants + constants);
    frame->exited = frame->constant_dead + constants;
    if (!iteration_new(p, frame)) {
        free(frame);
        return NULL;
    }
    return frame;
}

void frame_free(Propagation *p, Frame *frame) {
    for (Iteration *iteration = frame->oldest; iteration;) {
        Iteration *next = iteration->next;
        iteration_free(p, iteration);
        iteration = next;
    }
    for (int32_t i = 0; i < frame->plan->n_constants; i++)
        if (frame->constants[i])
            value_release(p, frame->constants[i]);
    for (size_t i = 0; i < frame->deferred.n; i++)
        value_release(p, frame->deferred.p[i].value);
    vec_clear(&frame->deferred);
    free(frame);
}
