// Rule — what every update of a variable by a gradient shares: dense and sparse, by reference and by resource.
//
// A rule's inputs are its variables (Op.update), the gradient ("grad" or "delta"), for a sparse one "indices", and scalars.
// The variables and the gradient have one shape; a sparse gradient has one row for each index. A rule is written as a
// function that updates elements [at, at + n) of the variables by elements [from, from + n) of the gradient.
#pragma once
#include "ops/op.h"

// The update loops are worth vectorising, which gcc does at this level only; clang does it at the usual one.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

enum { MOST_SCALARS = 8 };

typedef struct {
    int n_vars, grad, indices;           // inputs; indices is -1 for a dense rule
    int scalar[MOST_SCALARS], n_scalars;
    bool nesterov, update_slots, linear_by_lr;
    int64_t count;                       // elements of the gradient
    int64_t row, rows;                   // sparse: elements of a row, rows of the variables
} Rule;

typedef void RuleFn(const Kernel *k, const Rule *rule, int64_t at, int64_t from, int64_t n);

Status *rule_shape(Shapes *s);
Status *rule_prepare(Prepare *p);
// Runs the function over everything. INVALID_ARGUMENT for an index outside the variable, before anything is written.
FALLIBLE Status *rule_run(Kernel *k, RuleFn *fn);

#define RULE_TYPES                                                                                             \
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, " \
    "quint16, uint16, complex128, half, uint32, uint64}"
#define RULE_REALS(fn) KERNELS(FLOATS, fn)
#define FLOATS_AND_COMPLEXES(X, a) FLOATS(X, a) COMPLEXES(X, a)
#define RULE_NUMBERS(fn) KERNELS(FLOATS_AND_COMPLEXES, fn)
#define RULE_FIELDS .shape = rule_shape, .prepare = rule_prepare, .own_size = sizeof(Rule)

// A rule's op on references. `vars` is the list of variables written with VAR_REF or VAR_RESOURCE.
#define RULE_REF(Name, text, vars, rest, more, mask, ...)                                              \
    const Op op_##Name = {                                                                                 \
        .signature = #Name "(" vars rest ") -> out: ref T; " RULE_TYPES "; " more, .doc = text, RULE_FIELDS, \
        .update = mask, .alias = BIT(0), .cpu = __VA_ARGS__, .flags = OP_STATEFUL | OP_NO_GRADIENT,             \
    };
#define RULE_RESOURCE(Name, text, vars, rest, more, mask, ...)                                  \
    const Op op_##Name = {                                                                          \
        .signature = #Name "(" vars rest "); " RULE_TYPES "; " more "; stateful", .doc = text,       \
        RULE_FIELDS, .update = mask, .cpu = __VA_ARGS__, .flags = OP_NO_GRADIENT,                        \
    };
// Both twins; V(name) in `vars` stands for a variable.
#define USE_LOCKING "use_locking: bool = false"
#define INDICES "Tindices: {int32, int64}; "

// ---- inside a kernel, where T is set ----

#define ROOT(x) _Generic((x), float: sqrtf, double: sqrt, float _Complex: csqrtf, double _Complex: csqrt)(x)
#define POWER(x, y) _Generic((x), float: powf, double: pow)((x), (y))
#define EXPONENTIAL(x) _Generic((x), float: expf, double: exp)(x)
#define MAGNITUDE(x) _Generic((x), float: fabsf, double: fabs)(x)
#define GREATER_OF(x, y) ((x) > (y) ? (x) : (y))
#define SIGN_OF(x) ((ACC)(((x) > 0) - ((x) < 0)))
#define SQUARE(x) ((x) * (x))

// Scalar j, in the order of the inputs.
#define SCALAR(j) LOAD(*(const T *)k->in[rule->scalar[j]]->data)
// Inside `update`: the gradient is g, variable j is x0 ... x3; what is assigned to them is stored.
#define RULE_KERNEL(Name, n_used, setup, ...)                                                                        \
    static void FN(Name##_elements)(const Kernel *k, const Rule *rule, int64_t at, int64_t from, int64_t n) {         \
        T *p0 = (T *)k->in[0]->data + at, *p1 = (n_used) > 1 ? (T *)k->in[1]->data + at : p0;                         \
        T *p2 = (n_used) > 2 ? (T *)k->in[2]->data + at : p0, *p3 = (n_used) > 3 ? (T *)k->in[3]->data + at : p0;     \
        const T *gradient = (const T *)k->in[rule->grad]->data + from;                                               \
        setup;                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                            \
            ACC g = LOAD(gradient[i]), x0 = LOAD(p0[i]), x1 = 0, x2 = 0, x3 = 0;                                     \
            if ((n_used) > 1)                                                                                        \
                x1 = LOAD(p1[i]);                                                                                    \
            if ((n_used) > 2)                                                                                        \
                x2 = LOAD(p2[i]);                                                                                    \
            if ((n_used) > 3)                                                                                        \
                x3 = LOAD(p3[i]);                                                                                    \
            (void)x1, (void)x2, (void)x3;                                                                            \
            __VA_ARGS__;                                                                                             \
            if ((n_used) > 3)                                                                                        \
                p3[i] = STORE(x3);                                                                                   \
            if ((n_used) > 2)                                                                                        \
                p2[i] = STORE(x2);                                                                                   \
            if ((n_used) > 1)                                                                                        \
                p1[i] = STORE(x1);                                                                                   \
            p0[i] = STORE(x0);                                                                                       \
        }                                                                                                            \
    }                                                                                                                \
    static Status *FN(Name)(Kernel *k) {                                                                             \
        return rule_run(k, FN(Name##_elements));                                                                     \
    }
