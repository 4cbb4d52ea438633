// Optimizer — see optimizer.h.
//
// A rule exists twice: as a formula of simple ops, and (`fused`) as TensorFlow's one op per variable (ApplyAdam), which
// reads and writes each element once. Gradients of embedding tables are IndexedSlices; gradient descent and Adagrad
// touch only their rows, the other rules change every row in each step and get a dense gradient.
#include "train/optimizer.h"

#include "formula/ops.h"

Optimizer optimizer_of(OptimizerKind kind) {
    Optimizer o = {.kind = kind, .fused = true, .momentum = kind == OPTIMIZER_MOMENTUM ? 0.9 : 0, .initial = 0.1,
                   .rho = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = kind == OPTIMIZER_RMSPROP ? 1e-10 : 1e-8};
    return o;
}

const char *optimizer_name(OptimizerKind kind) {
    static const char *const NAMES[] = {"gradient-descent", "momentum", "adagrad", "rmsprop", "adam"};
    return (int)kind >= 0 && kind < OPTIMIZERS ? NAMES[kind] : NULL;
}

// One variable being changed.
typedef struct {
    Net *net;
    const Optimizer *o;
    Output rate;              // of the variable's type
    int w;
    Output g;
    Output rows, shape;       // where g is only these rows of a gradient of that shape
    int power1, power2;       // Adam: beta^t, shared by all variables
} Change;

typedef VEC(Node *) Nodes;

static void done(Net *net, Nodes *nodes, Node *node) {
    if (node && !vec_push(nodes, node))
        formula_fail(&net->f, OUT_OF_MEMORY);
}

// A variable of w's shape beside it.
static int slot(const Change *c, const char *name, double initial) {
    const NetVariable *w = &c->net->variables.p[c->w];
    return net_variable(c->net, name, initial_constant(c->net, w->shape, output_type(w->value), initial), false);
}

static Output handle(const Change *c, int variable) {
    return variable < 0 ? NONE : c->net->variables.p[variable].handle;
}

// ---------------------------------------- as formulas

static void descend(const Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    Output w = net_value(c->net, c->w);
    done(c->net, nodes, net_assign(c->net, c->w, Sub(w, Mul(c->rate, c->g))));
}

static void momentum(const Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    int slot_a = slot(c, "momentum", 0);
    Output w = net_value(c->net, c->w), g = c->g, beta = Scalar(c->o->momentum, g);
    Output a = Add(Mul(beta, net_value(c->net, slot_a)), g);
    Output step = c->o->nesterov ? Add(g, Mul(beta, a)) : a;
    done(c->net, nodes, net_assign(c->net, slot_a, a));
    done(c->net, nodes, net_assign(c->net, c->w, Sub(w, Mul(c->rate, step))));
}

static void adagrad(const Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    int slot_a = slot(c, "squares", c->o->initial);
    Output w = net_value(c->net, c->w), g = c->g;
    Output a = Add(net_value(c->net, slot_a), Square(g));
    done(c->net, nodes, net_assign(c->net, slot_a, a));
    done(c->net, nodes, net_assign(c->net, c->w, Sub(w, Mul(Mul(c->rate, g), Rsqrt(a)))));
}

// Epsilon is inside of the root, as in TensorFlow's ApplyRMSProp.
static void rmsprop(const Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    int slot_s = slot(c, "squares", 0), slot_a = slot(c, "momentum", 0);
    Output w = net_value(c->net, c->w), g = c->g;
    Output s = Add(Mul(Scalar(c->o->rho, g), net_value(c->net, slot_s)), Mul(Scalar(1 - c->o->rho, g), Square(g)));
    Output a = Add(Mul(Scalar(c->o->momentum, g), net_value(c->net, slot_a)),
                   Div(Mul(c->rate, g), Sqrt(Add(s, Scalar(c->o->epsilon, g)))));
    done(c->net, nodes, net_assign(c->net, slot_s, s));
    done(c->net, nodes, net_assign(c->net, slot_a, a));
    done(c->net, nodes, net_assign(c->net, c->w, Sub(w, a)));
}

// With the bias correction in the rate, sqrt(1 - beta2^t) / (1 - beta1^t), and epsilon outside of it, as in TensorFlow:
// the paper's "epsilon hat".
static void adam(const Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    int slot_m = slot(c, "mean", 0), slot_v = slot(c, "squares", 0);
    Output w = net_value(c->net, c->w), g = c->g, one = Scalar(1, g);
    Output beta1 = Scalar(c->o->beta1, g), beta2 = Scalar(c->o->beta2, g);
    Output m = Add(Mul(beta1, net_value(c->net, slot_m)), Mul(Sub(one, beta1), g));
    Output v = Add(Mul(beta2, net_value(c->net, slot_v)), Mul(Sub(one, beta2), Square(g)));
    Output rate = Mul(c->rate, Div(Sqrt(Sub(one, net_value(c->net, c->power2))),
                                   Sub(one, net_value(c->net, c->power1))));
    done(c->net, nodes, net_assign(c->net, slot_m, m));
    done(c->net, nodes, net_assign(c->net, slot_v, v));
    done(c->net, nodes,
         net_assign(c->net, c->w, Sub(w, Div(Mul(rate, m), Add(Sqrt(v), Scalar(c->o->epsilon, g))))));
}

