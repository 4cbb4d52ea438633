// fuzz_op — bytes as one op, its attributes and its inputs, within what its signature allows and beside it: made,
// differentiated and run, its inputs constant, fed, and fed without a known shape.
//
// What an op wants of others (variables, queues, lists) is made by ops that give it. Bytes that are not there are
// drawn.
#include <stdlib.h>

#include "autodiff/autodiff.h"
#include "formula/formula.h"
#include "ops/all_ops.h"
#include "session/session.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { INPUTS = 40, STEP_MS = 200, MOST_DEPTH = 3, MOST_LIST = 3 };

typedef struct {
    Bytes *in;
    Graph *graph;
    Arena arena;
    TensorList tensors;
    Shape shape;               // of most inputs
    Output feeds[INPUTS];
    Tensor values[INPUTS];     // of the list above
    int n_feeds;
    bool fed, shaped;          // how inputs are made
    Node *before;              // gives a variable its first value
    unsigned names;
} Machine;

// ---- values

static int64_t integer(Machine *m) {
    static const int64_t odd[] = {-1, -2, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, INT64_MAX, INT64_MIN, 1 << 20,
                                  255, -7};
    return one_in(m->in, 12) ? odd[below(m->in, 10)] : below(m->in, 4);
}

static double real(Machine *m) {
    static const double odd[] = {-1, 0.5, 1e30, -1e30, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1e-40,
                                 -0.0, 3e5};
    return one_in(m->in, 3) ? odd[below(m->in, 10)] : below(m->in, 4);
}

// No path that can be written.
static Str text(Machine *m) {
    static const char *const texts[] = {"", "/nowhere/x", "/dev/null", "/%s/%d", "/nowhere/x-00000-of-00002",
                                        "/\xff\xc3"};
    static const char *const more[] = {"1", "-7.5e3", "nan", "a,b", "[1 2]", "SAME", "NHWC", "valid", "a b  c",
                                       "(a+)*\\1",
                                       "0x1p3", "\xe4\xb8\xad\xe6\x96\x87", "ij,jk->ik", "UTF-8", "true", ","};
    return str_of(one_in(m->in, 2) ? texts[below(m->in, 6)] : more[below(m->in, 16)]);
}

static Shape any_shape(Machine *m) {
    Shape shape = {.rank = (int)below(m->in, 5)};
    if (one_in(m->in, 16))
        shape.rank = (int)below(m->in, 9);
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = below(m->in, 8) ? 1 + below(m->in, 3) : below(m->in, 6);
    return shape;
}

static bool is_value(DType dtype) {
    return dtype_is_plain(dtype) || dtype == DT_string;
}

static bool fill(Machine *m, DType dtype, Shape shape, Tensor *out) {
    Status *status = tensor_new(dtype, shape, out);
    status_free(status);
    if (status)
        return false;
    for (int64_t i = 0; i < tensor_count(out); i++) {
        void *element = (char *)out->data + (size_t)i * dtype_size(dtype);
        if (dtype == DT_string)
            (void)tstring_assign(element, text(m));
        else if (dtype == DT_float)
            *(float *)element = (float)real(m);
        else if (dtype == DT_double)
            *(double *)element = real(m);
        else if (dtype == DT_int64)
            *(int64_t *)element = integer(m);
        else if (dtype == DT_int32)
            *(int32_t *)element = (int32_t)integer(m);
        else if (dtype == DT_bool)
            *(bool *)element = below(m->in, 2);
        else
            memset(element, one_in(m->in, 3) ? (int)next(m->in) : 0, dtype_size(dtype));
    }
    return true;
}

static DType any_type(Machine *m) {
    static const DType types[] = {DT_float, DT_int32, DT_int64, DT_double, DT_bool, DT_string, DT_half, DT_complex64,
                                  DT_uint8, DT_int8, DT_bfloat16, DT_qint8, DT_variant, DT_resource};
    return types[one_in(m->in, 2) ? below(m->in, 4) : below(m->in, 14)];
}

// ---- inputs

static Status *make(Machine *m, const OpType *type, int depth, Node **out);

static const FormulaAttr *dtype_attr(DType dtype, FormulaAttr *room) {
    room[0] = (FormulaAttr){"dtype", ATTR_OF_TYPE(dtype)};
    room[1] = (FormulaAttr){0};
    return room;
}

// An op that gives such a thing as its first output.
static const OpType *maker(Machine *m, DType dtype, bool is_ref) {
    static const char *const usual[] = {"VarHandleOp", "VariableV2", "FIFOQueueV2", "EmptyTensorList"};
    const OpType *type = NULL;
    if (one_in(m->in, 2)) {
        const char *name = dtype == DT_variant ? usual[3] : is_ref ? usual[1] : usual[one_in(m->in, 3) ? 2 : 0];
        status_free(op_type_find(str_of(name), &type));
        return type;
    }
    size_t n = 0;
    while (op_at(n))
        n++;
    size_t start = (next(m->in) << 8 | next(m->in)) % n;
    for (size_t i = 0; i < n; i++) {
        Status *status = op_type_find(op_name(op_at((start + i) % n)), &type);
        status_free(status);
        const ArgSpec *given = !status && type->signature.n_outputs ? &type->signature.outputs[0] : NULL;
        bool fits = given && given->is_ref == is_ref && (is_ref || given->dtype == dtype);
        if (fits && (type->signature.n_inputs == 0 || one_in(m->in, 4)))
            return type;
    }
    return NULL;
}

