// TF_OperationGetAttr* — attributes of an operation. Lists are copied up to the given length.
#include "api/api.h"
#include "base/checked.h"
#include "proto/tensor_proto.h"

// An absent attribute is INVALID_ARGUMENT to some getters upstream and NOT_FOUND to others; programs ask for the code.
static Status *find(TF_Operation *oper, const char *name, Code absent, const AttrValue **out) {
    const Node *node = api_node(oper);
    const AttrValue *value = node_attr_find(node, name ? name : "");
    NEED(value, absent, "Operation '%.*s' has no attr named '%s'.", STR_ARGS(node->name), name ? name : "");
    *out = value;
    return OK;
}

// The attribute if it is of that kind. An empty list serves every kind that its op declares it to be.
static Status *get(TF_Operation *oper, const char *name, AttrKind kind, bool is_list, const AttrValue **out) {
    const AttrValue *value;
    TRY(find(oper, name, kind == ATTR_STRING ? INVALID_ARGUMENT : NOT_FOUND, &value));
    bool empty = is_list && value->is_list && value->n == 0;
    if (empty) {
        const Signature *signature = &api_node(oper)->type->signature;
        int at = signature_attr(signature, str_of(name));
        empty = value->kind == ATTR_NONE && (at < 0 || signature->attrs[at].kind == kind);
    }
    NEED(empty || (value->kind == kind && value->is_list == is_list), INVALID_ARGUMENT,
         "Attr '%s' of '%.*s': AttrValue had value with type '%s' when '%s' expected", name,
         STR_ARGS(api_node(oper)->name), attr_kind_name(value->kind, value->is_list), attr_kind_name(kind, is_list));
    *out = value;
    return OK;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

// ---------------------------------------- metadata

static AttrKind declared_kind(const Node *node, const char *name) {
    int at = signature_attr(&node->type->signature, str_of(name));
    return at < 0 ? ATTR_NONE : node->type->signature.attrs[at].kind;
}

static int64_t total_size(const AttrValue *value, AttrKind kind) {
    int64_t total = 0;
    if (kind == ATTR_STRING && !value->is_list)
        return (int64_t)value->s.n;
    if (kind == ATTR_SHAPE && !value->is_list)
        return value->shape->rank;
    if (kind != ATTR_STRING && kind != ATTR_SHAPE)
        return -1;
    for (int i = 0; i < value->n; i++)
        total += kind == ATTR_STRING ? (int64_t)value->ss[i].n : max_i64(value->shapes[i].rank, 0);
    return total;
}

static Status *metadata(TF_Operation *oper, const char *name, TF_AttrMetadata *out) {
    const AttrValue *value;
    TRY(find(oper, name, INVALID_ARGUMENT, &value));
    AttrKind kind = value->kind;
    if (kind == ATTR_NONE && value->is_list)
        kind = declared_kind(api_node(oper), name);
    NEED(kind != ATTR_NONE, INVALID_ARGUMENT, "Attribute '%s' has no value set", name);
    out->is_list = value->is_list;
    out->list_size = value->is_list ? value->n : -1;
    out->type = (TF_AttrType)(kind - ATTR_STRING);
    out->total_size = total_size(value, kind);
    return OK;
}

TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation *oper, const char *attr_name, TF_Status *status) {
    TF_AttrMetadata result = {.list_size = -1, .total_size = -1};
    api_set(status, metadata(oper, attr_name, &result));
    return result;
}

// ---------------------------------------- strings

static Status *get_string(TF_Operation *oper, const char *name, void *out, size_t room) {
    const AttrValue *value;
    TRY(get(oper, name, ATTR_STRING, false, &value));
    size_t n = value->s.n < room ? value->s.n : room;
    if (n)
        memcpy(out, value->s.p, n);
    return OK;
}

void TF_OperationGetAttrString(TF_Operation *oper, const char *attr_name, void *value, size_t max_length,
                               TF_Status *status) {
    api_set(status, get_string(oper, attr_name, value, max_length));
}

