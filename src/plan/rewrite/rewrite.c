// Rewrites, what all kinds share — see rewrite.h.
//
// The rows are the ops' (src/ops/rewrite); each op type lists those that begin at it, so a pass asks only nodes that
// could match. Switched off, one by one, is what MILLRACE_PASSES names: a bit in PlanOptions.rewrites_off.
#include "plan/rewrite/rewrite.h"

// `*at` is the caller's place in the list; the list ends with an empty row.
const Rewrite *rewrite_next(const Draft *draft, const Node *node, RewriteKind kind, int *at) {
    const RewriteRow *rows = node->type->rewrites;
    while (rows && rows[*at].rewrite) {
        const RewriteRow *row = &rows[(*at)++];
        if (row->rewrite->kind == kind && !(draft->options->rewrites_off & row->bit))
            return row->rewrite;
    }
    return NULL;
}

// Asked before matching: what a device can't run must not be made for it.
bool rewrite_has_kernel(const Node *node, const Rewrite *rewrite) {
    return draft_has_kernel(node, rewrite->op);
}

// The new node is named after the one whose place it takes, so that errors and traces name what the user knows.
void rewrite_begin(NodeBuilder *builder, const Draft *draft, const Node *root, const Rewrite *rewrite,
                   const char *suffix) {
    builder_init(builder, draft->graph, str_of(rewrite->op), (Str){0});
    builder->name = str_format(&builder->arena, "%.*s/%s", STR_ARGS(root->name), suffix);
    builder_place(builder, root);
}
