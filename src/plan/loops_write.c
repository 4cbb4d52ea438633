// Loops, written — see loops.h: copies a straight loop's nodes into drafts of their own and puts one node in their
// place.
//
// Two drafts: `first` is the condition's half on the values that enter; `body` is the body's half followed by the
// condition's half on the next values (the rotated loop). While one is written, LoopedNode.now says what stands in it
// for each node of the frame: Merges and Enters are arguments, Switches and back edges disappear.
#include <stdlib.h>

#include "graph/build.h"
#include "plan/loops.h"

typedef VEC(Node *) NodeVec;
typedef VEC(Output) OutputVec;

typedef struct {
    Raising *r;
    const LoopFrame *frame;
    Draft *draft;           // that is being written
    NodeVec merges;         // the variables
    OutputVec invariants;   // what constant Enters read, each once
    NodeVec args;           // of the draft at hand: variables, invariants
    NodeVec targets, states;
} Writing;

static LoopedNode *looped(const Writing *w, int32_t i) {
    return &w->r->nodes[w->r->by_frame[w->frame->first + i]];
}

static LoopedNode *of(const Writing *w, const Node *node) {
    return &w->r->nodes[node->mark];
}

// ---- nodes of a draft

// As it is, without its edges, and not yet in the graph's lists. What it shares with the original lives as long as the
// graph that it comes from.
Status *loop_copy_node(Graph *graph, Node *from, Node **out) {
    Node *node = arena_aligned(&graph->arena, sizeof *node, _Alignof(Node));
    NEED_MEMORY(node);
    *node = *from;
    node->graph = graph;
    node->id = -1;
    node->origin = from->origin ? from->origin : from;
    node->is_target = false;
    node->inputs = graph_inputs_new(graph, (size_t)from->n_inputs);
    node->controls = NULL;
    node->n_controls = 0;
    node->uses = (UseList){0};
    TRY(graph_unique_name(graph, from->name, &node->name));
    node->name_hash = name_hash(node->name);
    // What is known of shapes differs between the copies.
    node->output_shapes = ARENA_ARRAY(&graph->arena, Shape, from->n_outputs);
    NEED_MEMORY(node->inputs && node->output_shapes);
    memcpy(node->output_shapes, from->output_shapes, (size_t)from->n_outputs * sizeof *node->output_shapes);
    if (node_flow(from) == FLOW_TRIGGER)  // nothing is dead in a list
        TRY(op_type_find(STR("NoOp"), &node->type));
    *out = node;
    return OK;
}

// Handles go along: what is known of a variable's dtype and shape behind a resource edge is known in the body, too.
// Handles go along: what is known of a variable's dtype and shape behind a resource edge is known in the body, too.
static Status *make_arg(Writing *w, Output edge, const Shape *shape, bool lasts) {
    Node *arg;
    int index = (int)w->args.n;
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, w->draft->graph, STR("_Arg"), str_format(&arena, "_loop/%d/%.*s", index,
                                                                    STR_ARGS(edge.node->name)));
    builder_place(&builder, w->frame->cond);
    builder_attr(&builder, STR("T"), &ATTR_OF_TYPE(output_base_type(edge)));
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(index));
    builder_attr(&builder, STR("lasts"), &ATTR_OF_BOOL(lasts));
    TRY(builder_finish(&builder, &arg));
    arg->output_shapes[0] = *shape;
    if (edge.node->handles && edge.node->handles[edge.index])
        TRY(node_set_handle(arg, 0, edge.node->handles[edge.index]));
    NEED_MEMORY(vec_push(&w->args, arg));
    return OK;
}

static Status *make_retval(Writing *w, Output source) {
    Draft *draft = w->draft;
    AUTO(arena) Arena arena = {0};
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, draft->graph, STR("_Retval"), str_format(&arena, "_next/%d", draft->n_fetches));
    builder_place(&builder, w->frame->cond);
    builder_input(&builder, source);
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(draft->n_fetches));
    return builder_finish(&builder, &draft->fetches[draft->n_fetches++]);
}

// ---- what the loop reads from around it

// A constant is copied into the draft instead of being passed in: there folding and kernels that pack weights see it.
static bool is_constant(Output source) {
    return source.index == 0 && source.node->value;
}

// Two constant Enters of one value are one argument.
static int invariant_of(const Writing *w, Output source) {
    for (size_t i = 0; i < w->invariants.n; i++)
        if (output_equal(w->invariants.p[i], source))
            return (int)i;
    return -1;
}

