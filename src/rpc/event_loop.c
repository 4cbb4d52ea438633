// Event loop — see event_loop.h.
#define _GNU_SOURCE
#include "rpc/event_loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rpc/event_timers.h"
#include "thread/mutex.h"

enum { EVENTS = 64 };

struct EventLoop {
    int epoll, wake;               // wake: an eventfd
    unsigned forks;                // of the process, when this was made
    pthread_t thread;
    bool threaded;
    Mutex lock;
    EventTimers timers;            // guarded by lock
    EventTask *tasks, **last;      // guarded by lock
    int64_t asleep_until;          // guarded by lock; INT64_MIN while awake
    bool ending;                   // guarded by lock
    _Atomic(const void *) inside;  // what tells the loop's thread from others
    int64_t now;
    struct epoll_event events[EVENTS];
    int at, n;                     // the events of this turn that are yet to be handled
    uint8_t *buffer;
};

// ---- forks

static _Atomic unsigned forks;
static struct {
    Mutex lock;
    EventLoop *loop, *bulk;
} shared = {.lock = MUTEX_INIT};

static void UNCHECKED_LOCKING before_fork(void) {
    mutex_lock(&shared.lock);
}

static void UNCHECKED_LOCKING after_fork_in_parent(void) {
    mutex_unlock(&shared.lock);
}

