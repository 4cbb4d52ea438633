// What the files of api/ share: the structs behind the C interface's names, and the ways in and out.
//
// Every function that has a TF_Status sets it: OK on entry counts as set by `api_ok` at the end. A TF_Operation is a
// Node, a TF_Output an Output. NULL is accepted where TensorFlow accepts it, and where it would crash we answer an
// error.
#pragma once
#include "graph/graph_def.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"
#include "thread/mutex.h"

// ---------------------------------------- status

typedef struct Payload {
    struct Payload *next;
    char *key, *value;
} Payload;

struct TF_Status {
    Status *error;      // NULL: OK
    Payload *payloads;
};

void api_set(TF_Status *out, Status *status);  // takes the status; NULL is OK. `out` may be NULL
static inline bool api_failed(TF_Status *out, Status *status) {
    api_set(out, status);
    return status != OK;
}
static inline void api_ok(TF_Status *out) {
    api_set(out, OK);
}
#define API_ERROR(code, ...) status_new((code), __FILE__, __LINE__, __VA_ARGS__)

// ---------------------------------------- buffers

// Gives the text's memory to an empty buffer. INVALID_ARGUMENT where it isn't empty.
FALLIBLE Status *buffer_fill(TF_Buffer *out, Text *text);
FALLIBLE Status *buffer_fill_message(TF_Buffer *out, const MessageType *type, const void *message);
static inline Str api_bytes(const void *data, size_t length) {
    return (Str){data, data ? length : 0};
}

// ---------------------------------------- tensors

struct TF_Tensor {
    Tensor tensor;      // always with a buffer
    size_t bytes;       // what TF_TensorByteSize says: the client's own number for its own memory
};

// Takes the tensor's reference; NULL when memory is out (then it is released).
TF_Tensor *api_tensor(Tensor *tensor);
// A tensor that the machine may keep: its own reference, resources decoded. INVALID_ARGUMENT for raw variants.
FALLIBLE Status *api_tensor_in(const TF_Tensor *from, Tensor *out);

// ---------------------------------------- graphs

// Counted by the client and each session. The lock guards the graph; sessions take it too.
struct TF_Graph {
    Graph *graph;
    Mutex lock;
    _Atomic int32_t references;
    struct TF_WhileGraph *loop;   // set in the condition and body graphs of TF_NewWhile
};
void api_graph_retain(TF_Graph *graph);
void api_graph_release(TF_Graph *graph);

struct TF_Function {
    Function *function;
    char *name;
};
TF_Function *api_function(Function *function);  // takes the reference; NULL when memory is out

_Static_assert(sizeof(TF_Output) == sizeof(Output) && offsetof(TF_Output, index) == offsetof(Output, index), "");
static inline Node *api_node(const TF_Operation *oper) {
    return (Node *)oper;
}
static inline TF_Operation *api_operation(const Node *node) {
    return (TF_Operation *)node;
}
static inline Output api_output(TF_Output output) {
    return (Output){(Node *)output.oper, output.index};
}
// Whether there is such an output. INVALID_ARGUMENT, OUT_OF_RANGE.
FALLIBLE Status *api_output_check(const Graph *graph, TF_Output output);
// The name of a type with a NUL behind it; lives for ever.
const char *api_type_name(const OpType *type);
// num_dims -1: unknown rank.
FALLIBLE Status *api_shape(const int64_t *dims, int num_dims, Shape *out);

// The ops of this library become known to the graph layer; idempotent, called wherever a client can begin.
void api_begin(void);
