// Import — a GraphDef into a Graph; see graph_def.h. Reading the bytes and the names of nodes; the edges are in
// import_edges.c.
#include "graph/import.h"

#include "graph/wire.h"

// ---------------------------------------- reading

static Status *read_library(Importer *m, Str bytes) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t field;
    uint64_t value;
    Str inner;
    while (wire_next(&c, &field, &inner, &value)) {
        if (field == FunctionDefLibraryProto_function)
            NEED_MEMORY(vec_push(&m->functions, inner));
        else if (field == FunctionDefLibraryProto_gradient)
            NEED_MEMORY(vec_push(&m->gradients, inner));
        else if (field == FunctionDefLibraryProto_registered_gradients)
            NEED_MEMORY(vec_push(&m->registered, inner));
    }
    NEED(cursor_left(&c) == 0, INVALID_ARGUMENT, "malformed FunctionDefLibrary");
    return OK;
}

// Each node is decoded by itself, the library not at all: functions keep their bytes.
static Status *read_graph_def(Importer *m, Str bytes) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t field;
    uint64_t value;
    Str inner;
    while (wire_next(&c, &field, &inner, &value)) {
        if (field == GraphDef_node) {
            NodeDef *def;
            TRY(status_prefix(PROTO_DECODE(NodeDef, &m->arena, inner, &def), "node %zu of the GraphDef", m->defs.n));
            NEED_MEMORY(vec_push(&m->defs, def));
        } else if (field == GraphDef_library) {
            TRY(read_library(m, inner));
        } else if (field == GraphDef_versions) {
            TRY(PROTO_DECODE(VersionDef, &m->arena, inner, &m->versions));
        }
    }
    NEED(cursor_left(&c) == 0, INVALID_ARGUMENT, "malformed GraphDef at byte %zu", bytes.n - cursor_left(&c));
    if (!m->versions) {
        m->versions = ARENA_NEW(&m->arena, VersionDef);
        NEED_MEMORY(m->versions);
    }
    return OK;
}

static Status *check_versions(const VersionDef *versions) {
    NEED(versions->producer >= GRAPH_DEF_MIN_PRODUCER, INVALID_ARGUMENT,
         "GraphDef producer version %d below min producer %d supported by TensorFlow " TENSORFLOW_VERSION
         ".  Please regenerate your graph.", versions->producer, GRAPH_DEF_MIN_PRODUCER);
    NEED(versions->min_consumer <= GRAPH_DEF_VERSION, INVALID_ARGUMENT,
         "GraphDef min consumer version %d above current version %d for TensorFlow " TENSORFLOW_VERSION
         ".  Please upgrade TensorFlow.", versions->min_consumer, GRAPH_DEF_VERSION);
    for (size_t i = 0; i < versions->bad_consumers.n; i++)
        NEED(versions->bad_consumers.p[i] != GRAPH_DEF_VERSION, INVALID_ARGUMENT,
             "GraphDef disallows consumer version %d.  Please upgrade TensorFlow: this version is likely buggy.",
             GRAPH_DEF_VERSION);
    return OK;
}

// ---------------------------------------- functions

static Status *add_functions(Importer *m) {
    for (size_t i = 0; i < m->functions.n; i++) {
        AUTO(function) Function *function = NULL;
        TRY(function_new(m->functions.p[i], &function));
        TRY(function_add(m->graph, function));
    }
    for (size_t i = 0; i < m->gradients.n; i++) {
        GradientDef *def;
        TRY(PROTO_DECODE(GradientDef, &m->arena, m->gradients.p[i], &def));
        TRY(function_set_gradient(m->graph, def->function_name, def->gradient_func));
    }
    for (size_t i = 0; i < m->registered.n; i++) {
        RegisteredGradientProto *def;
        TRY(PROTO_DECODE(RegisteredGradientProto, &m->arena, m->registered.p[i], &def));
        FunctionGradient entry = {str_copy(&m->graph->arena, def->registered_op_type),
                                  str_copy(&m->graph->arena, def->gradient_func)};
        NEED(entry.function.p && entry.gradient.p, RESOURCE_EXHAUSTED, "out of memory");
        NEED_MEMORY(vec_push(&m->graph->functions->registered, entry));
    }
    return OK;
}

