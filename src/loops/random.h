// Random — the numbers of TensorFlow's random ops on the CPU, bit for bit: Philox 4x32-10 and what is made of it.
//
// A generator is a key and a 128-bit counter; a block is four 32-bit numbers. The op that fills n elements takes the
// generator as it stands, and leaves it random_reserved(n) blocks further. Elements are shared out in groups: units.
#pragma once
#include "tensor/dtype.h"

typedef struct {
    uint32_t key[2], counter[4];
} Philox;

// The generator of a node with these two seeds (both zero means: choose some at random first).
Philox philox_seeded(uint64_t seed, uint64_t seed2);
// Goes `blocks` further.
void philox_skip(Philox *philox, uint64_t blocks);
// The next block.
void philox_next(Philox *philox, uint32_t out[4]);
// The next blocks. Some 32 cost what one does.
void philox_take(Philox *philox, int64_t blocks, uint32_t *out);
// Its numbers, one at a time: `left` of the block are still to come.
typedef struct {
    Philox philox;
    uint32_t block[4];
    int left;
} PhiloxNumbers;
uint32_t philox_number(PhiloxNumbers *numbers);
// Blocks that an op of n output elements reserves of a stateful node's generator.
uint64_t random_reserved(uint64_t n);

typedef enum { RANDOM_UNIFORM, RANDOM_NORMAL, RANDOM_TRUNCATED, RANDOM_BITS } RandomKind;

// Elements [first, last) of n elements. Shares of different threads begin at multiples of RANDOM_UNIT. half, bfloat16,
// float and double: uniform in [0, 1), normal, or normal within two deviations. int32, int64, uint32, uint64 for BITS:
// the generator's own numbers. False for another type.
enum { RANDOM_UNIT = 1024 };
bool random_fill(const Philox *philox, RandomKind kind, DType dtype, void *out, int64_t first, int64_t last);
// Integers in [low, high), int32 or int64; low < high.
bool random_fill_int(const Philox *philox, DType dtype, int64_t low, int64_t high, void *out, int64_t first,
                     int64_t last);
