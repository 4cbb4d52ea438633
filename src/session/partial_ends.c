// Partial ends — see partial_ends.h.
#include "session/partial_ends.h"

#include "session/plans.h"

Status *partial_ends_init(PartialEnds *ends, Arena *arena, const StepSignature *whole) {
    TRY(signature_copy(arena, whole, &ends->whole));
    ends->feeds = ARENA_ARRAY(arena, const Tensor *, whole->n_feeds);
    ends->fetches = ARENA_ARRAY(arena, Tensor *, whole->n_fetches);
    ends->fed = ARENA_ARRAY(arena, bool, whole->n_feeds);
    ends->fetched = ARENA_ARRAY(arena, bool, whole->n_fetches);
    NEED_MEMORY(ends->feeds && ends->fetches && ends->fed && ends->fetched);
    return OK;
}

static int find_end(const Output *ends, int n, Output edge) {
    for (int i = 0; i < n; i++)
        if (output_equal(ends[i], edge))
            return i;
    return -1;
}

static Status *take_feed(PartialEnds *ends, Output edge, const Tensor *value) {
    int at = find_end(ends->whole.feeds, ends->whole.n_feeds, edge);
    NEED(at >= 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): was not among the feeds of the set-up", NODE_ARGS(edge.node));
    NEED(!ends->fed[at] && !ends->feeds[at], INVALID_ARGUMENT, "{{node %.*s}} (%.*s): output %d has already been fed",
         NODE_ARGS(edge.node), edge.index);
    DType wanted = output_base_type(edge);
    NEED(value->dtype == wanted, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): is of type %s, but was fed a %s",
         NODE_ARGS(edge.node), dtype_name(wanted), dtype_name(value->dtype));
    ends->feeds[at] = value;
    return OK;
}

static Status *take_fetch(PartialEnds *ends, Output edge, Tensor *out) {
    int at = find_end(ends->whole.fetches, ends->whole.n_fetches, edge);
    NEED(at >= 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): was not among the fetches of the set-up", NODE_ARGS(edge.node));
    NEED(!ends->fetched[at] && !ends->fetches[at], INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): output %d has already been fetched", NODE_ARGS(edge.node), edge.index);
    ends->fetches[at] = out;
    return OK;
}

Status *partial_ends_take(PartialEnds *ends, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    memset(ends->feeds, 0, (size_t)ends->whole.n_feeds * sizeof *ends->feeds);
    memset(ends->fetches, 0, (size_t)ends->whole.n_fetches * sizeof *ends->fetches);
    for (int i = 0; i < part->n_feeds; i++)
        TRY(take_feed(ends, part->feeds[i], feeds[i]));
    for (int i = 0; i < part->n_fetches; i++)
        TRY(take_fetch(ends, part->fetches[i], &out[i]));
    return OK;
}

bool partial_ends_last(const PartialEnds *ends) {
    bool last = true;
    for (int i = 0; i < ends->whole.n_feeds; i++)
        last &= ends->fed[i] || ends->feeds[i];
    for (int i = 0; i < ends->whole.n_fetches; i++)
        last &= ends->fetched[i] || ends->fetches[i];
    return last;
}

void partial_ends_done(PartialEnds *ends) {
    for (int i = 0; i < ends->whole.n_feeds; i++)
        ends->fed[i] |= ends->feeds[i] != NULL;
    for (int i = 0; i < ends->whole.n_fetches; i++)
        ends->fetched[i] |= ends->fetches[i] != NULL;
}