static Status *find_ends(Writing *w) {
    for (int32_t i = 0; i < w->frame->n; i++) {
        Node *node = looped(w, i)->node;
        if (node_flow(node) == FLOW_MERGE)
            NEED_MEMORY(vec_push(&w->merges, node));
        if (node_flow(node) != FLOW_ENTER || !node_bool(node, "is_constant") || is_constant(node->inputs[0]) ||
            invariant_of(w, node->inputs[0]) >= 0)
            continue;
        NEED_MEMORY(vec_push(&w->invariants, node->inputs[0]));
    }
    return OK;
}

// What a variable's Merge has from outside (FLOW_ENTER) or from the iteration before (FLOW_NEXT), in either order.
static Output around(const Node *merge, Flow flow) {
    return merge->inputs[node_flow(merge->inputs[0].node) == flow ? 0 : 1].node->inputs[0];
}

// The draft with its arguments; Enters and Merges stand for these.
static Status *begin(Writing *w, Draft *draft) {
    size_t n = w->merges.n + w->invariants.n;
    *draft = (Draft){.options = w->r->draft->options, .loops = w->r->draft->loops};
    w->draft = draft;
    w->args.n = 0;
    TRY(graph_new(&draft->graph));
    draft->graph->versions.producer = w->r->draft->graph->versions.producer;
    draft->feeds = calloc(n + 1, sizeof *draft->feeds);
    draft->fetches = calloc(w->merges.n + 2, sizeof *draft->fetches);
    NEED_MEMORY(draft->feeds && draft->fetches);
    for (size_t i = 0; i < w->merges.n; i++) {
        Node *merge = w->merges.p[i];
        TRY(make_arg(w, (Output){merge, 0}, &merge->output_shapes[0], false));
        of(w, merge)->now = (Output){w->args.p[i], 0};
    }
    for (size_t i = 0; i < w->invariants.n; i++)
        TRY(make_arg(w, w->invariants.p[i], &w->invariants.p[i].node->output_shapes[w->invariants.p[i].index], true));
    for (int32_t i = 0; i < w->frame->n; i++) {
        LoopedNode *enter = looped(w, i);
        if (node_flow(enter->node) != FLOW_ENTER || !node_bool(enter->node, "is_constant"))
            continue;
        Output source = enter->node->inputs[0];
        enter->now = (Output){0};
        if (is_constant(source)) {
            TRY(loop_copy_node(draft->graph, source.node, &enter->now.node));
            TRY(node_insert(draft->graph, enter->now.node));
        } else {
            enter->now.node = w->args.p[w->merges.n + (size_t)invariant_of(w, source)];
        }
    }
    memcpy(draft->feeds, w->args.p, n * sizeof *draft->feeds);
    draft->n_feeds = (int)n;
    return OK;
}

// ---- copying

// A Switch by the loop's condition passes its data on in the body, since the body only runs where the condition holds.
static Output value(const Writing *w, Output edge) {
    while (node_flow(edge.node) == FLOW_SWITCH || node_flow(edge.node) == FLOW_LOOP_COND)
        edge = edge.node->inputs[0];
    Output now = of(w, edge.node)->now;
    return looped_is_ordinary(edge.node) ? (Output){now.node, edge.index} : now;
}

// Waiting for what an iteration begins with is waiting for nothing. Python's while_loop makes such waits: constants of
// the body wait for an Identity of the first variable ("pivot"), so that they belong to the frame.
static bool is_there(const Node *node) {
    if (!looped_is_ordinary(node))
        return true;
    if (!(node_op(node)->flags & OP_IDENTITY) || node->n_controls || node->n_inputs != 1)
        return false;
    Flow flow = node_flow(node->inputs[0].node);
    return flow == FLOW_SWITCH || flow == FLOW_MERGE || flow == FLOW_ENTER;
}

static Status *copy_into(Writing *w, LoopedNode *from) {
    Node *copy;
    TRY(loop_copy_node(w->draft->graph, from->node, &copy));
    for (int i = 0; i < copy->n_inputs; i++) {
        Output source = value(w, from->node->inputs[i]);
        if (!source.node)
            BUG("{{node %.*s}} (%.*s): input %d is not in its loop", NODE_ARGS(from->node), i);
        copy->inputs[i] = source;
    }
    TRY(node_insert(w->draft->graph, copy));
    for (int i = 0; i < from->node->n_controls; i++) {
        const LoopedNode *before = of(w, from->node->controls[i]);
        if (!is_there(before->node) && before->now.node && before->body == from->body)
            TRY(node_add_control(copy, before->now.node));
    }
    from->now = (Output){copy, 0};
    return OK;
}

// Copies of one draft mean nothing in the next; arguments are set anew by begin().
static void forget(Writing *w) {
    for (int32_t i = 0; i < w->frame->n; i++)
        if (looped_is_ordinary(looped(w, i)->node))
            looped(w, i)->now = (Output){0};
}

