// Op suite gradient — what autodiff says against central differences in double.
#include "op_suite.h"

#include <math.h>

#include "formula/formula.h"

enum { MOST_ELEMENTS = 200 };

static double noise(uint64_t *seed) {  // in (-1, 1)
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 11) / (double)(1ll << 52) - 1;
}

// The type attribute to be double so that the first result is: -1 where it is double anyway, -2 where it can't be.
static int double_attr(const Trial *trial) {
    const Signature *signature = &trial->line->call->type->signature;
    if (!signature->n_outputs || !trial->node->n_outputs)
        return -2;
    DType dtype = dtype_base(trial->node->output_types[0]);
    int attr = signature->outputs[0].type_attr;
    if (dtype == DT_double)
        return -1;
    if (dtype != DT_float || attr < 0)
        return -2;
    const AttrSpec *spec = &signature->attrs[attr];
    bool allowed = !spec->allowed.is_list;
    for (int i = 0; i < spec->allowed.n; i++)
        allowed |= spec->allowed.types[i] == DT_double;
    for (int i = 0; i < trial->line->call->n_attrs; i++)
        allowed &= !str_equal(trial->line->call->attrs[i].name, spec->name);
    for (int i = 0; i < trial->line->call->n_args; i++)
        allowed &= signature->inputs[i].type_attr != attr || trial->line->call->args[i].kind != TERM_CALL;
    return allowed ? attr : -2;
}

// A weighted sum of the double results: the weights are fixed, and different enough to tell elements apart.
typedef struct {
    Trial *trial;
    Output ys[16];
    Tensor weights[16];
    int n;
} Loss;

static Status *loss_at(const Loss *loss, double *out) {
    Tensor values[16] = {0};
    TRY(trial_fetch(loss->trial, loss->ys, loss->n, values));
    *out = 0;
    for (int i = 0; i < loss->n; i++) {
        for (int64_t j = 0; j < tensor_count(&values[i]); j++)
            *out += ((double *)values[i].data)[j] * ((double *)loss->weights[i].data)[j];
        tensor_clear(&values[i]);
    }
    return OK;
}

static Status *make_loss(Loss *loss, uint64_t *seed) {
    const Node *node = loss->trial->node;
    for (int i = 0; i < node->n_outputs && loss->n < 16; i++)
        if (node->output_types[i] == DT_double)
            loss->ys[loss->n++] = (Output){(Node *)node, i};
    Tensor values[16] = {0};
    TRY(trial_fetch(loss->trial, loss->ys, loss->n, values));
    for (int i = 0; i < loss->n; i++) {
        loss->weights[i] = values[i];
        for (int64_t j = 0; j < tensor_count(&values[i]); j++)
            ((double *)values[i].data)[j] = 1 + noise(seed) / 2;
    }
    return OK;
}

// (loss(x + h) - loss(x - h)) / 2h; NaN where the function has a kink there or no value.
static Status *difference(const Loss *loss, double *x, double h, double *out) {
    double from = *x, low, middle, high;
    TRY(loss_at(loss, &middle));
    *x = from - h;
    TRY(loss_at(loss, &low));
    *x = from + h;
    TRY(loss_at(loss, &high));
    *x = from;
    double left = (middle - low) / h, right = (high - middle) / h;
    *out = (high - low) / (2 * h);
    if (!(fabs(left - right) <= 1e-2 * (1 + fabs(left))))
        *out = NAN;
    return OK;
}

// d loss / d x[j], and how far off that may be: half the step tells.
static Status *difference_at(const Loss *loss, double *x, double *out, double *doubt) {
    double h = 1e-5 * fmax(1, fabs(*x)), coarse, fine;
    TRY(difference(loss, x, h, &coarse));
    TRY(difference(loss, x, h / 2, &fine));
    *out = (4 * fine - coarse) / 3;
    *doubt = fabs(fine - coarse);
    return OK;
}

