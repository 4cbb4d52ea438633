// Toy evaluator — computes scalar graphs for the tests of autodiff by following their meaning edge by edge: a value in
// an iteration is asked for, and asks for what it needs.
#pragma once
#include <math.h>

#include "autodiff/toy_math_test.h"
#include "formula/lower.h"

typedef struct ToyValue ToyValue;
struct ToyValue {
    bool dead;
    double number;
    const ToyValue *list;   // what this was appended to
    const ToyValue *last;   // what was appended; NULL for an empty list
};

enum { TOY_FRAMES = 8, TOY_STEPS = 100 };

// The iteration of each frame that a value lies in, outermost first.
typedef struct {
    int at[TOY_FRAMES], depth;
} ToyPlace;

typedef struct {
    Arena arena;
    Map known;              // "id:index:iterations" -> ToyValue *
    Map fed;                // names -> ToyValue *
} Toy;

static const ToyValue *toy_eval(Toy *toy, Output output, ToyPlace place);

static ToyValue *toy_number(Toy *toy, double number) {
    ToyValue *value = ARENA_NEW(&toy->arena, ToyValue);
    value->number = number;
    return value;
}

static const ToyValue *toy_zeros(Toy *toy, const ToyValue *like) {
    ToyValue *value = toy_number(toy, 0);
    if (like->last) {
        value->list = toy_zeros(toy, like->list);
        value->last = toy_zeros(toy, like->last);
    }
    return value;
}

static const ToyValue *toy_sum(Toy *toy, const ToyValue *x, const ToyValue *y) {
    ToyValue *value = toy_number(toy, x->number + y->number);
    if (x->last && y->last) {
        value->list = toy_sum(toy, x->list, y->list);
        value->last = toy_sum(toy, x->last, y->last);
    } else if (x->last || y->last) {
        *value = x->last ? *x : *y;
    }
    return value;
}

static double toy_constant(const Tensor *t) {
    return t->dtype == DT_float ? *(const float *)t->data : t->dtype == DT_bool ? *(const bool *)t->data
                                                                                : (double)tensor_int(t, 0);
}

static bool toy_is(const Node *node, const char *type) {
    return str_is(node->type->name, type);
}

static const ToyValue *toy_flow(Toy *toy, Output o, ToyPlace place) {
    static const ToyValue dead = {.dead = true};
    const Node *node = o.node;
    ToyPlace there = place;
    switch (node_flow(node)) {
    case FLOW_ENTER:
        there.depth--;
        return toy_eval(toy, node->inputs[0], there);
    case FLOW_NEXT:
        there.at[there.depth - 1]--;
        return toy_eval(toy, node->inputs[0], there);
    case FLOW_EXIT:
        there.depth++;
        for (there.at[place.depth] = 0; there.at[place.depth] < TOY_STEPS; there.at[place.depth]++) {
            const ToyValue *value = toy_eval(toy, node->inputs[0], there);
            const ToyValue *goes_on = toy_eval(toy, node->inputs[0].node->inputs[1], there);
            if (!value->dead || goes_on->dead)
                return value;
        }
        ck_abort_msg("%.*s: the loop doesn't end", STR_ARGS(node->name));
        return &dead;
    case FLOW_SWITCH: {
        const ToyValue *pred = toy_eval(toy, node->inputs[1], place);
        return pred->dead || (pred->number != 0) != o.index ? &dead : toy_eval(toy, node->inputs[0], place);
    }
    default: break;
    }
    if (node_flow(node->inputs[1].node) == FLOW_NEXT)
        return toy_eval(toy, node->inputs[place.at[place.depth - 1] > 0], place);
    const ToyValue *x = toy_eval(toy, node->inputs[0], place), *y = toy_eval(toy, node->inputs[1], place);
    ck_assert_msg(x->dead || y->dead, "%.*s: both inputs are alive", STR_ARGS(node->name));
    return o.index == 1 ? toy_number(toy, x->dead) : x->dead ? y : x;
}

