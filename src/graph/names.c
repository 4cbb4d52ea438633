// NameIndex — see names.h: open addressing with linear probing, at most three quarters full.
//
// Only hashes and ids are kept; names are compared where they are. Removal closes the gap by shifting the run behind
// it, so there are no tombstones, and a graph that grows and shrinks doesn't slow down.
#include "graph/names.h"

#include <stdlib.h>

static void entry_put(NameEntry *entries, size_t room, NameEntry entry) {
    size_t at = entry.hash & (room - 1);
    while (entries[at].id)
        at = (at + 1) & (room - 1);
    entries[at] = entry;
}

bool name_index_reserve(NameIndex *index, size_t n) {
    size_t room = index->room ? index->room : 16;
    while (n * 4 > room * 3)
        room *= 2;
    if (room == index->room)
        return true;
    NameEntry *entries = calloc(room, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < index->room; i++)
        if (index->entries[i].id)
            entry_put(entries, room, index->entries[i]);
    free(index->entries);
    index->entries = entries;
    index->room = room;
    return true;
}

bool name_index_add(NameIndex *index, uint32_t hash, int32_t id) {
    if (!name_index_reserve(index, index->n + 1))
        return false;
    entry_put(index->entries, index->room, (NameEntry){hash, (uint32_t)id + 1});
    index->n++;
    return true;
}

void name_index_remove(NameIndex *index, uint32_t hash, int32_t id) {
    if (!index->room)
        return;
    size_t mask = index->room - 1, hole = hash & mask;
    while (index->entries[hole].id && index->entries[hole].id != (uint32_t)id + 1)
        hole = (hole + 1) & mask;
    if (!index->entries[hole].id)
        return;
    for (size_t i = (hole + 1) & mask; index->entries[i].id; i = (i + 1) & mask) {
        size_t home = index->entries[i].hash & mask;
        // It may move into the hole unless its own place lies behind that.
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            index->entries[hole] = index->entries[i];
            hole = i;
        }
    }
    index->entries[hole] = (NameEntry){0};
    index->n--;
}

void name_index_clear(NameIndex *index) {
    free(index->entries);
    *index = (NameIndex){0};
}
