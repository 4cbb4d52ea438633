// Cursor — reads bytes that came from outside; every read is checked against what remains.
#pragma once
#include "base/str.h"

typedef struct {
    const unsigned char *p, *end;
} Cursor;

static inline Cursor cursor_of(const void *bytes, size_t n) {
    return (Cursor){bytes, bytes ? (const unsigned char *)bytes + n : NULL};
}
static inline size_t cursor_left(const Cursor *c) {
    return (size_t)(c->end - c->p);
}
// Each returns false, without moving, when the bytes are not there or malformed.
bool cursor_varint(Cursor *c, uint64_t *out);      // base-128, at most 10 bytes
bool cursor_fixed32(Cursor *c, uint32_t *out);     // little-endian
bool cursor_fixed64(Cursor *c, uint64_t *out);
bool cursor_bytes(Cursor *c, size_t n, Str *out);  // a view into the input
bool cursor_prefixed(Cursor *c, Str *out);         // varint length, then that many bytes
