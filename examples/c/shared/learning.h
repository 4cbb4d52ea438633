// Learning — what programs that learn have in common: an end at Ctrl-C, and a checkpoint to go on from.
#pragma once
#include "program.h"

// Lines of a table of options.
#define LEARNING_OPTIONS \
    {"save", "PREFIX", "where what is learned is kept, a checkpoint: the program's name and .ckpt; none: nowhere"}, \
    {"from", "PREFIX", "goes on from such a checkpoint"}

// From now on Ctrl-C and SIGTERM only ask for an end, and end the program at once when they come again.
void learning_begin(void);
int learning_asked_to_end(void);
int learning_code(void);   // what main returns: 0, 130 after Ctrl-C or 143 after SIGTERM

// The nodes that save and restore every variable of a graph, and two numbers besides: the steps taken, and what tells whether
// what is learned is of the same kind (`kind`).
typedef struct Checkpoint {
    char save_to[4096];           // "": nowhere
    const char *from;             // NULL: from nothing
    TF_Output prefix, numbers, restored;
    TF_Operation *save, *restore;
} Checkpoint;

// By the options. The graph has all its variables by now.
Checkpoint checkpoint_new(TF_Graph *graph, int argc, char **argv);
// The steps taken until then: those of --from, whose values the variables get, or 0. Ends the program where the checkpoint is of
// another kind or can't be read.
int64_t checkpoint_load(const Checkpoint *checkpoint, TF_Session *session, int64_t kind);
void checkpoint_save(const Checkpoint *checkpoint, TF_Session *session, int64_t steps, int64_t kind);
// Says where it is and how to go on.
void checkpoint_tell(const Checkpoint *checkpoint, int64_t steps);
