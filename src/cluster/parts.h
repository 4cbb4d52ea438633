// Parts — what of a client's session runs on this task: the state of its nodes, and the graphs that its master has cut out
// for it, each ready to run.
#pragma once
#include "cluster/peers.h"
#include "plan/pass.h"
#include "run/rendezvous.h"
#include "run/trace.h"
#include "session/calls.h"
#include "session/session.h"

typedef struct TaskSession TaskSession;
typedef struct Part Part;

// Which task of which cluster a session sees in this one.
typedef struct {
    const SessionConfig *config;
    bool isolated;                // its state is its own; it has devices of the same incarnations
    Str task;                     // "/job:worker/replica:0/task:0"
    Peers *peers;                 // the other tasks; they outlive it
    const ClusterDef *cluster;    // NULL; or a cluster that the client brings, instead of the peers: then it is isolated
} TaskSessionOptions;

// Counted. In the environment, unless it is isolated.
FALLIBLE Status *task_session_new(WorkerEnvironment *environment, const TaskSessionOptions *options, TaskSession **out);
TaskSession *task_session_retain(TaskSession *session);
void task_session_release(TaskSession *session);
// Cancels what runs; later runs are refused.
void task_session_close(TaskSession *session);
Cancellation *task_session_cancellation(TaskSession *session);
WorkerEnvironment *task_session_environment(TaskSession *session);
Str task_session_task(const TaskSession *session);
Peers *task_session_peers(TaskSession *session);

// What plans of the session are made with, but for the devices and the home of a cut.
PlanOptions task_session_options(TaskSession *session);

// Counted; holds its session. Of a draft, which it takes; `graph` and its lock are of whoever the functions belong to.
FALLIBLE Status *part_of_draft(TaskSession *session, Graph *graph, Mutex *graph_lock, Draft *draft, Part **out);
// Of a GraphDef that a master has sent: all of it runs in each step.
FALLIBLE Status *part_of_proto(TaskSession *session, Str graph_def, Part **out);
Part *part_retain(Part *part);
void part_release(Part *part);

typedef struct {
    int64_t step_id, deadline;
    Rendezvous *rendezvous;
    Cancellation *cancellation;      // its parent is the session's, until it is cleared
    Trace *trace;                    // NULL: none
} PartRun;
// How its steps are run, and what runs them: for who takes a step of it in several calls.
FALLIBLE Status *part_options(Part *part, const PartRun *run, StepOptions *out);
Executor *part_executor(const Part *part);
FALLIBLE Status *part_run(Part *part, const PartRun *run, const Tensor *const *feeds, Tensor *out_fetches);
