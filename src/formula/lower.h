// Lowering — writes one node out in terms of others: the body of a called function, If and Case as Switch and Merge,
// While as a frame with Enter, Merge, Switch, NextIteration and Exit, a composed op as its formula.
#pragma once
#include "formula/formula.h"

// FLOW_CALL, FLOW_IF, FLOW_WHILE, a node whose type is a function, or an op with `expand`.
bool lower_is_needed(const Node *node);

// Makes nodes that compute what f->node computes from f->x: one level, so calls inside of it stay calls. f->results
// gets one output for each of the node's, f->before stands before what reads nothing. Nodes are named below f->scope;
// the frame of a loop is named f->scope. `controls` gets the nodes that have to have run when the node has (a
// function's control results), in the arena of the graph.
FALLIBLE Status *lower_node(Formula *f, Node ***controls, int32_t *n_controls);
