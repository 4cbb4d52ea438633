// Clock — nanoseconds of the monotonic clock, and deadlines on it.
#pragma once
#include <stdint.h>

int64_t clock_now(void);      // monotonic, ns; reading it costs about 30 ns
int64_t clock_wall(void);     // since 1970, microseconds
enum { CLOCK_MS = 1000000 };  // nanoseconds in a millisecond
#define NO_DEADLINE INT64_MAX
