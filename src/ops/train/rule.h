// Rule — what every update of a variable by a gradient shares: dense and sparse, by reference and by resource.
//
// A rule's inputs are its variables (Op.update), the gradient ("grad" or "delta"), for a sparse one "indices", and
// scalars. The variables and the gradient have one shape; a sparse gradient has one row for each index. A rule is
// written as a function that updates n elements of the variables by as many of the gradient. There is one for float,
// which serves half and bfloat16 too, a tile at a time, one for double and often one for each complex type.
//
// A dense rule may have a twin whose gradient is a sum of matrix products, lists "a" and "b" behind the other inputs:
// the same function updates by each block of it as soon as that is there. The planner puts it in the place of a product
// and the rule that alone reads it. A rule that only subtracts its first scalar times the gradient says so by
// `rule_descends` in its Op.row: then the products are added to the variable on their way out of the registers.
#pragma once
#include "graph/rewrite.h"
#include "loops/cast.h"
#include "ops/math/product_sum.h"

// The update loops are worth vectorising, which gcc has to be told; clang does it anyway.
#if defined(__clang__)
#define UPDATE_LOOP
#else
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#define UPDATE_LOOP _Pragma("GCC ivdep")  // variables may be the same, never shifted against each other
#endif

enum { MOST_SCALARS = 8, MOST_VARS = 4 };

typedef struct {
    int n_vars, grad, indices;           // inputs; indices is -1 for a dense rule
    int factors;                         // the first of a sum of products, in place of grad; -1: there is none
    int scalar[MOST_SCALARS], n_scalars;
    bool nesterov, update_slots, linear_by_lr;
    int64_t count;                       // elements of the gradient
    int64_t row, rows;                   // sparse: elements of a row, rows of the variables
    bool narrow;                         // half or bfloat16: the rule sees floats
    CastLoop widen, narrowed;
} Rule;

// A rule's twin whose gradient is a sum of products.
typedef struct {
    Rule rule;
    ProductSum sum;
} ProductRule;

// What a rule sees, in the type that it computes in.
typedef struct {
    void *x[MOST_VARS];                  // elements of the variables
    const void *gradient;
    const void *scalar[MOST_SCALARS];    // in the order of the inputs
} RuleData;
typedef void RuleFn(const Rule *rule, const RuleData *data, int64_t n);

extern const char rule_descends[];

Status *rule_shape(Shapes *s);
Status *rule_prepare(Prepare *p);
// The nodes that a rule may take in as its gradient, and what its twin reads then.
bool rule_takes(const Match *match, const Node *before);
Status *rule_write(NodeBuilder *builder, const Match *match);
// Runs the function over everything. INVALID_ARGUMENT for an index outside the variable, before anything is written.
FALLIBLE Status *rule_run(Kernel *k, RuleFn *fn);

#define BY_FLOAT(fn) {DT_half, fn##_float}, {DT_bfloat16, fn##_float}, {DT_float, fn##_float}, {DT_double, fn##_double}
#define RULE_REALS(fn) (const KernelRow[]){BY_FLOAT(fn), {DT_INVALID, NULL}}, .hlo = fn##_hlo
#define RULE_NUMBERS(fn) \
    (const KernelRow[]){BY_FLOAT(fn), COMPLEXES(KERNEL_ROW_, fn){DT_INVALID, NULL}}, .hlo = fn##_hlo
#define RULE_FIELDS .shape = rule_shape, .prepare = rule_prepare, .own_size = sizeof(Rule)

// A rule's op on references. `vars` is the list of variables written with VAR_REF or VAR_RESOURCE.
#define RULE_REF(Name, text, vars, rest, more, mask, ...)                                                \
    const Op op_##Name = {                                                                               \
        .signature = #Name "(" vars rest ") -> out: ref T; T: numbers; " more, .doc = text, RULE_FIELDS, \
        .update = mask, .alias = BIT(0), .cpu = __VA_ARGS__, .flags = OP_STATEFUL | OP_NO_GRADIENT,      \
    };
#define RULE_RESOURCE(Name, text, vars, rest, more, mask, ...)                             \
    const Op op_##Name = {                                                                 \
        .signature = #Name "(" vars rest "); T: numbers; " more "; stateful", .doc = text, \
        RULE_FIELDS, .update = mask, .cpu = __VA_ARGS__, .flags = OP_NO_GRADIENT,          \
    };
// A dense rule with its twin, whose gradient is a sum of products. In the signature `gradient` stands between `scalars`
// and `after`.
#define PRODUCT_LISTS ", a: N * T, b: N * T"
#define PRODUCT_ATTRS \
    "; T: floats_half_first; N: int >= 1; transpose_a: bool = false; transpose_b: bool = false; "
