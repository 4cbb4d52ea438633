// Adaptive rules — steps scaled element by element by what the gradients were: Adagrad, Adadelta, RMSProp, Adam.
#define SELF "ops/train/adaptive.c"
#include "ops/train/rule.h"

#if defined(T) && !defined(IS_INTEGER) && !defined(IS_SIXTEEN_BITS)  // ---------------------------------------- kernels, once per dtype

RULE_KERNEL(adagrad, 2, ACC lr = SCALAR(0),
    if (rule->update_slots)
        x1 += g * g;
    x0 -= g * lr / ROOT(x1))

RULE_KERNEL(adagrad_v2, 2, ACC lr = SCALAR(0); ACC epsilon = SCALAR(1),
    if (rule->update_slots)
        x1 += g * g;
    x0 -= g * lr / (ROOT(x1) + epsilon))

RULE_KERNEL(adadelta, 3, ACC lr = SCALAR(0); ACC rho = SCALAR(1); ACC epsilon = SCALAR(2),
    x1 = x1 * rho + g * g * (1 - rho);
    ACC step = ROOT(x2 + epsilon) / ROOT(x1 + epsilon) * g;
    x0 -= step * lr;
    x2 = x2 * rho + step * step * (1 - rho))

RULE_KERNEL(rms_prop, 3,
    ACC lr = SCALAR(0); ACC rho = SCALAR(1); ACC momentum = SCALAR(2); ACC epsilon = SCALAR(3),
    x1 += (g * g - x1) * (1 - rho);
    x2 = x2 * momentum + g * lr / ROOT(x1 + epsilon);
    x0 -= x2)

RULE_KERNEL(centered_rms_prop, 4,
    ACC lr = SCALAR(0); ACC rho = SCALAR(1); ACC momentum = SCALAR(2); ACC epsilon = SCALAR(3),
    x2 += (g * g - x2) * (1 - rho);
    x1 += (g - x1) * (1 - rho);
    x3 = x3 * momentum + g * lr / ROOT(x2 - x1 * x1 + epsilon);
    x0 -= x3)

#define ADAM_SCALARS                                                                                             \
    ACC beta1_power = SCALAR(0); ACC beta2_power = SCALAR(1); ACC beta1 = SCALAR(3); ACC beta2 = SCALAR(4);       \
    ACC epsilon = SCALAR(5); ACC alpha = SCALAR(2) * ROOT(1 - beta2_power) / (1 - beta1_power)
RULE_KERNEL(adam, 3, ADAM_SCALARS,
    x1 += (g - x1) * (1 - beta1);
    x2 += (g * g - x2) * (1 - beta2);
    x0 -= (rule->nesterov ? g * (1 - beta1) + beta1 * x1 : x1) * alpha / (ROOT(x2) + epsilon))

#ifndef IS_COMPLEX
RULE_KERNEL(adam_amsgrad, 4, ADAM_SCALARS,
    x1 += (g - x1) * (1 - beta1);
    x2 += (g * g - x2) * (1 - beta2);
    x3 = GREATER_OF(x3, x2);
    x0 -= x1 * alpha / (ROOT(x3) + epsilon))

RULE_KERNEL(ada_max, 3,
    ACC beta1_power = SCALAR(0); ACC lr = SCALAR(1); ACC beta1 = SCALAR(2); ACC beta2 = SCALAR(3);
    ACC epsilon = SCALAR(4); ACC rate = lr / (1 - beta1_power),
    x1 += (g - x1) * (1 - beta1);
    x2 = GREATER_OF(beta2 * x2, MAGNITUDE(g));
    x0 -= rate * x1 / (x2 + epsilon))
#endif
#undef ADAM_SCALARS

#elif !defined(T)  // ---------------------------------------- schemas
#define EACH_NUMBER
#include "ops/each_dtype.h"

// ---------------------------------------- for devices that compile: the same

RULE_HLO(adagrad,
    x[1] = r->rule->update_slots ? PLUS(x[1], TIMES(g, g)) : x[1];
    x[0] = MINUS(x[0], OVER(TIMES(g, s[0]), ROOT_OF(x[1]))))

RULE_HLO(adagrad_v2,
    x[1] = r->rule->update_slots ? PLUS(x[1], TIMES(g, g)) : x[1];
    x[0] = MINUS(x[0], OVER(TIMES(g, s[0]), PLUS(ROOT_OF(x[1]), s[1]))))

