// TF_Function — see c_api.h. A TF_Function is a counted Function; changing an attribute makes another one.
#include <stdlib.h>

#include "api/api.h"
#include "proto/text.h"

TF_Function *api_function(Function *function) {
    TF_Function *f = calloc(1, sizeof *f);
    char *name = malloc(function->type.name.n + 1);
    if (!f || !name) {
        free(f);
        free(name);
        function_release(function);
        return NULL;
    }
    memcpy(name, function->type.name.p, function->type.name.n);
    name[function->type.name.n] = 0;
    f->function = function;
    f->name = name;
    return f;
}

void TF_DeleteFunction(TF_Function *func) {
    if (!func)
        return;
    function_release(func->function);
    free(func->name);
    free(func);
}

const char *TF_FunctionName(TF_Function *func) {
    return func->name;
}

// ---------------------------------------- functions of a graph

static Status *copy_function(Graph *graph, const TF_Function *func, const TF_Function *grad) {
    NEED(func, INVALID_ARGUMENT, "'func' argument to TF_GraphCopyFunction cannot be null");
    Str there = function_gradient(graph, func->function->type.name);
    NEED(!grad || !there.n || str_equal(there, grad->function->type.name), INVALID_ARGUMENT,
         "Cannot assign gradient function '%s' to '%s' because it already has gradient function '%.*s'", grad->name,
         func->name, STR_ARGS(there));
    bool fresh = !function_find(graph, func->function->type.name);
    TRY(function_add(graph, func->function));
    Status *status = grad ? function_add(graph, grad->function) : OK;
    if (!status && grad)
        status = function_set_gradient(graph, func->function->type.name, grad->function->type.name);
    if (status && fresh) {
        Status *gone = function_remove(graph, func->function->type.name);
        status_free(gone);
    }
    return status;
}

void TF_GraphCopyFunction(TF_Graph *g, const TF_Function *func, const TF_Function *grad, TF_Status *status) {
    mutex_lock(&g->lock);
    api_set(status, copy_function(g->graph, func, grad));
    mutex_unlock(&g->lock);
}

void TF_GraphRemoveFunction(TF_Graph *g, const char *func_name, TF_Status *status) {
    mutex_lock(&g->lock);
    api_set(status, function_remove(g->graph, str_of(func_name)));
    mutex_unlock(&g->lock);
}

int TF_GraphNumFunctions(TF_Graph *g) {
    mutex_lock(&g->lock);
    int n = (int)g->graph->functions->order.n;
    mutex_unlock(&g->lock);
    return n;
}

int TF_GraphGetFunctions(TF_Graph *g, TF_Function **funcs, int max_func, TF_Status *status) {
    api_ok(status);
    mutex_lock(&g->lock);
    const FunctionLibrary *library = g->graph->functions;
    int n = 0;
    while (n < max_func && (size_t)n < library->order.n) {
        funcs[n] = api_function(function_retain(library->order.p[n]));
        if (!funcs[n]) {
            api_set(status, OUT_OF_MEMORY);
            break;
        }
        n++;
    }
    mutex_unlock(&g->lock);
    return n;
}

// ---------------------------------------- from a graph

TF_Function *TF_GraphToFunctionWithControlOutputs(const TF_Graph *fn_body, const char *fn_name,
                                                  unsigned char append_hash_to_fn_name, int num_opers,
                                                  const TF_Operation *const *opers, int ninputs,
                                                  const TF_Output *inputs, int noutputs, const TF_Output *outputs,
                                                  const char *const *output_names, int ncontrol_outputs,
                                                  const TF_Operation *const *control_outputs,
                                                  const char *const *control_output_names,
                                                  const TF_FunctionOptions *opts, const char *description,
                                                  TF_Status *status) {
    (void)opts;
    TF_Graph *graph = (TF_Graph *)fn_body;
    FunctionSpec spec = {
        .name = str_of(fn_name),
        .append_hash = append_hash_to_fn_name != 0,
        .nodes = (Node *const *)opers,
        .n_nodes = num_opers < 0 ? -1 : num_opers,
        .inputs = (const Output *)inputs,
        .n_inputs = ninputs,
        .outputs = (const Output *)outputs,
        .n_outputs = noutputs,
        .output_names = output_names,
        .controls = (Node *const *)control_outputs,
        .n_controls = ncontrol_outputs,
        .control_names = control_output_names,
        .description = str_of(description),
    };
    Function *function = NULL;
    mutex_lock(&graph->lock);
    bool failed = api_failed(status, function_from_graph(graph->graph, &spec, &function));
    mutex_unlock(&graph->lock);
    if (failed)
        return NULL;
    TF_Function *result = api_function(function);
    if (!result)
        api_set(status, OUT_OF_MEMORY);
    return result;
}

