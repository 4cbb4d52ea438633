// SpaceToDepth, DepthToSpace, SpaceToBatch(ND), BatchToSpace(ND) — blocks of space moved into another dimension and
// back.
//
// Blocks between space and depth are a permutation of six dimensions, which the copy engine takes as it is
// (loops/move.h). Those between space and batch have edges that are padded or cropped, so they go row by row.
#include "ops/array/moving.h"

// ---------------------------------------- depth

typedef struct {
    int n, h, w, c;
} Format;

static Status *format_of(const Node *node, Format *out) {
    Str format = node_str(node, "data_format");
    NEED(!str_is(format, "NCHW_VECT_C"), UNIMPLEMENTED, "data_format NCHW_VECT_C");
    *out = str_is(format, "NHWC") ? (Format){0, 1, 2, 3} : (Format){0, 2, 3, 1};
    return OK;
}

static Status *divide(int64_t extent, int64_t by, const char *what, int64_t *out) {
    NEED(extent < 0 || extent % by == 0, INVALID_ARGUMENT, "%s of %lld is not divisible by %lld", what,
         (long long)extent, (long long)by);
    *out = extent < 0 ? UNKNOWN_DIM : extent / by;
    return OK;
}

static Status *multiply(int64_t extent, int64_t by, int64_t *out) {
    *out = UNKNOWN_DIM;
    NEED(extent < 0 || mul_i64(extent, by, out), INVALID_ARGUMENT, "too many elements");
    return OK;
}

static Status *depth_shape(Shapes *s, bool to_depth) {
    const Shape *in = &s->in[0];
    int64_t block = node_int(s->node, "block_size"), square;
    Format format;
    TRY(format_of(s->node, &format));
    NEED(mul_i64(block, block, &square), INVALID_ARGUMENT, "block_size %lld is too large", (long long)block);
    if (in->rank < 0)
        return OK;
    Shape out = *in;
    if (to_depth) {
        TRY(divide(in->dims[format.h], block, "Image height", &out.dims[format.h]));
        TRY(divide(in->dims[format.w], block, "Image width", &out.dims[format.w]));
        TRY(multiply(in->dims[format.c], square, &out.dims[format.c]));
    } else {
        TRY(multiply(in->dims[format.h], block, &out.dims[format.h]));
        TRY(multiply(in->dims[format.w], block, &out.dims[format.w]));
        TRY(divide(in->dims[format.c], square, "Input depth dimension", &out.dims[format.c]));
    }
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *to_depth_shape(Shapes *s) {
    return depth_shape(s, true);
}
static Status *to_space_shape(Shapes *s) {
    return depth_shape(s, false);
}

// Both are one permutation of [n, h, block, w, block, c], read in one direction or the other.
static Status *depth_prepare(Prepare *p) {
    Move *move = p->own;
    bool to_depth = node_op(p->node)->row != NULL;
    const Shape *deep = to_depth ? &p->out[0]->shape : &p->in[0]->shape;
    const Shape *wide = to_depth ? &p->in[0]->shape : &p->out[0]->shape;
    int64_t block = node_int(p->node, "block_size");
    Format f;
    TRY(format_of(p->node, &f));
    int64_t c = wide->dims[f.c], in_wide[4], in_deep[4], step_wide = 1, step_deep = 1;
    for (int d = 3; d >= 0; d--) {
        in_wide[d] = step_wide;
        in_deep[d] = step_deep;
        step_wide *= wide->dims[d];
        step_deep *= deep->dims[d];
    }
    int64_t dims[6] = {deep->dims[0], deep->dims[f.h], block, deep->dims[f.w], block, c};
    int64_t wides[6] = {in_wide[0], in_wide[f.h] * block, in_wide[f.h], in_wide[f.w] * block, in_wide[f.w],
                        in_wide[f.c]};
    int64_t deeps[6] = {in_deep[0], in_deep[f.h], in_deep[f.c] * block * c, in_deep[f.w], in_deep[f.c] * c,
                        in_deep[f.c]};
    copy_prepare(6, dims, to_depth ? wides : deeps, to_depth ? deeps : wides, moved_size(p->out[0]->dtype),
                 &move->copy);
    move_ready(p, move, 0);
    return OK;
}

static void to_depth_grad(Formula *f) {
    f->dx[0] = Like("DepthToSpace", f->dy[0]);
}
static void to_space_grad(Formula *f) {
    f->dx[0] = Like("SpaceToDepth", f->dy[0]);
}

// ---------------------------------------- for devices that compile

static COLD Status *depth_hlo(Hlo *h) {
    bool to_depth = node_op(h->node)->row != NULL;
    HloValue x = hlo_in(h, 0);
    const Shape *out = hlo_out_shape(h, 0), *wide = to_depth ? &x->shape : out, *deep = to_depth ? out : &x->shape;
    int64_t block = node_int(h->node, "block_size");
    Format f;
    TRY(h->status);
    TRY(format_of(h->node, &f));
    int64_t n = wide->dims[0], high = deep->dims[f.h], across = deep->dims[f.w], c = wide->dims[f.c];
    bool planes = f.c == 1;
    if (to_depth) {
        Shape apart = planes ? SHAPE(n, c, high, block, across, block) : SHAPE(n, high, block, across, block, c);
        Shape perm = planes ? SHAPE(0, 3, 5, 1, 2, 4) : SHAPE(0, 1, 3, 2, 4, 5);
        x = hlo_transpose(h, hlo_reshape(h, x, apart), perm);
    } else {
        Shape apart = planes ? SHAPE(n, block, block, c, high, across) : SHAPE(n, high, across, block, block, c);
        Shape perm = planes ? SHAPE(0, 3, 4, 1, 5, 2) : SHAPE(0, 1, 3, 2, 4, 5);
        x = hlo_transpose(h, hlo_reshape(h, x, apart), perm);
    }
    return hlo_out(h, 0, hlo_reshape(h, x, *out));
}

const Op op_SpaceToDepth = {
    .signature = "SpaceToDepth(input: T) -> output: T; T: type; block_size: int >= 2; "
                 "data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\"",
    .doc = "Blocks of rows and columns moved into the channels.", .needs = "rank(input) == 4",
    .shape = to_depth_shape, .grad = to_depth_grad, .prepare = depth_prepare, .own_size = sizeof(Move),
    .cpu = ANY_TYPE(move_run), .row = "to depth", .hlo = depth_hlo,
};
const Op op_DepthToSpace = {
    .signature = "DepthToSpace(input: T) -> output: T; T: type; block_size: int >= 2; "
                 "data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\"",
    .doc = "Channels moved into blocks of rows and columns.", .needs = "rank(input) == 4", .shape = to_space_shape,
    .grad = to_space_grad, .prepare = depth_prepare, .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run),
    .hlo = depth_hlo,
};

