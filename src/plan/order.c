// Order — the last pass: a placed graph becomes the flat arrays of a plan.
//
// Nodes go in a topological order (back edges into loops excepted). Values become slots, numbered in the order of their
// producers; each slot knows its readers, the slot whose memory it shares (its root), and whether somebody may see it
// after the step (it escapes, and gets a counted buffer instead of a place in the arena).
#include <stdlib.h>
#include <string.h>

#include "plan/claim.h"
#include "plan/frames.h"
#include "plan/loops.h"
#include "plan/waves.h"
#include "plan/rewrite/rewrite.h"

typedef struct {
    Plan *plan;
    Draft *draft;
    Node **order;
    int32_t *first_slot;    // by node->mark
} Ordering;

static int32_t slot_of(const Ordering *o, Output edge) {
    return o->first_slot[edge.node->mark] + edge.index;
}

static Status *bind_nodes(Ordering *o) {
    Plan *plan = o->plan;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        Node *node = o->order[i];
        PlanNode *p = &plan->nodes[i];
        if (!node->placed)
            BUG("{{node %.*s}} (%.*s): was not placed", NODE_ARGS(node));
        TRY(binding_init(&p->binding, node, node->placed, &plan->arena));
        p->flow = (uint8_t)node_flow(node);
        const Op *op = node_op(node);
        p->async = op->start || (op->flags & OP_BLOCKS);
        plan->waits |= p->async;
        // Such a plan can't run as a list: values may be dead, or come in any order.
        bool control_flow = p->flow >= FLOW_SWITCH && p->flow <= FLOW_TRIGGER && p->flow != FLOW_LOOP_COND;
        plan->propagated |= (op->start && !plan->n_waves) || control_flow || plan->partial;
    }
    return OK;
}

static bool uses_device(const Plan *plan, const Device *device) {
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].binding.device == device)
            return true;
    return false;
}

// Memory 0 is the host's, whichever devices compute there; then one for each device in use that has its own.
static Status *find_memories(Ordering *o) {
    Plan *plan = o->plan;
    const DeviceSet *devices = o->draft->options->devices;
    plan->memories = ARENA_ARRAY(&plan->arena, const Device *, devices->n + 1);
    NEED_MEMORY(plan->memories);
    plan->n_memories = 1;
    for (int d = 0; d < devices->n; d++)
        if (!devices->devices[d]->type->host && uses_device(plan, devices->devices[d]))
            plan->memories[plan->n_memories++] = devices->devices[d];
    return OK;
}

// Devices whose kernels return before their work is done: a step waits for these before its results are seen.
static Status *find_queues(Ordering *o) {
    Plan *plan = o->plan;
    const DeviceSet *devices = o->draft->options->devices;
    for (int d = 0; d < devices->n; d++) {
        const Device *device = devices->devices[d];
        if (!device->type->sync || !uses_device(plan, device))
            continue;
        if (!plan->queues)
            plan->queues = ARENA_ARRAY(&plan->arena, const Device *, devices->n);
        NEED_MEMORY(plan->queues);
        plan->queues[plan->n_queues++] = device;
    }
    return OK;
}

static Status *plan_loops(Ordering *o) {
    Plan *plan = o->plan;
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        n += plan->nodes[i].flow == FLOW_LOOP;
    plan->loops = ARENA_ARRAY(&plan->arena, PlanLoop, n);
    NEED_MEMORY(plan->loops);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        if (plan->nodes[i].flow != FLOW_LOOP)
            continue;
        plan->nodes[i].child = plan->n_loops;
        TRY(loop_plan(o->draft, o->order[i], plan, &plan->loops[plan->n_loops++]));
    }
    return OK;
}

static Status *plan_clusters(Ordering *o) {
    Plan *plan = o->plan;
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        n += plan->nodes[i].flow == FLOW_CLUSTER;
    plan->clusters = ARENA_ARRAY(&plan->arena, PlanCluster, n);
    NEED_MEMORY(plan->clusters);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        if (plan->nodes[i].flow != FLOW_CLUSTER)
            continue;
        plan->nodes[i].child = plan->n_clusters;
        TRY(cluster_plan(o->draft, o->order[i], &plan->clusters[plan->n_clusters++]));
    }
    return OK;
}

