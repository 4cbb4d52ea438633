// Metadata — names and values that travel beside a call's messages, in the order in which they were added.
//
// Names are in lower case. The values of those that end in -bin are any bytes, base64 on the wire; others are printable
// ASCII, and what is not is left out when they are sent.
#pragma once
#include "base/str.h"

// Zero-initialised is empty.
typedef struct {
    Text bytes;                                       // names and values, one after the other
    struct MetadataPlace { size_t name, value; } *p;  // their lengths
    size_t n, room;
} Metadata;

FALLIBLE bool metadata_add(Metadata *metadata, Str name, Str value);  // copies; false when memory is out
// The first of that name. The view lasts until something is added.
bool metadata_find(const Metadata *metadata, Str name, Str *out_value);
// Visits all: `size_t i = 0, at = 0; while (metadata_next(&metadata, &i, &at, &name, &value)) ...`.
bool metadata_next(const Metadata *metadata, size_t *i, size_t *at, Str *name, Str *value);
// The same in the form of the wire, where values of -bin names are base64: one added, all of another (NULL: none), one
// that came. What is malformed is taken as it stands.
FALLIBLE bool metadata_add_coded(Metadata *metadata, Str name, Str value);
FALLIBLE bool metadata_add_all_coded(Metadata *metadata, const Metadata *from);
FALLIBLE bool metadata_add_decoded(Metadata *metadata, Str name, Str value);
void metadata_clear(Metadata *metadata);
