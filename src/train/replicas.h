// Replicas — one training by several copies of a net, each with data of its own: what each does with its gradients, and what the
// chief does for all. All of it is graph: accumulators, queues and variables beside the weights, found by their names.
//
//     asynchronous  each changes the weights by itself, by whatever it read of them
//     synchronous   gradients of one step are averaged and applied once; the first `needed` of a step count, those that come
//                   later are dropped: the others are backups, and who is slow holds up nobody
//     bounded       as asynchronous, but nobody is more than `staleness` steps ahead of the slowest
//
// The clock is net_steps, on a store. A replica that was killed and started again runs `start` and goes on. One that is gone for
// good stops the others in the end where it is needed (synchronous without backups, bounded): run steps with a time limit.
#pragma once
#include "train/optimizer.h"

typedef enum { REPLICAS_ASYNCHRONOUS, REPLICAS_SYNCHRONOUS, REPLICAS_BOUNDED, REPLICAS_KINDS } ReplicasKind;

typedef struct {
    ReplicasKind kind;
    int n, index;        // replicas, and which this is; 0 is the chief
    int needed;          // synchronous: 1 to n
    int staleness;       // bounded: 0 and more
} Replicas;

typedef struct {
    Node *train;         // a step of this replica; waits for its turn at the end
    Node *start;         // before its first step, when the variables have values: its own part of them; NULL: nothing
    Node *update;        // the chief's, to be run again and again beside its steps: waits, and changes what is to be changed for
                         // all; NULL: nothing
    Node *end;           // the chief's: steps that wait, and later ones, are OUT_OF_RANGE; NULL: nothing
} ReplicaSteps;

const char *replicas_name(ReplicasKind kind);   // "asynchronous"; NULL for none
// optimizer_minimize for one of several. Sets out's members to NULL after an error.
void replicas_minimize(Net *net, const Replicas *replicas, const Optimizer *optimizer, Output rate, Output loss, const Clip *clip,
                       ReplicaSteps *out);

// What a store holds, in a checkpoint that is written and read where the store is.
typedef struct {
    Node *save, *restore;
    Output ready;        // a bool: whether all its variables have values. A store that was started again has none
} StoreSteps;
// Of the variables made so far on that device; zeros where there are none, or after an error.
void store_keep(Net *net, Str device, Str prefix, StoreSteps *out);