static void remove_functions(Importer *m) {
    FunctionLibrary *library = m->graph->functions;
    library->registered.n = m->registered_before;
    while (library->gradient_order.n > m->gradients_before)
        map_take(&library->gradients, library->gradient_order.p[--library->gradient_order.n]->function);
    while (library->order.n > m->functions_before) {
        Function *function = library->order.p[--library->order.n];
        map_take(&library->functions, function->type.name);
        function_release(function);
    }
    m->graph->versions.min_consumer = m->min_consumer_before;
    m->graph->version = m->assembly.version_before;
}

// ---------------------------------------- names

// Every scope that a node of the graph lies in, as TensorFlow counts them: "a" and "a/b" for "a/b/c".
static Status *collect_scopes(Importer *m) {
    for (size_t i = 0; i < m->graph->nodes.n; i++) {
        const Node *node = m->graph->nodes.p[i];
        for (size_t n = node ? node->name.n : 0; n-- > 0;) {
            if (node->name.p[n] != '/')
                continue;
            Str scope = {node->name.p, n};
            if (map_find(&m->scopes, scope))
                break;  // and so are those above it
            NEED_MEMORY(map_set(&m->scopes, scope, m));
        }
    }
    return OK;
}

static bool name_is_taken(const Importer *m, Str name) {
    return graph_find(m->graph, name) || map_find(&m->scopes, name);
}

// Whether another node of the GraphDef will have that name.
static bool name_is_coming(const Importer *m, Str name) {
    if (!str_starts(name, m->prefix))
        return false;
    return map_find(&m->names, (Str){name.p + m->prefix.n, name.n - m->prefix.n}) != NULL;
}

static Status *free_name(Importer *m, Str wanted, Str *out) {
    Str name = wanted;
    for (size_t n = 0; name_is_taken(m, name) || (n > 0 && name_is_coming(m, name)); n++) {
        name = str_format(&m->arena, "%.*s_%zu", (int)wanted.n, wanted.p, n + 1);
        NEED_MEMORY(name.p);
    }
    *out = name;
    return OK;
}

static Status *settle_prefix(Importer *m) {
    Str prefix = m->options->prefix;
    while (prefix.n && prefix.p[prefix.n - 1] == '/')
        prefix.n--;
    if (m->options->prefix.n == 0)
        return OK;
    NEED(node_name_is_valid(prefix), INVALID_ARGUMENT,
         "Imported node name prefix '%.*s/' would lead to invalid node names", STR_ARGS(prefix));
    if (m->options->uniquify_prefix)
        TRY(free_name(m, prefix, &prefix));
    m->prefix = str_format(&m->arena, "%.*s/", (int)prefix.n, prefix.p);
    NEED_MEMORY(m->prefix.p);
    return OK;
}

static Status *name_part(Importer *m, const NodeDef *def, Str *out) {
    Str name = def->name;
    bool internal = m->options->internal_names && name.n > 1 && name.p[0] == '_';
    NEED(node_name_is_valid(internal ? (Str){name.p + 1, name.n - 1} : name), INVALID_ARGUMENT,
         "Node '%.*s': Node name contains invalid characters", STR_ARGS(name));
    if (m->prefix.n) {
        name = str_format(&m->arena, "%.*s%.*s", (int)m->prefix.n, m->prefix.p, (int)name.n, name.p);
        NEED_MEMORY(name.p);
    }
    if (m->options->uniquify_names)
        TRY(free_name(m, name, &name));
    else
        NEED(m->prefix.n ? !graph_find(m->graph, name) : !name_is_taken(m, name), INVALID_ARGUMENT,
             "Node name '%.*s' already exists in the Graph", STR_ARGS(name));
    *out = name;
    return OK;
}

static Status *find_type(const Importer *m, const NodeDef *def, const OpType **out) {
    const Function *function = function_find(m->graph, def->op);
    if (function)
        *out = &function->type;
    else
        TRY(status_prefix(op_type_find(def->op, out), "{{node %.*s}} (%.*s)", STR_ARGS(def->name), STR_ARGS(def->op)));
    const Signature *signature = &(*out)->signature;
    bool gone = signature->deprecated_version > 0 && m->versions->producer >= signature->deprecated_version;
    NEED(!gone, UNIMPLEMENTED,
         "{{node %.*s}}: Op %.*s is not available in GraphDef version %d. It has been removed in version %d. %.*s.",
         STR_ARGS(def->name), STR_ARGS(def->op), m->versions->producer, signature->deprecated_version,
         STR_ARGS(signature->deprecated_text));
    return OK;
}