static Status *number_slots(Ordering *o) {
    Plan *plan = o->plan;
    size_t slots = 0, inputs = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        PlanNode *p = &plan->nodes[i];
        o->order[i]->mark = i;
        o->first_slot[i] = (int32_t)slots;
        p->out = (int32_t)slots;
        p->in = (int32_t)inputs;
        slots += (size_t)p->binding.n_out;
        inputs += (size_t)p->binding.n_in;
    }
    NEED(slots < INT32_MAX / 2 && inputs < INT32_MAX / 2, RESOURCE_EXHAUSTED, "the graph has too many edges");
    plan->n_slots = (int32_t)slots;
    plan->n_in_slots = (int32_t)inputs;
    plan->slots = ARENA_ARRAY(&plan->arena, PlanSlot, slots);
    plan->constants = ARENA_ARRAY(&plan->arena, Tensor, slots);
    plan->in_slots = ARENA_ARRAY(&plan->arena, int32_t, inputs);
    NEED_MEMORY(plan->slots && plan->constants && plan->in_slots);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        for (int j = 0; j < p->binding.n_out; j++) {
            DType dtype = node_value_type(o->order[i], j);
            bool host = (p->binding.out_flags[j] & EDGE_HOST) || device_hosts(p->binding.device, dtype);
            int16_t memory = host ? HOST_MEMORY : plan_memory_of(plan, p->binding.device);
            plan->slots[p->out + j] = (PlanSlot){.producer = i, .root = p->out + j, .memory = memory, .dtype = dtype};
        }
        for (int j = 0; j < p->binding.n_in; j++)
            plan->in_slots[p->in + j] = slot_of(o, o->order[i]->inputs[j]);
    }
    return OK;
}

// Switch, Merge, Enter ... pass their input on; so do Identity-like ops, by their declaration.
static bool passes_memory(const PlanNode *p, int input, int output) {
    switch (p->flow) {
    case FLOW_SWITCH: return input == 0;
    case FLOW_MERGE: return output == 0;
    case FLOW_ENTER: case FLOW_EXIT: case FLOW_NEXT: case FLOW_LOOP_COND: return true;
    default: return input == output && (p->binding.out_flags[output] & EDGE_ALIAS) &&
                    (p->binding.in_flags[input] & EDGE_ALIAS);
    }
}

// Inputs come before their readers, so a chain of aliases finds the first one in one walk. A Merge passes on whichever
// input came, so its output has no root but its own.
static void find_roots(Plan *plan) {
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        bool moves = p->flow >= FLOW_SWITCH && p->flow <= FLOW_LOOP_COND;  // else only equal indices may share
        for (int j = 0; j < p->binding.n_out; j++)
            for (int in = moves ? 0 : j; in < p->binding.n_in && (moves || in == j); in++)
                if (p->flow != FLOW_MERGE && passes_memory(p, in, j))
                    plan->slots[p->out + j].root = plan->slots[plan->in_slots[p->in + in]].root;
    }
}

// Host memory that a device gets to later, in its queue: the list doesn't tell when it has been used.
static bool is_queued(const PlanNode *p, const PlanSlot *slot) {
    return p->binding.device->type->sync && slot->memory == HOST_MEMORY;
}

// What may be seen after the step, or after its last planned use, needs a buffer of its own: what is fetched, kept by a
// kernel (assigned, enqueued), read or written by a started op, which ends when it likes, and strings, resources and
// variants, which are objects with their own life. It is the root that escapes: all its aliases lie in its buffer.
static void find_escapes(Plan *plan) {
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        for (int in = 0; in < p->binding.n_in; in++) {
            PlanSlot *slot = &plan->slots[plan->in_slots[p->in + in]];
            slot->readers++;
            if (p->binding.start || (p->binding.in_flags[in] & (EDGE_KEEP | EDGE_VARIABLE)) || is_queued(p, slot))
                plan->slots[slot->root].escapes = true;
        }
        for (int out = 0; out < p->binding.n_out; out++) {
            PlanSlot *slot = &plan->slots[p->out + out];
            if (!dtype_is_plain(slot->dtype) || p->binding.start || is_queued(p, slot))
                plan->slots[slot->root].escapes = true;
        }
    }
    for (int i = 0; i < plan->n_fetches; i++) {
        PlanSlot *slot = &plan->slots[plan->fetches[i].slot];
        slot->readers++;
        plan->slots[slot->root].escapes = true;
    }
}

