// Specialisation memory — which values of a specialisation share memory, how long each is needed, and where it lies.
//
// Liveness over the list: a value lives from its producer to the last node that reads it or an alias of it. Before
// packing values are united: an output that equals an input or a piece of it lies there, and an elementwise output
// takes over the memory of an input that dies at it (in-place reuse). `owner` is a union-find without compression, of
// which `at` is the offset of a member in its owner.
#include <stdlib.h>

#include "plan/specialising.h"
#include "loops/tuning.h"

int32_t specialising_owner(const Specialising *s, int32_t slot) {
    int32_t root = specialising_root(s, slot);
    while (s->owner[root] != root)
        root = s->owner[root];
    return root;
}

int64_t specialising_place(const Specialising *s, int32_t slot) {
    int64_t at = 0;
    for (int32_t root = specialising_root(s, slot); s->owner[root] != root; root = s->owner[root])
        at += s->at[root];
    return at;
}

// Everything else has a buffer of its own, or a value that is known.
bool specialising_in_arena(const Specialising *s, int32_t root) {
    const PlanSlot *slot = &s->plan->slots[root];
    if (slot->producer < 0 || slot->escapes || specialising_root(s, root) != root || !dtype_is_plain(slot->dtype))
        return false;
    const PlanNode *p = &s->plan->nodes[slot->producer];
    return s->result->modes[slot->producer] == NODE_SPECIALISED && !(p->binding.op->flags & OP_DYNAMIC_SHAPE) &&
           (p->binding.device->type->host || slot->memory != HOST_MEMORY) && !s->result->values[root].buffer;
}

// Which inputs a node reads as things stand. What is computed again is computed from the inputs behind the first; else
// it is the first. While candidates are weighed (`choosing`) neither counts: recompute_choose adds what each costs.
// What is read for its shape alone may be gone: the specialisation knows the shape.
static bool reads(const Specialising *s, int32_t i, int input) {
    const Binding *binding = &s->plan->nodes[i].binding;
    if (s->result->modes[i] == NODE_SPECIALISED && (binding->in_flags[input] & EDGE_SHAPE_ONLY))
        return false;
    if (!(binding->op->flags & OP_RECOMPUTES))
        return true;
    return specialising_recomputes(s, i) ? input > 0 && !s->choosing : input == 0;
}

static void find_last_uses(Specialising *s) {
    const Plan *plan = s->plan;
    for (int32_t slot = 0; slot < plan->n_slots; slot++) {
        s->owner[slot] = slot;
        s->at[slot] = 0;
        s->in_pieces[slot] = false;
        s->last[slot] = plan->slots[slot].producer;
    }
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        if (s->result->modes[i] == NODE_KNOWN && !specialising_renames(s, i))
            continue;
        for (int in = 0; in < plan->nodes[i].binding.n_in; in++)
            if (reads(s, i, in))
                s->last[specialising_root(s, plan->in_slots[plan->nodes[i].in + in])] = i;
    }
}

// The input that output 0 equals, by what `prepare` found for these shapes (Prepare.equal_input: a sum over extents of
// 1, whole rows of a matrix); -1: none.
int32_t specialising_equal_input(const Specialising *s, int32_t i) {
    const PlanNode *p = &s->plan->nodes[i];
    if (s->result->modes[i] != NODE_SPECIALISED || p->binding.n_out != 1 || !p->binding.direct ||
        !s->result->prepared[i].making->equal_input)
        return -1;
    return s->plan->in_slots[p->in + s->result->prepared[i].making->equal_input - 1];
}

static bool is_all_of(const Specialising *s, int32_t root, int32_t slot) {
    size_t all, bytes;
    Status *status = shape_bytes(&s->known[root].shape, s->plan->slots[root].dtype, &all);
    if (!status)
        status = shape_bytes(&s->known[slot].shape, s->plan->slots[slot].dtype, &bytes);
    bool is = !status && all == bytes;
    status_free(status);
    return is;
}

// The owner lives as long as the last of its members.
static void share(Specialising *s, int32_t root, int64_t at, int32_t out) {
    s->owner[out] = root;
    s->at[out] = at;
    s->in_pieces[root] |= at != 0 || !is_all_of(s, root, out);
    s->last[root] = s->last[out] > s->last[root] ? s->last[out] : s->last[root];
}

// A slot that gets a new buffer before the step begins: what could lie in the arena, if it did not escape.
static bool is_fresh(const Specialising *s, int32_t slot) {
    const PlanSlot *info = &s->plan->slots[slot];
    const PlanNode *p = &s->plan->nodes[info->producer];
    return info->escapes && info->root == slot && dtype_is_plain(info->dtype) &&
           !(p->binding.op->flags & OP_DYNAMIC_SHAPE) && !p->binding.start && p->binding.device->type->host &&
           !s->result->values[slot].buffer;
}

// No other input of the node is another part of the same memory: writing the output over one input would change what
// the other reads before it is read.
static bool reads_alone(const Specialising *s, int32_t i, int in) {
    const PlanNode *p = &s->plan->nodes[i];
    int32_t slot = s->plan->in_slots[p->in + in], root = specialising_owner(s, slot);
    for (int other = 0; other < p->binding.n_in; other++) {
        int32_t read = s->plan->in_slots[p->in + other];
        if (specialising_owner(s, read) == root && (specialising_place(s, read) != specialising_place(s, slot) ||
                                                    !shape_equal(&s->known[read].shape, &s->known[slot].shape)))
            return false;
    }
    return true;
}

