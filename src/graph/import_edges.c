// Import, second half: where each input comes from, the input map, control dependencies, colocation, results.
//
// The input map replaces edges of the GraphDef by edges of the graph; control dependencies go to nodes that have no
// input inside the import, from which all others inherit them, as in TensorFlow.
#include "graph/import.h"

typedef struct {
    const InputMapping *mapping;
    bool used;
} MappingUse;

// "name", "name:3" or "^name".
static TensorName parse_tensor_name(Str text) {
    if (text.n && text.p[0] == '^')
        return (TensorName){{text.p + 1, text.n - 1}, CONTROL};
    size_t digits = 0;
    int64_t index = 0;
    while (digits < text.n && text.p[text.n - 1 - digits] >= '0' && text.p[text.n - 1 - digits] <= '9')
        digits++;
    bool numbered = digits > 0 && digits < text.n && text.p[text.n - 1 - digits] == ':';
    if (numbered && digits < 10 && str_to_int((Str){text.p + text.n - digits, digits}, &index))
        return (TensorName){{text.p, text.n - 1 - digits}, (int32_t)index};
    return (TensorName){text, 0};
}

// ---------------------------------------- the input map

static Status *mapping_key(Importer *m, TensorName name, Str *out) {
    *out = str_format(&m->arena, "%.*s:%d", (int)name.name.n, name.name.p, name.index);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *mapping_add(Importer *m, const InputMapping *mapping) {
    Str from = mapping->from.name;
    const Node *to = mapping->to.node;
    NEED(to && to->graph == m->graph && to->id >= 0, INVALID_ARGUMENT,
         "the input map sends %.*s to a node that is not in the graph", STR_ARGS(from));
    NEED((mapping->from.index == CONTROL) == (mapping->to.index == CONTROL), INVALID_ARGUMENT,
         "input_map entry of %.*s and %.*s is between a control edge and a data edge", STR_ARGS(from),
         STR_ARGS(to->name));
    NEED(mapping->to.index == CONTROL || (mapping->to.index >= 0 && mapping->to.index < to->n_outputs),
         INVALID_ARGUMENT, "the input map sends %.*s to output %d of %.*s, which has %d", STR_ARGS(from),
         mapping->to.index, STR_ARGS(to->name), to->n_outputs);
    Str key;
    TRY(mapping_key(m, mapping->from, &key));
    MappingUse *use = ARENA_NEW(&m->arena, MappingUse);
    NEED_MEMORY(use);
    use->mapping = mapping;
    NEED_MEMORY(map_set(&m->mappings, key, use));
    return OK;
}

static Status *mapping_find(Importer *m, TensorName name, MappingUse **out) {
    *out = NULL;
    if (m->mappings.n == 0)
        return OK;
    Str key;
    TRY(mapping_key(m, name, &key));
    *out = map_find(&m->mappings, key);
    return OK;
}

// ---------------------------------------- sources

// Whether the part runs after that node already. Of new nodes a stamp says so: searching would be quadratic for the
// NoOps that wait for every initialiser.
static bool control_is_known(Importer *m, const Part *part, const Source *source) {
    int32_t mine = (int32_t)(part - m->assembly.parts) + 1;
    if (source->part != OUTSIDE) {
        bool known = m->controlled[source->part] == mine;
        m->controlled[source->part] = mine;
        return known;
    }
    for (int i = 0; i < part->n_sources; i++) {
        const Source *there = &m->assembly.sources.p[part->first_source + (size_t)i];
        if (there->index == CONTROL && there->part == OUTSIDE && there->outside.node == source->outside.node)
            return true;
    }
    return false;
}

static Status *add_source(Importer *m, Part *part, Source source) {
    if (source.index == CONTROL && control_is_known(m, part, &source))
        return OK;
    NEED_MEMORY(vec_push(&m->assembly.sources, source));
    part->n_sources++;
    return OK;
}

static Status *import_input(Importer *m, Part *part, TensorName name) {
    MappingUse *use;
    TRY(mapping_find(m, name, &use));
    if (use) {
        use->used = true;
        Output to = use->mapping->to;
        return add_source(m, part, (Source){OUTSIDE, FLAT, name.index == CONTROL ? CONTROL : 0, to});
    }
    int32_t at = import_find(m, name.name);
    Node *there = at < 0 && m->options->extends ? graph_find(m->graph, name.name) : NULL;
    if (there && name.index < there->n_outputs)
        return add_source(m, part, (Source){OUTSIDE, FLAT, name.index == CONTROL ? CONTROL : 0, {there, name.index}});
    NEED(at >= 0, INVALID_ARGUMENT, "Node '%.*s': Unknown input node '%.*s'", STR_ARGS(part->given),
         STR_ARGS(name.name));
    return add_source(m, part, (Source){at, FLAT, name.index, {0}});
}

static Flow type_flow(const Part *part) {
    return part->type->op ? part->type->op->flow : FLOW_NONE;
}

// Whether the part runs after another part, and so after whatever that one runs after.
static bool inherits_controls(const Importer *m, const Part *part) {
    for (int i = 0; i < part->n_sources; i++) {
        const Source *source = &m->assembly.sources.p[part->first_source + (size_t)i];
        bool back = source->part != OUTSIDE && source->index != CONTROL && type_flow(part) == FLOW_MERGE &&
                    type_flow(&m->assembly.parts[source->part]) == FLOW_NEXT;
        if (source->part != OUTSIDE && !back)
            return true;
    }
    return false;
}

static Status *import_part(Importer *m, Part *part) {
    part->first_source = m->assembly.sources.n;
    bool control_seen = false;
    for (size_t i = 0; i < part->n_inputs; i++) {
        TensorName name = parse_tensor_name(m->inputs.p[part->first_input + i]);
        control_seen |= name.index == CONTROL;
        NEED(!control_seen || name.index == CONTROL, INVALID_ARGUMENT,
             "Node '%.*s': Control dependencies must come after regular dependencies", STR_ARGS(part->given));
        TRY(import_input(m, part, name));
    }
    if (!inherits_controls(m, part))
        for (int i = 0; i < m->options->n_controls; i++)
            TRY(add_source(m, part, (Source){OUTSIDE, FLAT, CONTROL, {m->options->controls[i], CONTROL}}));
    return OK;
}

// ---------------------------------------- attributes

static Status *colocate(Importer *m, const Part *part, Str *group) {
    Str mark = STR("loc:@");
    if (!str_starts(*group, mark))
        return OK;
    Str name = {group->p + mark.n, group->n - mark.n};
    int32_t at = import_find(m, name);
    bool there = m->options->extends && graph_find(m->graph, name);
    NEED(at >= 0 || there || !m->options->validate_colocation, INVALID_ARGUMENT,
         "Node '%.*s' expects to be colocated with unknown node '%.*s'", STR_ARGS(part->given), STR_ARGS(name));
    if (at >= 0) {
        Str now = m->assembly.parts[at].name;
        *group = str_format(&m->arena, "loc:@%.*s", (int)now.n, now.p);
        NEED_MEMORY(group->p);
    }
    return OK;
}

static Status *import_attr(Assembly *assembly, const Part *part, Str name, AttrValue *value, NodeBuilder *builder) {
    (void)builder;
    Importer *m = assembly->context;
    if (str_equal(name, STR("_class")) && value->is_list && value->kind == ATTR_STRING)
        for (int i = 0; i < value->n; i++)
            TRY(colocate(m, part, &value->ss[i]));
    // Two imports of one loop must not share a frame.
    bool is_frame = type_flow(part) == FLOW_ENTER && m->prefix.n && value->kind == ATTR_STRING && !value->is_list;
    if (is_frame && str_equal(name, STR("frame_name"))) {
        value->s = str_format(&m->arena, "%.*s%.*s", (int)m->prefix.n, m->prefix.p, (int)value->s.n, value->s.p);
        NEED_MEMORY(value->s.p);
    }
    return OK;
}

Status *import_edges(Importer *m) {
    m->assembly.attr = import_attr;
    m->assembly.context = m;
    for (int i = 0; i < m->options->n_input_map; i++)
        TRY(mapping_add(m, &m->options->input_map[i]));
    for (int i = 0; i < m->options->n_controls; i++)
        NEED(m->options->controls[i]->graph == m->graph && m->options->controls[i]->id >= 0, INVALID_ARGUMENT,
             "a control dependency that is not in the graph");
    m->controlled = ARENA_ARRAY(&m->arena, int32_t, m->assembly.n_parts);
    NEED_MEMORY(m->controlled);
    for (size_t i = 0; i < m->assembly.n_parts; i++)
        TRY(import_part(m, &m->assembly.parts[i]));
    return OK;
}

// ---------------------------------------- results

static Status *return_output(Importer *m, TensorName name, Output *out) {
    MappingUse *use;
    TRY(mapping_find(m, name, &use));
    if (use) {
        use->used = true;
        *out = use->mapping->to;
        return OK;
    }
    int32_t at = import_find(m, name.name);
    NEED(at >= 0, INVALID_ARGUMENT, "Requested return tensor '%.*s:%d' not found in graph def", STR_ARGS(name.name),
         name.index);
    Node *node = m->assembly.parts[at].node;
    NEED(name.index >= 0 && name.index < node->n_outputs, INVALID_ARGUMENT,
         "Invalid return output %d of node '%.*s', which has %d output(s)", name.index, STR_ARGS(name.name),
         node->n_outputs);
    *out = (Output){node, name.index};
    return OK;
}

// An entry of the input map that nothing read and that names nothing of the GraphDef: TensorFlow reports these.
static bool mapping_is_missing(const Importer *m, const InputMapping *mapping, const MappingUse *use) {
    if (use->used)
        return false;
    int32_t at = import_find(m, mapping->from.name);
    return at < 0 || mapping->from.index >= m->assembly.parts[at].node->n_outputs;
}

Status *import_results(Importer *m, ImportResults *out) {
    const ImportOptions *options = m->options;
    out->return_outputs = ARENA_ARRAY(&out->arena, Output, options->n_return_outputs);
    out->return_nodes = ARENA_ARRAY(&out->arena, Node *, options->n_return_nodes);
    out->unused_mappings = ARENA_ARRAY(&out->arena, TensorName, options->n_input_map);
    NEED_MEMORY(out->return_outputs && out->return_nodes && out->unused_mappings);
    for (int i = 0; i < options->n_return_outputs; i++)
        TRY(return_output(m, options->return_outputs[i], &out->return_outputs[i]));
    for (int i = 0; i < options->n_return_nodes; i++) {
        int32_t at = import_find(m, options->return_nodes[i]);
        NEED(at >= 0, INVALID_ARGUMENT, "Requested return node '%.*s' not found in graph def",
             STR_ARGS(options->return_nodes[i]));
        out->return_nodes[i] = m->assembly.parts[at].node;
    }
    for (int i = 0; i < options->n_input_map; i++) {
        const InputMapping *mapping = &options->input_map[i];
        MappingUse *use;
        TRY(mapping_find(m, mapping->from, &use));
        if (!mapping_is_missing(m, mapping, use))
            continue;
        TensorName name = {str_copy(&out->arena, mapping->from.name), mapping->from.index};
        NEED_MEMORY(name.name.p);
        out->unused_mappings[out->n_unused_mappings++] = name;
    }
    return OK;
}
