// Packed — weights in the layout that a fast kernel wants, made anew only when the weights change.
//
// Weights are known to be the same by the stamp of their buffer, which every write of a variable changes, or because
// they are a constant of the graph. Those seen twice are kept; others, as in training, are packed into the scratch at
// each call, or taken as they are. A node may be prepared for many shapes, and each may want a layout of its own: its
// state keeps the last few.
#pragma once
#include "kernel/kernel.h"
#include "thread/mutex.h"

enum { PACKED_ENTRIES = 4 };

// The state of a node, or its first member: Op.state_size = sizeof(PackedState), .open = packed_open, .close =
// packed_close.
typedef struct {
    Mutex lock;
    struct {
        Buffer *packed;
        uint64_t id, stamp;
        int32_t times;    // these weights were asked for
    } entries[PACKED_ENTRIES];  // guarded by lock
    int next;             // guarded by lock: which goes when none is free
} PackedState;

Status *packed_open(Opening *o);
void packed_close(void *state);

// Lays plain weights out; false: it could not.
typedef bool PackFn(const void *object, const void *plain, void *packed);

// Part of what a kernel's prepare fills.
typedef struct {
    PackFn *pack;
    const void *object;   // lives as long as this
    size_t bytes;         // of packed weights; 0: the plain ones are taken as they are
    size_t at;            // in the scratch: room for those that aren't kept; constants have none
    uint64_t id;          // of this layout
    int input;            // which holds the weights
    bool constant;
    int32_t after;        // so many calls with weights that aren't constants, they are packed and kept
} Packing;

// Whether weights can be known to be the same from call to call: they are a constant, a variable, or do not change in a
// loop.
bool packing_may_keep(const Prepare *p, int input);
// Plans the weights of `input`, for packing_find alone.
void packing_init(const Prepare *p, int input, size_t bytes, PackFn *pack, const void *object, Packing *out);
// The packed weights where they are kept, or worth keeping from now on; else NULL: the plain ones are to be taken.
FALLIBLE Status *packing_find(const Packing *packing, Kernel *k, const void *plain, Buffer **out_packed);
// Plans the weights of `input`; adds room for `bytes` to p->scratch.
void packing_prepare(Prepare *p, int input, size_t bytes, PackFn *pack, const void *object, Packing *out);
// The weights as the kernel wants them, of `plain`, which is k->in[input] as the layout takes it (staged, perhaps).
// `*out_packed` is to be released after their use, and may be NULL.
FALLIBLE Status *packing_load(const Packing *packing, Kernel *k, const void *plain, Buffer **out_packed,
                              const void **out);
