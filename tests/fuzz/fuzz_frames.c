// fuzz_frames — bytes as a graph with control flow, wired at random: loops whole and in pieces, branches, references,
// queues, control edges and gradients; then any edge is fed or fetched, in whole and in partial runs.
//
// Mostly a node reads what lies in its own frame, so that much of it runs; now and then it reads anything. Bytes that
// are not there are drawn. A step has few milliseconds: a loop that does not end has to be cut short, and what waits,
// woken.
#include <stdlib.h>

#include "autodiff/autodiff.h"
#include "formula/formula.h"
#include "ops/all_ops.h"
#include "session/session.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { VALUES = 96, FRAMES = 32, OPEN = 16, EDGES = 4, STEP_MS = 4, NO_FRAME = -1 };

typedef struct {
    Output edge;
    int frame;      // where it should be
} Value;

typedef struct {
    Bytes *in;
    Formula f;
    Value values[VALUES];
    int n_values;
    struct {
        int parent, name;
    } frames[FRAMES];
    int n_frames;
    Value open[OPEN];   // Merges whose second input may yet become a NextIteration
    int n_open;
} Machine;

// ---- nodes

static Output edge_of(Node *node, int index) {
    return (Output){node, node ? index : 0};
}

// What the node gives is there to be read; what could not be made is not.
static Node *keep(Machine *m, Node *node, int frame) {
    status_free(m->f.status);
    m->f.status = OK;
    for (int i = 0; node && i < node->n_outputs && i < 2; i++) {
        int at = m->n_values < VALUES ? m->n_values++ : (int)below(m->in, VALUES);
        m->values[at] = (Value){{node, i}, frame};
    }
    return node;
}

static Node *add(Machine *m, const char *op, int frame, const Output *in, int n, const FormulaAttr *attrs) {
    FormulaArg args[EDGES];
    for (int i = 0; i < n; i++)
        args[i] = (FormulaArg){&in[i], 1, false};
    return keep(m, formula_node(&m->f, op, args, n, attrs), frame);
}

static Node *add_list(Machine *m, const char *op, int frame, Output a, Output b) {
    Output list[2] = {a, b};
    return keep(m, formula_node(&m->f, op, &(FormulaArg){list, 2, true}, 1, NULL), frame);
}

static Node *constant(Machine *m, DType dtype) {
    static const float numbers[] = {0, 1, 2, 3, 0.5f, -1, 100};
    Tensor value;
    Status *status = tensor_new(dtype, one_in(m->in, 12) ? SHAPE(2) : SCALAR_SHAPE, &value);
    if (status) {
        status_free(status);
        return NULL;
    }
    for (int64_t i = 0; i < tensor_count(&value); i++) {
        float number = numbers[below(m->in, 7)];
        if (dtype == DT_float)
            ((float *)value.data)[i] = number;
        else if (dtype == DT_int32)
            ((int32_t *)value.data)[i] = (int32_t)number;
        else
            ((bool *)value.data)[i] = number > 0;
    }
    const FormulaAttr attrs[] = {{"dtype", ATTR_OF_TYPE(dtype)}, {"value", {.kind = ATTR_TENSOR, .tensor = &value}},
                                 {0}};
    Node *node = add(m, "Const", 0, NULL, 0, attrs);
    tensor_clear(&value);
    return node;
}

static DType type(Machine *m) {
    return (const DType[]){DT_float, DT_float, DT_float, DT_int32, DT_bool}[below(m->in, 5)];
}

// A value of that type in that frame; DT_INVALID, NO_FRAME: any. What is not there is made, or read from elsewhere.
static Value pick(Machine *m, DType dtype, int frame) {
    if (one_in(m->in, 24))
        frame = NO_FRAME;
    int start = m->n_values ? (int)below(m->in, (unsigned)m->n_values) : 0;
    for (int k = 0; k < m->n_values; k++) {
        Value value = m->values[(start + k) % m->n_values];
        if ((frame == NO_FRAME || value.frame == frame) && (dtype == DT_INVALID || output_type(value.edge) == dtype))
            return value;
    }
    Node *node = constant(m, dtype == DT_INVALID || dtype > DT_bool ? DT_float : dtype);
    if (node && frame > 0) {  // who reads in a loop what lies outside of it has it wait for something inside
        Value inside = pick(m, DT_INVALID, frame);
        if (inside.frame == frame && !one_in(m->in, 8)) {
            status_free(node_add_control(node, inside.edge.node));
            return (Value){{node, 0}, frame};
        }
    }
    return (Value){edge_of(node, 0), 0};
}