TF_Function *TF_GraphToFunction(const TF_Graph *fn_body, const char *fn_name, unsigned char append_hash_to_fn_name,
                                int num_opers, const TF_Operation *const *opers, int ninputs, const TF_Output *inputs,
                                int noutputs, const TF_Output *outputs, const char *const *output_names,
                                const TF_FunctionOptions *opts, const char *description, TF_Status *status) {
    return TF_GraphToFunctionWithControlOutputs(fn_body, fn_name, append_hash_to_fn_name, num_opers, opers, ninputs,
                                                inputs, noutputs, outputs, output_names, 0, NULL, NULL, opts,
                                                description, status);
}

// ---------------------------------------- protos

void TF_FunctionToFunctionDef(TF_Function *func, TF_Buffer *output_func_def, TF_Status *status) {
    AUTO(text) Text text = {0};
    text_add(&text, func->function->bytes);
    api_set(status, buffer_fill(output_func_def, &text));
}

TF_Function *TF_FunctionImportFunctionDef(const void *proto, size_t proto_len, TF_Status *status) {
    Function *function;
    if (api_failed(status, function_new(api_bytes(proto, proto_len), &function)))
        return NULL;
    TF_Function *result = api_function(function);
    if (!result)
        api_set(status, OUT_OF_MEMORY);
    return result;
}

// A Function is immutable, as graphs share it: a changed one is made and replaces it in this TF_Function only.
static Status *set_attr(TF_Function *func, Str name, Str bytes) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text text = {0};
    const FunctionDef *body;
    AttrValueProto *value;
    Status *status = PROTO_DECODE(AttrValueProto, &arena, bytes, &value);
    if (status) {
        status_free(status);
        FAIL(INVALID_ARGUMENT, "Unparseable AttrValue proto passed to TF_FunctionSetAttrValueProto");
    }
    TRY(function_body(func->function, &arena, &body));
    FunctionDef def = *body;
    def.attr.p = ARENA_ARRAY(&arena, AttrValueEntry, body->attr.n + 1);
    NEED_MEMORY(def.attr.p);
    def.attr.n = 0;
    for (size_t i = 0; i < body->attr.n; i++)
        if (!str_equal(body->attr.p[i].key, name))
            def.attr.p[def.attr.n++] = body->attr.p[i];
    def.attr.p[def.attr.n++] = (AttrValueEntry){.key = name, .value = value};
    TRY(PROTO_ENCODE(FunctionDef, &def, &text));
    Function *changed;
    TRY(function_new(text_str(&text), &changed));
    function_release(func->function);
    func->function = changed;
    return OK;
}

void TF_FunctionSetAttrValueProto(TF_Function *func, const char *attr_name, const void *proto, size_t proto_len,
                                  TF_Status *status) {
    api_set(status, set_attr(func, str_of(attr_name), api_bytes(proto, proto_len)));
}

static Status *get_attr(const TF_Function *func, Str name, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    const FunctionDef *body;
    TRY(function_body(func->function, &arena, &body));
    for (size_t i = 0; i < body->attr.n; i++)
        if (str_equal(body->attr.p[i].key, name))
            return buffer_fill_message(out, &message_AttrValueProto, body->attr.p[i].value);
    FAIL(INVALID_ARGUMENT, "Function '%s' has no attr named '%.*s'.", func->name, STR_ARGS(name));
}

void TF_FunctionGetAttrValueProto(TF_Function *func, const char *attr_name, TF_Buffer *output_attr_value,
                                  TF_Status *status) {
    api_set(status, get_attr(func, str_of(attr_name), output_attr_value));
}

// ---------------------------------------- texts

char *TF_FunctionDebugString(TF_Function *func, size_t *len) {
    AUTO(arena) Arena arena = {0};
    Text text = {0};
    const FunctionDef *body;
    Status *status = function_body(func->function, &arena, &body);
    if (!status)
        status = PROTO_PRINT(FunctionDef, body, &text);
    status_free(status);
    text_add(&text, STR(""));
    *len = text.n;
    return text.p;
}

const char *TF_GraphDebugString(TF_Graph *graph, size_t *len) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    Text text = {0};
    GraphDef *def;
    mutex_lock(&graph->lock);
    Status *status = graph_to_proto(graph->graph, &bytes);
    mutex_unlock(&graph->lock);
    if (!status)
        status = PROTO_DECODE(GraphDef, &arena, text_str(&bytes), &def);
    if (!status)
        status = PROTO_PRINT(GraphDef, def, &text);
    status_free(status);
    text_add(&text, STR(""));
    *len = text.n;
    return text.p;
}