RULE_HLO(adadelta,
    x[1] = PLUS(TIMES(x[1], s[1]), TIMES(TIMES(g, g), ONE_LESS(s[1])));
    HloValue step = TIMES(OVER(ROOT_OF(PLUS(x[2], s[2])), ROOT_OF(PLUS(x[1], s[2]))), g);
    x[0] = MINUS(x[0], TIMES(step, s[0]));
    x[2] = PLUS(TIMES(x[2], s[1]), TIMES(TIMES(step, step), ONE_LESS(s[1]))))

static COLD HloValue towards(Hlo *h, HloValue x, HloValue to, HloValue decay) {  // x + (to - x) (1 - decay)
    return PLUS(x, TIMES(MINUS(to, x), ONE_LESS(decay)));
}

RULE_HLO(rms_prop,
    x[1] = towards(h, x[1], TIMES(g, g), s[1]);
    x[2] = PLUS(TIMES(x[2], s[2]), OVER(TIMES(g, s[0]), ROOT_OF(PLUS(x[1], s[3]))));
    x[0] = MINUS(x[0], x[2]))

RULE_HLO(centered_rms_prop,
    x[2] = towards(h, x[2], TIMES(g, g), s[1]);
    x[1] = towards(h, x[1], g, s[1]);
    HloValue size = ROOT_OF(PLUS(MINUS(x[2], TIMES(x[1], x[1])), s[3]));
    x[3] = PLUS(TIMES(x[3], s[2]), OVER(TIMES(g, s[0]), size));
    x[0] = MINUS(x[0], x[3]))

static COLD HloValue adam_moments(Hlo *h, RuleWords *r) {  // gives the rate
    const HloValue *s = r->s;
    r->x[1] = towards(h, r->x[1], r->g, s[3]);
    r->x[2] = towards(h, r->x[2], TIMES(r->g, r->g), s[4]);
    return OVER(TIMES(s[2], ROOT_OF(ONE_LESS(s[1]))), ONE_LESS(s[0]));
}

RULE_HLO(adam,
    HloValue alpha = adam_moments(h, r);
    HloValue step = r->rule->nesterov ? PLUS(TIMES(g, ONE_LESS(s[3])), TIMES(s[3], x[1])) : x[1];
    x[0] = MINUS(x[0], OVER(TIMES(step, alpha), PLUS(ROOT_OF(x[2]), s[5]))))

RULE_HLO(adam_amsgrad,
    HloValue alpha = adam_moments(h, r);
    x[3] = MORE_OF(x[3], x[2]);
    x[0] = MINUS(x[0], OVER(TIMES(x[1], alpha), PLUS(ROOT_OF(x[3]), s[5]))))

RULE_HLO(ada_max,
    x[1] = towards(h, x[1], g, s[2]);
    x[2] = MORE_OF(TIMES(s[3], x[2]), hlo_abs(h, g));
    x[0] = MINUS(x[0], OVER(TIMES(OVER(s[1], ONE_LESS(s[0])), x[1]), PLUS(x[2], s[4]))))

// ---------------------------------------- the ops

#define REF_2(a) "var: ref T, " a ": ref T"
#define REF_3(a, b) REF_2(a) ", " b ": ref T"
#define REF_4(a, b, c) REF_3(a, b) ", " c ": ref T"
#define RESOURCE_2(a) "var: resource, " a ": resource"
#define RESOURCE_3(a, b) RESOURCE_2(a) ", " b ": resource"
#define RESOURCE_4(a, b, c) RESOURCE_3(a, b) ", " c ": resource"
#define TWO (BIT(0) | BIT(1))
#define THREE (TWO | BIT(2))
#define FOUR (THREE | BIT(3))
#define ROWS ", indices: Tindices"

