// Small questions about ops: whether one is stateful, which attribute counts a list; the AttrBuilder that asks for
// kernels.
#include <stdlib.h>

#include "api/api.h"

static Status *find(const char *name, const OpType **out) {
    api_begin();
    return op_type_find(str_of(name), out);
}

int TF_OpIsStateful(const char *op_type, TF_Status *status) {
    const OpType *type;
    return !api_failed(status, find(op_type, &type)) && type->signature.stateful;
}

static Status *number_attr(const char *op_name, int input, const char **out) {
    const OpType *type;
    TRY(find(op_name, &type));
    NEED(input >= 0 && input < type->signature.n_inputs, INVALID_ARGUMENT, "input index %d out of range for %s", input,
         op_name);
    int at = type->signature.inputs[input].number_attr;
    NEED(at >= 0, INVALID_ARGUMENT, "input %d of %s is no list of one type", input, op_name);
    const AttrSpec *attr = &type->signature.attrs[at];
    OpType named = {.name = attr->name};
    *out = api_type_name(&named);  // any text may be kept there
    return OK;
}

const char *TF_GetNumberAttrForOpListInput(const char *op_name, int input_index, TF_Status *status) {
    const char *name = NULL;
    api_set(status, number_attr(op_name, input_index, &name));
    return name;
}

// ---------------------------------------- AttrBuilder

struct TF_AttrBuilder {
    char *op_name;
    struct { char name[64]; DType dtype; } types[16];
    int n_types;
};

TF_AttrBuilder *TF_NewAttrBuilder(const char *op_name) {
    TF_AttrBuilder *builder = calloc(1, sizeof *builder);
    if (builder)
        builder->op_name = strdup(op_name ? op_name : "");
    return builder;
}

void TF_DeleteAttrBuilder(TF_AttrBuilder *builder) {
    if (!builder)
        return;
    free(builder->op_name);
    free(builder);
}

void TF_AttrBuilderSetType(TF_AttrBuilder *builder, const char *attr_name, TF_DataType value) {
    if (builder->n_types == 16 || strlen(attr_name) >= 64)
        return;
    strcpy(builder->types[builder->n_types].name, attr_name);
    builder->types[builder->n_types++].dtype = (DType)value;
}

// Kernels are not chosen by lists of types.
void TF_AttrBuilderSetTypeList(TF_AttrBuilder *builder, const char *attr_name, const TF_DataType *values,
                               int num_values) {
    (void)builder, (void)attr_name, (void)values, (void)num_values;
}

static Status *can_run(const TF_AttrBuilder *builder, const char *device) {
    const OpType *type;
    TRY(find(builder->op_name, &type));
    NEED(device && strcmp(device, "CPU") == 0, NOT_FOUND, "no device of type %s", device ? device : "");
    NEED(type->op, NOT_FOUND, "No registered '%s' OpKernel for CPU devices", builder->op_name);
    const KernelRow *row = type->op->cpu;
    if (!row || type->op->start)
        return OK;
    Str attr = {0};
    for (int i = 0; i < type->signature.n_attrs && !attr.n; i++)
        if (type->signature.attrs[i].kind == ATTR_TYPE && !type->signature.attrs[i].is_list)
            attr = type->signature.attrs[i].name;
    DType dtype = DT_INVALID;
    for (int i = 0; i < builder->n_types; i++)
        if (str_is(attr, builder->types[i].name))
            dtype = builder->types[i].dtype;
    for (; row->run; row++)
        if (row->dtype == DT_INVALID || dtype == DT_INVALID || row->dtype == dtype)
            return OK;
    FAIL(NOT_FOUND, "No registered '%s' OpKernel for CPU devices and type %s", builder->op_name, dtype_name(dtype));
}

void TF_AttrBuilderCheckCanRunOnDevice(TF_AttrBuilder *builder, const char *device_type, TF_Status *status) {
    api_set(status, can_run(builder, device_type));
}
