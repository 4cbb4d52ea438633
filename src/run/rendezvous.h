// Rendezvous — where the parts of one step meet: what one puts down under a key another takes, in either order.
//
// A key is that of interop: "send device;incarnation;receive device;tensor name;frame:iteration". Each key is put once
// and taken once. Nobody waits on a thread: who takes what is not there yet is called when it comes, when the step is
// aborted, or never once it has given up. Any thread may call; nothing is called back with a lock held.
#pragma once
#include "tensor/tensor.h"
#include "thread/mutex.h"

typedef struct Rendezvous Rendezvous;
typedef struct RendezvousTake RendezvousTake;

// Called exactly once, inside rendezvous_take or later, on any thread; must not block. Takes the status and the value,
// which is zero where there is a status or it is dead. The take may be freed in it.
typedef void RendezvousDone(RendezvousTake *take, Status *status, Tensor value, bool dead);

// Lies with who takes, until `done` is called.
struct RendezvousTake {
    RendezvousDone *done;
};

// What each kind of rendezvous does about the calls below.
typedef struct {
    Status *(*put)(Rendezvous *rendezvous, Str key, Tensor value, bool dead);
    void (*take)(Rendezvous *rendezvous, Str key, RendezvousTake *take);
    bool (*give_up)(Rendezvous *rendezvous, Str key, RendezvousTake *take);
    void (*abort)(Rendezvous *rendezvous, Status *reason);
    void (*free)(Rendezvous *rendezvous);
} RendezvousType;

// Every kind begins with this. Counted: whoever may put or take holds it.
struct Rendezvous {
    const RendezvousType *type;
    _Atomic int references;
};

// Puts the value down; takes it, also when that fails. Of a dead one only the type counts. INTERNAL where something
// lies under the key; once aborted, the reason.
FALLIBLE static inline Status *rendezvous_put(Rendezvous *rendezvous, Str key, Tensor value, bool dead) {
    return rendezvous->type->put(rendezvous, key, value, dead);
}
// The key is copied.
static inline void rendezvous_take(Rendezvous *rendezvous, Str key, RendezvousTake *take) {
    rendezvous->type->take(rendezvous, key, take);
}
// True: `done` has not been called and won't be.
static inline bool rendezvous_give_up(Rendezvous *rendezvous, Str key, RendezvousTake *take) {
    return rendezvous->type->give_up(rendezvous, key, take);
}
// What lies there now, taken; NOT_FOUND where nothing does.
FALLIBLE Status *rendezvous_take_now(Rendezvous *rendezvous, Str key, Tensor *out, bool *out_dead);
// Ends all takes, those that wait and those to come, with copies of the reason, which is taken; values that nobody took
// go. Only the first reason counts.
static inline void rendezvous_abort(Rendezvous *rendezvous, Status *reason) {
    rendezvous->type->abort(rendezvous, reason);
}
static inline Rendezvous *rendezvous_retain(Rendezvous *rendezvous) {
    atomic_fetch_add_explicit(&rendezvous->references, 1, memory_order_relaxed);
    return rendezvous;
}
// NULL is none.
static inline void rendezvous_release(Rendezvous *rendezvous) {
    if (rendezvous && atomic_fetch_sub_explicit(&rendezvous->references, 1, memory_order_acq_rel) == 1)
        rendezvous->type->free(rendezvous);
}

// One whose parts are all in this process.
FALLIBLE Status *local_rendezvous_new(Rendezvous **out);
// Of a local one: values that lie there and takes that wait, now; bytes that lie there now, and did at most.
typedef struct {
    size_t values, waiting, bytes, most_bytes;
} RendezvousUse;
RendezvousUse local_rendezvous_use(Rendezvous *rendezvous);
