// Mutex and Condition — exclusive access, and waiting for a change of what a mutex guards; deadlines are monotonic.
//
// Thin over pthreads, so that the sanitizers see every lock. Under clang the annotations below are checked by
// -Wthread-safety; elsewhere they are comments that a reader can trust.
#pragma once
#include <pthread.h>

#include "base/clock.h"
#include "base/status.h"

#if defined(__clang__)
#define THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define THREAD_ATTRIBUTE(x)
#endif
#define CAPABILITY THREAD_ATTRIBUTE(capability("mutex"))
#define GUARDED_BY(lock)                                       // a field's comment: the compilers we use ignore it in C
#define REQUIRES(lock) THREAD_ATTRIBUTE(requires_capability(lock))
#define ACQUIRES(lock) THREAD_ATTRIBUTE(acquire_capability(lock))
#define RELEASES(lock) THREAD_ATTRIBUTE(release_capability(lock))
#define UNCHECKED_LOCKING THREAD_ATTRIBUTE(no_thread_safety_analysis)

typedef struct CAPABILITY Mutex {
    pthread_mutex_t native;
} Mutex;

typedef struct {
    pthread_cond_t native;
} Condition;

// Either may also be made by these in place; neither needs a call to be given up, unless memory checkers must be told.
#define MUTEX_INIT {PTHREAD_MUTEX_INITIALIZER}
#define CONDITION_INIT {PTHREAD_COND_INITIALIZER}

static inline void mutex_init(Mutex *mutex) {
    *mutex = (Mutex)MUTEX_INIT;
}

static inline void mutex_clear(Mutex *mutex) {
    pthread_mutex_destroy(&mutex->native);
}

static inline void mutex_lock(Mutex *mutex) ACQUIRES(*mutex);
static inline void mutex_unlock(Mutex *mutex) RELEASES(*mutex);

static inline void UNCHECKED_LOCKING mutex_lock(Mutex *mutex) {
    pthread_mutex_lock(&mutex->native);
}

static inline void UNCHECKED_LOCKING mutex_unlock(Mutex *mutex) {
    pthread_mutex_unlock(&mutex->native);
}

// Of a lock that may not be there: nobody else touches what it would guard. Clang's analysis can't follow these.
static inline void UNCHECKED_LOCKING mutex_lock_if(Mutex *mutex) {
    if (mutex)
        mutex_lock(mutex);
}

static inline void UNCHECKED_LOCKING mutex_unlock_if(Mutex *mutex) {
    if (mutex)
        mutex_unlock(mutex);
}

static inline void condition_init(Condition *condition) {
    *condition = (Condition)CONDITION_INIT;
}

static inline void condition_clear(Condition *condition) {
    pthread_cond_destroy(&condition->native);
}

// Waits may end without a reason: call them in a loop over the condition.
static inline void condition_wait(Condition *condition, Mutex *mutex) REQUIRES(*mutex);
// False once `deadline` (ns of clock_now, or NO_DEADLINE) has passed.
bool condition_wait_until(Condition *condition, Mutex *mutex, int64_t deadline) REQUIRES(*mutex);

static inline void condition_wait(Condition *condition, Mutex *mutex) {
    pthread_cond_wait(&condition->native, &mutex->native);
}

static inline void condition_notify_one(Condition *condition) {
    pthread_cond_signal(&condition->native);
}

static inline void condition_notify_all(Condition *condition) {
    pthread_cond_broadcast(&condition->native);
}
