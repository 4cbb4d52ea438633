// Toy math — scalar ops with gradients for the tests of autodiff.
#pragma once

#include "autodiff/autodiff.h"
#include "formula/ops.h"
#include "graph/shapes.h"

static void toy_add_grad(Formula *f) {
    f->dx[0] = SumTo(f->dy[0], f->x[0]);
    f->dx[1] = SumTo(f->dy[0], f->x[1]);
}

static void toy_mul_grad(Formula *f) {
    f->dx[0] = SumTo(Mul(f->dy[0], f->x[1]), f->x[0]);
    f->dx[1] = SumTo(Mul(f->dy[0], f->x[0]), f->x[1]);
}

static void toy_sin_grad(Formula *f) {
    f->dx[0] = Mul(f->dy[0], Cos(f->x[0]));
}

static void toy_cos_grad(Formula *f) {
    f->dx[0] = Neg(Mul(f->dy[0], Sin(f->x[0])));
}

static void toy_neg_grad(Formula *f) {
    f->dx[0] = Neg(f->dy[0]);
}

static void toy_each_grad(Formula *f) {
    for (int i = 0; i < f->n_x; i++)
        f->dx[i] = f->dy[f->n_y > 1 ? i : 0];
}

static void toy_divmod_grad(Formula *f) {  // (x, x * x): to see that an unused output counts as zero
    f->dx[0] = Add(f->dy[0], Mul(f->dy[1], Add(f->x[0], f->x[0])));
}

static void toy_gather_grad(Formula *f) {
    f->dx[0] = f->dy[0];
    f->dx_indices[0] = f->x[1];
    f->dx_shape[0] = ShapeOf(f->x[0]);
}

static void toy_wrong_type_grad(Formula *f) {
    f->dx[0] = Int(1);
}

static void toy_failing_grad(Formula *f) {
    Mul(f->dy[0], Op("Frobnicate", f->dy[0]));
}

static Output toy_any(Formula *f) {
    return Number(-1, DT_int32);
}

static void toy_push_grad(Formula *f) {
    DType type = node_type(f->node, "element_dtype");
    f->dx[0] = OpWith("TensorListPopBack", ATTRS(TYPE_ATTR("element_dtype", type)), f->dy[0], toy_any(f));
    f->dx[1] = At(f->dx[0], 1);
}

static void toy_pop_grad(Formula *f) {
    Output list = f->dy[0].node ? f->dy[0] : formula_1(f, "ZerosLike", f->y[0]);
    f->dx[0] = formula_2(f, "TensorListPushBack", list, f->dy[1]);
}

static Status *toy_const_shape(Shapes *s) {
    s->out[0] = node_attr_find(s->node, "value")->tensor->shape;
    return OK;
}

static Status *toy_merge_shape(Shapes *s) {
    s->out[1] = SCALAR_SHAPE;
    s->out[0] = s->n_in > 1 && shape_equal(&s->in[0], &s->in[1]) ? s->in[0] : UNKNOWN_SHAPE;
    return OK;
}

