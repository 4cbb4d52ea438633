// NameIndex — names to numbers, eight bytes an entry: the names themselves lie with what the numbers stand for.
//
// Who looks asks for one candidate after the other and compares the names himself:
//
//     for (size_t at = name_index_first(&index, hash); (id = name_index_next(&index, hash, &at)) >= 0;)
//         if (str_equal(names[id], wanted)) ...
#pragma once
#include "base/map.h"

typedef struct {
    uint32_t hash;
    uint32_t id;  // + 1; 0: free
} NameEntry;

// Zero-initialised is empty.
typedef struct {
    NameEntry *entries;
    size_t n, room;  // room is a power of two
} NameIndex;

static inline uint32_t name_hash(Str name) {
    uint64_t hash = hash_bytes(name.p, name.n, 0);
    return (uint32_t)(hash ^ (hash >> 32));
}
static inline size_t name_index_first(const NameIndex *index, uint32_t hash) {
    return index->room ? hash & (index->room - 1) : 0;
}
// The next number under that hash, -1 behind the last one.
static inline int32_t name_index_next(const NameIndex *index, uint32_t hash, size_t *at) {
    while (index->room && index->entries[*at].id) {
        NameEntry entry = index->entries[*at];
        *at = (*at + 1) & (index->room - 1);
        if (entry.hash == hash)
            return (int32_t)(entry.id - 1);
    }
    return -1;
}
bool name_index_reserve(NameIndex *index, size_t n);              // room for that many in all; false when memory is out
bool name_index_add(NameIndex *index, uint32_t hash, int32_t id);  // of a name that isn't there; false when memory is
                                                                   // out
void name_index_remove(NameIndex *index, uint32_t hash, int32_t id);
void name_index_clear(NameIndex *index);
