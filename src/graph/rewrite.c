// Rewrite table — see rewrite.h. A type keeps the rows of its op from when it is made (graph/op.c), so that passes ask
// a node and not the whole table.
#include "graph/rewrite.h"

#include <stdatomic.h>

static const Rewrite *const *_Atomic table;

void rewrite_table_set(const Rewrite *const *rewrites) {
    atomic_store(&table, rewrites);
}

// The first rewrite that has the name of `rewrite` decides the bit.
static bool is_first(const Rewrite *const *all, const Rewrite *const *at) {
    for (const Rewrite *const *before = all; before < at; before++)
        if (str_is(str_of((*before)->name), (*at)->name))
            return false;
    return true;
}

const char *rewrite_name(int i) {
    const Rewrite *const *all = atomic_load(&table);
    for (const Rewrite *const *at = all; at && *at; at++)
        if (is_first(all, at) && i-- == 0)
            return (*at)->name;
    return NULL;
}

uint64_t rewrite_bit(Str name) {
    const char *other;
    for (int i = 0; (other = rewrite_name(i)); i++)
        if (str_is(name, other))
            return (uint64_t)1 << i;
    return 0;
}

static bool begins_at(const Rewrite *rewrite, Str op) {
    for (const char *const *root = rewrite->roots; *root; root++)
        if (str_is(op, *root))
            return true;
    return false;
}

Status *rewrite_rows(Str op, Arena *arena, const RewriteRow **out) {
    const Rewrite *const *all = atomic_load(&table);
    int n = 0;
    *out = NULL;
    for (const Rewrite *const *at = all; at && *at; at++)
        n += begins_at(*at, op);
    if (!n)
        return OK;
    RewriteRow *rows = ARENA_ARRAY(arena, RewriteRow, n + 1);
    NEED_MEMORY(rows);
    *out = rows;
    for (const Rewrite *const *at = all; *at; at++)
        if (begins_at(*at, op))
            *rows++ = (RewriteRow){*at, rewrite_bit(str_of((*at)->name))};
    *rows = (RewriteRow){0};
    return OK;
}
