// GraphDef — a graph as TensorFlow writes it: export, and import with its many options.
#pragma once
#include "graph/function.h"
#include "graph/graph.h"

// TensorFlow's current numbers, and the only place where they stand.
#define TENSORFLOW_VERSION "2.21.0"
enum { GRAPH_DEF_VERSION = 2474, GRAPH_DEF_MIN_PRODUCER = 0, GRAPH_DEF_MIN_CONSUMER = 0 };

FALLIBLE Status *graph_to_proto(const Graph *graph, Text *out);             // serialized GraphDef
FALLIBLE Status *node_to_proto(const Node *node, Arena *arena, NodeDef *out);  // views into the graph
FALLIBLE Status *attr_to_proto(const AttrValue *value, Arena *arena, AttrValueProto *out);
FALLIBLE Status *attr_from_proto(const AttrValueProto *proto, Arena *arena, TensorList *tensors, AttrValue *out);

typedef struct {
    Str name;        // of the node in the GraphDef
    int32_t index;   // CONTROL for the node itself
} TensorName;

typedef struct {
    Str prefix, default_device;
    bool uniquify_names, uniquify_prefix, validate_colocation;
    struct { TensorName from; Output to; } *input_map;
    int32_t n_input_map;
    Node **controls;             // every imported node without inputs runs after these
    int32_t n_controls;
    TensorName *return_outputs;
    int32_t n_return_outputs;
    Str *return_nodes;
    int32_t n_return_nodes;
} ImportOptions;

typedef struct {
    Arena arena;
    Output *return_outputs;
    Node **return_nodes;
    TensorName *unused_mappings;
    int32_t n_unused_mappings;
} ImportResults;

// All or nothing: on failure the graph is as it was. Errors name the node and its op.
FALLIBLE Status *graph_import(Graph *graph, Str bytes, const ImportOptions *options, ImportResults *out);
void import_results_clear(ImportResults *results);
