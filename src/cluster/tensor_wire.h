// Tensor wire — the answer to RecvTensor: a tensor as bytes to be sent where they lie, and back.
#pragma once
#include "proto/messages.h"
#include "rpc/payload.h"
#include "tensor/tensor.h"

// Retains the tensor's buffer until the bytes are sent. UNIMPLEMENTED for resources and variants.
FALLIBLE Status *tensor_to_answer(const Tensor *value, bool dead, Payload **out);
// The answer without the elements: where these are to be had.
FALLIBLE Status *tensor_to_ticket(const Tensor *value, const LaneTicketProto *ticket, Payload **out);

// What an answer says. `ticket` is NULL where the tensor is whole; else it lies in the arena, as its memory lies there to be
// filled. Of a dead one only the type counts.
typedef struct {
    Tensor value;
    bool dead;
    LaneTicketProto *ticket;
} TensorAnswer;
FALLIBLE Status *tensor_from_answer(Str bytes, Arena *arena, TensorAnswer *out);

enum { LANE_BYTES = 256 << 10 };  // smaller tensors go with their answer
#define LANE_OFFER_TYPE "type.millrace/LaneOffer"
#define LANE_TICKET_TYPE "type.millrace/LaneTicket"
