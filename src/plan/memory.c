// Memory — packs intermediate values into one block: those that never live at once may share bytes.
//
// Greedy: one value after the other, each at the lowest offset where no value that overlaps it in time lies; the
// largest first. Where that misses the lower bound, the most bytes alive at one node, other orders of the largest are
// tried. It is quadratic, so of a plan with many values only the largest take part; the small rest shares blocks by
// size class, above them.
//
// Greedy by size is that of Y. Pisarchyk and J. Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020;
// packing optimally (dynamic storage allocation) is NP-hard.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/specialisation.h"

// Of one size the earlier begins first: a fixed order, so that one plan packs alike in every process.
static int by_size(const void *a, const void *b) {
    const Interval *x = *(Interval *const *)a, *y = *(Interval *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

// The lowest gap of `bytes` among placed intervals (sorted by offset) that overlap `interval` in time: one walk
// upwards, in which `at` is where all that came so far has ended.
static int64_t lowest_gap(Interval *const *placed, int n, const Interval *interval) {
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        const Interval *other = placed[i];
        if (other->last < interval->first || other->first > interval->last)
            continue;
        if (other->offset - at >= (int64_t)interval->bytes)
            break;
        at = max_i64(at, other->offset + (int64_t)other->bytes);
    }
    return at;
}

// By insertion: `placed` is nearly in order already, since large values go low.
static void insert_by_offset(Interval **placed, int n, Interval *interval) {
    int at = n;
    while (at > 0 && placed[at - 1]->offset > interval->offset) {
        placed[at] = placed[at - 1];
        at--;
    }
    placed[at] = interval;
}

// ---- the small rest: blocks of one power of two each, taken when a value begins and given back when it has ended

enum { GREEDY_MOST = 4096, CLASSES = 48 };

typedef struct {
    int64_t offset;
    int32_t next;   // in the list of free blocks, or of blocks that end at one time; -1: none
} Block;

// The power of two that holds `bytes`; 6, for 64 bytes, is the least, as offsets are aligned to that.
static int class_of(size_t bytes) {
    return bytes <= BUFFER_ALIGNMENT ? 6 : 64 - __builtin_clzll((unsigned long long)bytes - 1);
}

// A sweep over time needs the intervals in the order in which they begin.
static int by_first(const void *a, const void *b) {
    const Interval *x = *(Interval *const *)a, *y = *(Interval *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

// Linear: a sweep over time that takes a block of the class from its free list when a value begins, and gives it back
// after the last time at which the value is read. `rest` is in order of their beginning; `ends` has room for every
// time. Blocks lie from `top` on. A class wastes less than half of a block, and these are the small values of a plan.
static int64_t share_by_class(Interval **rest, int n, int64_t top, Block *blocks, int32_t *ends, int32_t last_time) {
    int32_t free_blocks[CLASSES];
    for (int c = 0; c < CLASSES; c++)
        free_blocks[c] = -1;
    for (int32_t t = 0; t <= last_time; t++)
        ends[t] = -1;
    int32_t made = 0, now = 0;
    for (int i = 0; i < n; i++) {
        for (; now < rest[i]->first; now++) {
            for (int32_t b = ends[now], next; b >= 0; b = next) {
                next = blocks[b].next;
                int c = (int)(blocks[b].offset & 63);  // offsets are multiples of 64: the class hides in the low bits
                blocks[b].next = free_blocks[c];
                free_blocks[c] = b;
            }
        }
        int c = class_of(rest[i]->bytes);
        int32_t b = free_blocks[c];
        if (b >= 0) {
            free_blocks[c] = blocks[b].next;
        } else {
            b = made++;
            blocks[b].offset = top | c;
            top += (int64_t)1 << c;
        }
        rest[i]->offset = blocks[b].offset & ~(int64_t)63;
        blocks[b].next = ends[rest[i]->last];
        ends[rest[i]->last] = b;
    }
    return top;
}

static Status *pack_rest(Interval **rest, int n, int64_t *top) {
    int32_t last_time = 0;
    for (int i = 0; i < n; i++)
        last_time = rest[i]->last > last_time ? rest[i]->last : last_time;
    Block *blocks = malloc(((size_t)n + 1) * sizeof *blocks);
    int32_t *ends = malloc(((size_t)last_time + 1) * sizeof *ends);
    if (blocks && ends) {
        qsort(rest, (size_t)n, sizeof *rest, by_first);
        *top = share_by_class(rest, n, *top, blocks, ends, last_time);
    }
    bool good = blocks && ends;
    free(blocks);
    free(ends);
    NEED_MEMORY(good);
    return OK;
}

// The most bytes alive at any time: no packing needs less, so one that reaches it is optimal and the search can stop.
static Status *lower_bound(const Interval *intervals, int n, size_t *out) {
    int32_t end = 0;
    for (int i = 0; i < n; i++)
        end = intervals[i].last > end ? intervals[i].last : end;
    int64_t *change = calloc((size_t)end + 2, sizeof *change);
    NEED_MEMORY(change);
    for (int i = 0; i < n; i++) {
        change[intervals[i].first] += (int64_t)intervals[i].bytes;
        change[intervals[i].last + 1] -= (int64_t)intervals[i].bytes;
    }
    int64_t live = 0, most = 0;
    for (int32_t t = 0; t <= end; t++) {
        live += change[t];
        most = max_i64(most, live);
    }
    free(change);
    *out = (size_t)most;
    return OK;
}

// Places them in that order; returns where the highest ends. `placed` has room for n.
static int64_t place_all(Interval *const *order, int n, Interval **placed) {
    int64_t top = 0;
    for (int i = 0; i < n; i++) {
        order[i]->offset = lowest_gap(placed, i, order[i]);
        insert_by_offset(placed, i, order[i]);
        top = max_i64(top, order[i]->offset + (int64_t)order[i]->bytes);
    }
    return top;
}

// From one place in the order to another; those between move up by one.
static void move_place(Interval **order, int from, int to) {
    Interval *moved = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = moved;
}

// TRIES of place_all, n * n steps each, and WORK steps in all: packing must stay small beside specialising. Only the
// largest MOVED values change places: where the small ones lie hardly moves the top.
enum { TRIES = 256, MOVED = 12, WORK = 1 << 22 };  // n * n steps each, so many at most

// Places them in the best order found, by local search: one of the largest moves among them, and stays where that did
// no harm (equal is kept, too, since from there another move may gain). It ends within 1 % of the bound. The random
// numbers have a fixed seed: a plan's layout must not differ from one process to the next.
static int64_t place_best(Interval **order, int n, int64_t bound, Interval **placed) {
    int64_t work = (int64_t)n * n, least = place_all(order, n, placed), top = least;
    uint32_t random = 1, most = n < MOVED ? (uint32_t)n : MOVED;
    for (int t = 1; t <= TRIES && least > bound + bound / 100 && t * work < WORK; t++) {
        random = random * 1664525u + 1013904223u;
        int from = (int)((random >> 24) % most), to = (int)((random >> 16 & 255) % most);
        move_place(order, from, to);
        top = place_all(order, n, placed);
        if (top > least)
            move_place(order, to, from);
        else
            least = top;
    }
    return top == least ? top : place_all(order, n, placed);
}

static Status *pack(Interval *intervals, int n, Interval **room, size_t *out_bytes, size_t *out_lower_bound) {
    Interval **order = room, **placed = room + n;
    for (int i = 0; i < n; i++) {
        intervals[i].bytes = round_up(intervals[i].bytes, BUFFER_ALIGNMENT);
        order[i] = &intervals[i];
    }
    TRY(lower_bound(intervals, n, out_lower_bound));
    qsort(order, (size_t)n, sizeof *order, by_size);
    int greedy = n < GREEDY_MOST ? n : GREEDY_MOST;
    int64_t top = place_best(order, greedy, (int64_t)*out_lower_bound, placed);
    if (n > greedy)
        TRY(pack_rest(order + greedy, n - greedy, &top));
    *out_bytes = (size_t)top;
    return OK;
}

Status *memory_pack(Interval *intervals, int n, size_t *out_bytes, size_t *out_lower_bound) {
    Interval **room = malloc(2 * (size_t)(n + 1) * sizeof *room);
    NEED_MEMORY(room);
    Status *status = pack(intervals, n, room, out_bytes, out_lower_bound);
    free(room);
    return status;
}
