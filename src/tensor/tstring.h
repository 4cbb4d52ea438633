// TString — one string element, in TensorFlow's 24-byte layout. Heap text is libc's: clients free what we allocate.
//
// The low two bits of the first byte tell the kind: small text lives inside, large text on the heap, an offset counts
// from the struct itself, a view belongs to somebody else.
#pragma once
#include "base/str.h"

typedef union TString {
    struct { uint8_t size_kind; char text[23]; } small;              // size << 2; NUL-terminated
    struct { uint64_t size_kind; uint64_t room; char *p; } large;
    struct { uint32_t size_kind; uint32_t offset; uint32_t count; } offset;
    struct { uint64_t size_kind; const char *p; } view;
    uint64_t words[3];
} TString;

enum { TSTRING_SMALL = 0, TSTRING_LARGE = 1, TSTRING_OFFSET = 2, TSTRING_VIEW = 3, TSTRING_INSIDE = 22 };

Str tstring_str(const TString *s);                     // valid until the string changes
bool tstring_assign(TString *s, Str text);             // copies; frees what was there; false when memory is out
void tstring_clear(TString *s);                        // frees and becomes empty
// Zeroed memory is an empty string.
