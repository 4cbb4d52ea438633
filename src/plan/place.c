// Place — chooses a device for every node: its request, its group's, and where a kernel exists.
//
// Nodes that share state form a group (a reference or resource edge, a colocation attribute) and go together; a group
// goes to a device that every member's request allows and that has kernels for all of them. The session remembers where
// stateful nodes went. Without a request, a node without inputs follows its reader and the rest goes to the first CPU.
// With soft placement requests are wishes, but for the job and task that they name.
#include <stdio.h>
#include <stdlib.h>

#include "plan/pass.h"
#include "plan/states.h"

typedef struct {
    Draft *draft;
    int32_t *group;        // by id: union-find
    uint64_t *feasible;    // by group root: BIT of device
    uint64_t *able;        // by group root: the same but for what soft placement overlooks
    Map colocated;         // of a name after "loc:@" -> the first node that has it
} Placing;

static int32_t find_group(const Placing *p, int32_t id) {
    while (p->group[id] != id) {
        p->group[id] = p->group[p->group[id]];
        id = p->group[id];
    }
    return id;
}

// ---- messages

static void list_devices(const DeviceSet *devices, Text *out) {
    for (int d = 0; d < devices->n && d < 64; d++)
        text_format(out, "%s%s", d ? ", " : "", devices->devices[d]->name);
}

static Status *no_such_device(const Placing *p, const Node *node) {
    AUTO(text) Text names = {0};
    list_devices(p->draft->options->devices, &names);
    FAIL(INVALID_ARGUMENT, "{{node %.*s}} (%.*s): Cannot assign a device for operation %.*s: it was explicitly assigned to "
         "%.*s but available devices are [ %.*s ]. Make sure the device specification refers to a valid device.",
         NODE_ARGS(node), STR_ARGS(node->name), STR_ARGS(node->device), STR_ARGS(text_str(&names)));
}

// Who is in the groups of both, with what they ask for.
static void list_members(const Placing *p, int32_t x, int32_t y, Text *out) {
    enum { MOST_LISTED = 8 };
    const Graph *graph = p->draft->graph;
    int n = 0;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (!node || (find_group(p, node->id) != x && find_group(p, node->id) != y))
            continue;
        if (n++ < MOST_LISTED)
            text_format(out, "%s%.*s (%.*s)%s%.*s", n > 1 ? ", " : "", NODE_ARGS(node), node->device.n ? " on " : "",
                        STR_ARGS(node->device));
    }
    if (n > MOST_LISTED)
        text_format(out, " and %d more", n - MOST_LISTED);
}

static Status *no_common_device(const Placing *p, const Node *a, const Node *b) {
    AUTO(text) Text names = {0};
    AUTO(text) Text members = {0};
    list_devices(p->draft->options->devices, &names);
    list_members(p, find_group(p, a->id), find_group(p, b->id), &members);
    FAIL(INVALID_ARGUMENT, "{{node %.*s}} (%.*s): Cannot colocate nodes {{colocation_node %.*s}} and {{colocation_node %.*s}}: "
         "no device does what all of their group ask for: [ %.*s ]; available devices are [ %.*s ]", NODE_ARGS(a),
         STR_ARGS(a->name), STR_ARGS(b->name), STR_ARGS(text_str(&members)), STR_ARGS(text_str(&names)));
}

// ---- what each node asks for

// Devices that match the whole request, and those of its job and task: soft placement chooses among the latter.
static Status *requested(const Placing *p, const Node *node, uint64_t *out_asked, uint64_t *out_near) {
    const DeviceSet *devices = p->draft->options->devices;
    *out_asked = *out_near = UINT64_MAX >> (devices->n < 64 ? 64 - devices->n : 0);
    if (!node->device.n)
        return OK;
    DeviceSpec spec;
    TRY(node_error(node, device_spec_parse(node->device, &spec)));
    DeviceSpec near = {.job = spec.job, .replica = spec.replica, .task = spec.task, .ordinal = -1};
    *out_asked = *out_near = 0;
    for (int d = 0; d < devices->n && d < 64; d++) {
        *out_asked |= (uint64_t)device_spec_matches(&spec, devices->devices[d]) << d;
        *out_near |= (uint64_t)device_spec_matches(&near, devices->devices[d]) << d;
    }
    if (!(p->draft->options->soft_placement ? *out_near : *out_asked))
        return no_such_device(p, node);
    return OK;
}

static uint64_t with_kernel(const Placing *p, const Node *node, uint64_t among) {
    const DeviceSet *devices = p->draft->options->devices;
    for (int d = 0; d < devices->n && d < 64; d++)
        if ((among >> d & 1) && !binding_exists(node, devices->devices[d]))
            among &= ~((uint64_t)1 << d);
    return among;
}