// ---------------------------------------- as one op

#define APPLY(op) (c->net->refs ? "Apply" op : "ResourceApply" op)

static void fused(const Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    Output w = handle(c, c->w), g = c->g, step = NONE;
    const Optimizer *o = c->o;
    switch (o->kind) {
    case OPTIMIZER_GRADIENT_DESCENT:
        step = Op(APPLY("GradientDescent"), w, c->rate, g);
        break;
    case OPTIMIZER_MOMENTUM: {
        Output a = handle(c, slot(c, "momentum", 0));
        step = OpWith(APPLY("Momentum"), ATTRS(BOOL_ATTR("use_nesterov", o->nesterov)), w, a, c->rate, g,
                      Scalar(o->momentum, g));
        break;
    }
    case OPTIMIZER_ADAGRAD: {
        Output a = handle(c, slot(c, "squares", o->initial));
        step = Op(APPLY("Adagrad"), w, a, c->rate, g);
        break;
    }
    case OPTIMIZER_RMSPROP: {
        Output s = handle(c, slot(c, "squares", 0)), a = handle(c, slot(c, "momentum", 0));
        step = Op(APPLY("RMSProp"), w, s, a, c->rate, Scalar(o->rho, g), Scalar(o->momentum, g), Scalar(o->epsilon, g),
                  g);
        break;
    }
    default: {
        Output m = handle(c, slot(c, "mean", 0)), v = handle(c, slot(c, "squares", 0));
        step = Op(APPLY("Adam"), w, m, v, net_value(c->net, c->power1), net_value(c->net, c->power2), c->rate,
                  Scalar(o->beta1, g), Scalar(o->beta2, g), Scalar(o->epsilon, g), g);
    }
    }
    done(c->net, nodes, step.node);
}

// ---------------------------------------- of some rows only

typedef void ChangeFn(const Change *c, Nodes *nodes);

// The gradients of one row added up first: Adagrad adds the square of the sum to its accumulator, which isn't the sum
// of the squares. TensorFlow's optimizers do the same with IndexedSlices.
static void sum_repeated(Change *c) {
    Formula *f = &c->net->f;
    Output unique = Op("Unique", c->rows);
    c->g = UnsortedSegmentSum(c->g, At(unique, 1), SizeOf(unique));
    c->rows = unique;
}

static void change_rows(Change *c, Nodes *nodes) {
    Formula *f = &c->net->f;
    bool refs = c->net->refs;
    if (c->o->kind == OPTIMIZER_GRADIENT_DESCENT) {
        Output step = Mul(c->rate, c->g);
        done(c->net, nodes, Op(refs ? "ScatterSub" : "ResourceScatterSub", handle(c, c->w), c->rows, step).node);
        return;
    }
    sum_repeated(c);
    Output a = handle(c, slot(c, "squares", c->o->initial));
    done(c->net, nodes, Op(refs ? "SparseApplyAdagrad" : "ResourceSparseApplyAdagrad", handle(c, c->w), a, c->rate,
                           c->g, c->rows).node);
}

static void change(Change *c, Nodes *nodes) {
    static ChangeFn *const FORMULAS[] = {descend, momentum, adagrad, rmsprop, adam};
    Formula *f = &c->net->f;
    OptimizerKind kind = c->o->kind;
    if (c->rows.node && (kind == OPTIMIZER_GRADIENT_DESCENT || kind == OPTIMIZER_ADAGRAD)) {
        change_rows(c, nodes);
        return;
    }
    if (c->rows.node) {
        Output count = Reshape(Slice(c->shape, Ints(0), Ints(1)), NoInts);
        c->g = UnsortedSegmentSum(c->g, c->rows, count);
    }
    (c->o->fused ? fused : FORMULAS[kind])(c, nodes);
}

// ---------------------------------------- all variables

// References are written in place: no variable may change before every gradient has been computed from the old values.
static void order_after_gradients(Net *net, const Nodes *nodes, const Gradient *gradients, int n) {
    Nodes sources = {0};
    for (int i = 0; i < n; i++)
        done(net, &sources, gradients[i].values.node);
    Node *all = net_group(net, "gradients_done", sources.p, (int)sources.n);
    for (size_t i = 0; i < nodes->n; i++)
        net_order(net, nodes->p[i], all);
    vec_clear(&sources);
}

