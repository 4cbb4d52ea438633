// StepMutex — a mutex that parts of steps hold, one at a time, in the order in which they came; waiting holds no thread.
//
// What holds it is a counted object, the element of a variant tensor: the mutex is free again when the last reference to
// it goes, at the latest with the step.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"
#include "thread/cancellation.h"

typedef struct StepMutex StepMutex;

extern const ResourceType step_mutex_type;

// Takes over `status` and `hold`, a scalar variant tensor, or NULL on failure.
typedef void StepMutexDone(void *arg, Status *status, Tensor *hold);

// One reference.
FALLIBLE Status *step_mutex_new(StepMutex **out);
// `done` is called exactly once, with no lock held, before this returns or later on another thread; CANCELLED.
void step_mutex_acquire(StepMutex *mutex, Cancellation *cancellation, StepMutexDone *done, void *arg);
// Frees the mutex, whoever has references to the hold. INVALID_ARGUMENT: `hold` is something else.
FALLIBLE Status *step_mutex_let_go(const Tensor *hold);
