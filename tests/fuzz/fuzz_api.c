// fuzz_api — bytes as a program of calls of the C interface: build, import, run, differentiate, delete in any order.
//
// Each byte pair chooses a call and what it is given. Nothing may crash, hang, leak, or answer an error by anything but
// a status. Objects live in small tables; a call without what it needs does nothing.
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { GRAPHS = 3, SESSIONS = 3, OUTPUTS = 64, FEEDS = 4, MOST_CALLS = 200 };

typedef struct {
    const uint8_t *at, *end;
    TF_Graph *graphs[GRAPHS];
    TF_Session *sessions[SESSIONS];
    int session_graph[SESSIONS];
    TF_Output outputs[GRAPHS][OUTPUTS];
    int n_outputs[GRAPHS];
    unsigned names;
    TF_Status *status;
} Machine;

static unsigned next(Machine *m) {
    return m->at < m->end ? *m->at++ : 0;
}

static const char *const ops[] = {
    "Add", "AddV2", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod", "Pow", "Maximum", "Neg", "Exp", "Sqrt", "Cast",
    "MatMul", "BatchMatMulV2", "Sum", "Mean", "Max", "ArgMax", "Reshape", "ExpandDims", "Squeeze", "Transpose", "Tile",
    "Fill", "BroadcastTo", "Shape", "Size", "Rank", "Identity", "IdentityN", "AddN", "Select", "SelectV2", "Equal",
    "Less", "LogicalAnd", "Softmax", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "NoOp",
    "Variable",
    "VariableV2", "Assign", "AssignAdd", "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "ResourceGather",
    "ScatterUpdate", "ScatterNdAdd", "ApplyGradientDescent", "ApplyAdam", "RandomUniform", "RandomShuffle",
    "StatelessRandomUniform", "FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueManyV2", "QueueCloseV2", "QueueSizeV2",
    "ConcatV2", "Pack", "Unpack", "Split", "SplitV", "Slice", "StridedSlice", "Pad", "MirrorPad", "GatherV2",
    "GatherNd",
    "ScatterNd", "Where", "OneHot", "Range", "LinSpace", "Conv2D", "Conv2DBackpropInput", "MaxPool", "AvgPool",
    "AvgPoolGrad", "BiasAdd", "FusedBatchNormV3", "Relu", "ReluGrad", "TopKV2", "Unique", "SegmentSum",
    "UnsortedSegmentSum", "Bitcast", "DynamicPartition", "DynamicStitch", "ReverseV2", "ReverseSequence", "Cumsum",
    "SparseSoftmaxCrossEntropyWithLogits", "MatrixBandPart", "DecodeRaw", "StringJoin", "StringSplit", "AsString",
    "ParseExample", "TensorListReserve", "StackV2", "PartitionedCall", "If", "While", "_Fused", "_Recv", "_Arg",
};
static const TF_DataType types[] = {TF_FLOAT, TF_INT32, TF_INT64, TF_BOOL, TF_DOUBLE, TF_HALF, TF_STRING, TF_COMPLEX64,
                                    TF_UINT8, TF_RESOURCE, (TF_DataType)101, (TF_DataType)77};
static const char *const type_attrs[] = {"T", "dtype", "DstT", "SrcT", "Tidx", "Tindices", "out_type", "shape"};
static const char *const int_attrs[] = {"N", "axis", "num_split", "capacity", "num", "k", "depth",
                                        "parallel_iterations"};
