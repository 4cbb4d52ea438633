// GraphDef — a graph as TensorFlow writes it: export, and import with its many options.
#pragma once
#include "graph/function.h"
#include "graph/graph.h"
#include "graph/op_def.h"

// TensorFlow's current numbers, and the only place where they stand.
#define TENSORFLOW_VERSION "2.21.0"
enum { GRAPH_DEF_VERSION = 2474, GRAPH_DEF_MIN_PRODUCER = 0, GRAPH_DEF_MIN_CONSUMER = 0 };

// Appends the serialized GraphDef: nodes in the order of their creation, the library, the versions.
FALLIBLE Status *graph_to_proto(const Graph *graph, Text *out);
// The same of the nodes from that id on: what ImportOptions.extends takes.
FALLIBLE Status *graph_rest_to_proto(const Graph *graph, size_t first, Text *out);

// The same of the nodes with that mark, for another process: what reads a reference is an Identity there.
FALLIBLE Status *graph_marked_to_proto(const Graph *graph, int32_t mark, Text *out);

typedef struct {
    Str name;        // of the node in the GraphDef
    int32_t index;   // CONTROL for the node itself
} TensorName;

typedef struct {
    TensorName from;
    Output to;       // of the graph; index CONTROL where from.index is
} InputMapping;

typedef struct {
    Str prefix, default_device;
    bool uniquify_names, uniquify_prefix;
    bool extends;                   // more of the graph that is there: names that the GraphDef lacks are the graph's
    bool internal_names;            // a node's name may begin with _, as in partitions that a master sends
    bool validate_colocation;       // "_class" must name nodes that are there; without options it must
    const InputMapping *input_map;
    int32_t n_input_map;
    bool skip_mapped;               // nodes that the input map names are not made at all
    Node *const *controls;          // every imported node that reads nothing imported runs after these
    int32_t n_controls;
    const TensorName *return_outputs;
    int32_t n_return_outputs;
    const Str *return_nodes;
    int32_t n_return_nodes;
} ImportOptions;

typedef struct {
    Arena arena;
    Output *return_outputs;
    Node **return_nodes;
    TensorName *unused_mappings;    // keys of the input map that name nothing in the GraphDef
    int32_t n_unused_mappings;
} ImportResults;

// Nodes may come in any order and are made in the given one as far as edges allow; a cycle must close at a Merge.
// All or nothing: on failure the graph is as it was. Errors name the node and its op. `options` may be NULL.
FALLIBLE Status *graph_import(Graph *graph, Str bytes, const ImportOptions *options, ImportResults *out);
void import_results_clear(ImportResults *results);
static inline void import_results_auto(ImportResults *results) {
    import_results_clear(results);
}