static int child_frame(Machine *m, int parent, int name) {
    for (int i = 1; i < m->n_frames; i++)
        if (m->frames[i].parent == parent && m->frames[i].name == name)
            return i;
    if (m->n_frames == FRAMES)
        return 0;
    m->frames[m->n_frames].parent = parent;
    m->frames[m->n_frames].name = name;
    return m->n_frames++;
}

static Node *enter(Machine *m, Value from, int name, bool constant, bool by_reference) {
    static const char *const names[] = {"a", "b", "c", "d"};
    static const int parallel[] = {10, 1, 2, 0};
    const FormulaAttr attrs[] = {{"frame_name", ATTR_OF_STRING(str_of(names[name]))},
                                 {"is_constant", ATTR_OF_BOOL(constant)},
                                 {"parallel_iterations", ATTR_OF_INT(parallel[below(m->in, 4)])}, {0}};
    return add(m, by_reference ? "RefEnter" : "Enter", child_frame(m, from.frame, name), &from.edge, 1, attrs);
}

static void close_merge(Machine *m, Output next_value, int frame) {
    for (int i = 0; i < m->n_open; i++) {
        Value merge = m->open[i];
        if (output_type(merge.edge) != output_type(next_value) || (merge.frame != frame && !one_in(m->in, 8)))
            continue;
        status_free(node_set_input(merge.edge.node, (int)below(m->in, 2), next_value));
        if (one_in(m->in, 2))
            m->open[i] = m->open[--m->n_open];
        return;
    }
}

static void piece(Machine *m) {
    Value a = pick(m, one_in(m->in, 4) ? DT_INVALID : type(m), NO_FRAME);
    if (!a.edge.node)
        return;
    bool ref = dtype_is_ref(a.edge.node->output_types[a.edge.index]) && one_in(m->in, 2);
    Output in[2] = {a.edge};
    Node *node;
    switch (below(m->in, 8)) {
    case 0: case 1:
        enter(m, a, (int)below(m->in, 4), one_in(m->in, 3), ref);
        break;
    case 2:
        node = add_list(m, ref ? "RefMerge" : "Merge", a.frame, a.edge, pick(m, output_type(a.edge), a.frame).edge);
        if (node && m->n_open < OPEN)
            m->open[m->n_open++] = (Value){{node, 0}, a.frame};
        break;
    case 3: case 4:
        in[1] = pick(m, DT_bool, a.frame).edge;
        add(m, ref ? "RefSwitch" : "Switch", a.frame, in, 2, NULL);
        break;
    case 5:
        node = add(m, ref ? "RefNextIteration" : "NextIteration", a.frame, in, 1, NULL);
        if (node)
            close_merge(m, edge_of(node, 0), a.frame);
        break;
    case 6:
        add(m, ref ? "RefExit" : "Exit", m->frames[a.frame].parent, in, 1, NULL);
        break;
    default:
        a = pick(m, DT_bool, a.frame);
        add(m, "LoopCond", a.frame, &a.edge, 1, NULL);
        break;
    }
}

static void calculate(Machine *m) {
    static const char *const two[] = {"Add", "Mul", "Sub", "AddV2", "RealDiv", "Maximum", "MatMul", "Less", "Equal",
                                      "Tile"};
    static const char *const one[] = {"Identity", "Neg", "Square", "Tanh", "Shape", "ZerosLike", "Exp", "StopGradient",
                                      "Rank"};
    DType dtype = one_in(m->in, 3) ? DT_int32 : DT_float;
    Value a = pick(m, one_in(m->in, 8) ? DT_INVALID : dtype, NO_FRAME);
    if (!a.edge.node)
        return;
    Output in[2] = {a.edge};
    if (one_in(m->in, 3)) {
        add(m, one[below(m->in, sizeof one / sizeof *one)], a.frame, in, 1, NULL);
        return;
    }
    in[1] = pick(m, output_type(a.edge), a.frame).edge;
    if (one_in(m->in, 8))
        add_list(m, "AddN", a.frame, in[0], in[1]);
    else
        add(m, two[below(m->in, sizeof two / sizeof *two)], a.frame, in, 2, NULL);
}

