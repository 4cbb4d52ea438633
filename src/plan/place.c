// Place — chooses a device for every node: its request, its group's, and where a kernel exists.
//
// Nodes that share state form a group (a reference or resource edge, a colocation attribute) and go together; a group
// goes to a device that every member's request allows and that has kernels for all of them. The session remembers where
// stateful nodes went. Without a request, a node without inputs follows its reader and the rest goes to the first CPU.
#include <stdio.h>
#include <stdlib.h>

#include "plan/pass.h"
#include "plan/states.h"

typedef struct {
    Draft *draft;
    int32_t *group;        // by id: union-find
    uint64_t *feasible;    // by group root: BIT of device
} Placing;

static int32_t find_group(const Placing *p, int32_t id) {
    while (p->group[id] != id) {
        p->group[id] = p->group[p->group[id]];
        id = p->group[id];
    }
    return id;
}

static Status *feasible_of(const Placing *p, const Node *node, uint64_t *out) {
    const DeviceSet *devices = p->draft->options->devices;
    const Node *origin = node->origin ? node->origin : node;
    DeviceSpec spec;
    TRY(node_error(node, device_spec_parse(node->device, &spec)));
    const Device *before =
        node_is_stateful(node) && p->draft->options->states ? node_states_device(p->draft->options->states, origin) : NULL;
    uint64_t fits = 0, asked = 0;
    for (int d = 0; d < devices->n && d < 64; d++) {
        bool matches = before ? devices->devices[d] == before : device_spec_matches(&spec, devices->devices[d]);
        asked |= matches ? (uint64_t)1 << d : 0;
        if (matches && binding_exists(node, devices->devices[d]))
            fits |= (uint64_t)1 << d;
    }
    // Soft placement: any device that can.
    for (int d = 0; !fits && p->draft->options->soft_placement && d < devices->n && d < 64; d++)
        if (binding_exists(node, devices->devices[d]))
            fits |= (uint64_t)1 << d;
    if (!fits && asked) {
        NEED(node_op(node), UNIMPLEMENTED, "{{node %.*s}} (%.*s): the op has no kernel yet", NODE_ARGS(node));
        FAIL(UNIMPLEMENTED, "{{node %.*s}} (%.*s): no kernel for type %s on %s", NODE_ARGS(node),
             dtype_name(binding_dtype(node)), node->device.n ? node->device.p : "any device");
    }
    NEED(fits, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): cannot assign a device: asked for '%.*s', there %s %d device%s, "
         "the first is %s", NODE_ARGS(node), STR_ARGS(node->device), devices->n == 1 ? "is" : "are", devices->n,
         devices->n == 1 ? "" : "s", devices->devices[0]->name);
    *out = fits;
    return OK;
}

static Status *join(Placing *p, const Node *a, const Node *b) {
    int32_t x = find_group(p, a->id), y = find_group(p, b->id);
    if (x == y)
        return OK;
    uint64_t both = p->feasible[x] & p->feasible[y];
    NEED(both, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): must be on the device of '%.*s', whose state it shares, but no "
         "device satisfies the requests of both ('%.*s' and '%.*s')", NODE_ARGS(a), STR_ARGS(b->name),
         STR_ARGS(a->device), STR_ARGS(b->device));
    p->group[y] = x;
    p->feasible[x] = both;
    return OK;
}

static bool shares_state(const Node *node, int input) {
    DType dtype = node->inputs[input].node->output_types[node->inputs[input].index];
    return dtype_is_ref(dtype) || dtype == DT_resource;
}

static Status *join_colocated(Placing *p, const Node *node) {
    const AttrValue *classes = node_attr_find(node, "_class");
    for (int i = 0; classes && classes->is_list && classes->kind == ATTR_STRING && i < classes->n; i++) {
        Str name = classes->ss[i];
        if (!str_starts(name, STR("loc:@")))
            continue;
        const Node *other = graph_find(p->draft->graph, (Str){name.p + 5, name.n - 5});
        if (other)
            TRY(join(p, node, other));
    }
    return OK;
}

static Status *make_groups(Placing *p) {
    const Graph *graph = p->draft->graph;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        p->group[i] = (int32_t)i;
        if (graph->nodes.p[i])
            TRY(feasible_of(p, graph->nodes.p[i], &p->feasible[i]));
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (!node)
            continue;
        for (int in = 0; in < node->n_inputs; in++)
            if (shares_state(node, in))
                TRY(join(p, node, node->inputs[in].node));
        TRY(join_colocated(p, node));
    }
    return OK;
}

static int choose(const Placing *p, uint64_t feasible) {
    const DeviceSet *devices = p->draft->options->devices;
    int best = -1;
    for (int d = 0; d < devices->n && d < 64; d++)
        if ((feasible >> d & 1) &&
            (best < 0 || devices->devices[d]->type->priority > devices->devices[best]->type->priority))
            best = d;
    return best;
}

// "x: (Add): /job:localhost/replica:0/task:0/device:CPU:0", as TensorFlow says it. One call a line, so that lines stay whole.
static void log_placement(const Graph *graph) {
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (node)
            fprintf(stderr, "%.*s: (%.*s): %.*s\n", NODE_ARGS(node), STR_ARGS(node->device));
    }
}

static Status *assign(Placing *p) {
    const Graph *graph = p->draft->graph;
    const PlanOptions *options = p->draft->options;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.p[i];
        if (!node)
            continue;
        const Device *device = options->devices->devices[choose(p, p->feasible[find_group(p, node->id)])];
        node->device = str_of(device->name);
        if (node_is_stateful(node) && options->states)
            TRY(node_states_place(options->states, node->origin ? node->origin : node, device));
    }
    return OK;
}

Status *pass_place(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    Placing placing = {.draft = draft, .group = calloc(n + 1, sizeof(int32_t)), .feasible = calloc(n + 1, 8)};
    Status *status = placing.group && placing.feasible
                         ? make_groups(&placing)
                         : status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory");
    if (!status)
        status = assign(&placing);
    if (!status && draft->options->log_placement)
        log_placement(draft->graph);
    free(placing.group);
    free(placing.feasible);
    return status;
}
