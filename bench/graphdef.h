// GraphDef — writes the bytes of a GraphDef node by node, so that both libraries measure exactly the same graph.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Bytes {
    unsigned char *data;
    size_t size, room;
} Bytes;

typedef struct GraphDef {
    Bytes bytes;    // what is finished
    Bytes node;     // the node being written
    bool whole;     // read from a file: already finished
} GraphDef;

// Begins a node. `inputs` and `attributes` are words separated by blanks:
//   inputs      x  y:1  ^control
//   attributes  T=float  N=2  flag=true  frame_name='loop'  strides=[1,1]  types=[float,int32]  shape=<8,32>  rate=0.5
void node(GraphDef *g, const char *name, const char *op, const char *inputs, const char *attributes);
// The same with a printed name and printed inputs: format for both, separated by '|'.
__attribute__((format(printf, 4, 5)))
void node_printed(GraphDef *g, const char *op, const char *attributes, const char *name_and_inputs, ...);

// A Const of `rank` dimensions; `data` holds the elements as they lie in memory.
void node_const(GraphDef *g, const char *name, int dtype, int rank, const int64_t *dims, const void *data,
                size_t bytes);
void node_float(GraphDef *g, const char *name, float value);
void node_int32(GraphDef *g, const char *name, int32_t value);
// A float matrix, vector ... of small numbers around zero, the same ones each time.
void node_weights(GraphDef *g, const char *name, int rank, const int64_t *dims);

// Takes a whole GraphDef from a file of the folder BENCH_GRAPHS instead; false if there is none.
bool graphdef_read(GraphDef *g, const char *file);
void graphdef_finish(GraphDef *g);    // bytes.data .. size is the message
void graphdef_clear(GraphDef *g);
