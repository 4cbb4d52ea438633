// Futex — see futex.h: sleeping on a word of memory, as Linux has it; private to the process.
#include "thread/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool futex_wait(FutexWord *word, uint32_t expected, int64_t deadline) {
    struct timespec when = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    if (deadline <= 0)
        when = (struct timespec){0};
    // The bitset form takes an absolute time of the monotonic clock.
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline == NO_DEADLINE ? NULL : &when,
                      NULL, FUTEX_BITSET_MATCH_ANY);
    return !(rc != 0 && errno == ETIMEDOUT);
}

void futex_wake(FutexWord *word, int threads) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}
