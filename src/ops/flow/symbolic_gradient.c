// SymbolicGradient, RemoteCall — a function's gradient as a node; a function called by a name of a device.
#include "autodiff/autodiff.h"
#include "graph/function.h"
#include "kernel/call.h"
#include "ops/op.h"

#define FUNC_ATTR(name, ref) {(name), {.kind = ATTR_FUNC, .func = (FuncRef *)(uintptr_t)(ref)}}

static Output call_of(Formula *f, const FuncRef *ref, const Output *x, int n, const AttrValue *types) {
    return (Output){formula_node(f, "StatefulPartitionedCall", &(FormulaArg){x, n, true}, 1,
                                 ATTRS(FUNC_ATTR("f", ref), {"Tout", *types})), 0};
}

// A function with a gradient of its own: that function, of x and dy, gives the dx.
static void gradient_called(Formula *f, Str name, const AttrValue *types) {
    FuncRef gradient = {.name = name};
    Output dx = call_of(f, &gradient, f->x, f->n_x, types);
    for (int i = 0; i < f->n_y; i++)
        f->results[i] = At(dx, i);
}

// The types of the function's results are those of the last inputs, their gradients.
// The call is made once more on Identities of the inputs, and differentiated with respect to these: the inputs may
// depend on each other, and what flows along such paths is no part of the function's gradient.
static Status *differentiate(Formula *f, const FuncRef *ref) {
    int nx = f->n_y, ny = f->n_x - nx;
    Arena *arena = &f->graph->arena;
    Output *x = ARENA_ARRAY(arena, Output, nx + 1), *y = ARENA_ARRAY(arena, Output, ny + 1);
    AttrValue types = {.kind = ATTR_TYPE, .is_list = true, .n = ny, .types = ARENA_ARRAY(arena, DType, ny + 1)};
    NEED_MEMORY(x && y && types.types);
    NEED(ny > 0, INVALID_ARGUMENT, "%d inputs for the gradients of a function of %d arguments", f->n_x, nx);
    for (int i = 0; i < nx; i++)
        x[i] = Identity(f->x[i]);
    for (int i = 0; i < ny; i++)
        types.types[i] = output_type(f->x[nx + i]);
    Output call = call_of(f, ref, x, nx, &types);
    for (int i = 0; i < ny; i++)
        y[i] = At(call, i);
    if (f->status)
        return OK;
    Str prefix, wanted = str_format(arena, "%.*s/gradients", STR_ARGS(f->scope));
    NEED_MEMORY(wanted.p);
    TRY(graph_unique_name(f->graph, wanted, &prefix));
    TRY(autodiff_gradients(f->graph, prefix, y, ny, x, nx, f->x + nx, f->results));
    for (int i = 0; i < nx; i++)
        if (!f->results[i].node)
            f->results[i] = ZerosLike(f->x[i]);
    return OK;
}

// TensorFlow's rule as well: a registered gradient function comes first.
static void symbolic_expand(Formula *f) {
    const AttrValue *value = node_attr_find(f->node, "f");
    Str own = function_gradient(f->graph, value->func->name);
    if (own.n)
        gradient_called(f, own, node_list(f->node, "Tout"));
    else
        formula_fail(f, differentiate(f, value->func));
}

// Each gradient has the shape of its argument.
static Status *symbolic_shape(Shapes *s) {
    for (int i = 0; i < s->n_out && i < s->n_in; i++)
        s->out[i] = s->in[i];
    return OK;
}

const Op op_SymbolicGradient = {
    .signature = "SymbolicGradient(input: Tin) -> output: Tout; Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
    .doc = "The gradients of a function's arguments, from the arguments and the gradients of its results.",
    .shape = symbolic_shape, .expand = symbolic_expand,
};

// ---------------------------------------- RemoteCall

// The part of a device's full name that begins with "/word:" without that; empty where there is none.
static Str part_of(Str name, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= name.n; i++) {
        if (memcmp(name.p + i, word, n) != 0)
            continue;
        size_t end = i + n;
        while (end < name.n && name.p[end] != '/')
            end++;
        return (Str){name.p + i + n, end - i - n};
    }
    return (Str){"", 0};
}

// The target is a device of this task: others are reached by edges of the graph, not by calls.
static Status *check_target(const Kernel *k, Str target) {
    static const char *const WORDS[] = {"/job:", "/replica:", "/task:"};
    Str here = kernel_device_name(k->node);
    NEED(target.n == 0 || target.p[0] == '/', INVALID_ARGUMENT, "'%.*s' is no name of a device", STR_ARGS(target));
    for (int i = 0; i < 3; i++) {
        Str wanted = part_of(target, WORDS[i]), own = part_of(here, WORDS[i]);
        NEED(!wanted.n || !own.n || str_equal(wanted, own), UNIMPLEMENTED,
             "no function is called on another task: '%.*s' from '%.*s'", STR_ARGS(target), STR_ARGS(here));
    }
    return OK;
}

static Status *remote_run(Kernel *k) {
    const FuncRef *f = node_attr_find(k->node, "f")->func;
    NEED(k->step->caller, FAILED_PRECONDITION, "there is no session to call '%.*s' in", STR_ARGS(f->name));
    TRY(check_target(k, tstring_str(k->in[0]->data)));
    AUTO(arena) Arena arena = {0};
    int n = k->n_in - 1;
    Tensor *arguments = ARENA_ARRAY(&arena, Tensor, n + 1), *results = ARENA_ARRAY(&arena, Tensor, k->n_out + 1);
    NEED_MEMORY(arguments && results);
    memset(arguments, 0, (size_t)n * sizeof *arguments);
    Status *status = OK;
    for (int i = 0; i < n && !status; i++)
        status = kernel_keep(k, i + 1, &arguments[i]);
    if (!status)
        status = k->step->caller->call(k->step->caller, k->step, f, arguments, n, results, k->n_out);
    for (int i = 0; i < n; i++)
        tensor_clear(&arguments[i]);
    for (int i = 0; i < k->n_out && !status; i++)
        kernel_set_output(k, i, results[i]);
    return status;
}

const Op op_RemoteCall = {
    .signature = "RemoteCall(target: string, args: Tin) -> output: Tout; Tin: list(type) >= 1; Tout: list(type) >= 1; "
                 "f: func; stateful",
    .doc = "Calls a function on a named device of this task.", .needs = "one(target)", .shape = shape_none,
    .keeps = BIT(1), .host = BIT(0), .cpu = ANY_TYPE(remote_run), .flags = OP_DYNAMIC_SHAPE,
};
