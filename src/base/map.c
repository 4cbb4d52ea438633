// Map — see map.h: open addressing with linear probing, at most three quarters full.
//
// Removal closes the gap by shifting the run behind it, so there are no tombstones.
#include "base/map.h"

#include <stdlib.h>

// The hash is kept: a probe that meets another key mostly doesn't touch that key's memory, and growing touches none.
typedef struct MapEntry {
    Str key;
    void *value;  // NULL: free
    uint64_t hash;
} MapEntry;

// Eight bytes a multiplication. Not keyed: inputs can make it collide, which costs time and nothing else; limits on
// inputs bound that.
uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed) {
    const unsigned char *p = bytes;
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15u);
    while (n >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
        p += 8;
        n -= 8;
    }
    uint64_t tail = 0;
    if (n)
        memcpy(&tail, p, n);
    h = (h ^ tail) * 0x9fb21c651e98df25u;
    return h ^ (h >> 29);
}

static MapEntry *map_slot(const Map *map, Str key, uint64_t hash) {
    size_t mask = map->room - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        MapEntry *entry = &map->entries[i];
        if (!entry->value || (entry->hash == hash && str_equal(entry->key, key)))
            return entry;
    }
}

void *map_find(const Map *map, Str key) {
    return map->room ? map_slot(map, key, hash_bytes(key.p, key.n, 0))->value : NULL;
}

static bool map_rehash(Map *map, size_t room) {
    Map grown = {calloc(room, sizeof(MapEntry)), map->n, room};
    if (!grown.entries)
        return false;
    for (size_t i = 0; i < map->room; i++) {
        if (!map->entries[i].value)
            continue;
        size_t to = map->entries[i].hash & (room - 1);
        while (grown.entries[to].value)
            to = (to + 1) & (room - 1);
        grown.entries[to] = map->entries[i];
    }
    free(map->entries);
    *map = grown;
    return true;
}

bool map_set(Map *map, Str key, void *value) {
    if (map->n * 4 >= map->room * 3 && !map_rehash(map, map->room ? map->room * 2 : 16))
        return false;
    uint64_t hash = hash_bytes(key.p, key.n, 0);
    MapEntry *entry = map_slot(map, key, hash);
    map->n += entry->value == NULL;
    *entry = (MapEntry){key, value, hash};
    return true;
}

void *map_take(Map *map, Str key) {
    if (!map->room)
        return NULL;
    MapEntry *entry = map_slot(map, key, hash_bytes(key.p, key.n, 0));
    void *value = entry->value;
    if (!value)
        return NULL;
    size_t mask = map->room - 1;
    size_t hole = (size_t)(entry - map->entries);
    for (size_t i = (hole + 1) & mask; map->entries[i].value; i = (i + 1) & mask) {
        size_t home = map->entries[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole] = (MapEntry){0};
    map->n--;
    return value;
}

void map_clear(Map *map) {
    free(map->entries);
    *map = (Map){0};
}

bool map_next(const Map *map, size_t *at, Str *key, void **value) {
    for (; *at < map->room; (*at)++) {
        if (map->entries[*at].value) {
            *key = map->entries[*at].key;
            *value = map->entries[*at].value;
            (*at)++;
            return true;
        }
    }
    return false;
}
