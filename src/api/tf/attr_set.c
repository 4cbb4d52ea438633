// TF_SetAttr* — attributes of an operation under construction. Everything is copied.
#include "api/tf/operation_build.h"
#include "proto/tensor_proto.h"

static void set(TF_OperationDescription *desc, const char *name, AttrValue value) {
    builder_attr(&desc->builder, str_of(name), &value);
}

static AttrValue list_of(AttrKind kind, int n) {
    return (AttrValue){.kind = kind, .is_list = true, .n = n < 0 ? 0 : n};
}

// Room for n elements until the operation is finished; NULL after the error was remembered.
static void *room(TF_OperationDescription *desc, int n, size_t size) {
    void *p = arena_array(&desc->builder.arena, (size_t)(n < 0 ? 0 : n), size);
    if (!p)
        description_fail(desc, OUT_OF_MEMORY);
    return p;
}

void TF_SetAttrString(TF_OperationDescription *desc, const char *attr_name, const void *value, size_t length) {
    set(desc, attr_name, ATTR_OF_STRING(api_bytes(value, length)));
}

void TF_SetAttrStringList(TF_OperationDescription *desc, const char *attr_name, const void *const *values,
                          const size_t *lengths, int num_values) {
    AttrValue list = list_of(ATTR_STRING, num_values);
    list.ss = room(desc, list.n, sizeof(Str));
    if (!list.ss)
        return;
    for (int i = 0; i < list.n; i++)
        list.ss[i] = api_bytes(values[i], lengths[i]);
    set(desc, attr_name, list);
}

void TF_SetAttrInt(TF_OperationDescription *desc, const char *attr_name, int64_t value) {
    set(desc, attr_name, ATTR_OF_INT(value));
}

void TF_SetAttrIntList(TF_OperationDescription *desc, const char *attr_name, const int64_t *values, int num_values) {
    AttrValue list = list_of(ATTR_INT, num_values);
    list.is = (int64_t *)values;
    set(desc, attr_name, list);
}

void TF_SetAttrFloat(TF_OperationDescription *desc, const char *attr_name, float value) {
    set(desc, attr_name, ATTR_OF_FLOAT(value));
}

void TF_SetAttrFloatList(TF_OperationDescription *desc, const char *attr_name, const float *values, int num_values) {
    AttrValue list = list_of(ATTR_FLOAT, num_values);
    list.fs = (float *)values;
    set(desc, attr_name, list);
}

void TF_SetAttrBool(TF_OperationDescription *desc, const char *attr_name, unsigned char value) {
    set(desc, attr_name, ATTR_OF_BOOL(value != 0));
}

void TF_SetAttrBoolList(TF_OperationDescription *desc, const char *attr_name, const unsigned char *values,
                        int num_values) {
    AttrValue list = list_of(ATTR_BOOL, num_values);
    list.bs = room(desc, list.n, sizeof(bool));
    if (!list.bs)
        return;
    for (int i = 0; i < list.n; i++)
        list.bs[i] = values[i] != 0;
    set(desc, attr_name, list);
}

void TF_SetAttrType(TF_OperationDescription *desc, const char *attr_name, TF_DataType value) {
    set(desc, attr_name, ATTR_OF_TYPE((DType)value));
}

void TF_SetAttrTypeList(TF_OperationDescription *desc, const char *attr_name, const TF_DataType *values,
                        int num_values) {
    AttrValue list = list_of(ATTR_TYPE, num_values);
    list.types = room(desc, list.n, sizeof(DType));
    if (!list.types)
        return;
    for (int i = 0; i < list.n; i++)
        list.types[i] = (DType)values[i];
    set(desc, attr_name, list);
}

void TF_SetAttrPlaceholder(TF_OperationDescription *desc, const char *attr_name, const char *placeholder) {
    set(desc, attr_name, (AttrValue){.kind = ATTR_PLACEHOLDER, .s = str_of(placeholder)});
}

void TF_SetAttrFuncName(TF_OperationDescription *desc, const char *attr_name, const char *value, size_t length) {
    FuncRef func = {.name = api_bytes(value, length)};
    set(desc, attr_name, (AttrValue){.kind = ATTR_FUNC, .func = &func});
}

