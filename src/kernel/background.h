// Background — what goes on between the steps of a session: work that calls its functions, and must end before it does.
//
// Whoever calls functions outside a step (a pipeline that fetches ahead) holds a reference, and counts itself in and out
// around each call. A session that closes cancels what is inside; one that is freed waits for it.
#pragma once
#include "thread/cancellation.h"

typedef struct Background {
    _Atomic int32_t references;
    const struct Caller *caller;        // these three: between background_begin and background_end
    struct ResourceTable *resources;
    int threads;                        // that a call may use
    Cancellation cancellation;          // set once it is closed
    Mutex lock;
    Condition left;
    int inside;                         // guarded by lock, as is the next
    bool closed;
} Background;

FALLIBLE Status *background_new(Background **out);  // one reference
Background *background_retain(Background *background);
void background_release(Background *background);

// Counts a call in. CANCELLED: the session is closed.
FALLIBLE Status *background_begin(Background *background);
void background_end(Background *background);
// From now on nobody comes in, and those inside are cancelled.
void background_close(Background *background);
// Waits until nobody is inside; it is closed.
void background_wait(Background *background);
