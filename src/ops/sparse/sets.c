// DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation, SetSize — rows along the last
// dimension as sets.
#include "ops/sparse/coo.h"

#include <stdlib.h>

typedef enum { A_MINUS_B, B_MINUS_A, INTERSECTION, UNION } SetOperation;

typedef struct {
    SetOperation operation;
    bool validates;
} SetOwn;

static Status *set_prepare(Prepare *p) {
    static const char *const NAMES[] = {"a-b", "b-a", "intersection", "union"};
    SetOwn *own = p->own;
    const AttrValue *name = node_attr_find(p->node, "set_operation");
    own->validates = node_bool(p->node, "validate_indices");
    for (int i = 0; name && i < 4; i++) {
        own->operation = (SetOperation)i;
        Str wanted = {NAMES[i], strlen(NAMES[i])};
        if (name->s.n == wanted.n && !strncasecmp(name->s.p, wanted.p, wanted.n))
            return OK;
    }
    NEED(!name, INVALID_ARGUMENT, "Invalid set_operation %.*s.", STR_ARGS(name->s));
    return OK;
}

// A set operand: sparse, or the rows of a dense tensor.
typedef struct {
    Coo coo;                 // sparse; `indices` is NULL where it is dense
    const Tensor *values;
    Shape groups;            // all dimensions but the last
    int64_t width, next;     // of a dense row; the sparse element that comes next
} Operand;

static Status *operand_dense(const Tensor *t, Operand *out) {
    NEED(t->shape.rank >= 2, INVALID_ARGUMENT, "Set input rank must be at least 2, got shape %s", shape_text(&t->shape));
    *out = (Operand){.values = t, .groups = t->shape, .width = t->shape.dims[t->shape.rank - 1]};
    out->groups.dims[--out->groups.rank] = 0;
    return OK;
}

static Status *operand_sparse(const Kernel *k, int first, bool validates, Operand *out) {
    Coo coo;
    TRY(coo_get(k, first, &coo));
    NEED(coo.rank >= 2, INVALID_ARGUMENT, "Set input rank must be at least 2, got a sparse tensor of %lld dimensions",
         (long long)coo.rank);
    Shape whole;
    TRY(coo_shape(&coo, &whole));
    TRY(validates ? coo_check_order(&coo) : coo_check(&coo));
    for (int64_t i = 1; i < coo.n; i++)
        NEED(coo_compare(coo.indices + (i - 1) * coo.rank, coo.indices + i * coo.rank, coo.rank - 1) <= 0,
             INVALID_ARGUMENT, "indices[%lld] is out of order", (long long)i);
    *out = (Operand){.coo = coo, .values = coo.values, .groups = whole};
    out->groups.dims[--out->groups.rank] = 0;
    return OK;
}

// ---------------------------------------- sorted, unique elements of a group

// Elements as numbers or texts, so that they compare.
static int element_compare(const Tensor *t, int64_t i, const Tensor *u, int64_t j) {
    if (t->dtype == DT_string) {
        Str a = tstring_str((const TString *)t->data + i), b = tstring_str((const TString *)u->data + j);
        int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
        return order ? order : (a.n > b.n) - (a.n < b.n);
    }
    int64_t x, y;
    switch (t->dtype) {
    case DT_uint8: x = ((const uint8_t *)t->data)[i], y = ((const uint8_t *)u->data)[j]; break;
    case DT_uint16: x = ((const uint16_t *)t->data)[i], y = ((const uint16_t *)u->data)[j]; break;
    default: x = host_int(t, i), y = host_int(u, j); break;
    }
    return (x > y) - (x < y);
}

typedef struct {
    const Tensor *values;
    int64_t at;
} Element;

static int compare_elements(const void *a, const void *b) {
    const Element *x = a, *y = b;
    return element_compare(x->values, x->at, y->values, y->at);
}

// The set of a group; `elements` has room for all of them. How many it has.
static int64_t collect(Operand *operand, int64_t group, const int64_t *places, Element *elements) {
    int64_t n = 0, kept = 0;
    const Coo *coo = &operand->coo;
    if (!coo->dims)
        for (; n < operand->width; n++)
            elements[n] = (Element){operand->values, group * operand->width + n};
    else
        for (; operand->next < coo->n &&
               coo_compare(coo->indices + operand->next * coo->rank, places, coo->rank - 1) == 0; n++)
            elements[n] = (Element){operand->values, operand->next++};
    if (n > 1)
        qsort(elements, (size_t)n, sizeof *elements, compare_elements);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || compare_elements(&elements[kept - 1], &elements[i]) != 0)
            elements[kept++] = elements[i];
    return kept;
}