static Status *feasible_of(const Placing *p, const Node *node, uint64_t *out, uint64_t *out_able) {
    const PlanOptions *options = p->draft->options;
    const DeviceSet *devices = options->devices;
    const Device *before = node_is_stateful(node) && options->states
                               ? node_states_device(options->states, node->origin ? node->origin : node) : NULL;
    uint64_t asked, near;
    TRY(requested(p, node, &asked, &near));
    for (int d = 0; before && d < devices->n && d < 64; d++)
        if (devices->devices[d] == before)
            asked = near = (uint64_t)1 << d;
    uint64_t fits = with_kernel(p, node, asked);
    *out_able = options->soft_placement ? with_kernel(p, node, near) : fits;
    *out = fits ? fits : *out_able;
    NEED(*out || node_op(node), UNIMPLEMENTED, "{{node %.*s}} (%.*s): the op has no kernel yet", NODE_ARGS(node));
    NEED(*out, UNIMPLEMENTED, "{{node %.*s}} (%.*s): no kernel for type %s on %s", NODE_ARGS(node),
         dtype_name(binding_dtype(node)), node->device.n ? node->device.p : "any device");
    return OK;
}

// ---- groups

static Status *join(Placing *p, const Node *a, const Node *b) {
    int32_t x = find_group(p, a->id), y = find_group(p, b->id);
    if (x == y)
        return OK;
    uint64_t able = p->able[x] & p->able[y], both = p->feasible[x] & p->feasible[y];
    if (!both && !able)
        return no_common_device(p, a, b);
    p->group[y] = x;
    p->feasible[x] = both ? both : able;
    p->able[x] = able;
    return OK;
}

static bool shares_state(const Node *node, int input) {
    DType dtype = node->inputs[input].node->output_types[node->inputs[input].index];
    return dtype_is_ref(dtype) || dtype == DT_resource;
}

// With the node that is named; where that is not part of the step, with the others who name it.
static Status *join_colocated(Placing *p, const Node *node) {
    const AttrValue *classes = node->n_attrs > node->type->signature.n_attrs ? node_attr_find(node, "_class") : NULL;
    for (int i = 0; classes && classes->is_list && classes->kind == ATTR_STRING && i < classes->n; i++) {
        Str name = classes->ss[i];
        if (!str_starts(name, STR("loc:@")))
            continue;
        name = (Str){name.p + 5, name.n - 5};
        const Node *other = graph_find(p->draft->graph, name);
        if (!other)
            other = map_find(&p->colocated, name);
        if (other)
            TRY(join(p, node, other));
        else
            NEED_MEMORY(map_set(&p->colocated, name, (void *)(uintptr_t)node));
    }
    return OK;
}

static Status *join_groups(Placing *p) {
    const Graph *graph = p->draft->graph;
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

static Status *make_groups(Placing *p) {
    const Graph *graph = p->draft->graph;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        p->group[i] = (int32_t)i;
        if (graph->nodes.p[i])
            TRY(feasible_of(p, graph->nodes.p[i], &p->feasible[i], &p->able[i]));
    }
    return join_groups(p);
}

// The same by requests alone: kernels are chosen when it is known what nodes are left.
static Status *check_groups(Placing *p) {
    const Graph *graph = p->draft->graph;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        p->group[i] = (int32_t)i;
        if (!graph->nodes.p[i])
            continue;
        TRY(requested(p, graph->nodes.p[i], &p->feasible[i], &p->able[i]));
        if (!p->draft->options->soft_placement)
            p->able[i] = p->feasible[i];
    }
    return join_groups(p);
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

static Status *placing_run(Draft *draft, Status *(*groups)(Placing *p), bool assigns) {
    size_t n = draft->graph->nodes.n;
    Placing placing = {.draft = draft, .group = calloc(n + 1, sizeof(int32_t)), .feasible = calloc(n + 1, 8),
                       .able = calloc(n + 1, 8)};
    Status *status = placing.group && placing.feasible && placing.able
                         ? groups(&placing)
                         : OUT_OF_MEMORY;
    if (!status && assigns)
        status = assign(&placing);
    free(placing.group);
    free(placing.feasible);
    free(placing.able);
    map_clear(&placing.colocated);
    return status;
}

// What is asked for must be possible even where folding will leave nothing of it. Nodes that stand for a plan's own loops
// (plan/loops.h) can't be asked for.
Status *pass_requests(Draft *draft) {
    const Graph *graph = draft->graph;
    bool any = false;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (!node)
            continue;
        NEED(node_flow(node) != FLOW_LOOP, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): only plans make such nodes",
             NODE_ARGS(node));
        any |= node->device.n > 0;
    }
    return any ? placing_run(draft, check_groups, false) : OK;
}

Status *pass_place(Draft *draft) {
    TRY(placing_run(draft, make_groups, true));
    if (draft->options->log_placement)
        log_placement(draft->graph);
    return OK;
}
