// Text of the C interface — see millrace/millrace.h: tensors and calls as text.
#include <stdlib.h>

#include "api/api.h"
#include "api/environment.h"
#include "formula/expression.h"
#include "millrace/millrace.h"
#include "proto/messages.h"
#include "proto/text.h"
#include "tensor/literal.h"

#ifndef MILLRACE_VERSION
#define MILLRACE_VERSION "0.1.0"
#endif

const char *mr_version(void) {
    return MILLRACE_VERSION;
}

TF_Tensor *mr_tensor_parse(const char *text, TF_DataType dtype, TF_Status *status) {
    Tensor value;
    if (api_failed(status, literal_parse(str_of(text), (DType)dtype, &value, NULL)))
        return NULL;
    TF_Tensor *tensor = api_tensor(&value);
    if (!tensor)
        api_set(status, OUT_OF_MEMORY);
    return tensor;
}

void mr_tensor_print(const TF_Tensor *tensor, int style, TF_Buffer *out, TF_Status *status) {
    LiteralStyle how = {.lines = style & MR_LINES, .json = style & MR_JSON, .most = style & MR_SHORT ? 1000 : 0};
    AUTO(text) Text text = {0};
    literal_print(&text, &tensor->tensor, &how);
    api_set(status, buffer_fill(out, &text));
}

const char *mr_dtype_name(TF_DataType dtype) {
    return dtype_is_valid((DType)dtype) ? dtype_name((DType)dtype) : NULL;
}

TF_DataType mr_dtype_find(const char *name) {
    return (TF_DataType)dtype_find(str_of(name));
}

// ---------------------------------------- messages

static Status *message_type(Str name, const MessageType **out) {
    static const MessageType *const TYPES[] = {&message_GraphDef, &message_SavedModelProto, &message_MetaGraphDef,
                                               &message_FunctionDef};
    static const char *const NAMES[] = {"GraphDef", "SavedModel", "MetaGraphDef", "FunctionDef"};
    for (int i = 0; i < 4; i++)
        if (str_is(name, NAMES[i])) {
            *out = TYPES[i];
            return OK;
        }
    FAIL(INVALID_ARGUMENT,
         "'%.*s' is no message that can be read as text: GraphDef, SavedModel, MetaGraphDef and FunctionDef are",
         STR_ARGS(name));
}

static Status *parse_message(Str name, Str text, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    const MessageType *type;
    void *message;
    TRY(message_type(name, &type));
    TRY(proto_parse(&arena, type, text, &message));
    TRY(proto_encode(type, message, &bytes));
    return buffer_fill(out, &bytes);
}

static Status *print_message(Str name, Str bytes, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text text = {0};
    const MessageType *type;
    void *message;
    TRY(message_type(name, &type));
    TRY(proto_decode(&arena, type, bytes, &message));
    TRY(proto_print(type, message, &text));
    return buffer_fill(out, &text);
}

void mr_message_print(const char *message, const void *bytes, size_t length, TF_Buffer *out, TF_Status *status) {
    api_set(status, print_message(str_of(message), (Str){bytes, length}, out));
}

void mr_message_parse(const char *message, const char *text, size_t length, TF_Buffer *out, TF_Status *status) {
    api_set(status, parse_message(str_of(message), (Str){text, length}, out));
}

// ---------------------------------------- calls

typedef VEC(Output) Edges;

static Status *run_call(Session *session, const ExpressionBuild *build, const Node *node, Tensor *results) {
    StepSignature init = {.targets = build->inits.p, .n_targets = (int)build->inits.n};
    if (build->inits.n)
        TRY(session_run(session, &init, &run_settings_default, NULL, NULL));
    AUTO(arena) Arena arena = {0};
    Output *fetches = ARENA_ARRAY(&arena, Output, node->n_outputs);
    NEED_MEMORY(fetches);
    for (int i = 0; i < node->n_outputs; i++)
        fetches[i] = (Output){(Node *)node, i};
    Node *target = (Node *)node;
    StepSignature signature = {.fetches = fetches, .n_fetches = node->n_outputs, .targets = &target,
                               .n_targets = node->n_outputs == 0};
    TRY(session_run(session, &signature, &run_settings_default, NULL, results));
    // An op that gives nothing has changed variables: these are the result.
    StepSignature reads = {.fetches = build->variables.p, .n_fetches = (int)build->variables.n};
    if (node->n_outputs == 0 && build->variables.n)
        TRY(session_run(session, &reads, &run_settings_default, NULL, results));
    return OK;
}

static Status *eval_in(Graph *graph, const char *text, Tensor *results, int room, int *n) {
    AUTO(arena) Arena arena = {0};
    Expression *call;
    size_t used;
    TRY(expression_parse(str_of(text), false, &arena, &call, &used));
    Str rest = expression_trim((Str){text + used, strlen(text) - used});
    NEED(rest.n == 0, INVALID_ARGUMENT, "column %zu: nothing is expected behind the call", used + 1);
    AUTO(expression_build) ExpressionBuild build = {.graph = graph, .forced_attr = -1};
    Node *node;
    TRY(expression_build(&build, call, &node));
    *n = node->n_outputs ? node->n_outputs : (int)build.variables.n;
    NEED(*n <= room, UNIMPLEMENTED, "%.*s has %d results, at most %d are possible here", STR_ARGS(node->type->name), *n,
         room);
    SessionConfig config = session_config_default();
    Session *session;
    TRY(environment_session(graph, NULL, &config, &session));
    Status *status = run_call(session, &build, node, results);
    session_free(session);
    return status;
}

enum { MOST_RESULTS = 64 };

int mr_eval(const char *call, TF_Tensor **results, int most, TF_Status *status) {
    api_begin();
    Graph *graph;
    if (api_failed(status, graph_new(&graph)))
        return -1;
    Tensor values[MOST_RESULTS] = {0};
    int n = 0;
    Status *error = eval_in(graph, call, values, MOST_RESULTS, &n);
    graph_release(graph);
    for (int i = 0; i < most && i < n; i++)
        results[i] = NULL;
    for (int i = 0; i < n && !error; i++) {
        if (i >= most)
            tensor_clear(&values[i]);
        else if (!(results[i] = api_tensor(&values[i])))
            error = OUT_OF_MEMORY;
    }
    for (int i = 0; error && i < n; i++) {
        tensor_clear(&values[i]);
        if (i < most && results[i])
            TF_DeleteTensor(results[i]);
    }
    return api_failed(status, error) ? -1 : n;
}
