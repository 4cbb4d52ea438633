// Claim — parts of a plan for a device that compiles become nodes of their own: clusters.
//
// A node is claimed where it was placed on such a device and the device takes it (Compiler.claims). Clusters are as few
// as may be and convex: no path leaves one and comes back. Each becomes a `_Cluster` node and a draft of what is in it,
// whose plan is a list for the host. Whatever was placed there and is not claimed goes to the host of the same task.
#pragma once
#include "device/compiler.h"
#include "plan/pass.h"

typedef struct {
    Draft part;              // arguments: the node's inputs; results: its outputs
    PlanOptions options;     // of its passes
} ClusterDraft;

typedef struct ClusterDrafts {
    VEC(ClusterDraft *) all;   // by the attribute `body`
} ClusterDrafts;
void cluster_drafts_free(ClusterDrafts *clusters);

// ---- claim.c: which

enum { NO_CLUSTER = -1, MOST_CLUSTERS = 64, LEAST_NODES = 8 };

typedef struct {
    Node *node;
    int32_t cluster;         // NO_CLUSTER: it stays
    bool claimed, constant;
    bool flows;              // it may be dead, or run more than once
    uint64_t reached_by;     // clusters from which an unclaimed path leads here
    uint64_t awaits;         // what from other parts of the step, or from outside, it depends on
    bool sends;              // other parts, or the outside, may depend on it
    Node *copy;              // in the draft that is being written
    int32_t first_arg;       // of the draft's arguments that are its outputs; -1: none
} ClaimedNode;

typedef struct {
    Draft *draft;
    ClaimedNode *nodes;      // in an order that respects edges, then clusters' own; node->mark is the place
    size_t n;                // without the clusters' own
    struct {
        const Device *device;
        uint64_t before;     // clusters that lead to it directly
        uint64_t awaits;     // all that its nodes do
        bool sends;          // one of its nodes does
        int32_t n;           // nodes that compute
        bool asked;          // one of its nodes names the device
    } clusters[MOST_CLUSTERS];
    int32_t n_clusters;
} Claiming;

// ---- claim_write.c: makes a node of the cluster
FALLIBLE Status *cluster_write(Claiming *claiming, int32_t cluster, const Device *host);
// The plan of what the node stands for.
FALLIBLE Status *cluster_plan(const Draft *draft, const Node *node, PlanCluster *out);
