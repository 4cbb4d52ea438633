// Assembly — makes many nodes at once that may name each other in any order: what import and inlining share.
//
// The caller lists the parts and where each input comes from; assembly_run makes the nodes, each after what it reads.
// Among those that are ready the first in the list goes first. An edge from a NextIteration into a Merge doesn't count
// and is closed at the end.
#pragma once
#include "graph/attr_memo.h"
#include "graph/build.h"
#include "graph/op_def.h"

enum {
    OUTSIDE = -1,    // Source.part: the edge comes from the graph as it was
    FLAT = -1,       // Source.arg: index counts all outputs
    WHOLE_LIST = -2, // Source.index: every output of the argument
};

typedef struct {
    int32_t part;     // the part that makes the value, or OUTSIDE
    int32_t arg;      // output argument that index counts in, or FLAT
    int32_t index;    // CONTROL for a control edge
    Output outside;
} Source;

typedef struct {
    const NodeDef *def;       // NULL: still the bytes of one
    Str bytes;
    Str attrs;                // the part of them where the attributes lie, if nothing else does; else empty
    const OpType *type;
    Str given;                // the name in the NodeDef
    Str op;
    Str name, device;         // in the graph
    size_t first_source;      // in Assembly.sources
    uint32_t first_input, n_inputs;  // in Importer.inputs
    int32_t n_sources;        // data edges first
    int32_t waiting;          // sources that are not made yet
    uint32_t hash;            // of the name, as given and then as it is in the graph
    Node *node;
} Part;

typedef struct Assembly {
    Graph *graph;
    Part *parts;
    size_t n_parts;
    VEC(Source) sources;
    VEC(Output) edges;        // of the node that is being made
    VEC(Node *) controls;
    VEC(DType) types;
    NodeBuilder builder;      // serves one after the other
    Arena scratch;            // for the NodeDef of one part
    AttrMemo memo;
    bool may_repeat;          // names that nodes of the graph have already
    size_t budget;            // for tensors whose proto is smaller than they are
    // Where the attributes of a part differ from its NodeDef: sets *out and returns true to replace or drop (kind
    // ATTR_NONE) an attribute. May be NULL.
    Status *(*attr)(struct Assembly *assembly, const Part *part, Str name, AttrValue *value, NodeBuilder *builder);
    void *context;            // for attr
    size_t nodes_before, tensors_before;
    uint64_t version_before, edit_before;
} Assembly;

void assembly_begin(Assembly *assembly, Graph *graph);  // remembers the graph as it is
FALLIBLE Status *assembly_run(Assembly *assembly);      // on failure the nodes made so far are gone again
void assembly_undo(Assembly *assembly);                 // takes out what was made, for a failure that comes later
void assembly_clear(Assembly *assembly);
static inline void assembly_auto(Assembly *assembly) {
    assembly_clear(assembly);
}
// The flat outputs of a node that was made: [*first, *first + *count).
FALLIBLE Status *assembly_source(const Assembly *assembly, const Source *source, Node **out_node, int *first,
                                 int *count);
