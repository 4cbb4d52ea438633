// Optimizer — how variables follow their gradients: each rule once as formulas, once as the fused op of TensorFlow.
//
//     gradient descent  w -= rate g
//     momentum          a = momentum a + g;  w -= rate a            (nesterov: w -= rate (g + momentum a))
//     Adagrad           a += g^2;            w -= rate g / sqrt(a)
//     RMSProp           s = rho s + (1 - rho) g^2;  a = momentum a + rate g / sqrt(s + epsilon);  w -= a
//     Adam              m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
//                       w -= rate sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon)
#pragma once
#include "autodiff/autodiff.h"
#include "train/net.h"

typedef enum {
    OPTIMIZER_GRADIENT_DESCENT,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_ADAGRAD,
    OPTIMIZER_RMSPROP,
    OPTIMIZER_ADAM,
    OPTIMIZERS,
} OptimizerKind;

typedef struct {
    OptimizerKind kind;
    bool fused;              // one op per variable instead of formulas
    bool nesterov;           // momentum only
    double momentum;         // momentum, RMSProp
    double initial;          // Adagrad: of the sum of squares
    double rho;              // RMSProp
    double beta1, beta2;     // Adam
    double epsilon;          // RMSProp, Adam
} Optimizer;

Optimizer optimizer_of(OptimizerKind kind);   // with TensorFlow's usual numbers, fused
const char *optimizer_name(OptimizerKind kind);  // "gradient-descent"; NULL for none

// How gradients are cut before they are applied; 0: not.
typedef struct {
    double value, norm, global_norm;
} Clip;

// The gradients of `loss`, cut, one for each of the net's variables, in the arena; `clip` may be NULL. NULL after an error.
Gradient *optimizer_gradients(Net *net, Output loss, const Clip *clip, Arena *arena);
// Adds what changes every trainable variable by its gradient, with the net's running averages; `rate` is a scalar.
// gradients[i] belongs to net->variables.p[i]; no values leave it alone. Where only some rows have a gradient, gradient
// descent and Adagrad touch these only; the other rules take the rest as zero. NULL after an error (net->f.status).
Node *optimizer_apply(Net *net, const Optimizer *optimizer, Output rate, const Gradient *gradients, int n);
// Both.
Node *optimizer_minimize(Net *net, const Optimizer *optimizer, Output rate, Output loss, const Clip *clip);
