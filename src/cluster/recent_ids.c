// RecentIds — see recent_ids.h: a ring of ids, each in the chain of its hash.
#include "cluster/recent_ids.h"

#include "base/map.h"

void recent_ids_init(RecentIds *recent) {
    mutex_init(&recent->lock);
}

void recent_ids_clear(RecentIds *recent) {
    mutex_clear(&recent->lock);
}

static int16_t *bucket_of(RecentIds *recent, int64_t id) {
    return &recent->buckets[hash_bytes(&id, sizeof id, 0) % RECENT_BUCKETS];
}

static void forget(RecentIds *recent, size_t place) {
    if (!recent->ids[place])
        return;
    int16_t *at = bucket_of(recent, recent->ids[place]);
    while (*at != (int16_t)place + 1)
        at = &recent->next[*at - 1];
    *at = recent->next[place];
}

bool recent_ids_add(RecentIds *recent, int64_t id) {
    if (!id)
        return true;
    mutex_lock(&recent->lock);
    int16_t *bucket = bucket_of(recent, id), at = *bucket;
    while (at && recent->ids[at - 1] != id)
        at = recent->next[at - 1];
    if (!at) {
        size_t place = recent->n++ % RECENT_IDS;
        forget(recent, place);
        recent->ids[place] = id;
        recent->next[place] = *bucket;
        *bucket = (int16_t)(place + 1);
    }
    mutex_unlock(&recent->lock);
    return !at;
}
