// SavedModels of the C interface — see millrace/saved_model.h.
#include "millrace/saved_model.h"

#include "api/tf/session.h"
#include "job/saved_model_write.h"

static Status *ends_of(const TF_Session *session, Arena *arena, const char *const *names, const TF_Output *edges, int n,
                       const SignatureEnd **out) {
    SignatureEnd *ends = ARENA_ARRAY(arena, SignatureEnd, n + 1);
    NEED_MEMORY(ends);
    for (int i = 0; i < n; i++) {
        TRY(api_output_check(session->graph->graph, edges[i]));
        ends[i] = (SignatureEnd){str_of(names[i]), api_output(edges[i])};
    }
    *out = ends;
    return OK;
}

static Status *signatures_of(const TF_Session *session, Arena *arena, const mr_saved_model_options *o, SavedModelSpec *spec) {
    SignatureSpec *signatures = ARENA_ARRAY(arena, SignatureSpec, o->num_signatures + 1);
    NEED_MEMORY(signatures);
    const char *at = (const char *)o->signatures;  // whose size may be another release's
    for (int i = 0; i < o->num_signatures; i++) {
        const mr_signature *from = (const mr_signature *)(const void *)at;
        NEED(from->struct_size >= sizeof *from, INVALID_ARGUMENT, "signature %d has no struct_size", i);
        SignatureSpec *to = &signatures[i];
        *to = (SignatureSpec){.name = str_of(from->name ? from->name : "serving_default"), .n_inputs = from->num_inputs,
                              .n_outputs = from->num_outputs};
        TRY(ends_of(session, arena, from->input_names, from->inputs, from->num_inputs, &to->inputs));
        TRY(ends_of(session, arena, from->output_names, from->outputs, from->num_outputs, &to->outputs));
        at += from->struct_size;
    }
    spec->signatures = signatures;
    spec->n_signatures = o->num_signatures;
    return OK;
}

static Status *write_model(const TF_Session *session, const char *folder, const mr_saved_model_options *o) {
    AUTO(arena) Arena arena = {0};
    SavedModelSpec spec = {.init = api_node(o->init), .whole = o->whole_graph != 0, .n_tags = o->num_tags,
                           .n_assets = o->num_assets};
    Str *tags = ARENA_ARRAY(&arena, Str, o->num_tags + 1);
    AssetSpec *assets = ARENA_ARRAY(&arena, AssetSpec, o->num_assets + 1);
    NEED_MEMORY(tags && assets);
    for (int i = 0; i < o->num_tags; i++)
        tags[i] = str_of(o->tags[i]);
    for (int i = 0; i < o->num_assets; i++) {
        TRY(api_output_check(session->graph->graph, o->asset_edges[i]));
        assets[i] = (AssetSpec){str_of(o->asset_paths[i]), api_output(o->asset_edges[i])};
    }
    spec.tags = tags;
    spec.assets = assets;
    TRY(signatures_of(session, &arena, o, &spec));
    TF_Graph *graph = session->graph;
    return saved_model_write(str_of(folder), &spec, graph->graph, &graph->lock, session->session);
}

void mr_saved_model_write(TF_Session *session, const char *folder, const mr_saved_model_options *options,
                          TF_Status *status) {
    mr_saved_model_options known = {0};
    memcpy(&known, options, options->struct_size < sizeof known ? options->struct_size : sizeof known);
    api_set(status, write_model(session, folder, &known));
}
