// AttrMemo — see attr_memo.h: a hash table of chains, from how a node is spelled in a file to the attributes that this
// gave. Layers repeat, so the nodes of a large graph are spelled in few ways.
#include "graph/attr_memo.h"

#include <stdlib.h>

#include "base/map.h"

typedef struct AttrMemoEntry {
    uint64_t hash;
    Spelling spelling;
    const AttrSet *set;
    struct AttrMemoEntry *next;
} AttrMemoEntry;

// The bytes of all attributes as they stand in the file, undecoded, the op, and the types of the inputs.
static uint64_t spelling_hash(const Spelling *s) {
    return hash_bytes(s->in, s->n_in * sizeof *s->in, hash_bytes(s->bytes.p, s->bytes.n, (uintptr_t)s->type));
}

static bool spellings_equal(const Spelling *a, const Spelling *b) {
    return a->type == b->type && a->n_in == b->n_in && str_equal(a->bytes, b->bytes) &&
           (a->n_in == 0 || memcmp(a->in, b->in, a->n_in * sizeof *a->in) == 0);
}

const AttrSet *attr_memo_find(const AttrMemo *memo, const Spelling *spelling) {
    if (!memo->room)
        return NULL;
    uint64_t hash = spelling_hash(spelling);
    for (const AttrMemoEntry *entry = memo->buckets[hash & (memo->room - 1)]; entry; entry = entry->next)
        if (entry->hash == hash && spellings_equal(&entry->spelling, spelling))
            return entry->set;
    return NULL;
}

static bool memo_grow(AttrMemo *memo) {
    size_t room = memo->room ? memo->room * 2 : 64;
    AttrMemoEntry **buckets = calloc(room, sizeof *buckets);
    if (!buckets)
        return false;
    for (size_t i = 0; i < memo->room; i++)
        for (AttrMemoEntry *entry = memo->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash & (room - 1)];
            buckets[entry->hash & (room - 1)] = entry;
        }
    free(memo->buckets);
    memo->buckets = buckets;
    memo->room = room;
    return true;
}

Status *attr_memo_add(AttrMemo *memo, const Spelling *spelling, const AttrSet *set) {
    NEED_MEMORY(memo->n < memo->room || memo_grow(memo));
    AttrMemoEntry *entry = ARENA_NEW(&memo->arena, AttrMemoEntry);
    DType *in = ARENA_ARRAY(&memo->arena, DType, spelling->n_in);
    NEED_MEMORY(entry && in);
    if (spelling->n_in)
        memcpy(in, spelling->in, spelling->n_in * sizeof *in);
    AttrMemoEntry **bucket = &memo->buckets[spelling_hash(spelling) & (memo->room - 1)];
    *entry = (AttrMemoEntry){spelling_hash(spelling), *spelling, set, *bucket};
    entry->spelling.in = in;
    *bucket = entry;
    memo->n++;
    return OK;
}

void attr_memo_clear(AttrMemo *memo) {
    free(memo->buckets);
    arena_clear(&memo->arena);
    *memo = (AttrMemo){0};
}
