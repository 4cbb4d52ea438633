// Gradient descent — steps along the gradient: plain, with momentum, with proximal shrinking, by signs.
#define SELF "ops/train/gradient_descent.c"
#include "ops/train/rule.h"

#if defined(T) && !defined(IS_INTEGER) && !defined(IS_SIXTEEN_BITS)  // ---------------------------------------- kernels, once per dtype

RULE_KERNEL(gradient_descent, 1, ACC alpha = SCALAR(0), x0 -= alpha * g)

RULE_KERNEL(momentum, 2, ACC lr = SCALAR(0); ACC momentum = SCALAR(1),
    x1 = x1 * momentum + g;
    x0 -= rule->nesterov ? g * lr + x1 * momentum * lr : x1 * lr)

RULE_KERNEL(keras_momentum, 2, ACC lr = SCALAR(0); ACC momentum = SCALAR(1),
    x1 = x1 * momentum - g * lr;
    x0 += rule->nesterov ? x1 * momentum - g * lr : x1)

#ifndef IS_COMPLEX
static inline ACC FN(shrink)(ACC prox, ACC rate, ACC l1, ACC l2) {
    if (l1 > 0)
        prox = SIGN_OF(prox) * GREATER_OF(MAGNITUDE(prox) - rate * l1, 0);
    return prox / (1 + l2 * rate);
}

RULE_KERNEL(proximal_descent, 1, ACC alpha = SCALAR(0); ACC l1 = SCALAR(1); ACC l2 = SCALAR(2),
    x0 = FN(shrink)(x0 - g * alpha, alpha, l1, l2))

RULE_KERNEL(proximal_adagrad, 2, ACC lr = SCALAR(0); ACC l1 = SCALAR(1); ACC l2 = SCALAR(2),
    x1 += g * g;
    ACC rate = lr / ROOT(x1);
    x0 = FN(shrink)(x0 - g * rate, rate, l1, l2))

RULE_KERNEL(add_sign, 2, ACC lr = SCALAR(0); ACC alpha = SCALAR(1); ACC decay = SCALAR(2); ACC beta = SCALAR(3),
    x1 = x1 * beta + g * (1 - beta);
    x0 -= lr * (alpha + decay * SIGN_OF(g) * SIGN_OF(x1)) * g)

RULE_KERNEL(power_sign, 2, ACC lr = SCALAR(0); ACC base = SCALAR(1); ACC decay = SCALAR(2); ACC beta = SCALAR(3),
    x1 = x1 * beta + g * (1 - beta);
    x0 -= lr * EXPONENTIAL(base * decay * SIGN_OF(g) * SIGN_OF(x1)) * g)
#endif

#elif !defined(T)  // ---------------------------------------- schemas
#define EACH_NUMBER
#include "ops/each_dtype.h"

// ---------------------------------------- for devices that compile: the same

RULE_HLO(gradient_descent, x[0] = MINUS(x[0], TIMES(s[0], g)))

RULE_HLO(momentum,
    x[1] = PLUS(TIMES(x[1], s[1]), g);
    HloValue step = TIMES(x[1], s[0]);
    x[0] = MINUS(x[0], r->rule->nesterov ? PLUS(TIMES(g, s[0]), TIMES(step, s[1])) : step))

RULE_HLO(keras_momentum,
    HloValue step = TIMES(g, s[0]);
    x[1] = MINUS(TIMES(x[1], s[1]), step);
    x[0] = PLUS(x[0], r->rule->nesterov ? MINUS(TIMES(x[1], s[1]), step) : x[1]))

static COLD HloValue shrunk(Hlo *h, HloValue prox, HloValue rate, HloValue l1, HloValue l2) {
    HloValue size = hlo_max(h, MINUS(hlo_abs(h, prox), TIMES(rate, l1)), hlo_like(h, 0, prox));
    HloValue pulled = hlo_select(h, hlo_is(h, "GT", l1, 0), TIMES(hlo_sign(h, prox), size), prox);
    return OVER(pulled, hlo_plus(h, TIMES(l2, rate), 1));
}

RULE_HLO(proximal_descent, x[0] = shrunk(h, MINUS(x[0], TIMES(g, s[0])), s[0], s[1], s[2]))

RULE_HLO(proximal_adagrad,
    x[1] = PLUS(x[1], TIMES(g, g));
    HloValue rate = OVER(s[0], ROOT_OF(x[1]));
    x[0] = shrunk(h, MINUS(x[0], TIMES(g, rate)), rate, s[1], s[2]))

static COLD HloValue signs(Hlo *h, RuleWords *r) {  // decay sign(g) sign(m), of the new mean m
    r->x[1] = PLUS(TIMES(r->x[1], r->s[3]), TIMES(r->g, ONE_LESS(r->s[3])));
    return TIMES(r->s[2], TIMES(hlo_sign(h, r->g), hlo_sign(h, r->x[1])));
}

RULE_HLO(add_sign, x[0] = MINUS(x[0], TIMES(TIMES(s[0], PLUS(s[1], signs(h, r))), g)))
RULE_HLO(power_sign, x[0] = MINUS(x[0], TIMES(TIMES(s[0], hlo_exp(h, TIMES(s[1], signs(h, r)))), g)))

// ---------------------------------------- the ops

#define DESCENT "Steps against delta: var -= alpha * delta."
RULE_REF_OR_PRODUCT(ApplyGradientDescent, DESCENT, "var: ref T", ", alpha: T", "delta", "", USE_LOCKING, BIT(0),
                    RULE_NUMBERS(gradient_descent), .row = rule_descends)
