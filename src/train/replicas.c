// Replicas — see replicas.h.
//
// Who waits does so at a gate of its own: a queue of tokens on a store.
//
// Synchronous: the chief's update takes the mean of enough gradients out of each variable's accumulator, applies it, moves the
// clock, and puts a token into each gate that is empty. A replica pushes its gradients with the clock as it last read it,
// passes its gate, and reads the clock again. It reads after it has passed: where it takes an old token just after the look,
// and gets no new one, it knows the new time. So tokens need not be counted, and none is lost with a replica that is killed.
//
// Bounded: token j allows to begin step j, and tokens up to the slowest's step plus the staleness are given out (`granted`). A
// replica counts its steps, rings, and passes its gate; the update waits for the bell and grants what is due. Who starts anew
// empties its gate and puts into it what it had been granted for the steps that it has not done.
#include "train/replicas.h"

#include <stdio.h>

#include "formula/ops.h"

const char *replicas_name(ReplicasKind kind) {
    static const char *const NAMES[] = {"asynchronous", "synchronous", "bounded"};
    return (int)kind >= 0 && kind < REPLICAS_KINDS ? NAMES[kind] : NULL;
}

typedef VEC(Node *) Nodes;

typedef struct {
    Net *net;
    const Replicas *replicas;
    const Optimizer *optimizer;
    Output rate;
    Gradient *gradients;
    int n;                // of them
    Str store;            // where gates, bell and counts are
    Output gate, *gates;  // this replica's; all, by replica
} Job;

static void push(Job *job, Nodes *nodes, Node *node) {
    if (node && !vec_push(nodes, node))
        formula_fail(&job->net->f, OUT_OF_MEMORY);
}

static Node *group(Job *job, const char *name, Nodes *nodes) {
    Node *node = net_group(job->net, name, nodes->p, (int)nodes->n);
    vec_clear(nodes);
    return node;
}

// What a variable holds when `after` has run.
static Output read_after(Job *job, int variable, Node *after) {
    Net *net = job->net;
    Formula *f = &net->f;
    if (f->status || variable < 0)
        return NONE;
    const NetVariable *v = &net->variables.p[variable];
    NetPlace place = net_go(net, v->device, false);
    Output value = net->refs ? Identity(v->handle)
                             : OpWith("ReadVariableOp", ATTRS(TYPE_ATTR("dtype", output_type(v->value))), v->handle);
    net_return(net, place);
    net_order(net, value.node, after);
    return value;
}

static Node *add_to(Job *job, int variable, Output amount, Node *after) {
    Net *net = job->net;
    Formula *f = &net->f;
    if (f->status || variable < 0)
        return NULL;
    Node *node = formula_2(f, net->refs ? "AssignAdd" : "AssignAddVariableOp", net->variables.p[variable].handle, amount).node;
    net_order(net, node, after);
    return node;
}

// ---------------------------------------- queues of int64

static const DType TOKEN_TYPES[] = {DT_int64};
#define TOKEN_ATTR(name) {(name), {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = (DType *)TOKEN_TYPES}}

// The queue of that name: each replica's node finds the same one.
static Output make_queue(Job *job, const char *name, int number) {
    Shape scalar = SCALAR_SHAPE;
    AttrValue shapes = {.kind = ATTR_SHAPE, .is_list = true, .n = 1, .shapes = &scalar};
    Str shared = str_format(&job->net->names, "replicas/%s_%d", name, number);
    return formula_op(&job->net->f, "FIFOQueueV2", NULL, 0,
                      ATTRS(TOKEN_ATTR("component_types"), {"shapes", shapes}, {"shared_name", ATTR_OF_STRING(shared)}));
}

// So many tokens more, a scalar, when `after` has run.
static Node *put_tokens(Job *job, Output queue, Output count, Node *after) {
    Formula *f = &job->net->f;
    Output tokens = Fill(Reshape(Cast(count, DT_int32), Ints(1)), Int64(0));
    FormulaArg args[] = {{&queue, 1, false}, {&tokens, 1, true}};
    Node *node = formula_node(f, "QueueEnqueueManyV2", args, 2, NULL);
    net_order(job->net, node, after);
    return node;
}

static Node *take_token(Job *job, Output queue, Node *after) {
    Formula *f = &job->net->f;
    Node *node = OpWith("QueueDequeueV2", ATTRS(TOKEN_ATTR("component_types")), queue).node;
    net_order(job->net, node, after);
    return node;
}

// ---------------------------------------- asynchronous

static Node *apply(Job *job, const Gradient *gradients) {
    return optimizer_apply(job->net, job->optimizer, job->rate, gradients, job->n);
}

// ---------------------------------------- synchronous

static Output make_accumulator(Job *job, int variable) {
    const NetVariable *v = &job->net->variables.p[variable];
    bool sparse = job->gradients[variable].indices.node != NULL;
    AttrValue shape = {.kind = ATTR_SHAPE, .shape = (Shape *)&v->shape};
    Str shared = str_format(&job->net->names, "replicas/gradient_%d", variable);
    return formula_op(&job->net->f, sparse ? "SparseConditionalAccumulator" : "ResourceConditionalAccumulator", NULL, 0,
                      ATTRS(TYPE_ATTR("dtype", output_type(v->value)), {"shape", shape}, {"shared_name", ATTR_OF_STRING(shared)}));
}

