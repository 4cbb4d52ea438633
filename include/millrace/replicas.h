// replicas.h — one training by several tasks of a cluster: where variables lie, and what each replica's step does. Its rules are those
// of millrace.h.
/*
 * Each replica is a program that writes the same net, connects to a server of the cluster and runs its own steps:
 *
 *     mr_devices devices = {.struct_size = sizeof devices, .here = "/job:worker/task:1", .stores = stores, .num_stores = 2};
 *     mr_replicas replicas = {.struct_size = sizeof replicas, .mode = "synchronous", .num_replicas = 3, .replica = 1};
 *     mr_net_devices(net, &devices);
 *     ... layers and a loss ...
 *     mr_minimize_replicas(net, &optimizer, rate, loss, &replicas);
 *
 * The chief, replica 0, runs what mr_init gives, and from then on, on a thread of its own, `update` again and again. Every replica
 * runs `start` once (FAILED_PRECONDITION until the variables have values; it may wait for others), then `train`.
 */
#ifndef MILLRACE_REPLICAS_H_
#define MILLRACE_REPLICAS_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where what is written from now on goes. */
typedef struct mr_devices {
    size_t struct_size;            /* to be set: sizeof(mr_devices) */
    const char *here;              /* all but variables: "/job:worker/task:1"; NULL: nowhere in particular */
    const char *const *stores;     /* variables, with what reads and changes them: "/job:ps/task:0" ...; none: as all else */
    int num_stores;
    int by_size;                   /* each to the store with the fewest bytes; 0: by turns */
    int shards;                    /* the tables of mr_embedding and of classes that are sampled lie in so many variables; 0: one */
} mr_devices;

MR_EXPORT void mr_net_devices(mr_net *net, const mr_devices *devices);

/* All zeros but struct_size, num_replicas and replica is an asynchronous training. */
typedef struct mr_replicas {
    size_t struct_size;            /* to be set: sizeof(mr_replicas) */
    const char *mode;              /* "asynchronous": each changes the variables by itself. "synchronous": the mean of one step's
                                      gradients is applied. "bounded": as asynchronous, nobody far ahead of the slowest */
    int num_replicas, replica;     /* how many, and which this is: 0 is the chief */
    int needed;                    /* synchronous: gradients of the first so many make a step, later ones are dropped; 0: of all */
    int staleness;                 /* bounded: nobody is more steps ahead */
    /* The answer; NULL where there is nothing to run. */
    TF_Operation *train;           /* a step of this replica; waits, at its end, for its turn */
    TF_Operation *start;           /* before its first step, and when it or a store was started again */
    TF_Operation *update;          /* of the chief alone; waits for what it needs */
    TF_Operation *end;             /* of the chief alone: steps that wait, and later ones, are OUT_OF_RANGE */
} mr_replicas;

/* mr_minimize for one of several replicas. */
MR_EXPORT void mr_minimize_replicas(mr_net *net, const mr_optimizer *optimizer, TF_Output rate, TF_Output loss,
                                    mr_replicas *replicas);

/* A store that was lost and started again has no values: it gets them back from a checkpoint of its own, while the others keep
 * theirs. */
typedef struct mr_store {
    size_t struct_size;            /* to be set: sizeof(mr_store) */
    const char *device;            /* "/job:ps/task:0", as in mr_devices */
    const char *prefix;            /* of the checkpoint's files, where that task runs */
    /* The answer; NULL where the net has no variable there. */
    TF_Operation *save, *restore;
    TF_Output ready;               /* a bool: whether all its variables have values */
} mr_store;

/* For the variables that the net has so far: to be asked for when it is complete. */
MR_EXPORT void mr_keep_store(mr_net *net, mr_store *store);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_REPLICAS_H_ */
