// Arena — memory that is given out piece by piece and returned all at once.
#pragma once
#include "base/status.h"

// Zero-initialised is ready to use and unlimited. One owner, one thread at a time.
typedef struct Arena {
    char *next, *end;            // the free part of the newest block
    struct ArenaBlock *blocks;
    size_t used;                 // bytes given out
    size_t limit;                // most bytes to give out; 0: no limit
} Arena;

// `bytes` of zeroed memory, aligned to 16; NULL when memory or the limit is out. Zero bytes give a valid pointer.
void *arena_alloc(Arena *arena, size_t bytes);
// The same for `count` elements of `size` bytes, checking the product.
void *arena_array(Arena *arena, size_t count, size_t size);
// Aligned to `alignment`, a power of two.
void *arena_aligned(Arena *arena, size_t bytes, size_t alignment);
// A copy with a NUL behind it.
char *arena_copy(Arena *arena, const char *text, size_t length);
// Takes everything back but keeps the newest block for what comes next.
void arena_reset(Arena *arena);
size_t arena_held(const Arena *arena);  // bytes of all its blocks, given out or not
// Frees every block; the arena can be used again.
void arena_clear(Arena *arena);

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_array((arena), (size_t)(count), sizeof(Type)))

static inline void arena_auto(Arena *arena) {
    arena_clear(arena);
}
