// NodeBuilder — collects what a new node shall be and checks it all at once against the op's signature.
//
// Errors are remembered and surface at builder_finish, as TF_FinishOperation wants it. The builder owns nothing beyond
// its own arena; the node is made in the graph's. Each text and value is copied at the call.
#pragma once
#include "graph/graph.h"

typedef struct {             // one argument: a single edge or a list
    Output *edges;
    int32_t n;
    bool is_list;
} BuilderInput;

typedef struct NodeBuilder {
    Graph *graph;
    Arena arena;
    Str type, name, device;
    const struct Device *placed;  // of the new node
    VEC(BuilderInput) args;
    VEC(Output) flat;            // of builder_flat_inputs
    bool is_flat;
    VEC(Node *) controls;
    VEC(AttrEntry) attrs;
    VEC(Str) colocations;        // "loc:@name", sorted and unique at the end
    TensorList tensors;
    Status *error;               // the first one
    bool may_repeat;             // the name of another node: an import's
    const AttrSet *set;          // what builder_finish made of type and attributes, and whether other nodes may share
                                 // it
    bool shared;
} NodeBuilder;

void builder_init(NodeBuilder *builder, Graph *graph, Str type, Str name);
void builder_clear(NodeBuilder *builder);
// For the next node of the same graph: as clear and init, but keeps the memory.
void builder_reuse(NodeBuilder *builder, Str type, Str name);
void builder_device(NodeBuilder *builder, Str device);
void builder_place(NodeBuilder *builder, const Node *like);  // where that node is, and by the same request
void builder_input(NodeBuilder *builder, Output edge);
void builder_input_list(NodeBuilder *builder, const Output *edges, int n);
// Inputs as a NodeDef has them: one flat list that is cut according to the signature at the end. An edge {NULL} fits
// every type and waits for node_set_input: the back edge of a loop.
void builder_flat_inputs(NodeBuilder *builder, const Output *edges, int n);
void builder_control(NodeBuilder *builder, Node *before);
void builder_colocate(NodeBuilder *builder, Str node_name);
void builder_attr(NodeBuilder *builder, Str name, const AttrValue *value);  // replaces an earlier one
// Makes the node: type known, inputs match, attributes inferred, defaulted and allowed, outputs typed and shaped.
// Nothing is added to the graph on failure. INVALID_ARGUMENT or NOT_FOUND naming node and op.
FALLIBLE Status *builder_finish(NodeBuilder *builder, Node **out);

static inline void builder_auto(NodeBuilder *builder) {
    builder_clear(builder);
}

// A node of known attributes and types with room for its edges, as yet unknown to the graph: node_insert follows.
typedef struct {
    Str name, device;
    uint32_t hash;               // name_hash(name)
    const AttrSet *set;
    size_t n_inputs, n_controls;
} NodeParts;
FALLIBLE Status *node_new(Graph *graph, const NodeParts *parts, Node **out);

// Resolves a node's inputs and attributes without a graph: what eager and builder_finish share. `attrs` comes with the
// given ones and leaves with all of the signature's, in its order, extra ones after them; values that were inferred or
// defaulted view the signature or lie in `arena`, as do both results. An input type DT_INVALID fits everything.
FALLIBLE Status *signature_resolve(const Signature *signature, const DType *input_types, int n_inputs,
                                   Arena *arena, AttrEntry **attrs, int32_t *n_attrs, DType **out_types,
                                   int32_t *out_n);
