// Example — see example.h.
#include "proto/example.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

#define TAG(field, type) ((uint64_t)(field) << 3 | (type))

// The cursor's own functions, with the shortest case at once: most tags and lengths are a byte.
static inline bool take_varint(Cursor *c, uint64_t *out) {
    if (c->p < c->end && *c->p < 0x80) {
        *out = *c->p++;
        return true;
    }
    return cursor_varint(c, out);
}

static inline bool take_bytes(Cursor *c, Str *out) {
    uint64_t n;
    if (!take_varint(c, &n) || n > cursor_left(c))
        return false;
    *out = (Str){(const char *)c->p, (size_t)n};
    c->p += n;
    return true;
}

// Passes over what a tag that isn't known stands for.
static bool skip(Cursor *c, uint64_t tag) {
    uint64_t number;
    uint32_t half;
    Str bytes;
    switch (tag & 7) {
    case VARINT: return take_varint(c, &number);
    case FIXED64: return cursor_fixed64(c, &number);
    case BYTES: return take_bytes(c, &bytes);
    case FIXED32: return cursor_fixed32(c, &half);
    default: return false;
    }
}

// An entry of a map holds a key and a value, and nothing else.
static bool read_entry(Str entry, Str *key, Str *value) {
    Cursor c = cursor_of(entry.p, entry.n);
    *key = *value = (Str){"", 0};
    for (int i = 0; i < 2; i++) {
        uint64_t tag;
        if (!take_varint(&c, &tag) || (tag != TAG(1, BYTES) && tag != TAG(2, BYTES)))
            return false;
        if (!take_bytes(&c, tag == TAG(1, BYTES) ? key : value))
            return false;
    }
    return !cursor_left(&c);
}

// Finds the next of the messages that hold the map.
static bool next_map(FeatureWalk *walk) {
    while (cursor_left(&walk->outer)) {
        uint64_t tag;
        if (!take_varint(&walk->outer, &tag))
            return false;
        Str map;
        if (tag != TAG(walk->field, BYTES)) {
            if (!skip(&walk->outer, tag))
                return false;
            continue;
        }
        if (!take_bytes(&walk->outer, &map))
            return false;
        walk->inner = cursor_of(map.p, map.n);
        if (map.n)
            return true;
    }
    return true;
}

bool feature_walk_next(FeatureWalk *walk, Str *out_key, Str *out_feature) {
    if (!cursor_left(&walk->inner)) {
        walk->is_malformed = !next_map(walk);
        if (walk->is_malformed || !cursor_left(&walk->inner))
            return false;
    }
    uint64_t tag;
    Str entry;
    walk->is_malformed = !take_varint(&walk->inner, &tag) || tag != TAG(1, BYTES) ||
                         !take_bytes(&walk->inner, &entry) || !read_entry(entry, out_key, out_feature);
    return !walk->is_malformed;
}

bool feature_list_next(Cursor *list, Str *out_feature, bool *is_malformed) {
    while (cursor_left(list)) {
        uint64_t tag;
        *is_malformed = !take_varint(list, &tag);
        if (*is_malformed)
            return false;
        if (tag == TAG(1, BYTES)) {
            *is_malformed = !take_bytes(list, out_feature);
            return !*is_malformed;
        }
        *is_malformed = !skip(list, tag);
        if (*is_malformed)
            return false;
    }
    return false;
}

// ---------------------------------------- values

// Numbers in one packed field; those that each have a tag stay as they are.
static bool open_numbers(FeatureList *list, uint64_t single) {
    Cursor c = cursor_of(list->bytes.p, list->bytes.n);
    uint64_t tag;
    if (!cursor_left(&c))
        return true;
    if (!take_varint(&c, &tag))
        return false;
    list->is_packed = tag == TAG(1, BYTES);
    return list->is_packed ? take_bytes(&c, &list->bytes) : tag == single;
}

