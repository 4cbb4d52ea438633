// Wire — the fields of a message in its binary form, by their numbers: enough to look into graphs without building
// them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *at, *end;
} Bytes;

typedef struct {
    uint64_t number, integer;   // `integer` of fields without a length
    Bytes bytes;                // of those with one
} Field;

bool wire_next(Bytes *message, Field *out);              // false at the end, or where the bytes are no message
Bytes wire_find(Bytes message, uint64_t number);         // the first such field; empty where there is none
uint64_t wire_integer(Bytes message, uint64_t number, uint64_t otherwise);
// The value behind a key of the map in that field.
Bytes wire_value(Bytes message, uint64_t number, const char *key);
bool wire_is(Bytes text, const char *what);
char *wire_text(Bytes text, char *out, size_t room);     // with a NUL; cut to the room
bool wire_valid(Bytes message);                          // its fields, to the last byte
