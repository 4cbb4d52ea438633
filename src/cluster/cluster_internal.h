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
    Str node;                // one of the session's that runs there; empty: unknown
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
// A plan for a step in several calls, which nobody else finds.
FALLIBLE Status *cluster_plan_partial(ClusterSession *session, const StepSignature *signature, Cancellation *cancellation,
                                      ClusterPlan **out);
FALLIBLE Status *cluster_plan_find(ClusterSession *session, const StepSignature *signature, Cancellation *cancellation,
                                   ClusterPlan **out);  // retained
void cluster_plan_release(ClusterPlan *plan);
void cluster_plans_clear(ClusterSession *session);

// Takes and returns the status: an error that tells of the task alone tells of the node, too.
FALLIBLE Status *cluster_part_error(const RemotePart *part, Status *status);

// ---- cluster_step.c
typedef struct ClusterStep ClusterStep;

typedef struct {
    ClusterStep *step;
    const RemotePart *part;
    PeerWatch watch;
    bool begun;
} Running;

struct ClusterStep {
    ClusterSession *session;
    const ClusterPlan *plan;
    int64_t id;
    Trace *trace;                // NULL: none
    Cancellation cancellation;   // of all parts
    Running *running;            // n_parts; in the arena
    Arena arena;
    Mutex lock;
    Condition ended;
    size_t left;                 // calls that have not ended; guarded by lock, as is the next
    Status *status;              // the first error
};

FALLIBLE Status *cluster_step_open(ClusterStep *step, ClusterSession *session, ClusterPlan *plan,
                                   const RunSettings *settings);
void cluster_step_close(ClusterStep *step);
// Begins the parts of other tasks. Whatever comes of it, finish follows.
FALLIBLE Status *cluster_step_begin(ClusterStep *step);
// Takes the status: OK is none, the first error ends all parts.
void cluster_step_note(ClusterStep *step, Status *status);
// Waits for the other tasks' parts, and has them forget the step.
void cluster_step_finish(ClusterStep *step, int64_t deadline);
int64_t cluster_step_deadline(const ClusterSession *session, const RunSettings *settings);

FALLIBLE Status *cluster_step_run(ClusterSession *session, ClusterPlan *plan, const RunSettings *settings,
                                  const Tensor *const *feeds, Tensor *out);

// ---- cluster_partial.c
FALLIBLE Status *cluster_partial_begin(Session *session, const StepSignature *signature, PartialRun **out);
FALLIBLE Status *cluster_partial_run(PartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out);
bool cluster_partial_is_over(const PartialRun *run);
void cluster_partial_end(PartialRun *run);
