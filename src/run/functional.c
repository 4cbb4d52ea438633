// Functional — conditionals and loops that the planner has left as they are, since a device compiles them: on the host,
// for while it hasn't. Each branch, condition or body is a call of its function.
#include "kernel/call.h"
#include "run/kernels.h"

static Status *called(const Kernel *k, const char *name, const FuncRef **out) {
    const AttrValue *value = node_attr_find(k->node, name);
    NEED(value && value->kind == ATTR_FUNC && !value->is_list, INVALID_ARGUMENT, "attr '%s' is no function", name);
    *out = value->func;
    return OK;
}

static Status *call(Kernel *k, const FuncRef *function, const Tensor *in, int n_in, Tensor *out, int n_out) {
    NEED(k->step->caller, FAILED_PRECONDITION, "there is no session to call '%.*s' in", STR_ARGS(function->name));
    return k->step->caller->call(k->step->caller, k->step, function, in, n_in, out, n_out);
}

// Numbers are true when not zero, larger tensors when not empty. A minus zero is a zero.
static bool is_true(const Tensor *value) {
    const uint8_t *bytes = value->data;
    size_t n = tensor_bytes(value);
    if (value->shape.rank)
        return n > 0;
    bool sign = dtype_kind(value->dtype) == KIND_FLOAT, any = false;
    for (size_t i = 0; i < n; i++)
        any |= (sign && i == n - 1 ? bytes[i] & 0x7f : bytes[i]) != 0;
    return any;
}

static void clear(Tensor *values, int n) {
    for (int i = 0; i < n; i++)
        tensor_clear(&values[i]);
}

// Inputs [first, n_in) with references of their own.
static Status *keep_inputs(Kernel *k, int first, Tensor *out) {
    for (int i = first; i < k->n_in; i++)
        TRY(kernel_keep(k, i, &out[i - first]));
    return OK;
}

static Status *choose(Kernel *k, const FuncRef **out) {
    const AttrValue *branches = node_attr_find(k->node, "branches");
    if (!branches)
        return called(k, is_true(k->in[0]) ? "then_branch" : "else_branch", out);
    NEED(branches->kind == ATTR_FUNC && branches->is_list && branches->n > 0 && k->in[0]->dtype == DT_int32 &&
             k->in[0]->shape.rank == 0, INVALID_ARGUMENT, "expected a scalar int32 and functions to choose from");
    int32_t at = *(const int32_t *)k->in[0]->data;
    *out = &branches->funcs[at >= 0 && at < branches->n ? at : branches->n - 1];  // one out of range is the last
    return OK;
}

static Status *run_if(Kernel *k, Tensor *values, Tensor *results) {
    const FuncRef *branch;
    TRY(choose(k, &branch));
    TRY(keep_inputs(k, 1, values));
    return call(k, branch, values, k->n_in - 1, results, k->n_out);
}

static Status *run_while(Kernel *k, Tensor *values, Tensor *results) {
    const FuncRef *condition, *body;
    TRY(called(k, "cond", &condition));
    TRY(called(k, "body", &body));
    TRY(keep_inputs(k, 0, values));
    for (;;) {
        AUTO(tensor) Tensor more = {0};
        TRY(context_check(k->step));
        TRY(call(k, condition, values, k->n_in, &more, 1));
        if (!is_true(&more))
            break;
        TRY(call(k, body, values, k->n_in, results, k->n_out));
        clear(values, k->n_in);
        memcpy(values, results, sizeof *values * (size_t)k->n_in);
        memset(results, 0, sizeof *results * (size_t)k->n_out);
    }
    memcpy(results, values, sizeof *values * (size_t)k->n_in);
    memset(values, 0, sizeof *values * (size_t)k->n_in);
    return OK;
}

Status *run_functional(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    bool loops = node_flow(k->node) == FLOW_WHILE;
    NEED(k->n_in && (!loops || k->n_in == k->n_out), INVALID_ARGUMENT, "%d values go in and %d come out", k->n_in, k->n_out);
    Tensor *values = ARENA_ARRAY(&arena, Tensor, k->n_in), *results = ARENA_ARRAY(&arena, Tensor, k->n_out);
    NEED_MEMORY(values && results);
    Status *status = loops ? run_while(k, values, results) : run_if(k, values, results);
    clear(values, k->n_in);
    if (status) {
        clear(results, k->n_out);
        return status;
    }
    for (int i = 0; i < k->n_out; i++)
        kernel_set_output(k, i, results[i]);
    return OK;
}