// What of two sets the operation keeps, in order, to `out`. How many.
static int64_t operate(SetOperation operation, const Element *a, int64_t n, const Element *b, int64_t m, Element *out) {
    int64_t i = 0, j = 0, kept = 0;
    while (i < n || j < m) {
        int order = i == n ? 1 : j == m ? -1 : compare_elements(&a[i], &b[j]);
        bool take = operation == UNION || (order < 0 && operation == A_MINUS_B) ||
                    (order > 0 && operation == B_MINUS_A) || (order == 0 && operation == INTERSECTION);
        if (take)
            out[kept++] = order <= 0 ? a[i] : b[j];
        i += order <= 0;
        j += order >= 0;
    }
    return kept;
}

// ---------------------------------------- over all groups

typedef struct {
    Element *kept;           // of all groups, one behind the other
    int64_t *group_of, n, most;
} Results;

static bool next_group(const Shape *groups, int64_t *places) {
    for (int d = groups->rank - 1; d >= 0; d--) {
        if (++places[d] < groups->dims[d])
            return true;
        places[d] = 0;
    }
    return false;
}

static int64_t operand_room(const Operand *operand) {
    return operand->coo.dims ? operand->coo.n : tensor_count(operand->values);
}

// The operands' groups (all dimensions but the last) are walked in lexicographic order, the sparse elements in step
// with them, so each sparse operand is read once. TensorFlow gives results sorted within a group; so are the sets here.
static Status *run_groups(const SetOwn *own, Operand *a, Operand *b, Arena *arena, Results *out) {
    int64_t places[MAX_RANK] = {0}, count = shape_count(&a->groups), room_a = operand_room(a), room_b = operand_room(b);
    Element *left = ARENA_ARRAY(arena, Element, room_a + 1), *right = ARENA_ARRAY(arena, Element, room_b + 1);
    *out = (Results){.kept = ARENA_ARRAY(arena, Element, room_a + room_b + 1),
                     .group_of = ARENA_ARRAY(arena, int64_t, room_a + room_b + 1)};
    NEED_MEMORY(left && right && out->kept && out->group_of);
    for (int64_t group = 0; group < count; group++) {
        if (a->coo.dims && b->coo.dims && a->next == a->coo.n && b->next == b->coo.n)
            break;           // all groups that follow are empty
        int64_t n = collect(a, group, places, left), m = collect(b, group, places, right);
        int64_t kept = operate(own->operation, left, n, right, m, out->kept + out->n);
        for (int64_t i = 0; i < kept; i++)
            out->group_of[out->n + i] = group;
        out->n += kept;
        out->most = max_i64(out->most, kept);
        next_group(&a->groups, places);
    }
    return OK;
}

static Status *put_results(Kernel *k, const Shape *groups, const Results *results) {
    int rank = groups->rank + 1;
    TRY(kernel_output(k, 0, SHAPE(results->n, rank)));
    TRY(kernel_output(k, 1, SHAPE(results->n)));
    TRY(kernel_output(k, 2, SHAPE(rank)));
    int64_t *indices = k->out[0]->data, *dims = k->out[2]->data, place = 0;
    for (int64_t i = 0; i < results->n; i++) {
        int64_t rest = results->group_of[i];
        place = i && results->group_of[i - 1] == rest ? place + 1 : 0;
        for (int d = groups->rank - 1; d >= 0; d--) {
            indices[i * rank + d] = rest % groups->dims[d];
            rest /= groups->dims[d];
        }
        indices[i * rank + rank - 1] = place;
        TRY(element_copy(results->kept[i].values, results->kept[i].at, k->out[1], i));
    }
    memcpy(dims, groups->dims, (size_t)groups->rank * sizeof *dims);
    dims[rank - 1] = results->most;
    return OK;
}