// The parent's loop is left as it is: its locks may be held, its epoll is the parent's too.
static void UNCHECKED_LOCKING after_fork_in_child(void) {
    atomic_fetch_add(&forks, 1);
    shared.loop = shared.bulk = NULL;
    mutex_unlock(&shared.lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

bool event_loop_is_alive(const EventLoop *loop) {
    return loop->forks == atomic_load_explicit(&forks, memory_order_relaxed);
}

// ---- the thread

static _Thread_local char thread_mark;  // its address is the thread's

bool event_loop_is_inside(const EventLoop *loop) {
    return atomic_load_explicit(&loop->inside, memory_order_relaxed) == &thread_mark;
}

int64_t event_loop_now(const EventLoop *loop) {
    return loop->now;
}

uint8_t *event_loop_buffer(EventLoop *loop) {
    return loop->buffer;
}

static void wake(EventLoop *loop) {
    uint64_t one = 1;
    while (write(loop->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static bool is_ending(EventLoop *loop) {
    mutex_lock(&loop->lock);
    bool ending = loop->ending && !loop->tasks;
    mutex_unlock(&loop->lock);
    return ending;
}

static void *loop_main(void *arg) {
    EventLoop *loop = arg;
    while (!is_ending(loop))
        event_loop_turn(loop, NO_DEADLINE);
    return NULL;
}

static Status *start_thread(EventLoop *loop) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);  // signals of the host never run on our threads
    int error = pthread_create(&loop->thread, NULL, loop_main, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    NEED(!error, RESOURCE_EXHAUSTED, "no thread for the event loop: %s", strerror(error));
    pthread_setname_np(loop->thread, "millrace-rpc");
    loop->threaded = true;
    return OK;
}

static Status *open_loop(EventLoop *loop, bool threaded) {
    loop->buffer = malloc(EVENT_LOOP_BUFFER);
    NEED_MEMORY(loop->buffer);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    NEED(loop->epoll >= 0 && loop->wake >= 0 && !epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event),
         code_from_errno(errno), "an event loop can't be made: %s", strerror(errno));
    return threaded ? start_thread(loop) : OK;
}

static void close_loop(EventLoop *loop) {
    if (loop->wake >= 0)
        close(loop->wake);
    if (loop->epoll >= 0)
        close(loop->epoll);
    mutex_clear(&loop->lock);
    free(loop->buffer);
    free(loop);
}

Status *event_loop_new(bool threaded, EventLoop **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    EventLoop *loop = calloc(1, sizeof *loop);
    NEED_MEMORY(loop);
    loop->epoll = loop->wake = -1;
    loop->forks = atomic_load(&forks);
    loop->last = &loop->tasks;
    loop->asleep_until = INT64_MIN;
    mutex_init(&loop->lock);
    Status *status = open_loop(loop, threaded);
    if (status)
        close_loop(loop);
    else
        *out = loop;
    return status;
}

void event_loop_free(EventLoop *loop) {
    if (!loop || !event_loop_is_alive(loop))
        return;
    mutex_lock(&loop->lock);
    loop->ending = true;
    mutex_unlock(&loop->lock);
    if (loop->threaded) {
        wake(loop);
        pthread_join(loop->thread, NULL);
    } else {
        while (!is_ending(loop))
            event_loop_turn(loop, 0);
    }
    close_loop(loop);
}

static Status *share(EventLoop **of_process, EventLoop **out) {
    mutex_lock(&shared.lock);
    Status *status = *of_process ? OK : event_loop_new(true, of_process);
    if (!status)
        *out = *of_process;
    mutex_unlock(&shared.lock);
    return status;
}

Status *event_loop_shared(EventLoop **out) {
    return share(&shared.loop, out);
}

Status *event_loop_bulk(EventLoop **out) {
    return share(&shared.bulk, out);
}

// ---- sources

static Status *control(EventLoop *loop, int what, EventSource *source, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = source};
    NEED(!epoll_ctl(loop->epoll, what, source->fd, &event), code_from_errno(errno), "epoll: %s", strerror(errno));
    return OK;
}

Status *event_loop_add(EventLoop *loop, EventSource *source, uint32_t events) {
    return control(loop, EPOLL_CTL_ADD, source, events);
}

void event_loop_change(EventLoop *loop, EventSource *source, uint32_t events) {
    status_free(control(loop, EPOLL_CTL_MOD, source, events));
}

void event_loop_remove(EventLoop *loop, EventSource *source) {
    status_free(control(loop, EPOLL_CTL_DEL, source, 0));
    for (int i = loop->at; i < loop->n; i++)
        if (loop->events[i].data.ptr == source)
            loop->events[i].events = 0;
}

// ---- timers and tasks

bool event_loop_set_timer(EventLoop *loop, EventTimer *timer, int64_t due) {
    mutex_lock(&loop->lock);
    bool was_set = timer->set;
    if (was_set)
        event_timers_remove(&loop->timers, timer);
    timer->due = due;
    event_timers_add(&loop->timers, timer);
    bool late = due < loop->asleep_until;
    if (late)
        loop->asleep_until = due;
    mutex_unlock(&loop->lock);
    if (late)
        wake(loop);
    return !was_set;
}

bool event_loop_clear_timer(EventLoop *loop, EventTimer *timer) {
    mutex_lock(&loop->lock);
    bool was_set = timer->set;
    if (was_set)
        event_timers_remove(&loop->timers, timer);
    mutex_unlock(&loop->lock);
    return was_set;
}

void event_loop_post(EventLoop *loop, EventTask *task) {
    task->next = NULL;
    mutex_lock(&loop->lock);
    *loop->last = task;
    loop->last = &task->next;
    bool asleep = loop->asleep_until != INT64_MIN;
    loop->asleep_until = INT64_MIN;
    mutex_unlock(&loop->lock);
    if (asleep)
        wake(loop);
}

static void fire_timers(EventLoop *loop) {
    for (;;) {
        mutex_lock(&loop->lock);
        EventTimer *timer = loop->timers.first;
        if (timer && timer->due <= loop->now)
            event_timers_remove(&loop->timers, timer);
        else
            timer = NULL;
        mutex_unlock(&loop->lock);
        if (!timer)
            return;
        timer->fire(timer);
    }
}

// Once: what a task posts is run in the next turn, which then does not sleep.
static void run_tasks(EventLoop *loop) {
    mutex_lock(&loop->lock);
    EventTask *task = loop->tasks;
    loop->tasks = NULL;
    loop->last = &loop->tasks;
    mutex_unlock(&loop->lock);
    while (task) {
        EventTask *next = task->next;
        task->run(task);
        task = next;
    }
}

// Milliseconds for epoll, rounded up so that a timer is due when it returns.
static int fall_asleep(EventLoop *loop, int64_t deadline) {
    mutex_lock(&loop->lock);
    int64_t until = loop->timers.first && loop->timers.first->due < deadline ? loop->timers.first->due : deadline;
    if (loop->tasks || loop->ending)
        until = INT64_MIN;
    loop->asleep_until = until;
    mutex_unlock(&loop->lock);
    if (until == NO_DEADLINE)
        return -1;
    int64_t left = until == INT64_MIN ? 0 : until - clock_now();
    int64_t ms = left <= 0 ? 0 : (left + CLOCK_MS - 1) / CLOCK_MS;
    return ms > 3600000 ? 3600000 : (int)ms;
}

static void wait_for_events(EventLoop *loop, int64_t deadline) {
    int n = epoll_wait(loop->epoll, loop->events, EVENTS, fall_asleep(loop, deadline));
    mutex_lock(&loop->lock);
    loop->asleep_until = INT64_MIN;
    mutex_unlock(&loop->lock);
    loop->n = n > 0 ? n : 0;
    loop->now = clock_now();
}

void event_loop_turn(EventLoop *loop, int64_t deadline) {
    atomic_store_explicit(&loop->inside, &thread_mark, memory_order_relaxed);
    wait_for_events(loop, deadline);
    for (loop->at = 0; loop->at < loop->n;) {
        struct epoll_event event = loop->events[loop->at++];
        EventSource *source = event.data.ptr;
        uint64_t count;
        if (!source)
            while (read(loop->wake, &count, sizeof count) < 0 && errno == EINTR) {
            }
        else if (event.events)
            source->ready(source, event.events);
    }
    fire_timers(loop);
    run_tasks(loop);
}
