// Edges — what graph.c, build.c and edges.c share: putting all edges of a node into its sources' lists, and taking them
// out.
#pragma once
#include "graph/graph.h"

bool node_add_edges(Node *node);   // all or nothing; false when memory is out
void node_drop_edges(Node *node);
void node_drop_uses(Node *node);   // gives back the list of those who used it
bool node_knows_its_places(const Node *node);  // each edge where it stands among its source's uses
FALLIBLE Status *node_check_source(const Node *node, int input, Output source);
