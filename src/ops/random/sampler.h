// Sampler — classes drawn by chance out of [0, range), without or with replacement, and how often each is to be
// expected.
//
// The numbers are TensorFlow's: a stream of 32-bit numbers in the generator's order, and a rule that makes a class of
// them. The expected count of a class follows from its probability and the number of tries that the draw took.
#pragma once
#include "ops/random/stream.h"

// A generator's numbers, one after the other; many are made at a time.
enum { NUMBERS_BLOCKS = 32 };
typedef struct {
    Philox philox;
    uint32_t block[4 * NUMBERS_BLOCKS];
    int left;
} Numbers;

double numbers_double(Numbers *numbers);                 // in [0, 1)
uint64_t numbers_below64(Numbers *numbers, uint64_t n);  // n > 0

// Integers and where they stand: open addressing over memory of the caller's.
typedef struct {
    int64_t *keys;
    int32_t *places;    // -1: free
    size_t mask;
} Places;

// Bytes for n integers; n <= INT32_MAX.
size_t places_size(int64_t n);
void places_open(Places *places, void *memory, int64_t n);
// The place of the key; -1 where it has none.
int32_t places_find(const Places *places, int64_t key);
// Sets it; false where it has one already, which then is replaced.
bool places_set(Places *places, int64_t key, int32_t place);

// Weights of classes that can be drawn from at once: of each class how likely it is to stay, and what it gives way to.
typedef struct {
    float *weights;
    float *stays;
    int32_t *other;
    int64_t n, possible;    // classes; those with a weight above 0
    double total;
} Weights;

// Takes weights->weights over and makes the rest. INVALID_ARGUMENT for weights that are no weights.
FALLIBLE Status *weights_open(Weights *weights);
int64_t weights_draw(const Weights *weights, Numbers *numbers);
void weights_clear(Weights *weights);

// How often each class was seen: once more than it was counted. A tree of sums, whose pages are made as they are
// needed.
typedef struct {
    int32_t *sums;    // [n + 1]; sums[i] are the counts of the classes below i that i's lowest bit spans
    int64_t n, total;
} Counts;

FALLIBLE Status *counts_open(Counts *counts, int64_t n);
int64_t counts_of(const Counts *counts, int64_t class);
int64_t counts_draw(const Counts *counts, Numbers *numbers);
void counts_add(Counts *counts, int64_t class);
void counts_clear(Counts *counts);
