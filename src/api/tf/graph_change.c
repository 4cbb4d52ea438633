// Changes to operations that exist — see the end of c_api.h. Plans that were made before are void: graph->edit grows.
#include "api/api.h"
#include "graph/wire.h"
#include "proto/tensor_proto.h"

static Status *check_node(const Graph *graph, const TF_Operation *oper) {
    const Node *node = api_node(oper);
    NEED(node && node->graph == graph && node->id >= 0, INVALID_ARGUMENT, "the operation is not of this graph");
    return OK;
}

// ---------------------------------------- edges

static Status *update_edge(const Graph *graph, TF_Output source, TF_Input to) {
    TRY(api_output_check(graph, source));
    TRY(check_node(graph, to.oper));
    Node *node = api_node(to.oper);
    NEED(to.index >= 0 && to.index < node->n_inputs, OUT_OF_RANGE,
         "Node '%.*s' (type: '%.*s', num of inputs: %d) does not have input %d", NODE_ARGS(node), node->n_inputs,
         to.index);
    const Output *from = (const Output *)&source;
    Shape shape;
    Shape *known = &from->node->output_shapes[from->index], *old = known;
    if (node->inputs[to.index].node)
        old = &node->inputs[to.index].node->output_shapes[node->inputs[to.index].index];
    TRY(status_prefix(shape_merge(known, old, &shape), "Cannot update edge, incompatible shapes"));
    return node_set_input(node, to.index, *from);
}

void TF_UpdateEdge(TF_Graph *graph, TF_Output new_src, TF_Input dst, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, update_edge(graph->graph, new_src, dst));
    mutex_unlock(&graph->lock);
}

void TF_AddOperationControlInput(TF_Graph *graph, TF_Operation *op, TF_Operation *input) {
    mutex_lock(&graph->lock);
    Status *status = check_node(graph->graph, op);
    if (!status)
        status = check_node(graph->graph, input);
    if (!status)
        status = node_add_control(api_node(op), api_node(input));
    status_free(status);
    mutex_unlock(&graph->lock);
}

void TF_RemoveAllControlInputs(TF_Graph *graph, TF_Operation *op) {
    mutex_lock(&graph->lock);
    Node *node = api_node(op);
    while (node->n_controls)
        node_remove_control(node, node->n_controls - 1);
    mutex_unlock(&graph->lock);
}

// ---------------------------------------- attributes and devices

static Status *set_attr(Graph *graph, TF_Operation *op, const char *name, const TF_Buffer *proto) {
    AUTO(arena) Arena arena = {0};
    AUTO(tensor_list) TensorList tensors = {0};
    AttrValue value;
    TRY(check_node(graph, op));
    TRY(attr_from_bytes(api_bytes(proto->data, proto->length), &arena, &tensors, &value));
    return node_set_attr(api_node(op), str_of(name), &value);
}

void TF_SetAttr(TF_Graph *graph, TF_Operation *op, const char *attr_name, TF_Buffer *attr_value_proto,
                TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, set_attr(graph->graph, op, attr_name, attr_value_proto));
    mutex_unlock(&graph->lock);
}

// Attributes of the signature stay where they are, since the node is built on them.
static Status *clear_attr(const Graph *graph, TF_Operation *op, const char *name) {
    TRY(check_node(graph, op));
    Node *node = api_node(op);
    NEED(signature_attr(&node->type->signature, str_of(name)) < 0, INVALID_ARGUMENT,
         "attr '%s' is one of op %.*s and can't be taken away", name, STR_ARGS(node->type->name));
    AttrEntry *own = ARENA_ARRAY(&node->graph->arena, AttrEntry, node->n_attrs);
    NEED_MEMORY(own);
    int kept = 0;
    for (int i = 0; i < node->n_attrs; i++)
        if (!str_is(node->attrs[i].name, name))
            own[kept++] = node->attrs[i];
    node->attrs = own;
    node->n_attrs = kept;
    node->graph->edit++;
    node->graph->version++;
    return OK;
}

void TF_ClearAttr(TF_Graph *graph, TF_Operation *op, const char *attr_name, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, clear_attr(graph->graph, op, attr_name));
    mutex_unlock(&graph->lock);
}

void TF_SetRequestedDevice(TF_Graph *graph, TF_Operation *op, const char *device) {
    mutex_lock(&graph->lock);
    Node *node = api_node(op);
    Str copy = str_copy(&graph->graph->arena, str_of(device));
    if (copy.p) {
        node->device = copy;
        graph->graph->edit++;
        graph->graph->version++;
    }
    mutex_unlock(&graph->lock);
}