// In the order of the list, so that counting down readers touches them in the order in which they run.
static int by_node(const void *a, const void *b) {
    const PlanEdge *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

// Mostly they are: readers were added in the graph's order. Asking is cheaper than qsort, which allocates.
static bool is_sorted(const PlanEdge *edges, int32_t n) {
    for (int32_t i = 1; i < n; i++)
        if (edges[i - 1].node > edges[i].node)
            return false;
    return true;
}

static Status *list_edges(Ordering *o) {
    Plan *plan = o->plan;
    size_t n = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        n += o->order[i]->uses.n;
    plan->edges = ARENA_ARRAY(&plan->arena, PlanEdge, n);
    NEED_MEMORY(plan->edges);
    int32_t at = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        PlanNode *p = &plan->nodes[i];
        const Node *node = o->order[i];
        p->edges = at;
        for (size_t u = 0; u < node->uses.n; u++) {
            Use use = node->uses.p[u];
            if (use.node->mark >= 0)
                plan->edges[at++] = (PlanEdge){.node = use.node->mark, .input = use.input, .output = use.index};
        }
        p->n_edges = at - p->edges;
        if (!is_sorted(plan->edges + p->edges, p->n_edges))
            qsort(plan->edges + p->edges, (size_t)p->n_edges, sizeof *plan->edges, by_node);
    }
    return OK;
}

// The lists that release values: slots whose last reader in list order is node i, and which of i's inputs nobody reads
// after it (`last`), into whose memory a kernel may then write its output.
static Status *list_drops(Plan *plan) {
    int32_t *last = malloc(((size_t)plan->n_slots + 1) * sizeof *last);
    NEED_MEMORY(last);
    for (int32_t s = 0; s < plan->n_slots; s++)
        last[s] = plan->slots[s].producer;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        for (int in = 0; in < plan->nodes[i].binding.n_in; in++)
            last[plan->in_slots[plan->nodes[i].in + in]] = i;
    for (int f = 0; f < plan->n_fetches; f++)
        // Fetched values are taken at the end of the step.
        last[plan->fetches[f].slot] = INT32_MAX;
    plan->drops = ARENA_ARRAY(&plan->arena, int32_t, plan->n_slots);
    int32_t *count = calloc((size_t)plan->n_nodes + 1, sizeof *count);
    if (!plan->drops || !count) {
        free(last);
        free(count);
        return OUT_OF_MEMORY;
    }
    for (int32_t s = 0; s < plan->n_slots; s++)
        if (last[s] >= 0 && last[s] != INT32_MAX)
            plan->nodes[last[s]].n_drops++;
    int32_t at = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        plan->nodes[i].drops = at;
        at += plan->nodes[i].n_drops;
    }
    for (int32_t s = 0; s < plan->n_slots; s++) {
        if (last[s] < 0 || last[s] == INT32_MAX)
            continue;
        PlanNode *p = &plan->nodes[last[s]];
        plan->drops[p->drops + count[last[s]]++] = s;
        for (int in = 0; in < p->binding.n_in && in < MAX_ARGS; in++)
            if (plan->in_slots[p->in + in] == s)
                p->last |= BIT(in);
    }
    // The same value read twice by one node can't lend its memory: the other reading needs it.
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        PlanNode *p = &plan->nodes[i];
        for (int a = 0; a < p->binding.n_in && a < MAX_ARGS; a++)
            for (int b = 0; b < a; b++)
                if (plan->in_slots[p->in + a] == plan->in_slots[p->in + b])
                    p->last &= ~(BIT(a) | BIT(b));
    }
    free(last);
    free(count);
    return OK;
}

static Status *list_ends(Ordering *o) {
    const Draft *draft = o->draft;
    Plan *plan = o->plan;
    plan->n_feeds = draft->n_feeds;
    plan->n_fetches = draft->n_fetches;
    plan->n_keys = plan->n_feeds + plan->n_awaited;
    plan->feeds = ARENA_ARRAY(&plan->arena, PlanEnd, draft->n_feeds);
    plan->fetches = ARENA_ARRAY(&plan->arena, PlanEnd, draft->n_fetches);
    NEED_MEMORY(plan->feeds && plan->fetches);
    for (int i = 0; i < draft->n_feeds; i++) {
        const Node *node = draft->feeds[i];
        plan->feeds[i] = (PlanEnd){node->mark < 0 ? -1 : o->first_slot[node->mark],
                                   dtype_base(node->output_types[0]), node->output_shapes[0]};
    }
    for (int i = 0; i < draft->n_fetches; i++) {
        Output edge = draft->fetches[i]->inputs[0];
        plan->fetches[i] = (PlanEnd){slot_of(o, edge), output_base_type(edge), edge.node->output_shapes[edge.index]};
    }
    return OK;
}

