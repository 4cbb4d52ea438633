// Rewrites, what all kinds share — see rewrite.h.
#include "plan/rewrite/rewrite.h"

const Rewrite *rewrite_next(const Draft *draft, const Node *node, RewriteKind kind, int *at) {
    const RewriteRow *rows = node->type->rewrites;
    while (rows && rows[*at].rewrite) {
        const RewriteRow *row = &rows[(*at)++];
        if (row->rewrite->kind == kind && !(draft->options->rewrites_off & row->bit))
            return row->rewrite;
    }
    return NULL;
}

bool rewrite_has_kernel(const Draft *draft, const Node *node, const Rewrite *rewrite) {
    return draft_has_kernel(draft, node, rewrite->op);
}

void rewrite_begin(NodeBuilder *builder, const Draft *draft, const Node *root, const Rewrite *rewrite,
                   const char *suffix) {
    builder_init(builder, draft->graph, str_of(rewrite->op), (Str){0});
    builder->name = str_format(&builder->arena, "%.*s/%s", STR_ARGS(root->name), suffix);
    builder_place(builder, root);
}