bool feature_list_open(Str feature, FeatureList *out) {
    *out = (FeatureList){.bytes = {"", 0}, .dtype = DT_INVALID};
    if (!feature.n)
        return true;
    Cursor c = cursor_of(feature.p, feature.n);
    uint64_t tag;
    if (!take_varint(&c, &tag) || !take_bytes(&c, &out->bytes))
        return false;
    switch (tag) {
    case TAG(1, BYTES): out->dtype = DT_string; return true;
    case TAG(2, BYTES): out->dtype = DT_float; return open_numbers(out, TAG(1, FIXED32));
    case TAG(3, BYTES): out->dtype = DT_int64; return open_numbers(out, TAG(1, VARINT));
    default: return false;
    }
}

static int64_t count_strings(Cursor c) {
    int64_t n = 0;
    for (Str s; cursor_left(&c); n++) {
        uint64_t tag;
        if (!take_varint(&c, &tag) || tag != TAG(1, BYTES) || !take_bytes(&c, &s))
            return -1;
    }
    return n;
}

// Each number has one byte without the high bit; at most ten bytes belong to it.
static int64_t count_packed_varints(Str bytes) {
    int64_t n = 0;
    size_t begin = 0;
    for (size_t i = 0; i < bytes.n; i++)
        if (!(bytes.p[i] & 0x80)) {
            if (i - begin >= 10)
                return -1;
            begin = i + 1;
            n++;
        }
    return begin == bytes.n ? n : -1;
}

static int64_t count_varints(Cursor c) {
    int64_t n = 0;
    for (uint64_t number; cursor_left(&c); n++) {
        uint64_t tag;
        if (!take_varint(&c, &tag) || tag != TAG(1, VARINT) || !take_varint(&c, &number))
            return -1;
    }
    return n;
}

static int64_t count_floats(Cursor c) {
    int64_t n = 0;
    for (uint32_t bits; cursor_left(&c); n++) {
        uint64_t tag;
        if (!take_varint(&c, &tag) || tag != TAG(1, FIXED32) || !cursor_fixed32(&c, &bits))
            return -1;
    }
    return n;
}

int64_t feature_list_count(const FeatureList *list) {
    Cursor c = cursor_of(list->bytes.p, list->bytes.n);
    switch (list->dtype) {
    case DT_string: return count_strings(c);
    case DT_float:
        if (!list->is_packed)
            return count_floats(c);
        return list->bytes.n & 3 ? -1 : (int64_t)(list->bytes.n / 4);
    case DT_int64: return list->is_packed ? count_packed_varints(list->bytes) : count_varints(c);
    default: return 0;
    }
}

static bool read_strings(Cursor c, TString *out) {
    for (Str s; cursor_left(&c); out++) {
        uint64_t tag;
        if (!take_varint(&c, &tag) || !take_bytes(&c, &s))
            return true;  // feature_list_count has seen that it is there
        if (!tstring_assign(out, s))
            return false;
    }
    return true;
}

static void read_floats(Cursor c, float *out) {
    uint64_t tag;
    for (uint32_t bits; cursor_left(&c) && take_varint(&c, &tag) && cursor_fixed32(&c, &bits); out++)
        memcpy(out, &bits, sizeof bits);
}

static void read_varints(Cursor c, bool is_packed, int64_t *out) {
    uint64_t tag;
    while (cursor_left(&c)) {
        // Most numbers are small: a byte that ends one is it.
        if (is_packed && *c.p < 0x80) {
            *out++ = *c.p++;
            continue;
        }
        uint64_t number;
        if ((!is_packed && !take_varint(&c, &tag)) || !take_varint(&c, &number))
            return;
        *out++ = (int64_t)number;
    }
}

bool feature_list_read(const FeatureList *list, void *out) {
    Cursor c = cursor_of(list->bytes.p, list->bytes.n);
    switch (list->dtype) {
    case DT_string: return read_strings(c, out);
    case DT_int64: read_varints(c, list->is_packed, out); return true;
    case DT_float:
        if (!list->is_packed)
            read_floats(c, out);
        else if (list->bytes.n)
            memcpy(out, list->bytes.p, list->bytes.n);
        return true;
    default: return true;
    }
}
