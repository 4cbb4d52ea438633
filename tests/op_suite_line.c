// Op suite line — reads one line of a .test file, and makes a graph and a session of it.
#include "op_suite.h"

#include "formula/formula.h"

// ---------------------------------------- reading

// Cuts off a comment: a # outside quotes.
static Str without_comment(Str text) {
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (c == '#' && !quoted)
            return (Str){text.p, i};
    }
    return text;
}

static Str after(Str text, size_t n) {
    return expression_trim((Str){text.p + n, text.n - n});
}

Status *line_parse(Str text, Line *line) {
    text = expression_trim(without_comment(text));
    line->shapes = str_starts(text, STR("shape "));
    if (line->shapes)
        text = after(text, 6);
    for (;;) {
        size_t used;
        TRY(expression_parse(text, line->shapes, &line->arena, &line->call, &used));
        text = after(text, used);
        if (!str_starts(text, STR("then ")))
            break;
        NEED_MEMORY(vec_push(&line->before, line->call));
        text = after(text, 5);
    }
    NEED(text.n && (text.p[0] == '=' || text.p[0] == '!'), INVALID_ARGUMENT, "expected = or ! behind the call");
    Str rest = after(text, 1);
    if (text.p[0] == '!') {
        NEED(rest.n, INVALID_ARGUMENT, "expected the name of a code behind !");
        line->error = rest;
        return OK;
    }
    line->loose = rest.n && rest.p[0] == '~';
    line->expected = line->loose ? after(rest, 1) : rest;
    return OK;
}

void line_clear(Line *line) {
    vec_clear(&line->before);
    arena_clear(&line->arena);
    *line = (Line){0};
}

static bool is_stateful(const Expression *call) {
    bool stateful = call->type->signature.stateful;
    for (int i = 0; i < call->type->signature.n_inputs; i++)
        stateful |= call->type->signature.inputs[i].is_ref || call->type->signature.inputs[i].dtype == DT_resource;
    for (int i = 0; i < call->n_args; i++)
        if (call->args[i].kind == TERM_CALL)
            stateful |= is_stateful(call->args[i].call);
    return stateful;
}

bool line_is_stateful(const Line *line) {
    return line->before.n || is_stateful(line->call);
}

// ---------------------------------------- building

void tensors_clear(Tensors *tensors) {
    for (size_t i = 0; i < tensors->n; i++)
        tensor_clear(&tensors->p[i]);
    vec_clear(tensors);
}

// The value in the wanted size: no elements, or the first one alone.
static Status *resize(Tensor *value, Resize how) {
    Shape shape = value->shape;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = how == RESIZE_ONE ? (shape.dims[i] > 0) : i == 0 ? 0 : shape.dims[i];
    Tensor other;
    TRY(tensor_new(value->dtype, shape, &other));
    if (tensor_count(&other) == 1) {
        Tensor first = *value;
        first.shape = shape;
        Status *status = tensor_copy_elements(&first, &other);
        if (status) {
            tensor_clear(&other);
            return status;
        }
    }
    tensor_clear(value);
    *value = other;
    return OK;
}

static Status *placeholder(Trial *trial, DType dtype, Shape shape, Output *out) {
    Formula f = {.graph = trial->graph};
    FormulaAttr attrs[] = {{"dtype", ATTR_OF_TYPE(dtype)}, {"shape", {.kind = ATTR_SHAPE, .shape = &shape}}, {0}};
    *out = formula_op(&f, "Placeholder", NULL, 0, attrs);
    return f.status;
}

static bool is_host(const Expression *call, int arg) {
    return call->type->op && arg < MAX_ARGS && call->type->op->host & BIT(arg);
}

static Status *round_to(Tensor *value, DType dtype) {
    AUTO(tensor) Tensor narrow = {0};
    Tensor wide;
    TRY(tensor_cast(value, dtype, &narrow));
    TRY(tensor_cast(&narrow, value->dtype, &wide));
    tensor_clear(value);
    *value = wide;
    return OK;
}

static Status *leaf(ExpressionBuild *build, int arg, Tensor *value, Output *out) {
    Trial *trial = build->arg;
    const Mode *mode = &trial->mode;
    if (!value->data)
        return placeholder(trial, value->dtype, value->shape, out);
    if (mode->rounded != DT_INVALID && value->dtype == DT_float)
        TRY(round_to(value, mode->rounded));
    if (mode->resize != RESIZE_NOT && arg >= 0 && !is_host(trial->line->call, arg))
        TRY(resize(value, mode->resize));
    if (mode->inputs == INPUTS_CONSTANT || arg < 0 || (mode->host_constant && is_host(trial->line->call, arg)))
        return expression_constant(build, arg, value, out);
    TRY(placeholder(trial, value->dtype, mode->inputs == INPUTS_KNOWN ? value->shape : UNKNOWN_SHAPE, out));
    NEED_MEMORY(vec_push(&trial->feeds, *out) && vec_push(&trial->values, *value));
    *value = (Tensor){0};
    return OK;
}