RULE_RESOURCE_OR_PRODUCT(ResourceApplyGradientDescent, DESCENT, "var: resource", ", alpha: T", "delta", "", USE_LOCKING,
                         BIT(0), RULE_NUMBERS(gradient_descent), .row = rule_descends)

#define REF_2(name) "var: ref T, " name ": ref T"
#define RESOURCE_2(name) "var: resource, " name ": resource"
#define NESTEROV USE_LOCKING "; use_nesterov: bool = false"
#define PAIR (BIT(0) | BIT(1))

#define MOMENTUM "Steps along a decaying sum: accum = accum * momentum + grad, var -= lr * accum."
#define DENSE ", lr: T, grad: T, momentum: T"
#define SPARSE ", lr: T, grad: T, indices: Tindices, momentum: T"
RULE_REF_OR_PRODUCT(ApplyMomentum, MOMENTUM, REF_2("accum"), ", lr: T", "grad", ", momentum: T", NESTEROV, PAIR,
                    RULE_NUMBERS(momentum))
RULE_RESOURCE_OR_PRODUCT(ResourceApplyMomentum, MOMENTUM, RESOURCE_2("accum"), ", lr: T", "grad", ", momentum: T",
                         NESTEROV, PAIR, RULE_NUMBERS(momentum))
RULE_REF(SparseApplyMomentum, MOMENTUM, REF_2("accum"), SPARSE, INDICES NESTEROV, PAIR, RULE_NUMBERS(momentum))
RULE_RESOURCE(ResourceSparseApplyMomentum, MOMENTUM, RESOURCE_2("accum"), SPARSE, INDICES NESTEROV, PAIR,
              RULE_NUMBERS(momentum))
#define KERAS "Steps along a decaying sum: accum = accum * momentum - lr * grad, var += accum."
RULE_RESOURCE(ResourceApplyKerasMomentum, KERAS, RESOURCE_2("accum"), DENSE, NESTEROV, PAIR,
              RULE_NUMBERS(keras_momentum))
RULE_RESOURCE(ResourceSparseApplyKerasMomentum, KERAS, RESOURCE_2("accum"), SPARSE, INDICES NESTEROV, PAIR,
              RULE_NUMBERS(keras_momentum))
#undef DENSE
#undef SPARSE

#define PROXIMAL "Steps against the gradient, then shrinks towards zero by l1 and l2."
RULE_REF(ApplyProximalGradientDescent, PROXIMAL, "var: ref T", ", alpha: T, l1: T, l2: T, delta: T", USE_LOCKING,
         BIT(0), RULE_REALS(proximal_descent))
RULE_RESOURCE(ResourceApplyProximalGradientDescent, PROXIMAL, "var: resource", ", alpha: T, l1: T, l2: T, delta: T",
              USE_LOCKING, BIT(0), RULE_REALS(proximal_descent))
#define SPARSE ", alpha: T, l1: T, l2: T, grad: T, indices: Tindices"
RULE_REF(SparseApplyProximalGradientDescent, PROXIMAL, "var: ref T", SPARSE, INDICES USE_LOCKING, BIT(0),
         RULE_REALS(proximal_descent))
RULE_RESOURCE(ResourceSparseApplyProximalGradientDescent, PROXIMAL, "var: resource", SPARSE, INDICES USE_LOCKING,
              BIT(0), RULE_REALS(proximal_descent))
#undef SPARSE

#define PROXIMAL_ADAGRAD "An Adagrad step, then shrinks towards zero by l1 and l2."
#define DENSE ", lr: T, l1: T, l2: T, grad: T"
RULE_REF(ApplyProximalAdagrad, PROXIMAL_ADAGRAD, REF_2("accum"), DENSE, USE_LOCKING, PAIR, RULE_REALS(proximal_adagrad))
RULE_RESOURCE(ResourceApplyProximalAdagrad, PROXIMAL_ADAGRAD, RESOURCE_2("accum"), DENSE, USE_LOCKING, PAIR,
              RULE_REALS(proximal_adagrad))
RULE_REF(SparseApplyProximalAdagrad, PROXIMAL_ADAGRAD, REF_2("accum"), DENSE ", indices: Tindices",
         INDICES USE_LOCKING, PAIR, RULE_REALS(proximal_adagrad))
RULE_RESOURCE(ResourceSparseApplyProximalAdagrad, PROXIMAL_ADAGRAD, RESOURCE_2("accum"), DENSE ", indices: Tindices",
              INDICES USE_LOCKING, PAIR, RULE_REALS(proximal_adagrad))
#undef DENSE

#define ADD_SIGN "Steps by lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad, m a moving mean of grad."
#define DENSE ", lr: T, alpha: T, sign_decay: T, beta: T, grad: T"
RULE_REF(ApplyAddSign, ADD_SIGN, REF_2("m"), DENSE, USE_LOCKING, PAIR, RULE_REALS(add_sign))
RULE_RESOURCE(ResourceApplyAddSign, ADD_SIGN, RESOURCE_2("m"), DENSE, USE_LOCKING, PAIR, RULE_REALS(add_sign))
#undef DENSE
#define POWER_SIGN "Steps by lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad, m a moving mean of grad."
#define DENSE ", lr: T, logbase: T, sign_decay: T, beta: T, grad: T"
RULE_REF(ApplyPowerSign, POWER_SIGN, REF_2("m"), DENSE, USE_LOCKING, PAIR, RULE_REALS(power_sign))
RULE_RESOURCE(ResourceApplyPowerSign, POWER_SIGN, RESOURCE_2("m"), DENSE, USE_LOCKING, PAIR, RULE_REALS(power_sign))
#endif