// What gates and back edges wait for has to be done, whether anybody reads it or not: an assignment in the body is tied
// to the loop by nothing else.
static Status *find_targets(Writing *w, bool body) {
    for (int32_t i = 0; i < w->frame->n; i++) {
        const Node *node = looped(w, i)->node;
        if (looped_is_ordinary(node))
            continue;
        for (int c = 0; c < node->n_controls; c++) {
            if (node->controls[c]->mark < 0 || node_flow(node) == FLOW_ENTER)
                continue;
            const LoopedNode *before = of(w, node->controls[c]);
            if (!is_there(before->node) && before->body == body && before->now.node)
                NEED_MEMORY(vec_push(&w->targets, before->now.node));
        }
    }
    return OK;
}

// The body, and what it reads of the condition's half, again; dead-code elimination takes what it doesn't read.
static Status *copy_body(Writing *w) {
    w->states.n = 0;
    for (int32_t i = 0; i < w->frame->n; i++) {
        LoopedNode *node = looped(w, i);
        if (!looped_is_ordinary(node->node) || node->tainted)
            continue;
        TRY(copy_into(w, node));
        if (node->body && node_is_stateful(node->node))
            NEED_MEMORY(vec_push(&w->states, node->now.node));
    }
    return find_targets(w, true);
}

// What the next condition reads of variables it reads when the iteration is over: in the unrotated loop the back edges
// put it there, here a NoOp behind all that has a state does.
static Status *wait_for_states(Writing *w, Node *waiting, Node **barrier) {
    if (!w->states.n)
        return OK;
    if (!*barrier) {
        AUTO(builder) NodeBuilder builder;
        builder_init(&builder, w->draft->graph, STR("NoOp"), STR("_turn"));
        builder_place(&builder, w->frame->cond);
        for (size_t i = 0; i < w->states.n; i++)
            builder_control(&builder, w->states.p[i]);
        TRY(builder_finish(&builder, barrier));
    }
    return node_add_control(waiting, *barrier);
}

static Status *copy_condition(Writing *w, bool after) {
    Node *barrier = NULL;
    for (int32_t i = 0; i < w->frame->n; i++) {
        LoopedNode *node = looped(w, i);
        if (!looped_is_ordinary(node->node) || node->body)
            continue;
        TRY(copy_into(w, node));
        if (node->tainted && after)
            TRY(wait_for_states(w, node->now.node, &barrier));
    }
    return find_targets(w, false);
}

static Status *end(Writing *w) {
    Draft *draft = w->draft;
    TRY(make_retval(w, value(w, w->frame->cond->inputs[0])));
    draft->targets = calloc(w->targets.n + 1, sizeof *draft->targets);
    NEED_MEMORY(draft->targets);
    for (size_t i = 0; i < w->targets.n; i++)
        (draft->targets[draft->n_targets++] = w->targets.p[i])->is_target = true;
    w->targets.n = 0;
    return OK;
}

// Order matters: the results of an iteration are read off before the variables are renamed to what they are next, and
// the condition is copied after.
static Status *write_drafts(Writing *w, LoopDraft *loop) {
    TRY(begin(w, &loop->first));
    forget(w);
    TRY(copy_condition(w, false));
    TRY(end(w));
    TRY(begin(w, &loop->body));
    forget(w);
    TRY(copy_body(w));
    AUTO(arena) Arena arena = {0};
    Output *next = ARENA_ARRAY(&arena, Output, w->merges.n);
    NEED_MEMORY(next);
    for (size_t i = 0; i < w->merges.n; i++) {
        next[i] = value(w, around(w->merges.p[i], FLOW_NEXT));
        TRY(make_retval(w, next[i]));
    }
    // From here on a variable is what it is next.
    for (size_t i = 0; i < w->merges.n; i++)
        of(w, w->merges.p[i])->now = next[i];
    forget(w);
    TRY(copy_condition(w, true));
    return end(w);
}

// ---- the node

// Exit(Switch(Merge)): which variable leaves here.
static int32_t variable_of(const Writing *w, const Node *leaves) {
    const Node *merge = leaves->inputs[0].node->inputs[0].node;
    for (size_t i = 0; i < w->merges.n; i++)
        if (w->merges.p[i] == merge)
            return (int32_t)i;
    return -1;
}