static Node *push_gradient(Job *job, Output accumulator, const Gradient *g, Output clock) {
    Formula *f = &job->net->f;
    if (!g->indices.node)
        return Op("ResourceAccumulatorApplyGradient", accumulator, clock, g->values).node;
    return OpWith("SparseAccumulatorApplyGradient", ATTRS(BOOL_ATTR("has_known_shape", true)), accumulator, clock,
                  Cast(g->indices, DT_int64), g->values, Cast(g->shape, DT_int64)).node;
}

static Gradient take_gradient(Job *job, Output accumulator, const Gradient *g) {
    Formula *f = &job->net->f;
    Output needed = Int(job->replicas->needed);
    DType dtype = output_type(g->values);
    if (!g->indices.node)
        return (Gradient){.values = OpWith("ResourceAccumulatorTakeGradient", ATTRS(TYPE_ATTR("dtype", dtype)), accumulator, needed)};
    Output all = OpWith("SparseAccumulatorTakeGradient", ATTRS(TYPE_ATTR("dtype", dtype)), accumulator, needed);
    return (Gradient){.indices = all, .values = At(all, 1), .shape = At(all, 2)};
}

// Applies the means, moves the clock, then opens the gates of those who wait or have yet to.
static Node *update_all(Job *job, const Gradient *means) {
    Net *net = job->net;
    Formula *f = &net->f;
    Nodes taken = {0}, opened = {0};
    NetPlace place = net_go(net, job->store, false);
    for (int i = 0; i < job->n; i++)
        push(job, &taken, means[i].values.node);
    net_order(net, net->count, group(job, "taken", &taken));
    Node *applied = apply(job, means);
    for (int i = 0; i < job->replicas->n && !f->status; i++) {
        Output size = Op("QueueSizeV2", job->gates[i]);
        net_order(net, size.node, applied);
        push(job, &opened, put_tokens(job, job->gates[i], Equal(size, Int(0)), NULL));
    }
    Node *update = group(job, "update", &opened);
    net_return(net, place);
    return update;
}

// Gradients of an earlier step than the clock's are dropped from now on: an accumulator, or the clock, may have been lost.
static Node *set_step(Job *job, Output accumulator, const Gradient *g, Output clock) {
    Formula *f = &job->net->f;
    return Op(g->indices.node ? "AccumulatorSetGlobalStep" : "ResourceAccumulatorSetGlobalStep", accumulator, clock).node;
}

static void synchronous(Job *job, ReplicaSteps *out) {
    Net *net = job->net;
    Formula *f = &net->f;
    AUTO(arena) Arena arena = {0};
    Gradient *means = ARENA_ARRAY(&arena, Gradient, job->n);
    Nodes pushed = {0}, last = {0}, first = {0};
    bool is_chief = job->replicas->index == 0;
    if (!means)
        formula_fail(f, OUT_OF_MEMORY);
    char name[32];
    snprintf(name, sizeof name, "local_step_%d", job->replicas->index);
    NetPlace here = net_go(net, f->device, true);
    int local = net_variable(net, name, Int64(0), false), clock = net->steps - 1;
    net_return(net, here);
    Output now = read_after(job, clock, NULL);
    for (int i = 0; i < job->n && !f->status; i++) {
        const Gradient *g = &job->gradients[i];
        if (!g->values.node)
            continue;
        NetPlace place = net_go(net, net->variables.p[i].device, true);
        Output accumulator = make_accumulator(job, i);
        push(job, &pushed, push_gradient(job, accumulator, g, net_value(net, local)));
        if (is_chief) {
            push(job, &first, set_step(job, accumulator, g, now));
            means[i] = take_gradient(job, accumulator, g);
        }
        net_return(net, place);
    }
    NetPlace place = net_go(net, job->store, false);
    Node *passed = take_token(job, job->gate, group(job, "pushed", &pushed));
    net_return(net, place);
    push(job, &last, net_assign(net, local, read_after(job, clock, passed)));
    for (size_t i = 0; i < net->updates.n; i++)
        push(job, &last, net->updates.p[i]);
    out->train = group(job, "train_step", &last);
    push(job, &first, net_assign(net, local, now));
    out->start = group(job, "start", &first);
    net->updates.n = 0;   // each replica's own
    if (is_chief)
        out->update = update_all(job, means);
}

// ---------------------------------------- bounded

// The slowest's count of steps, when `after` has run.
static Output slowest(Job *job, const int *done, Node *after) {
    Formula *f = &job->net->f;
    Output least = read_after(job, done[0], after);
    for (int i = 1; i < job->replicas->n; i++)
        least = Minimum(least, read_after(job, done[i], after));
    return least;
}

