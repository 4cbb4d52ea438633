// Claim, written — see claim.h: copies a cluster's nodes into a draft of their own and puts one node in their place.
#include <stdlib.h>

#include "graph/build.h"
#include "graph/function.h"
#include "plan/claim.h"
#include "plan/loops.h"

enum { LARGE_CONSTANT = 1 << 16 };   // bytes: kept outside, as an input that lies on the device

typedef VEC(Output) OutputVec;

typedef struct {
    Claiming *c;
    int32_t cluster;
    const Device *host;
    Draft *part;
    OutputVec inputs;        // edges from outside, by argument
    VEC(int32_t) next_arg;   // by argument: another of the same node; -1: none
    VEC(Node *) args;
    OutputVec outputs;       // of members, that others read
    VEC(Node *) waited;      // outside: who members wait for
} Writing;

static ClaimedNode *of(const Writing *w, const Node *node) {
    return &w->c->nodes[node->mark];
}

static bool is_member(const Writing *w, const Node *node) {
    return node->mark >= 0 && (size_t)node->mark < w->c->n && of(w, node)->node == node &&
           of(w, node)->cluster == w->cluster;
}

// ---- what comes in

static Status *copy_node(Writing *w, Node *from, Node **out) {
    TRY(loop_copy_node(w->part->graph, from, out));
    (*out)->placed = w->host;
    (*out)->value = from->value;
    return OK;
}

static Status *make_arg(Writing *w, Output edge, Node **out) {
    int index = (int)w->args.n;
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, w->part->graph, STR("_Arg"),
                 str_format(&arena, "_in/%d/%.*s", index, STR_ARGS(edge.node->name)));
    builder.placed = w->host;
    DType type = edge.node->output_types[edge.index];
    builder_attr(&builder, STR("T"), &ATTR_OF_TYPE(type));
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(index));
    TRY(builder_finish(&builder, out));
    (*out)->output_shapes[0] = edge.node->output_shapes[edge.index];
    (*out)->placed = w->host;
    if (edge.node->handles && edge.node->handles[edge.index])
        TRY(node_set_handle(*out, 0, edge.node->handles[edge.index]));
    NEED_MEMORY(vec_push(&w->args, *out) && vec_push(&w->inputs, edge) &&
                vec_push(&w->next_arg, of(w, edge.node)->first_arg));
    of(w, edge.node)->first_arg = index;
    return OK;
}

// What stands for an edge in the draft.
static Status *inside(Writing *w, Output edge, Output *out) {
    ClaimedNode *from = of(w, edge.node);
    *out = (Output){from->copy, edge.index};
    if (from->copy)
        return OK;
    const Tensor *value = from->constant ? output_constant(edge) : NULL;
    if (value && (!dtype_is_plain(value->dtype) || tensor_bytes(value) <= LARGE_CONSTANT)) {
        TRY(copy_node(w, edge.node, &from->copy));
        out->node = from->copy;
        return node_insert(w->part->graph, from->copy);
    }
    for (int32_t arg = from->first_arg; arg >= 0; arg = w->next_arg.p[arg]) {
        if (w->inputs.p[arg].index == edge.index) {
            *out = (Output){w->args.p[arg], 0};
            return OK;
        }
    }
    Node *arg;
    TRY(make_arg(w, edge, &arg));
    *out = (Output){arg, 0};
    return OK;
}

static Status *copy_member(Writing *w, ClaimedNode *member) {
    Node *node = member->node, *copy;
    TRY(copy_node(w, node, &copy));
    for (int i = 0; i < node->n_inputs; i++)
        TRY(inside(w, node->inputs[i], &copy->inputs[i]));
    TRY(node_insert(w->part->graph, copy));
    member->copy = copy;
    for (int i = 0; i < node->n_controls; i++) {
        Node *before = node->controls[i];
        if (!is_member(w, before))
            NEED_MEMORY(vec_push(&w->waited, before));
        else if (of(w, before)->copy)
            TRY(node_add_control(copy, of(w, before)->copy));
    }
    return OK;
}

