// Tensor wire — the answer to RecvTensor: a tensor as bytes to be sent where they lie, and back.
#pragma once
#include "rpc/payload.h"
#include "tensor/tensor.h"

// Retains the tensor's buffer until the bytes are sent. UNIMPLEMENTED for resources and variants.
FALLIBLE Status *tensor_to_answer(const Tensor *value, bool dead, Payload **out);
// Of a dead one only the type counts.
FALLIBLE Status *tensor_from_answer(Str bytes, Tensor *out, bool *out_dead);
