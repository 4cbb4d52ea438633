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
    for (int i = 0; i < PACKED_ENTRIES; i++)
        buffer_release(packed->entries[i].packed);
    mutex_clear(&packed->lock);
}

// The place of a layout, or -1. The lock is held.
static int place_of(const PackedState *state, uint64_t id) {
    for (int i = 0; i < PACKED_ENTRIES; i++)
        if (state->entries[i].id == id)
            return i;
    return -1;
}

// What is kept of weights with this stamp, or NULL. `*out_times`: how often they were here before.
static Buffer *packed_find(PackedState *state, uint64_t id, uint64_t stamp, int32_t *out_times) {
    mutex_lock(&state->lock);
    int at = place_of(state, id);
    bool seen = at >= 0 && state->entries[at].stamp == stamp;
    Buffer *packed = seen ? buffer_retain(state->entries[at].packed) : NULL;
    *out_times = seen ? state->entries[at].times : 0;
    if (seen && !packed)
        state->entries[at].times++;
    mutex_unlock(&state->lock);
    return packed;
}

// `packed` may be NULL: seen, but not kept.
static void packed_keep(PackedState *state, uint64_t id, uint64_t stamp, Buffer *packed) {
    mutex_lock(&state->lock);
    int at = place_of(state, id);
    if (at < 0) {
        at = state->next;
        state->next = (at + 1) % PACKED_ENTRIES;
    }
    Buffer *before = state->entries[at].packed;
    state->entries[at].packed = buffer_retain(packed);
    state->entries[at].id = id;
    state->entries[at].stamp = stamp;
    state->entries[at].times = 1;
    mutex_unlock(&state->lock);
    buffer_release(before);
}

void packing_init(const Prepare *p, int input, size_t bytes, PackFn *pack, const void *object, Packing *out) {
    *out = (Packing){.pack = pack, .object = object, .bytes = bytes, .input = input, .id = buffer_next_stamp(),
                     .after = 1};
    out->constant = p->node->inputs && output_constant(p->node->inputs[input]);
}

void packing_prepare(Prepare *p, int input, size_t bytes, PackFn *pack, const void *object, Packing *out) {
    packing_init(p, input, bytes, pack, object, out);
    out->at = round_up(p->scratch, 64);
    p->scratch = out->at + (out->constant ? 0 : bytes);
    p->reordered += out->constant ? 0 : (int64_t)bytes;
}

bool packing_may_keep(const Prepare *p, int input) {
    const Node *from = p->node->inputs ? p->node->inputs[input].node : NULL;
    if (!from)
        return false;
    if (output_constant(p->node->inputs[input]))
        return true;
    if (node_flow(from) == FLOW_ARG)
        return node_bool(from, "lasts");
    // What a loop's gradient takes back: its weights are there once for each iteration, all of one buffer.
    if (node_op(from) && (node_op(from)->flags & OP_TAKES_BACK))
        return true;
    return from->n_inputs && dtype_base(from->inputs[0].node->output_types[from->inputs[0].index]) == DT_resource;
}

Status *packing_find(const Packing *packing, Kernel *k, const void *plain, Buffer **out_packed) {
    PackedState *state = k->state;
    const Buffer *buffer = k->in[packing->input]->buffer;
    uint64_t stamp = packing->constant ? UINT64_MAX : buffer ? buffer->stamp : 0;
    *out_packed = NULL;
    if (!stamp || (!state && !packing->constant))
        return OK;
    int32_t times = 0;
    Buffer *packed = state ? packed_find(state, packing->id, stamp, &times) : NULL;
    if (!packed && times < packing->after && !packing->constant) {
        if (!times)
            packed_keep(state, packing->id, stamp, NULL);
        return OK;
    }
    if (!packed) {
        TRY(buffer_new(&host_allocator, DT_uint8, packing->bytes, &packed));
        if (!packing->pack(packing->object, plain, packed->data)) {
            buffer_release(packed);
            FAIL(INTERNAL, "the weights could not be laid out");
        }
        if (state)
            packed_keep(state, packing->id, stamp, packed);
    }
    *out_packed = packed;
    return OK;
}

Status *packing_load(const Packing *packing, Kernel *k, const void *plain, Buffer **out_packed, const void **out) {
    *out_packed = NULL;
    *out = plain;
    if (!packing->bytes)
        return OK;
    TRY(packing_find(packing, k, plain, out_packed));
    if (*out_packed) {
        *out = (*out_packed)->data;
        return OK;
    }
    void *here = (char *)k->scratch + packing->at;
    NEED(packing->pack(packing->object, plain, here), INTERNAL, "the weights could not be laid out");
    *out = here;
    return OK;
}