// ---- what goes out

static bool is_read_outside(const Writing *w, const Node *node, int output) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == output && !is_member(w, node->uses.p[i].node))
            return true;
    return false;
}

static Status *make_result(Writing *w, Output edge) {
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    Draft *part = w->part;
    int index = (int)w->outputs.n;
    builder_init(&builder, part->graph, STR("_Retval"), str_format(&arena, "_out/%d", index));
    builder.placed = w->host;
    builder_input(&builder, (Output){of(w, edge.node)->copy, edge.index});
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(index));
    Node *made;
    TRY(builder_finish(&builder, &made));
    made->placed = w->host;
    NEED_MEMORY(vec_push(&w->outputs, edge));
    part->fetches[part->n_fetches++] = made;
    return OK;
}

// What changes a variable has to be done, whether anybody reads it or not.
static Status *find_ends(Writing *w) {
    Draft *part = w->part;
    size_t n_outputs = 0;
    for (size_t i = 0; i < w->c->n; i++)
        n_outputs += w->c->nodes[i].cluster == w->cluster ? (size_t)w->c->nodes[i].node->n_outputs : 0;
    part->fetches = calloc(n_outputs + 1, sizeof *part->fetches);
    part->targets = calloc(w->c->n + 1, sizeof *part->targets);
    part->feeds = calloc(w->args.n + 1, sizeof *part->feeds);
    NEED_MEMORY(part->fetches && part->targets && part->feeds);
    for (size_t i = 0; i < w->c->n; i++) {
        ClaimedNode *member = &w->c->nodes[i];
        if (member->cluster != w->cluster)
            continue;
        for (int o = 0; o < member->node->n_outputs; o++)
            if (is_read_outside(w, member->node, o))
                TRY(make_result(w, (Output){member->node, o}));
        const Op *op = node_op(member->node);
        if (op->update || op->replace || (op->flags & OP_WRITES) || member->node->is_target ||
            (op->flow != FLOW_NONE && node_is_stateful(member->node)))
            (part->targets[part->n_targets++] = member->copy)->is_target = true;
    }
    for (size_t i = 0; i < w->args.n; i++)
        part->feeds[part->n_feeds++] = w->args.p[i];
    return OK;
}

static Status *write_part(Writing *w, ClusterDraft *draft) {
    const PlanOptions *options = w->c->draft->options;
    uint32_t off = BIT(PASS_FUSE) | BIT(PASS_PATTERNS) | BIT(PASS_LOOPS) | BIT(PASS_REMATERIALISE);
    draft->options = *options;
    draft->options.passes &= ~off;   // the device is given the nodes as they are
    draft->part.options = &draft->options;
    w->part = &draft->part;
    TRY(graph_new(&w->part->graph));
    w->part->graph->versions.producer = w->c->draft->graph->versions.producer;
    TRY(function_add_library(w->part->graph, w->c->draft->graph));
    for (size_t i = 0; i < w->c->n + MOST_CLUSTERS; i++) {
        w->c->nodes[i].copy = NULL;
        w->c->nodes[i].first_arg = -1;
    }
    for (size_t i = 0; i < w->c->n; i++)
        if (w->c->nodes[i].cluster == w->cluster)
            TRY(copy_member(w, &w->c->nodes[i]));
    return find_ends(w);
}

// ---- the node

