// Net — see net.h: variables, first values.
#include "train/net.h"

#include <math.h>

#include "formula/ops.h"

void net_init(Net *net, Graph *graph, int64_t seed) {
    *net = (Net){.f = {.graph = graph}, .seed = seed};
}

void net_clear(Net *net) {
    status_free(net->f.status);
    vec_clear(&net->variables);
    arena_clear(&net->names);
    *net = (Net){0};
}

void net_scope(Net *net, const char *name) {
    if (!name || !*name) {
        net->f.scope = (Str){0};
        return;
    }
    Str wanted = str_of(name), probe = wanted;
    // Taken where any node lies below it: try name_1, name_2 ...
    for (int i = 1; i < 10000; i++) {
        bool taken = graph_find(net->f.graph, probe) != NULL;
        Str below = str_format(&net->names, "%.*s/", STR_ARGS(probe));
        for (size_t n = 0; n < net->f.graph->nodes.n && !taken; n++)
            taken = net->f.graph->nodes.p[n] && str_starts(net->f.graph->nodes.p[n]->name, below);
        if (!taken)
            break;
        probe = str_format(&net->names, "%s_%d", name, i);
    }
    net->f.scope = str_copy(&net->names, probe);
}

// ---------------------------------------- variables

static Output make_handle(Net *net, const char *name, DType dtype, Shape shape) {
    Formula *f = &net->f;
    if (f->status)
        return NONE;
    Str scope = f->scope, wanted, unique;
    wanted = scope.n ? str_format(&net->names, "%.*s/%s", STR_ARGS(scope), name) : str_of(name);
    Status *status = graph_unique_name(f->graph, wanted, &unique);
    Node *node = NULL;
    if (!status) {
        NodeBuilder builder AUTO(builder);
        builder_init(&builder, f->graph, net->refs ? STR("VariableV2") : STR("VarHandleOp"), unique);
        builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(dtype));
        builder_attr(&builder, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
        builder_attr(&builder, STR("shared_name"), &ATTR_OF_STRING(net->refs ? STR("") : unique));
        status = builder_finish(&builder, &node);
    }
    if (status)
        formula_fail(f, status);
    return (Output){node, 0};
}

int net_variable(Net *net, const char *name, Output initial, bool trainable) {
    Formula *f = &net->f;
    if (f->status)
        return -1;
    NetVariable variable = {.shape = *output_shape(initial), .trainable = trainable};
    DType dtype = output_type(initial);
    variable.handle = make_handle(net, name, dtype, variable.shape);
    variable.init = net->refs ? formula_2(f, "Assign", variable.handle, initial).node
                              : formula_2(f, "AssignVariableOp", variable.handle, initial).node;
    variable.value = net->refs ? Identity(variable.handle)
                               : OpWith("ReadVariableOp", ATTRS(TYPE_ATTR("dtype", dtype)), variable.handle);
    if (f->status)
        return -1;
    if (!vec_push(&net->variables, variable)) {
        formula_fail(f, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory"));
        return -1;
    }
    return (int)net->variables.n - 1;
}

Output net_value(const Net *net, int variable) {
    return variable < 0 ? NONE : net->variables.p[variable].value;
}

Node *net_assign(Net *net, int variable, Output value) {
    Formula *f = &net->f;
    if (f->status || variable < 0)
        return NULL;
    return formula_2(f, net->refs ? "Assign" : "AssignVariableOp", net->variables.p[variable].handle, value).node;
}

Node *net_group(Net *net, const char *name, Node *const *nodes, int n) {
    Formula *f = &net->f;
    Str unique;
    if (f->status)
        return NULL;
    Status *status = graph_unique_name(f->graph, str_of(name), &unique);
    Node *node = NULL;
    if (!status) {
        NodeBuilder builder AUTO(builder);
        builder_init(&builder, f->graph, STR("NoOp"), unique);
        for (int i = 0; i < n; i++)
            builder_control(&builder, nodes[i]);
        status = builder_finish(&builder, &node);
    }
    if (status)
        formula_fail(f, status);
    return node;
}

Node *net_init_all(Net *net) {
    VEC(Node *) inits = {0};
    for (size_t i = 0; i < net->variables.n; i++)
        if (!vec_push(&inits, net->variables.p[i].init))
            formula_fail(&net->f, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory"));
    Node *node = net_group(net, "init", inits.p, (int)inits.n);
    vec_clear(&inits);
    return node;
}

// ---------------------------------------- first values

static Output shape_constant(Net *net, Shape shape) {
    return formula_ints(&net->f, shape.dims, shape.rank, DT_int32);
}

Output initial_constant(Net *net, Shape shape, DType dtype, double value) {
    Formula *f = &net->f;
    return Fill(shape_constant(net, shape), Number(value, dtype));
}

static Output draw(Net *net, const char *op, Shape shape, DType dtype) {
    Formula *f = &net->f;
    int64_t seed = net->seed++;
    return OpWith(op, ATTRS(TYPE_ATTR("dtype", dtype), INT_ATTR("seed", seed), INT_ATTR("seed2", 42)),
                  shape_constant(net, shape));
}

Output initial_uniform(Net *net, Shape shape, DType dtype, double low, double high) {
    Formula *f = &net->f;
    return Add(Mul(draw(net, "RandomUniform", shape, dtype), Number(high - low, dtype)), Number(low, dtype));
}

Output initial_truncated_normal(Net *net, Shape shape, DType dtype, double deviation) {
    Formula *f = &net->f;
    return Mul(draw(net, "TruncatedNormal", shape, dtype), Number(deviation, dtype));
}

static void fans(Shape shape, double *in, double *out) {
    double field = shape.rank > 2 ? (double)shape_span(&shape, 0, shape.rank - 2) : 1;
    *in = shape.rank > 1 ? field * (double)shape.dims[shape.rank - 2] : shape.rank ? (double)shape.dims[0] : 1;
    *out = shape.rank ? field * (double)shape.dims[shape.rank - 1] : 1;
    *in = fmax(*in, 1);
    *out = fmax(*out, 1);
}

// Cutting a normal distribution at two deviations leaves it this much narrower.
static const double TRUNCATED = 0.87962566103423978;

Output initial_glorot_uniform(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    double limit = sqrt(6 / (in + out));
    return initial_uniform(net, shape, dtype, -limit, limit);
}

Output initial_glorot_normal(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    return initial_truncated_normal(net, shape, dtype, sqrt(2 / (in + out)) / TRUNCATED);
}

Output initial_he_uniform(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    double limit = sqrt(6 / in);
    return initial_uniform(net, shape, dtype, -limit, limit);
}

Output initial_he_normal(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    return initial_truncated_normal(net, shape, dtype, sqrt(2 / in) / TRUNCATED);
}
