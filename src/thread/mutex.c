// Mutex — see mutex.h.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // pthread_cond_clockwait
#endif
#include "thread/mutex.h"

#include <errno.h>

bool condition_wait_until(Condition *condition, Mutex *mutex, int64_t deadline) {
    if (deadline == NO_DEADLINE) {
        condition_wait(condition, mutex);
        return true;
    }
    int64_t at = deadline < 0 ? 0 : deadline;
    struct timespec when = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
    // The statically made pthread condition counts on the wall clock; this call waits on the clock it is given.
    return pthread_cond_clockwait(&condition->native, &mutex->native, CLOCK_MONOTONIC, &when) != ETIMEDOUT;
}
