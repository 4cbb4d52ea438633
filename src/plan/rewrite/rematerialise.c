// Rematerialisation — values that are computed again just before they are read late, instead of being kept so long.
//
// What a backward pass reads of the forward pass is most of a step's memory. Some of it comes, by one pass over memory,
// from what is kept anyway: a normalised image from the image. Rewrites say which (REWRITE_REMATERIALISE). In front of
// the late readers stands a node that is another name for the value; whether it computes it instead is for the
// specialisation to say, which knows the sizes (plan/recompute_choose.c). Where nothing is specialised it stays a name.
#include <stdlib.h>

#include "plan/rewrite/rewrite.h"

// Nodes that run between an early reader and a late one. A value with more readers, or none that is so much later,
// lives through the whole backward pass or dies early: nothing to gain.
enum { MOST_READERS = 16, LEAST_BETWEEN = 8 };  // nodes that run between an early reader and a dynamic one

typedef struct {
    Draft *draft;
    Node **order;
    size_t n;
    VEC(Node *) made;     // a made node's mark is the place of the node it comes before
} Offers;

static bool is_plain(const Node *node) {
    return !node->type->dynamic && !node->is_target;
}

// Whether the use is of that output's data: what reads only the shape doesn't need it kept.
static bool reads_data(const Use *use, int output) {
    return use->index == output && !node_reads_shape_only(use->node, use->input);
}

// By when the value is read for the last time; -1: by something that may keep it (a target, a dynamic op, control
// flow), so computing it again would keep two.
static int32_t last_read(Output value) {
    int32_t last = 0;
    for (size_t i = 0; i < value.node->uses.n; i++) {
        const Use *use = &value.node->uses.p[i];
        if (!reads_data(use, value.index))
            continue;
        if (node_flow(use->node) != FLOW_NONE || !is_plain(use->node))
            return -1;
        last = use->node->mark > last ? use->node->mark : last;
    }
    return last;
}

static int by_place(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// The place of the first late reader of output 0: behind the longest time without any, which begins at `*early`. In a
// training step that is the gap between the forward and the backward readers. 0: there is none.
static int32_t first_late(const Node *node, int32_t *early) {
    int32_t places[MOST_READERS + 1], n = 0, widest = LEAST_BETWEEN, late = 0;
    if (last_read((Output){(Node *)node, 0}) < 0)
        return 0;
    places[n++] = node->mark;
    for (size_t i = 0; i < node->uses.n; i++) {
        if (!reads_data(&node->uses.p[i], 0))
            continue;
        if (n > MOST_READERS)
            return 0;
        places[n++] = node->uses.p[i].node->mark;
    }
    qsort(places, (size_t)n, sizeof *places, by_place);
    for (int32_t i = 1; i < n; i++) {
        if (places[i] - places[i - 1] > widest) {
            widest = places[i] - places[i - 1];
            late = places[i];
            *early = places[i - 1];
        }
    }
    return late;
}

// What only renames would share the memory of both, the kept value and the one computed again.
static bool late_readers_compute(const Node *node, int32_t late) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (reads_data(&node->uses.p[i], 0) && node->uses.p[i].node->mark >= late &&
            node_op(node->uses.p[i].node)->alias)
            return false;
    return true;
}

// Puts a node at `place` for the readers from `late` on.
static Status *offer(Offers *offers, const Rewrite *rewrite, Node *node, int32_t late, int32_t place) {
    AUTO(builder) NodeBuilder builder;
    Node *made;
    rewrite_begin(&builder, offers->draft, node, rewrite, "_recomputed");
    builder_input(&builder, (Output){node, 0});
    TRY(rewrite->write(&builder, &(Match){&node, 1}));
    TRY(builder_finish(&builder, &made));
    made->mark = place;
    NEED_MEMORY(vec_push(&offers->made, made));
    for (size_t i = node->uses.n; i-- > 0;) {
        Use use = node->uses.p[i];
        if (reads_data(&use, 0) && use.node != made && use.node->mark >= late)
            TRY(node_set_input(use.node, use.input, (Output){made, 0}));
    }
    return OK;
}

static Status *consider(Offers *offers, Node *node) {
    int at = 0;
    const Rewrite *rewrite = rewrite_next(offers->draft, node, REWRITE_REMATERIALISE, &at);
    if (!rewrite || !is_plain(node) || !rewrite_has_kernel(node, rewrite) ||
        !rewrite->takes(&(Match){&node, 1}, NULL))
        return OK;
    int32_t early = 0, late = first_late(node, &early);
    if (!late || !late_readers_compute(node, late))
        return OK;
    // What it is computed from shall not be kept for it: the last who reads that comes just behind.
    int32_t place = last_read(node->inputs[0]);
    place = place < late ? place : late;
    return place - early > LEAST_BETWEEN ? offer(offers, rewrite, node, late, place) : OK;
}

// Two before the same node: in the order in which they were made.
static int by_mark(const void *a, const void *b) {
    const Node *x = *(Node *const *)a, *y = *(Node *const *)b;
    return x->mark != y->mark ? (x->mark > y->mark) - (x->mark < y->mark) : (x->id > y->id) - (x->id < y->id);
}

// A merge of two sorted lists: each made node goes in front of the node whose place is its mark.
static Status *put_in_order(Offers *offers, Node ***order, size_t *n) {
    size_t more = offers->made.n, at = 0, next = 0;
    Node **all = malloc((offers->n + more + 1) * sizeof *all);
    NEED_MEMORY(all);
    qsort(offers->made.p, more, sizeof *offers->made.p, by_mark);
    for (size_t i = 0; i < offers->n; i++) {
        while (next < more && offers->made.p[next]->mark == (int32_t)i)
            all[at++] = offers->made.p[next++];
        all[at++] = offers->order[i];
    }
    free(*order);
    *order = all;
    *n = at;
    return OK;
}

Status *rematerialise_offer(Draft *draft, Node ***order, size_t *n) {
    Offers offers = {.draft = draft, .order = *order, .n = *n};
    if (draft->options->partial || draft_has_flow(draft))
        return OK;
    for (size_t i = 0; i < *n; i++)
        (*order)[i]->mark = (int32_t)i;
    Status *status = OK;
    // What a value is computed from comes before it: so nothing is computed from what is itself computed again.
    for (size_t i = 0; i < *n && !status; i++)
        status = consider(&offers, (*order)[i]);
    if (!status && offers.made.n)
        status = put_in_order(&offers, order, n);
    vec_clear(&offers.made);
    return status;
}
