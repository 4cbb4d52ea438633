// Graph — nodes, edges and a library of functions. Node — one operation in a graph, with its attributes resolved.
//
// Owner: a Graph is counted (the client and each session hold it). Everything in it lies in its arena and lives as long
// as it does; TF_Operation is a Node. Not locked: whoever shares a graph between threads holds the lock
// (api/tf/graph.c). Order: nodes are kept in the order of their creation and, but for back edges into a Merge, after
// their inputs.
#pragma once
#include <stdatomic.h>

#include "base/map.h"
#include "base/vec.h"
#include "graph/attr_sets.h"
#include "graph/names.h"
#include "graph/op.h"

typedef struct Node Node;
typedef struct Graph Graph;

enum { CONTROL = -1 };  // the index of a control edge

// One output of a node; the value on an edge. {NULL, 0} is no output.
typedef struct {
    Node *node;
    int32_t index;
} Output;

// Who reads an output.
typedef struct {
    Node *node;
    int32_t input;   // position among its inputs; CONTROL for a control edge
    int32_t index;   // which output is read; CONTROL for a control edge
} Use;

typedef struct {
    Use *p;          // in the graph's arena
    uint32_t n, room;
} UseList;

// What a resource handle promises of the thing behind it.
typedef struct {
    DType dtype;
    Shape shape;
} HandleShape;

// 176 bytes; with its edges, name and shape a node takes some 340, and a constant as much again (bench first).
struct Node {
    Graph *graph;
    const OpType *type;
    Str name;                   // unique in the graph
    Str device;                 // as requested: "", "/device:CPU:0", "/job:worker/task:1" ...
    Output *inputs;             // data edges, lists flattened; references included. {NULL} until a back edge is closed
    Node **controls;            // must have finished before this one starts
    int32_t id;                 // its position in graph->nodes; -1 once removed
    int32_t mark;               // scratch of whoever walks the graph; no meaning between walks
    int32_t n_inputs, n_controls;
    int32_t n_outputs, n_attrs;
    const AttrEntry *attrs;     // every attribute of the signature (in its order), then extra ones; shared with other
                                // nodes
    const DType *output_types;  // n_outputs; references are base + DT_REF; shared
    Shape *output_shapes;       // n_outputs; what inference knows
    HandleShape *const *handles;  // n_outputs; NULL entries where the output is no handle or nothing is known; shared
    UseList uses;
    Node *origin;               // in a plan's graph: the node of the session's graph that this stands for
    const struct Device *placed;  // in a plan's graph: the device that it runs on, once that is chosen; `device` is what
                                // was asked for
    Tensor *value;              // in a plan's graph: what folding found of output 0 (single-output nodes), or NULL
    uint32_t name_hash;
    bool is_target;             // in a plan's graph: the step was asked to run it
};

typedef struct {
    int32_t producer, min_consumer;
    VEC(int32_t) bad_consumers;
} Versions;

struct Graph {
    _Atomic int32_t references;
    Arena arena;
    VEC(Node *) nodes;          // by id; removed nodes leave NULL
    NameIndex names;            // of nodes, to their ids
    const Node *twice;          // the first whose name an earlier node has: an import may have made it; NULL: none. Such a
                                // graph grows and is written, and no session runs it, as in TensorFlow
    Map suffixes;               // Str -> the number that graph_unique_name tries next
    TensorList tensors;         // those that attributes hold
    AttrSets sets;              // the attributes of nodes
    Use *spare_uses[32];        // blocks of 2^i uses that lists have outgrown; a block's first bytes lead to the next
    struct FunctionLibrary *functions;  // graph/function.h; never NULL
    Versions versions;
    uint64_t version;           // grows with every change; a session compares it to what it has seen
    _Atomic uint64_t edit;              // grows with every change of an existing node: plans made before are void
};

