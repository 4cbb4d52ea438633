// Blocks — large pieces of host memory, kept for whoever wants one next: what goes back to the system comes again in
// pages that it has to clear, which takes longer than most kernels need for as much.
//
// What is kept never raises the peak: kept and given out together are at most what was given out at once. Who asks for
// a new block first gives up kept ones, the longest unused first, until that holds; what nobody wanted for
// BLOCKS_REST_NS goes with the next block that comes back; and all when a session ends. Under the address sanitizer
// nothing is kept.
#pragma once
#include <stdint.h>

#include "base/status.h"

enum {
    BLOCKS_SMALLEST = 64 << 10,  // bytes; smaller ones are malloc's and each thread's own (tensor/buffer.c)
    BLOCKS_LARGE = 16 << 20,     // from here on a block up to twice as large will do
};
#define BLOCKS_REST_NS (10 * INT64_C(1000000000))

// At least `bytes`, aligned to 16, uninitialised; NULL when memory is out. `*out_bytes`: how many it has, for
// blocks_give.
void *blocks_take(size_t bytes, size_t *out_bytes);
void blocks_give(void *block, size_t bytes);
// All that is kept goes back to the system.
void blocks_trim(void);

typedef struct {
    size_t taken, idle;  // bytes: given out, and kept for the next who asks
    size_t fresh;        // blocks that the system gave so far
} BlocksUse;
BlocksUse blocks_use(void);
