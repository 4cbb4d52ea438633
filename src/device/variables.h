// Variables — a kernel's variable inputs, resolved from their handles and locked while it runs, in address order.
#pragma once
#include "device/binding.h"
#include "resource/variable.h"

enum { MAX_LOCKED = 16 };  // variables that one kernel may declare

typedef struct {
    VariableUse uses[MAX_LOCKED];
    Resource *found[MAX_LOCKED];             // references to be given up; NULL where the handle holds the variable
    Tensor *handles[MAX_LOCKED];             // what k->in held
    int16_t inputs[MAX_LOCKED];
    int n;
} VariableLocks;

// k->in[i] of each variable input becomes the variable's value, with a buffer that nobody else holds where it is to be
// updated. NOT_FOUND, FAILED_PRECONDITION (not initialised), INVALID_ARGUMENT (another type). Nothing is locked then.
FALLIBLE Status *variables_lock(const Binding *binding, Kernel *k, VariableLocks *out);
void variables_unlock(Kernel *k, VariableLocks *locks);
