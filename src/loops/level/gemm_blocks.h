// How a matrix product is cut for the caches. The plan sizes scratch by it, the loops walk by it.
#pragma once
#include "loops/gemm.h"

// A block of a stays in a second cache of 1 MiB while b goes by, a panel of its columns after the other.
enum {
    GEMM_DEPTH = 512,             // most of k at a time
    GEMM_SHALLOW_DEPTH = 64,      // ... where b is read in place, a page a row
    GEMM_BLOCK_BYTES = 3 << 18,
    GEMM_IN_PLACE_A = 1 << 15,    // bytes of a transposed a that is read where it lies: the first cache
    GEMM_IN_PLACE_B = 1 << 20,    // ... of b: the second one; packing costs 3 % with 128 rows
    GEMM_FEW_ROWS = 24,           // for so few packing b costs more than it brings
    GEMM_DOT_DEPTH = 512,         // least k for which few rows are taken by vectors along k
    GEMM_TURNED_COLUMNS = 16,     // of so few the transposed product is computed
    GEMM_TURNED_BYTES = 1 << 18,  // ... where it has no more
    GEMM_PANEL = 64,              // columns of the widest tile
    GEMM_GROUP = 128,             // columns packed at a time from rows: 512 bytes of each
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
    return gemm_even(k > 0 ? k : 1, GEMM_DEPTH);
}

// Of a product or a part of it: `depth` doesn't depend on how that is cut, nor do the bits of sums.
static inline GemmBlocks gemm_blocks(const GemmShape *g, GemmWay way, size_t size) {
    int64_t m = g->m > 0 ? g->m : 1, k = g->k > 0 ? g->k : 1, bytes = (int64_t)size;
    int64_t depth = way == GEMM_SHALLOW ? gemm_even(k, GEMM_SHALLOW_DEPTH) : gemm_depth(k);
    bool packs_b = g->tb || way == GEMM_PACKED || (way != GEMM_SHALLOW && k * g->n * bytes > GEMM_IN_PLACE_B);
    return (GemmBlocks){
        .depth = depth,
        .columns = g->tb || !packs_b ? GEMM_PANEL : GEMM_GROUP,
        .rows = gemm_even(m, GEMM_BLOCK_BYTES / (depth * bytes) / 12 * 12),
        .packs_a = g->ta && m * k * bytes > GEMM_IN_PLACE_A,
        .packs_b = packs_b,
    };
}
