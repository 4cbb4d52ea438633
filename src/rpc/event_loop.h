// Event loop — one thread that waits for sockets, timers and posted tasks, and runs what becomes ready.
//
// Calls and servers of a process share one loop, event_loop_shared: a call costs it about 5 us, so one thread serves more
// than two processors ask for, and a task that answers one peer while it asks another never hops between threads. Lanes
// for bulk have another, event_loop_bulk, so that copying does not hold up calls. What a loop runs must not block.
//
// A forked child has none of its parent's loops: they are dead there (event_loop_is_alive), and event_loop_shared makes
// a new one.
#pragma once
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"

typedef struct EventLoop EventLoop;

// A socket. Lies in its owner.
typedef struct EventSource {
    int fd;
    void (*ready)(struct EventSource *source, uint32_t events);  // of epoll; on the loop's thread
} EventSource;

// Lies in its owner, zeroed at first. Who sets a timer keeps its owner alive until it fired or was taken back.
typedef struct EventTimer {
    int64_t due;
    void (*fire)(struct EventTimer *timer);                      // on the loop's thread, no lock held
    bool set;
    struct EventTimer *child, *sibling, *before;                 // of a pairing heap; before: parent or elder sibling
} EventTimer;

typedef struct EventTask {
    void (*run)(struct EventTask *task);
    struct EventTask *next;
} EventTask;

// A loop with its thread, or without: then event_loop_turn is called by whoever made it (fuzz targets).
FALLIBLE Status *event_loop_new(bool threaded, EventLoop **out);
// Ends the thread. Sources and timers are gone before; tasks still posted are run.
void event_loop_free(EventLoop *loop);
// That of the process; made when first asked for, never freed.
FALLIBLE Status *event_loop_shared(EventLoop **out);
// The process's other one, for lanes.
FALLIBLE Status *event_loop_bulk(EventLoop **out);

bool event_loop_is_inside(const EventLoop *loop);  // the calling thread is the loop's
bool event_loop_is_alive(const EventLoop *loop);
int64_t event_loop_now(const EventLoop *loop);     // when this turn began; on the loop's thread

// From any thread.
FALLIBLE Status *event_loop_add(EventLoop *loop, EventSource *source, uint32_t events);
void event_loop_change(EventLoop *loop, EventSource *source, uint32_t events);
// On the loop's thread: `ready` is not called any more. The caller closes the socket.
void event_loop_remove(EventLoop *loop, EventSource *source);

// From any thread. Setting one that is set moves it; true: it was not set before.
bool event_loop_set_timer(EventLoop *loop, EventTimer *timer, int64_t due);
// True: it was set, has not fired and won't.
bool event_loop_clear_timer(EventLoop *loop, EventTimer *timer);
// From any thread: runs the task on the loop's thread, after what is ready now. Not again before it has run.
void event_loop_post(EventLoop *loop, EventTask *task);

// Waits at most until `deadline` and runs what is ready.
void event_loop_turn(EventLoop *loop, int64_t deadline);
// The buffer into which the loop's thread reads.
enum { EVENT_LOOP_BUFFER = 256 * 1024 };
uint8_t *event_loop_buffer(EventLoop *loop);
