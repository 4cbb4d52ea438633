// TF_Operation — looking at an operation: names, inputs, outputs, who reads them.
#include "api/api.h"

#include "base/map.h"

// Types live for ever, and so do their names here: there are as many as the program uses.
const char *api_type_name(const OpType *type) {
    if (type->function)
        return type->name.p;
    static struct {
        Mutex lock;
        Map names;
        Arena arena;
    } known = {.lock = MUTEX_INIT};
    mutex_lock(&known.lock);
    const char *name = map_find(&known.names, type->name);
    if (!name) {
        char *copy = arena_copy(&known.arena, type->name.p, type->name.n);
        name = copy && map_set(&known.names, (Str){copy, type->name.n}, copy) ? copy : "";
    }
    mutex_unlock(&known.lock);
    return name;
}

const char *TF_OperationName(TF_Operation *oper) {
    return api_node(oper)->name.p;
}

const char *TF_OperationOpType(TF_Operation *oper) {
    return api_type_name(api_node(oper)->type);
}

const char *TF_OperationDevice(TF_Operation *oper) {
    Str device = api_node(oper)->device;
    return device.n ? device.p : "";
}

// ---------------------------------------- outputs

int TF_OperationNumOutputs(TF_Operation *oper) {
    return api_node(oper)->n_outputs;
}

TF_DataType TF_OperationOutputType(TF_Output oper_out) {
    const Node *node = api_node(oper_out.oper);
    bool good = node && oper_out.index >= 0 && oper_out.index < node->n_outputs;
    return good ? (TF_DataType)node->output_types[oper_out.index] : (TF_DataType)0;
}

int TF_OperationOutputListLength(TF_Operation *oper, const char *arg_name, TF_Status *status) {
    const Node *node = api_node(oper);
    const Signature *signature = &node->type->signature;
    for (int i = 0; i < signature->n_outputs; i++)
        if (str_is(signature->outputs[i].name, arg_name)) {
            int first, count;
            node_output_span(node, i, &first, &count);
            api_ok(status);
            return count;
        }
    api_set(status, API_ERROR(INVALID_ARGUMENT, "Output arg '%s' not found", arg_name));
    return -1;
}

static bool reads(const Use *use, int index) {
    return use->index == index && use->index != CONTROL;
}

int TF_OperationOutputNumConsumers(TF_Output oper_out) {
    return TF_OperationOutputConsumers(oper_out, NULL, 0);
}

int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input *consumers, int max_consumers) {
    const Node *node = api_node(oper_out.oper);
    int n = 0;
    for (size_t i = 0; i < node->uses.n; i++) {
        if (!reads(&node->uses.p[i], oper_out.index))
            continue;
        if (n < max_consumers)
            consumers[n] = (TF_Input){api_operation(node->uses.p[i].node), node->uses.p[i].input};
        n++;
    }
    return n;
}

// ---------------------------------------- inputs

int TF_OperationNumInputs(TF_Operation *oper) {
    return api_node(oper)->n_inputs;
}

// What the operation reads: an op that takes a reference says so, whatever is connected.
TF_DataType TF_OperationInputType(TF_Input oper_in) {
    const Node *node = api_node(oper_in.oper);
    if (!node || oper_in.index < 0 || oper_in.index >= node->n_inputs)
        return (TF_DataType)0;
    DType type = node_input_type(node, oper_in.index);
    return (TF_DataType)((int)type + (node_input_is_ref(node, oper_in.index) ? DT_REF : 0));
}

int TF_OperationInputListLength(TF_Operation *oper, const char *arg_name, TF_Status *status) {
    int first, count;
    if (node_input_arg(api_node(oper), str_of(arg_name), &first, &count) >= 0) {
        api_ok(status);
        return count;
    }
    api_set(status, API_ERROR(INVALID_ARGUMENT, "Input arg '%s' not found", arg_name));
    return -1;
}

TF_Output TF_OperationInput(TF_Input oper_in) {
    const Node *node = api_node(oper_in.oper);
    if (!node || oper_in.index < 0 || oper_in.index >= node->n_inputs || !node->inputs[oper_in.index].node)
        return (TF_Output){NULL, -1};
    Output from = node->inputs[oper_in.index];
    return (TF_Output){api_operation(from.node), from.index};
}

void TF_OperationAllInputs(TF_Operation *oper, TF_Output *inputs, int max_inputs) {
    for (int i = 0; i < api_node(oper)->n_inputs && i < max_inputs; i++)
        inputs[i] = TF_OperationInput((TF_Input){oper, i});
}

// ---------------------------------------- control edges

int TF_OperationNumControlInputs(TF_Operation *oper) {
    return api_node(oper)->n_controls;
}

int TF_OperationGetControlInputs(TF_Operation *oper, TF_Operation **control_inputs, int max_control_inputs) {
    const Node *node = api_node(oper);
    for (int i = 0; i < node->n_controls && i < max_control_inputs; i++)
        control_inputs[i] = api_operation(node->controls[i]);
    return node->n_controls;
}

int TF_OperationNumControlOutputs(TF_Operation *oper) {
    return TF_OperationGetControlOutputs(oper, NULL, 0);
}

int TF_OperationGetControlOutputs(TF_Operation *oper, TF_Operation **control_outputs, int max_control_outputs) {
    const Node *node = api_node(oper);
    int n = 0;
    for (size_t i = 0; i < node->uses.n; i++) {
        if (node->uses.p[i].index != CONTROL)
            continue;
        if (n < max_control_outputs)
            control_outputs[n] = api_operation(node->uses.p[i].node);
        n++;
    }
    return n;
}

static Status *export_node(const Node *node, TF_Buffer *out) {
    AUTO(arena) Arena arena = {0};
    NodeDef def;
    TRY(node_to_proto(node, &arena, &def));
    return buffer_fill_message(out, &message_NodeDef, &def);
}

void TF_OperationToNodeDef(TF_Operation *oper, TF_Buffer *output_node_def, TF_Status *status) {
    api_set(status, export_node(api_node(oper), output_node_def));
}
