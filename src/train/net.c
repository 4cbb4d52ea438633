// Net — see net.h: names, variables, how many answers are right.
#include "train/net.h"

#include "formula/ops.h"

void net_init(Net *net, Graph *graph, int64_t seed) {
    *net = (Net){.f = {.graph = graph}, .seed = seed};
}

void net_clear(Net *net) {
    status_free(net->f.status);
    vec_clear(&net->variables);
    vec_clear(&net->updates);
    arena_clear(&net->names);
    *net = (Net){0};
}

void net_scope(Net *net, const char *name) {
    if (!name || !*name) {
        net->f.scope = net->layer = (Str){0};
        return;
    }
    Str wanted = str_of(name), probe = wanted;
    net->layer = str_copy(&net->names, wanted);
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

// ---------------------------------------- places

void net_devices(Net *net, const NetDevices *devices) {
    int n = devices->n_stores;
    Str *stores = ARENA_ARRAY(&net->names, Str, (size_t)n);
    net->stored = ARENA_ARRAY(&net->names, int64_t, (size_t)n);
    if (n && !(stores && net->stored)) {
        formula_fail(&net->f, OUT_OF_MEMORY);
        return;
    }
    for (int i = 0; i < n; i++) {
        stores[i] = str_copy(&net->names, devices->stores[i]);
        net->stored[i] = 0;
    }
    net->devices = (NetDevices){str_copy(&net->names, devices->here), stores, n, devices->by_size};
    net->next_store = 0;
    net->f.device = net->devices.here;
}

NetPlace net_go(Net *net, Str device, bool pin) {
    NetPlace before = {net->f.device, net->pinned};
    net->f.device = device;
    net->pinned = pin ? device : net->pinned;
    return before;
}

void net_return(Net *net, NetPlace place) {
    net->f.device = place.device;
    net->pinned = place.pinned;
}

Str net_store(Net *net, int64_t bytes) {
    const NetDevices *devices = &net->devices;
    int chosen = 0;
    if (net->pinned.n || !devices->n_stores)
        return net->pinned.n ? net->pinned : net->f.device;
    for (int i = 1; i < devices->n_stores && devices->by_size; i++)
        chosen = net->stored[i] < net->stored[chosen] ? i : chosen;
    if (!devices->by_size)
        chosen = net->next_store++ % devices->n_stores;
    net->stored[chosen] += bytes;
    return devices->stores[chosen];
}

void net_order(Net *net, Node *node, Node *before) {
    if (net->f.status || !node || !before)
        return;
    Status *status = node_add_control(node, before);
    if (status)
        formula_fail(&net->f, status);
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
        AUTO(builder) NodeBuilder builder;
        builder_init(&builder, f->graph, net->refs ? STR("VariableV2") : STR("VarHandleOp"), unique);
        builder_device(&builder, f->device);
        builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(dtype));
        builder_attr(&builder, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
        builder_attr(&builder, STR("shared_name"), &ATTR_OF_STRING(net->refs ? STR("") : unique));
        status = builder_finish(&builder, &node);
    }
    if (status)
        formula_fail(f, status);
    return (Output){node, 0};
}

// The variable of that name that the layer made before, or -1.
static int find_shared(const Net *net, Str name) {
    for (size_t i = 0; i < net->variables.n; i++)
        if (str_equal(net->variables.p[i].name, name))
            return (int)i;
    return -1;
}