// While x < most: x = x + or * something, as TensorFlow's Python writes it; now and then a part of it is another.
static void loop(Machine *m) {
    DType dtype = one_in(m->in, 2) ? DT_int32 : DT_float;
    int name = (int)below(m->in, 4), odd = one_in(m->in, 3) ? (int)below(m->in, 8) : -1;
    Value from = pick(m, dtype, odd == 0 ? NO_FRAME : (int)below(m->in, (unsigned)m->n_frames));
    Value most = pick(m, dtype, from.frame), by = pick(m, dtype, from.frame);
    Node *x = from.edge.node ? enter(m, from, name, odd == 1, false) : NULL;
    Node *limit = most.edge.node ? enter(m, most, name, odd != 2, false) : NULL;
    Node *step = by.edge.node ? enter(m, by, name, odd != 3, false) : NULL;
    if (!x || !limit || !step)
        return;
    int inside = child_frame(m, from.frame, name);
    Node *merge = add_list(m, "Merge", inside, edge_of(x, 0), edge_of(x, 0));
    Node *less = merge ? add(m, "Less", inside, (Output[]){{merge, 0}, {limit, 0}}, 2, NULL) : NULL;
    Node *cond = less && odd != 4 ? add(m, "LoopCond", inside, (Output[]){{less, 0}}, 1, NULL) : less;
    Node *choice = cond ? add(m, "Switch", inside, (Output[]){{merge, 0}, {cond, 0}}, 2, NULL) : NULL;
    if (!choice)
        return;
    for (unsigned i = below(m->in, 4); i; i--)
        calculate(m);
    Output body = odd == 5 ? pick(m, dtype, inside).edge : (Output){choice, 1};
    Node *made = add(m, one_in(m->in, 2) ? "Add" : "Mul", inside, (Output[]){body, {step, 0}}, 2, NULL);
    Node *back = made ? add(m, "NextIteration", inside, (Output[]){{made, 0}}, 1, NULL) : NULL;
    if (back && odd != 6)
        status_free(node_set_input(merge, 1, edge_of(back, 0)));
    add(m, "Exit", odd == 7 ? inside : from.frame, (Output[]){{choice, 0}}, 1, NULL);
}

static void branch(Machine *m) {
    Value a = pick(m, one_in(m->in, 2) ? DT_int32 : DT_float, NO_FRAME);
    Output in[2] = {a.edge, pick(m, DT_bool, a.frame).edge};
    Node *choice = add(m, "Switch", a.frame, in, 2, NULL);
    if (!choice)
        return;
    for (unsigned i = below(m->in, 3); i; i--)
        calculate(m);
    Output other = one_in(m->in, 3) ? pick(m, output_type(a.edge), a.frame).edge : (Output){choice, 0};
    add_list(m, "Merge", a.frame, other, (Output){choice, 1});
}

// ---- state, controls, gradients

