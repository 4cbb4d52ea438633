// Convolutions by oneDNN — its object is made when shapes are known; the filter is laid out anew only when it changes.
//
// A filter is known to be the same by the stamp of its buffer, which every write of a variable changes, or because it is
// a constant of the graph. Any other filter is packed each time.
#include "ops/nn/conv.h"

// Below so many multiplications the call of the library costs more than it saves.
enum { WORTH_THE_LIBRARY = 20000 };

Status *conv_open(Opening *o) {
    mutex_init(&((ConvState *)o->state)->lock);
    return OK;
}

void conv_close(void *state) {
    ConvState *conv = state;
    for (int i = 0; i < KEPT_FILTERS; i++)
        buffer_release(conv->kept[i].packed);
    mutex_clear(&conv->lock);
}

static void free_library(void *arg) {
    onednn_free(arg);
}

// The input that is a filter; -1 in the pass that makes one.
static int filter_input(const Conv *conv) {
    return conv->pass == CONV_FORWARD ? conv->in_b : conv->pass == CONV_INPUT ? conv->in_a : -1;
}

// The place of an object's filter, or -1. The lock is held.
static int place_of(const ConvState *state, uint64_t id) {
    for (int i = 0; i < KEPT_FILTERS; i++)
        if (state->kept[i].packed && state->kept[i].id == id)
            return i;
    return -1;
}

static Buffer *find_kept(ConvState *state, uint64_t id, uint64_t stamp) {
    mutex_lock(&state->lock);
    int at = place_of(state, id);
    Buffer *packed = at >= 0 && state->kept[at].stamp == stamp ? buffer_retain(state->kept[at].packed) : NULL;
    mutex_unlock(&state->lock);
    return packed;
}

static void keep(ConvState *state, uint64_t id, uint64_t stamp, Buffer *packed) {
    mutex_lock(&state->lock);
    int at = place_of(state, id);
    if (at < 0) {
        at = state->next;
        state->next = (at + 1) % KEPT_FILTERS;
    }
    Buffer *before = state->kept[at].packed;
    state->kept[at].packed = buffer_retain(packed);
    state->kept[at].id = id;
    state->kept[at].stamp = stamp;
    mutex_unlock(&state->lock);
    buffer_release(before);
}

// The filter, packed and kept if that is possible, as a buffer of our own; NULL: to be packed into the scratch.
static Status *kept_filter(Kernel *k, const Conv *conv, const void *plain, Buffer **out) {
    ConvState *state = k->state;
    const Buffer *buffer = k->in[filter_input(conv)]->buffer;
    uint64_t stamp = conv->constant_filter ? UINT64_MAX : buffer ? buffer->stamp : 0;
    *out = NULL;
    if (!state || !stamp)
        return OK;
    Buffer *packed = find_kept(state, conv->id, stamp);
    if (!packed) {
        TRY(buffer_new(&host_allocator, DT_uint8, conv->packed_bytes, &packed));
        if (!onednn_pack(conv->library, plain, packed->data)) {
            buffer_release(packed);
            FAIL(INTERNAL, "oneDNN could not lay out a filter");
        }
        keep(state, conv->id, stamp, packed);
    }
    *out = packed;
    return OK;
}

static Status *library_filter(Kernel *k, const Conv *conv, const void *plain, Buffer **kept, const void **out) {
    *out = plain;
    if (!conv->packed_bytes)
        return OK;
    TRY(kept_filter(k, conv, plain, kept));
    if (*kept) {
        *out = (*kept)->data;
        return OK;
    }
    void *packed = (char *)k->scratch + conv->at_packed;
    NEED(onednn_pack(conv->library, plain, packed), INTERNAL, "oneDNN could not lay out a filter");
    *out = packed;
    return OK;
}

static Status *run_library(Kernel *k) {
    const Conv *conv = k->own;
    const void *a = stage_load(&conv->a, k, k->in[conv->in_a]->data);
    const void *b = stage_load(&conv->b, k, k->in[conv->in_b]->data);
    if (conv->pass == CONV_INPUT) {
        const void *filter = a;
        a = b;
        b = filter;
    }
    AUTO(buffer) Buffer *kept = NULL;
    if (conv->pass != CONV_FILTER)
        TRY(library_filter(k, conv, b, &kept, &b));
    void *out = stage_target(&conv->out, k, k->out[0]->data);
    NEED(onednn_run(conv->library, a, b, NULL, out, (char *)k->scratch + conv->at_library), INTERNAL,
         "oneDNN failed in %s", onednn_name(conv->library));
    stage_store(&conv->out, k, k->out[0]->data);
    return OK;
}

static bool is_empty(const WindowShape *w) {
    return !w->batch || !w->in_h || !w->in_w || !w->out_h || !w->out_w;
}

Status *conv_prepare_library(Prepare *p, Conv *conv, int64_t multiplications) {
    if (multiplications < WORTH_THE_LIBRARY || is_empty(&conv->window) || !onednn_available())
        return OK;
    conv->library = onednn_conv(conv->pass, &conv->window, false, false, p->threads);
    if (!conv->library)
        return OK;
    TRY(prepare_cleanup(p, free_library, conv->library));
    conv->id = buffer_next_stamp();
    if (conv->pass != CONV_FILTER) {
        conv->packed_bytes = onednn_packed_bytes(conv->library);
        int filter = filter_input(conv);
        conv->constant_filter = p->node->inputs && output_constant(p->node->inputs[filter]);
        conv->at_packed = round_up(p->scratch, 64);
        p->scratch = conv->at_packed + conv->packed_bytes;
    }
    conv->at_library = round_up(p->scratch, 64);
    p->scratch = conv->at_library + onednn_scratch(conv->library) + 64;
    p->run = run_library;
    return OK;
}
