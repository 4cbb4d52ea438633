// UnsortedSegmentJoin — the strings of each segment, one behind the other.
#include "ops/array/moving.h"
#include "ops/string/strings.h"

typedef struct {
    int64_t segments, rows, width;   // rows of `width` strings; each row belongs to a segment
} SegmentJoin;

static Status *join_shape(Shapes *s) {
    const Shape *in = &s->in[0], *ids = &s->in[1];
    int64_t n = UNKNOWN_DIM;
    bool known = shapes_input_int(s, 2, &n);
    NEED(!known || n >= 0, INVALID_ARGUMENT, "Number of segments cannot be negative: %lld", (long long)n);
    NEED(ids->rank != 0, INVALID_ARGUMENT, "Segment_id cannot have rank 0");
    if (in->rank < 0 || ids->rank < 0)
        return OK;
    NEED(ids->rank <= in->rank, INVALID_ARGUMENT, "Invalid segment_id rank %d for input with %d dimension(s)", ids->rank,
         in->rank);
    for (int d = 0; d < ids->rank; d++)
        NEED(in->dims[d] < 0 || ids->dims[d] < 0 || in->dims[d] == ids->dims[d], INVALID_ARGUMENT,
             "Segment dimension is %lld while input dimension is %lld in rank %d.", (long long)ids->dims[d],
             (long long)in->dims[d], d);
    s->out[0] = (Shape){.rank = in->rank - ids->rank + 1, .dims = {known ? n : UNKNOWN_DIM}};
    for (int d = ids->rank; d < in->rank; d++)
        s->out[0].dims[d - ids->rank + 1] = in->dims[d];
    return shape_check(&s->out[0]);
}

static Status *join_prepare(Prepare *p) {
    NEED_VALUE(p, 2);
    const Shape *in = &p->in[0]->shape, *ids = &p->in[1]->shape;
    *(SegmentJoin *)p->own = (SegmentJoin){prepare_input_int(p, 2, 0), shape_count(ids),
                                           shape_span(in, ids->rank, in->rank)};
    return OK;
}

// The rows of each segment in their order, as a chain: `next` of a row, `first` and `last` of a segment; -1 ends it.
static Status *chain(Kernel *k, Arena *arena, int64_t **out_first, int64_t **out_next) {
    const SegmentJoin *own = k->own;
    int64_t *first = ARENA_ARRAY(arena, int64_t, own->segments + 1), *last = ARENA_ARRAY(arena, int64_t, own->segments + 1);
    int64_t *next = ARENA_ARRAY(arena, int64_t, own->rows + 1);
    NEED_MEMORY(first && last && next);
    for (int64_t i = 0; i < own->segments; i++)
        first[i] = -1;
    for (int64_t row = 0; row < own->rows; row++) {
        int64_t id = tensor_int(k->in[1], row);
        NEED(id >= 0 && id < own->segments, INVALID_ARGUMENT, "segment_ids[%lld] = %lld is not in [0, %lld)",
             (long long)row, (long long)id, (long long)own->segments);
        if (first[id] < 0)
            first[id] = row;
        else
            next[last[id]] = row;
        last[id] = row;
        next[row] = -1;
    }
    *out_first = first;
    *out_next = next;
    return OK;
}

static Status *join_run(Kernel *k) {
    const SegmentJoin *own = k->own;
    Str separator = node_str(k->node, "separator");
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text text = {0};
    int64_t *first, *next;
    TRY(chain(k, &arena, &first, &next));
    for (int64_t id = 0; id < own->segments; id++)
        for (int64_t column = 0; column < own->width; column++) {
            for (int64_t row = first[id]; row >= 0; row = next[row]) {
                if (row != first[id])
                    text_add(&text, separator);
                text_add(&text, string_at(k->in[0], row * own->width + column));
            }
            TRY(string_put_text(k->out[0], id * own->width + column, &text));
        }
    return OK;
}

const Op op_UnsortedSegmentJoin = {
    .signature = "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> output: string; "
                 "separator: string = \"\"; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32",
    .doc = "The strings of each segment, one behind the other.", .needs = "scalar(num_segments)", .shape = join_shape,
    .prepare = join_prepare, .own_size = sizeof(SegmentJoin), .cpu = ANY_TYPE(join_run), .host = BIT(2),
    .flags = OP_NO_GRADIENT,
};
