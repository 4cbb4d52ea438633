// Rematerialisation, choice — which of the values that could be computed again are: as few as lower the most that is
// live at once.
//
// The largest at the fullest time goes first, as long as that pays: computing again is one pass over memory, and all of
// them together may take a small part of what the step takes. What turns out to lie nowhere near the fullest time is
// kept after all.
//
// After T. Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, with this difference: only what one pass
// over memory brings back is computed again, so the step takes at most a 64th longer.
#include <stdlib.h>

#include "base/checked.h"
#include "loops/tuning.h"
#include "plan/specialising.h"

// A value below 1 MiB isn't worth a node; a gain of less than a 32nd of the peak isn't worth any time. Costs are
// estimates by bytes (TUNED_RECOMPUTE_SPEED), budgets a 64th of what the step's kernels are estimated to take. WORK
// bounds the greedy search, which looks at all times for each candidate that it takes.
enum {
    LEAST_BYTES = 1 << 20,       // of a value
    SMALL_PART = 64,             // what is so much smaller than the value may be kept longer for it; so may little time
                                 // pass
    LEAST_GAIN = 32,             // less than this part of all memory is not worth it
    WORK = 1 << 26,              // times and candidates looked at
};

typedef struct {
    int32_t node;                // that computes it again, at this time
    int32_t owner;               // the slot whose memory the value has, if it isn't kept
    int32_t early;               // the last use of that
    int64_t bytes, cost;         // of the value; ns
    bool chosen;
} Candidate;

typedef struct {
    Specialising *s;
    Candidate *candidates;
    int n;
    int64_t *live;               // bytes by time; n_times
    int32_t n_times;
    int32_t *until;              // last use by slot, as things stand
    int32_t *candidate_of;       // by the slot whose memory it is; -1: none
    int64_t budget;              // ns
} Choice;

static int64_t bytes_of(const Specialising *s, int32_t slot) {
    size_t bytes = 0;
    status_free(shape_bytes(&s->known[slot].shape, s->plan->slots[slot].dtype, &bytes));
    return (int64_t)bytes;
}

static int32_t input_slot(const Specialising *s, const Candidate *c, int input) {
    return s->plan->in_slots[s->plan->nodes[c->node].in + input];
}

// Kernels of one output that the machine calls directly: only for these the specialisation can change which inputs are
// read. The value must lie in the arena, since only there a shorter life frees memory.
static bool could_recompute(const Specialising *s, int32_t i) {
    const PlanNode *p = &s->plan->nodes[i];
    if (!(p->binding.op->flags & OP_RECOMPUTES) || !p->binding.direct || p->binding.n_out != 1 ||
        s->result->modes[i] != NODE_SPECIALISED)
        return false;
    int32_t value = s->plan->in_slots[p->in];
    return specialising_in_arena(s, value) && bytes_of(s, value) >= LEAST_BYTES;
}

// Between the last early reader and the node that computes it again the value needs no memory.
static void add_live(Choice *choice, const Candidate *c, int64_t bytes) {
    for (int32_t t = c->early + 1; t < c->node; t++)
        choice->live[t] += bytes;
}

// ---------------------------------------- as things stand when all are kept

// What is live at each time if all that could be is computed again: differences at the ends of each interval, then
// their sums. From there begin_candidates adds what keeping each candidate costs.
static Status *count_live(Choice *choice) {
    Specialising *s = choice->s;
    size_t most = (size_t)s->plan->n_slots + (size_t)s->plan->n_nodes + 1;
    Interval *intervals = malloc(most * sizeof *intervals);
    int32_t *who = malloc(most * sizeof *who);
    int n = 0;
    Status *status = intervals && who ? specialising_intervals(s, HOST_MEMORY, intervals, who, &n) : OK;
    for (int i = 0; i < n && !status; i++) {
        choice->live[intervals[i].first] += (int64_t)intervals[i].bytes;
        choice->live[intervals[i].last + 1] -= (int64_t)intervals[i].bytes;
    }
    for (int32_t t = 1; t <= choice->n_times; t++)
        choice->live[t] += choice->live[t - 1];
    free(intervals);
    free(who);
    TRY(status);
    NEED_MEMORY(intervals && who);
    return OK;
}

// It reads its sources and writes the value: bytes of both, at the speed of memory.
static void begin_candidates(Choice *choice) {
    Specialising *s = choice->s;
    for (int32_t slot = 0; slot < s->plan->n_slots; slot++) {
        choice->until[slot] = s->last[slot];
        choice->candidate_of[slot] = -1;
    }
    for (int i = 0; i < choice->n; i++) {
        Candidate *c = &choice->candidates[i];
        int32_t value = input_slot(s, c, 0), again = s->plan->nodes[c->node].out;
        c->owner = specialising_owner(s, value);
        c->early = s->last[c->owner];
        c->bytes = bytes_of(s, value);
        c->cost = c->bytes / TUNED_RECOMPUTE_SPEED;
        for (int in = 1; in < s->plan->nodes[c->node].binding.n_in; in++)
            c->cost += bytes_of(s, input_slot(s, c, in)) / TUNED_RECOMPUTE_SPEED;
        if (c->early >= c->node)
            continue;
        choice->until[c->owner] = s->last[specialising_owner(s, again)];
        choice->candidate_of[c->owner] = i;
        add_live(choice, c, c->bytes);
    }
}

// min: a kernel may say "as much as it takes" by a cost beyond all sums.
static int64_t step_cost(const Specialising *s) {
    int64_t total = 0;
    for (int32_t i = 0; i < s->plan->n_nodes; i++)
        if (s->result->modes[i] == NODE_SPECIALISED)
            total += min_i64(prepared_cost(&s->result->prepared[i]), INT32_MAX);
    return total;
}

