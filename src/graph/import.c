// Import — a GraphDef into a Graph; see graph_def.h. Reading the bytes and the names of nodes; the edges are in
// import_edges.c.
//
// A GraphDef isn't decoded as a message: its fields are walked, and of each node only name, op, device and inputs are
// looked at. What attributes say is decoded once for each way in which they are written (attr_memo.h). Options,
// prefixes, unique names and messages are those of TensorFlow's ImportGraphDef. All or nothing.
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

// Names and places alone: what a node's attributes say is read when the node is made, and only if none was written
// alike.
static Status *read_node(Importer *m, Str bytes) {
    Part part = {.bytes = bytes, .given = STR(""), .op = STR(""), .first_input = (uint32_t)m->inputs.n};
    Cursor c = cursor_of(bytes.p, bytes.n);
    const unsigned char *begin = c.p, *attrs = NULL, *attrs_end = NULL;
    // Attributes that lie side by side are one key; spread out, which no writer does, they are decoded.
    bool in_one_piece = true;
    uint32_t field;
    uint64_t value;
    for (Str inner; wire_next(&c, &field, &inner, &value); begin = c.p) {
        if (field == NodeDef_name)
            part.given = inner;
        else if (field == NodeDef_op)
            part.op = inner;
        else if (field == NodeDef_device)
            part.device = inner;
        else if (field == NodeDef_input)
            NEED_MEMORY(vec_push(&m->inputs, inner));
        if (field != NodeDef_attr)
            continue;
        in_one_piece &= !attrs || attrs_end == begin;
        attrs = attrs ? attrs : begin;
        attrs_end = c.p;
    }
    NEED(cursor_left(&c) == 0, INVALID_ARGUMENT, "node %zu of the GraphDef: malformed NodeDef at byte %zu", m->parts.n,
         bytes.n - cursor_left(&c));
    NEED(m->inputs.n <= INT32_MAX, RESOURCE_EXHAUSTED, "more than 2^31 edges");
    part.attrs = in_one_piece && attrs ? (Str){(const char *)attrs, (size_t)(attrs_end - attrs)}
                                       : (Str){in_one_piece ? "" : NULL, 0};
    part.n_inputs = (uint32_t)m->inputs.n - part.first_input;
    NEED_MEMORY(vec_push(&m->parts, part));
    return OK;
}

