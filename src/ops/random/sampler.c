// Sampler — see sampler.h.
#include "ops/random/sampler.h"

#include <stdlib.h>

// ---------------------------------------- numbers

static uint32_t numbers_next(Numbers *numbers) {
    if (!numbers->left) {
        philox_take(&numbers->philox, NUMBERS_BLOCKS, numbers->block);
        numbers->left = 4 * NUMBERS_BLOCKS;
    }
    return numbers->block[4 * NUMBERS_BLOCKS - numbers->left--];
}

static uint64_t numbers_next64(Numbers *numbers) {
    uint32_t low = numbers_next(numbers);
    return (uint64_t)numbers_next(numbers) << 32 | low;
}

// 23 random bits as the mantissa of a number in [1, 2), less 1: evenly spaced, never 1. TensorFlow does it so.
static float numbers_float(Numbers *numbers) {
    uint32_t bits = 127u << 23 | (numbers_next(numbers) & 0x7fffff);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x - 1.0f;
}

double numbers_double(Numbers *numbers) {
    uint64_t high = numbers_next(numbers) & 0xfffff;
    uint64_t bits = 1023ull << 52 | high << 32 | numbers_next(numbers);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x - 1.0;
}

// Without bias: a power of two takes the low bits. Else the first numbers are left out, so that the others are a
// multiple of n, and the remainder is uniform.
static uint32_t numbers_below(Numbers *numbers, uint32_t n) {
    if (!(n & (n - 1)))
        return numbers_next(numbers) & (n - 1);
    uint32_t left_out = UINT32_MAX % n + 1, x;
    do
        x = numbers_next(numbers);
    while (x < left_out);
    return x % n;
}

uint64_t numbers_below64(Numbers *numbers, uint64_t n) {
    if (!(n & (n - 1)))
        return numbers_next64(numbers) & (n - 1);
    uint64_t left_out = UINT64_MAX % n + 1, x;
    do
        x = numbers_next64(numbers);
    while (x < left_out);
    return x % n;
}

// ---------------------------------------- places

static size_t places_room(int64_t n) {
    size_t room = 8;
    while (room < 2 * (size_t)n)
        room *= 2;
    return room;
}

size_t places_size(int64_t n) {
    return places_room(n) * (sizeof(int64_t) + sizeof(int32_t));
}

void places_open(Places *places, void *memory, int64_t n) {
    size_t room = places_room(n);
    *places = (Places){memory, (int32_t *)((int64_t *)memory + room), room - 1};
    memset(places->places, 0xff, room * sizeof *places->places);
}

static size_t places_slot(const Places *places, int64_t key) {
    uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 20) & places->mask;
    while (places->places[slot] >= 0 && places->keys[slot] != key)
        slot = (slot + 1) & places->mask;
    return slot;
}

int32_t places_find(const Places *places, int64_t key) {
    return places->places[places_slot(places, key)];
}

bool places_set(Places *places, int64_t key, int32_t place) {
    size_t slot = places_slot(places, key);
    bool fresh = places->places[slot] < 0;
    places->keys[slot] = key;
    places->places[slot] = place;
    return fresh;
}

// ---------------------------------------- weights: the alias method

// Pairs a class that is rarer than the average with one that is more frequent, which gives what the first one lacks;
// what is left of it goes back to where it belongs now. `few` and `many` are stacks.
static void weights_pair(Weights *w, double *share, int32_t *few, int32_t *many) {
    int64_t n_few = 0, n_many = 0;
    for (int32_t i = 0; i < w->n; i++) {
        share[i] = (double)(w->weights[i] * (float)w->n) / w->total;
        w->other[i] = i;
        if (share[i] < 1.0)
            few[n_few++] = i;
        else
            many[n_many++] = i;
    }
    while (n_few && n_many) {
        int32_t low = few[--n_few], high = many[--n_many];
        w->other[low] = high;
        share[high] -= 1.0 - share[low];
        if (share[high] < 1.0)
            few[n_few++] = high;
        else
            many[n_many++] = high;
    }
    for (int64_t i = 0; i < w->n; i++)
        w->stays[i] = (float)share[i];
    // Rounding leaves some whose share is nearly 1.
    while (n_few)
        w->stays[few[--n_few]] = 1;
    while (n_many)
        w->stays[many[--n_many]] = 1;
}

Status *weights_open(Weights *w) {
    w->possible = 0;
    for (int64_t i = 0; i < w->n; i++) {
        NEED(w->weights[i] >= 0 && isfinite(w->weights[i]), INVALID_ARGUMENT, "weight %lld = %g is not a weight",
             (long long)i, (double)w->weights[i]);
        w->possible += w->weights[i] > 0;
    }
    NEED(w->possible > 0, INVALID_ARGUMENT, "no class has a weight above 0");
    size_t n = (size_t)w->n;
    double *share = malloc(n * sizeof *share);
    int32_t *stacks = malloc(2 * n * sizeof *stacks);
    w->stays = malloc(n * sizeof *w->stays);
    w->other = malloc(n * sizeof *w->other);
    bool room = share && stacks && w->stays && w->other;
    if (room)
        weights_pair(w, share, stacks, stacks + n);
    free(share);
    free(stacks);
    NEED_MEMORY(room);
    return OK;
}

int64_t weights_draw(const Weights *w, Numbers *numbers) {
    float at = numbers_float(numbers);
    uint32_t class = numbers_below(numbers, (uint32_t)w->n);
    return at < w->stays[class] ? (int64_t)class : w->other[class];
}

void weights_clear(Weights *w) {
    free(w->weights);
    free(w->stays);
    free(w->other);
    *w = (Weights){0};
}

// ---------------------------------------- counts

// Counts that change between draws: a Fenwick tree of prefix sums, so adding one and finding the class of a random
// place both take log n. Each class counts 1 from the start, which the tree leaves out.
Status *counts_open(Counts *counts, int64_t n) {
    counts->sums = calloc((size_t)n + 1, sizeof *counts->sums);
    NEED_MEMORY(counts->sums);
    counts->n = counts->total = n;
    return OK;
}

static int64_t counts_below(const Counts *counts, int64_t class) {
    int64_t sum = class;
    for (int64_t i = class; i > 0; i -= i & -i)
        sum += counts->sums[i];
    return sum;
}

int64_t counts_of(const Counts *counts, int64_t class) {
    return counts_below(counts, class + 1) - counts_below(counts, class);
}

int64_t counts_draw(const Counts *counts, Numbers *numbers) {
    int64_t left = numbers_below(numbers, (uint32_t)counts->total), at = 0, span = 1;
    while (span <= counts->n / 2)
        span *= 2;
    for (; span; span /= 2) {
        if (at + span > counts->n || counts->sums[at + span] + span > left)
            continue;
        at += span;
        left -= counts->sums[at] + span;
    }
    return at;
}

void counts_add(Counts *counts, int64_t class) {
    counts->total++;
    for (int64_t i = class + 1; i <= counts->n; i += i & -i)
        counts->sums[i]++;
}

void counts_clear(Counts *counts) {
    free(counts->sums);
    *counts = (Counts){0};
}
