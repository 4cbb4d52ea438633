// Control flow — Switch, Merge and the loop ops: tags for the machine, which runs them itself.
#include "loops/cast.h"
#include "ops/op.h"

static Status *switch_shape(Shapes *s) {
    s->out[0] = s->out[1] = s->in[0];
    s->handle_out[0] = s->handle_out[1] = (HandleShape *)(uintptr_t)s->handle[0];
    return OK;
}

#define SWITCH_Switch ""
#define SWITCH_RefSwitch "; allows_uninitialized"
const Op op_Switch = {
    .signature = "Switch(data: T, pred: bool) -> output_false: T, output_true: T; T: type" SWITCH_Switch,
    .doc = "Passes data on to the output that pred chooses; the other is dead.", .needs = "scalar(pred)",
    .shape = switch_shape, .host = BIT(1), .flow = FLOW_SWITCH,
};
const Op op_RefSwitch = {
    .signature = "RefSwitch(data: ref T, pred: bool) -> output_false: ref T, output_true: ref T; T: type"
                 SWITCH_RefSwitch,
    .doc = "Passes data on to the output that pred chooses; the other is dead.", .needs = "scalar(pred)",
    .shape = switch_shape, .host = BIT(1), .flow = FLOW_SWITCH,
};

static Status *merge_shape(Shapes *s) {
    Shape shape = s->n_in ? s->in[0] : UNKNOWN_SHAPE;
    for (int i = 1; i < s->n_in; i++) {
        if (s->in[i].rank != shape.rank) {
            shape = UNKNOWN_SHAPE;
            break;
        }
        for (int d = 0; d < shape.rank; d++)
            if (s->in[i].dims[d] != shape.dims[d])
                shape.dims[d] = UNKNOWN_DIM;
    }
    s->out[0] = shape;
    s->out[1] = SCALAR_SHAPE;
    s->handle_out[0] = s->n_in ? (HandleShape *)(uintptr_t)s->handle[0] : NULL;
    return OK;
}

const Op op_Merge = {
    .signature = "Merge(inputs: N * T) -> output: T, value_index: int32; T: type; N: int >= 1",
    .doc = "Passes on the first input that comes alive, and says which it was.", .shape = merge_shape,
    .host_out = BIT(1), .flow = FLOW_MERGE,
};
const Op op_RefMerge = {
    .signature = "RefMerge(inputs: ref N * T) -> output: ref T, value_index: int32; T: type; N: int >= 1",
    .doc = "Passes on the first reference that comes alive, and says which it was.", .shape = merge_shape,
    .host_out = BIT(1), .flow = FLOW_MERGE,
};

static Status *pass_shape(Shapes *s) {
    s->out[0] = s->in[0];
    s->handle_out[0] = (HandleShape *)(uintptr_t)s->handle[0];
    return OK;
}

// What a loop variable is in later iterations may have another shape than in the first.
static Status *enter_shape(Shapes *s) {
    s->out[0] = node_bool(s->node, "is_constant") ? s->in[0] : (Shape){.rank = s->in[0].rank};
    for (int i = 0; i < s->out[0].rank && !node_bool(s->node, "is_constant"); i++)
        s->out[0].dims[i] = s->in[0].dims[i];
    s->handle_out[0] = (HandleShape *)(uintptr_t)s->handle[0];
    return OK;
}

#define LOOP_OP(Name, reference, more, text, tag, shape_fn)                                         \
    const Op op_##Name = {                                                                          \
        .signature = #Name "(data: " reference "T) -> output: " reference "T; T: type" more,         \
        .doc = text, .shape = shape_fn, .flow = tag,                                                \
    };
#define ENTER_ATTRIBUTES "; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10"
LOOP_OP(Enter, "", ENTER_ATTRIBUTES, "Passes data into the loop frame_name.", FLOW_ENTER, enter_shape)
LOOP_OP(RefEnter, "ref ", ENTER_ATTRIBUTES, "Passes a reference into the loop frame_name.", FLOW_ENTER, enter_shape)
LOOP_OP(Exit, "", "", "Passes data out of its loop.", FLOW_EXIT, pass_shape)
LOOP_OP(RefExit, "ref ", "", "Passes a reference out of its loop.", FLOW_EXIT, pass_shape)
LOOP_OP(NextIteration, "", "", "Passes data to the next iteration of its loop.", FLOW_NEXT, pass_shape)
LOOP_OP(RefNextIteration, "ref ", "", "Passes a reference to the next iteration of its loop.", FLOW_NEXT, pass_shape)

const Op op_LoopCond = {
    .signature = "LoopCond(input: bool) -> output: bool", .doc = "Decides whether the loop goes on.",
    .shape = shape_unchanged, .host = BIT(0), .host_out = BIT(0), .alias = BIT(0), .flow = FLOW_LOOP_COND,
    .cpu = ANY_TYPE(kernel_nothing), .flags = OP_NO_GRADIENT,  // outside of loops an identity
};

// What a condition comes to: a number is true when not zero, a string when not empty, a larger tensor when it has
// elements.
static Status *to_bool_run(Kernel *k) {
    const Tensor *x = k->in[0];
    bool *out = k->out[0]->data;
    CastLoop loop;
    if (x->shape.rank > 0) {
        *out = tensor_count(x) > 0;
    } else if (x->dtype == DT_string) {
        *out = tstring_str(x->data).n > 0;
    } else {
        NEED(cast_find(x->dtype, DT_bool, &loop), INVALID_ARGUMENT, "a scalar of type %s is neither true nor false",
             dtype_name(x->dtype));
        cast_run(&loop, x->data, out, 1);
    }
    return OK;
}

const Op op_ToBool = {
    .signature = "ToBool(input: T) -> output: bool; T: type", .doc = "What the tensor comes to as a condition.",
    .shape = shape_scalar, .host_out = BIT(0), .cpu = ANY_TYPE(to_bool_run), .flags = OP_CHEAP | OP_NO_GRADIENT,
};

const Op op_ControlTrigger = {
    .signature = "ControlTrigger()", .doc = "Fires when its control inputs are done, dead ones among them.",
    .flow = FLOW_TRIGGER, .cpu = ANY_TYPE(kernel_nothing), .flags = OP_NO_GRADIENT,
};

const Op op_NoOp = {
    .signature = "NoOp()", .doc = "Does nothing; a place for control edges to meet.", .cpu = ANY_TYPE(kernel_nothing),
    .flags = OP_CHEAP | OP_NO_GRADIENT, .hlo = hlo_identity,
};
