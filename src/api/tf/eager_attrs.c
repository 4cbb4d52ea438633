// TFE_OpSetAttr* — attributes of an eager operation. What a setter without a status can't do, TFE_Execute reports.
#include <stdlib.h>

#include "api/tf/eager.h"

Status *eager_attr_keep(TFE_Op *op, Str name, const AttrValue *value) {
    struct TFE_OpAttrs *attrs = &op->attrs;
    for (size_t i = 0; i < attrs->entries.n; i++)
        if (str_equal(attrs->entries.p[i].name, name))
            return OK;
    AttrValue copy;
    TRY(attr_copy(&attrs->arena, &attrs->tensors, value, &copy));
    Str key = str_copy(&attrs->arena, name);
    NEED_MEMORY(key.p);
    NEED_MEMORY(vec_push(&attrs->entries, (AttrEntry){key, copy}));
    return OK;
}

static void set(TFE_Op *op, const char *name, AttrValue value) {
    Status *status = eager_attr_keep(op, str_of(name), &value);
    if (op->attrs.error)
        status_free(status);
    else
        op->attrs.error = status;
}

static AttrValue list_of(AttrKind kind, int n) {
    return (AttrValue){.kind = kind, .is_list = true, .n = n < 0 ? 0 : n};
}

static void *room(TFE_Op *op, int n, size_t size) {
    return arena_array(&op->attrs.arena, (size_t)(n < 0 ? 0 : n), size);
}

void TFE_OpSetAttrString(TFE_Op *op, const char *attr_name, const void *value, size_t length) {
    set(op, attr_name, ATTR_OF_STRING(api_bytes(value, length)));
}

void TFE_OpSetAttrInt(TFE_Op *op, const char *attr_name, int64_t value) {
    set(op, attr_name, ATTR_OF_INT(value));
}

void TFE_OpSetAttrFloat(TFE_Op *op, const char *attr_name, float value) {
    set(op, attr_name, ATTR_OF_FLOAT(value));
}

void TFE_OpSetAttrBool(TFE_Op *op, const char *attr_name, unsigned char value) {
    set(op, attr_name, ATTR_OF_BOOL(value != 0));
}

void TFE_OpSetAttrType(TFE_Op *op, const char *attr_name, TF_DataType value) {
    set(op, attr_name, ATTR_OF_TYPE((DType)value));
}

