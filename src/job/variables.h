// GraphVariables — the variables of a graph by the names that checkpoints know them by, read and written through a session.
#pragma once
#include "graph/graph.h"
#include "job/saver.h"
#include "session/session.h"

typedef struct {
    Str name;          // its shared_name, or that of its node
    Node *node;
    DType dtype;
    Shape shape;       // as declared; extents may be unknown
    Output read;       // its value
    Output value;      // fed by who writes it ...
    Node *assign;      // ... and runs this
} GraphVariable;

typedef struct {
    VEC(GraphVariable) list;   // in the order of the graph; of a name that several nodes have, the first
    Arena arena;
} GraphVariables;

// Finds them and adds to the graph what reads and writes them, below "save/"; the caller holds the graph's lock.
FALLIBLE Status *variables_open(Graph *graph, GraphVariables *out);
void variables_clear(GraphVariables *variables);
// Appends the value of each, under its name. FAILED_PRECONDITION where one has none yet.
typedef VEC(NamedTensor) NamedTensors;
FALLIBLE Status *variables_read(const GraphVariables *variables, Session *session, NamedTensors *out);
void named_tensors_clear(NamedTensors *tensors);

// Which variables a checkpoint is to give, and under which names it knows them.
typedef struct {
    const char *const *only;     // shell patterns of names; none: all
    int n_only;
    const char *const *except;   // and of those that keep what they have: a new head
    int n_except;
    const char *const *renames;  // "here=there": names that begin with `here` begin with `there` in the checkpoint
    int n_renames;
    bool lenient;                // a variable that is missing there, or of another type or shape, keeps what it has
} RestoreRules;

// Gives variables the values that the checkpoint has; all of them or, on failure, none. `left_out` gets a line for each
// that it leaves as it is. NOT_FOUND, INVALID_ARGUMENT (type, shape), DATA_LOSS.
FALLIBLE Status *variables_restore(const GraphVariables *variables, Session *session, Str prefix,
                                   const RestoreRules *rules, Text *left_out);
