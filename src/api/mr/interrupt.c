// Interrupt — see millrace/interrupt.h: a signal ends the step that its thread runs. Languages whose handlers wait until C
// returns (Python) have a file descriptor written to at once; a thread here reads it, needing none of the language's locks.
#include "api/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "api/api.h"
#include "millrace/interrupt.h"
#include "thread/mutex.h"

static Mutex lock = MUTEX_INIT;
static Cancellation steps = {.lock = MUTEX_INIT, .ended = CONDITION_INIT};  // of the thread that asked for it
static bool running;               // guarded by lock: it has a step in flight; a signal at other times is the language's alone
static _Thread_local bool asked, inside;

Cancellation *interrupt_step_begins(void) {
    if (__builtin_expect(!asked || inside, 1))  // a step that a step calls ends with the outer one
        return NULL;
    inside = true;
    mutex_lock(&lock);
    running = true;
    mutex_unlock(&lock);
    return &steps;
}

void interrupt_step_ended(Cancellation *cancellation) {
    if (!cancellation)
        return;
    mutex_lock(&lock);
    running = false;
    mutex_unlock(&lock);
    cancellation_clear(cancellation);
    inside = false;
}

static void interrupt(void) {
    mutex_lock(&lock);
    if (running)
        cancellation_cancel(&steps, API_ERROR(CANCELLED, "The step was interrupted."));
    mutex_unlock(&lock);
}

static void *reader_main(void *arg) {
    int fd = (int)(intptr_t)arg;
    for (;;) {
        unsigned char number;
        ssize_t n = read(fd, &number, 1);
        if (n == 1 && number == SIGINT)
            interrupt();
        else if (n == 0 || (n < 0 && errno != EINTR))
            return NULL;
    }
}

void mr_interrupt_from(int fd, TF_Status *status) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the language's threads get the signals, not this one
    int error = pthread_create(&thread, NULL, reader_main, (void *)(intptr_t)fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        api_set(status, API_ERROR(RESOURCE_EXHAUSTED, "no thread can be made"));
        return;
    }
    pthread_detach(thread);
    asked = true;
    api_set(status, OK);
}