// `gradient` of input `which` against differences.
static Status *compare(const Loss *loss, size_t which, const Tensor *gradient) {
    Tensor *x = &loss->trial->values.p[which];
    NEED(gradient->dtype == x->dtype && shape_equal(&gradient->shape, &x->shape), INVALID_ARGUMENT,
         "the gradient of input %zu is %s%s for an input of %s", which, dtype_name(gradient->dtype),
         shape_text(&gradient->shape), shape_text(&x->shape));
    for (int64_t j = 0; j < tensor_count(x); j++) {
        double wanted, doubt, got = ((double *)gradient->data)[j];
        TRY(difference_at(loss, (double *)x->data + j, &wanted, &doubt));
        if (isfinite(wanted))
            NEED(fabs(got - wanted) <= 1e-5 * (1 + fabs(wanted)) + doubt, INVALID_ARGUMENT,
                 "element %lld of input %zu: the gradient is %.9g, the difference %.9g", (long long)j, which, got,
                 wanted);
    }
    return OK;
}

static Status *differentiate(Loss *loss, uint64_t *seed, bool *any) {
    Trial *trial = loss->trial;
    TRY(make_loss(loss, seed));
    VEC(Output) xs = {0};
    VEC(size_t) which = {0};
    int64_t elements = 0;
    for (size_t i = 0; i < trial->feeds.n; i++)
        if (trial->values.p[i].dtype == DT_double && xs.n < 16) {
            elements += tensor_count(&trial->values.p[i]);
            if (!vec_push(&xs, trial->feeds.p[i]) || !vec_push(&which, i))
                break;
        }
    Status *status = OK;
    Output dxs[16] = {0}, dys[16];
    Formula f = {.graph = trial->graph};
    for (int i = 0; i < loss->n; i++)
        dys[i] = formula_tensor(&f, &loss->weights[i]);
    if (f.status)
        status = f.status;
    else if (xs.n && loss->n && elements <= MOST_ELEMENTS)
        status = autodiff_gradients(trial->graph, (Str){0}, loss->ys, loss->n, xs.p, (int)xs.n, dys, dxs);
    for (size_t i = 0; !status && i < xs.n; i++) {
        AUTO(tensor) Tensor gradient = {0};
        if (!dxs[i].node)
            continue;
        *any = true;
        status = trial_fetch(trial, &dxs[i], 1, &gradient);
        if (!status)
            status = compare(loss, which.p[i], &gradient);
    }
    vec_clear(&xs);
    vec_clear(&which);
    return status;
}

// Away from ties, kinks and the edges of domains.
static void jitter(Trial *trial, uint64_t *seed) {
    for (size_t i = 0; i < trial->values.n; i++) {
        Tensor *x = &trial->values.p[i];
        for (int64_t j = 0; x->dtype == DT_double && j < tensor_count(x); j++)
            ((double *)x->data)[j] += 0.013 * noise(seed);
    }
}

void check_gradient(const Line *line) {
    Mode mode = {.what = "gradient", .inputs = INPUTS_KNOWN, .threads = 1, .runs = 1, .forced_attr = -1,
                 .host_constant = true};
    Trial trial = {0};
    Status *status = trial_build(&trial, line, &mode);
    int attr = status ? -2 : double_attr(&trial);
    trial_clear(&trial);
    if (attr < -1) {
        status_free(status);
        return;
    }
    mode.forced_attr = attr;
    mode.forced = DT_double;
    status = trial_build(&trial, line, &mode);
    if (!status)
        status = trial_open(&trial);
    uint64_t seed = 42;
    Loss loss = {.trial = &trial};
    bool any = false;
    if (!status) {
        jitter(&trial, &seed);
        status = differentiate(&loss, &seed, &any);
    }
    // No gradient is defined, or what it is made of has no kernel: the list of ops tells that, not this line.
    bool excused = status && (status_code(status) == NOT_FOUND || status_code(status) == UNIMPLEMENTED);
    if (excused || (!status && !any))
        check_left_out(line, "gradient", status);
    else
        check_ok(line, "gradient", status);
    for (int i = 0; i < loss.n; i++)
        tensor_clear(&loss.weights[i]);
    trial_clear(&trial);
}
