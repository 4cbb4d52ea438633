// Function, FunctionLibrary — see function.h. Bodies are made in inline.c.
//
// A function keeps the bytes that it came as: exporting gives back what came in, and a body is decoded only when it is
// called. Its signature makes it an op of its graph.
#include "graph/function.h"

#include "graph/op_def.h"
#include "graph/wire.h"

// ---------------------------------------- one function

// An entry of the map of attributes has a key.
static Status *check_attr_name(Str entry) {
    Cursor c = cursor_of(entry.p, entry.n);
    uint32_t field;
    uint64_t value;
    Str inner, key = {0};
    while (wire_next(&c, &field, &inner, &value))
        if (field == AttrValueEntry_key)
            key = inner;
    NEED(key.n > 0, INVALID_ARGUMENT, "a FunctionDef with an attribute that has no name");
    return OK;
}

// The bytes of the signature without decoding the rest.
// Wire format only: fields of the body are passed over by their lengths.
static Status *find_signature(Str bytes, Str *out) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t field;
    uint64_t value;
    Str inner, signature = {0};
    while (wire_next(&c, &field, &inner, &value)) {
        if (field == FunctionDef_attr)
            TRY(check_attr_name(inner));
        if (field != FunctionDef_signature)
            continue;
        NEED(!signature.p, INVALID_ARGUMENT, "a FunctionDef with two signatures");
        signature = inner;
    }
    NEED(cursor_left(&c) == 0, INVALID_ARGUMENT, "malformed FunctionDef");
    NEED(signature.p, INVALID_ARGUMENT, "a FunctionDef without a signature");
    *out = signature;
    return OK;
}

static Status *function_fill(Function *function, Str bytes) {
    char *copy = arena_copy(&function->arena, bytes.p, bytes.n);
    NEED_MEMORY(copy);
    function->bytes = (Str){copy, bytes.n};
    Str signature = {0};
    TRY(find_signature(function->bytes, &signature));
    AUTO(arena) Arena scratch = {0};
    OpDef *def;
    TRY(PROTO_DECODE(OpDef, &scratch, signature, &def));
    TRY(status_prefix(signature_from_op_def(def, &function->arena, &function->tensors, &function->type.signature),
                      "function '%.*s'", STR_ARGS(def->name)));
    function->type.name = function->type.signature.name;
    function->type.function = function;
    return OK;
}

Status *function_new(Str def_bytes, Function **out) {
    Function *function = calloc(1, sizeof *function);
    NEED_MEMORY(function);
    atomic_init(&function->references, 1);
    Status *status = function_fill(function, def_bytes);
    if (status) {
        function_release(function);
        return status;
    }
    *out = function;
    return OK;
}

Function *function_retain(Function *function) {
    atomic_fetch_add_explicit(&function->references, 1, memory_order_relaxed);
    return function;
}

void function_release(Function *function) {
    if (!function || atomic_fetch_sub_explicit(&function->references, 1, memory_order_acq_rel) != 1)
        return;
    tensor_list_cut(&function->tensors, 0);
    vec_clear(&function->tensors);
    arena_clear(&function->arena);
    free(function);
}

Status *function_body(const Function *function, Arena *arena, const FunctionDef **out) {
    FunctionDef *def;
    TRY(status_prefix(PROTO_DECODE(FunctionDef, arena, function->bytes, &def), "function '%.*s'",
                      STR_ARGS(function->type.name)));
    *out = def;
    return OK;
}

// ---------------------------------------- the library

void function_library_free(FunctionLibrary *library) {
    for (size_t i = 0; i < library->order.n; i++)
        function_release(library->order.p[i]);
    for (size_t i = 0; i < library->removed.n; i++)
        function_release(library->removed.p[i]);
    vec_clear(&library->order);
    vec_clear(&library->removed);
    vec_clear(&library->gradient_order);
    map_clear(&library->gradients);
    vec_clear(&library->registered);
    map_clear(&library->functions);
    free(library);
}

Function *function_find(const Graph *graph, Str name) {
    return map_find(&graph->functions->functions, name);
}

enum { MAX_SORTED = 64 };  // functions within attributes within functions

static int compare_strings(const void *a, const void *b) {
    return str_compare(((const StringEntry *)a)->key, ((const StringEntry *)b)->key);
}

static int compare_values(const void *a, const void *b) {
    return str_compare(((const AttrValueEntry *)a)->key, ((const AttrValueEntry *)b)->key);
}

static int compare_arguments(const void *a, const void *b) {
    uint32_t x = ((const ArgAttrsEntry *)a)->key, y = ((const ArgAttrsEntry *)b)->key;
    return (x > y) - (x < y);
}

static int compare_ids(const void *a, const void *b) {
    uint32_t x = ((const Uint32ToUint32Entry *)a)->key, y = ((const Uint32ToUint32Entry *)b)->key;
    return (x > y) - (x < y);
}

// Attributes, and those of the functions that they name.
static void sort_attrs(AttrValueEntry *attrs, size_t n, int depth) {
    if (n)
        qsort(attrs, n, sizeof *attrs, compare_values);
    for (size_t i = 0; i < n && depth < MAX_SORTED; i++) {
        const AttrValueProto *value = attrs[i].value;
        if (value && value->which == AttrValueProto_func && value->func)
            sort_attrs(value->func->attr.p, value->func->attr.n, depth + 1);
        if (value && value->which == AttrValueProto_list && value->list)
            for (size_t j = 0; j < value->list->func.n; j++)
                sort_attrs(value->list->func.p[j].attr.p, value->list->func.p[j].attr.n, depth + 1);
    }
}