static const char *const bool_attrs[] = {"keep_dims", "transpose_a", "transpose_b", "is_constant", "exclusive"};
static const char *const list_attrs[] = {"strides", "ksize", "dilations", "explicit_paddings", "squeeze_dims"};
static const char *const strings[] = {"SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "loop", "f", "", "REFLECT"};
static const char *const string_attrs[] = {"padding", "data_format", "frame_name", "shared_name", "container", "mode",
                                           "f"};
#define PICK(m, table) ((table)[next(m) % (sizeof(table) / sizeof *(table))])

// Mostly small, now and then at the edges.
static int64_t number(Machine *m) {
    static const int64_t odd[] = {-1, INT32_MAX, (int64_t)INT32_MAX + 1, INT64_MAX, INT64_MIN, (int64_t)1 << 62, -7,
                                  1 << 20};
    unsigned byte = next(m);
    return byte < 200 ? byte % 5 : odd[byte % 8];
}

// Mostly float and int32, else few nodes would be made.
static TF_DataType likely_type(Machine *m) {
    unsigned byte = next(m);
    return byte < 128 ? TF_FLOAT : byte < 192 ? TF_INT32 : types[byte % 9];
}

static TF_Tensor *tensor(Machine *m) {
    TF_DataType type = likely_type(m);
    int64_t dims[4], count = 1;
    unsigned shape = next(m);
    int rank = (int)(shape % 4);
    for (int i = 0; i < rank; i++) {
        dims[i] = shape < 160 ? 2 : next(m) % 5;
        count *= dims[i];
    }
    size_t size = type == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(type);
    TF_Tensor *t = TF_AllocateTensor(type, dims, rank, (size_t)count * size);
    for (int64_t i = 0; t && i < count; i++) {
        char *element = (char *)TF_TensorData(t) + (size_t)i * size;
        if (type == TF_STRING) {
            TF_StringInit((TF_TString *)element);
            TF_StringCopy((TF_TString *)element, "abcdefghijklmnopqrstuvwxyz", next(m) % 27);
        } else if (type == TF_FLOAT) {
            *(float *)element = (float)number(m);
        } else if (type == TF_INT32) {
            *(int32_t *)element = (int32_t)number(m);
        } else if (type == TF_INT64) {
            *(int64_t *)element = number(m);
        } else {
            memset(element, type == TF_BOOL ? (int)(next(m) & 1) : (int)next(m), size);
        }
    }
    return t;
}

static int graph_at(Machine *m) {
    int g = (int)(next(m) % GRAPHS);
    if (!m->graphs[g]) {
        m->graphs[g] = TF_NewGraph();
        m->n_outputs[g] = 0;
    }
    return g;
}

static TF_Output output_at(Machine *m, int g) {
    return m->outputs[g][next(m) % (unsigned)m->n_outputs[g]];
}

static void keep_outputs(Machine *m, int g, TF_Operation *op) {
    for (int i = 0; op && i < TF_OperationNumOutputs(op) && i < 4; i++) {
        int at = m->n_outputs[g] < OUTPUTS ? m->n_outputs[g]++ : (int)(next(m) % OUTPUTS);
        m->outputs[g][at] = (TF_Output){op, i};
    }
}

static const char *name(Machine *m, char *room) {
    unsigned id = next(m) < 250 ? m->names++ : m->names / 2;  // now and then a name that is taken
    int at = 0;
    room[at++] = 'n';
    for (; id; id /= 10)
        room[at++] = (char)('0' + id % 10);
    room[at] = 0;
    return room;
}

static void set_attr(Machine *m, TF_OperationDescription *desc) {
    int64_t numbers[4] = {number(m), number(m), 1, 1};
    const char *text;
    TF_Tensor *t;
    switch (next(m) % 8) {
    case 0: TF_SetAttrType(desc, PICK(m, type_attrs), PICK(m, types)); break;
    case 1: TF_SetAttrInt(desc, PICK(m, int_attrs), number(m)); break;
    case 2: TF_SetAttrBool(desc, PICK(m, bool_attrs), next(m) & 1); break;
    case 3: TF_SetAttrIntList(desc, PICK(m, list_attrs), numbers, (int)(next(m) % 5)); break;
    case 4:
        text = PICK(m, strings);
        TF_SetAttrString(desc, PICK(m, string_attrs), text, strlen(text));
        break;
    case 5: TF_SetAttrShape(desc, "shape", numbers, (int)(next(m) % 5) - 1); break;
    case 6:
        t = tensor(m);
        TF_SetAttrTensor(desc, "value", t, m->status);
        TF_DeleteTensor(t);
        break;
    default: TF_SetAttrTypeList(desc, "component_types", types, (int)(next(m) % 3)); break;
    }
}

static void add_node(Machine *m) {
    char room[16];
    int g = graph_at(m);
    TF_OperationDescription *desc = TF_NewOperation(m->graphs[g], PICK(m, ops), name(m, room));
    unsigned shape = next(m);
    for (unsigned i = 0; i < shape % 5 && m->n_outputs[g]; i++) {
        TF_Output list[2] = {output_at(m, g), output_at(m, g)};
        if (shape & 64 && i == (shape >> 3) % 4)
            TF_AddInputList(desc, list, (int)(next(m) % 3));
        else
            TF_AddInput(desc, list[0]);
    }
    for (unsigned i = shape < 128 ? 0 : shape >> 5; i; i--)
        set_attr(m, desc);
    if (next(m) % 16 == 0 && m->n_outputs[g])
        TF_AddControlInput(desc, output_at(m, g).oper);
    keep_outputs(m, g, TF_FinishOperation(desc, m->status));
}

static void add_constant(Machine *m) {
    char room[16];
    int g = graph_at(m);
    TF_Tensor *value = tensor(m);
    TF_OperationDescription *desc = TF_NewOperation(m->graphs[g], "Const", name(m, room));
    TF_SetAttrTensor(desc, "value", value, m->status);
    TF_SetAttrType(desc, "dtype", TF_TensorType(value));
    TF_DeleteTensor(value);
    keep_outputs(m, g, TF_FinishOperation(desc, m->status));
}

static void add_placeholder(Machine *m) {
    char room[16];
    int g = graph_at(m);
    TF_OperationDescription *desc = TF_NewOperation(m->graphs[g], "Placeholder", name(m, room));
    TF_SetAttrType(desc, "dtype", likely_type(m));
    keep_outputs(m, g, TF_FinishOperation(desc, m->status));
}

static void import(Machine *m) {
    int g = graph_at(m);
    size_t n = next(m) * 4u;
    if (n > (size_t)(m->end - m->at))
        n = (size_t)(m->end - m->at);
    TF_Buffer *def = TF_NewBufferFromString(m->at, n);
    m->at += n;
    TF_Buffer *whole = TF_NewBuffer();
    if (next(m) & 1) {  // another graph, or the same once more
        TF_GraphToGraphDef(m->graphs[graph_at(m)], whole, m->status);
        TF_DeleteBuffer(def);
        def = whole;
    } else {
        TF_DeleteBuffer(whole);
    }
    TF_ImportGraphDefOptions *options = TF_NewImportGraphDefOptions();
    if (next(m) & 1)
        TF_ImportGraphDefOptionsSetPrefix(options, "p");
    if (next(m) & 1)
        TF_ImportGraphDefOptionsSetUniquifyNames(options, 1);
    TF_GraphImportGraphDef(m->graphs[g], def, options, m->status);
    TF_DeleteImportGraphDefOptions(options);
    TF_DeleteBuffer(def);
}

static void open_session(Machine *m) {
    int s = (int)(next(m) % SESSIONS), g = graph_at(m);
    if (m->sessions[s])
        return;
    TF_SessionOptions *options = TF_NewSessionOptions();
    const uint8_t one_thread[] = {0x10, 1, 0x28, 1};
    TF_SetConfig(options, one_thread, sizeof one_thread, m->status);
    m->sessions[s] = TF_NewSession(m->graphs[g], options, m->status);
    m->session_graph[s] = g;
    TF_DeleteSessionOptions(options);
}

static void run(Machine *m) {
    int s = (int)(next(m) % SESSIONS), g = m->session_graph[s];
    if (!m->sessions[s] || !m->graphs[g] || !m->n_outputs[g])
        return;
    TF_Output feeds[FEEDS], fetches[FEEDS];
    TF_Tensor *in[FEEDS], *out[FEEDS] = {0};
    unsigned shape = next(m);
    int n_feeds = (int)(shape % FEEDS), n_fetches = (int)(shape / 8 % FEEDS);
    for (int i = 0; i < n_feeds; i++) {
        feeds[i] = output_at(m, g);
        in[i] = tensor(m);
    }
    for (int i = 0; i < n_fetches; i++)
        fetches[i] = output_at(m, g);
    const TF_Operation *target = output_at(m, g).oper;
    const uint8_t timeout[] = {0x10, 100};
    TF_Buffer *options = TF_NewBufferFromString(timeout, sizeof timeout);
    TF_SessionRun(m->sessions[s], options, feeds, in, n_feeds, fetches, out, n_fetches, &target, (int)(shape >> 7),
                  NULL, m->status);
    TF_DeleteBuffer(options);
    for (int i = 0; i < n_feeds; i++)
        TF_DeleteTensor(in[i]);
    for (int i = 0; i < n_fetches; i++)
        TF_DeleteTensor(out[i]);
}

static void differentiate(Machine *m) {
    int g = graph_at(m);
    if (!m->n_outputs[g])
        return;
    TF_Output y[2] = {output_at(m, g), output_at(m, g)}, x[2] = {output_at(m, g), output_at(m, g)}, dx[2] = {{0}};
    int nx = 1 + (int)(next(m) & 1);
    TF_AddGradients(m->graphs[g], y, 1 + (int)(next(m) & 1), x, nx, NULL, m->status, dx);
    for (int i = 0; i < nx && TF_GetCode(m->status) == TF_OK; i++)
        if (dx[i].oper)
            keep_outputs(m, g, dx[i].oper);
}

static void make_function(Machine *m) {
    int g = graph_at(m), other = graph_at(m);
    if (!m->n_outputs[g])
        return;
    TF_Output in[2] = {output_at(m, g), output_at(m, g)}, out[1] = {output_at(m, g)};
    TF_Function *f = TF_GraphToFunction(m->graphs[g], "f", 0, -1, NULL, (int)(next(m) % 3), in, 1, out, NULL, NULL,
                                        NULL, m->status);
    if (f) {
        TF_GraphCopyFunction(m->graphs[other], f, NULL, m->status);
        TF_DeleteFunction(f);
    }
}

static void delete(Machine *m) {
    unsigned which = next(m);
    int s = (int)(which % SESSIONS), g = (int)(which / 4 % GRAPHS);
    if (which & 128 && m->sessions[s]) {
        if (which & 64)
            TF_CloseSession(m->sessions[s], m->status);
        TF_DeleteSession(m->sessions[s], m->status);
        m->sessions[s] = NULL;
    } else if (m->graphs[g]) {
        TF_DeleteGraph(m->graphs[g]);
        m->graphs[g] = NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    Machine m = {.at = bytes, .end = bytes + n, .status = TF_NewStatus()};
    for (int calls = 0; m.at < m.end && calls < MOST_CALLS; calls++) {
        switch (next(&m) % 16) {
        case 0: add_placeholder(&m); break;
        case 1: case 2: add_constant(&m); break;
        case 3: case 4: case 5: case 6: case 7: add_node(&m); break;
        case 8: import(&m); break;
        case 9: open_session(&m); break;
        case 10: case 11: case 12: run(&m); break;
        case 13: differentiate(&m); break;
        case 14: make_function(&m); break;
        default: delete(&m); break;
        }
    }
    for (int s = 0; s < SESSIONS; s++)
        if (m.sessions[s])
            TF_DeleteSession(m.sessions[s], m.status);
    for (int g = 0; g < GRAPHS; g++)
        if (m.graphs[g])
            TF_DeleteGraph(m.graphs[g]);
    TF_DeleteStatus(m.status);
    return 0;
}