static Status *get_strings(TF_Operation *oper, const char *name, void **values, size_t *lengths, int max_values,
                           char *storage, size_t room) {
    const AttrValue *list;
    TRY(get(oper, name, ATTR_STRING, true, &list));
    for (int i = 0; i < least(list->n, max_values); i++) {
        Str s = list->ss[i];
        NEED(s.n <= room, INVALID_ARGUMENT, "Not enough storage to hold the requested list of strings");
        values[i] = storage;
        lengths[i] = s.n;
        if (s.n)
            memcpy(storage, s.p, s.n);
        storage += s.n;
        room -= s.n;
    }
    return OK;
}

void TF_OperationGetAttrStringList(TF_Operation *oper, const char *attr_name, void **values, size_t *lengths,
                                   int max_values, void *storage, size_t storage_size, TF_Status *status) {
    api_set(status, get_strings(oper, attr_name, values, lengths, max_values, storage, storage_size));
}

// ---------------------------------------- numbers and types

#define GETTERS(Name, kind, CType, one, many)                                                                         \
    void TF_OperationGetAttr##Name(TF_Operation *oper, const char *attr_name, CType *value, TF_Status *status) {      \
        const AttrValue *found;                                                                                       \
        if (!api_failed(status, get(oper, attr_name, kind, false, &found)))                                           \
            *value = (CType)found->one;                                                                               \
    }                                                                                                                 \
    void TF_OperationGetAttr##Name##List(TF_Operation *oper, const char *attr_name, CType *values, int max_values,    \
                                         TF_Status *status) {                                                         \
        const AttrValue *found;                                                                                       \
        if (api_failed(status, get(oper, attr_name, kind, true, &found)))                                             \
            return;                                                                                                   \
        for (int i = 0; i < least(found->n, max_values); i++)                                                         \
            values[i] = (CType)found->many[i];                                                                        \
    }

GETTERS(Int, ATTR_INT, int64_t, i, is)
GETTERS(Float, ATTR_FLOAT, float, f, fs)
GETTERS(Bool, ATTR_BOOL, unsigned char, b, bs)
GETTERS(Type, ATTR_TYPE, TF_DataType, type, types)

// ---------------------------------------- shapes

void TF_OperationGetAttrShape(TF_Operation *oper, const char *attr_name, int64_t *value, int num_dims,
                              TF_Status *status) {
    const AttrValue *found;
    if (api_failed(status, get(oper, attr_name, ATTR_SHAPE, false, &found)))
        return;
    for (int i = 0; i < least(found->shape->rank, num_dims); i++)
        value[i] = found->shape->dims[i];
}

static Status *get_shapes(TF_Operation *oper, const char *name, int64_t **dims, int *num_dims, int max_shapes,
                          int64_t *storage, int room) {
    const AttrValue *list;
    TRY(get(oper, name, ATTR_SHAPE, true, &list));
    for (int i = 0; i < least(list->n, max_shapes); i++) {
        const Shape *shape = &list->shapes[i];
        num_dims[i] = shape->rank;
        dims[i] = storage;
        NEED(shape->rank <= room, INVALID_ARGUMENT, "Not enough storage to hold the requested list of shapes");
        for (int j = 0; j < shape->rank; j++)
            *storage++ = shape->dims[j];
        room -= shape->rank > 0 ? shape->rank : 0;
    }
    return OK;
}

void TF_OperationGetAttrShapeList(TF_Operation *oper, const char *attr_name, int64_t **dims, int *num_dims,
                                  int num_shapes, int64_t *storage, int storage_size, TF_Status *status) {
    api_set(status, get_shapes(oper, attr_name, dims, num_dims, num_shapes, storage, storage_size));
}

static Status *fill_shape(const Shape *shape, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    TensorShapeProto *proto;
    TRY(shape_to_proto(&arena, shape, &proto));
    return buffer_fill_message(out, &message_TensorShapeProto, proto);
}