static void sort_arguments(FunctionDef *def) {
    if (def->arg_attr.n)
        qsort(def->arg_attr.p, def->arg_attr.n, sizeof *def->arg_attr.p, compare_arguments);
    for (size_t i = 0; i < def->arg_attr.n; i++)
        if (def->arg_attr.p[i].value)
            sort_attrs(def->arg_attr.p[i].value->attr.p, def->arg_attr.p[i].value->attr.n, 0);
    if (def->resource_arg_unique_id.n)
        qsort(def->resource_arg_unique_id.p, def->resource_arg_unique_id.n, sizeof *def->resource_arg_unique_id.p,
              compare_ids);
}

// Puts the maps of a definition in order, so that two definitions that say the same have the same bytes.
static void sort_maps(FunctionDef *def) {
    if (def->ret.n)
        qsort(def->ret.p, def->ret.n, sizeof *def->ret.p, compare_strings);
    if (def->control_ret.n)
        qsort(def->control_ret.p, def->control_ret.n, sizeof *def->control_ret.p, compare_strings);
    sort_attrs(def->attr.p, def->attr.n, 0);
    sort_arguments(def);
    for (size_t i = 0; i < def->node_def.n; i++)
        sort_attrs(def->node_def.p[i].attr.p, def->node_def.p[i].attr.n, 0);
}

static Status *canonical_bytes(const Function *function, Text *out) {
    AUTO(arena) Arena arena = {0};
    const FunctionDef *def;
    TRY(function_body(function, &arena, &def));
    sort_maps((FunctionDef *)def);
    return PROTO_ENCODE(FunctionDef, def, out);
}

// Equal bytes mostly; clients in Python write maps in another order each time.
static Status *functions_are_equal(const Function *a, const Function *b, bool *out) {
    *out = str_equal(a->bytes, b->bytes);
    if (*out || a->bytes.n != b->bytes.n)  // the order of map entries doesn't change the length
        return OK;
    AUTO(text) Text first = {0};
    AUTO(text) Text second = {0};
    TRY(canonical_bytes(a, &first));
    TRY(canonical_bytes(b, &second));
    *out = str_equal(text_str(&first), text_str(&second));
    return OK;
}

Status *function_add(Graph *graph, Function *function) {
    FunctionLibrary *library = graph->functions;
    Str name = function->type.name;
    Function *there = function_find(graph, name);
    if (there) {
        bool equal = there == function;
        if (!equal)
            TRY(functions_are_equal(there, function, &equal));
        NEED(equal, INVALID_ARGUMENT,
             "Cannot add function '%.*s' because a different function with the same name already exists.",
             STR_ARGS(name));
        return OK;
    }
    const OpType *op;
    Status *unknown = op_type_find(name, &op);
    NEED(unknown, INVALID_ARGUMENT, "Cannot add function '%.*s' because an op with the same name already exists.",
         STR_ARGS(name));
    status_free(unknown);
    NEED_MEMORY(vec_reserve(&library->order, library->order.n + 1));
    NEED_MEMORY(map_set(&library->functions, name, function));
    NEED_MEMORY(vec_push(&library->order, function_retain(function)));
    // TensorFlow stamps graphs so, and older ones refuse them.
    if (graph->versions.min_consumer < 12)
        graph->versions.min_consumer = 12;  // the first version that knew functions
    graph->version++;
    return OK;
}

// Nodes that call it stay valid: the function lives in `removed` as long as the graph.
Status *function_remove(Graph *graph, Str name) {
    FunctionLibrary *library = graph->functions;
    NEED_MEMORY(vec_reserve(&library->removed, library->removed.n + 1));
    Function *function = map_take(&library->functions, name);
    NEED(function, NOT_FOUND, "Tried to remove non-existent function '%.*s'.", STR_ARGS(name));
    size_t kept = 0;
    for (size_t i = 0; i < library->order.n; i++)
        if (library->order.p[i] != function)
            library->order.p[kept++] = library->order.p[i];
    library->order.n = kept;
    library->removed.p[library->removed.n++] = function;
    graph->version++;
    return OK;
}

Str function_gradient(const Graph *graph, Str function) {
    const FunctionGradient *entry = map_find(&graph->functions->gradients, function);
    return entry ? entry->gradient : STR("");
}

Status *function_set_gradient(Graph *graph, Str function, Str gradient) {
    FunctionLibrary *library = graph->functions;
    Str there = function_gradient(graph, function);
    NEED(there.n == 0 || str_equal(there, gradient), INVALID_ARGUMENT,
         "Cannot assign gradient function '%.*s' to '%.*s' because it already has gradient function '%.*s'",
         STR_ARGS(gradient), STR_ARGS(function), STR_ARGS(there));
    if (there.n)
        return OK;
    FunctionGradient *entry = ARENA_NEW(&graph->arena, FunctionGradient);
    NEED_MEMORY(entry);
    *entry = (FunctionGradient){str_copy(&graph->arena, function), str_copy(&graph->arena, gradient)};
    NEED_MEMORY(entry->function.p && entry->gradient.p);
    NEED_MEMORY(vec_reserve(&library->gradient_order, library->gradient_order.n + 1));
    NEED_MEMORY(map_set(&library->gradients, entry->function, entry));
    library->gradient_order.p[library->gradient_order.n++] = entry;
    graph->version++;
    return OK;
}

Status *function_add_library(Graph *graph, const Graph *from) {
    const FunctionLibrary *library = from->functions;
    for (size_t i = 0; i < library->order.n; i++)
        TRY(function_add(graph, library->order.p[i]));
    for (size_t i = 0; i < library->gradient_order.n; i++)
        TRY(function_set_gradient(graph, library->gradient_order.p[i]->function, library->gradient_order.p[i]->gradient));
    return OK;
}
