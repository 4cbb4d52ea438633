// Eager — operations run one at a time: no graph that the client sees.
//
// A context has a graph of its own, with one node for every op, set of attributes and input types that was ever run,
// and a session on it: so a call is one step of one node, by the same road as any other step, and what the session
// keeps (plans, variables, random streams) lives as long as the context. Any number of threads may execute at once.
#pragma once
#include "session/session.h"

typedef struct EagerContext EagerContext;

FALLIBLE Status *eager_new(const SessionConfig *config, EagerContext **out);
void eager_free(EagerContext *context);
Session *eager_session(EagerContext *context);
const DeviceSet *eager_devices(const EagerContext *context);

// What is to be run. The arrays are the caller's.
typedef struct {
    Str name, device;
    const Tensor *const *inputs;  // flat
    const int32_t *lists;         // for each argument that was given as a list its length, -1 for a single one; NULL:
    int32_t n_inputs, n_args;     // the signature and the attributes cut the flat list
    const AttrEntry *attrs;
    int32_t n_attrs;
} EagerCall;

// `*n_out` is the room in `out` on entry, the number of results afterwards. INVALID_ARGUMENT where they don't fit.
FALLIBLE Status *eager_execute(EagerContext *context, const EagerCall *call, Tensor *out, int *n_out);

// What a call comes to: the same for every call of its name, device, input types and attributes. The context's. Its results
// are of node->output_types.
typedef struct {
    Node *node;
    Output *feeds, *fetches;
    int32_t n_feeds, n_fetches;
} KnownCall;
FALLIBLE Status *eager_find_call(EagerContext *context, const EagerCall *call, const KnownCall **out);
// `inputs` are known->n_feeds of the types that the call had; `out` has room for known->n_fetches.
FALLIBLE Status *eager_run_call(EagerContext *context, const KnownCall *known, const Tensor *const *inputs, Tensor *out);

// The type of an op, or of a function of this context. NOT_FOUND.
FALLIBLE Status *eager_find_type(EagerContext *context, Str name, const OpType **out);
struct Function;
FALLIBLE Status *eager_add_function(EagerContext *context, struct Function *function);
FALLIBLE Status *eager_remove_function(EagerContext *context, Str name);
struct Function *eager_find_function(EagerContext *context, Str name);  // borrowed; NULL where there is none
// Writes the context's nodes' attributes as they would be in the graph: how many values an argument stands for.
FALLIBLE Status *eager_arg_length(EagerContext *context, const EagerCall *call, Str arg, bool output, int *out);