// Each node is read by itself, the library not at all: functions keep their bytes.
static Status *read_graph_def(Importer *m, Str bytes) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t field;
    uint64_t value;
    Str inner;
    while (wire_next(&c, &field, &inner, &value)) {
        if (field == GraphDef_node) {
            TRY(read_node(m, inner));
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
        NEED_MEMORY(entry.function.p && entry.gradient.p);
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

// Every scope that a node of the graph lies in, as TensorFlow counts them: "a" and "a/b" for "a/b/c". A new node can't
// have the name of a scope.
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

int32_t import_find(const Importer *m, Str given) {
    uint32_t hash = name_hash(given);
    size_t at = name_index_first(&m->names, hash);
    for (int32_t i; (i = name_index_next(&m->names, hash, &at)) >= 0;)
        if (str_equal(m->parts.p[i].given, given))
            return i;
    return -1;
}

// Whether another node of the GraphDef will have that name.
static bool name_is_coming(const Importer *m, Str name) {
    if (!str_starts(name, m->prefix))
        return false;
    return import_find(m, (Str){name.p + m->prefix.n, name.n - m->prefix.n}) >= 0;
}

// name, name_1, name_2: neither there nor among those that come. The wanted name itself may be one that comes.
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
    if (prefix.n == 0)
        return OK;
    if (prefix.p[prefix.n - 1] == '/')
        prefix.n--;
    NEED(node_name_is_valid(prefix), INVALID_ARGUMENT,
         "Imported node name prefix '%.*s/' would lead to invalid node names", STR_ARGS(prefix));
    if (m->options->uniquify_prefix)
        TRY(free_name(m, prefix, &prefix));
    m->prefix = str_format(&m->arena, "%.*s/", (int)prefix.n, prefix.p);
    NEED_MEMORY(m->prefix.p);
    return OK;
}

static Status *name_part(Importer *m, Str name, Str *out) {
    bool internal = m->options->internal_names && name.n > 1 && name.p[0] == '_';
    NEED(node_name_is_valid(internal ? (Str){name.p + 1, name.n - 1} : name), INVALID_ARGUMENT,
         "Node '%.*s': Node name contains invalid characters", STR_ARGS(name));
    if (m->prefix.n) {
        name = str_format(&m->arena, "%.*s%.*s", (int)m->prefix.n, m->prefix.p, (int)name.n, name.p);
        NEED_MEMORY(name.p);
    }
    if (m->options->uniquify_names)
        TRY(free_name(m, name, &name));
    else if (m->options->extends)
        NEED(!graph_find(m->graph, name), INVALID_ARGUMENT, "GraphDef argument to Extend includes node '%.*s', which was "
             "created by a previous call to Create or Extend in this session.", STR_ARGS(name));
    else
        NEED(m->prefix.n || !name_is_taken(m, name), INVALID_ARGUMENT,
             "Node name '%.*s' already exists in the Graph", STR_ARGS(name));
    *out = name;
    return OK;
}

static Status *find_type(const Importer *m, const Part *part, const OpType **out) {
    const Function *function = m->graph->functions->order.n ? function_find(m->graph, part->op) : NULL;
    if (function)
        *out = &function->type;
    else
        TRY(status_prefix(op_type_find(part->op, out), "{{node %.*s}} (%.*s)", STR_ARGS(part->given),
                          STR_ARGS(part->op)));
    const Signature *signature = &(*out)->signature;
    bool gone = signature->deprecated_version > 0 && m->versions->producer >= signature->deprecated_version;
    NEED(!gone, UNIMPLEMENTED,
         "{{node %.*s}}: Op %.*s is not available in GraphDef version %d. It has been removed in version %d. %.*s.",
         STR_ARGS(part->given), STR_ARGS(part->op), m->versions->producer, signature->deprecated_version,
         STR_ARGS(signature->deprecated_text));
    return OK;
}

static Status *drop_mapped(Importer *m) {
    AUTO(map) Map mapped = {0};
    for (int i = 0; i < m->options->n_input_map; i++)
        NEED_MEMORY(map_set(&mapped, m->options->input_map[i].from.name, m));
    size_t kept = 0;
    for (size_t i = 0; i < m->parts.n; i++)
        if (!map_find(&mapped, m->parts.p[i].given))
            m->parts.p[kept++] = m->parts.p[i];
    m->parts.n = kept;
    return OK;
}

static Status *list_parts(Importer *m) {
    if (m->options->skip_mapped)
        TRY(drop_mapped(m));
    NEED(m->parts.n <= MAX_GRAPH_NODES, RESOURCE_EXHAUSTED, "more than %d nodes", MAX_GRAPH_NODES);
    NEED_MEMORY(name_index_reserve(&m->names, m->parts.n));
    for (size_t i = 0; i < m->parts.n; i++) {
        Part *part = &m->parts.p[i];
        NEED(import_find(m, part->given) < 0, INVALID_ARGUMENT, "Node '%.*s' is not unique", STR_ARGS(part->given));
        part->hash = name_hash(part->given);
        NEED_MEMORY(name_index_add(&m->names, part->hash, (int32_t)i));
    }
    if (m->graph->nodes.n && !m->options->extends &&
        (m->options->uniquify_names || m->options->uniquify_prefix || !m->options->prefix.n))
        TRY(collect_scopes(m));
    TRY(settle_prefix(m));
    m->assembly.parts = m->parts.p;
    m->assembly.n_parts = m->parts.n;
    m->assembly.may_repeat = m->prefix.n && !m->options->uniquify_names;
    for (size_t i = 0; i < m->parts.n; i++) {
        Part *part = &m->parts.p[i];
        if (!part->device.n)
            part->device = m->options->default_device;
        TRY(name_part(m, part->given, &part->name));
        if (part->name.p != part->given.p)
            part->hash = name_hash(part->name);
        TRY(find_type(m, part, &part->type));
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
    if (m->versions->producer < m->graph->versions.producer)
        m->graph->versions.producer = m->versions->producer;  // before the nodes: shape functions ask for it
    TRY(assembly_run(&m->assembly));
    TRY(import_results(m, results));
    return merge_versions(m);
}

// Nodes keep nothing of it.
static void importer_clear(Importer *m) {
    vec_clear(&m->parts);
    vec_clear(&m->inputs);
    vec_clear(&m->functions);
    vec_clear(&m->gradients);
    vec_clear(&m->registered);
    name_index_clear(&m->names);
    map_clear(&m->scopes);
    map_clear(&m->mappings);
    assembly_clear(&m->assembly);
    arena_clear(&m->arena);
}

Status *graph_import(Graph *graph, Str bytes, const ImportOptions *options, ImportResults *out) {
    static const ImportOptions none = {.validate_colocation = true};
    Importer m = {.graph = graph, .options = options ? options : &none};
    int32_t producer = graph->versions.producer;
    m.functions_before = graph->functions->order.n;
    m.gradients_before = graph->functions->gradient_order.n;
    m.registered_before = graph->functions->registered.n;
    m.min_consumer_before = graph->versions.min_consumer;
    assembly_begin(&m.assembly, graph);
    ImportResults results = {0};
    Status *status = import_all(&m, bytes, &results);
    if (status) {
        assembly_undo(&m.assembly);
        graph->versions.producer = producer;
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
