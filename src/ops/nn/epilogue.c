// Epilogues of nodes — see epilogue.h.
#include "ops/nn/epilogue.h"

ELEMENTWISE(Elu);
ELEMENTWISE(LeakyRelu);
ELEMENTWISE(Relu);
ELEMENTWISE(Relu6);

static const struct {
    const char *name;
    Activation activation;
    const ElementwiseOp *op;
} activations[] = {
    {"Relu", ACTIVATION_RELU, &elementwise_Relu},
    {"Relu6", ACTIVATION_RELU6, &elementwise_Relu6},
    {"Elu", ACTIVATION_ELU, &elementwise_Elu},
    {"Tanh", ACTIVATION_TANH, &elementwise_Tanh},
    {"Sigmoid", ACTIVATION_SIGMOID, &elementwise_Sigmoid},
    {"LeakyRelu", ACTIVATION_LEAKY_RELU, &elementwise_LeakyRelu},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static int activation_named(Str name) {
    for (int i = 0; i < ACTIVATIONS; i++)
        if (str_is(name, activations[i].name))
            return i;
    return -1;
}

const char *epilogue_activation_name(Str part) {
    int i = activation_named(part);
    return i < 0 ? NULL : activations[i].name;
}

int epilogue_args(Str part) {
    return str_is(part, EPILOGUE_NORM) ? 4 : str_is(part, "BiasAdd") || str_is(part, "Add");
}

// ---------------------------------------- of a node

// Whether each part is one that can be written out as a node.
static bool can_stand_apart(const AttrValue *ops) {
    for (int i = 0; i < ops->n; i++) {
        Str name = ops->ss[i];
        if (activation_named(name) < 0 && !str_is(name, "BiasAdd") && !str_is(name, "Add") && !str_is(name, EPILOGUE_NORM) &&
            !str_is(name, EPILOGUE_GELU) && !str_is(name, EPILOGUE_EXACT_GELU))
            return false;
    }
    return true;
}

static int args_of(const AttrValue *ops) {
    int n = 0;
    for (int i = 0; i < ops->n; i++)
        n += epilogue_args(ops->ss[i]);
    return n;
}

Status *epilogue_of_node(const Node *node, Epilogue *out) {
    const AttrValue *ops = node_list(node, "fused_ops");
    Epilogue e = {0};
    int at = 0;
    if (at < ops->n && str_is(ops->ss[at], "BiasAdd"))
        e.bias = true, at++;
    if (at < ops->n && str_is(ops->ss[at], "Add"))
        e.sum = true, at++;
    int activation = at < ops->n ? activation_named(ops->ss[at]) : -1;
    if (activation >= 0)
        e.activation = activations[activation].activation, at++;
    NEED(at == ops->n || can_stand_apart(ops), UNIMPLEMENTED, "%.*s in fused_ops at place %d", STR_ARGS(ops->ss[at]),
         at);
    int args = args_of(ops);
    NEED(node_int(node, "num_args") == args && node->n_inputs == 2 + args, INVALID_ARGUMENT,
         "fused_ops need %d args, num_args is %lld", args, (long long)node_int(node, "num_args"));
    if (at < ops->n)
        e = (Epilogue){.apart = true};
    e.alpha = node_float(node, "leakyrelu_alpha");
    *out = e;
    return OK;
}

Status *epilogue_activation(const Epilogue *epilogue, DType dtype, ElementwiseLoop *out) {
    for (int i = 0; i < ACTIVATIONS; i++)
        if (activations[i].activation == epilogue->activation)
            NEED(elementwise_find(activations[i].op, dtype, out), INTERNAL, "no loop for %s", activations[i].name);
    out->param = (double)epilogue->alpha;
    return OK;
}