void TFE_OpSetAttrShape(TFE_Op *op, const char *attr_name, const int64_t *dims, const int num_dims,
                        TF_Status *out_status) {
    Shape shape;
    if (!api_failed(out_status, api_shape(dims, num_dims, &shape)))
        set(op, attr_name, (AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
}

void TFE_OpSetAttrFunction(TFE_Op *op, const char *attr_name, const TFE_Op *value) {
    FuncRef func = {.name = value->type->name, .attrs = value->attrs.entries.p,
                    .n_attrs = (int32_t)value->attrs.entries.n};
    set(op, attr_name, (AttrValue){.kind = ATTR_FUNC, .func = &func});
}

void TFE_OpSetAttrFunctionName(TFE_Op *op, const char *attr_name, const char *data, size_t length) {
    FuncRef func = {.name = api_bytes(data, length)};
    set(op, attr_name, (AttrValue){.kind = ATTR_FUNC, .func = &func});
}

void TFE_OpSetAttrTensor(TFE_Op *op, const char *attr_name, TF_Tensor *tensor, TF_Status *status) {
    AUTO(tensor) Tensor given = {0};
    AUTO(tensor) Tensor copy = {0};
    if (api_failed(status, api_tensor_in(tensor, &given)) || api_failed(status, tensor_copy(&given, &copy)))
        return;
    set(op, attr_name, (AttrValue){.kind = ATTR_TENSOR, .tensor = &copy});
}

void TFE_OpSetAttrStringList(TFE_Op *op, const char *attr_name, const void *const *values, const size_t *lengths,
                             int num_values) {
    AttrValue list = list_of(ATTR_STRING, num_values);
    list.ss = room(op, num_values, sizeof(Str));
    for (int i = 0; list.ss && i < list.n; i++)
        list.ss[i] = api_bytes(values[i], lengths[i]);
    if (list.ss)
        set(op, attr_name, list);
}

void TFE_OpSetAttrIntList(TFE_Op *op, const char *attr_name, const int64_t *values, int num_values) {
    AttrValue list = list_of(ATTR_INT, num_values);
    list.is = (int64_t *)values;
    set(op, attr_name, list);
}

void TFE_OpSetAttrFloatList(TFE_Op *op, const char *attr_name, const float *values, int num_values) {
    AttrValue list = list_of(ATTR_FLOAT, num_values);
    list.fs = (float *)values;
    set(op, attr_name, list);
}

void TFE_OpSetAttrBoolList(TFE_Op *op, const char *attr_name, const unsigned char *values, int num_values) {
    AttrValue list = list_of(ATTR_BOOL, num_values);
    list.bs = room(op, num_values, sizeof(bool));
    for (int i = 0; list.bs && i < list.n; i++)
        list.bs[i] = values[i] != 0;
    if (list.bs)
        set(op, attr_name, list);
}

void TFE_OpSetAttrTypeList(TFE_Op *op, const char *attr_name, const TF_DataType *values, int num_values) {
    AttrValue list = list_of(ATTR_TYPE, num_values);
    list.types = room(op, num_values, sizeof(DType));
    for (int i = 0; list.types && i < list.n; i++)
        list.types[i] = (DType)values[i];
    if (list.types)
        set(op, attr_name, list);
}

void TFE_OpSetAttrShapeList(TFE_Op *op, const char *attr_name, const int64_t **dims, const int *num_dims,
                            int num_values, TF_Status *out_status) {
    AttrValue list = list_of(ATTR_SHAPE, num_values);
    list.shapes = room(op, num_values, sizeof(Shape));
    api_ok(out_status);
    for (int i = 0; list.shapes && i < list.n; i++)
        if (api_failed(out_status, api_shape(dims[i], num_dims[i], &list.shapes[i])))
            return;
    if (list.shapes)
        set(op, attr_name, list);
}

void TFE_OpSetAttrFunctionList(TFE_Op *op, const char *attr_name, const TFE_Op **value, int num_values) {
    AttrValue list = list_of(ATTR_FUNC, num_values);
    list.funcs = room(op, num_values, sizeof(FuncRef));
    for (int i = 0; list.funcs && i < list.n; i++)
        list.funcs[i] = (FuncRef){.name = value[i]->type->name, .attrs = value[i]->attrs.entries.p,
                                  .n_attrs = (int32_t)value[i]->attrs.entries.n};
    if (list.funcs)
        set(op, attr_name, list);
}

void TFE_OpSetAttrValueProto(const TFE_Op *op, const char *attr_name, const void *proto, size_t proto_len,
                             TF_Status *status) {
    TFE_Op *mine = (TFE_Op *)op;
    AttrValue value;
    if (!api_failed(status, attr_from_bytes(api_bytes(proto, proto_len), &mine->attrs.arena, &mine->attrs.tensors,
                                            &value)))
        set(mine, attr_name, value);
}

// ---------------------------------------- types of attributes

static Status *attr_type(const OpType *type, const char *name, TF_AttrType *out, unsigned char *is_list) {
    int at = signature_attr(&type->signature, str_of(name));
    NEED(at >= 0, INVALID_ARGUMENT, "Attribute '%s' does not exist for this operation", name);
    *out = (TF_AttrType)(type->signature.attrs[at].kind - ATTR_STRING);
    *is_list = type->signature.attrs[at].is_list;
    return OK;
}

TF_AttrType TFE_OpGetAttrType(TFE_Op *op, const char *attr_name, unsigned char *is_list, TF_Status *status) {
    TF_AttrType type = TF_ATTR_INT;  // what upstream answers where there is none
    api_set(status, attr_type(op->type, attr_name, &type, is_list));
    return type;
}

TF_AttrType TFE_OpNameGetAttrType(TFE_Context *ctx, const char *op_or_function_name, const char *attr_name,
                                  unsigned char *is_list, TF_Status *status) {
    const OpType *type;
    TF_AttrType result = TF_ATTR_INT;
    if (!api_failed(status, eager_find_type(ctx->eager, str_of(op_or_function_name), &type)))
        api_set(status, attr_type(type, attr_name, &result, is_list));
    return result;
}

// ---------------------------------------- attributes as an object

const TFE_OpAttrs *TFE_OpGetAttrs(const TFE_Op *op) {
    return &op->attrs;
}

void TFE_OpAddAttrs(TFE_Op *op, const TFE_OpAttrs *attrs) {
    for (size_t i = 0; i < attrs->entries.n; i++) {
        Status *status = eager_attr_keep(op, attrs->entries.p[i].name, &attrs->entries.p[i].value);
        if (op->attrs.error)
            status_free(status);
        else
            op->attrs.error = status;
    }
}

static Status *serialize(const TFE_OpAttrs *attrs, TF_Buffer *buf) {
    AUTO(arena) Arena arena = {0};
    FuncRef func = {.attrs = attrs->entries.p, .n_attrs = (int32_t)attrs->entries.n};
    AttrValue value = {.kind = ATTR_FUNC, .func = &func};
    AttrValueProto proto;
    TRY(attr_to_proto(&value, &arena, &proto));
    return buffer_fill_message(buf, &message_NameAttrListProto, proto.func);
}

void TFE_OpAttrsSerialize(const TFE_OpAttrs *attrs, TF_Buffer *buf, TF_Status *status) {
    api_set(status, serialize(attrs, buf));
}