static Status *drop_mapped(Importer *m) {
    AUTO(map) Map mapped = {0};
    for (int i = 0; i < m->options->n_input_map; i++)
        NEED_MEMORY(map_set(&mapped, m->options->input_map[i].from.name, m));
    size_t kept = 0;
    for (size_t i = 0; i < m->defs.n; i++)
        if (!map_find(&mapped, m->defs.p[i]->name))
            m->defs.p[kept++] = m->defs.p[i];
    m->defs.n = kept;
    return OK;
}

static Status *list_parts(Importer *m) {
    if (m->options->skip_mapped)
        TRY(drop_mapped(m));
    for (size_t i = 0; i < m->defs.n; i++) {
        NEED(!map_find(&m->names, m->defs.p[i]->name), INVALID_ARGUMENT, "Node '%.*s' is not unique",
             STR_ARGS(m->defs.p[i]->name));
        NEED_MEMORY(map_set(&m->names, m->defs.p[i]->name, (void *)(uintptr_t)(i + 1)));
    }
    if (m->graph->nodes.n && (m->options->uniquify_names || m->options->uniquify_prefix || !m->options->prefix.n))
        TRY(collect_scopes(m));
    TRY(settle_prefix(m));
    m->assembly.parts = ARENA_ARRAY(&m->arena, Part, m->defs.n);
    NEED_MEMORY(m->assembly.parts);
    m->assembly.n_parts = m->defs.n;
    for (size_t i = 0; i < m->defs.n; i++) {
        Part *part = &m->assembly.parts[i];
        part->def = m->defs.p[i];
        part->device = part->def->device.n ? part->def->device : m->options->default_device;
        TRY(name_part(m, part->def, &part->name));
        TRY(find_type(m, part->def, &part->type));
    }
    return OK;
}

// ---------------------------------------- all

static Status *merge_versions(Importer *m) {
    Versions *mine = &m->graph->versions;
    const VersionDef *theirs = m->versions;
    for (size_t i = 0; i < theirs->bad_consumers.n; i++) {
        bool known = false;
        for (size_t j = 0; j < mine->bad_consumers.n; j++)
            known |= mine->bad_consumers.p[j] == theirs->bad_consumers.p[i];
        if (!known)
            NEED_MEMORY(vec_push(&mine->bad_consumers, theirs->bad_consumers.p[i]));
    }
    if (theirs->producer < mine->producer)
        mine->producer = theirs->producer;
    if (theirs->min_consumer > mine->min_consumer)
        mine->min_consumer = theirs->min_consumer;
    return OK;
}

static Status *import_all(Importer *m, Str bytes, ImportResults *results) {
    TRY(read_graph_def(m, bytes));
    TRY(check_versions(m->versions));
    NEED(m->versions->bad_consumers.n <= 1000, INVALID_ARGUMENT, "more than 1000 bad consumers");
    TRY(add_functions(m));
    TRY(list_parts(m));
    TRY(import_edges(m));
    TRY(assembly_run(&m->assembly));
    TRY(import_results(m, results));
    return merge_versions(m);
}

static void importer_clear(Importer *m) {
    vec_clear(&m->defs);
    vec_clear(&m->functions);
    vec_clear(&m->gradients);
    vec_clear(&m->registered);
    map_clear(&m->names);
    map_clear(&m->scopes);
    map_clear(&m->mappings);
    assembly_clear(&m->assembly);
    arena_clear(&m->arena);
}

Status *graph_import(Graph *graph, Str bytes, const ImportOptions *options, ImportResults *out) {
    static const ImportOptions none = {.validate_colocation = true};
    Importer m = {.graph = graph, .options = options ? options : &none};
    m.functions_before = graph->functions->order.n;
    m.gradients_before = graph->functions->gradient_order.n;
    m.registered_before = graph->functions->registered.n;
    m.min_consumer_before = graph->versions.min_consumer;
    assembly_begin(&m.assembly, graph);
    ImportResults results = {0};
    Status *status = import_all(&m, bytes, &results);
    if (status) {
        assembly_undo(&m.assembly);
        remove_functions(&m);
        import_results_clear(&results);
    } else {
        *out = results;
    }
    importer_clear(&m);
    return status;
}

void import_results_clear(ImportResults *results) {
    arena_clear(&results->arena);
    *results = (ImportResults){0};
}
