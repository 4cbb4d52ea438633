// Store — see replicas.h: the variables of one store in a checkpoint of its own, so that it can be lost and come back alone.
#include "formula/ops.h"
#include "tensor/tstring.h"
#include "train/replicas.h"

typedef struct {
    const int *variables;
    int n;
} Kept;

// A vector of strings: the names of the variables' handles, or as many empty ones.
static Output strings(Net *net, const Kept *kept, bool named) {
    AUTO(tensor) Tensor texts = {0};
    if (net->f.status)
        return NONE;
    Status *status = tensor_new(DT_string, SHAPE(kept->n), &texts);
    for (int i = 0; i < kept->n && !status; i++) {
        Str text = named ? net->variables.p[kept->variables[i]].handle.node->name : (Str){0};
        if (!tstring_assign((TString *)texts.data + i, text))
            status = OUT_OF_MEMORY;
    }
    if (!status)
        return formula_tensor(&net->f, &texts);
    formula_fail(&net->f, status);
    return NONE;
}

static Output scalar_string(Net *net, Str text) {
    AUTO(tensor) Tensor tensor = {0};
    Status *status = tensor_new(DT_string, SCALAR_SHAPE, &tensor);
    if (!status && !tstring_assign(tensor.data, text))
        status = OUT_OF_MEMORY;
    if (!status)
        return formula_tensor(&net->f, &tensor);
    formula_fail(&net->f, status);
    return NONE;
}

static Node *save_all(Net *net, const Kept *kept, Output prefix, Output names, Output slices, Arena *arena) {
    Output *values = ARENA_ARRAY(arena, Output, kept->n);
    for (int i = 0; i < kept->n && values; i++)
        values[i] = net_value(net, kept->variables[i]);
    FormulaArg args[] = {{&prefix, 1, false}, {&names, 1, false}, {&slices, 1, false}, {values, kept->n, true}};
    return values ? formula_node(&net->f, "SaveV2", args, 4, NULL) : NULL;
}

static Node *restore_all(Net *net, const Kept *kept, Output prefix, Output names, Output slices, Arena *arena) {
    Formula *f = &net->f;
    DType *types = ARENA_ARRAY(arena, DType, kept->n);
    Node **assigned = ARENA_ARRAY(arena, Node *, kept->n);
    if (!types || !assigned)
        return NULL;
    for (int i = 0; i < kept->n; i++)
        types[i] = output_type(net_value(net, kept->variables[i]));
    AttrValue dtypes = {.kind = ATTR_TYPE, .is_list = true, .n = kept->n, .types = types};
    Output values = OpWith("RestoreV2", ATTRS({"dtypes", dtypes}), prefix, names, slices);
    for (int i = 0; i < kept->n; i++)
        assigned[i] = net_assign(net, kept->variables[i], At(values, i));
    return f->status ? NULL : net_group(net, "restore", assigned, kept->n);
}

static Output all_have_values(Net *net, const Kept *kept) {
    Formula *f = &net->f;
    Output all = NONE;
    for (int i = 0; i < kept->n && !f->status; i++) {
        Output one = formula_1(f, net->refs ? "IsVariableInitialized" : "VarIsInitializedOp", net->variables.p[kept->variables[i]].handle);
        all = i ? LogicalAnd(all, one) : one;
    }
    return all;
}

void store_keep(Net *net, Str device, Str prefix, StoreSteps *out) {
    AUTO(arena) Arena arena = {0};
    Formula *f = &net->f;
    int *variables = ARENA_ARRAY(&arena, int, net->variables.n);
    Kept kept = {.variables = variables};
    *out = (StoreSteps){0};
    if (!variables)
        formula_fail(f, OUT_OF_MEMORY);
    for (size_t i = 0; i < net->variables.n && variables; i++)
        if (str_equal(net->variables.p[i].device, device))
            variables[kept.n++] = (int)i;
    if (f->status || !kept.n)
        return;
    net_scope(net, "keep");
    NetPlace place = net_go(net, device, false);
    Output path = scalar_string(net, prefix), names = strings(net, &kept, true), slices = strings(net, &kept, false);
    StoreSteps steps = {.save = save_all(net, &kept, path, names, slices, &arena),
                        .restore = restore_all(net, &kept, path, names, slices, &arena),
                        .ready = all_have_values(net, &kept)};
    net_return(net, place);
    net_scope(net, NULL);
    if (!f->status && !(steps.save && steps.restore))
        formula_fail(f, OUT_OF_MEMORY);
    if (!f->status)
        *out = steps;
}