void TF_OperationGetAttrTensorShapeProto(TF_Operation *oper, const char *attr_name, TF_Buffer *value,
                                         TF_Status *status) {
    const AttrValue *found;
    if (!api_failed(status, get(oper, attr_name, ATTR_SHAPE, false, &found)))
        api_set(status, fill_shape(found->shape, value));
}

static Status *get_shape_protos(TF_Operation *oper, const char *name, TF_Buffer **values, int max_values) {
    const AttrValue *list;
    TRY(get(oper, name, ATTR_SHAPE, true, &list));
    Status *status = OK;
    int n = 0;
    while (!status && n < least(list->n, max_values)) {
        values[n] = TF_NewBuffer();
        status = values[n] ? fill_shape(&list->shapes[n], values[n]) : OUT_OF_MEMORY;
        n++;
    }
    while (status && n > 0) {
        TF_DeleteBuffer(values[--n]);
        values[n] = NULL;
    }
    return status;
}

void TF_OperationGetAttrTensorShapeProtoList(TF_Operation *oper, const char *attr_name, TF_Buffer **values,
                                             int max_values, TF_Status *status) {
    api_set(status, get_shape_protos(oper, attr_name, values, max_values));
}

// ---------------------------------------- tensors

// A copy: what the client writes into it must not change the graph.
static Status *copy_out(const Tensor *from, TF_Tensor **out) {
    Tensor copy;
    TRY(tensor_copy(from, &copy));
    TF_Tensor *t = api_tensor(&copy);
    NEED_MEMORY(t);
    *out = t;
    return OK;
}

void TF_OperationGetAttrTensor(TF_Operation *oper, const char *attr_name, TF_Tensor **value, TF_Status *status) {
    const AttrValue *found;
    *value = NULL;
    if (!api_failed(status, get(oper, attr_name, ATTR_TENSOR, false, &found)))
        api_set(status, copy_out(found->tensor, value));
}

void TF_OperationGetAttrTensorList(TF_Operation *oper, const char *attr_name, TF_Tensor **values, int max_values,
                                   TF_Status *status) {
    const AttrValue *found;
    if (api_failed(status, get(oper, attr_name, ATTR_TENSOR, true, &found)))
        return;
    for (int i = 0; i < least(found->n, max_values); i++) {
        values[i] = NULL;
        if (api_failed(status, copy_out(&found->tensors[i], &values[i])))
            return;
    }
}

// ---------------------------------------- any

static Status *get_proto(TF_Operation *oper, const char *name, TF_Buffer *out) {
    const AttrValue *value;
    TRY(find(oper, name, INVALID_ARGUMENT, &value));
    AUTO(arena) Arena arena = {0};
    AttrValueProto proto;
    TRY(attr_to_proto(value, &arena, &proto));
    return buffer_fill_message(out, &message_AttrValueProto, &proto);
}

void TF_OperationGetAttrValueProto(TF_Operation *oper, const char *attr_name, TF_Buffer *output_attr_value,
                                   TF_Status *status) {
    api_set(status, get_proto(oper, attr_name, output_attr_value));
}

int TF_OperationGetNumAttrs(TF_Operation *oper) {
    return api_node(oper)->n_attrs;
}

int TF_OperationGetAttrNameLength(TF_Operation *oper, int i) {
    const Node *node = api_node(oper);
    return i >= 0 && i < node->n_attrs ? (int)node->attrs[i].name.n : -1;
}

void TF_OperationGetAttrName(TF_Operation *oper, int i, char *output, TF_Status *status) {
    const Node *node = api_node(oper);
    if (i < 0 || i >= node->n_attrs) {
        api_set(status, API_ERROR(OUT_OF_RANGE, "Index %d is not in [0, %d)", i, node->n_attrs));
        return;
    }
    memcpy(output, node->attrs[i].name.p, node->attrs[i].name.n);
    api_ok(status);
}