// Of constants, and of nodes that only give the handle of their state: no step has to run them, their slots are filled
// when the step is made.
static void copy_constants(Ordering *o) {
    for (int32_t i = 0; i < o->plan->n_nodes; i++) {
        PlanNode *p = &o->plan->nodes[i];
        const Tensor *value = p->binding.n_out ? o->order[i]->value : NULL;
        p->constant = value || p->binding.op->value;
        if (value)
            o->plan->constants[p->out] = tensor_retain(value);
    }
}

// The one node that reads what `node` gives, where the other things that it waits for are done; NULL else. What changes
// a variable in place keeps its turn: who reads the variable should have come before.
static Node *goes_on(const Node *node) {
    Node *next = NULL;
    for (size_t i = 0; i < node->uses.n; i++) {
        Use use = node->uses.p[i];
        if (use.index != CONTROL && next && use.node != next)
            return NULL;
        next = use.index != CONTROL ? use.node : next;
    }
    const Op *op = next ? node_op(next) : NULL;
    return op && !next->mark && !op->update ? next : NULL;
}

// Puts nodes right behind what only they read, depth first: a variable's first value is drawn, scaled and assigned
// before the next one is drawn, so initialising a model holds one such value and not all of them. `order` is one that
// respects the edges. A node's mark is what it waits for, -1 when it has its place.
static Status *bring_forward(Node **order, size_t n) {
    Node **old = malloc((n + 1) * sizeof *old);
    NEED_MEMORY(old);
    memcpy(old, order, n * sizeof *old);
    for (size_t i = 0; i < n; i++)
        old[i]->mark = node_count_before(old[i]);
    size_t placed = 0;
    for (size_t i = 0; i < n; i++) {
        for (Node *node = old[i]; node && node->mark >= 0; node = goes_on(node)) {
            order[placed++] = node;
            node->mark = -1;
            for (size_t u = 0; u < node->uses.n; u++)
                node->uses.p[u].node->mark -= !node_use_goes_back(node, node->uses.p[u]);
        }
    }
    free(old);
    return OK;
}

// The steps depend on each other: slots need the order and the memories, edges the marks that number_slots leaves,
// drops the fetches, frames everything.
static Status *order_nodes(Ordering *o) {
    Plan *plan = o->plan;
    size_t n;
    TRY(graph_order(o->draft->graph, o->order, &n));
    TRY(bring_forward(o->order, n));
    if (o->draft->options->passes & BIT(PASS_REMATERIALISE))
        TRY(rematerialise_offer(o->draft, &o->order, &n));
    // _Retval nodes only mark edges; they have no place in the plan.
    for (size_t i = 0; i < o->draft->graph->nodes.n; i++)
        if (o->draft->graph->nodes.p[i])
            o->draft->graph->nodes.p[i]->mark = 0;
    for (int i = 0; i < o->draft->n_fetches; i++)
        o->draft->fetches[i]->mark = -1;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (o->order[i]->mark == 0)
            o->order[kept++] = o->order[i];
    TRY(waves_find(plan, o->order, kept));
    plan->n_nodes = (int32_t)kept;
    // Aligned to half its size, so that no node lies across more cache lines than it must.
    plan->nodes = arena_aligned(&plan->arena, kept * sizeof *plan->nodes, sizeof *plan->nodes / 2);
    o->first_slot = ARENA_ARRAY(&plan->arena, int32_t, kept);
    NEED_MEMORY(plan->nodes && o->first_slot);
    TRY(bind_nodes(o));
    TRY(find_queues(o));
    TRY(find_memories(o));
    TRY(plan_loops(o));
    TRY(plan_clusters(o));
    TRY(number_slots(o));
    TRY(list_ends(o));
    find_roots(plan);
    find_escapes(plan);
    TRY(list_edges(o));
    TRY(list_drops(plan));
    copy_constants(o);
    TRY(frames_find(plan));
    for (int32_t j = 0; j < plan->n_starts; j++)
        plan->nodes[plan->starts[j].node].position = j;
    return OK;
}

Status *pass_order(Draft *draft, Plan *plan) {
    Ordering ordering = {.plan = plan, .draft = draft};
    ordering.order = malloc((draft->graph->nodes.n + 1) * sizeof *ordering.order);
    NEED_MEMORY(ordering.order);
    Status *status = order_nodes(&ordering);
    free(ordering.order);
    return status;
}
