// Claim, which — see claim.h: what goes to a device that compiles, and in how many parts.
//
// Nodes are taken in order. Each joins the first cluster of its device that it may join without closing a circle: from
// that cluster no path leads to it by way of other nodes. So the first cluster holds what depends on no host node behind
// a cluster, the second what depends on one such, and so on; what is in one need not be connected.
#include "plan/claim.h"

#include <stdlib.h>

// ---- nodes

static bool has_compiler(const Node *node) {
    return node->placed && node->placed->type->compiler;
}

static ClaimedNode *of(const Claiming *c, const Node *node) {
    return &c->nodes[node->mark];
}

static Node *before(const Node *node, int i) {
    return i < node->n_inputs ? node->inputs[i].node : node->controls[i - node->n_inputs];
}

static bool is_constant(const Node *node) {
    return node->n_outputs == 1 && !node->n_inputs && output_constant((Output){(Node *)(uintptr_t)node, 0});
}

// Values that the host has to know before the shapes are known: only constants, and what the device's own nodes say.
static bool hosts_inputs_inside(const Claiming *c, const Node *node) {
    const Op *op = node_op(node);
    for (int arg = 0; op->host && arg < node->type->signature.n_inputs && arg < MAX_ARGS; arg++) {
        int first, count;
        node_input_span(node, arg, &first, &count);
        for (int i = first; (op->host & BIT(arg)) && i < first + count; i++) {
            const ClaimedNode *from = of(c, node->inputs[i].node);
            if (!from->constant && !from->claimed)
                return false;
        }
    }
    return true;
}

// A barrier: nothing is computed, and nothing of it shows.
static bool only_orders(const Node *node) {
    const Op *op = node_op(node);
    return !node->n_inputs && !node->n_outputs && node->n_controls && op && op->flow == FLOW_NONE && !op->start &&
           op->cpu && op->cpu->run == kernel_nothing && !node_is_stateful(node);
}

// A conditional or a loop that expand.c has left as it was.
static bool is_functional(const Node *node) {
    return node_flow(node) == FLOW_IF || node_flow(node) == FLOW_WHILE;
}

static bool is_read(const Node *node, int output) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == output)
            return true;
    return false;
}

static bool may_claim(const Claiming *c, const ClaimedNode *claimed) {
    const Node *node = claimed->node;
    const Op *op = node_op(node);
    if (!has_compiler(node) || !op || claimed->flows || claimed->constant || (op->flow != FLOW_NONE && !is_functional(node)) ||
        op->start || op->value || (op->open && !op->draw && !(op->flags & OP_CACHES)))
        return false;
    if (only_orders(node))
        return true;
    for (int i = 0; i < node->n_outputs; i++)
        if ((dtype_base(node->output_types[i]) == DT_resource || dtype_base(node->output_types[i]) == DT_variant) &&
            (!is_functional(node) || is_read(node, i)))
            return false;
    return node->n_outputs + node->n_inputs > 0 && hosts_inputs_inside(c, node) &&
           node->placed->type->compiler->claims(node->placed, node);
}

// A program begins when all that it reads is there, and gives nothing before its end. What is awaited from another part of
// the step, or from a queue, may depend on what is sent there, which no edge here shows: so nothing that is sent waits
// for more than it did.
enum { MOST_AWAITED = 63 };  // the last bit is all further ones: nodes behind these are not claimed

static void look_at_exchange(Claiming *c) {
    int n = 0;
    for (size_t i = 0; i < c->n; i++) {
        ClaimedNode *claimed = &c->nodes[i];
        const Op *op = node_op(claimed->node);
        if (node_flow(claimed->node) == FLOW_RECV || (op && op->start))
            claimed->awaits = (uint64_t)1 << (n < MOST_AWAITED ? n++ : MOST_AWAITED);
        for (int in = 0; in < claimed->node->n_inputs + claimed->node->n_controls; in++)
            claimed->awaits |= of(c, before(claimed->node, in))->awaits;
        claimed->claimed &= !(claimed->awaits >> MOST_AWAITED);
    }
    for (size_t i = c->n; i-- > 0;) {
        const Node *node = c->nodes[i].node;
        const Op *op = node_op(node);
        if (c->nodes[i].sends || node_flow(node) == FLOW_SEND || (op && op->start))
            for (int in = 0; in < node->n_inputs + node->n_controls; in++)
                of(c, before(node, in))->sends = true;
    }
}