// ---------------------------------------- what a handle promises: a serialized HandleData

enum { HANDLE_IS_SET = 1, HANDLE_SHAPE_AND_TYPE = 2, SHAPE_FIELD = 1, TYPE_FIELD = 2 };

// CppShapeInferenceResult.HandleData {1: bool is_set, 2: repeated {1: shape, 2: dtype}}
static Status *write_handle(const HandleShape *handle, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text shape = {0};
    AUTO(text) Text all = {0};
    if (handle) {
        TensorShapeProto *proto;
        TRY(shape_to_proto(&arena, &handle->shape, &proto));
        TRY(PROTO_ENCODE(TensorShapeProto, proto, &shape));
        NEED(shape.n < 100, INTERNAL, "a shape of %zu bytes", shape.n);  // at most 8 extents of 13 bytes, or so
        text_char(&all, HANDLE_IS_SET << 3);
        text_char(&all, 1);
        text_char(&all, HANDLE_SHAPE_AND_TYPE << 3 | 2);
        text_char(&all, (char)(shape.n + 4));
        text_char(&all, SHAPE_FIELD << 3 | 2);
        text_char(&all, (char)shape.n);
        text_add(&all, text_str(&shape));
        text_char(&all, TYPE_FIELD << 3);
        text_char(&all, (char)handle->dtype);
    }
    return buffer_fill(out, &all);
}

TF_Buffer *TF_GetHandleShapeAndType(TF_Graph *graph, TF_Output output) {
    TF_Buffer *out = TF_NewBuffer();
    if (!out)
        return NULL;
    mutex_lock(&graph->lock);
    Status *status = api_output_check(graph->graph, output);
    if (!status)
        status = write_handle(api_node(output.oper)->handles[output.index], out);
    status_free(status);
    mutex_unlock(&graph->lock);
    return out;
}

static Status *read_handle(Graph *graph, TF_Output output, Str bytes) {
    TRY(api_output_check(graph, output));
    AUTO(arena) Arena arena = {0};
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t field;
    uint64_t value;
    Str inner;
    while (wire_next(&c, &field, &inner, &value)) {
        if (field != HANDLE_SHAPE_AND_TYPE)
            continue;
        // The same fields as a DtypeAndShape of a ResourceHandle, the other way round.
        Cursor pair = cursor_of(inner.p, inner.n);
        HandleShape handle = {.shape = UNKNOWN_SHAPE};
        Str shape;
        while (wire_next(&pair, &field, &shape, &value)) {
            TensorShapeProto *proto;
            if (field == TYPE_FIELD)
                handle.dtype = (DType)value;
            if (field != SHAPE_FIELD)
                continue;
            TRY(PROTO_DECODE(TensorShapeProto, &arena, shape, &proto));
            TRY(shape_from_proto(proto, &handle.shape));
        }
        HandleShape *kept = ARENA_NEW(&graph->arena, HandleShape);
        NEED_MEMORY(kept);
        *kept = handle;
        return node_set_handle(api_node(output.oper), output.index, kept);
    }
    NEED(cursor_left(&c) == 0, INVALID_ARGUMENT, "Couldn't deserialize HandleData proto");
    return OK;
}

void TF_SetHandleShapeAndType(TF_Graph *graph, TF_Output output, const void *proto, size_t proto_len,
                              TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, read_handle(graph->graph, output, api_bytes(proto, proto_len)));
    mutex_unlock(&graph->lock);
}

// ---------------------------------------- tensors

static Status *tensor_from_bytes(const TF_Buffer *from, TF_Tensor *to) {
    AUTO(arena) Arena arena = {0};
    TensorProto *proto;
    size_t budget = SPLAT_BUDGET;
    Tensor tensor;
    TRY(PROTO_DECODE(TensorProto, &arena, api_bytes(from->data, from->length), &proto));
    TRY(tensor_from_proto(proto, &budget, &tensor));
    tensor_clear(&to->tensor);
    to->tensor = tensor;
    to->bytes = tensor_bytes(&tensor);
    return OK;
}

void TF_TensorFromProto(const TF_Buffer *from, TF_Tensor *to, TF_Status *status) {
    api_set(status, tensor_from_bytes(from, to));
}