FALLIBLE Status *graph_new(Graph **out);
Graph *graph_retain(Graph *graph);
void graph_release(Graph *graph);
Node *graph_find(const Graph *graph, Str name);  // NULL where there is none
// A name that is free: `wanted`, or `wanted_1`, `wanted_2` ... In the graph's arena.
FALLIBLE Status *graph_unique_name(Graph *graph, Str wanted, Str *out);
// Takes out a node that nobody reads; its place in `nodes` becomes NULL. The last one gives its place back (a build
// that failed, an import that is undone).
void graph_remove(Node *node);
void graph_remove_last(Graph *graph);
// Room in the arena for a node's edges, to be filled before node_insert.
Output *graph_inputs_new(Graph *graph, size_t n);
Node **graph_controls_new(Graph *graph, size_t n);
// Puts a node that has its name, its hash and its edges into the graph's lists and its inputs' uses: all or nothing.
// Who has the name already is no longer found by it.
FALLIBLE Status *node_insert(Graph *graph, Node *node);
// Rewires one input; INVALID_ARGUMENT where types disagree. Used by passes and TF_UpdateEdge.
FALLIBLE Status *node_set_input(Node *node, int input, Output source);
FALLIBLE Status *node_add_control(Node *node, Node *before);
void node_remove_control(Node *node, int control);
// Everybody who reads `from` reads `to` instead, control edges of the whole node excepted.
FALLIBLE Status *graph_replace_output(Output from, Output to);
// Each becomes what the other was, but for name, id, device and users. Their outputs have the same types.
void graph_swap_nodes(Node *a, Node *b);
// INVALID_ARGUMENT naming a node on a cycle that no NextIteration closes; else the ids in an order that respects edges
// (back edges into Merge excepted). `order` has room for graph->nodes.n.
FALLIBLE Status *graph_order(const Graph *graph, Node **order, size_t *out_count);
// How many edges, back edges excepted, come into a node; whether a use of it is a back edge.
int32_t node_count_before(const Node *node);
bool node_use_goes_back(const Node *node, Use use);
// What must hold of a graph between passes: every edge exists, types agree, names are unique (but see `twice`),
// controls are acyclic.
FALLIBLE Status *graph_check(const Graph *graph);

const AttrValue *node_attr_find(const Node *node, const char *name);       // NULL where absent
// The attribute, which the signature promises: kind is checked, so these can't fail on a built node.
int64_t node_int(const Node *node, const char *name);
float node_float(const Node *node, const char *name);
bool node_bool(const Node *node, const char *name);
DType node_type(const Node *node, const char *name);
Str node_str(const Node *node, const char *name);
const AttrValue *node_list(const Node *node, const char *name);
FALLIBLE Status *node_set_attr(Node *node, Str name, const AttrValue *value);  // copies; adds or replaces
DType node_input_type(const Node *node, int input);                          // the base type that the op reads
bool node_input_is_ref(const Node *node, int input);                         // the op takes a reference there
// First flat input and count of the argument `arg` (a list may be longer or shorter than 1).
FALLIBLE Status *node_set_handle(Node *node, int output, HandleShape *handle);  // of the graph's arena
void node_input_span(const Node *node, int arg, int *first, int *count);
void node_output_span(const Node *node, int arg, int *first, int *count);
// Whether its op says that of input `input` only the shape is read (Op.shape_only).
bool node_reads_shape_only(const Node *node, int input);
int node_input_arg(const Node *node, Str name, int *first, int *count);      // arg index or -1
bool node_is_stateful(const Node *node);
static inline const Op *node_op(const Node *node) {
    return node->type->op;
}
static inline Flow node_flow(const Node *node) {
    return node->type->op ? node->type->op->flow : FLOW_NONE;
}
static inline bool output_equal(Output a, Output b) {
    return a.node == b.node && a.index == b.index;
}
static inline DType output_base_type(Output output) {
    return dtype_base(output.node->output_types[output.index]);
}
// What the value on the edge is in memory: a reference is a handle to its variable.
static inline DType node_value_type(const Node *node, int output) {
    DType type = node->output_types[output];
    return dtype_is_ref(type) ? DT_resource : type;
}
#define NODE_ARGS(n) STR_ARGS((n)->name), STR_ARGS((n)->type->name)  // for "{{node %.*s}} (%.*s)"

// Runs the node's shape function over its inputs' shapes and known constants, and merges with what is known.
FALLIBLE Status *node_infer_shapes(Node *node);
// The constant on an edge, through identities; NULL where it is none.
const Tensor *output_constant(Output output);
