// Op registry — finds an op's type by its name; see op.h.
//
// Nothing is parsed before it is asked for. Types that were found stand in an open-addressed table of atomic pointers
// that readers search without a lock; it only grows, and a table that was outgrown is kept, since somebody may be
// reading it.
#include "graph/op.h"

#include <stdatomic.h>

#include "base/map.h"
#include "graph/known_ops.h"
#include "graph/needs.h"
#include "graph/rewrite.h"
#include "thread/mutex.h"

// Open addressing; at most half full, so that searching ends at an empty slot.
typedef struct Table {
    size_t mask, n;
    struct Table *outgrown;
    _Atomic(const OpType *) slots[];
} Table;

static struct {
    Mutex lock;
    const Op *const *compiled;      // ends with NULL
    Map names;                      // Str -> Op *: compiled and registered
    Arena arena;                    // of types and signatures: never cleared, they live for ever
    TensorList tensors;
    VEC(const Op *) registered;
    _Atomic(Table *) types;
} ops = {.lock = MUTEX_INIT};

// The first word of a signature: no parsing.
Str op_name(const Op *op) {
    return (Str){op->signature, strcspn(op->signature, "( \t\n")};
}

void op_table_set(const Op *const *table, const Rewrite *const *rewrites) {
    mutex_lock(&ops.lock);
    rewrite_table_set(rewrites);
    if (ops.compiled != table) {
        ops.compiled = table;
        map_clear(&ops.names);
    }
    mutex_unlock(&ops.lock);
}

// ---------------------------------------- types that were found

static const OpType *table_find(Table *table, Str name) {
    if (!table)
        return NULL;
    for (size_t i = hash_bytes(name.p, name.n, 0);; i++) {
        const OpType *type = atomic_load_explicit(&table->slots[i & table->mask], memory_order_acquire);
        if (!type || str_equal(type->name, name))
            return type;
    }
}

static void table_put(Table *table, const OpType *type) {
    size_t i = hash_bytes(type->name.p, type->name.n, 0);
    while (atomic_load_explicit(&table->slots[i & table->mask], memory_order_relaxed))
        i++;
    atomic_store_explicit(&table->slots[i & table->mask], type, memory_order_release);
    table->n++;
}

// Room for one more.
static Status *table_reserve(Table **out) REQUIRES(ops.lock) {
    Table *table = atomic_load_explicit(&ops.types, memory_order_relaxed);
    if (!table || table->n * 2 > table->mask) {
        size_t room = table ? (table->mask + 1) * 2 : 512;
        Table *grown = calloc(1, sizeof *grown + room * sizeof grown->slots[0]);
        NEED_MEMORY(grown);
        grown->mask = room - 1;
        grown->outgrown = table;
        for (size_t i = 0; table && i <= table->mask; i++)
            if (table->slots[i])
                table_put(grown, table->slots[i]);
        atomic_store_explicit(&ops.types, grown, memory_order_release);
        table = grown;
    }
    *out = table;
    return OK;
}

// ---------------------------------------- looking further

// The names of all ops that have code, made when the first one is asked for: a process that uses ten ops of a thousand
// parses ten signatures.
static Status *names_fill(void) REQUIRES(ops.lock) {
    if (ops.names.n)
        return OK;
    AUTO(map) Map names = {0};
    for (const Op *const *op = ops.compiled; op && *op; op++)
        NEED_MEMORY(map_set(&names, op_name(*op), (void *)*op));
    for (size_t i = 0; i < ops.registered.n; i++)
        NEED_MEMORY(map_set(&names, op_name(ops.registered.p[i]), (void *)ops.registered.p[i]));
    ops.names = names;  // all or none: a part of them would pass for the whole
    names = (Map){0};
    return OK;
}

static Status *type_make(const Op *op, Str line, const OpType **out) REQUIRES(ops.lock) {
    Table *table;
    TRY(table_reserve(&table));
    OpType *type = ARENA_NEW(&ops.arena, OpType);
    NEED_MEMORY(type);
    TRY(signature_parse(line, &ops.arena, &ops.tensors, &type->signature));
    type->name = type->signature.name;
    type->op = op;
    type->shape = op ? op->shape : NULL;
    type->rule = op ? construction_rule(type->name) : known_op_rule(line);
    if (str_starts(type->rule, STR("like "))) {
        const Op *other = map_find(&ops.names, (Str){type->rule.p + 5, type->rule.n - 5});
        type->shape = other ? other->shape : NULL;
        type->rule = (Str){0};
    }
    if (op && op->needs)
        TRY(needs_compile(op->needs, &type->signature, &ops.arena, &type->needs));
    if (op)
        TRY(rewrite_rows(type->name, &ops.arena, &type->rewrites));
    table_put(table, type);
    *out = type;
    return OK;
}

static Status *type_find_slowly(Str name, const OpType **out) REQUIRES(ops.lock) {
    *out = table_find(atomic_load_explicit(&ops.types, memory_order_acquire), name);
    if (*out)
        return OK;
    TRY(names_fill());
    const Op *op = map_find(&ops.names, name);
    Str line = {0};
    if (op) {
        line = str_of(op->signature);
    } else {
        NEED_MEMORY(known_ops_read());
        NEED(known_op_find(name, &line), NOT_FOUND, "Op type not registered '%.*s' in this binary", STR_ARGS(name));
    }
    return status_prefix(type_make(op, line, out), "the signature of %.*s", STR_ARGS(name));
}

Status *op_type_find(Str name, const OpType **out) {
    const OpType *type = table_find(atomic_load_explicit(&ops.types, memory_order_acquire), name);
    Status *status = OK;
    if (!type) {
        mutex_lock(&ops.lock);
        status = type_find_slowly(name, &type);
        mutex_unlock(&ops.lock);
    }
    if (!status)
        *out = type;
    return status;
}

static Status *register_locked(const Op *op, const OpType **out) REQUIRES(ops.lock) {
    Str name = op_name(op);
    TRY(names_fill());
    NEED(!map_find(&ops.names, name), ALREADY_EXISTS, "Op '%.*s' is already registered", STR_ARGS(name));
    Str line;
    NEED_MEMORY(known_ops_read());
    // A plug-in may add ops, not replace TensorFlow's: graphs that import now must import then.
    NEED(!known_op_find(name, &line), ALREADY_EXISTS, "Op '%.*s' is TensorFlow's own", STR_ARGS(name));
    NEED_MEMORY(vec_reserve(&ops.registered, ops.registered.n + 1));
    const OpType *type;
    TRY(type_make(op, str_of(op->signature), &type));
    NEED_MEMORY(map_set(&ops.names, name, (void *)op));
    ops.registered.p[ops.registered.n++] = op;
    *out = type;
    return OK;
}

Status *op_register(const Op *op, const OpType **out) {
    mutex_lock(&ops.lock);
    Status *status = register_locked(op, out);
    mutex_unlock(&ops.lock);
    return status;
}

const Op *op_at(size_t index) {
    const Op *op = NULL;
    mutex_lock(&ops.lock);
    size_t n = 0;
    while (ops.compiled && ops.compiled[n] && n < index)
        n++;
    if (ops.compiled && ops.compiled[n])
        op = ops.compiled[n];
    else if (index - n < ops.registered.n)
        op = ops.registered.p[index - n];
    mutex_unlock(&ops.lock);
    return op;
}