static Output input(Machine *m, DType dtype, bool is_ref, int depth) {
    Formula f = {.graph = m->graph, .scope = STR("in")};
    Output out = {0};
    FormulaAttr room[2];
    if (is_ref || !is_value(dtype)) {
        const OpType *type = depth < MOST_DEPTH ? maker(m, dtype, is_ref) : NULL;
        Node *node = NULL;
        status_free(type ? make(m, type, depth + 1, &node) : OK);
        if (!node || !node->n_outputs)
            return out;
        out.node = node;
        bool variable = str_is(type->name, "VarHandleOp");
        if ((variable || str_is(type->name, "VariableV2")) && !one_in(m->in, 8)) {
            Output pair[] = {out, input(m, node_type(node, "dtype"), false, MOST_DEPTH)};
            m->before = pair[1].node ? formula_op(&f, variable ? "AssignVariableOp" : "Assign", pair, 2, NULL).node
                : NULL;
            if (!m->before)
                m->before = formula_node(&f, "AssignVariableOp",
                                         (FormulaArg[]){{&pair[0], 1, false}, {&pair[1], 1, false}}, 2, NULL);
        }
        status_free(f.status);
        return out;
    }
    Tensor value;
    if (!fill(m, dtype, one_in(m->in, 4) ? any_shape(m) : one_in(m->in, 4) ? SCALAR_SHAPE : m->shape, &value))
        return out;
    if (m->fed && m->n_feeds < INPUTS) {
        FormulaAttr attrs[] = {{"dtype", ATTR_OF_TYPE(dtype)},
                               {m->shaped ? "shape" : NULL, {.kind = ATTR_SHAPE, .shape = &value.shape}}, {0}};
        out = formula_op(&f, "Placeholder", NULL, 0, attrs);
        if (out.node) {
            m->feeds[m->n_feeds] = out;
            m->values[m->n_feeds++] = tensor_retain(&value);
        }
    } else {
        (void)dtype_attr(dtype, room);
        FormulaAttr attrs[] = {room[0], {"value", {.kind = ATTR_TENSOR, .tensor = &value}}, {0}};
        out = formula_op(&f, "Const", NULL, 0, attrs);
    }
    tensor_clear(&value);
    status_free(f.status);
    return out;
}

// ---- attributes

static AttrValue *list(Machine *m, AttrValue *v, int n) {
    *v = (AttrValue){.kind = v->kind, .is_list = true, .n = n};
    v->is = arena_alloc(&m->arena, (size_t)n * sizeof(Shape) + 64);
    return v;
}

static DType allowed_type(Machine *m, const AttrSpec *spec) {
    if (spec->allowed.is_list && spec->allowed.kind == ATTR_TYPE && spec->allowed.n && !one_in(m->in, 16))
        return spec->allowed.types[below(m->in, (unsigned)spec->allowed.n)];
    return any_type(m);
}

static Str allowed_text(Machine *m, const AttrSpec *spec) {
    if (spec->allowed.is_list && spec->allowed.kind == ATTR_STRING && spec->allowed.n && !one_in(m->in, 16))
        return spec->allowed.ss[below(m->in, (unsigned)spec->allowed.n)];
    return text(m);
}

static AttrValue attribute(Machine *m, const AttrSpec *spec) {
    AttrValue v = {.kind = spec->kind};
    int n = spec->is_list ? (int)below(m->in, 6) : 1;
    if (spec->is_list)
        list(m, &v, n);
    for (int i = 0; i < n; i++) {
        switch (spec->kind) {
        case ATTR_INT: *(spec->is_list ? &v.is[i] : &v.i) = integer(m); break;
        case ATTR_FLOAT: *(spec->is_list ? &v.fs[i] : &v.f) = (float)real(m); break;
        case ATTR_BOOL: *(spec->is_list ? &v.bs[i] : &v.b) = below(m->in, 2); break;
        case ATTR_TYPE: *(spec->is_list ? &v.types[i] : &v.type) = allowed_type(m, spec); break;
        case ATTR_STRING: *(spec->is_list ? &v.ss[i] : &v.s) = allowed_text(m, spec); break;
        case ATTR_SHAPE:
            if (!spec->is_list)
                v.shape = arena_alloc(&m->arena, sizeof(Shape));
            v.shape[i] = one_in(m->in, 4) ? UNKNOWN_SHAPE : any_shape(m);
            if (v.shape[i].rank > 0 && one_in(m->in, 4))
                v.shape[i].dims[0] = -1;
            break;
        default: return (AttrValue){0};
        }
    }
    return v;
}

