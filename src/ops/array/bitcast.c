// Bitcast — the same bytes read as another type.
#include "ops/op.h"

static Status *bitcast_shape(Shapes *s) {
    size_t from = dtype_size(node_type(s->node, "T")), to = dtype_size(node_type(s->node, "type"));
    const Shape *in = &s->in[0];
    if (in->rank < 0)
        return OK;
    Shape out = *in;
    if (from < to) {  // the last dimension becomes one element
        int64_t n = (int64_t)(to / from);
        NEED(in->rank > 0 && (in->dims[in->rank - 1] < 0 || in->dims[in->rank - 1] == n), INVALID_ARGUMENT,
             "Cannot bitcast from %s to %s: the last dimension of %s must be %lld", dtype_name(node_type(s->node, "T")),
             dtype_name(node_type(s->node, "type")), shape_text(in), (long long)n);
        out.dims[--out.rank] = 0;
    } else if (from > to) {
        NEED(in->rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
        out.dims[out.rank++] = (int64_t)(from / to);
    }
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *bitcast_run(Kernel *k) {
    memcpy(k->out[0]->data, k->in[0]->data, tensor_bytes(k->out[0]));
    return OK;
}

#define TYPES                                                            \
    "{floats, int64, int32, unsigned_integers, int8, int16, complexes, " \
    "qint8, quint8, qint16, quint16, qint32}"

static COLD Status *bitcast_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    NEED(x->dtype != DT_bool && hlo_out_type(h, 0) != DT_bool && !dtype_is_complex(x->dtype) &&
         !dtype_is_complex(hlo_out_type(h, 0)), UNIMPLEMENTED, "the bytes of these types");
    return hlo_out(h, 0, hlo_bitcast(h, x, hlo_out_type(h, 0), *hlo_out_shape(h, 0)));
}

const Op op_Bitcast = {
    .signature = "Bitcast(input: T) -> output: type; T: " TYPES "; type: " TYPES,
    .doc = "The same bytes read as another type; a difference in size becomes a last dimension.",
    .shape = bitcast_shape,
    .cpu = ANY_TYPE(bitcast_run), .flags = OP_NO_GRADIENT, .hlo = bitcast_hlo,
};
