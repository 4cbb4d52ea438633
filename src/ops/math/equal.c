// Equal, NotEqual — comparison of elements of any type, with broadcasting.
#include "ops/math/elementwise.h"

typedef struct {
    Elementwise elementwise;     // first: the family's kernels find it there
    bool answer;                 // where the shapes don't fit
    bool wanted;                 // strings: what equal elements give
    int64_t step[2][MAX_RANK];   // strings: elements
} Equality;

static bool tolerates(const Node *node) {
    return !node_bool(node, "incompatible_shape_error");
}

static Status *equal_shape(Shapes *s) {
    if (!tolerates(s->node))
        return shape_broadcast_all(s);
    const Shape *a = &s->in[0], *b = &s->in[1];
    if (!shape_is_known(a) || !shape_is_known(b))
        return OK;
    Status *status = shape_broadcast(a, b, &s->out[0]);
    if (status)
        s->out[0] = SCALAR_SHAPE;
    status_free(status);
    return OK;
}

static Status *answer_run(Kernel *k) {
    *(bool *)k->out[0]->data = ((const Equality *)k->own)->answer;
    return OK;
}

static Status *strings_run(Kernel *k) {
    const Equality *own = k->own;
    const Tensor *out = k->out[0];
    int64_t n = tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t a = broadcast_place(&out->shape, own->step[0], i), b = broadcast_place(&out->shape, own->step[1], i);
        bool same = str_equal(tstring_str((const TString *)k->in[0]->data + a),
                              tstring_str((const TString *)k->in[1]->data + b));
        ((bool *)out->data)[i] = same == own->wanted;
    }
    return OK;
}

static Status *equal_prepare(Prepare *p) {
    Equality *own = p->own;
    const ElementwiseRow *row = node_op(p->node)->row;
    Shape both;
    Status *status = shape_broadcast(&p->in[0]->shape, &p->in[1]->shape, &both);
    own->wanted = row->op == &elementwise_Equal;
    own->answer = !own->wanted;
    if (status) {
        status_free(status);
        p->run = answer_run;
        return OK;
    }
    if (p->in[0]->dtype != DT_string)
        return elementwise_prepare(p);
    broadcast_steps(&p->in[0]->shape, &p->out[0]->shape, own->step[0]);
    broadcast_steps(&p->in[1]->shape, &p->out[0]->shape, own->step[1]);
    p->run = strings_run;
    return OK;
}

ELEMENTWISE_ROW(Equal)
static COLD Status *equal_hlo(Hlo *h) {
    bool equal = node_op(h->node)->row == &Equal_row;
    Shape shape;
    AUTO(status) Status *apart = shape_broadcast(hlo_in_shape(h, 0), hlo_in_shape(h, 1), &shape);
    if (apart)
        return hlo_out(h, 0, hlo_number(h, !equal, DT_bool));
    return hlo_out(h, 0, hlo_compare(h, equal ? "EQ" : "NE", hlo_in(h, 0), hlo_in(h, 1)));
}

const Op op_Equal = {
    .signature = "Equal(x: T, y: T) -> z: bool; T: type; incompatible_shape_error: bool = true; commutative",
    .doc = "Whether the elements are equal.", .shape = equal_shape, .prepare = equal_prepare,
    .own_size = sizeof(Equality), .cpu = ANY_TYPE(elementwise_run_flat), .flags = OP_NO_GRADIENT, .row = &Equal_row,
    .hlo = equal_hlo,
};
ELEMENTWISE_ROW(NotEqual)
const Op op_NotEqual = {
    .signature = "NotEqual(x: T, y: T) -> z: bool; T: type; incompatible_shape_error: bool = true; commutative",
    .doc = "Whether the elements differ.", .shape = equal_shape, .prepare = equal_prepare,
    .own_size = sizeof(Equality), .cpu = ANY_TYPE(elementwise_run_flat), .flags = OP_NO_GRADIENT,
    .row = &NotEqual_row, .hlo = equal_hlo,
};
