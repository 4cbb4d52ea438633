// Json — reads a JSON text (RFC 8259) into values in an arena.
#pragma once
#include "base/status.h"
#include "base/str.h"

typedef enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } JsonKind;

typedef struct Json {
    JsonKind kind;
    Str text;              // of a text, its escapes resolved; of a number as it stands
    Str key;               // of a member of an object
    struct Json *first;    // of a list or an object
    struct Json *next;     // in the same list or object
} Json;

// INVALID_ARGUMENT, with the byte, for what isn't one JSON value; RESOURCE_EXHAUSTED beyond 64 lists in lists.
FALLIBLE Status *json_parse(Arena *arena, Str text, Json **out);
// The last member of that name; NULL: there is none, or it is no object.
const Json *json_member(const Json *object, const char *key);
