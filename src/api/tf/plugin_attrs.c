// TF_OpKernelConstruction — what a custom kernel sees of its node while it is made. The same as TF_OperationGetAttr*.
#include "api/tf/plugin.h"

static TF_Operation *oper(const TF_OpKernelConstruction *ctx) {
    return api_operation(ctx->node);
}

void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction *ctx, TF_Status *status) {
    if (!ctx->failure)
        ctx->failure = status_copy(status->error);
}

TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction *ctx) {
    return (TF_StringView){ctx->node->name.p, ctx->node->name.n};
}

bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction *ctx, const char *attr_name, TF_Status *status) {
    api_ok(status);
    return node_attr_find(ctx->node, attr_name) != NULL;
}

TF_Buffer *TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction *ctx, TF_Status *status) {
    TF_Buffer *out = TF_NewBuffer();
    if (out)
        TF_OperationToNodeDef(oper(ctx), out, status);
    else
        api_set(status, OUT_OF_MEMORY);
    return out;
}

void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction *ctx, const char *attr_name, int32_t *list_size,
                                         int32_t *total_size, TF_Status *status) {
    TF_AttrMetadata meta = TF_OperationGetAttrMetadata(oper(ctx), attr_name, status);
    *list_size = (int32_t)meta.list_size;
    *total_size = (int32_t)meta.total_size;
}

#define SAME(Name, CType)                                                                                          \
    void TF_OpKernelConstruction_GetAttr##Name(TF_OpKernelConstruction *ctx, const char *attr_name, CType *val,      \
                                               TF_Status *status) {                                                 \
        TF_OperationGetAttr##Name(oper(ctx), attr_name, val, status);                                               \
    }
#define SAME_LIST(Name, CType)                                                                                     \
    void TF_OpKernelConstruction_GetAttr##Name##List(TF_OpKernelConstruction *ctx, const char *attr_name,            \
                                                     CType *vals, int max_vals, TF_Status *status) {                \
        TF_OperationGetAttr##Name##List(oper(ctx), attr_name, vals, max_vals, status);                              \
    }

SAME(Type, TF_DataType)
SAME(Float, float)
SAME(Bool, TF_Bool)
SAME(Tensor, TF_Tensor *)
SAME_LIST(Type, TF_DataType)
SAME_LIST(Float, float)
SAME_LIST(Bool, TF_Bool)
SAME_LIST(Tensor, TF_Tensor *)

void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction *ctx, const char *attr_name, int64_t *val,
                                          TF_Status *status) {
    TF_OperationGetAttrInt(oper(ctx), attr_name, val, status);
}

void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction *ctx, const char *attr_name, int64_t *vals,
                                              int max_vals, TF_Status *status) {
    TF_OperationGetAttrIntList(oper(ctx), attr_name, vals, max_vals, status);
}

static Status *narrow(int64_t value, const char *name, int32_t *out) {
    NEED(value >= INT32_MIN && value <= INT32_MAX, INVALID_ARGUMENT, "Attr %s has value %lld out of range for an int32",
         name, (long long)value);
    *out = (int32_t)value;
    return OK;
}

void TF_OpKernelConstruction_GetAttrInt32(TF_OpKernelConstruction *ctx, const char *attr_name, int32_t *val,
                                          TF_Status *status) {
    int64_t wide = 0;
    TF_OperationGetAttrInt(oper(ctx), attr_name, &wide, status);
    if (TF_GetCode(status) == TF_OK)
        api_set(status, narrow(wide, attr_name, val));
}

void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction *ctx, const char *attr_name, int32_t *vals,
                                              int max_vals, TF_Status *status) {
    const AttrValue *list = node_attr_find(ctx->node, attr_name);
    int64_t first;
    TF_OperationGetAttrIntList(oper(ctx), attr_name, &first, 1, status);  // checks the kind
    for (int i = 0; TF_GetCode(status) == TF_OK && i < list->n && i < max_vals; i++)
        api_set(status, narrow(list->is[i], attr_name, &vals[i]));
}

void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction *ctx, const char *attr_name, char *val,
                                           size_t max_length, TF_Status *status) {
    TF_OperationGetAttrString(oper(ctx), attr_name, val, max_length, status);
}

void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction *ctx, const char *attr_name, char **values,
                                               size_t *lengths, int max_values, void *storage, size_t storage_size,
                                               TF_Status *status) {
    TF_OperationGetAttrStringList(oper(ctx), attr_name, (void **)values, lengths, max_values, storage, storage_size,
                                  status);
}

static Status *get_function(const Node *node, const char *name, TF_Buffer *out) {
    const AttrValue *value = node_attr_find(node, name);
    NEED(value && value->kind == ATTR_FUNC && !value->is_list, INVALID_ARGUMENT, "attr '%s' is no function", name);
    AUTO(arena) Arena arena = {0};
    AttrValueProto proto;
    TRY(attr_to_proto(value, &arena, &proto));
    return buffer_fill_message(out, &message_NameAttrListProto, proto.func);
}

TF_Buffer *TF_OpKernelConstruction_GetAttrFunction(TF_OpKernelConstruction *ctx, const char *attr_name,
                                                   TF_Status *status) {
    TF_Buffer *out = TF_NewBuffer();
    if (!api_failed(status, out ? get_function(ctx->node, attr_name, out)
                                : OUT_OF_MEMORY))
        return out;
    TF_DeleteBuffer(out);
    return NULL;
}
