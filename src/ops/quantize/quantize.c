// QuantizeV2, Dequantize — floats as small integers over a range, and back.
#include <float.h>

#include "loops/cast.h"
#include "ops/op.h"

typedef enum { MIN_COMBINED, MIN_FIRST, SCALED } Way;

typedef struct {
    int64_t outer, slices, inner;   // [outer, slices, inner]: a slice has a range of its own
    Way way;
    bool is_signed, narrow, half_even;
    double lowest, highest;         // of the integers
    float room;                     // that a range has at least
    CastLoop load, store;           // a tile to the doubles that are computed with, and back
    size_t from_size, to_size;
} Quantize;

enum { TILE = 256 };

static Status *quantize_prepare(Prepare *p) {
    Quantize *own = p->own;
    const Node *node = p->node;
    bool back = dtype_is_float(p->out[0]->dtype);
    DType small = back ? p->in[0]->dtype : p->out[0]->dtype;
    const Shape *shape = &p->in[0]->shape;
    int64_t axis = node_int(node, "axis");
    NEED(axis >= -1 && axis < shape->rank, INVALID_ARGUMENT, "Axis must be less than input dimension(%d) and not less "
         "than -1, got %lld", shape->rank, (long long)axis);
    own->slices = axis < 0 ? 1 : shape->dims[axis];
    own->outer = axis < 0 ? 1 : shape_span(shape, 0, (int)axis);
    own->inner = axis < 0 ? shape_count(shape) : shape_span(shape, (int)axis + 1, shape->rank);
    for (int i = 1; i <= 2; i++) {
        const Shape *range = &p->in[i]->shape;
        NEED(axis < 0 ? shape_count(range) == 1 : range->rank == 1 && range->dims[0] == own->slices, INVALID_ARGUMENT,
             "the range must have shape %s, got %s", axis < 0 ? "[]" : shape_text(&SHAPE(own->slices)), shape_text(range));
    }
    Str mode = node_str(node, "mode");
    own->way = str_is(mode, "SCALED") ? SCALED : str_is(mode, "MIN_FIRST") ? MIN_FIRST : MIN_COMBINED;
    own->narrow = node_bool(node, "narrow_range");
    own->half_even = !back && str_is(node_str(node, "round_mode"), "HALF_TO_EVEN");
    NEED(back || own->way == SCALED || !own->half_even, INVALID_ARGUMENT,
         "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '%.*s'.", STR_ARGS(mode));
    own->room = back ? 0 : (float)node_float(node, "ensure_minimum_range");
    own->is_signed = small == DT_qint8 || small == DT_qint16 || small == DT_qint32;
    double steps = ldexp(1, 8 * (int)dtype_size(small));
    own->lowest = own->is_signed ? -steps / 2 : 0;
    own->highest = own->lowest + steps - 1;
    own->from_size = dtype_size(p->in[0]->dtype);
    own->to_size = dtype_size(p->out[0]->dtype);
    NEED(cast_find(p->in[0]->dtype, DT_double, &own->load) && cast_find(DT_double, p->out[0]->dtype, &own->store), INTERNAL,
         "no conversion of %s", dtype_name(small));
    p->cost = kernel_cost(shape_count(shape), 2500, 0);
    return OK;
}

// What a slice's elements are multiplied by and moved by.
typedef struct {
    float low, high, scale, start;
} Range;

static Status *range_of(const Quantize *own, float low, float high, Range *r) {
    NEED(!(high < low), INVALID_ARGUMENT, "max_range must be larger than min_range: [%g, %g]", (double)low, (double)high);
    float room = fmaxf(1, fmaxf(fabsf(low), fabsf(high))) * own->room;
    r->low = fminf(0, low);
    r->high = fmaxf(0, fmaxf(high, r->low + room));
    float lowest = (float)(own->lowest + own->narrow), highest = (float)own->highest;
    if (own->way == SCALED) {
        float by_low = lowest * r->low > 0 ? lowest / r->low : FLT_MAX;
        float by_high = highest * r->high > 0 ? highest / r->high : FLT_MAX;
        r->scale = fminf(by_low, by_high);
        r->low = lowest / r->scale;
        r->high = highest / r->scale;
        return OK;
    }
    r->scale = r->high == r->low ? 0 : (float)((own->highest - own->lowest) / (double)(r->high - r->low));
    r->start = own->way == MIN_FIRST ? roundf(r->low * r->scale) : 0;
    return OK;
}

