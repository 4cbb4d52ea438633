// Loops, planned — see loops.h: the parts of a loop pass through the passes, and what is the same in all iterations is
// taken out of the body (loop-invariant code motion).
//
// Taken out is what depends on invariants alone, has no state and does not fail differently for being alone: it runs
// once, when it is known that there is a first iteration, so nothing runs that wouldn't have. Variables are read once,
// too, where nothing in the loop writes to any. Small integers stay: a specialisation knows them where they are
// computed, and their values, shapes mostly, would be hidden behind an argument.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/loops.h"
#include "plan/rewrite/rewrite.h"

// ---- what lasts

typedef struct {
    LoopDraft *loop;
    Draft *lasting;
    Node **order;
    size_t n;
    Node **copies;      // by place in the order
    bool writes;        // something in the body writes to variables, or might
} Splitting;

// Whether the node may run once for all iterations. node->mark: its place in the order; `lasts` by place. Control
// inputs must last as well; a read of a variable that waits for something is an ordered read and stays.
static bool is_taken(const Splitting *s, const Node *node, const bool *lasts) {
    const Op *op = node_op(node);
    bool reads = op && (op->read || (op->flags & OP_READS));
    if (!op || !op->cpu || op->flow != FLOW_NONE || op->start || (op->open && !(op->flags & OP_CACHES)) || op->update ||
        op->replace || !node->n_outputs || !node->n_inputs || (op->flags & (OP_BLOCKS | OP_STATEFUL)) ||
        node->is_target)
        return false;
    if (reads ? s->writes || node->n_controls : node_is_stateful(node))
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (!lasts[node->inputs[i].node->mark])
            return false;
    for (int i = 0; i < node->n_controls; i++)
        if (!lasts[node->controls[i]->mark])
            return false;
    return true;
}

static bool is_small_integer(const Node *node, int output) {
    DType dtype = dtype_base(node->output_types[output]);
    return dtype == DT_int32 || dtype == DT_int64 || dtype == DT_bool || dtype == DT_resource || dtype == DT_variant;
}

// Functions and inner loops are not looked into: they might.
static bool may_write(const Node *node) {
    const Op *op = node_op(node);
    return !op || op->update || op->replace || (op->flags & OP_WRITES) || op->flow == FLOW_CALL ||
        op->flow == FLOW_LOOP;
}

static Status *copy_lasting(Splitting *s, Node *from) {
    Graph *graph = s->lasting->graph;
    Node *node;
    TRY(loop_copy_node(graph, from, &node));
    node->value = from->value;
    for (int i = 0; i < node->n_inputs; i++) {
        Node *source = s->copies[from->inputs[i].node->mark];
        node->inputs[i] = (Output){source, from->inputs[i].index};
    }
    TRY(node_insert(graph, node));
    s->copies[from->mark] = node;
    return OK;
}

// The value becomes a result of what lasts, and an argument of the body. The argument says that it lasts: a kernel may
// keep what it makes of it from one iteration to the next (packed weights of MatMul).
static Status *hand_over(Splitting *s, Output edge) {
    Draft *body = &s->loop->body, *lasting = s->lasting;
    Node *arg, *retval;
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder give, take;
    builder_init(&give, lasting->graph, STR("_Retval"), str_format(&arena, "_lasting/%d", lasting->n_fetches));
    builder_place(&give, edge.node);
    builder_input(&give, (Output){s->copies[edge.node->mark], edge.index});
    builder_attr(&give, STR("index"), &ATTR_OF_INT(lasting->n_fetches));
    builder_init(&take, body->graph, STR("_Arg"),
                 str_format(&arena, "_lasting/%d/%.*s", lasting->n_fetches, STR_ARGS(edge.node->name)));
    builder_place(&take, edge.node);
    builder_attr(&take, STR("T"), &ATTR_OF_TYPE(output_base_type(edge)));
    builder_attr(&take, STR("index"), &ATTR_OF_INT(body->n_feeds));
    builder_attr(&take, STR("lasts"), &ATTR_OF_BOOL(true));
    Status *status = builder_finish(&give, &retval);
    if (!status)
        status = builder_finish(&take, &arg);
    TRY(status);
    arg->output_shapes[0] = edge.node->output_shapes[edge.index];
    lasting->fetches[lasting->n_fetches++] = retval;
    body->feeds[body->n_feeds++] = arg;
    return graph_replace_output(edge, (Output){arg, 0});
}

