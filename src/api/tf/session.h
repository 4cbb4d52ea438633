// The structs behind TF_SessionOptions and TF_Session.
#pragma once
#include "api/api.h"
#include "api/environment.h"

struct TF_SessionOptions {
    char *target;          // NULL: this process
    SessionConfig config;
    Text proto;            // the ConfigProto as it was given, for sessions on a server
};

struct TF_Session {
    Session *session;
    TF_Graph *graph;       // one reference
    Mutex lock;            // guards the partial runs
    struct OpenRun *runs;
    uint64_t last_run;
};

// Ends the partial runs that clients left open.
void session_drop_runs(TF_Session *session);

enum { FEW_EDGES = 16 };   // feeds or fetches of a call that needs no memory for its arrays

// The edges of a call as the machine takes them: arrays are the caller's own. INVALID_ARGUMENT, OUT_OF_RANGE.
FALLIBLE Status *session_signature(const TF_Session *session, const TF_Output *inputs, int ninputs,
                                   const TF_Output *outputs, int noutputs, const TF_Operation *const *targets,
                                   int ntargets, StepSignature *out);
// The client's tensors as the machine's; a TF_Tensor begins with its Tensor. Serialized resource handles are decoded
// into `decoded` (ninputs zeroed ones), to be cleared afterwards; `scratch` has room for ninputs.
FALLIBLE Status *session_feeds(TF_Tensor *const *values, int ninputs, const Tensor **scratch, Tensor *decoded,
                               const Tensor *const **out);
// Hands `results` over to the client: all of them are taken, on failure too, and then all outputs are NULL.
FALLIBLE Status *session_results(Tensor *results, int noutputs, TF_Tensor **outputs);