static double quantized(const Quantize *own, const Range *r, float x) {
    double least = own->lowest;
    float value;
    if (own->way == MIN_FIRST) {
        value = roundf(x * r->scale) - r->start;
        double moved = (double)value + own->lowest;
        return fmin(fmax(moved, own->lowest), own->highest);
    }
    x = x > r->high ? r->high : x < r->low ? r->low : x;
    if (own->way == SCALED) {
        value = own->half_even ? rintf(x * r->scale) : roundf(x * r->scale);
        least += own->narrow;
    } else {
        value = (x - r->low) * r->scale;
        value = own->is_signed ? roundf(value + (float)own->lowest) : floorf(value + 0.5f);
    }
    return fmin(fmax((double)value, least), own->highest);
}

static void back_range(const Quantize *own, float low, float high, Range *r) {
    double steps = own->highest - own->lowest;
    float scale = (float)((double)(high - low) / steps);
    if (own->way == SCALED) {
        float by_high = high / (float)own->highest;
        *r = (Range){.scale = own->is_signed ? fmaxf(low / (float)(own->lowest + own->narrow), by_high) : by_high};
    } else if (own->way == MIN_FIRST) {
        *r = (Range){.scale = scale, .start = low == high ? low : roundf(low / scale) * scale};
    } else {
        *r = (Range){.scale = scale, .start = low};
    }
}

static double dequantized(const Quantize *own, const Range *r, double x) {
    if (own->way == SCALED)
        return (double)((float)x * r->scale);
    return (double)((float)(x - own->lowest) * r->scale + r->start);
}

static Status *quantize_run(Kernel *k) {
    const Quantize *own = k->own;
    bool back = k->n_out == 1;
    for (int64_t slice = 0; slice < own->slices; slice++) {
        float low = ((const float *)k->in[1]->data)[slice], high = ((const float *)k->in[2]->data)[slice];
        Range r = {0};
        if (back) {
            back_range(own, low, high, &r);
        } else {
            TRY(range_of(own, low, high, &r));
            ((float *)k->out[1]->data)[slice] = r.low;
            ((float *)k->out[2]->data)[slice] = r.high;
        }
        for (int64_t outer = 0; outer < own->outer; outer++)
            for (int64_t done = 0; done < own->inner; done += TILE) {
                size_t at = (size_t)((outer * own->slices + slice) * own->inner + done);
                int64_t n = min_i64(TILE, own->inner - done);
                double tile[TILE];
                cast_run(&own->load, (const char *)k->in[0]->data + at * own->from_size, tile, n);
                for (int64_t i = 0; i < n; i++)
                    tile[i] = back ? dequantized(own, &r, tile[i]) : quantized(own, &r, (float)tile[i]);
                cast_run(&own->store, tile, (char *)k->out[0]->data + at * own->to_size, n);
            }
    }
    return OK;
}

static Status *quantize_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t axis = node_int(s->node, "axis");
    NEED(axis >= -1, INVALID_ARGUMENT, "axis should be at least -1, got %lld", (long long)axis);
    s->out[0] = *in;
    Shape range = axis < 0 ? SCALAR_SHAPE : SHAPE(UNKNOWN_DIM);
    if (axis >= 0 && in->rank >= 0) {
        NEED(axis < in->rank, INVALID_ARGUMENT, "axis %lld is not one of %s", (long long)axis, shape_text(in));
        range.dims[0] = in->dims[axis];
    }
    for (int i = 1; i <= 2; i++) {
        Shape merged;
        TRY(shape_merge(&range, &s->in[i], &merged));
        if (i < s->n_out)
            s->out[i] = merged;
    }
    return OK;
}

#define MODE "mode: {\"MIN_COMBINED\", \"MIN_FIRST\", \"SCALED\"} = \"MIN_COMBINED\"; "
#define OF_QUANTIZE \
    .shape = quantize_shape, .prepare = quantize_prepare, .own_size = sizeof(Quantize), .cpu = ANY_TYPE(quantize_run)

const Op op_QuantizeV2 = {
    .signature = "QuantizeV2(input: float, min_range: float, max_range: float) -> output: T, output_min: float, "
                 "output_max: float; T: quantized; " MODE
                 "round_mode: {\"HALF_AWAY_FROM_ZERO\", \"HALF_TO_EVEN\"} = \"HALF_AWAY_FROM_ZERO\"; "
                 "narrow_range: bool = false; axis: int = -1; ensure_minimum_range: float = 0.01",
    .doc = "Floats of a range as small integers, and the range that these have.", OF_QUANTIZE, .flags = OP_NO_GRADIENT,
};
const Op op_Dequantize = {
    .signature = "Dequantize(input: T, min_range: float, max_range: float) -> output: dtype; T: quantized; " MODE
                 "narrow_range: bool = false; axis: int = -1; dtype: {bfloat16, float} = float",
    .doc = "Small integers as the floats of a range that they stand for.", OF_QUANTIZE, .flags = OP_NO_GRADIENT,
};
