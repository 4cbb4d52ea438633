// Trim — gives back to the system what the process freed: the heap keeps what lies between what is still in use.
#pragma once
#include <stddef.h>

// After so many bytes were freed. Less than TRIM_LEAST isn't worth the search, which takes a millisecond and more.
enum { TRIM_LEAST = 16 << 20 };
void trim_heap(size_t freed);