// Output 0 of a specialised node lies where an input lies that it equals, or is a piece of, or takes over the memory of
// one that dies there. Where it escapes, that input lies in its buffer from the beginning.
static void share_memory(Specialising *s, int32_t i) {
    const Plan *plan = s->plan;
    const PlanNode *p = &plan->nodes[i];
    if (s->result->modes[i] != NODE_SPECIALISED || !p->binding.n_out)
        return;
    bool arena = specialising_in_arena(s, p->out);
    if (!arena && !is_fresh(s, p->out))
        return;
    int32_t same = arena ? specialising_equal_input(s, i) : -1;
    if (same >= 0 && specialising_in_arena(s, specialising_owner(s, same))) {
        int64_t at = specialising_place(s, same) + (int64_t)s->result->prepared[i].making->equal_at;
        share(s, specialising_owner(s, same), at, p->out);
        return;
    }
    for (int in = 0; in < p->binding.n_in && in < MAX_ARGS; in++) {
        int32_t slot = plan->in_slots[p->in + in], root = specialising_owner(s, slot);
        size_t bytes, wanted;
        Status *status = shape_bytes(&s->known[slot].shape, plan->slots[slot].dtype, &bytes);
        if (!status)
            status = shape_bytes(&s->known[p->out].shape, plan->slots[p->out].dtype, &wanted);
        bool fits = !status && bytes == wanted && bytes > 0 &&
            // The input's memory becomes part of a buffer that outlives the step: only if it is all of it, and large
            // enough that the copy it saves is worth keeping a buffer alive.
            (arena || (!s->in_pieces[root] && bytes >= TUNED_LEND_LEAST));
        status_free(status);
        if (fits && (p->binding.in_flags[in] & EDGE_IN_PLACE) && (p->last & BIT(in)) &&
            specialising_in_arena(s, root) &&
            s->last[root] == i && plan->slots[root].dtype == plan->slots[p->out].dtype &&
            plan->slots[root].memory == plan->slots[p->out].memory && reads_alone(s, i, in)) {
            if (arena)
                share(s, root, specialising_place(s, slot), p->out);
            else
                s->owner[root] = p->out;
            return;
        }
    }
}

void specialising_share(Specialising *s) {
    find_last_uses(s);
    for (int32_t i = 0; i < s->plan->n_nodes; i++)
        share_memory(s, i);
}

// Scratch is an interval, too, of one node: it shares the arena with values that are not alive then. `who` is a slot,
// or -1 - node for scratch.
Status *specialising_intervals(Specialising *s, int16_t memory, Interval *intervals, int32_t *who, int *out_n) {
    const Plan *plan = s->plan;
    int n = 0;
    for (int32_t slot = 0; slot < plan->n_slots; slot++) {
        if (plan->slots[slot].memory != memory || !specialising_in_arena(s, slot) || s->owner[slot] != slot)
            continue;
        Interval interval = {.first = plan->slots[slot].producer, .last = s->last[slot]};
        TRY(shape_bytes(&s->known[slot].shape, plan->slots[slot].dtype, &interval.bytes));
        intervals[n] = interval;
        who[n++] = slot;
    }
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        if (s->result->modes[i] == NODE_SPECIALISED && s->result->prepared[i].scratch && !specialising_renames(s, i) &&
            plan_memory_of(plan, plan->nodes[i].binding.device) == memory) {
            intervals[n] = (Interval){.first = i, .last = i, .bytes = s->result->prepared[i].scratch};
            who[n++] = -1 - i;
        }
    }
    *out_n = n;
    return OK;
}

static Status *pack_memory(Specialising *s, int16_t memory, Interval *intervals, int32_t *who) {
    Specialisation *result = s->result;
    int n;
    TRY(specialising_intervals(s, memory, intervals, who, &n));
    TRY(memory_pack(intervals, n, &result->packed[memory].bytes, &result->packed[memory].lower_bound));
    for (int i = 0; i < n; i++) {
        if (who[i] >= 0)
            result->offsets[who[i]] = intervals[i].offset;
        else
            result->scratch[-1 - who[i]] = intervals[i].offset;
    }
    return OK;
}

// Each memory is packed for itself. `lent`: a value that dies into one that escapes lies in that one's buffer from the
// beginning of the step.
static Status *pack(Specialising *s, Interval *intervals, int32_t *who) {
    const Plan *plan = s->plan;
    Specialisation *result = s->result;
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        result->offsets[slot] = IN_NO_ARENA;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        result->scratch[i] = IN_NO_ARENA;
    for (int32_t m = 0; m < plan->n_memories; m++)
        TRY(pack_memory(s, (int16_t)m, intervals, who));
    for (int32_t slot = 0; slot < plan->n_slots; slot++) {
        int32_t root = specialising_owner(s, slot);
        bool whole = plan->slots[slot].root == slot;
        result->lent[slot] = root != slot && whole && !specialising_in_arena(s, root) ? root : -1;
        if (specialising_in_arena(s, root) && (specialising_in_arena(s, slot) || !whole))
            result->offsets[slot] = result->offsets[root] + specialising_place(s, slot);
    }
    return OK;
}

Status *specialising_pack(Specialising *s) {
    size_t most = (size_t)s->plan->n_slots + (size_t)s->plan->n_nodes + 1;
    TRY(recompute_choose(s));
    specialising_share(s);
    Interval *intervals = malloc(most * sizeof *intervals);
    int32_t *who = malloc(most * sizeof *who);
    Status *status = OK;
    if (intervals && who)
        status = pack(s, intervals, who);
    free(who);
    free(intervals);
    NEED_MEMORY(intervals && who);
    return status;
}