static bool keeps_waits(const Claiming *c, const ClaimedNode *node, int32_t cluster) {
    uint64_t all = c->clusters[cluster].awaits | node->awaits;
    return (!c->clusters[cluster].sends || all == c->clusters[cluster].awaits) && (!node->sends || all == node->awaits);
}

// From a node that switches, merges or loops on, something may be dead, or run again.
static void look_at_nodes(Claiming *c) {
    for (size_t i = 0; i < c->n; i++) {
        ClaimedNode *claimed = &c->nodes[i];
        Flow flow = node_flow(claimed->node);
        claimed->flows = flow >= FLOW_SWITCH && flow <= FLOW_TRIGGER;
        for (int in = 0; in < claimed->node->n_inputs + claimed->node->n_controls && !claimed->flows; in++) {
            const Node *from = before(claimed->node, in);
            claimed->flows = from->mark >= (int32_t)i || of(c, from)->flows;
        }
        claimed->constant = is_constant(claimed->node);
        claimed->claimed = !c->draft->options->partial && may_claim(c, claimed);
    }
}

// A reference leads to a variable: who reads one is there, too.
static bool references_stay_inside(const Claiming *c, const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++) {
        Use use = node->uses.p[i];
        if (use.index != CONTROL && dtype_is_ref(node->output_types[use.index]) && !of(c, use.node)->claimed)
            return false;
    }
    return true;
}

static void give_up_references(Claiming *c) {
    for (size_t i = c->n; i-- > 0;)
        if (c->nodes[i].claimed && !references_stay_inside(c, c->nodes[i].node))
            c->nodes[i].claimed = false;
}

// ---- clusters

static uint64_t cluster_bit(int32_t cluster) {
    return (uint64_t)1 << cluster;
}

// With those that lead to them.
static uint64_t all_before(const Claiming *c, uint64_t set) {
    for (uint64_t known = 0; known != set;) {
        known = set;
        for (int32_t i = 0; i < c->n_clusters; i++)
            if (set & cluster_bit(i))
                set |= c->clusters[i].before;
    }
    return set;
}

// The clusters that a node would have before it if it were in `cluster`.
static uint64_t led_by(const Claiming *c, const Node *node, int32_t cluster) {
    uint64_t set = 0;
    for (int i = 0; i < node->n_inputs + node->n_controls; i++) {
        const ClaimedNode *from = of(c, before(node, i));
        if (from->cluster == NO_CLUSTER)
            set |= from->reached_by;
        else if (from->cluster != cluster)
            set |= cluster_bit(from->cluster);
    }
    return set;
}

// What the host has to know comes from constants or from within.
static bool knows_inputs(const Claiming *c, const Node *node, int32_t cluster) {
    const Op *op = node_op(node);
    for (int arg = 0; op->host && arg < node->type->signature.n_inputs && arg < MAX_ARGS; arg++) {
        int first, count;
        node_input_span(node, arg, &first, &count);
        for (int i = first; (op->host & BIT(arg)) && i < first + count; i++)
            if (!of(c, node->inputs[i].node)->constant && of(c, node->inputs[i].node)->cluster != cluster)
                return false;
    }
    return true;
}

static int32_t choose(Claiming *c, const Node *node) {
    for (int32_t i = 0; i < c->n_clusters; i++)
        if (c->clusters[i].device == node->placed && keeps_waits(c, of(c, node), i) &&
            !(all_before(c, led_by(c, node, i)) & cluster_bit(i)) && knows_inputs(c, node, i))
            return i;
    if (c->n_clusters == MOST_CLUSTERS || !knows_inputs(c, node, c->n_clusters))
        return NO_CLUSTER;
    c->clusters[c->n_clusters].device = node->placed;
    return c->n_clusters++;
}