static bool is_read_by_others(const Node *node, int output, const bool *lasts, size_t n) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == output &&
            ((size_t)node->uses.p[i].node->mark >= n || !lasts[node->uses.p[i].node->mark]))
            return true;
    return false;
}

// What nobody outside reads goes with its readers: only edges from what lasts to what doesn't cost an argument.
static bool is_worth_it(const Splitting *s, const Node *node, const bool *lasts) {
    for (int o = 0; o < node->n_outputs; o++)
        if (!is_small_integer(node, o) && is_read_by_others(node, o, lasts, s->n))
            return true;
    return false;
}

static Status *take_out(Splitting *s, bool *lasts, Output *edges) {
    size_t n = 0;
    const LoopDraft *loop = s->loop;
    for (size_t i = 0; i < s->n; i++) {
        Node *node = s->order[i];
        bool given = node_flow(node) == FLOW_ARG;
        // An argument lasts unless it is one of the variables, which come first.
        for (int f = 0; f < loop->n_variables && given; f++)
            given = loop->body.feeds[f] != node;
        lasts[i] = given || node->value || is_taken(s, node, lasts);
    }
    for (size_t i = 0; i < s->n; i++) {
        Node *node = s->order[i];
        if (!lasts[i] || node_flow(node) == FLOW_ARG || node->value || !is_worth_it(s, node, lasts))
            continue;
        for (int o = 0; o < node->n_outputs; o++)
            if (is_read_by_others(node, o, lasts, s->n) && !is_small_integer(node, o))
                edges[n++] = (Output){node, o};
    }
    if (!n)
        return OK;
    Draft *body = &s->loop->body, *lasting = s->lasting;
    *lasting = (Draft){.options = body->options, .loops = body->loops};
    TRY(graph_new(&lasting->graph));
    Node **feeds = realloc(body->feeds, ((size_t)body->n_feeds + n + 1) * sizeof *feeds);
    NEED_MEMORY(feeds);
    body->feeds = feeds;
    lasting->feeds = calloc((size_t)loop->n_invariants + 1, sizeof *lasting->feeds);
    lasting->fetches = calloc(n + 1, sizeof *lasting->fetches);
    NEED_MEMORY(lasting->feeds && lasting->fetches);
    for (size_t i = 0; i < s->n; i++)
        if (lasts[i])
            TRY(copy_lasting(s, s->order[i]));
    for (int i = 0; i < loop->n_invariants; i++)
        lasting->feeds[i] = s->copies[loop->body.feeds[loop->n_variables + i]->mark];
    lasting->n_feeds = loop->n_invariants;
    for (size_t i = 0; i < n; i++)
        TRY(hand_over(s, edges[i]));
    return OK;
}

static Status *split(Splitting *s) {
    Graph *graph = s->loop->body.graph;
    TRY(graph_order(graph, s->order, &s->n));
    size_t outputs = 1;
    for (size_t i = 0; i < s->n; i++) {
        s->order[i]->mark = (int32_t)i;
        s->writes |= may_write(s->order[i]);
        outputs += (size_t)s->order[i]->n_outputs;
    }
    bool *lasts = calloc(s->n + 1, sizeof *lasts);
    Output *edges = calloc(outputs, sizeof *edges);
    Status *status = lasts && edges ? take_out(s, lasts, edges)
                                    : OUT_OF_MEMORY;
    free(lasts);
    free(edges);
    return status;
}

// Also called by tests, on a body of their own.
Status *loop_split(LoopDraft *loop, Draft *lasting) {
    size_t n = loop->body.graph->nodes.n + 1;
    Splitting s = {.loop = loop, .lasting = lasting, .order = malloc(n * sizeof *s.order),
                   .copies = calloc(n, sizeof *s.copies)};
    Status *status = s.order && s.copies ? split(&s)
                                         : OUT_OF_MEMORY;
    free(s.order);
    free(s.copies);
    return status;
}

// ---- who waits for reads

