// RecentIds — the last ids of requests, so that one that comes again (a client that lost its connection sends it once
// more) isn't run again. Any thread may ask.
#pragma once
#include "thread/mutex.h"

enum { RECENT_IDS = 10000, RECENT_BUCKETS = 1 << 14 };

typedef struct {
    Mutex lock;
    int64_t ids[RECENT_IDS];        // the newest at n - 1, modulo; 0: none
    int16_t next[RECENT_IDS];       // in its bucket: 1 + the place, 0 at the end
    int16_t buckets[RECENT_BUCKETS];
    size_t n;
} RecentIds;

void recent_ids_init(RecentIds *recent);  // of zeroed memory
void recent_ids_clear(RecentIds *recent);
// Whether the id is new, which it isn't afterwards. 0 always is.
bool recent_ids_add(RecentIds *recent, int64_t id);
