// Variable — a tensor that outlives the step, under a lock of readers and writers.
//
// Two ways to read: a snapshot shares the buffer, and whoever updates the variable while a snapshot lives copies it
// first; a locked read makes updates wait instead, and costs no copy whatever the size. An update holds the variable
// alone, in a buffer that nobody else sees. Any thread may end what another began.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"
#include "thread/futex.h"

// The value's second home, in a device's memory: of whoever runs programs there (run/cluster.c).
typedef struct VariableCopy {
    Tensor value;          // there
    bool newer;            // than the value here, which is brought up to date when somebody asks for it
    Status *(*bring)(const Tensor *inside, const Tensor *host);  // copies the elements
} VariableCopy;

typedef struct Variable {
    Resource resource;
    DType dtype;
    Shape shape;           // declared; a value must fit it unless told otherwise
    bool initialized;      // written by who is writing, read by readers
    FutexWord lock;        // readers, or the one writer; see variable.c
    Tensor value;          // as `initialized`; has its own buffer then, unless the copy is newer
    VariableCopy *copy;    // as `initialized`; NULL: it is nowhere else. What is written here drops it
} Variable;

extern const ResourceType variable_type;

// One reference, uninitialized; to be put in a table or used without a name.
FALLIBLE Status *variable_new(DType dtype, Shape shape, Variable **out);
// NULL where the resource is something else.
Variable *variable_of(Resource *resource);

// A snapshot: another reference to the value. FAILED_PRECONDITION when uninitialized.
FALLIBLE Status *variable_read(Variable *variable, Tensor *out);
// The same by a handle, a scalar resource tensor.
FALLIBLE Status *variable_read_handle(const Tensor *handle, Tensor *out);
bool variable_is_initialized(Variable *variable);

// Replaces the value and takes `*value`, which is then empty; untouched on failure. Its buffer is adopted when nobody
// else has it, and copied otherwise. INVALID_ARGUMENT for another dtype, or a shape that the declared one does not
// admit, unless `any_shape`.
FALLIBLE Status *variable_assign(Variable *variable, Tensor *value, bool any_shape);
// The same of a value whose other holders only read its buffer: it becomes the variable's, and the next update copies
// it if somebody holds it still.
FALLIBLE Status *variable_adopt(Variable *variable, Tensor *value, bool any_shape);
// Back to uninitialized; the memory goes when the last snapshot does.
void variable_drop(Variable *variable);

typedef enum {
    VARIABLE_READ,     // value: as it is, locked against updates, not retained
    VARIABLE_UPDATE,   // value: alone in its buffer, to be written in place; a new stamp is set
    VARIABLE_TAKE,     // held alone, as it is: not initialised perhaps, its copy newer perhaps. Its members are the holder's
} VariableAccess;

typedef struct {
    Variable *variable;
    VariableAccess access;
    Tensor value;      // borrowed from the variable until the end
    int16_t order;     // the functions' own
} VariableUse;

// Locks all, in the order of addresses; a variable that occurs twice is locked once, for the stronger use, and both see
// the same memory. FAILED_PRECONDITION "Attempting to use uninitialized value v", RESOURCE_EXHAUSTED: nothing is held.
FALLIBLE Status *variables_begin(VariableUse *uses, int n);
void variables_end(VariableUse *uses, int n);