static void state(Machine *m) {
    const FormulaAttr variable[] = {{"dtype", ATTR_OF_TYPE(DT_float)},
                                    {"shape", {.kind = ATTR_SHAPE, .shape = &SCALAR_SHAPE}}, {0}};
    const FormulaAttr queue[] = {{"component_types", {.kind = ATTR_TYPE, .is_list = true, .n = 1,
                                                      .types = (DType[]){DT_float}}}, {0}};
    const FormulaAttr read[] = {{"dtype", ATTR_OF_TYPE(DT_float)}, {0}};
    unsigned what = below(m->in, 8);
    if (what == 0) {
        Node *ref = add(m, "VariableV2", 0, NULL, 0, variable);
        Value value = pick(m, DT_float, 0);
        if (ref && value.edge.node)
            add(m, "Assign", 0, (Output[]){{ref, 0}, value.edge}, 2, NULL);
    } else if (what == 1) {
        add(m, "VarHandleOp", 0, NULL, 0, variable);
    } else if (what == 2) {
        add(m, "FIFOQueueV2", 0, NULL, 0, queue);
    } else {
        Value handle = pick(m, DT_resource, NO_FRAME), value = pick(m, DT_float, handle.frame);
        if (!handle.edge.node || !value.edge.node)
            return;
        Output in[2] = {handle.edge, value.edge};
        if (what == 3)
            add(m, "ReadVariableOp", handle.frame, in, 1, read);
        else if (what < 6)
            add(m, what == 4 ? "AssignVariableOp" : "AssignAddVariableOp", handle.frame, in, 2, NULL);
        else if (what == 6)
            keep(m, formula_node(&m->f, "QueueEnqueueV2", (FormulaArg[]){{&in[0], 1, false}, {&in[1], 1, true}}, 2,
                                 NULL), 0);
        else
            add(m, "QueueDequeueV2", handle.frame, in, 1, queue);
    }
}

static void control(Machine *m) {
    Value a = pick(m, DT_INVALID, NO_FRAME), b = pick(m, DT_INVALID, a.frame);
    if (!a.edge.node || !b.edge.node)
        return;
    if (one_in(m->in, 4)) {
        Node *meet = add(m, one_in(m->in, 2) ? "NoOp" : "ControlTrigger", a.frame, NULL, 0, NULL);
        if (meet)
            status_free(node_add_control(meet, a.edge.node));
        a.edge.node = meet ? meet : a.edge.node;
    }
    bool forward = a.edge.node->id < b.edge.node->id || one_in(m->in, 16);
    status_free(forward ? node_add_control(b.edge.node, a.edge.node) : node_add_control(a.edge.node, b.edge.node));
}

static void differentiate(Machine *m) {
    Output ys[1] = {pick(m, DT_float, one_in(m->in, 4) ? NO_FRAME : 0).edge}, xs[2], dxs[2] = {{0}};
    int n = 1 + (int)below(m->in, 2);
    for (int i = 0; i < n; i++)
        xs[i] = pick(m, DT_float, one_in(m->in, 4) ? NO_FRAME : 0).edge;
    if (!ys[0].node || !xs[0].node || !xs[n - 1].node)
        return;
    Status *status = autodiff_gradients(m->f.graph, STR(""), ys, 1, xs, n, NULL, dxs);
    for (int i = 0; i < n && !status; i++)
        keep(m, dxs[i].node, 0);
    status_free(status);
}

static void build(Machine *m) {
    for (int tokens = 4 + (int)below(m->in, 20); tokens; tokens--) {
        unsigned what = below(m->in, 32);
        if (what < 10)
            piece(m);
        else if (what < 17)
            calculate(m);
        else if (what < 22)
            loop(m);
        else if (what < 24)
            branch(m);
        else if (what < 26)
            state(m);
        else if (what < 28)
            control(m);
        else if (what < 30)
            differentiate(m);
        else if (what == 30)
            add(m, "Placeholder", 0, NULL, 0, (FormulaAttr[]){{"dtype", ATTR_OF_TYPE(type(m))}, {0}});
        else
            constant(m, type(m));
    }
}

// ---- steps

typedef struct {
    Output feeds[EDGES], fetches[EDGES];
    Node *targets[1];
    Tensor values[EDGES];
    const Tensor *given[EDGES];
    StepSignature signature;
} Call;

static void clear_call(Call *call) {
    for (int i = 0; i < call->signature.n_feeds; i++)
        tensor_clear(&call->values[i]);
}