// beta^t for the next t: after all updates, which multiply by this one.
static void advance(Net *net, Nodes *nodes, int power, double beta) {
    Formula *f = &net->f;
    if (f->status)
        return;
    NetPlace place = net_go(net, net->variables.p[power].device, false);
    Output value = net_value(net, power);
    Node *node = net_assign(net, power, Mul(value, Scalar(beta, value)));
    net_return(net, place);
    for (size_t i = 0; i < nodes->n; i++)
        net_order(net, node, nodes->p[i]);
    done(net, nodes, node);
}

Node *optimizer_apply(Net *net, const Optimizer *o, Output rate, const Gradient *gradients, int n) {
    Formula *f = &net->f;
    Nodes nodes = {0};
    Change now = {.net = net, .o = o, .power1 = -1, .power2 = -1};
    net_scope(net, "train");
    for (int i = 0; i < n && !f->status; i++) {
        if (!gradients[i].values.node)
            continue;
        DType dtype = output_type(gradients[i].values);
        if (o->kind == OPTIMIZER_ADAM && now.power1 < 0) {
            now.power1 = net_variable(net, "beta1_power", Number(o->beta1, dtype), false);
            now.power2 = net_variable(net, "beta2_power", Number(o->beta2, dtype), false);
        }
        now.rate = Cast(rate, dtype);
        now.w = i;
        now.g = gradients[i].values;
        now.rows = gradients[i].indices;
        now.shape = gradients[i].shape;
        NetPlace place = net_go(net, net->variables.p[i].device, true);
        change(&now, &nodes);
        net_return(net, place);
    }
    if (net->refs)
        order_after_gradients(net, &nodes, gradients, n);
    if (now.power1 >= 0) {
        advance(net, &nodes, now.power1, o->beta1);
        advance(net, &nodes, now.power2, o->beta2);
    }
    net_scope(net, NULL);
    for (size_t i = 0; i < net->updates.n; i++)
        done(net, &nodes, net->updates.p[i]);
    done(net, &nodes, net->count);
    Node *train = net_group(net, "train_step", nodes.p, (int)nodes.n);
    vec_clear(&nodes);
    return train;
}

// Of rows that come up more than once in IndexedSlices, the limits see each by itself, as in TensorFlow.
static void cut(Net *net, const Clip *clip, Gradient *gradients, Output *values, int n) {
    for (int i = 0; i < n; i++)
        values[i] = gradients[i].values;
    for (int i = 0; i < n && clip->value > 0; i++)
        values[i] = clip_value(net, values[i], clip->value);
    for (int i = 0; i < n && clip->norm > 0; i++)
        values[i] = clip_norm(net, values[i], clip->norm);
    if (clip->global_norm > 0)
        clip_global_norm(net, values, n, clip->global_norm);
    for (int i = 0; i < n; i++)
        gradients[i].values = values[i];
}

// Of the variables that learn, dxs in their order.
static Status *differentiate(Net *net, Output loss, Output *xs, Gradient *dxs, int *out_n) {
    int n = 0;
    for (size_t i = 0; i < net->variables.n; i++) {
        const NetVariable *variable = &net->variables.p[i];
        if (variable->trainable)
            xs[n++] = variable->by_rows ? variable->handle : variable->value;
    }
    NEED(n, FAILED_PRECONDITION, "there is nothing to learn: the net has no trainable variable");
    *out_n = n;
    return autodiff_sparse_gradients(net->f.graph, (Str){0}, &loss, 1, xs, n, NULL, dxs);
}

Gradient *optimizer_gradients(Net *net, Output loss, const Clip *clip, Arena *arena) {
    int n = (int)net->variables.n, n_xs;
    Output *xs = ARENA_ARRAY(arena, Output, n);
    Gradient *dxs = ARENA_ARRAY(arena, Gradient, n), *gradients = ARENA_ARRAY(arena, Gradient, n);
    if (net->f.status)
        return NULL;
    Status *status = gradients && xs && dxs ? differentiate(net, loss, xs, dxs, &n_xs) : OUT_OF_MEMORY;
    if (status) {
        formula_fail(&net->f, status);
        return NULL;
    }
    for (int i = n - 1; i >= 0; i--)
        gradients[i] = net->variables.p[i].trainable ? dxs[--n_xs] : (Gradient){0};
    if (clip)
        cut(net, clip, gradients, xs, n);
    return gradients;
}

Node *optimizer_minimize(Net *net, const Optimizer *optimizer, Output rate, Output loss, const Clip *clip) {
    AUTO(arena) Arena arena = {0};
    int n = (int)net->variables.n;
    const Gradient *gradients = optimizer_gradients(net, loss, clip, &arena);
    return gradients ? optimizer_apply(net, optimizer, rate, gradients, n) : NULL;
}