// The loop waits for what its Enters waited for. The attribute `body` is the draft's place in LoopDrafts: a node can't
// hold a pointer.
static Status *make_node(Writing *w, int body, const NodeVec *exits, Node **out) {
    AUTO(arena) Arena arena = {0};
    size_t n = w->merges.n;
    Output *inputs = ARENA_ARRAY(&arena, Output, n + w->invariants.n);
    DType *types = ARENA_ARRAY(&arena, DType, exits->n);
    NEED_MEMORY(inputs && types);
    for (size_t i = 0; i < n; i++)
        inputs[i] = around(w->merges.p[i], FLOW_ENTER);
    for (size_t i = 0; i < w->invariants.n; i++)
        inputs[n + i] = w->invariants.p[i];
    for (size_t i = 0; i < exits->n; i++)
        types[i] = exits->p[i]->output_types[0];
    AttrValue type_list = {.kind = ATTR_TYPE, .is_list = true, .n = (int32_t)exits->n, .types = types};
    AUTO(builder) NodeBuilder builder;
    Str name;
    TRY(graph_unique_name(w->r->draft->graph, node_str(w->frame->enter, "frame_name"), &name));
    builder_init(&builder, w->r->draft->graph, STR("_Loop"), name);
    builder_place(&builder, w->frame->cond);
    builder_input_list(&builder, inputs, (int)(n + w->invariants.n));
    builder_attr(&builder, STR("Tout"), &type_list);
    builder_attr(&builder, STR("body"), &ATTR_OF_INT(body));
    for (int32_t i = 0; i < w->frame->n; i++)
        if (node_flow(looped(w, i)->node) == FLOW_ENTER)
            for (int c = 0; c < looped(w, i)->node->n_controls; c++)
                builder_control(&builder, looped(w, i)->node->controls[c]);
    return builder_finish(&builder, out);
}

// Readers of the Exit read the node; who waited for the Exit waits for the whole loop, which is when an Exit comes.
static Status *leave_by(Draft *draft, Node *leaves, Node *made, int output) {
    made->output_shapes[output] = leaves->output_shapes[0];
    if (leaves->handles && leaves->handles[0])
        TRY(node_set_handle(made, output, leaves->handles[0]));
    TRY(graph_replace_output((Output){leaves, 0}, (Output){made, output}));
    while (leaves->uses.n) {
        Node *waiting = vec_last(&leaves->uses).node;
        for (int c = 0; c < waiting->n_controls; c++)
            if (waiting->controls[c] == leaves) {
                node_remove_control(waiting, c);
                break;
            }
        TRY(node_add_control(waiting, made));
    }
    for (int i = 0; i < draft->n_targets; i++)
        if (draft->targets[i] == leaves)
            (draft->targets[i] = made)->is_target = true;
    return OK;
}

static Status *put_node(Writing *w, LoopDraft *loop, int body) {
    NodeVec exits = {0};
    Node *made = NULL;
    bool good = true;
    for (int32_t i = 0; i < w->frame->n; i++)
        if (node_flow(looped(w, i)->node) == FLOW_EXIT)
            good = good && vec_push(&exits, looped(w, i)->node);
    loop->results = malloc((exits.n + 1) * sizeof *loop->results);
    Status *status = good && loop->results ? make_node(w, body, &exits, &made)
                                           : OUT_OF_MEMORY;
    for (size_t i = 0; i < exits.n && !status; i++) {
        loop->results[loop->n_results++] = variable_of(w, exits.p[i]);
        status = leave_by(w->r->draft, exits.p[i], made, (int)i);
    }
    if (made)
        made->mark = -1;
    vec_clear(&exits);
    return status;
}

// The list owns the draft before anything can fail.
static Status *write(Writing *w) {
    LoopDrafts *loops = w->r->draft->loops;
    LoopDraft *loop = calloc(1, sizeof *loop);
    NEED_MEMORY(loop);
    if (!vec_push(&loops->all, loop)) {
        free(loop);
        return OUT_OF_MEMORY;
    }
    TRY(find_ends(w));
    loop->n_variables = (int32_t)w->merges.n;
    loop->n_invariants = (int32_t)w->invariants.n;
    TRY(write_drafts(w, loop));
    return put_node(w, loop, (int)loops->all.n - 1);
}

Status *loop_write(Raising *raising, const LoopFrame *frame) {
    Writing w = {.r = raising, .frame = frame};
    Status *status = write(&w);
    vec_clear(&w.merges);
    vec_clear(&w.invariants);
    vec_clear(&w.args);
    vec_clear(&w.targets);
    vec_clear(&w.states);
    return status;
}

void loop_drafts_clear(LoopDrafts *loops) {
    for (size_t i = 0; i < loops->all.n; i++) {
        LoopDraft *loop = loops->all.p[i];
        draft_clear(&loop->first);
        draft_clear(&loop->body);
        graph_release(loop->first.graph);
        graph_release(loop->body.graph);
        free(loop->results);
        free(loop);
    }
    vec_clear(&loops->all);
}
