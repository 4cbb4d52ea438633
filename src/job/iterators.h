// GraphIterators — the iterators of a graph, where they stand, read and written through a session: the input of a training
// that feeds itself.
#pragma once
#include "file/bundle.h"
#include "job/variables.h"

typedef struct {
    Str key;           // in a checkpoint: "_millrace/iterator/" and the node's name
    Output state;      // where it stands
    Output value;      // fed with that ...
    Node *load;        // ... and this run, it stands there again
    bool untold;       // it was said that nobody can tell where it stands
} GraphIterator;

typedef struct {
    VEC(GraphIterator) list;
    Arena arena;
} GraphIterators;

// Finds them and adds to the graph what reads and writes them, below "save/"; the caller holds the graph's lock.
FALLIBLE Status *iterators_open(Graph *graph, GraphIterators *out);
void iterators_clear(GraphIterators *iterators);
// Appends where each stands. One that nobody has initialized is left out, and one over a dataset that can't tell, with a
// warning: a restart finds it at its beginning.
FALLIBLE Status *iterators_read(GraphIterators *iterators, Session *session, NamedTensors *out);
// Brings those that the checkpoint knows to where they stood.
FALLIBLE Status *iterators_restore(const GraphIterators *iterators, Session *session, BundleReader *reader);