static void stop_waiting_for(Node *node, int depth) {
    for (size_t i = node->uses.n; i-- > 0;) {
        Node *waiting = i < node->uses.n && node->uses.p[i].index == CONTROL ? node->uses.p[i].node : NULL;
        for (int c = waiting ? waiting->n_controls - 1 : -1; c >= 0; c--)
            if (waiting->controls[c] == node)
                node_remove_control(waiting, c);
        bool barrier = waiting && !waiting->n_controls && !waiting->n_inputs && !waiting->n_outputs;
        if (barrier && depth && !node_is_stateful(waiting))
            stop_waiting_for(waiting, depth - 1);
    }
}

static bool has_reader(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index != CONTROL)
            return true;
    return false;
}

// Where nothing writes to variables it doesn't matter when they are read: Keras lets all that an iteration gives wait
// for it, and a read that is waited for could not be taken out.
static void free_reads(Draft *body) {
    enum { DEPTH = 4 };
    const Graph *graph = body->graph;
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i] && may_write(graph->nodes.p[i]))
            return;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.p[i];
        if (!node || !(node_op(node)->flags & OP_READS) || !has_reader(node))
            continue;
        stop_waiting_for(node, DEPTH);
        node->is_target = false;
        int kept = 0;
        for (int t = 0; t < body->n_targets; t++)
            if (body->targets[t] != node)
                body->targets[kept++] = body->targets[t];
        body->n_targets = kept;
    }
}

// ---- passes and plans

typedef struct {
    Status *(*run)(Draft *draft);
    int switch_;
} Row;

static Status *run_rows(Draft *draft, const Row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (rows[i].switch_ >= 0 && !(draft->options->passes & BIT(rows[i].switch_)))
            continue;
        TRY(rows[i].run(draft));
#ifndef NDEBUG
        TRY(graph_check(draft->graph));
#endif
    }
    return OK;
}

// The worker's table of plan.c as far as a body needs it; loops inside are nodes already.
static Status *make_smaller(Draft *draft) {
    static const Row rows[] = {
        {pass_dead_code, -1}, {pass_simplify, PASS_SIMPLIFY}, {pass_fold, PASS_FOLD}, {pass_cse, PASS_CSE},
        {pass_identity, PASS_IDENTITY}, {pass_dead_code, -1}, {pass_control, PASS_CONTROL}, {pass_simplify, PASS_SIMPLIFY},
        {pass_fold, PASS_FOLD}, {pass_cse, PASS_CSE}, {pass_dead_code, -1}};
    return run_rows(draft, rows, sizeof rows / sizeof *rows);
}

// The graph belongs to the plan from here on, and goes with it on failure.
static Status *make_plan(Draft *draft, Plan **out) {
    static const Row rows[] = {{pass_patterns, PASS_PATTERNS}, {pass_fuse, PASS_FUSE}, {pass_dead_code, -1}};
    TRY(plan_new(draft->options, out));
    (*out)->graph = draft->graph;
    draft->graph = NULL;
    Draft own = *draft;
    own.graph = (*out)->graph;
    TRY(run_rows(&own, rows, sizeof rows / sizeof *rows));
    return pass_order(&own, *out);
}

// The condition on the first values first; then the body in full before it is split, since what folds away need not be
// taken out.
Status *loop_plan(const Draft *draft, const Node *node, Plan *plan, PlanLoop *out) {
    LoopDraft *loop = draft->loops->all.p[node_int(node, "body")];
    Draft lasting = {0};
    out->n_variables = loop->n_variables;
    out->n_invariants = loop->n_invariants;
    out->results = ARENA_ARRAY(&plan->arena, int32_t, loop->n_results);
    NEED_MEMORY(out->results);
    memcpy(out->results, loop->results, (size_t)loop->n_results * sizeof *out->results);
    TRY(make_smaller(&loop->first));
    TRY(make_plan(&loop->first, &out->first));
    free_reads(&loop->body);
    TRY(make_smaller(&loop->body));
    Status *status = loop_split(loop, &lasting);
    if (!status)
        status = pass_dead_code(&loop->body);
    if (!status && lasting.n_fetches)
        status = pass_dead_code(&lasting);
    if (!status && lasting.n_fetches)
        status = make_plan(&lasting, &out->lasting);
    graph_release(lasting.graph);
    draft_clear(&lasting);
    TRY(status);
    return make_plan(&loop->body, &out->body);
}

void plan_loop_clear(PlanLoop *loop) {
    plan_release(loop->first);
    plan_release(loop->lasting);
    plan_release(loop->body);
}
