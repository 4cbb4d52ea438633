// Place — chooses a device for every node: its request, its group's, and where a kernel exists.
//
// Nodes that share state form a group (a reference or resource edge, a colocation attribute) and go together; a group
// goes to a device that every member's request allows and that has kernels for all of them. Stateful nodes go where
// they went before (PlanOptions.placed), and who reads their state goes there whatever it asks for. Without a request a
// node goes to the first device of the highest priority. With soft placement requests are preferences, but for the job
// and task that they name. Rules and messages are those of TensorFlow's Placer and ColocationGraph.
//
// Groups are a union-find over nodes; each root has the set of devices that all members allow, as bits. Joining two
// groups intersects their sets, and an empty intersection names both nodes.
#include <stdio.h>
#include <stdlib.h>

#include "plan/pass.h"

enum { WORD_BITS = 64 };

// Of each node, by id, a set of devices: `words` words of bits, by the device's index.
typedef struct {
    Draft *draft;
    int32_t *group;        // by id: union-find
    uint64_t *feasible;    // of a group's root: where it can go
    uint64_t *able;        // of a group's root: the same but for what soft placement overlooks
    size_t words;
    Map colocated;         // of a name after "loc:@" -> the first node that has it
} Placing;

static uint64_t *feasible_of(const Placing *p, int32_t id) {
    return p->feasible + (size_t)id * p->words;
}

// One set more than there are nodes: the last is follow_state's, to work in.
static uint64_t *able_of(const Placing *p, int32_t id) {
    return p->able + (size_t)id * p->words;
}

// ---- sets of devices

static bool set_has(const uint64_t *set, int d) {
    return set[d / WORD_BITS] >> (d % WORD_BITS) & 1;
}

static void set_put(uint64_t *set, int d, bool in) {
    uint64_t bit = (uint64_t)1 << (d % WORD_BITS);
    set[d / WORD_BITS] = in ? set[d / WORD_BITS] | bit : set[d / WORD_BITS] & ~bit;
}

static bool sets_meet(const Placing *p, const uint64_t *a, const uint64_t *b) {
    uint64_t both = 0;
    for (size_t w = 0; w < p->words; w++)
        both |= a[w] & b[w];
    return both != 0;
}

static bool set_is_empty(const Placing *p, const uint64_t *set) {
    return !sets_meet(p, set, set);
}

static void set_copy(const Placing *p, uint64_t *to, const uint64_t *from) {
    memcpy(to, from, p->words * sizeof *to);
}

static void set_intersect(const Placing *p, uint64_t *to, const uint64_t *with) {
    for (size_t w = 0; w < p->words; w++)
        to[w] &= with[w];
}

// With path halving. Without ranks: a group is joined to the node at hand, and chains stay short.
static int32_t find_group(const Placing *p, int32_t id) {
    while (p->group[id] != id) {
        p->group[id] = p->group[p->group[id]];
        id = p->group[id];
    }
    return id;
}

// ---- messages

static void list_devices(const DeviceSet *devices, Text *out) {
    for (int d = 0; d < devices->n; d++)
        text_format(out, "%s%s", d ? ", " : "", devices->devices[d]->name);
}

static Status *no_such_device(const Placing *p, const Node *node) {
    AUTO(text) Text names = {0};
    list_devices(p->draft->options->devices, &names);
    FAIL(INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): Cannot assign a device for operation %.*s: it was explicitly assigned to "
         "%.*s but available devices are [ %.*s ]. Make sure the device specification refers to a valid device.",
         NODE_ARGS(node), STR_ARGS(node->name), STR_ARGS(node->device), STR_ARGS(text_str(&names)));
}

// Who is in the groups of both, with what they ask for: a conflict is between requests that may be far from the edge at
// which it shows.
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
    FAIL(INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): Cannot colocate nodes {{colocation_node %.*s}} and {{colocation_node %.*s}}: "
         "no device does what all of their group ask for: [ %.*s ]; available devices are [ %.*s ]", NODE_ARGS(a),
         STR_ARGS(a->name), STR_ARGS(b->name), STR_ARGS(text_str(&members)), STR_ARGS(text_str(&names)));
}

// ---- what each node asks for

