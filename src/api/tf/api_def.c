// TF_ApiDefMap — documentation of ops: what their signatures say, overridden by texts of ApiDefs messages; see c_api.h.
#include <stdlib.h>

#include "api/api.h"
#include "proto/text.h"

struct TF_ApiDefMap {
    Arena arena;     // of everything below; texts that were put are copied into it
    Mutex lock;
    Map defs;        // name -> ApiDef *
    bool read;       // after the first Get nothing more can be put
};

static Status *default_args(const OpDef *op, Arena *arena, ApiDef *def) {
    def->in_arg.p = ARENA_ARRAY(arena, ApiDef_Arg, op->input_arg.n);
    def->out_arg.p = ARENA_ARRAY(arena, ApiDef_Arg, op->output_arg.n);
    def->attr.p = ARENA_ARRAY(arena, ApiDef_Attr, op->attr.n);
    def->arg_order.p = ARENA_ARRAY(arena, Str, op->input_arg.n);
    NEED_MEMORY(def->in_arg.p && def->out_arg.p && def->attr.p && def->arg_order.p);
    for (size_t i = 0; i < op->input_arg.n; i++) {
        const OpDef_ArgDef *from = &op->input_arg.p[i];
        def->in_arg.p[i] = (ApiDef_Arg){.name = from->name, .rename_to = from->name, .description = from->description};
        def->arg_order.p[i] = from->name;
    }
    for (size_t i = 0; i < op->output_arg.n; i++) {
        const OpDef_ArgDef *from = &op->output_arg.p[i];
        def->out_arg.p[i] = (ApiDef_Arg){.name = from->name, .rename_to = from->name, .description = from->description};
    }
    for (size_t i = 0; i < op->attr.n; i++) {
        const OpDef_AttrDef *from = &op->attr.p[i];
        def->attr.p[i] = (ApiDef_Attr){.name = from->name, .rename_to = from->name, .description = from->description,
                                       .default_value = from->default_value};
    }
    def->in_arg.n = def->arg_order.n = op->input_arg.n;
    def->out_arg.n = op->output_arg.n;
    def->attr.n = op->attr.n;
    return OK;
}

static Status *add_default(TF_ApiDefMap *map, const OpDef *op) {
    ApiDef *def = ARENA_NEW(&map->arena, ApiDef);
    ApiDef_Endpoint *endpoint = ARENA_NEW(&map->arena, ApiDef_Endpoint);
    NEED_MEMORY(def && endpoint);
    endpoint->name = op->name;
    *def = (ApiDef){.graph_op_name = op->name, .visibility = ApiDef_Visibility_VISIBLE, .summary = op->summary,
                    .description = op->description};
    def->endpoint.p = endpoint;
    def->endpoint.n = 1;
    TRY(default_args(op, &map->arena, def));
    NEED_MEMORY(map_set(&map->defs, def->graph_op_name, def));
    return OK;
}

static Status *fill(TF_ApiDefMap *map, const TF_Buffer *op_list) {
    OpListProto *list;
    char *bytes = arena_copy(&map->arena, op_list->data ? op_list->data : "", op_list->length);
    NEED_MEMORY(bytes);
    Status *status = PROTO_DECODE(OpListProto, &map->arena, ((Str){bytes, op_list->length}), &list);
    if (status) {
        status_free(status);
        FAIL(INVALID_ARGUMENT, "Unparseable OpList");
    }
    for (size_t i = 0; i < list->op.n; i++)
        TRY(add_default(map, &list->op.p[i]));
    return OK;
}

TF_ApiDefMap *TF_NewApiDefMap(TF_Buffer *op_list_buffer, TF_Status *status) {
    TF_ApiDefMap *map = calloc(1, sizeof *map);
    if (map)
        mutex_init(&map->lock);
    if (!api_failed(status, map ? fill(map, op_list_buffer) : OUT_OF_MEMORY))
        return map;
    TF_DeleteApiDefMap(map);
    return NULL;
}

void TF_DeleteApiDefMap(TF_ApiDefMap *apimap) {
    if (!apimap)
        return;
    map_clear(&apimap->defs);
    arena_clear(&apimap->arena);
    mutex_clear(&apimap->lock);
    free(apimap);
}

// ---------------------------------------- overriding

static Str either(Str given, Str there) {
    return given.n ? given : there;
}