// ---------------------------------------- batch

enum { MOST_BLOCKS = 4 };  // dimensions of space

typedef struct {
    int n;                                              // dimensions of space
    int64_t block[MOST_BLOCKS], before[MOST_BLOCKS], after[MOST_BLOCKS];  // and of padding, or of what is cropped
    bool known_block, known_edges;
} Blocks;

// The block sizes, from the attribute block_size or from input 1, and the matrix of paddings or crops.
static Status *blocks_of(const Node *node, const Tensor *block, int64_t n, const Tensor *edges, Blocks *out) {
    const AttrValue *attr = node_attr_find(node, "block_size");
    NEED(n <= MOST_BLOCKS, UNIMPLEMENTED, "at most %d dimensions of blocks are supported, got %lld", MOST_BLOCKS,
         (long long)n);
    *out = (Blocks){.n = (int)n, .known_block = attr || block, .known_edges = edges};
    for (int i = 0; i < n; i++) {
        out->block[i] = attr ? attr->i : block ? tensor_int(block, i) : 1;
        NEED(out->block[i] >= 1, INVALID_ARGUMENT,
             "All values in block_shape must be positive, got value, %lld at index %d", (long long)out->block[i], i);
        out->before[i] = edges ? tensor_int(edges, 2 * i) : 0;
        out->after[i] = edges ? tensor_int(edges, 2 * i + 1) : 0;
        NEED(out->before[i] >= 0 && out->after[i] >= 0, INVALID_ARGUMENT, "paddings and crops must be non-negative");
    }
    return OK;
}

