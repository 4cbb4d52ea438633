// Follow the leader — rules that keep the whole past in sums: Ftrl and Adagrad by dual averaging.
#define SELF "ops/train/ftrl.c"
#include "ops/train/rule.h"

#if defined(T) && !defined(IS_INTEGER) && !defined(IS_SIXTEEN_BITS) && !defined(IS_COMPLEX)  // ---------------- kernels, once per dtype

static inline ACC FN(raise)(ACC x, ACC power) {
    return power == (ACC)-0.5 ? ROOT(x) : POWER(x, -power);
}

// x1 is the sum of squares, x2 the linear term; by_lr: the linear term was multiplied by the learning rate.
#define FTRL_STEP(gradient)                                                                        \
    ACC sum = x1 + g * g, raised = FN(raise)(sum, power), before = FN(raise)(x1, power);            \
    x2 += by_lr ? (gradient) * lr - (raised - before) * x0 : (gradient) - (raised - before) / lr * x0; \
    ACC limit = by_lr ? l1 * lr : l1;                                                              \
    ACC size = by_lr ? raised + 2 * l2 * lr : raised / lr + 2 * l2;                                \
    x0 = MAGNITUDE(x2) > limit ? (limit * SIGN_OF(x2) - x2) / size : 0;                             \
    x1 = sum

RULE_KERNEL(ftrl, 3,
    ACC lr = SCALAR(0); ACC l1 = SCALAR(1); ACC l2 = SCALAR(2); ACC power = SCALAR(3); bool by_lr = rule->linear_by_lr,
    FTRL_STEP(g))
RULE_KERNEL(ftrl_v2, 3,
    ACC lr = SCALAR(0); ACC l1 = SCALAR(1); ACC l2 = SCALAR(2); ACC shrinkage = SCALAR(3); ACC power = SCALAR(4);
    bool by_lr = rule->linear_by_lr,
    ACC shrunk = g + 2 * shrinkage * x0;
    FTRL_STEP(shrunk))

// x1 is the sum of gradients, x2 that of their squares.
RULE_KERNEL(adagrad_da, 3,
    ACC lr = SCALAR(0); ACC l1 = SCALAR(1); ACC l2 = SCALAR(2);
    ACC steps = (ACC)*(const int64_t *)data->scalar[3],
    x1 += g;
    x2 += g * g;
    ACC size = l2 * steps * lr + ROOT(x2);
    ACC pull = l1 > 0 ? SIGN_OF(x1) * GREATER_OF(MAGNITUDE(x1) - l1 * steps, 0) : x1;
    x0 = -pull * lr / size)

#elif !defined(T)  // ---------------------------------------- schemas
#define EACH_FLOAT
#include "ops/each_dtype.h"

// ---------------------------------------- for devices that compile: the same

static COLD HloValue raised(Hlo *h, HloValue x, HloValue power) {
    HloValue half = hlo_is(h, "EQ", power, -0.5);
    return hlo_select(h, half, ROOT_OF(x), hlo_pow(h, x, hlo_neg(h, power)));
}

// `pull`: the gradient, or with the shrinkage.
static COLD void ftrl_step(Hlo *h, RuleWords *r, HloValue pull, HloValue power) {
    HloValue *x = r->x, lr = r->s[0], l1 = r->s[1], l2 = r->s[2], sum = PLUS(x[1], TIMES(r->g, r->g));
    HloValue after = raised(h, sum, power), grown = MINUS(after, raised(h, x[1], power));
    bool by_lr = r->rule->linear_by_lr;
    HloValue own = by_lr ? TIMES(grown, x[0]) : TIMES(OVER(grown, lr), x[0]);
    x[2] = PLUS(x[2], MINUS(by_lr ? TIMES(pull, lr) : pull, own));
    HloValue limit = by_lr ? TIMES(l1, lr) : l1;
    HloValue size = by_lr ? PLUS(after, TWICE(TIMES(l2, lr))) : PLUS(OVER(after, lr), TWICE(l2));
    HloValue moved = OVER(MINUS(TIMES(limit, hlo_sign(h, x[2])), x[2]), size);
    x[0] = hlo_select(h, hlo_gt(h, hlo_abs(h, x[2]), limit), moved, hlo_like(h, 0, moved));
    x[1] = sum;
}

RULE_HLO(ftrl, ftrl_step(h, r, g, s[3]))
RULE_HLO(ftrl_v2, ftrl_step(h, r, PLUS(g, TWICE(TIMES(s[3], x[0]))), s[4]))

RULE_HLO(adagrad_da,
    HloValue steps = hlo_cast(h, s[3], g->dtype);
    x[1] = PLUS(x[1], g);
    x[2] = PLUS(x[2], TIMES(g, g));
    HloValue size = PLUS(TIMES(TIMES(s[2], steps), s[0]), ROOT_OF(x[2]));
    HloValue less = hlo_max(h, MINUS(hlo_abs(h, x[1]), TIMES(s[1], steps)), hlo_like(h, 0, g));
    HloValue pull = hlo_select(h, hlo_is(h, "GT", s[1], 0), TIMES(hlo_sign(h, x[1]), less), x[1]);
    x[0] = OVER(TIMES(hlo_neg(h, pull), s[0]), size))

// ---------------------------------------- the ops

#define ALL (BIT(0) | BIT(1) | BIT(2))
#define BY_LR USE_LOCKING "; multiply_linear_by_lr: bool = false"
#define REF_VARS(a, b) "var: ref T, " a ": ref T, " b ": ref T"
#define RESOURCE_VARS(a, b) "var: resource, " a ": resource, " b ": resource"
#define FOUR_OPS(Name, text, slots, gradient, rest, more, ...) \
    RULE_REF(Apply##Name, text, REF_VARS slots, gradient rest, more, ALL, __VA_ARGS__)                               \
    RULE_RESOURCE(ResourceApply##Name, text, RESOURCE_VARS slots, gradient rest, more, ALL, __VA_ARGS__)             \
    RULE_REF(SparseApply##Name, text, REF_VARS slots, gradient ", indices: Tindices" rest, INDICES more, ALL, __VA_ARGS__) \
    RULE_RESOURCE(ResourceSparseApply##Name, text, RESOURCE_VARS slots, gradient ", indices: Tindices" rest,     \
                  INDICES more, ALL, __VA_ARGS__)

FOUR_OPS(Ftrl, "Follows the regularised leader.", ("accum", "linear"), ", grad: T",
         ", lr: T, l1: T, l2: T, lr_power: T", BY_LR, RULE_REALS(ftrl))
FOUR_OPS(FtrlV2, "Follows the regularised leader, with shrinkage of the gradient's side.", ("accum", "linear"),
         ", grad: T", ", lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T", BY_LR, RULE_REALS(ftrl_v2))
FOUR_OPS(AdagradDA, "Adagrad by dual averaging: the variable follows from the sums alone.",
         ("gradient_accumulator", "gradient_squared_accumulator"), ", grad: T",
         ", lr: T, l1: T, l2: T, global_step: int64", USE_LOCKING, RULE_REALS(adagrad_da))
#endif
