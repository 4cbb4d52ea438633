// Puller — a pass over a dataset that any number of steps pull elements from, in turn; none holds a thread to wait.
//
// One at a time pulls, on its own thread as long as it is its own element. Where that isn't there yet the thread goes, and
// an elastic thread takes over once the source says that it pays.
#pragma once
#include "data/dataset.h"

typedef struct Puller Puller;

// Begins a pass, in the background of the step's session. One reference, the owner's.
FALLIBLE Status *puller_new(const Dataset *dataset, const StepContext *context, Puller **out);
Puller *puller_retain(Puller *puller);
void puller_release(Puller *puller);
// The owner's release: once nobody pulls any more, what goes on in the background is cancelled. May be NULL.
void puller_leave(Puller *puller);
const Dataset *puller_dataset(const Puller *puller);

// Takes over `status` and the tensors of `element`, which is NULL on failure and behind the last one.
typedef void PullerDone(void *arg, Status *status, Tensor *element);

// The next element. `done` is called exactly once, with no lock held, before this returns or later on another thread. The
// context is that of a step that does not end before. CANCELLED, DEADLINE_EXCEEDED, or what the sources say.
void puller_next(Puller *puller, const StepContext *context, PullerDone *done, void *arg);

// Where the pass stands (position.h), once nobody is inside its sources; who asks for an element meanwhile waits for it.
// CANCELLED, DEADLINE_EXCEEDED; UNIMPLEMENTED where a source can't say.
FALLIBLE Status *puller_save(Puller *puller, const StepContext *context, Text *out);
// A pass that stands there. One reference, the owner's. DATA_LOSS; INVALID_ARGUMENT for a position in another dataset.
FALLIBLE Status *puller_load(const Dataset *dataset, const StepContext *context, Str bytes, Puller **out);