// Devices that match the whole request, and those of its job and task: soft placement chooses among the latter, since
// moving to another task would move state or fail for want of a connection, not just be slower.
static Status *requested(const Placing *p, const Node *node, uint64_t *out_asked, uint64_t *out_near) {
    const DeviceSet *devices = p->draft->options->devices;
    DeviceSpec spec;
    TRY(node_error(node, device_spec_parse(node->device, &spec)));
    DeviceSpec near = {.job = spec.job, .replica = spec.replica, .task = spec.task, .ordinal = -1};
    for (int d = 0; d < devices->n; d++) {
        set_put(out_asked, d, !node->device.n || device_spec_matches(&spec, devices->devices[d]));
        set_put(out_near, d, !node->device.n || device_spec_matches(&near, devices->devices[d]));
    }
    if (set_is_empty(p, p->draft->options->soft_placement ? out_near : out_asked))
        return no_such_device(p, node);
    return OK;
}

// Where an earlier plan has put the state of the node; NULL: nowhere yet. A variable lives in one place, whatever the
// later graph would choose for it.
static const Device *device_before(const Placing *p, const Node *node) {
    const PlacementRecord *placed = p->draft->options->placed;
    return placed && node_is_stateful(node) ? placed->device_of(placed, plan_state_name(node)) : NULL;
}

// A device that compiles has no kernels: what it doesn't take is claimed by nobody, and runs on the host.
static bool can_be_on(const Node *node, const Device *device, const Device *host) {
    return binding_exists(node, device) || (device->type->compiler && binding_exists(node, host));
}

// State is where it was, but that of a device that compiles is the host's, and goes there when it is used.
static bool keeps_state(const Device *device, const Device *before) {
    return device == before ||
           (device->type->compiler && before->type->host && str_equal(device_task(device), device_task(before)));
}

static void keep_those_with_kernel(const Placing *p, const Node *node, uint64_t *set) {
    const DeviceSet *devices = p->draft->options->devices;
    for (int d = 0; d < devices->n; d++)
        if (set_has(set, d) && !can_be_on(node, devices->devices[d], devices->devices[0]))
            set_put(set, d, false);
}

// Sets where a node alone could go. Nodes that stand for a plan's own loops (plan/loops.h) can't be asked for: their
// attribute counts drafts of this plan.
static Status *find_feasible(const Placing *p, const Node *node) {
    NEED(node_flow(node) != FLOW_LOOP && node_flow(node) != FLOW_CLUSTER, INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): only plans make such nodes", NODE_ARGS(node));
    const DeviceSet *devices = p->draft->options->devices;
    uint64_t *feasible = feasible_of(p, node->id), *able = able_of(p, node->id);
    TRY(requested(p, node, feasible, able));
    const Device *before = device_before(p, node);
    for (int d = 0; before && d < devices->n; d++) {
        bool there = keeps_state(devices->devices[d], before);
        set_put(feasible, d, there && (devices->devices[d] == before || set_has(feasible, d)));
        set_put(able, d, there);
    }
    keep_those_with_kernel(p, node, feasible);
    if (p->draft->options->soft_placement)
        keep_those_with_kernel(p, node, able);
    else
        set_copy(p, able, feasible);
    if (set_is_empty(p, feasible))
        // The request alone can't be met: under soft placement it counts as a preference.
        set_copy(p, feasible, able);
    if (!set_is_empty(p, feasible))
        return OK;
    NEED(node_op(node), UNIMPLEMENTED, "{{node %.*s}} (%.*s): the op has no kernel yet", NODE_ARGS(node));
    FAIL(UNIMPLEMENTED, "{{node %.*s}} (%.*s): no kernel for type %s on %s", NODE_ARGS(node),
         dtype_name(binding_dtype(node)), node->device.n ? node->device.p : "any device");
}

// ---- groups

// The group of `b` joins that of `a`. Where only soft placement lets them meet, their preferences are dropped together.
static Status *join(Placing *p, const Node *a, const Node *b) {
    int32_t x = find_group(p, a->id), y = find_group(p, b->id);
    if (x == y)
        return OK;
    bool both = sets_meet(p, feasible_of(p, x), feasible_of(p, y));
    if (!both && !sets_meet(p, able_of(p, x), able_of(p, y)))
        return no_common_device(p, a, b);
    p->group[y] = x;
    set_intersect(p, able_of(p, x), able_of(p, y));
    if (both)
        set_intersect(p, feasible_of(p, x), feasible_of(p, y));
    else
        set_copy(p, feasible_of(p, x), able_of(p, x));
    return OK;
}

