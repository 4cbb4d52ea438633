// Wire — visits the fields of a serialized message one by one, for messages that are too large to decode at once.
#pragma once
#include "base/cursor.h"

// The next field: its number, and its bytes if it is a message, string or packed list, else its varint in *out_value.
// false at the end and where the bytes are malformed: then cursor_left(c) > 0.
static inline bool wire_next(Cursor *c, uint32_t *out_field, Str *out_bytes, uint64_t *out_value) {
    Cursor at = *c;
    uint64_t tag, value = 0;
    uint32_t half;
    Str bytes = {0};
    if (!cursor_varint(&at, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return false;
    switch (tag & 7) {
        case 0:
            if (!cursor_varint(&at, &value))
                return false;
            break;
        case 1:
            if (!cursor_fixed64(&at, &value))
                return false;
            break;
        case 2:
            if (!cursor_prefixed(&at, &bytes))
                return false;
            break;
        case 5:
            if (!cursor_fixed32(&at, &half))
                return false;
            value = half;
            break;
        default:  // groups: no message of ours has any
            return false;
    }
    *out_field = (uint32_t)(tag >> 3);
    *out_bytes = bytes;
    *out_value = value;
    *c = at;
    return true;
}
