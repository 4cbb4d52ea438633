// Stream — the random numbers of one node in one session: they go on from step to step, whichever plan runs the node.
#pragma once
#include "loops/random.h"
#include "ops/op.h"
#include "thread/mutex.h"

typedef struct {
    Mutex lock;
    Philox philox;  // guarded by lock
} Stream;

Philox seeded_philox(const Node *node);   // from the attributes seed and seed2; both zero: from the system
uint64_t stream_system_seed(void);        // never twice the same
Status *stream_open(Opening *o);
void stream_close(void *state);
void stream_draw(void *state, uint64_t blocks, uint32_t out[6]);
// The generator as it stands; the stream then goes `blocks` further. FAILED_PRECONDITION outside a session.
FALLIBLE Status *stream_take(Kernel *k, uint64_t blocks, Philox *out);

#define STREAM_LASTS .lasting_at = offsetof(Stream, philox), .lasting_size = sizeof(Philox)
#define HAS_STREAM .open = stream_open, .close = stream_close, .state_size = sizeof(Stream), STREAM_LASTS, .draw = stream_draw

// The generator of a pair of seeds: the pair runs once through the generator itself, so that near seeds are far apart.
Philox stateless_philox(const Tensor *seed);

// The generator of a key and a counter. INVALID_ARGUMENT for another algorithm than this one.
FALLIBLE Status *stateless_keyed(const Tensor *key, const Tensor *counter, const Tensor *algorithm, Philox *out);

// Element i of a tensor of int32, int64, uint32 or uint64; the last as the same bits.
int64_t random_int(const Tensor *tensor, int64_t i);

// Output 0 has the shape that input 0 says; extents below zero are INVALID_ARGUMENT.
Status *random_shape(Shapes *s);

// For devices that compile: in [0, 1), normal, all bits, integers between the last two inputs.
Status *random_uniform_hlo(Hlo *h);
Status *random_normal_hlo(Hlo *h);
Status *random_bits_hlo(Hlo *h);
Status *random_int_hlo(Hlo *h);

typedef struct {
    RandomKind kind;
    DType dtype;
    int64_t count;
} Filling;

Status *filling_prepare(Prepare *p, RandomKind kind);
// Fills output 0 with the numbers that follow the generator.
FALLIBLE Status *filling_run(Kernel *k, const Philox *philox);
// The same with integers in [low, high), whose inputs are scalars of the output's type.
FALLIBLE Status *filling_run_int(Kernel *k, const Philox *philox, const Tensor *low, const Tensor *high);