// State doesn't move: who asks to be elsewhere goes to it all the same, as in TensorFlow, if it has a kernel there. But
// not from other state: a node that has joined a group already is held there.
static void follow_state(Placing *p, const Node *node, const Node *holder) {
    int32_t x = find_group(p, node->id), y = find_group(p, holder->id);
    if (x == y || x != node->id || sets_meet(p, able_of(p, x), able_of(p, y)))
        return;
    uint64_t *there = able_of(p, (int32_t)p->draft->graph->nodes.n);
    set_copy(p, there, able_of(p, y));
    keep_those_with_kernel(p, node, there);
    if (set_is_empty(p, there))
        return;
    set_copy(p, able_of(p, x), there);
    set_copy(p, feasible_of(p, x), there);
}

static bool shares_state(const Node *node, int input) {
    DType dtype = node->inputs[input].node->output_types[node->inputs[input].index];
    return dtype_is_ref(dtype) || dtype == DT_resource;
}

// With the node that is named; where that is not part of the step, with the others who name it. TensorFlow gives the
// names in the attribute `_class`, as "loc:@name". Attributes beyond the signature's are rare: most nodes are done
// after one comparison.
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
        for (int in = 0; in < node->n_inputs; in++) {
            if (!shares_state(node, in))
                continue;
            follow_state(p, node, node->inputs[in].node);
            TRY(join(p, node, node->inputs[in].node));
        }
        TRY(join_colocated(p, node));
    }
    return OK;
}

static Status *make_groups(Placing *p) {
    const Graph *graph = p->draft->graph;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        p->group[i] = (int32_t)i;
        if (graph->nodes.p[i])
            TRY(find_feasible(p, graph->nodes.p[i]));
    }
    return join_groups(p);
}

// The first of the highest priority, which a device's type is registered with.
static int choose(const Placing *p, const uint64_t *feasible) {
    const DeviceSet *devices = p->draft->options->devices;
    int best = -1;
    for (int d = 0; d < devices->n; d++)
        if (set_has(feasible, d) &&
            (best < 0 || devices->devices[d]->type->priority > devices->devices[best]->type->priority))
            best = d;
    return best;
}

// "x: (Add): /job:localhost/replica:0/task:0/device:CPU:0", as TensorFlow says it. One call a line, so that lines stay
// whole.
static void log_placement(const Graph *graph) {
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (node)
            fprintf(stderr, "%.*s: (%.*s): %s\n", NODE_ARGS(node), node->placed->name);
    }
}

// The record keeps the first device that it is told; it fails only for want of memory.
static Status *note(const PlacementRecord *placed, const Node *node) {
    bool asked = placed && placed->placed && node_is_stateful(node);
    return asked ? placed->placed(placed, plan_state_name(node), node->placed) : OK;
}

// Every member of a group asks its root, so they all get one answer.
static Status *assign(Placing *p) {
    const Graph *graph = p->draft->graph;
    const PlanOptions *options = p->draft->options;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.p[i];
        if (!node)
            continue;
        const Device *device = options->devices->devices[choose(p, feasible_of(p, find_group(p, node->id)))];
        node->placed = device;
        TRY(note(options->placed, node));
    }
    return OK;
}

// One allocation for all sets: with a few devices that is one word a node.
static Status *place(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    size_t words = ((size_t)draft->options->devices->n + WORD_BITS - 1) / WORD_BITS;
    Placing placing = {.draft = draft, .words = words, .group = calloc(n + 1, sizeof(int32_t)),
                       .feasible = calloc(n + 1, words * sizeof(uint64_t)),
                       .able = calloc(n + 1, words * sizeof(uint64_t))};
    Status *status = placing.group && placing.feasible && placing.able ? make_groups(&placing) : OUT_OF_MEMORY;
    if (!status)
        status = assign(&placing);
    free(placing.group);
    free(placing.feasible);
    free(placing.able);
    map_clear(&placing.colocated);
    return status;
}

Status *pass_place(Draft *draft) {
    TRY(place(draft));
    if (draft->options->log_placement)
        log_placement(draft->graph);
    return OK;
}