static Status *make_node(Writing *w, int body, Node **out) {
    AUTO(arena) Arena arena = {0};
    Draft *draft = w->c->draft;
    DType *types = ARENA_ARRAY(&arena, DType, w->outputs.n + 1);
    NEED_MEMORY(types);
    for (size_t i = 0; i < w->outputs.n; i++)
        types[i] = output_base_type(w->outputs.p[i]);
    AttrValue type_list = {.kind = ATTR_TYPE, .is_list = true, .n = (int32_t)w->outputs.n, .types = types};
    AUTO(builder) NodeBuilder builder;
    Str name;
    TRY(graph_unique_name(draft->graph, STR("_cluster"), &name));
    builder_init(&builder, draft->graph, STR("_Cluster"), name);
    builder_input_list(&builder, w->inputs.p, (int)w->inputs.n);
    builder_attr(&builder, STR("Tout"), &type_list);
    builder_attr(&builder, STR("body"), &ATTR_OF_INT(body));
    for (size_t i = 0; i < w->waited.n; i++)
        builder_control(&builder, w->waited.p[i]);
    TRY(builder_finish(&builder, out));
    (*out)->placed = w->c->clusters[w->cluster].device;
    (*out)->mark = (int32_t)w->c->n + w->cluster;
    of(w, *out)->node = *out;
    for (size_t i = 0; i < w->outputs.n; i++)
        (*out)->output_shapes[i] = w->outputs.p[i].node->output_shapes[w->outputs.p[i].index];
    return OK;
}

static Status *hand_over_waiting(Writing *w, Node *member, Node *made) {
    for (size_t i = member->uses.n; i-- > 0;) {
        Use use = i < member->uses.n ? member->uses.p[i] : (Use){0};
        if (!use.node || use.index != CONTROL || is_member(w, use.node) || use.node == made)
            continue;
        for (int c = use.node->n_controls - 1; c >= 0; c--)
            if (use.node->controls[c] == member)
                node_remove_control(use.node, c);
        TRY(node_add_control(use.node, made));
    }
    return OK;
}

// Its members go, the last first.
static Status *replace(Writing *w, Node *made) {
    Draft *draft = w->c->draft;
    for (size_t i = 0; i < w->outputs.n; i++)
        TRY(graph_replace_output(w->outputs.p[i], (Output){made, (int32_t)i}));
    for (size_t i = 0; i < w->c->n; i++)
        if (w->c->nodes[i].cluster == w->cluster)
            TRY(hand_over_waiting(w, w->c->nodes[i].node, made));
    for (int i = 0; i < draft->n_targets; i++)
        if (is_member(w, draft->targets[i]))
            (draft->targets[i] = made)->is_target = true;
    for (size_t i = w->c->n; i-- > 0;)
        if (w->c->nodes[i].cluster == w->cluster)
            graph_remove(w->c->nodes[i].node);
    return OK;
}

static Status *write(Writing *w) {
    Draft *draft = w->c->draft;
    if (!draft->clusters)
        draft->clusters = calloc(1, sizeof *draft->clusters);
    ClusterDraft *cluster = calloc(1, sizeof *cluster);
    if (!draft->clusters || !cluster || !vec_push(&draft->clusters->all, cluster)) {
        free(cluster);
        return OUT_OF_MEMORY;
    }
    TRY(write_part(w, cluster));
    Node *made;
    TRY(make_node(w, (int)draft->clusters->all.n - 1, &made));
    return replace(w, made);
}

Status *cluster_write(Claiming *claiming, int32_t cluster, const Device *host) {
    bool any = false;
    for (size_t i = 0; i < claiming->n; i++)
        any |= claiming->nodes[i].cluster == cluster;
    if (!any)
        return OK;
    Writing w = {.c = claiming, .cluster = cluster, .host = host};
    Status *status = write(&w);
    vec_clear(&w.inputs);
    vec_clear(&w.next_arg);
    vec_clear(&w.args);
    vec_clear(&w.outputs);
    vec_clear(&w.waited);
    return status;
}

// ---- plans

void cluster_drafts_free(ClusterDrafts *clusters) {
    for (size_t i = 0; clusters && i < clusters->all.n; i++) {
        ClusterDraft *cluster = clusters->all.p[i];
        graph_release(cluster->part.graph);
        draft_clear(&cluster->part);
        free(cluster);
    }
    if (clusters)
        vec_clear(&clusters->all);
    free(clusters);
}

Status *cluster_plan(const Draft *draft, const Node *node, PlanCluster *out) {
    ClusterDraft *cluster = draft->clusters->all.p[node_int(node, "body")];
    out->device = node->placed;
    return draft_plan(&cluster->part, &out->host);
}