#define EACH(list, i) for (size_t i = 0; i < (list).n; i++)

static Status *merge_args(const ApiDef_Arg *given, size_t n_given, ApiDef_Arg *there, size_t n, const char *what) {
    for (size_t i = 0; i < n_given; i++) {
        size_t at = 0;
        while (at < n && !str_equal(there[at].name, given[i].name))
            at++;
        NEED(at < n, FAILED_PRECONDITION, "there is no %s '%.*s'", what, STR_ARGS(given[i].name));
        there[at].rename_to = either(given[i].rename_to, there[at].rename_to);
        there[at].description = either(given[i].description, there[at].description);
    }
    return OK;
}

static Status *merge(const ApiDef *given, ApiDef *there) {
    if (given->visibility != ApiDef_Visibility_DEFAULT_VISIBILITY)
        there->visibility = given->visibility;
    if (given->endpoint.n)
        there->endpoint = given->endpoint;
    TRY(merge_args(given->in_arg.p, given->in_arg.n, there->in_arg.p, there->in_arg.n, "input argument"));
    TRY(merge_args(given->out_arg.p, given->out_arg.n, there->out_arg.p, there->out_arg.n, "output argument"));
    EACH(given->attr, i) {
        size_t at = 0;
        while (at < there->attr.n && !str_equal(there->attr.p[at].name, given->attr.p[i].name))
            at++;
        NEED(at < there->attr.n, FAILED_PRECONDITION, "there is no attr '%.*s'", STR_ARGS(given->attr.p[i].name));
        ApiDef_Attr *attr = &there->attr.p[at];
        attr->rename_to = either(given->attr.p[i].rename_to, attr->rename_to);
        attr->description = either(given->attr.p[i].description, attr->description);
        if (given->attr.p[i].default_value)
            attr->default_value = given->attr.p[i].default_value;
    }
    if (given->arg_order.n) {
        NEED(given->arg_order.n == there->arg_order.n, FAILED_PRECONDITION, "arg_order names %zu of %zu arguments",
             given->arg_order.n, there->arg_order.n);
        there->arg_order = given->arg_order;
    }
    there->summary = either(given->summary, there->summary);
    there->description = either(given->description, there->description);
    there->description_prefix = either(given->description_prefix, there->description_prefix);
    there->description_suffix = either(given->description_suffix, there->description_suffix);
    there->deprecation_message = either(given->deprecation_message, there->deprecation_message);
    if (given->deprecation_version)
        there->deprecation_version = given->deprecation_version;
    return OK;
}

static Status *put(TF_ApiDefMap *map, Str text) {
    NEED(!map->read, FAILED_PRECONDITION, "Cannot call TF_ApiDefMapPut after TF_ApiDefMapGet has been called.");
    char *copy = arena_copy(&map->arena, text.p, text.n);
    NEED_MEMORY(copy);
    ApiDefsProto *defs;
    TRY(PROTO_PARSE(ApiDefsProto, &map->arena, ((Str){copy, text.n}), &defs));
    EACH(defs->op, i) {
        ApiDef *there = map_find(&map->defs, defs->op.p[i].graph_op_name);
        if (there)  // those of ops that aren't listed are passed over, as upstream does
            TRY(status_prefix(merge(&defs->op.p[i], there), "%.*s", STR_ARGS(there->graph_op_name)));
    }
    return OK;
}

void TF_ApiDefMapPut(TF_ApiDefMap *api_def_map, const char *text, size_t text_len, TF_Status *status) {
    mutex_lock(&api_def_map->lock);
    api_set(status, put(api_def_map, api_bytes(text, text_len)));
    mutex_unlock(&api_def_map->lock);
}

TF_Buffer *TF_ApiDefMapGet(TF_ApiDefMap *api_def_map, const char *name, size_t name_len, TF_Status *status) {
    TF_Buffer *out = NULL;
    mutex_lock(&api_def_map->lock);
    api_def_map->read = true;
    const ApiDef *def = map_find(&api_def_map->defs, (Str){name, name_len});
    if (def) {
        out = TF_NewBuffer();
        if (api_failed(status, out ? buffer_fill_message(out, &message_ApiDef, def)
                                   : OUT_OF_MEMORY)) {
            TF_DeleteBuffer(out);
            out = NULL;
        }
    }
    mutex_unlock(&api_def_map->lock);
    return out;
}
