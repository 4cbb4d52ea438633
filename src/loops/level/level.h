// Level — what files compiled once per CPU level share. LOOPS_LEVEL is 1, 3 or 4: x86-64, x86-64-v3, x86-64-v4.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef LOOPS_LEVEL
#define LOOPS_LEVEL 1
#endif

// LEVEL(name) is the name of this level's copy of something that leaves its file.
#define LEVEL_PASTE_(name, level) name##_v##level
#define LEVEL_PASTE(name, level) LEVEL_PASTE_(name, level)
#define LEVEL(name) LEVEL_PASTE(name, LOOPS_LEVEL)

// Complex loops gain nothing from wider vectors, integer ones, casts and those of single doubles nothing from 512 bits:
// the higher levels use the lower ones' (cmake/library.cmake leaves the files out).
#define COMPLEX_LEVEL(name) LEVEL_PASTE(name, 1)
#if LOOPS_LEVEL == 4
#define INTEGER_LEVEL(name) LEVEL_PASTE(name, 3)
#else
#define INTEGER_LEVEL(name) LEVEL(name)
#endif

// Before a loop whose iterations are independent, an output that is exactly an input included.
#if defined(__clang__)
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTOR_LOOP _Pragma("GCC ivdep")
#endif

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline, unused))

// The widest vector registers that the level has, in floats.
#if LOOPS_LEVEL == 4
enum { LANES = 16 };
#elif LOOPS_LEVEL == 3
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
