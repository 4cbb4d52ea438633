// CheckpointState — the text file `checkpoint` of a folder: which checkpoints there are, and which is the newest.
//
// It is what tf.train.latest_checkpoint and TensorFlow's Saver read and write. Paths in it are relative to its folder
// where they lie in it; here they always come with the folder.
#pragma once
#include "base/str.h"
#include "base/vec.h"

typedef struct {
    char *prefix;      // from malloc
    double time;       // of its writing, seconds since 1970; 0: unknown
    double metric;     // what it is judged by; NAN: nothing. Not in the file
} CheckpointRecord;

typedef struct {
    VEC(CheckpointRecord) records;   // oldest first; the last is the newest
    double preserved;                // when the last one was that stays for ever; 0: none was
} CheckpointState;

// FOLDER/FILE. NOT_FOUND, DATA_LOSS. The file of TensorFlow is called "checkpoint".
FALLIBLE Status *checkpoint_state_read(Str folder, Str file, CheckpointState *out);
// Replaces the file, durably: whoever finds a name in it finds the checkpoint, if that was committed before.
FALLIBLE Status *checkpoint_state_write(Str folder, Str file, const CheckpointState *state);
// Appends a record; the prefix is copied.
FALLIBLE Status *checkpoint_state_add(CheckpointState *state, Str prefix, double time, double metric);
void checkpoint_state_drop(CheckpointState *state, size_t index);
void checkpoint_state_clear(CheckpointState *state);
static inline void CheckpointState_auto(CheckpointState *state) {
    checkpoint_state_clear(state);
}
