// Map, hash — byte-string keys to pointers: open addressing, no removal order, keys are viewed and must outlive the
// map.
#pragma once
#include "base/str.h"

// Zero-initialised is empty.
typedef struct {
    struct MapEntry *entries;
    size_t n, room;  // room is a power of two
} Map;

// NULL where the key is absent.
void *map_find(const Map *map, Str key);
// Adds or replaces; false when memory is out. `value` is not NULL.
bool map_set(Map *map, Str key, void *value);
// Removes and returns the value; NULL where absent.
void *map_take(Map *map, Str key);
void map_clear(Map *map);
uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed);

// Visits every entry: `size_t at = 0; while (map_next(&map, &at, &key, &value)) ...`. No change while visiting.
bool map_next(const Map *map, size_t *at, Str *key, void **value);

static inline void map_auto(Map *map) {
    map_clear(map);
}