// The four ops of a rule: by reference and by resource, dense and sparse.
#define RULE_DENSE(Name, text, n, N, slots, rest, more, ...) \
    RULE_REF(Apply##Name, text, REF_##n slots, rest, more, N, __VA_ARGS__)               \
    RULE_RESOURCE(ResourceApply##Name, text, RESOURCE_##n slots, rest, more, N, __VA_ARGS__)
#define RULE_SPARSE(Name, text, n, N, slots, rest, more, ...) \
    RULE_REF(SparseApply##Name, text, REF_##n slots, rest ROWS, INDICES more, N, __VA_ARGS__)           \
    RULE_RESOURCE(ResourceSparseApply##Name, text, RESOURCE_##n slots, rest ROWS, INDICES more, N, __VA_ARGS__)

#define UPDATE_SLOTS USE_LOCKING "; update_slots: bool = true"
#define ADAGRAD "Steps by lr * grad / sqrt(accum), accum the sum of squared gradients."
RULE_DENSE(Adagrad, ADAGRAD, 2, TWO, ("accum"), ", lr: T, grad: T", UPDATE_SLOTS, RULE_NUMBERS(adagrad))
RULE_SPARSE(Adagrad, ADAGRAD, 2, TWO, ("accum"), ", lr: T, grad: T", UPDATE_SLOTS, RULE_NUMBERS(adagrad))
#define ADAGRAD_V2 "Steps by lr * grad / (sqrt(accum) + epsilon), accum the sum of squared gradients."
RULE_DENSE(AdagradV2, ADAGRAD_V2, 2, TWO, ("accum"), ", lr: T, epsilon: T, grad: T", UPDATE_SLOTS,
           RULE_NUMBERS(adagrad_v2))
RULE_SPARSE(AdagradV2, ADAGRAD_V2, 2, TWO, ("accum"), ", lr: T, epsilon: T, grad: T", UPDATE_SLOTS,
            RULE_NUMBERS(adagrad_v2))

#define ADADELTA "Steps scaled by the ratio of the moving sizes of steps and gradients."
#define SCALARS ", lr: T, rho: T, epsilon: T, grad: T"
RULE_DENSE(Adadelta, ADADELTA, 3, THREE, ("accum", "accum_update"), SCALARS, USE_LOCKING, RULE_NUMBERS(adadelta))
RULE_SPARSE(Adadelta, ADADELTA, 3, THREE, ("accum", "accum_update"), SCALARS, USE_LOCKING, RULE_NUMBERS(adadelta))
#undef SCALARS

#define RMS_PROP "Steps with momentum, scaled by the moving mean of squared gradients."
#define CENTERED "Steps with momentum, scaled by the moving variance of the gradients."
#define SCALARS ", lr: T, rho: T, momentum: T, epsilon: T, grad: T"
RULE_DENSE(RMSProp, RMS_PROP, 3, THREE, ("ms", "mom"), SCALARS, USE_LOCKING, RULE_NUMBERS(rms_prop))
RULE_SPARSE(RMSProp, RMS_PROP, 3, THREE, ("ms", "mom"), SCALARS, USE_LOCKING, RULE_NUMBERS(rms_prop))
RULE_DENSE(CenteredRMSProp, CENTERED, 4, FOUR, ("mg", "ms", "mom"), SCALARS, USE_LOCKING,
           RULE_NUMBERS(centered_rms_prop))
RULE_SPARSE(CenteredRMSProp, CENTERED, 4, FOUR, ("mg", "ms", "mom"), SCALARS, USE_LOCKING,
            RULE_NUMBERS(centered_rms_prop))
#undef SCALARS

#define ADAM "Steps along the moving mean of the gradients, scaled by that of their squares, both corrected for their start."
#define AMSGRAD "Adam, scaled by the greatest moving mean of squares so far."
#define SCALARS ", beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T"
#define NESTEROV USE_LOCKING "; use_nesterov: bool = false"
RULE_REF_OR_PRODUCT(ApplyAdam, ADAM, REF_3("m", "v"), SCALARS, "grad", "", NESTEROV, THREE, RULE_NUMBERS(adam))
RULE_RESOURCE_OR_PRODUCT(ResourceApplyAdam, ADAM, RESOURCE_3("m", "v"), SCALARS, "grad", "", NESTEROV, THREE,
                         RULE_NUMBERS(adam))
RULE_RESOURCE(ResourceApplyAdamWithAmsgrad, AMSGRAD, RESOURCE_4("m", "v", "vhat"), SCALARS ", grad: T", USE_LOCKING,
              FOUR, RULE_REALS(adam_amsgrad))
#undef SCALARS
#define ADA_MAX "Adam, scaled by the decaying greatest size of the gradients."
RULE_DENSE(AdaMax, ADA_MAX, 3, THREE, ("m", "v"),
           ", beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T", USE_LOCKING, RULE_REALS(ada_max))
#endif
