// Packed — see packed.h.
#include "ops/nn/packed.h"

#include "base/checked.h"
#include "graph/shapes.h"

Status *packed_open(Opening *o) {
    mutex_init(&((PackedState *)o->state)->lock);
    return OK;
}

void packed_close(void *state) {
    PackedState *packed = state;
    for (int i = 0; i < PACKED_KEPT; i++)
        buffer_release(packed->kept[i].packed);
    mutex_clear(&packed->lock);
}

// The place of a layout, or -1. The lock is held.
static int place_of(const PackedState *state, uint64_t id) {
    for (int i = 0; i < PACKED_KEPT; i++)
        if (state->kept[i].packed && state->kept[i].id == id)
            return i;
    return -1;
}

static Buffer *packed_find(PackedState *state, uint64_t id, uint64_t stamp) {
    mutex_lock(&state->lock);
    int at = place_of(state, id);
    Buffer *packed = at >= 0 && state->kept[at].stamp == stamp ? buffer_retain(state->kept[at].packed) : NULL;
    mutex_unlock(&state->lock);
    return packed;
}

static void packed_keep(PackedState *state, uint64_t id, uint64_t stamp, Buffer *packed) {
    mutex_lock(&state->lock);
    int at = place_of(state, id);
    if (at < 0) {
        at = state->next;
        state->next = (at + 1) % PACKED_KEPT;
    }
    Buffer *before = state->kept[at].packed;
    state->kept[at].packed = buffer_retain(packed);
    state->kept[at].id = id;
    state->kept[at].stamp = stamp;
    mutex_unlock(&state->lock);
    buffer_release(before);
}

void packing_prepare(Prepare *p, int input, size_t bytes, PackFn *pack, const void *object, Packing *out) {
    *out = (Packing){.pack = pack, .object = object, .bytes = bytes, .input = input, .id = buffer_next_stamp()};
    out->constant = p->node->inputs && output_constant(p->node->inputs[input]);
    out->at = round_up(p->scratch, 64);
    p->scratch = out->at + bytes;
}

Status *packing_load(const Packing *packing, Kernel *k, const void *plain, Buffer **out_kept, const void **out) {
    PackedState *state = k->state;
    const Buffer *buffer = k->in[packing->input]->buffer;
    uint64_t stamp = packing->constant ? UINT64_MAX : buffer ? buffer->stamp : 0;
    *out_kept = NULL;
    *out = plain;
    if (!packing->bytes)
        return OK;
    if (!state || !stamp) {
        void *packed = (char *)k->scratch + packing->at;
        NEED(packing->pack(packing->object, plain, packed), INTERNAL, "the weights could not be laid out");
        *out = packed;
        return OK;
    }
    Buffer *packed = packed_find(state, packing->id, stamp);
    if (!packed) {
        TRY(buffer_new(&host_allocator, DT_uint8, packing->bytes, &packed));
        if (!packing->pack(packing->object, plain, packed->data)) {
            buffer_release(packed);
            FAIL(INTERNAL, "the weights could not be laid out");
        }
        packed_keep(state, packing->id, stamp, packed);
    }
    *out_kept = packed;
    *out = packed->data;
    return OK;
}
