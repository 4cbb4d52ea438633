// Wire — see wire.h.
#include "wire.h"

#include <stdio.h>
#include <string.h>

static bool read_varint(Bytes *b, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        *out |= (uint64_t)(*b->at & 127) << shift;
        if (!(*b->at++ & 128))
            return true;
    }
    return false;
}

bool wire_next(Bytes *b, Field *out) {
    uint64_t tag, n = 0;
    if (b->at >= b->end || !read_varint(b, &tag))
        return false;
    *out = (Field){.number = tag >> 3, .bytes = {b->at, b->at}};
    switch (tag & 7) {
    case 0: return read_varint(b, &out->integer);
    case 1: n = 8; break;
    case 5: n = 4; break;
    case 2:
        if (!read_varint(b, &n))
            return false;
        break;
    default: return false;
    }
    if (n > (uint64_t)(b->end - b->at))
        return false;
    if ((tag & 7) == 2)
        out->bytes = (Bytes){b->at, b->at + n};
    b->at += n;
    return true;
}

bool wire_valid(Bytes message) {
    Field field;
    while (wire_next(&message, &field))
        continue;
    return message.at == message.end;
}

Bytes wire_find(Bytes message, uint64_t number) {
    Field field;
    while (wire_next(&message, &field))
        if (field.number == number)
            return field.bytes;
    return (Bytes){0};
}

uint64_t wire_integer(Bytes message, uint64_t number, uint64_t otherwise) {
    Field field;
    while (wire_next(&message, &field))
        if (field.number == number)
            otherwise = field.integer;
    return otherwise;
}

Bytes wire_value(Bytes message, uint64_t number, const char *key) {
    Field field;
    while (wire_next(&message, &field))
        if (field.number == number && wire_is(wire_find(field.bytes, 1), key))
            return wire_find(field.bytes, 2);
    return (Bytes){0};
}

bool wire_is(Bytes text, const char *what) {
    size_t n = strlen(what);
    return (size_t)(text.end - text.at) == n && (n == 0 || memcmp(text.at, what, n) == 0);
}

char *wire_text(Bytes text, char *out, size_t room) {
    size_t n = (size_t)(text.end - text.at);
    if (n >= room)
        n = room - 1;
    if (n)
        memcpy(out, text.at, n);
    out[n] = 0;
    return out;
}