#define TOY(name, ...) static const Op toy_##name = {__VA_ARGS__};
#define TOY_1(name, gradient) \
    TOY(name, .signature = #name "(x: T) -> y: T; T: type", .shape = shape_unchanged, .grad = gradient)
#define TOY_2(name, gradient) \
    TOY(name, .signature = #name "(x: T, y: T) -> z: T; T: type", .shape = shape_broadcast_all, .grad = gradient)
#define TOY_FLOW(name, tag) \
    TOY(name, .signature = #name "(data: T) -> output: T; T: type", .shape = shape_unchanged, .flow = tag)
TOY_2(AddV2, toy_add_grad)
TOY_2(Sub, NULL)
TOY_2(Mul, toy_mul_grad)
TOY_1(Neg, toy_neg_grad)
TOY_1(Sin, toy_sin_grad)
TOY_1(Cos, toy_cos_grad)
TOY_1(Rint, NULL)
TOY_1(WrongType, toy_wrong_type_grad)
TOY_1(Failing, toy_failing_grad)
TOY(OnesLike, .signature = "OnesLike(x: T) -> y: T; T: type", .shape = shape_unchanged, .flags = OP_NO_GRADIENT)
TOY(ZerosLike, .signature = "ZerosLike(x: T) -> y: T; T: type", .shape = shape_unchanged, .flags = OP_NO_GRADIENT)
TOY(StopGradient, .signature = "StopGradient(input: T) -> output: T; T: type", .shape = shape_unchanged,
    .flags = OP_NO_GRADIENT)
TOY(Identity, .signature = "Identity(input: T) -> output: T; T: type", .shape = shape_unchanged, .alias = BIT(0),
    .grad = toy_each_grad)
TOY(IdentityN, .signature = "IdentityN(input: T) -> output: T; T: list(type) >= 1", .grad = toy_each_grad)
TOY(AddN, .signature = "AddN(inputs: N * T) -> sum: T; N: int >= 1; T: type", .shape = shape_same_all,
    .grad = toy_each_grad)
TOY(PowersOf, .signature = "PowersOf(x: T) -> first: T, second: T; T: type", .shape = shape_unchanged,
    .grad = toy_divmod_grad)
TOY(GatherV2, .signature = "GatherV2(params: T, indices: int32, axis: int32) -> output: T; T: type",
    .grad = toy_gather_grad)
TOY(Const, .signature = "Const() -> output: dtype; value: tensor; dtype: type", .shape = toy_const_shape,
    .flags = OP_NO_GRADIENT)
TOY(Placeholder, .signature = "Placeholder() -> output: dtype; dtype: type; shape: shape = ?", .shape = shape_from_attr,
    .flags = OP_NO_GRADIENT)
TOY(Less, .signature = "Less(x: T, y: T) -> z: bool; T: type", .shape = shape_broadcast_all, .flags = OP_NO_GRADIENT)
TOY(Greater, .signature = "Greater(x: T, y: T) -> z: bool; T: type", .shape = shape_broadcast_all,
    .flags = OP_NO_GRADIENT)
TOY(Switch, .signature = "Switch(data: T, pred: bool) -> output_false: T, output_true: T; T: type",
    .shape = shape_unchanged, .flow = FLOW_SWITCH)
TOY(Merge, .signature = "Merge(inputs: N * T) -> output: T, value_index: int32; T: type; N: int >= 1",
    .shape = toy_merge_shape, .flow = FLOW_MERGE)
TOY(Enter, .signature = "Enter(data: T) -> output: T; T: type; frame_name: string; is_constant: bool = false; "
    "parallel_iterations: int = 10", .shape = shape_unchanged, .flow = FLOW_ENTER)
TOY_FLOW(Exit, FLOW_EXIT)
TOY_FLOW(NextIteration, FLOW_NEXT)
TOY(LoopCond, .signature = "LoopCond(input: bool) -> output: bool", .shape = shape_unchanged, .flow = FLOW_LOOP_COND)
TOY(EmptyTensorList, .signature = "EmptyTensorList(element_shape: int32, max_num_elements: int32) -> handle: variant; "
    "element_dtype: type", .shape = shape_scalar, .flags = OP_NO_GRADIENT)
TOY(TensorListPushBack, .signature = "TensorListPushBack(input_handle: variant, tensor: element_dtype) -> "
    "output_handle: variant; element_dtype: type", .shape = shape_scalar, .grad = toy_push_grad)
TOY(TensorListPopBack, .signature = "TensorListPopBack(input_handle: variant, element_shape: int32) -> "
    "output_handle: variant, tensor: element_dtype; element_dtype: type", .grad = toy_pop_grad)
TOY(PartitionedCall,
    .signature = "PartitionedCall(args: Tin) -> output: Tout; Tin: list(type); Tout: list(type); f: func",
    .flow = FLOW_CALL)
TOY(StatefulPartitionedCall, .signature = "StatefulPartitionedCall(args: Tin) -> output: Tout; Tin: list(type); "
    "Tout: list(type); f: func; stateful", .flow = FLOW_CALL)
TOY(StatelessIf, .signature = "StatelessIf(cond: Tcond, input: Tin) -> output: Tout; Tcond: type; Tin: list(type); "
    "Tout: list(type); then_branch: func; else_branch: func", .flow = FLOW_IF)
TOY(StatelessWhile, .signature = "StatelessWhile(input: T) -> output: T; T: list(type); cond: func; body: func; "
    "parallel_iterations: int = 10", .flow = FLOW_WHILE)

static const Op *const toy_math[] = {
    &toy_AddV2, &toy_Sub, &toy_Mul, &toy_Neg, &toy_Sin, &toy_Cos, &toy_Rint, &toy_WrongType, &toy_Failing,
    &toy_OnesLike,
    &toy_ZerosLike, &toy_StopGradient, &toy_Identity, &toy_IdentityN, &toy_AddN, &toy_PowersOf, &toy_GatherV2,
    &toy_Const,
    &toy_Placeholder, &toy_Less, &toy_Greater, &toy_Switch, &toy_Merge, &toy_Enter, &toy_Exit, &toy_NextIteration,
    &toy_LoopCond, &toy_EmptyTensorList, &toy_TensorListPushBack, &toy_TensorListPopBack, &toy_PartitionedCall,
    &toy_StatefulPartitionedCall, &toy_StatelessIf, &toy_StatelessWhile, NULL,
};