static Node *grant(Job *job, const int *done, int granted, Output bell) {
    Formula *f = &job->net->f;
    Nodes all = {0};
    Node *rung = take_token(job, bell, NULL);
    Output until = Add(slowest(job, done, rung), Int64(job->replicas->staleness));
    Output more = Sub(until, read_after(job, granted, rung));
    Node *noted = add_to(job, granted, more, NULL);
    for (int i = 0; i < job->replicas->n && !f->status; i++)
        push(job, &all, put_tokens(job, job->gates[i], more, noted));
    return group(job, "update", &all);
}

// Empties the gate, puts in the tokens of steps that are to be done, and takes the first.
static Node *begin_anew(Job *job, int done, int granted) {
    Formula *f = &job->net->f;
    Node *emptied = OpWith("QueueDequeueManyV2", ATTRS(TOKEN_ATTR("component_types")), job->gate, Op("QueueSizeV2", job->gate)).node;
    Output left = Sub(Add(read_after(job, granted, emptied), Int64(1)), read_after(job, done, emptied));
    return take_token(job, job->gate, put_tokens(job, job->gate, Maximum(left, Int64(0)), NULL));
}

static void bounded(Job *job, ReplicaSteps *out) {
    Net *net = job->net;
    Formula *f = &net->f;
    int *done = ARENA_ARRAY(&net->names, int, job->replicas->n), index = job->replicas->index;
    if (!done) {
        formula_fail(f, OUT_OF_MEMORY);
        return;
    }
    NetPlace place = net_go(net, job->store, false);
    Node *applied = apply(job, job->gradients);
    net_scope(net, "replicas");
    net_go(net, job->store, true);
    for (int i = 0; i < job->replicas->n; i++) {
        char name[32];
        snprintf(name, sizeof name, "done_%d", i);
        done[i] = net_variable(net, name, Int64(0), false);
    }
    int granted = net_variable(net, "granted", Int64(job->replicas->staleness), false);
    Output bell = make_queue(job, "bell", 0);
    Node *counted = add_to(job, done[index], Int64(1), applied);
    Node *rung = put_tokens(job, bell, Int(1), counted);
    out->train = take_token(job, job->gate, rung);
    out->start = begin_anew(job, done[index], granted);
    if (index == 0)
        out->update = grant(job, done, granted, bell);
    net_return(net, place);
}

// ---------------------------------------- all

static Status *check(const Replicas *r) {
    NEED(r->n >= 1 && r->index >= 0 && r->index < r->n, INVALID_ARGUMENT, "replica %d of %d", r->index, r->n);
    NEED(r->kind != REPLICAS_SYNCHRONOUS || (r->needed >= 1 && r->needed <= r->n), INVALID_ARGUMENT,
         "gradients of %d of %d replicas make a step", r->needed, r->n);
    NEED(r->kind != REPLICAS_BOUNDED || r->staleness >= 0, INVALID_ARGUMENT, "a staleness of %d steps", r->staleness);
    return OK;
}

static void make_gates(Job *job) {
    Net *net = job->net;
    NetPlace place = net_go(net, job->store, false);
    job->gates = ARENA_ARRAY(&net->names, Output, job->replicas->n);
    if (!job->gates)
        formula_fail(&net->f, OUT_OF_MEMORY);
    for (int i = 0; i < job->replicas->n && !net->f.status; i++)
        if (i == job->replicas->index || job->replicas->index == 0)
            job->gates[i] = make_queue(job, "gate", i);
    if (!net->f.status)
        job->gate = job->gates[job->replicas->index];
    net_return(net, place);
}

static Node *close_gates(Job *job) {
    Formula *f = &job->net->f;
    Nodes closed = {0};
    NetPlace place = net_go(job->net, job->store, false);
    for (int i = 0; i < job->replicas->n && !f->status; i++)
        push(job, &closed, Op("QueueCloseV2", job->gates[i]).node);
    Node *end = group(job, "end", &closed);
    net_return(job->net, place);
    return end;
}

void replicas_minimize(Net *net, const Replicas *replicas, const Optimizer *optimizer, Output rate, Output loss, const Clip *clip,
                       ReplicaSteps *out) {
    AUTO(arena) Arena arena = {0};
    *out = (ReplicaSteps){0};
    Status *status = check(replicas);
    if (status)
        formula_fail(&net->f, status);
    net_steps(net);
    Job job = {.net = net, .replicas = replicas, .optimizer = optimizer, .rate = rate, .n = (int)net->variables.n,
               .gradients = optimizer_gradients(net, loss, clip, &arena)};
    if (!job.gradients)
        return;
    net_scope(net, "replicas");
    job.store = net->variables.p[net->steps - 1].device;
    if (replicas->kind == REPLICAS_ASYNCHRONOUS)
        out->train = apply(&job, job.gradients);
    else
        make_gates(&job);
    if (replicas->kind == REPLICAS_SYNCHRONOUS)
        synchronous(&job, out);
    if (replicas->kind == REPLICAS_BOUNDED)
        bounded(&job, out);
    if (replicas->kind != REPLICAS_ASYNCHRONOUS && replicas->index == 0)
        out->end = close_gates(&job);
    net_scope(net, NULL);
    if (net->f.status)
        *out = (ReplicaSteps){0};
}