static const ToyValue *toy_op(Toy *toy, Output o, const ToyValue *x, const ToyValue *y) {
    const Node *node = o.node;
    if (toy_is(node, "TensorListPushBack")) {
        ToyValue *value = toy_number(toy, 0);
        value->list = x;
        value->last = y;
        return value;
    }
    if (toy_is(node, "TensorListPopBack")) {
        ck_assert_msg(x->last != NULL, "%.*s: the list is empty", STR_ARGS(node->name));
        return o.index ? x->last : x->list;
    }
    if (toy_is(node, "BroadcastGradientArgs") || toy_is(node, "Fill"))
        return o.index || toy_is(node, "Fill") ? y : x;
    double a = x->number, b = y ? y->number : 0;
    return toy_is(node, "AddV2") || toy_is(node, "AddN") ? (y ? toy_sum(toy, x, y) : x)
           : toy_is(node, "ZerosLike")                   ? toy_zeros(toy, x)
           : toy_is(node, "Reshape") || toy_is(node, "Sum") || toy_is(node, "Shape") ? x  // all are scalars
           : toy_is(node, "Identity") || toy_is(node, "StopGradient") || toy_is(node, "LoopCond") ? x
           : toy_number(toy, toy_is(node, "Sub")        ? a - b
                             : toy_is(node, "Mul")      ? a * b
                             : toy_is(node, "Less")     ? a < b
                             : toy_is(node, "Greater")  ? a > b
                             : toy_is(node, "Neg")      ? -a
                             : toy_is(node, "Sin")      ? sin(a)
                             : toy_is(node, "Cos")      ? cos(a)
                             : toy_is(node, "OnesLike") ? 1
                             : toy_is(node, "PowersOf") ? (o.index ? a * a : a)
                                                        : NAN);
}

// What the planner would make of a call.
static const ToyValue *toy_lower(Toy *toy, Output o, ToyPlace place) {
    Output results[4];
    Node **controls;
    int32_t n;
    Formula f = {.graph = o.node->graph, .node = o.node, .x = o.node->inputs, .n_x = o.node->n_inputs,
                 .results = results};
    static int copies;
    f.scope = str_format(&toy->arena, "lowered%d", copies++);
    Status *status = lower_node(&f, &controls, &n);
    ck_assert_msg(!status, "%s", status_message(status));
    return toy_eval(toy, results[o.index], place);
}

static const ToyValue *toy_compute(Toy *toy, Output o, ToyPlace place) {
    const Node *node = o.node;
    const ToyValue *fed = map_find(&toy->fed, node->name);
    const AttrValue *constant = node_attr_find(node, "value");
    if (fed)
        return fed;
    if (constant && node->n_inputs == 0)
        return toy_number(toy, toy_constant(constant->tensor));
    if (toy_is(node, "EmptyTensorList"))
        return toy_number(toy, 0);
    if (lower_is_needed(node))
        return toy_lower(toy, o, place);
    Flow flow = node_flow(node);
    if (flow != FLOW_NONE && flow != FLOW_LOOP_COND)
        return toy_flow(toy, o, place);
    if (toy_is(node, "IdentityN"))
        return toy_eval(toy, node->inputs[o.index], place);
    const ToyValue *x = toy_eval(toy, node->inputs[0], place), *all = x, *y = NULL;
    for (int i = 1; i < node->n_inputs; i++) {
        y = toy_eval(toy, node->inputs[i], place);
        if (x->dead || y->dead)
            return x->dead ? x : y;
        if (toy_is(node, "AddN"))
            all = toy_sum(toy, all, y);
    }
    return x->dead || toy_is(node, "AddN") ? all : toy_op(toy, o, x, y);
}

static const ToyValue *toy_eval(Toy *toy, Output o, ToyPlace place) {
    AUTO(text) Text key = {0};
    text_format(&key, "%d:%d", o.node->id, o.index);
    for (int i = 0; i < place.depth; i++)
        text_format(&key, ":%d", place.at[i]);
    const ToyValue *value = map_find(&toy->known, text_str(&key));
    if (value)
        return value;
    value = toy_compute(toy, o, place);
    ck_assert(map_set(&toy->known, str_copy(&toy->arena, text_str(&key)), (void *)value));
    return value;
}
