// ClusterSession, inside — what the session, its plans and its steps share.
#pragma once
#include "cluster/cluster_session.h"
#include "session/plans.h"

// Another task that takes part.
typedef struct {
    Peer *peer;
    Device *devices;
    size_t n_devices;
} Member;

// What a task has to run of a plan.
typedef struct {
    Peer *peer;
    Str handle;              // of the graph, as the task has named it
} RemotePart;

// The parts of a signature. Counted: the session's table, and steps in flight.
typedef struct ClusterPlan {
    _Atomic int references;
    struct ClusterPlan *next;   // in its bucket
    uint64_t hash, edit;     // of the graph when it was made
    StepSignature signature;
    Part *home;
    RemotePart *parts;
    size_t n_parts;
    struct ClusterSession *session;
    Arena arena;
} ClusterPlan;

enum { CLUSTER_BUCKETS = 256, CLUSTER_PLANS = 4096 };

typedef struct ClusterSession {
    Session session;         // first
    Graph *graph;
    Mutex *graph_lock;
    SessionConfig config;
    Str config_bytes, handle;
    Worker *worker;
    TaskSession *home;
    Member *members;
    size_t n_members;
    DeviceSet devices;       // this task's, then the members': only the array is its own
    PlacementRecord placed;
    Mutex placed_lock;
    Map placements;          // of stateful nodes -> Device; guarded by placed_lock, as is the arena
    Arena placement_names;
    Mutex lock;              // guards what follows; taken before the graph's
    ClusterPlan *plans[CLUSTER_BUCKETS];
    size_t n_plans;
    Session *local;          // for what runs on this task alone; made when first asked for
    Arena arena;
} ClusterSession;

// ---- cluster_plan.c
FALLIBLE Status *cluster_plan_find(ClusterSession *session, const StepSignature *signature, Cancellation *cancellation,
                                   ClusterPlan **out);  // retained
void cluster_plan_release(ClusterPlan *plan);
void cluster_plans_clear(ClusterSession *session);

// ---- cluster_step.c
FALLIBLE Status *cluster_step_run(ClusterSession *session, ClusterPlan *plan, const RunSettings *settings,
                                  const Tensor *const *feeds, Tensor *out);
