// How a matrix product is cut for the caches (sizes: tuning.def). The plan sizes scratch by it, the loops walk by it.
#pragma once
#include "loops/gemm.h"
#include "loops/tuning.h"

enum {
    GEMM_PANEL = 64,    // columns of the widest tile
    GEMM_GROUP = 128,   // columns packed at a time from rows: 512 bytes of each
};

typedef struct {
    int64_t depth, rows;          // of a block of a
    int64_t columns;              // of b at a time
    bool packs_a, packs_b;        // a only where it is transposed
} GemmBlocks;

static inline int64_t gemm_even(int64_t whole, int64_t most) {
    int64_t parts = (whole + most - 1) / most;
    return parts > 1 ? (whole + parts - 1) / parts : whole;
}

static inline int64_t gemm_depth(int64_t k) {
    return gemm_even(k > 0 ? k : 1, TUNED_GEMM_DEPTH);
}

// Of a product or a part of it: `depth` doesn't depend on how that is cut, nor do the bits of sums.
static inline GemmBlocks gemm_blocks(const GemmShape *g, GemmWay way, size_t size) {
    int64_t m = g->m > 0 ? g->m : 1, k = g->k > 0 ? g->k : 1, bytes = (int64_t)size;
    int64_t depth = way == GEMM_SHALLOW ? gemm_even(k, TUNED_GEMM_SHALLOW_DEPTH) : gemm_depth(k);
    bool packs_b = g->tb || way == GEMM_PACKED || (way != GEMM_SHALLOW && k * g->n * bytes > TUNED_GEMM_IN_PLACE_B);
    return (GemmBlocks){
        .depth = depth,
        .columns = g->tb || !packs_b ? GEMM_PANEL : GEMM_GROUP,
        .rows = gemm_even(m, TUNED_GEMM_BLOCK_BYTES / (depth * bytes) / 12 * 12),
        .packs_a = g->ta && m * k * bytes > TUNED_GEMM_IN_PLACE_A,
        .packs_b = packs_b,
    };
}