static bool make_call(Machine *m, Call *call) {
    int n_feeds = one_in(m->in, 2) ? 0 : (int)below(m->in, EDGES), n_fetches = (int)below(m->in, EDGES);
    *call = (Call){.signature = {.feeds = call->feeds, .fetches = call->fetches, .targets = call->targets}};
    for (int i = 0; i < n_feeds; i++) {
        int at = call->signature.n_feeds;
        call->feeds[at] = pick(m, DT_INVALID, one_in(m->in, 4) ? NO_FRAME : 0).edge;
        DType dtype = one_in(m->in, 16) ? DT_int32 : output_type(call->feeds[at]);
        if (!call->feeds[at].node || dtype == DT_resource)
            continue;
        Status *status = tensor_new(dtype, one_in(m->in, 8) ? SHAPE(2) : SCALAR_SHAPE, &call->values[at]);
        status_free(status);
        if (status)
            return false;
        int byte = dtype_is_plain(dtype) ? (int)below(m->in, 2) : 0;
        memset(call->values[at].data, byte, tensor_bytes(&call->values[at]));
        call->given[at] = &call->values[at];
        call->signature.n_feeds++;
    }
    for (int i = 0; i < n_fetches; i++) {
        call->fetches[i] = pick(m, DT_INVALID, one_in(m->in, 4) ? NO_FRAME : 0).edge;
        if (call->fetches[i].node)
            call->signature.n_fetches = i + 1;
        else
            break;
    }
    call->targets[0] = pick(m, DT_INVALID, NO_FRAME).edge.node;
    call->signature.n_targets = call->targets[0] && one_in(m->in, 2);
    return true;
}

static void clear_all(Tensor *tensors, int n) {
    for (int i = 0; i < n; i++)
        tensor_clear(&tensors[i]);
}

static void run_parts(Machine *m, Session *session, const Call *call) {
    PartialRun *run;
    Status *status = session_partial_begin(session, &call->signature, &run);
    status_free(status);
    if (status)
        return;
    for (unsigned parts = 1 + below(m->in, 4); parts; parts--) {
        Output feeds[EDGES + 1], fetches[EDGES];
        const Tensor *given[EDGES + 1];
        Tensor out[EDGES] = {0};
        StepSignature part = {.feeds = feeds, .fetches = fetches};
        for (int i = 0; i < call->signature.n_feeds; i++)
            for (unsigned times = one_in(m->in, 12) ? 2 : below(m->in, 2); times && part.n_feeds <= EDGES; times--) {
                feeds[part.n_feeds] = call->feeds[i];
                given[part.n_feeds++] = call->given[i];
            }
        for (int i = 0; i < call->signature.n_fetches; i++)
            if (one_in(m->in, 2))
                fetches[part.n_fetches++] = one_in(m->in, 12) ? pick(m, DT_INVALID, NO_FRAME).edge : call->fetches[i];
        status = session_partial_run(run, &part, given, out);
        if (!status)
            clear_all(out, part.n_fetches);
        status_free(status);
    }
    session_partial_end(run);
}

static void run(Machine *m) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.timeout_ms = STEP_MS;
    if (one_in(m->in, 4))
        config.passes = next(m->in) | next(m->in) << 8;
    Session *session;
    Status *status = session_new(m->f.graph, NULL, &config, &session);
    status_free(status);
    for (unsigned calls = status ? 0 : 1 + below(m->in, 5); calls; calls--) {
        Call call;
        bool made = make_call(m, &call);
        Tensor out[EDGES] = {0};
        if (made && one_in(m->in, 4)) {
            run_parts(m, session, &call);
        } else if (made) {
            for (int again = 1 + (int)below(m->in, 2); again; again--) {
                Status *failed = session_run(session, &call.signature, &run_settings_default, call.given, out);
                if (!failed)
                    clear_all(out, call.signature.n_fetches);
                status_free(failed);
            }
        }
        clear_call(&call);
    }
    if (!status)
        session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    op_table_set(all_ops, all_rewrites);
    Bytes in = bytes_of(bytes, n);
    Machine m = {.in = &in, .n_frames = 1};
    Graph *graph;
    AUTO(status) Status *made = graph_new(&graph);
    if (made)
        return 0;
    m.f = (Formula){.graph = graph, .scope = STR("f")};
    build(&m);
    run(&m);
    status_free(m.f.status);
    graph_release(graph);
    return 0;
}
