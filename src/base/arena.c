// Arena — see arena.h. Blocks double from 1 KiB to 1 MiB, so small arenas stay small and big ones make few calls.
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

typedef struct ArenaBlock {
    struct ArenaBlock *previous;
    size_t bytes;
} ArenaBlock;

enum { FIRST_BLOCK = 1024, LAST_BLOCK = 1 << 20 };

static char *align_up(char *p, size_t alignment) {
    return (char *)(((uintptr_t)p + alignment - 1) & ~(uintptr_t)(alignment - 1));
}

static bool arena_grow(Arena *arena, size_t bytes) {
    size_t size = arena->blocks ? arena->blocks->bytes * 2 : FIRST_BLOCK;
    if (size > LAST_BLOCK)
        size = LAST_BLOCK;
    size_t least;
    if (__builtin_add_overflow(bytes, sizeof(ArenaBlock) + 64, &least))
        return false;
    if (size < least)
        size = least;
    ArenaBlock *block = malloc(size);
    if (!block)
        return false;
    block->previous = arena->blocks;
    block->bytes = size;
    arena->blocks = block;
    arena->next = (char *)(block + 1);
    arena->end = (char *)block + size;
    return true;
}

void *arena_aligned(Arena *arena, size_t bytes, size_t alignment) {
    size_t used;
    if (__builtin_add_overflow(arena->used, bytes, &used) || (arena->limit && used > arena->limit))
        return NULL;
    char *start = align_up(arena->next, alignment);
    if (!arena->next || start > arena->end || (size_t)(arena->end - start) < bytes) {
        size_t most;
        if (__builtin_add_overflow(bytes, alignment, &most) || !arena_grow(arena, most))
            return NULL;
        start = align_up(arena->next, alignment);
    }
    arena->next = start + bytes;
    arena->used = used;
    return memset(start, 0, bytes);
}

void *arena_alloc(Arena *arena, size_t bytes) {
    return arena_aligned(arena, bytes, 16);
}

void *arena_array(Arena *arena, size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : arena_alloc(arena, bytes);
}

char *arena_copy(Arena *arena, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? arena_aligned(arena, length + 1, 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

size_t arena_held(const Arena *arena) {
    size_t bytes = 0;
    for (const ArenaBlock *block = arena->blocks; block; block = block->previous)
        bytes += block->bytes;
    return bytes;
}

void arena_reset(Arena *arena) {
    ArenaBlock *kept = arena->blocks;
    if (!kept)
        return;
    for (ArenaBlock *block = kept->previous; block;) {
        ArenaBlock *previous = block->previous;
        free(block);
        block = previous;
    }
    kept->previous = NULL;
    arena->next = (char *)(kept + 1);
    arena->end = (char *)kept + kept->bytes;
    arena->used = 0;
}

void arena_clear(Arena *arena) {
    for (ArenaBlock *block = arena->blocks; block;) {
        ArenaBlock *previous = block->previous;
        free(block);
        block = previous;
    }
    size_t limit = arena->limit;
    *arena = (Arena){.limit = limit};
}