int net_variable(Net *net, const char *name, Output initial, bool trainable) {
    Formula *f = &net->f;
    if (f->status)
        return -1;
    Str asked = str_format(&net->names, "%.*s/%s", STR_ARGS(net->layer), name);
    int shared = net->testing ? find_shared(net, asked) : -1;
    if (shared >= 0)
        return shared;
    NetVariable variable = {.shape = *output_shape(initial), .trainable = trainable, .name = asked};
    DType dtype = output_type(initial);
    int64_t count = shape_count(&variable.shape);
    variable.device = net_store(net, count > 0 ? count * (int64_t)dtype_size(dtype) : 0);
    NetPlace place = net_go(net, variable.device, false);
    variable.handle = make_handle(net, name, dtype, variable.shape);
    variable.init = net->refs ? formula_2(f, "Assign", variable.handle, initial).node
                              : formula_2(f, "AssignVariableOp", variable.handle, initial).node;
    variable.value = net->refs ? Identity(variable.handle)
                               : OpWith("ReadVariableOp", ATTRS(TYPE_ATTR("dtype", dtype)), variable.handle);
    net_return(net, place);
    if (f->status)
        return -1;
    if (!vec_push(&net->variables, variable)) {
        formula_fail(f, OUT_OF_MEMORY);
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
    const NetVariable *v = &net->variables.p[variable];
    NetPlace place = net_go(net, v->device, false);
    Node *node = formula_2(f, net->refs ? "Assign" : "AssignVariableOp", v->handle, value).node;
    net_return(net, place);
    return node;
}

Output net_steps(Net *net) {
    Formula *f = &net->f;
    if (!net->steps) {
        net_scope(net, NULL);
        int steps = net_variable(net, "steps", Int64(0), false);
        if (f->status)
            return NONE;
        const NetVariable *v = &net->variables.p[steps];
        NetPlace place = net_go(net, v->device, false);
        net->count = formula_2(f, net->refs ? "AssignAdd" : "AssignAddVariableOp", v->handle, Int64(1)).node;
        net_return(net, place);
        net_order(net, net->count, v->value.node);
        net->steps = steps + 1;
    }
    return net->steps ? net_value(net, net->steps - 1) : NONE;
}

static Node *group(Net *net, const char *name, Str device, Node *const *nodes, int n) {
    Formula *f = &net->f;
    Str unique;
    if (f->status)
        return NULL;
    Status *status = graph_unique_name(f->graph, str_of(name), &unique);
    Node *node = NULL;
    if (!status) {
        AUTO(builder) NodeBuilder builder;
        builder_init(&builder, f->graph, STR("NoOp"), unique);
        builder_device(&builder, device);
        for (int i = 0; i < n; i++)
            builder_control(&builder, nodes[i]);
        status = builder_finish(&builder, &node);
    }
    if (status)
        formula_fail(f, status);
    return node;
}

// Those of another device are grouped there first: one message tells of all of them.
Node *net_group(Net *net, const char *name, Node *const *nodes, int n) {
    AUTO(arena) Arena arena = {0};
    Node **left = ARENA_ARRAY(&arena, Node *, n), **same = ARENA_ARRAY(&arena, Node *, n);
    int n_left = 0;
    if (!left || !same)
        formula_fail(&net->f, OUT_OF_MEMORY);
    for (int i = 0; i < n && !net->f.status; i++) {
        int n_same = 0;
        bool first = true;
        for (int j = 0; j < n; j++) {
            bool alike = str_equal(nodes[j]->device, nodes[i]->device);
            first = first && !(alike && j < i);
            if (alike)
                same[n_same++] = nodes[j];
        }
        bool alone = n_same == 1 || str_equal(nodes[i]->device, net->f.device);
        if (alone || first)
            left[n_left++] = alone ? nodes[i] : group(net, name, nodes[i]->device, same, n_same);
    }
    return group(net, name, net->f.device, left, n_left);
}

Node *net_init_all(Net *net) {
    VEC(Node *) inits = {0};
    for (size_t i = 0; i < net->variables.n; i++)
        if (!vec_push(&inits, net->variables.p[i].init))
            formula_fail(&net->f, OUT_OF_MEMORY);
    Node *node = net_group(net, "init", inits.p, (int)inits.n);
    vec_clear(&inits);
    return node;
}

// ---------------------------------------- answers

Output net_accuracy(Net *net, Output logits, Output labels) {
    Formula *f = &net->f;
    net_scope(net, "accuracy");
    Output guess = OpWith("ArgMax", ATTRS(TYPE_ATTR("output_type", DT_int64)), logits, Int(1));
    Output right = Cast(Equal(guess, Cast(labels, DT_int64)), DT_float);
    Output y = Mean(Reshape(right, Ints(-1)), Int(0), false);
    net_scope(net, NULL);
    return y;
}
