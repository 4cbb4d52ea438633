// Tensor lane — how the bytes of a large tensor go between tasks that are both ours: out of the sender's memory where both run
// on one host, else over a connection of their own.
//
// The receiver of RecvTensor says which host it is on (an offer, in transport_options); the sender lays the tensor aside under a
// key of the step and answers with a ticket. The receiver makes the tensor and fills it, and says when it has: until then,
// or until the step is over, the sender keeps it.
#pragma once
#include "cluster/peers.h"
#include "cluster/steps.h"
#include "cluster/tensor_wire.h"
#include "rpc/lane.h"

// ---- the side that has tensors

typedef struct TensorLanes TensorLanes;

// Listens on any port of the host. The steps outlive it.
FALLIBLE Status *tensor_lanes_new(Steps *steps, Str host, TensorLanes **out);
void tensor_lanes_free(TensorLanes *lanes);
// Whether a tensor goes that way: `options` are those of the request.
bool tensor_lanes_take(const TensorLanes *lanes, const Tensor *value, const AnyProto *options);
// Lays it aside, takes it, and makes the answer.
FALLIBLE Status *tensor_lanes_answer(TensorLanes *lanes, int64_t step_id, Tensor value, const AnyProto *options,
                                     Payload **out);

// ---- the side that wants them

// What requests say; lives as long as the process.
const AnyProto *tensor_lane_offer(void);

// Fills the tensor; blocks. `done` may be called before it returns, on this thread, or later on the lanes' loop's.
typedef void TensorLaneDone(void *arg, Status *status);
void tensor_lane_fetch(Peer *peer, const LaneTicketProto *ticket, Tensor *value, Cancellation *cancellation,
                       TensorLaneDone *done, void *arg);
