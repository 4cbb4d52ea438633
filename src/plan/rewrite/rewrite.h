// The driver of rewrites (graph/rewrite.h) — one function for each time at which they apply. None knows an op.
#pragma once
#include "graph/rewrite.h"
#include "plan/pass.h"

// The rewrites of that kind that may begin at the node and are switched on, one after another: *at begins at 0, NULL
// comes behind the last.
const Rewrite *rewrite_next(const Draft *draft, const Node *node, RewriteKind kind, int *at);
// Whether the node's device has the kernel of the op that the rewrite makes, for the node's element type.
bool rewrite_has_kernel(const Node *node, const Rewrite *rewrite);
// Begins the node that stands for the match: op, device and a name with that suffix. builder_clear ends it.
void rewrite_begin(NodeBuilder *builder, const Draft *draft, const Node *root, const Rewrite *rewrite,
                   const char *suffix);

FALLIBLE Status *pass_simplify(Draft *draft);  // REWRITE_SIMPLIFY
FALLIBLE Status *pass_patterns(Draft *draft);  // REWRITE_FUSE_PRODUCERS, then REWRITE_FUSE_READERS of the same root
// REWRITE_REMATERIALISE, once it is known when nodes run; `*order` is *n nodes and may be made anew.
FALLIBLE Status *rematerialise_offer(Draft *draft, Node ***order, size_t *n);