static void choose_all(Claiming *c) {
    for (size_t i = 0; i < c->n; i++) {
        ClaimedNode *claimed = &c->nodes[i];
        const Node *node = claimed->node;
        claimed->cluster = NO_CLUSTER;
        if (claimed->claimed)
            claimed->cluster = choose(c, node);
        uint64_t before = claimed->flows ? 0 : led_by(c, node, claimed->cluster);
        if (claimed->cluster == NO_CLUSTER) {
            claimed->reached_by = before;
            continue;
        }
        c->clusters[claimed->cluster].before |= before;
        c->clusters[claimed->cluster].awaits |= claimed->awaits;
        c->clusters[claimed->cluster].sends |= claimed->sends;
        c->clusters[claimed->cluster].n += node_flow(node) == FLOW_WHILE ? LEAST_NODES
                                           : node->n_inputs > 0 && !op_only_renames(node_op(node));
        c->clusters[claimed->cluster].asked |= node->device.n > 0;
    }
}

// Too little to be worth a launch and the way there, unless it was asked for; and what hands out references.
static void drop_clusters(Claiming *c) {
    uint64_t dropped = 0;
    for (int32_t i = 0; i < c->n_clusters; i++)
        if (!c->clusters[i].n || (!c->clusters[i].asked && c->clusters[i].n < LEAST_NODES))
            dropped |= cluster_bit(i);
    for (size_t i = 0; i < c->n; i++) {
        const Node *node = c->nodes[i].node;
        for (size_t u = 0; u < node->uses.n && c->nodes[i].cluster != NO_CLUSTER; u++) {
            Use use = node->uses.p[u];
            if (use.index != CONTROL && dtype_is_ref(node->output_types[use.index]) &&
                of(c, use.node)->cluster != c->nodes[i].cluster)
                dropped |= cluster_bit(c->nodes[i].cluster);
        }
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->nodes[i].cluster != NO_CLUSTER && (dropped & cluster_bit(c->nodes[i].cluster)))
            c->nodes[i].cluster = NO_CLUSTER;
}

// ---- the host

static const Device *host_of(const Draft *draft, const Device *device) {
    const DeviceSet *devices = draft->options->devices;
    for (int d = 0; d < devices->n; d++)
        if (devices->devices[d]->type->host && str_equal(device_task(devices->devices[d]), device_task(device)))
            return devices->devices[d];
    return devices->devices[0];
}

static void send_home(const Claiming *c) {
    for (size_t i = 0; i < c->n; i++)
        if (has_compiler(c->nodes[i].node) && c->nodes[i].cluster == NO_CLUSTER)
            c->nodes[i].node->placed = host_of(c->draft, c->nodes[i].node->placed);
}

static Status *claim(Claiming *c, Node **order) {
    TRY(graph_order(c->draft->graph, order, &c->n));
    for (size_t i = 0; i < c->n + MOST_CLUSTERS; i++)
        c->nodes[i] = (ClaimedNode){.node = i < c->n ? order[i] : NULL, .cluster = NO_CLUSTER, .first_arg = -1};
    for (size_t i = 0; i < c->n; i++)
        order[i]->mark = (int32_t)i;
    look_at_nodes(c);
    look_at_exchange(c);
    give_up_references(c);
    choose_all(c);
    drop_clusters(c);
    send_home(c);
    for (int32_t i = 0; i < c->n_clusters; i++)
        TRY(cluster_write(c, i, host_of(c->draft, c->clusters[i].device)));
    return OK;
}

Status *pass_claim(Draft *draft) {
    bool any = false;
    for (int d = 0; d < draft->options->devices->n; d++)
        any |= draft->options->devices->devices[d]->type->compiler != NULL;
    if (!any)
        return OK;
    size_t n = draft->graph->nodes.n + 1;
    Claiming *claiming = calloc(1, sizeof *claiming);
    Node **order = malloc(n * sizeof *order);
    ClaimedNode *nodes = malloc((n + MOST_CLUSTERS) * sizeof *nodes);
    Status *status = OUT_OF_MEMORY;
    if (claiming && order && nodes) {
        status_free(status);
        claiming->draft = draft;
        claiming->nodes = nodes;
        status = claim(claiming, order);
    }
    free(claiming);
    free(order);
    free(nodes);
    return status;
}
