// Ops of the C interface — see millrace/millrace.h: what there is, and what of it can run.
#include <stdio.h>

#include "api/api.h"
#include "graph/known_ops.h"
#include "millrace/millrace.h"

static mr_gradient gradient_of(const Op *op) {
    return op->grad || op->expand ? MR_GRADIENT_DEFINED : op->flags & OP_NO_GRADIENT ? MR_GRADIENT_ZERO
                                                                                    : MR_GRADIENT_UNDEFINED;
}

// The types that the signature allows to the first type attribute; it lives as long as the op.
static void list_allowed(const Signature *signature, mr_op_info *info) {
    info->num_dtypes = -1;
    for (int i = 0; i < signature->n_attrs; i++) {
        const AttrSpec *attr = &signature->attrs[i];
        if (attr->kind != ATTR_TYPE || attr->is_list)
            continue;
        if (attr->allowed.is_list) {
            info->dtypes = (const TF_DataType *)attr->allowed.types;
            info->num_dtypes = attr->allowed.n;
        }
        return;
    }
}

// The types of an op's kernels; of the last op that this thread asked for.
static void list_types(const OpType *type, mr_op_info *info) {
    static __thread TF_DataType types[DTYPES];
    info->num_dtypes = 0;
    info->dtypes = types;
    for (const KernelRow *row = type->op->cpu; row && row->run && row->dtype != DT_INVALID && info->num_dtypes < DTYPES;
         row++)
        types[info->num_dtypes++] = (TF_DataType)row->dtype;
    if (info->num_dtypes == 0)
        list_allowed(&type->signature, info);
}

// Only what the caller's struct has room for.
static void give(mr_op_info *out, const mr_op_info *info) {
    size_t size = out->struct_size < sizeof *info ? out->struct_size : sizeof *info;
    memcpy((char *)out + sizeof(size_t), (const char *)info + sizeof(size_t),
           size > sizeof(size_t) ? size - sizeof(size_t) : 0);
}

static void describe(const OpType *type, mr_op_info *out) {
    const Op *op = type->op;
    mr_op_info info = {.name = api_type_name(type), .doc = op && op->doc ? op->doc : "",
                       .is_stateful = type->signature.stateful};
    if (op) {
        info.has_kernel = op->cpu || op->start || op->expand || op->flow != FLOW_NONE || type->dynamic;
        info.is_composed = op->expand != NULL;
        info.gradient = gradient_of(op);
        list_types(type, &info);
    }
    give(out, &info);
}

int mr_op_find(const char *name, mr_op_info *info) {
    api_begin();
    const OpType *type;
    Status *status = op_type_find(str_of(name), &type);
    if (!status)
        describe(type, info);
    status_free(status);
    return status == OK;
}

// Compiled and registered ops first, then those that are known by their signatures.
static bool name_at(size_t index, char *name, size_t room) {
    size_t n = 0, at = 0;
    const Op *op;
    for (; (op = op_at(n)); n++)
        if (n == index) {
            snprintf(name, room, "%.*s", STR_ARGS(op_name(op)));
            return true;
        }
    Str line;
    while (known_op_next(&at, &line)) {
        const OpType *type;
        Str known = known_op_name(line);
        Status *status = op_type_find(known, &type);
        bool counts = !status && !type->op;
        status_free(status);
        if (counts && n++ == index) {
            snprintf(name, room, "%.*s", STR_ARGS(known));
            return true;
        }
    }
    return false;
}

int mr_op_at(size_t index, mr_op_info *info) {
    api_begin();
    char name[256];
    return name_at(index, name, sizeof name) ? mr_op_find(name, info) : 0;
}

static Status *signature(const char *name, TF_Buffer *out) {
    const OpType *type;
    TRY(op_type_find(str_of(name), &type));
    AUTO(text) Text text = {0};
    signature_print(&text, &type->signature);
    return buffer_fill(out, &text);
}

void mr_op_signature(const char *name, TF_Buffer *out, TF_Status *status) {
    api_begin();
    api_set(status, signature(name, out));
}