// ---- the op

static int list_length(const Signature *s, const ArgSpec *arg, const AttrValue *attrs, Machine *m) {
    if (arg->number_attr >= 0) {
        int64_t n = attrs[arg->number_attr].i;
        return n > 0 && n <= MOST_LIST ? (int)n : (int)below(m->in, MOST_LIST + 1);
    }
    (void)s;
    return arg->list_attr >= 0 ? attrs[arg->list_attr].n : 1;
}

static void add_inputs(Machine *m, const Signature *s, const AttrValue *attrs, int depth, NodeBuilder *builder) {
    for (int i = 0; i < s->n_inputs; i++) {
        const ArgSpec *arg = &s->inputs[i];
        Output edges[8];
        int n = list_length(s, arg, attrs, m);
        n = n > 8 ? 8 : n;
        for (int k = 0; k < n; k++) {
            DType dtype = arg->dtype != DT_INVALID  ? arg->dtype
                        : arg->type_attr >= 0       ? attrs[arg->type_attr].type
                        : attrs[arg->list_attr].n   ? attrs[arg->list_attr].types[k]
                                                    : DT_float;
            if (one_in(m->in, 60))
                dtype = any_type(m);
            edges[k] = input(m, dtype, arg->is_ref && !one_in(m->in, 30), depth);
        }
        if (arg->number_attr >= 0 || arg->list_attr >= 0)
            builder_input_list(builder, edges, n);
        else
            builder_input(builder, edges[0]);
    }
}

static Status *make(Machine *m, const OpType *type, int depth, Node **out) {
    const Signature *s = &type->signature;
    AttrValue *attrs = ARENA_ARRAY(&m->arena, AttrValue, s->n_attrs + 1);
    NEED_MEMORY(attrs);
    for (int i = 0; i < s->n_attrs; i++) {
        attrs[i] = attribute(m, &s->attrs[i]);
        if (s->attrs[i].has_default && !one_in(m->in, 3))
            attrs[i] = s->attrs[i].fallback;
    }
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, m->graph, type->name, str_format(&m->arena, "n%u", m->names++));
    add_inputs(m, s, attrs, depth, &builder);
    for (int i = 0; i < s->n_attrs; i++)
        if (attrs[i].kind != ATTR_NONE && attrs[i].kind != ATTR_TENSOR && attrs[i].kind != ATTR_FUNC &&
            !one_in(m->in, 40))
            builder_attr(&builder, s->attrs[i].name, &attrs[i]);
    if (m->before && depth == 0)
        builder_control(&builder, m->before);
    return builder_finish(&builder, out);
}

static void run_one(Machine *m, Session *session, Output fetch, Node *target) {
    const Tensor *given[INPUTS];
    for (int i = 0; i < m->n_feeds; i++)
        given[i] = &m->values[i];
    StepSignature signature = {.feeds = m->feeds, .n_feeds = m->n_feeds, .fetches = &fetch,
                               .n_fetches = fetch.node != NULL,
                               .targets = &target, .n_targets = !fetch.node};
    Tensor out = {0};
    Status *status = session_run(session, &signature, &(RunSettings){.timeout_ms = STEP_MS}, given, &out);
    if (!status)
        tensor_clear(&out);
    status_free(status);
}

static void run_all(Machine *m, Node *node) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    Session *session;
    Status *status = session_new(m->graph, NULL, &config, &session);
    status_free(status);
    if (status)
        return;
    for (int again = 0; again < 2; again++)
        run_one(m, session, (Output){node->n_outputs ? node : NULL, 0}, node);
    Output x = node->n_inputs ? node->inputs[below(m->in, (unsigned)node->n_inputs)] : (Output){0}, dx = {0};
    if (x.node && node->n_outputs && dtype_is_float(output_type((Output){node, 0})) && dtype_is_float(output_type(x)))
        status_free(autodiff_gradients(m->graph, STR(""), &(Output){node, 0}, 1, &x, 1, NULL, &dx));
    if (dx.node)
        run_one(m, session, dx, dx.node);
    session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    op_table_set(all_ops, all_rewrites);
    Bytes in = bytes_of(bytes, n);
    Machine m = {.in = &in};
    static size_t n_ops;
    while (op_at(n_ops))
        n_ops++;
    const OpType *type;
    size_t which = (size_t)(next(m.in) | next(m.in) << 8) % n_ops;
    AUTO(status) Status *status = op_type_find(op_name(op_at(which)), &type);
    m.fed = one_in(m.in, 2);
    m.shaped = one_in(m.in, 2);
    m.shape = any_shape(&m);
    if (!status)
        status = graph_new(&m.graph);
    if (!status) {
        Node *node = NULL;
        status_free(make(&m, type, 0, &node));
        if (node)
            run_all(&m, node);
        graph_release(m.graph);
    }
    for (int i = 0; i < m.n_feeds; i++)
        tensor_clear(&m.values[i]);
    arena_clear(&m.arena);
    return 0;
}
