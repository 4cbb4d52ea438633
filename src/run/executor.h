// Executor — a plan that can be run: the plan, the state of its nodes in one session, and what its steps share.
//
// A plan opens nothing and belongs to nobody; an executor is the plan bound to what its nodes open (Op.open). It keeps
// the specialisations that its steps have asked for and a spare step for each thread that calls. A plan may have any
// number of executors, in one session or in several.
#pragma once
#include "run/specialisation_cache.h"
#include "thread/place.h"

typedef struct Executor Executor;

// An idle step, alone on its cache line.
typedef struct {
    _Atomic(struct Step *) step;
    char pad[CACHE_LINE - sizeof(void *)];
} SpareStep;

// The parts of a loop that is one node.
typedef struct {
    Executor *first, *lasting, *body;   // of the plans of that name; `lasting` is NULL where there is none
} ExecutorLoop;

// A cluster: what runs on the host, and what was compiled of it (run/cluster.c).
typedef struct {
    Executor *host;
    struct ClusterPrograms *programs;
} ExecutorCluster;

struct Executor {
    Plan *plan;                // retained
    void **states;             // by node: what its kernels find in k->state; NULL: it has none
    Tensor *constants;         // by slot: the plan's, and the handles that states give; without a buffer where neither
    ExecutorLoop *loops;       // by plan->loops
    ExecutorCluster *clusters; // by plan->clusters
    _Atomic int32_t references;
    bool evicted;              // the cache has evicted some: in a list of such executors. Guarded by the cache's lock,
                               // as are the next three
    bool specialising;         // some thread is making one
    Specialisation *specialisations;    // newest first
    Executor *next_evicted;
    SpecialisationCache *cache;         // of the session; retained
    Arena arena;
    SpareStep spare[THREAD_PLACES];   // by the place of the calling thread (run/step.h)
};

// Who opens the states of nodes, and closes them when no executor is left that has them.
typedef struct StateOpener {
    // `*out` is the state, NULL where the op has none. Of one name there is one state.
    Status *(*open)(struct StateOpener *opener, const Node *node, void **out);
} StateOpener;

// Retains the plan and the cache. The opener is asked once for each node whose op opens something; its errors name the
// node. NULL: nothing is opened; such kernels find no state.
FALLIBLE Status *executor_new(Plan *plan, StateOpener *opener, SpecialisationCache *cache, Executor **out);
Executor *executor_retain(Executor *executor);
void executor_release(Executor *executor);

// The specialisation that fits, retained; NULL: run dynamically this time. One thread makes it while others run
// dynamically; a step that has run it before keeps it and never comes here (run/bound.c).
FALLIBLE Status *executor_specialisation(Executor *executor, const Tensor *const *keys, const Tensor *seen,
                                         Specialisation **out);
// The same, without making one.
Specialisation *executor_specialisation_find(Executor *executor, const Tensor *const *keys);
