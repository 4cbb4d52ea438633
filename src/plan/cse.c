// Common-subexpression elimination — equal stateless nodes become one: same op, device, inputs, controls and
// attributes.
//
// Value numbering: nodes are taken in topological order and looked up in a table with open addressing by what they are.
// Inputs have been merged before their readers are hashed, so chains of equal nodes collapse in one pass. Gradients are
// where equal nodes come from: each asks anew for the shapes and reshapes of its forward node.
#include <stdlib.h>

#include "plan/pass.h"

enum { HASHED_BYTES = 64 };  // of a tensor attribute; equality looks at all of it

// Weights that lie in the graph as constants have many MiB: hashing them whole would take longer than all other passes.
static uint64_t tensor_hash(const Tensor *tensor, uint64_t hash) {
    size_t bytes = dtype_is_plain(tensor->dtype) ? tensor_bytes(tensor) : 0;
    return hash_bytes(tensor->data, bytes < HASHED_BYTES ? bytes : HASHED_BYTES, hash);
}

// Whatever tells nodes apart is in it: ten thousand constants that differ only in what they wait for would otherwise
// meet in one chain of the table, and the pass would be quadratic.
static uint64_t hash_node(const Node *node) {
    uint64_t hash = hash_bytes(&node->type, sizeof node->type, 1);
    for (int i = 0; i < node->n_inputs; i++) {
        hash = hash_bytes(&node->inputs[i].node, sizeof(Node *), hash);
        hash ^= (uint64_t)node->inputs[i].index * 0x9e3779b97f4a7c15u;
    }
    if (node->n_controls)
        hash = hash_bytes(node->controls, (size_t)node->n_controls * sizeof(Node *), hash);
    for (int i = 0; i < node->n_attrs; i++) {
        const AttrValue *value = &node->attrs[i].value;
        hash = value->kind == ATTR_TENSOR && !value->is_list ? tensor_hash(value->tensor, hash)
            : attr_hash(value, hash);
    }
    return hash;
}

// In one order, not as sets: what this misses is rare, and a set would have to be sorted for every node.
static bool same_controls(const Node *a, const Node *b) {
    if (a->n_controls != b->n_controls)
        return false;
    for (int i = 0; i < a->n_controls; i++)
        if (a->controls[i] != b->controls[i])
            return false;
    return true;
}

// Cheap differences first; attributes, among them tensors of any size, last.
static bool equal(const Node *a, const Node *b) {
    if (a->type != b->type || a->n_inputs != b->n_inputs || a->n_attrs != b->n_attrs ||
        a->n_outputs != b->n_outputs || a->placed != b->placed || !str_equal(a->device, b->device) || !same_controls(a, b))
        return false;
    for (int i = 0; i < a->n_inputs; i++)
        if (!output_equal(a->inputs[i], b->inputs[i]))
            return false;
    for (int i = 0; i < a->n_attrs; i++)
        if (!str_equal(a->attrs[i].name, b->attrs[i].name) || !attr_equal(&a->attrs[i].value, &b->attrs[i].value))
            return false;
    return true;
}

// Two draws of random numbers, two dequeues and two reads of a variable are not one, however equal they look. A
// reference is where its variable is. Nodes of control flow stay: the frame or branch that a node is in isn't part of
// its hash.
static bool may_merge(const Node *node) {
    const Op *op = node_op(node);
    if (!op || op->flow != FLOW_NONE || op->start || op->open || node_is_stateful(node) || !node->n_outputs ||
        op->update || op->replace)
        return false;
    for (int i = 0; i < node->n_outputs; i++)
        if (dtype_is_ref(node->output_types[i]))
            return false;
    return true;
}

// Readers by data are moved by the graph; those that only waited for the node wait for the one that stays.
static Status *merge_into(Node *first, Node *node) {
    for (int i = 0; i < node->n_outputs; i++)
        TRY(graph_replace_output((Output){node, i}, (Output){first, i}));
    while (node->uses.n) {
        Node *reader = vec_last(&node->uses).node;
        for (int c = 0; c < reader->n_controls; c++)
            if (reader->controls[c] == node) {
                node_remove_control(reader, c);
                break;
            }
        TRY(node_add_control(reader, first));
    }
    return OK;
}

// Targets are asked for by name, so they stay, but others may merge into none of them either: they aren't in the table.
static Status *merge_all(Node **order, size_t n, Node **table, size_t mask) {
    for (size_t i = 0; i < n; i++) {
        Node *node = order[i];
        if (!may_merge(node) || node->is_target)
            continue;
        size_t at = hash_node(node) & mask;
        while (table[at] && !equal(table[at], node))
            at = (at + 1) & mask;
        if (!table[at])
            table[at] = node;
        else
            TRY(merge_into(table[at], node));
    }
    return OK;
}

// At most half full, so that linear probing stays short.
Status *pass_cse(Draft *draft) {
    size_t count = draft->graph->nodes.n, room = 16;
    while (room < count * 2)
        room *= 2;
    Node **order = malloc((count + 1) * sizeof *order), **table = calloc(room, sizeof *table);
    size_t n;
    Status *status = order && table ? graph_order(draft->graph, order, &n)
                                    : OUT_OF_MEMORY;
    if (!status)
        status = merge_all(order, n, table, room - 1);
    free(order);
    free(table);
    return status;
}