Status *trial_build(Trial *trial, const Line *line, const Mode *mode) {
    *trial = (Trial){.line = line, .mode = *mode};
    TRY(graph_new(&trial->graph));
    trial->build = (ExpressionBuild){.graph = trial->graph, .forced_attr = mode->forced_attr, .forced = mode->forced,
                                     .leaf = leaf, .arg = trial};
    if (mode->device)
        trial->build.device = str_format(&trial->arena, "/device:%s:0", mode->device);
    return expression_build(&trial->build, line->call, &trial->node);
}

// ---------------------------------------- running

static Status *run(Trial *trial, const Output *fetches, int n_fetches, Node *const *targets, int n_targets, bool feed,
                   Tensor *out) {
    VEC(const Tensor *) feeds = {0};
    for (size_t i = 0; feed && i < trial->values.n; i++)
        if (!vec_push(&feeds, &trial->values.p[i])) {
            vec_clear(&feeds);
            return OUT_OF_MEMORY;
        }
    StepSignature signature = {.feeds = trial->feeds.p, .fetches = fetches, .targets = targets,
                               .n_feeds = (int)feeds.n, .n_fetches = n_fetches, .n_targets = n_targets};
    Plan *plan;
    Status *status = trial->mode.device && feed ? session_plan(trial->session, &signature, &plan) : OK;
    if (trial->mode.device && feed && !status) {
        trial->n_clusters = plan->n_clusters;
        plan_release(plan);
    }
    if (!status)
        status = session_run(trial->session, &signature, &run_settings_default, feeds.p, out);
    vec_clear(&feeds);
    return status;
}

Status *trial_open(Trial *trial) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = trial->mode.threads;
    config.timeout_ms = trial->mode.timeout_ms;
    if (trial->mode.device)
        config.devices[config.n_devices++] = (DeviceCount){str_of(trial->mode.device), 1};
    return session_new(trial->graph, NULL, &config, &trial->session);
}

static Status *run_before(Trial *trial) {
    if (trial->build.inits.n)
        TRY(run(trial, NULL, 0, trial->build.inits.p, (int)trial->build.inits.n, false, NULL));
    for (size_t i = 0; i < trial->line->before.n; i++) {
        AUTO(expression_build) ExpressionBuild build = {.graph = trial->graph, .forced_attr = -1};
        Node *node;
        TRY(expression_build(&build, trial->line->before.p[i], &node));
        if (build.inits.n)
            TRY(run(trial, NULL, 0, build.inits.p, (int)build.inits.n, false, NULL));
        TRY(run(trial, NULL, 0, &node, 1, false, NULL));
    }
    return OK;
}

Status *trial_fetch(Trial *trial, const Output *fetches, int n, Tensor *out) {
    return run(trial, fetches, n, NULL, 0, true, out);
}

static Status *fetch_into(Trial *trial, const Output *fetches, int n, Node *target, bool feed, Tensors *out) {
    Tensor values[64] = {0};
    NEED(n <= 64, UNIMPLEMENTED, "more than 64 outputs");
    TRY(run(trial, fetches, n, &target, target ? 1 : 0, feed, values));
    bool kept = vec_reserve(out, out->n + (size_t)n);
    for (int i = 0; i < n && kept; i++)
        kept = vec_push(out, values[i]);
    NEED_MEMORY(kept);
    return OK;
}

Status *trial_run(Trial *trial, Tensors *out) {
    TRY(run_before(trial));
    Output fetches[64];
    int n = trial->node->n_outputs;
    NEED(n <= 64, UNIMPLEMENTED, "more than 64 outputs");
    for (int i = 0; i < n; i++)
        fetches[i] = (Output){trial->node, i};
    TRY(fetch_into(trial, fetches, n, n ? NULL : trial->node, true, out));
    if (trial->build.variables.n)
        TRY(fetch_into(trial, trial->build.variables.p, (int)trial->build.variables.n, NULL, false, out));
    return OK;
}

void trial_clear(Trial *trial) {
    session_free(trial->session);
    expression_build_clear(&trial->build);
    tensors_clear(&trial->values);
    vec_clear(&trial->feeds);
    graph_release(trial->graph);
    arena_clear(&trial->arena);
    *trial = (Trial){0};
}
