// GraphIterators — see iterators.h.
#include "job/iterators.h"

#include "base/log.h"
#include "job/save_node.h"

static bool is_iterator(const Node *node) {
    static const char *const ops[] = {"Iterator", "IteratorV2", "OneShotIterator"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (node && str_is(node->type->name, ops[i]))
            return true;
    return false;
}

static Status *open_one(Graph *graph, Node *node, GraphIterators *out) {
    AttrEntry dtype = {STR("dtype"), ATTR_OF_TYPE(DT_variant)};
    Output inputs[2] = {{node, 0}};
    GraphIterator it = {.key = str_format(&out->arena, "_millrace/iterator/%.*s", STR_ARGS(node->name))};
    Node *made;
    NEED_MEMORY(it.key.p);
    TRY(save_node_add(graph, "SerializeIterator", node->name, "state", inputs, 1, NULL, 0, &made));
    it.state = (Output){made, 0};
    TRY(save_node_add(graph, "Placeholder", node->name, "value", NULL, 0, &dtype, 1, &made));
    it.value = inputs[1] = (Output){made, 0};
    TRY(save_node_add(graph, "DeserializeIterator", node->name, "load", inputs, 2, NULL, 0, &it.load));
    NEED_MEMORY(vec_push(&out->list, it));
    return OK;
}

Status *iterators_open(Graph *graph, GraphIterators *out) {
    GraphIterators found = {0};
    Status *status = OK;
    for (size_t i = 0, n = graph->nodes.n; i < n && !status; i++)
        if (is_iterator(graph->nodes.p[i]))
            status = open_one(graph, graph->nodes.p[i], &found);
    if (status)
        iterators_clear(&found);
    else
        *out = found;
    return status;
}

void iterators_clear(GraphIterators *iterators) {
    vec_clear(&iterators->list);
    arena_clear(&iterators->arena);
    *iterators = (GraphIterators){0};
}

static Status *read_one(GraphIterator *it, Session *session, NamedTensors *out) {
    StepSignature signature = {.fetches = &it->state, .n_fetches = 1};
    Tensor state;
    NEED_MEMORY(vec_reserve(out, out->n + 1));
    Status *status = session_run(session, &signature, &run_settings_default, NULL, &state);
    Code code = status_code(status);
    if (code == UNIMPLEMENTED && !it->untold)
        log_write(LOG_WARNING, "a restart will find this input at its beginning: %s", status_message(status));
    it->untold |= code == UNIMPLEMENTED;
    if (code == FAILED_PRECONDITION || code == UNIMPLEMENTED) {
        status_free(status);
        return OK;
    }
    TRY(status);
    out->p[out->n++] = (NamedTensor){it->key, state};
    return OK;
}

Status *iterators_read(GraphIterators *iterators, Session *session, NamedTensors *out) {
    for (size_t i = 0; i < iterators->list.n; i++)
        TRY(read_one(&iterators->list.p[i], session, out));
    return OK;
}

static Status *restore_one(const GraphIterator *it, Session *session, BundleReader *reader) {
    AUTO(tensor) Tensor state = {0};
    BundleEntry entry;
    const Tensor *fed = &state;
    Node *load = it->load;
    StepSignature signature = {.feeds = &it->value, .targets = &load, .n_feeds = 1, .n_targets = 1};
    Status *status = bundle_find(reader, it->key, &entry);
    if (status_code(status) == NOT_FOUND) {
        status_free(status);
        return OK;
    }
    TRY(status);
    NEED(entry.dtype == DT_variant, DATA_LOSS, "'%.*s' is of type %s", STR_ARGS(it->key), dtype_name(entry.dtype));
    TRY(bundle_read(reader, it->key, &entry, NULL, &state));
    return session_run(session, &signature, &run_settings_default, &fed, NULL);
}

Status *iterators_restore(const GraphIterators *iterators, Session *session, BundleReader *reader) {
    for (size_t i = 0; i < iterators->list.n; i++)
        TRY(restore_one(&iterators->list.p[i], session, reader));
    return OK;
}
