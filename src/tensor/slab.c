// Slab — see slab.h: blocks of 16 KiB, each a row of headers with their data behind them, freed when the last is
// released.
#include "tensor/slab.h"

#include <stdlib.h>

#include "base/checked.h"

enum { BLOCK_BYTES = 16 << 10 };

typedef struct SlabBlock {
    _Atomic int32_t references;  // of its buffers, and of the slab
    size_t used;
} SlabBlock;

static void block_release(SlabBlock *block) {
    if (block && atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1)
        free(block);
}

static void free_buffer(Buffer *buffer) {
    block_release(buffer->owner);
}

bool slab_takes(const Tensor *tensor) {
    return dtype_is_plain(tensor->dtype) && tensor->layout == LAYOUT_PLAIN && tensor_bytes(tensor) <= SLAB_MOST;
}

// The header and its data, each on a line of its own.
static char *slab_alloc(Slab *slab, size_t bytes) {
    if (!slab->block || slab->block->used + bytes > BLOCK_BYTES) {
        SlabBlock *block = buffer_shall_fail() ? NULL : aligned_alloc(BUFFER_ALIGNMENT, BLOCK_BYTES);
        if (!block)
            return NULL;
        block_release(slab->block);
        atomic_init(&block->references, 1);
        block->used = round_up(sizeof *block, BUFFER_ALIGNMENT);
        slab->block = block;
    }
    char *place = (char *)slab->block + slab->block->used;
    slab->block->used += bytes;
    return place;
}

Status *slab_copy(Slab *slab, const Tensor *from, Tensor *out) {
    enum { HEADER = (sizeof(Buffer) + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT };
    size_t bytes = tensor_bytes(from);
    char *place = slab_alloc(slab, HEADER + round_up(bytes ? bytes : 1, BUFFER_ALIGNMENT));
    NEED_MEMORY(place);
    Buffer *buffer = (Buffer *)place;
    *buffer = (Buffer){.references = 1, .dtype = from->dtype, .bytes = bytes, .data = place + HEADER,
                       .allocator = &host_allocator,
                       .free = free_buffer, .owner = slab->block};
    atomic_fetch_add_explicit(&slab->block->references, 1, memory_order_relaxed);
    if (bytes)
        memcpy(buffer->data, from->data, bytes);
    *out = *from;
    out->data = buffer->data;
    out->buffer = buffer;
    return OK;
}

void slab_clear(Slab *slab) {
    block_release(slab->block);
    slab->block = NULL;
}
