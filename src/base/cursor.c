// Cursor — see cursor.h. Each reading checks what is left before it moves; a failed one leaves the cursor where it was.
#include "base/cursor.h"

bool cursor_varint(Cursor *c, uint64_t *out) {
    const unsigned char *p = c->p;
    uint64_t value = 0;
    // Ten bytes at most, as protocol buffers allow; bits beyond 64 are dropped, as their own decoders do.
    for (int shift = 0; shift < 70; shift += 7) {
        if (p == c->end)
            return false;
        unsigned char byte = *p++;
        if (shift < 64)
            value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            c->p = p;
            *out = value;
            return true;
        }
    }
    return false;
}

bool cursor_fixed32(Cursor *c, uint32_t *out) {
    if (cursor_left(c) < 4)
        return false;
    memcpy(out, c->p, 4);
    c->p += 4;
    return true;
}

bool cursor_fixed64(Cursor *c, uint64_t *out) {
    if (cursor_left(c) < 8)
        return false;
    memcpy(out, c->p, 8);
    c->p += 8;
    return true;
}

bool cursor_bytes(Cursor *c, size_t n, Str *out) {
    if (cursor_left(c) < n)
        return false;
    *out = (Str){(const char *)c->p, n};
    c->p += n;
    return true;
}

bool cursor_prefixed(Cursor *c, Str *out) {
    Cursor start = *c;
    uint64_t n;
    if (cursor_varint(c, &n) && n <= cursor_left(c) && cursor_bytes(c, (size_t)n, out))
        return true;
    *c = start;
    return false;
}
