// The structs behind TFE_Context, TFE_TensorHandle and TFE_Op.
#pragma once
#include "api/api.h"
#include "eager/eager.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"

struct TFE_ContextOptions {
    SessionConfig config;
    bool async;
    TFE_ContextDevicePlacementPolicy policy;
};

struct TFE_Context {
    EagerContext *eager;
    TFE_ContextDevicePlacementPolicy policy;
    uint64_t id;
};

// A value; immutable, owned by the client alone.
struct TFE_TensorHandle {
    Tensor tensor;
};
// Takes the tensor's reference; NULL after the status was set.
TFE_TensorHandle *handle_new(Tensor *tensor, TF_Status *status);

struct TFE_OpAttrs {
    Arena arena;
    TensorList tensors;
    VEC(AttrEntry) entries;
    Status *error;                  // of a setter that has no status
};

struct TFE_Op {
    TFE_Context *context;
    const OpType *type;
    char *device;
    VEC(Tensor) inputs;             // flat, each with a reference
    VEC(int32_t) lists;             // by argument: -1, or the length of the list
    struct TFE_OpAttrs attrs;
};
// The first value of an attribute stays, as in TensorFlow: what inputs have told isn't told otherwise by a setter after them.
FALLIBLE Status *eager_attr_keep(TFE_Op *op, Str name, const AttrValue *value);
// What the op is a call of; `inputs` has room for op->inputs.n.
EagerCall eager_op_call(const TFE_Op *op, const Tensor **inputs);
