// Place — a small number of the calling thread, by which what threads share is spread over cache lines.
#pragma once

enum { THREAD_PLACES = 16, CACHE_LINE = 64 };

// In [0, THREAD_PLACES). Threads that live at the same time have different ones while there are enough; beyond that
// they share. A thread keeps its own until it ends.
int thread_place(void);