static Status *set_operation(Kernel *k, Operand *a, Operand *b) {
    AUTO(arena) Arena arena = {0};
    Results results;
    NEED(shape_equal(&a->groups, &b->groups), INVALID_ARGUMENT, "Mismatched group shapes: %s vs %s",
         shape_text(&a->groups), shape_text(&b->groups));
    TRY(run_groups(k->own, a, b, &arena, &results));
    return put_results(k, &a->groups, &results);
}

static Status *dense_dense_run(Kernel *k) {
    Operand a, b;
    TRY(operand_dense(k->in[0], &a));
    TRY(operand_dense(k->in[1], &b));
    return set_operation(k, &a, &b);
}

static Status *dense_sparse_run(Kernel *k) {
    Operand a, b;
    TRY(operand_dense(k->in[0], &a));
    TRY(operand_sparse(k, 1, ((const SetOwn *)k->own)->validates, &b));
    return set_operation(k, &a, &b);
}

static Status *sparse_sparse_run(Kernel *k) {
    Operand a, b;
    bool validates = ((const SetOwn *)k->own)->validates;
    TRY(operand_sparse(k, 0, validates, &a));
    TRY(operand_sparse(k, 3, validates, &b));
    return set_operation(k, &a, &b);
}

static Status *size_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Operand a;
    TRY(operand_sparse(k, 0, ((const SetOwn *)k->own)->validates, &a));
    TRY(kernel_output(k, 0, a.groups));
    Element *elements = ARENA_ARRAY(&arena, Element, a.coo.n + 1);
    NEED_MEMORY(elements);
    int32_t *sizes = k->out[0]->data;
    memset(sizes, 0, tensor_bytes(k->out[0]));
    while (a.next < a.coo.n) {
        const int64_t *row = a.coo.indices + a.next * a.coo.rank;
        int64_t place = 0;
        for (int d = 0; d < a.groups.rank; d++)
            place = place * a.groups.dims[d] + row[d];
        sizes[place] = (int32_t)collect(&a, place, row, elements);
    }
    return OK;
}

static Status *set_shape(Shapes *s) {
    int64_t rank = UNKNOWN_DIM;
    for (int i = 0; i < s->n_in; i++)
        if (s->node && s->in[i].rank >= 0) {
            if (s->n_in == 2 || (s->n_in == 4 && i == 0))
                rank = max_i64(rank, s->in[i].rank);
            else if (s->in[i].rank == 1 && (i == 2 || i == 5 || (s->n_in == 4 && i == 3)) && !(s->n_in == 4 && i == 2))
                rank = max_i64(rank, s->in[i].dims[0]);
        }
    s->out[0] = SHAPE(UNKNOWN_DIM, rank);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(rank);
    return OK;
}

#define RESULT "result_indices: int64, result_values: T, result_shape: int64; set_operation: string; " \
               "validate_indices: bool = true; " SETS
#define SETS "T: {int8, int16, int32, int64, uint8, uint16, string}"
#define OF_SETS .prepare = set_prepare, .own_size = sizeof(SetOwn), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT
const Op op_DenseToDenseSetOperation = {
    .signature = "DenseToDenseSetOperation(set1: T, set2: T) -> " RESULT, .shape = set_shape, OF_SETS,
    .doc = "Differences, intersections or unions of the rows of two tensors, each row a set.",
    .cpu = ANY_TYPE(dense_dense_run),
};
const Op op_DenseToSparseSetOperation = {
    .signature = "DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) -> " RESULT,
    .doc = "Differences, intersections or unions of the rows of a dense and a sparse tensor.", .shape = set_shape,
    .cpu = ANY_TYPE(dense_sparse_run), OF_SETS,
};
const Op op_SparseToSparseSetOperation = {
    .signature = "SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, "
                 "set2_indices: int64, set2_values: T, set2_shape: int64) -> " RESULT,
    .doc = "Differences, intersections or unions of the rows of two sparse tensors.", .shape = set_shape,
    .cpu = ANY_TYPE(sparse_sparse_run), OF_SETS,
};
const Op op_SetSize = {
    .signature = "SetSize(set_indices: int64, set_values: T, set_shape: int64) -> size: int32; "
                 "validate_indices: bool = true; " SETS,
    .doc = "How many different elements each row of a sparse tensor has.", .shape = shape_none,
    .cpu = ANY_TYPE(size_run), OF_SETS,
};