#define PRODUCT_FIELDS .shape = rule_shape, .prepare = rule_prepare, .own_size = sizeof(ProductRule)
#define RULE_OF_PRODUCT(Name, gradient)                                                                        \
    const Rewrite rewrite_##Name = {                                                                           \
        .name = "product-as-gradient", .kind = REWRITE_FUSE_PRODUCERS, .roots = ROOTS(#Name), .input = gradient, \
        .op = "_" #Name "MatMul", .takes = rule_takes, .write = rule_write,                                    \
    };
#define RULE_REF_OR_PRODUCT(Name, text, vars, scalars, gradient, after, more, mask, ...)                               \
    RULE_REF(Name, text, vars, scalars ", " gradient ": T" after, more, mask, __VA_ARGS__)    \
    RULE_OF_PRODUCT(Name, gradient)                                                                                    \
    const Op op__##Name##MatMul = {                                                                                    \
        .signature = "_" #Name "MatMul(" vars scalars after PRODUCT_LISTS ") -> out: ref T" PRODUCT_ATTRS more, .doc = text, \
        PRODUCT_FIELDS, .update = mask, .alias = BIT(0), .cpu = __VA_ARGS__, .flags = OP_STATEFUL | OP_NO_GRADIENT,    \
    };
#define RULE_RESOURCE_OR_PRODUCT(Name, text, vars, scalars, gradient, after, more, mask, ...)                          \
    RULE_RESOURCE(Name, text, vars, scalars ", " gradient ": T" after, more, mask, __VA_ARGS__) \
    RULE_OF_PRODUCT(Name, gradient)                                                                                    \
    const Op op__##Name##MatMul = {                                                                                    \
        .signature = "_" #Name "MatMul(" vars scalars after PRODUCT_LISTS ")" PRODUCT_ATTRS more "; stateful", .doc = text,  \
        PRODUCT_FIELDS, .update = mask, .cpu = __VA_ARGS__, .flags = OP_NO_GRADIENT,                                   \
    };
// For devices that compile: the rule of whole variables, or of a row of each. x is changed in place.
typedef struct {
    HloValue x[MOST_VARS], g, s[MOST_SCALARS];   // half and bfloat16 as float
    const Rule *rule;
} RuleWords;
FALLIBLE Status *rule_hlo(Hlo *h, void (*words)(Hlo *h, RuleWords *r));
#define RULE_HLO(Name, ...)                                                                     \
    static COLD void Name##_words(Hlo *h, RuleWords *r) {                                       \
        HloValue *x = r->x, *s = r->s, g = r->g;                                                \
        (void)x, (void)s, (void)g;                                                              \
        __VA_ARGS__;                                                                            \
    }                                                                                           \
    static COLD Status *Name##_hlo(Hlo *h) {                                                    \
        return rule_hlo(h, Name##_words);                                                       \
    }
#define PLUS(a, b)    hlo_add(h, (a), (b))
#define MINUS(a, b)   hlo_sub(h, (a), (b))
#define TIMES(a, b)   hlo_mul(h, (a), (b))
#define OVER(a, b)    hlo_div(h, (a), (b))
#define ROOT_OF(a)    hlo_sqrt(h, (a))
#define ONE_LESS(a)   hlo_minus(h, 1, (a))
#define MORE_OF(a, b) hlo_max(h, (a), (b))
#define TWICE(a)      hlo_times(h, (a), 2)

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
#define SCALAR(j) (*(const T *)data->scalar[j])
// Inside `update`: the gradient is g, variable j is x0 ... x3; what is assigned to them is stored.
#define RULE_KERNEL(Name, n_used, setup, ...)                                                                        \
    static void FN(Name##_elements)(const Rule *rule, const RuleData *data, int64_t n) {                              \
        T *p0 = data->x[0], *p1 = data->x[1], *p2 = data->x[2], *p3 = data->x[3];                                    \
        const T *gradient = data->gradient;                                                                          \
        (void)rule, (void)p1, (void)p2, (void)p3;                                                                    \
        setup;                                                                                                       \
        UPDATE_LOOP                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                            \
            T g = gradient[i], x0 = p0[i], x1 = 0, x2 = 0, x3 = 0;                                                   \
            if ((n_used) > 1)                                                                                        \
                x1 = p1[i];                                                                                          \
            if ((n_used) > 2)                                                                                        \
                x2 = p2[i];                                                                                          \
            if ((n_used) > 3)                                                                                        \
                x3 = p3[i];                                                                                          \
            (void)x1, (void)x2, (void)x3;                                                                            \
            __VA_ARGS__;                                                                                             \
            if ((n_used) > 3)                                                                                        \
                p3[i] = x3;                                                                                          \
            if ((n_used) > 2)                                                                                        \
                p2[i] = x2;                                                                                          \
            if ((n_used) > 1)                                                                                        \
                p1[i] = x1;                                                                                          \
            p0[i] = x0;                                                                                              \
        }                                                                                                            \
    }                                                                                                                \
    static Status *FN(Name)(Kernel *k) {                                                                             \
        return rule_run(k, FN(Name##_elements));                                                                     \
    }
