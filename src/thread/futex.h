// Futex — sleeping until a 32-bit word changes; the kernel's primitive, for the few places where a lock is too much.
#pragma once
#include <stdatomic.h>

#include "base/clock.h"
#include "base/status.h"

typedef _Atomic uint32_t FutexWord;

// Sleeps while *word == expected. Returns false once `deadline` has passed; true on a wake, a change or a signal, so
// callers loop. Only threads of this process meet.
bool futex_wait(FutexWord *word, uint32_t expected, int64_t deadline);
// Only the address is used: the word may have been freed meanwhile by the thread that saw it change.
void futex_wake(FutexWord *word, int threads);

static inline void spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}