// ---------------------------------------- shapes

void TF_SetAttrShape(TF_OperationDescription *desc, const char *attr_name, const int64_t *dims, int num_dims) {
    Shape shape;
    Status *status = api_shape(dims, num_dims, &shape);
    if (status)
        description_fail(desc, status);
    else
        set(desc, attr_name, (AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
}

void TF_SetAttrShapeList(TF_OperationDescription *desc, const char *attr_name, const int64_t *const *dims,
                         const int *num_dims, int num_shapes) {
    AttrValue list = list_of(ATTR_SHAPE, num_shapes);
    list.shapes = room(desc, list.n, sizeof(Shape));
    if (!list.shapes)
        return;
    for (int i = 0; i < list.n; i++) {
        Status *status = api_shape(dims[i], num_dims[i], &list.shapes[i]);
        if (status) {
            description_fail(desc, status);
            return;
        }
    }
    set(desc, attr_name, list);
}

static Status *shape_from_bytes(const void *proto, size_t length, Shape *out) {
    AUTO(arena) Arena arena = {0};
    TensorShapeProto *message;
    Status *status = PROTO_DECODE(TensorShapeProto, &arena, api_bytes(proto, length), &message);
    if (status) {
        status_free(status);
        FAIL(INVALID_ARGUMENT, "Unparseable TensorShapeProto");
    }
    return shape_from_proto(message, out);
}

void TF_SetAttrTensorShapeProto(TF_OperationDescription *desc, const char *attr_name, const void *proto,
                                size_t proto_len, TF_Status *status) {
    Shape shape;
    if (!api_failed(status, shape_from_bytes(proto, proto_len, &shape)))
        set(desc, attr_name, (AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
}

void TF_SetAttrTensorShapeProtoList(TF_OperationDescription *desc, const char *attr_name, const void *const *protos,
                                    const size_t *proto_lens, int num_shapes, TF_Status *status) {
    AttrValue list = list_of(ATTR_SHAPE, num_shapes);
    list.shapes = room(desc, list.n, sizeof(Shape));
    api_ok(status);
    for (int i = 0; list.shapes && i < list.n; i++)
        if (api_failed(status, shape_from_bytes(protos[i], proto_lens[i], &list.shapes[i])))
            return;
    if (list.shapes)
        set(desc, attr_name, list);
}

// ---------------------------------------- tensors

// A copy: the client may write into its own memory afterwards, the graph must not change.
static Status *copy_tensor(const TF_Tensor *from, Tensor *out) {
    AUTO(tensor) Tensor tensor = {0};
    TRY(api_tensor_in(from, &tensor));
    return tensor_copy(&tensor, out);
}

void TF_SetAttrTensor(TF_OperationDescription *desc, const char *attr_name, TF_Tensor *value, TF_Status *status) {
    Tensor tensor;
    if (api_failed(status, copy_tensor(value, &tensor)))
        return;
    set(desc, attr_name, (AttrValue){.kind = ATTR_TENSOR, .tensor = &tensor});
    tensor_clear(&tensor);
}

void TF_SetAttrTensorList(TF_OperationDescription *desc, const char *attr_name, TF_Tensor *const *values,
                          int num_values, TF_Status *status) {
    AttrValue list = list_of(ATTR_TENSOR, num_values);
    list.tensors = room(desc, list.n, sizeof(Tensor));
    api_ok(status);
    if (!list.tensors)
        return;
    int n = 0;
    while (n < list.n && !api_failed(status, copy_tensor(values[n], &list.tensors[n])))
        n++;
    if (n == list.n)
        set(desc, attr_name, list);
    while (n > 0)
        tensor_clear(&list.tensors[--n]);
}

void TF_SetAttrValueProto(TF_OperationDescription *desc, const char *attr_name, const void *proto, size_t proto_len,
                          TF_Status *status) {
    AttrValue value;
    NodeBuilder *builder = &desc->builder;
    if (!api_failed(status, attr_from_bytes(api_bytes(proto, proto_len), &builder->arena, &builder->tensors, &value)))
        set(desc, attr_name, value);
}
