// Functional control flow — calls of functions, If and While. The planner writes them out; what stays is recursion.
#include "graph/function.h"
#include "kernel/call.h"
#include "ops/op.h"

// The call of a function that reaches itself: a step of its own, on this thread.
static Status *call_run(Kernel *k) {
    const AttrValue *f = node_attr_find(k->node, "f");
    NEED(k->step->caller, FAILED_PRECONDITION, "there is no session to call '%.*s' in", STR_ARGS(f->func->name));
    AUTO(arena) Arena arena = {0};
    Tensor *arguments = ARENA_ARRAY(&arena, Tensor, k->n_in), *results = ARENA_ARRAY(&arena, Tensor, k->n_out);
    NEED_MEMORY(arguments && results);
    Status *status = OK;
    for (int i = 0; i < k->n_in && !status; i++)
        status = kernel_keep(k, i, &arguments[i]);
    if (!status)
        status = k->step->caller->call(k->step->caller, k->step, f->func, arguments, k->n_in, results, k->n_out);
    for (int i = 0; i < k->n_in; i++)
        tensor_clear(&arguments[i]);
    for (int i = 0; i < k->n_out && !status; i++)
        kernel_set_output(k, i, results[i]);
    return status;
}

#define CALL_ATTRIBUTES \
    "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = \"\"; config_proto: string = \"\"; " \
    "executor_type: string = \"\""

const Op op_PartitionedCall = {
    .signature = "PartitionedCall(args: Tin) -> output: Tout; " CALL_ATTRIBUTES, .doc = "Calls a function.",
    .shape = shape_none, .keeps = BIT(0), .cpu = ANY_TYPE(call_run), .flags = OP_DYNAMIC_SHAPE, .flow = FLOW_CALL,
    .hlo = hlo_call,
};
const Op op_StatefulPartitionedCall = {
    .signature = "StatefulPartitionedCall(args: Tin) -> output: Tout; " CALL_ATTRIBUTES "; stateful; distributed",
    .doc = "Calls a function that may have side effects.", .shape = shape_none, .keeps = BIT(0),
    .cpu = ANY_TYPE(call_run), .flags = OP_DYNAMIC_SHAPE, .flow = FLOW_CALL, .hlo = hlo_call,
};

static Status *declared_shapes(Shapes *s) {
    const AttrValue *shapes = node_list(s->node, "output_shapes");
    for (int i = 0; shapes && shapes->kind == ATTR_SHAPE && i < shapes->n && i < s->n_out; i++)
        s->out[i] = shapes->shapes[i];
    return OK;
}

#define IF_ATTRIBUTES \
    "(cond: Tcond, input: Tin) -> output: Tout; Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; " \
    "then_branch: func; else_branch: func; output_shapes: list(shape) = []"
const Op op_If = {
    .signature = "If" IF_ATTRIBUTES "; stateful", .doc = "Calls one of two functions.", .shape = declared_shapes,
    .flow = FLOW_IF, .hlo = hlo_if,
};
const Op op_StatelessIf = {
    .signature = "StatelessIf" IF_ATTRIBUTES, .doc = "Calls one of two functions, neither with side effects.",
    .shape = declared_shapes, .flow = FLOW_IF, .hlo = hlo_if,
};

#define CASE_ATTRIBUTES \
    "(branch_index: int32, input: Tin) -> output: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; " \
    "branches: list(func) >= 1; output_shapes: list(shape) = []"
const Op op_Case = {
    .signature = "Case" CASE_ATTRIBUTES "; stateful", .doc = "Calls one of several functions; an index of none, the last.",
    .shape = declared_shapes, .flow = FLOW_IF, .hlo = hlo_case,
};
const Op op_StatelessCase = {
    .signature = "StatelessCase" CASE_ATTRIBUTES,
    .doc = "Calls one of several functions without side effects; an index of none, the last.", .shape = declared_shapes,
    .flow = FLOW_IF, .hlo = hlo_case,
};

#define WHILE_ATTRIBUTES \
    "(input: T) -> output: T; T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; " \
    "parallel_iterations: int = 10"
const Op op_While = {
    .signature = "While" WHILE_ATTRIBUTES "; stateful", .doc = "Calls body while cond is true.",
    .shape = declared_shapes, .flow = FLOW_WHILE, .hlo = hlo_while,
};
const Op op_StatelessWhile = {
    .signature = "StatelessWhile" WHILE_ATTRIBUTES, .doc = "Calls body while cond is true; neither has side effects.",
    .shape = declared_shapes, .flow = FLOW_WHILE, .hlo = hlo_while,
};
