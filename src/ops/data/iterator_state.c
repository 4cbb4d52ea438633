// SerializeIterator, DeserializeIterator — where an iterator stands, as a value that a checkpoint can hold.
//
// The value is a vector of one variant that holds a string (data/position.h). As TensorFlow's own, it is read by the program
// that wrote it, over a dataset made alike.
#include "data/iterator.h"
#include "kernel/call.h"
#include "ops/op.h"
#include "resource/handle.h"
#include "tensor/held.h"

#define MARK STR("millrace iterator 1\n")

static Status *text_tensor(const Text *bytes, Tensor *out) {
    AUTO(tensor) Tensor text = {0}, state = {0};
    NEED_MEMORY(!bytes->failed);
    TRY(tensor_new(DT_string, SCALAR_SHAPE, &text));
    NEED_MEMORY(tstring_assign(text.data, text_str(bytes)));
    TRY(tensor_new(DT_variant, SHAPE(1), &state));
    TRY(held_new(tensor_retain(&text), (Object **)state.data));
    *out = tensor_retain(&state);
    return OK;
}

static Status *serialize_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    AUTO(text) Text bytes = {0};
    Tensor state;
    TRY(kernel_resource(k, 0, &iterator_type, &resource));
    text_add(&bytes, MARK);
    TRY(iterator_save((Iterator *)resource, k->step, &bytes));
    TRY(text_tensor(&bytes, &state));
    kernel_set_output(k, 0, state);
    return OK;
}

static Status *serialize_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM);
    return OK;
}

// It waits for who is inside the iterator: functions of a pipeline, which may wait in turn.
const Op op_SerializeIterator = {
    .signature = "SerializeIterator(resource_handle: resource) -> serialized: variant; external_state_policy: int = 0; "
                 "stateful",
    .doc = "Where the iterator stands: what a pass over its dataset holds, as a value for checkpoints.",
    .needs = "scalar(resource_handle)", .shape = serialize_shape, .cpu = ANY_TYPE(serialize_run),
    .flags = OP_BLOCKS | OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

static Status *deserialize_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    const Tensor *state;
    TRY(kernel_resource(k, 0, &iterator_type, &resource));
    NEED(tensor_count(k->in[1]) == 1, INVALID_ARGUMENT, "the state of an iterator is one variant, got %s",
         shape_text(&k->in[1]->shape));
    TRY(held_get(k->in[1], 0, &state));
    NEED(state->dtype == DT_string && tensor_count(state) == 1, INVALID_ARGUMENT,
         "the state of an iterator is a string, got %s%s", dtype_name(state->dtype), shape_text(&state->shape));
    Str bytes = tstring_str(state->data), mark = MARK;
    NEED(str_starts(bytes, mark), INVALID_ARGUMENT, "these bytes are no state of an iterator");
    return iterator_load((Iterator *)resource, k->step, (Str){bytes.p + mark.n, bytes.n - mark.n});
}

const Op op_DeserializeIterator = {
    .signature = "DeserializeIterator(resource_handle: resource, serialized: variant); stateful",
    .doc = "Brings an iterator that is initialized with the same dataset to where SerializeIterator found it.",
    .needs = "scalar(resource_handle)", .shape = shape_none, .cpu = ANY_TYPE(deserialize_run),
    .flags = OP_BLOCKS | OP_NO_GRADIENT,
};
