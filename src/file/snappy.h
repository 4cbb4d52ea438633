// Snappy — decodes the raw block format; nothing here writes it.
#pragma once
#include "base/str.h"

// Appends the decoded bytes. DATA_LOSS for malformed input; RESOURCE_EXHAUSTED past `most` bytes or without memory.
FALLIBLE Status *snappy_decode(Str block, size_t most, Text *out);