static Status *batch_shape(Shapes *s, bool to_batch) {
    const Shape *in = &s->in[0];
    int last = s->n_in - 1;
    bool nd = last == 2;
    const Shape *edges = &s->in[last];
    int64_t n = nd ? (s->in[1].rank == 1 ? s->in[1].dims[0] : -1) : 2;
    NEED(edges->rank < 0 || ((edges->dims[1] < 0 || edges->dims[1] == 2) &&
                             (n < 0 || edges->dims[0] < 0 || edges->dims[0] == n)),
         INVALID_ARGUMENT, "paddings and crops must have shape [%lld, 2], got %s", (long long)n, shape_text(edges));
    NEED(in->rank < 0 || n < 0 || in->rank >= n + 1, INVALID_ARGUMENT, "input rank should be >= %lld instead of %d",
         (long long)n + 1, in->rank);
    if (in->rank < 0 || n < 0)
        return OK;
    Blocks blocks;
    TRY(blocks_of(s->node, nd ? s->value[1] : NULL, n, s->value[last], &blocks));
    Shape out = *in;
    int64_t product = 1;
    for (int i = 0; i < n; i++) {
        int64_t *extent = &out.dims[i + 1], edge;
        NEED(mul_i64(product, blocks.block[i], &product) && add_i64(blocks.before[i], blocks.after[i], &edge),
             INVALID_ARGUMENT, "block sizes or edges are too large");
        if (!blocks.known_block || !blocks.known_edges || *extent < 0) {
            *extent = UNKNOWN_DIM;
        } else if (to_batch) {
            NEED(add_i64(*extent, edge, extent), INVALID_ARGUMENT, "paddings are too large");
            TRY(divide(*extent, blocks.block[i], "a padded extent", extent));
        } else {
            TRY(multiply(*extent, blocks.block[i], extent));
            NEED(*extent >= edge, INVALID_ARGUMENT, "cropped size must be non-negative, got %lld less %lld",
                 (long long)*extent, (long long)edge);
            *extent -= edge;
        }
    }
    if (!blocks.known_block)
        out.dims[0] = UNKNOWN_DIM;
    else
        TRY(to_batch ? multiply(in->dims[0], product, &out.dims[0])
            : divide(in->dims[0], product, "the batch", &out.dims[0]));
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *to_batch_shape(Shapes *s) {
    return batch_shape(s, true);
}
static Status *from_batch_shape(Shapes *s) {
    return batch_shape(s, false);
}

typedef struct {
    Blocks blocks;
    bool to_batch;
    size_t row;   // bytes of what lies behind the dimensions of space
} Batching;

// By rows of what follows the dimensions of space. A batch entry of the blocked side is (block offset, batch), the
// offset being the slower part, as TensorFlow lays it out. A row is at offset + index * block - before in space, or
// else in the padding, which is written as zeros one way and cropped the other.
static Status *batch_move(Kernel *k, const void *const *in, void *const *out) {
    const Batching *own = k->own;
    const Blocks *b = &own->blocks;
    const Shape *many = own->to_batch ? &k->out[0]->shape : &k->in[0]->shape;
    const Shape *wide = own->to_batch ? &k->in[0]->shape : &k->out[0]->shape;
    int64_t rows = shape_span(many, 0, b->n + 1);
    for (int64_t row = 0; row < rows && own->row; row++) {
        int64_t at[MOST_BLOCKS], rest = row, to = 0;
        bool inside = true;
        for (int i = b->n - 1; i >= 0; i--) {
            at[i] = rest % many->dims[i + 1];
            rest /= many->dims[i + 1];
        }
        int64_t block = rest / wide->dims[0], batch = rest % wide->dims[0];
        for (int i = b->n - 1; i >= 0; i--) {
            at[i] = at[i] * b->block[i] + block % b->block[i] - b->before[i];
            block /= b->block[i];
            inside &= at[i] >= 0 && at[i] < wide->dims[i + 1];
        }
        to = batch;
        for (int i = 0; i < b->n; i++)
            to = to * wide->dims[i + 1] + at[i];
        if (own->to_batch && !inside)
            memset((char *)out[0] + (size_t)row * own->row, 0, own->row);
        else if (own->to_batch)
            memcpy((char *)out[0] + (size_t)row * own->row, (const char *)in[0] + (size_t)to * own->row, own->row);
        else if (inside)
            memcpy((char *)out[0] + (size_t)to * own->row, (const char *)in[0] + (size_t)row * own->row, own->row);
    }
    return OK;
}

static Status *batch_run(Kernel *k) {
    return tensor_count(k->out[0]) ? move_elements(k, batch_move) : OK;
}

static Status *batch_prepare(Prepare *p) {
    int last = p->n_in - 1;
    NEED_VALUE(p, 1);
    NEED_VALUE(p, last);
    Batching *own = p->own;
    own->to_batch = node_op(p->node)->row != NULL;
    int64_t n = last == 2 ? tensor_count(p->in[1]) : 2;
    TRY(blocks_of(p->node, last == 2 ? p->in[1] : NULL, n, p->in[last], &own->blocks));
    own->row = (size_t)shape_span(&p->in[0]->shape, (int)n + 1, p->in[0]->shape.rank) * moved_size(p->out[0]->dtype);
    p->cost = shape_count(&p->out[0]->shape) * 4;
    return OK;
}

static void to_batch_nd_grad(Formula *f) {
    f->dx[0] = formula_3(f, "BatchToSpaceND", f->dy[0], f->x[1], f->x[2]);
}
static void from_batch_nd_grad(Formula *f) {
    f->dx[0] = formula_3(f, "SpaceToBatchND", f->dy[0], f->x[1], f->x[2]);
}
static void to_batch_grad(Formula *f) {
    f->dx[0] = Like("BatchToSpace", f->dy[0], f->x[1]);
}
static void from_batch_grad(Formula *f) {
    f->dx[0] = Like("SpaceToBatch", f->dy[0], f->x[1]);
}

// ---------------------------------------- for devices that compile

// Between [N, extent, block, ..., rest] and [block, ..., N, extent, ..., rest].
static COLD Status *batch_hlo(Hlo *h) {
    bool to_batch = node_op(h->node)->row != NULL;
    int last = h->n_in - 1;
    const Tensor *block = NULL, *edges;
    TRY(hlo_need(h, last, &edges));
    if (last == 2)
        TRY(hlo_need(h, 1, &block));
    Blocks b;
    TRY(blocks_of(h->node, block, block ? tensor_count(block) : 2, edges, &b));
    HloValue x = hlo_in(h, 0);
    Shape low = {.rank = x->shape.rank}, high = low;
    for (int i = 0; i < b.n; i++) {
        low.dims[i + 1] = b.before[i];
        high.dims[i + 1] = b.after[i];
    }
    if (to_batch)
        x = hlo_pad(h, x, NULL, low, high, NULL);
    TRY(h->status);
    int64_t blocks = 1, rest = shape_span(&x->shape, b.n + 1, x->shape.rank);
    for (int i = 0; i < b.n; i++)
        blocks *= b.block[i];
    int64_t n = to_batch ? x->shape.dims[0] : x->shape.dims[0] / blocks;
    Shape apart = {0}, perm = {0}, whole = SHAPE(to_batch ? n * blocks : n);
    for (int i = 0; i < b.n && !to_batch; i++)
        hlo_list_add(h, &apart, b.block[i]);
    for (int i = 0; i < b.n && to_batch; i++)
        hlo_list_add(h, &perm, 2 * i + 2);
    hlo_list_add(h, &apart, n);
    hlo_list_add(h, &perm, to_batch ? 0 : b.n);
    for (int i = 0; i < b.n; i++) {
        hlo_list_add(h, &apart, to_batch ? x->shape.dims[i + 1] / b.block[i] : x->shape.dims[i + 1]);
        hlo_list_add(h, to_batch ? &apart : &perm, to_batch ? b.block[i] : b.n + 1 + i);
        hlo_list_add(h, &perm, to_batch ? 2 * i + 1 : i);
        hlo_list_add(h, &whole, to_batch ? x->shape.dims[i + 1] / b.block[i] : x->shape.dims[i + 1] * b.block[i]);
    }
    hlo_list_add(h, &apart, rest);
    hlo_list_add(h, &perm, 2 * b.n + 1);
    for (int i = b.n + 1; i < x->shape.rank; i++)
        hlo_list_add(h, &whole, x->shape.dims[i]);
    x = hlo_reshape(h, hlo_transpose(h, hlo_reshape(h, x, apart), perm), whole);
    for (int i = 0; i < whole.rank; i++) {
        high.dims[i] = whole.dims[i] - high.dims[i];
    }
    return hlo_out(h, 0, to_batch ? x : hlo_slice(h, x, low, high, NULL));
}

#define BATCH .prepare = batch_prepare, .own_size = sizeof(Batching), .cpu = ANY_TYPE(batch_run), .hlo = batch_hlo

const Op op_SpaceToBatchND = {
    .signature = "SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> output: T; T: type; "
                 "Tblock_shape: {int32, int64} = int32; Tpaddings: {int32, int64} = int32",
    .doc = "Blocks of the padded dimensions of space moved into the batch.",
    .needs = "vector(block_shape), matrix(paddings)", .shape = to_batch_shape, .grad = to_batch_nd_grad, BATCH,
    .host = BIT(1) | BIT(2), .row = "to batch",
};
const Op op_BatchToSpaceND = {
    .signature = "BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> output: T; T: type; "
                 "Tblock_shape: {int32, int64} = int32; Tcrops: {int32, int64} = int32",
    .doc = "The batch moved into blocks of the dimensions of space, whose edges are cropped.",
    .needs = "vector(block_shape), matrix(crops)", .shape = from_batch_shape, .grad = from_batch_nd_grad, BATCH,
    .host = BIT(1) | BIT(2),
};
const Op op_SpaceToBatch = {
    .signature =
        "SpaceToBatch(input: T, paddings: Tpaddings) -> output: T; T: type; Tpaddings: {int32, int64} = int32; "
                 "block_size: int >= 2",
    .doc = "Blocks of rows and columns, padded, moved into the batch.", .needs = "rank(input) == 4, matrix(paddings)",
    .shape = to_batch_shape, .grad = to_batch_grad, BATCH, .host = BIT(1), .row = "to batch",
};
const Op op_BatchToSpace = {
    .signature = "BatchToSpace(input: T, crops: Tidx) -> output: T; T: type; block_size: int >= 2; "
                 "Tidx: {int32, int64} = int32",
    .doc = "The batch moved into blocks of rows and columns, whose edges are cropped.",
    .needs = "rank(input) == 4, matrix(crops)", .shape = from_batch_shape, .grad = from_batch_grad, BATCH,
    .host = BIT(1),
};
