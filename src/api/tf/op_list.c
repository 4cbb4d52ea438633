// Lists of ops and of their kernels — what code generators read: serialized OpList and KernelList.
#include <stdlib.h>

#include "api/api.h"
#include "base/log.h"
#include "graph/known_ops.h"
#include "kernel/registry.h"

static int compare_names(const void *a, const void *b) {
    return str_compare(*(const Str *)a, *(const Str *)b);
}

typedef VEC(Str) NameList;

static Status *collect_names(NameList *names) {
    for (size_t i = 0; op_at(i); i++) {
        Str name = op_name(op_at(i));
        if (name.n && name.p[0] != '_')  // the machine's own ops are not for graphs of clients
            NEED_MEMORY(vec_push(names, name));
    }
    Str line;
    size_t at = 0;
    while (known_op_next(&at, &line))
        NEED_MEMORY(vec_push(names, known_op_name(line)));
    if (names->n)
        qsort(names->p, names->n, sizeof *names->p, compare_names);
    return OK;
}

static Status *add_op(Str name, Arena *arena, OpListProto *list) {
    const OpType *type;
    if (list->op.n && str_equal(list->op.p[list->op.n - 1].name, name))
        return OK;  // an op that has a kernel and still stands in the list of known ones
    TRY(op_type_find(name, &type));
    TRY(signature_to_op_def(&type->signature, arena, &list->op.p[list->op.n]));
    if (type->op)
        list->op.p[list->op.n].summary = str_of(type->op->doc);
    list->op.n++;
    return OK;
}

static Status *list_ops(const NameList *names, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    OpListProto list = {0};
    list.op.p = ARENA_ARRAY(&arena, OpDef, names->n);
    NEED_MEMORY(list.op.p);
    for (size_t i = 0; i < names->n; i++)
        TRY(add_op(names->p[i], &arena, &list));
    return buffer_fill_message(out, &message_OpListProto, &list);
}

TF_Buffer *TF_GetAllOpList(void) {
    api_begin();
    TF_Buffer *out = TF_NewBuffer();
    if (!out)
        return NULL;
    NameList names = {0};
    Status *status = collect_names(&names);
    if (!status)
        status = list_ops(&names, out);
    vec_clear(&names);
    if (status)
        log_write(LOG_ERROR, "the list of ops can't be written: %s", status_message(status));
    status_free(status);
    return out;
}

// ---------------------------------------- kernels

// The type attribute by which an op's rows are chosen: its first.
static Str row_attr(const OpType *type) {
    for (int i = 0; i < type->signature.n_attrs; i++)
        if (type->signature.attrs[i].kind == ATTR_TYPE && !type->signature.attrs[i].is_list)
            return type->signature.attrs[i].name;
    return (Str){0};
}

static Status *add_kernel(const OpType *type, DType dtype, Arena *arena, KernelDef *out) {
    out->op = type->name;
    out->device_type = STR("CPU");
    Str attr = row_attr(type);
    if (dtype == DT_INVALID || !attr.n)
        return OK;
    KernelDef_AttrConstraint *constraint = ARENA_NEW(arena, KernelDef_AttrConstraint);
    AttrValue allowed = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = ARENA_NEW(arena, DType)};
    NEED_MEMORY(constraint && allowed.types);
    allowed.types[0] = dtype;
    constraint->name = attr;
    constraint->allowed_values = ARENA_NEW(arena, AttrValueProto);
    NEED_MEMORY(constraint->allowed_values);
    TRY(attr_to_proto(&allowed, arena, constraint->allowed_values));
    out->constraint.p = constraint;
    out->constraint.n = 1;
    return OK;
}

typedef VEC(KernelDef) KernelDefs;

static Status *add_kernels(const Op *op, Arena *arena, KernelDefs *out) {
    const OpType *type;
    TRY(op_type_find(op_name(op), &type));
    bool any = op->start || op->flow != FLOW_NONE;
    for (const KernelRow *row = op->cpu; row && row->run; row++) {
        KernelDef def = {0};
        TRY(add_kernel(type, row->dtype, arena, &def));
        NEED_MEMORY(vec_push(out, def));
        any = false;
    }
    if (any) {
        KernelDef def = {0};
        TRY(add_kernel(type, DT_INVALID, arena, &def));
        NEED_MEMORY(vec_push(out, def));
    }
    return OK;
}

static Status *add_dynamic(const DynamicKernel *kernel, Arena *arena, KernelDef *out) {
    size_t n = (size_t)kernel->n_constraints;
    *out = (KernelDef){.op = kernel->type->name, .device_type = kernel->device_type, .label = kernel->label,
                       .priority = kernel->priority};
    out->constraint.p = ARENA_ARRAY(arena, KernelDef_AttrConstraint, n);
    AttrValueProto *values = ARENA_ARRAY(arena, AttrValueProto, n);
    DType *types = ARENA_ARRAY(arena, DType, n);
    NEED_MEMORY(out->constraint.p && values && types);
    for (size_t i = 0; i < n; i++) {
        types[i] = kernel->constraints[i].dtype;
        AttrValue allowed = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = &types[i]};
        TRY(attr_to_proto(&allowed, arena, &values[i]));
        out->constraint.p[i].name = kernel->constraints[i].attr;
        out->constraint.p[i].allowed_values = &values[i];
    }
    out->constraint.n = n;
    return OK;
}

static Status *list_kernels(const char *only, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    KernelDefs defs = {0};
    Status *status = OK;
    for (size_t i = 0; !status && op_at(i); i++)
        if (!only || str_is(op_name(op_at(i)), only))
            status = add_kernels(op_at(i), &arena, &defs);
    for (size_t i = 0; !status && dynamic_kernel_at(i); i++) {
        const DynamicKernel *kernel = dynamic_kernel_at(i);
        KernelDef def;
        if (only && !str_is(kernel->type->name, only))
            continue;
        status = add_dynamic(kernel, &arena, &def);
        if (!status && !vec_push(&defs, def))
            status = OUT_OF_MEMORY;
    }
    KernelListProto list = {0};
    list.kernel.p = defs.p;
    list.kernel.n = defs.n;
    if (!status)
        status = buffer_fill_message(out, &message_KernelListProto, &list);
    vec_clear(&defs);
    return status;
}

static TF_Buffer *kernel_buffer(const char *only, TF_Status *status) {
    api_begin();
    TF_Buffer *out = TF_NewBuffer();
    if (!api_failed(status, out ? list_kernels(only, out) : OUT_OF_MEMORY))
        return out;
    TF_DeleteBuffer(out);
    return NULL;
}

TF_Buffer *TF_GetAllRegisteredKernels(TF_Status *status) {
    return kernel_buffer(NULL, status);
}

TF_Buffer *TF_GetRegisteredKernelsForOp(const char *name, TF_Status *status) {
    return kernel_buffer(name ? name : "", status);
}
