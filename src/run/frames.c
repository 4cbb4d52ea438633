// Frames of a running step — making, recycling and freeing iterations.
#include <stdlib.h>

#include "run/propagate.h"

static Iteration *iteration_make(const PlanFrame *plan) {
    size_t nodes = (size_t)plan->n_nodes + 1, slots = (size_t)plan->n_slots + 1;
    size_t bytes = sizeof(Iteration) + slots * (sizeof(Tensor) + sizeof(int32_t)) +
                   ((size_t)plan->n_children + 1) * sizeof(Frame *) +
                   nodes * (2 * sizeof(int32_t) + sizeof(uint16_t) + 1);
    Iteration *iteration = calloc(1, bytes);
    if (!iteration)
        return NULL;
    iteration->slots = (Tensor *)(iteration + 1);
    iteration->children = (Frame **)(iteration->slots + slots);
    iteration->readers = (int32_t *)(iteration->children + plan->n_children + 1);
    iteration->pending = iteration->readers + slots;
    iteration->which = iteration->pending + nodes;
    iteration->dead = (uint16_t *)(iteration->which + nodes);
    iteration->merged = (uint8_t *)(iteration->dead + nodes);
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
    size_t nodes = (size_t)plan->n_nodes;
    memcpy(iteration->pending, plan->pending, nodes * sizeof *iteration->pending);
    memcpy(iteration->readers, plan->readers, (size_t)plan->n_slots * sizeof *iteration->readers);
    memset(iteration->dead, 0, nodes * sizeof *iteration->dead);
    memset(iteration->merged, 0, nodes);
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

void iteration_free(Propagation *p, Iteration *iteration) {
    const PlanFrame *plan = iteration->frame->plan;
    for (int32_t i = 0; i < plan->n_slots; i++) {
        if (iteration->slots[i].buffer)
            buffer_release(iteration->slots[i].buffer);
        iteration->slots[i].buffer = NULL;
        iteration->slots[i].data = NULL;
    }
    for (int32_t i = 0; i < plan->n_children; i++) {
        if (iteration->children[i])
            frame_free(p, iteration->children[i]);
        iteration->children[i] = NULL;
    }
    int32_t index = iteration->frame->index;
    iteration->next = p->free_iterations[index];
    p->free_iterations[index] = iteration;
}

Frame *frame_new(Propagation *p, int32_t index, Iteration *parent) {
    const PlanFrame *plan = &p->plan->frames[index];
    size_t constants = (size_t)plan->n_constants + 1, exits = (size_t)plan->n_exits + 1;
    Frame *frame = calloc(1, sizeof *frame + constants * (sizeof(Tensor) + 1) + exits);
    if (!frame)
        return NULL;
    frame->plan = plan;
    frame->index = index;
    frame->parent = parent;
    frame->constants = (Tensor *)(frame + 1);
    frame->constant_state = (uint8_t *)(frame->constants + constants);
    frame->exited = frame->constant_state + constants;
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
        tensor_clear(&frame->constants[i]);
    for (size_t i = 0; i < frame->deferred.n; i++)
        tensor_clear(&frame->deferred.p[i].value);
    vec_clear(&frame->deferred);
    free(frame);
}