// ---------------------------------------- the choice

// Whether what it is computed from is there at its time anyway, or small. Keeping a large source for it would move the
// peak instead of lowering it.
static bool has_sources(const Choice *choice, const Candidate *c) {
    const Specialising *s = choice->s;
    for (int in = 1; in < s->plan->nodes[c->node].binding.n_in; in++) {
        int32_t slot = input_slot(s, c, in), owner = specialising_owner(s, slot);
        if (specialising_in_arena(s, owner) && choice->until[owner] < c->node &&
            bytes_of(s, slot) > c->bytes / SMALL_PART)
            return false;
    }
    return true;
}

static int64_t most_live(const Choice *choice, int32_t first, int32_t end, int32_t *out_time) {
    int64_t most = 0;
    for (int32_t t = first; t < end; t++) {
        if (choice->live[t] > most) {
            most = choice->live[t];
            *out_time = t;
        }
    }
    return most;
}

// The largest that is alive at that time only because it is kept; of equal ones the one that is kept longest, which
// frees memory at the most times.
static Candidate *best_at(const Choice *choice, int32_t time) {
    Candidate *best = NULL;
    for (int i = 0; i < choice->n; i++) {
        Candidate *c = &choice->candidates[i];
        if (c->chosen || c->early >= time || c->node <= time || c->cost > choice->budget)
            continue;
        bool better = !best || c->bytes > best->bytes ||
                      (c->bytes == best->bytes && c->node - c->early > best->node - best->early);
        if (better && has_sources(choice, c))
            best = c;
    }
    return best;
}

static void take(Choice *choice, Candidate *c) {
    const Specialising *s = choice->s;
    c->chosen = true;
    choice->budget -= c->cost;
    choice->until[c->owner] = c->early;
    add_live(choice, c, -c->bytes);
    for (int in = 1; in < s->plan->nodes[c->node].binding.n_in; in++) {
        int32_t owner = specialising_owner(s, input_slot(s, c, in));
        choice->until[owner] = choice->until[owner] > c->node ? choice->until[owner] : c->node;
        // Another candidate that this one needs is kept until then.
        if (choice->candidate_of[owner] >= 0) {
            Candidate *source = &choice->candidates[choice->candidate_of[owner]];
            source->early = source->early > c->node ? source->early : c->node;
        }
    }
}

// Greedy, then backwards: each turn lowers the fullest time by the largest value, until nothing more helps there. What
// was taken early may turn out to lie nowhere near the peak that is left: that is kept after all, and costs no time.
static void choose(Choice *choice) {
    int32_t time = 0;
    int64_t before = most_live(choice, 0, choice->n_times, &time), work = 0;
    for (Candidate *c = best_at(choice, time); c && work < WORK; c = best_at(choice, time)) {
        take(choice, c);
        most_live(choice, 0, choice->n_times, &time);
        work += choice->n_times + choice->n;
    }
    int64_t most = most_live(choice, 0, choice->n_times, &time);
    bool pays = before - most >= before / LEAST_GAIN;
    for (int i = choice->n; i-- > 0 && pays;) {
        Candidate *c = &choice->candidates[i];
        if (c->chosen && most_live(choice, c->early + 1, c->node, &time) + c->bytes <= most) {
            c->chosen = false;
            add_live(choice, c, c->bytes);
        }
    }
    for (int i = 0; i < choice->n; i++) {
        Specialisation *result = choice->s->result;
        int32_t node = choice->candidates[i].node;
        result->recomputed[node] = choice->candidates[i].chosen && pays;
        if (!result->recomputed[node])
            continue;
        result->prepared[node].run = binding_recompute(&choice->s->plan->nodes[node].binding);
        result->n_recomputed++;
        result->recompute_saves = (size_t)(before - most);
    }
}

// Sharing depends on which values die early, so it is found once with all candidates recomputed; the final layout is
// made anew afterwards (specialising_pack).
static Status *choose_among(Specialising *s, Candidate *candidates, int n) {
    AUTO(arena) Arena room = {0};
    Choice choice = {.s = s, .candidates = candidates, .n = n, .n_times = s->plan->n_nodes,
                     .budget = step_cost(s) / SMALL_PART};
    choice.live = ARENA_ARRAY(&room, int64_t, (size_t)choice.n_times + 2);
    choice.until = ARENA_ARRAY(&room, int32_t, s->plan->n_slots);
    choice.candidate_of = ARENA_ARRAY(&room, int32_t, s->plan->n_slots);
    NEED_MEMORY(choice.live && choice.until && choice.candidate_of);
    for (int i = 0; i < n; i++)
        s->result->recomputed[candidates[i].node] = true;
    s->choosing = true;
    specialising_share(s);
    Status *status = count_live(&choice);
    s->choosing = false;
    TRY(status);
    begin_candidates(&choice);
    choose(&choice);
    return OK;
}

Status *recompute_choose(Specialising *s) {
    int n = 0;
    for (int32_t i = 0; i < s->plan->n_nodes; i++)
        n += could_recompute(s, i);
    if (!n)
        return OK;
    Candidate *candidates = calloc((size_t)n, sizeof *candidates);
    NEED_MEMORY(candidates);
    n = 0;
    for (int32_t i = 0; i < s->plan->n_nodes; i++)
        if (could_recompute(s, i))
            candidates[n++].node = i;
    Status *status = choose_among(s, candidates, n);
    free(candidates);
    return status;
}
