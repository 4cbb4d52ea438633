// Kernels of a step — how the list and the propagator call them, and what they share with step.c.
#pragma once
#include "run/step.h"

// The value of a node that no step runs; NULL for the others, and where its state was not opened.
static inline const Tensor *step_constant(const Step *step, const PlanNode *p) {
    const Tensor *value = p->constant ? &step->executor->constants[p->out] : NULL;
    return value && value->buffer ? value : NULL;
}

Status *run_dynamic(Kernel *k);           // checks, shapes, allocates, prepares, runs
// Of a dynamic node in a list that is specialised.
RunFn *kernel_of_dynamic(const PlanNode *p, const Specialisation *specialisation);
// The function for a specialised node's k->run: the kernel itself where nothing need be done around it.
RunFn *kernel_of_specialised(const PlanNode *p, const Prepared *prepared, bool foreseen);
void step_completed(Kernel *k, Status *status);  // StepContext.done: from any thread
// ---- bound.c
// Binds the step to the specialisation for these shapes; to none (step->specialisation is NULL) where it shall run
// dynamically this time.
FALLIBLE Status *step_bind(Step *step, const Tensor *const *keys);
FALLIBLE Status *step_unbind(Step *step);  // its own arrays: dynamic, or propagated
void step_rest_memory(Step *step);
void step_release_evicted(Step *step);               // of specialisations that were dropped. Its slots are empty
void step_free_bounds(Step *step);

void step_free_propagation(Step *step);
void step_clear_copies(Step *step);
void step_free_loops(Step *step);
Status *run_cluster(Kernel *k);        // FLOW_CLUSTER (cluster.c)
void step_free_clusters(Step *step);
Status *run_functional(Kernel *k);     // FLOW_IF, FLOW_WHILE (functional.c)
FALLIBLE Status *cluster_programs_new(const PlanCluster *cluster, struct ClusterPrograms **out);
void cluster_programs_free(struct ClusterPrograms *programs);  // waits for what is being compiled
Status *run_loop(Kernel *k, uint32_t last);  // FLOW_LOOP (loop.c): inputs in `last` are its own
// ---- the parts of a list's run, for loops
FALLIBLE Status *step_new(Executor *executor, Step **out);
void step_empty(Step *step);           // the slots
void list_preset_constants(Step *step);
FALLIBLE Status *list_new_buffers(Step *step);
FALLIBLE Status *run_specialised(Step *step);
FALLIBLE Status *run_dynamic_from(Step *step, int32_t wave, int32_t first);  // every node from there on, dynamically
Status *run_copy_out(Kernel *k);       // FLOW_COPY_OUT and FLOW_COPY_IN: the machine's own kernels (copies.c)
Status *run_copy_in(Kernel *k);

// ---- exchange.c: with the step's other parts
Status *step_send(Kernel *k, Str key);      // StepContext.send
void step_receive(Kernel *k, Str key);      // StepContext.receive
struct Iteration;
FALLIBLE Status *step_send_dead(Step *step, const PlanNode *node, const struct Iteration *iteration);
void step_meet(Step *step);                // what it receives ends with its cancellation
void step_part(Step *step, const Status *status);  // and the other parts with its error

// ---- waits.c: for plans with waves
// Begins what can be; `*out_keys` are the shapes to specialise for, NULL where something of which no shape is known is
// awaited.
FALLIBLE Status *waits_begin(Step *step, const Tensor *const *feeds, const Tensor *const **out_keys);
Status *run_start(Kernel *k);              // a started node in its place
// Waits for all that was begun, and puts what the wave's nodes gave into the slots. Sets `*out_as_expected` to false
// where the step's specialisation is for other shapes.
FALLIBLE Status *waits_wave(Step *step, int32_t wave, bool *out_as_expected);
// The step is over, by `status`: nothing that was begun is left.
FALLIBLE Status *waits_end(Step *step, Status *status);
void waits_completed(Kernel *k, Status *status);

// Any node, now: copies as above, everything else by invoke.
FALLIBLE Status *run_any(const PlanNode *p, Prepared *prepared, Kernel *k, uint32_t last);
