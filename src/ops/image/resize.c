// ResizeBilinear, ResizeNearestNeighbor — pictures made larger or smaller, and the gradients.
//
// Bilinear: the rows that an output row lies between are spread over its width first, each once, then blended.
#include "ops/image/resize.h"

#include "loops/cast.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

// One output coordinate: the two input ones that it lies between, and how near the second is.
typedef struct {
    int64_t low, high;
    float part;
} Place;

typedef struct {
    int64_t batch, in_h, in_w, out_h, out_w, channels;   // in: the larger tensor's side that is read from, or added to
    Place *rows, *columns;
    bool nearest;
    size_t size;             // bytes of an element
    CastLoop to_float, from_float;
    bool casts, casts_back;
    size_t row_floats;       // of a row of the scratch, and how many such rows a unit has
    int64_t unit_rows, units;
} Resize;

// ---------------------------------------- shapes and places

Status *resize_extents(Shapes *s, int input, int n, int64_t least, Shape *out) {
    Shape extents;
    const Tensor *value = s->value[input];
    for (int64_t i = 0; value && i < tensor_count(value); i++)
        NEED(tensor_int(value, i) >= least, INVALID_ARGUMENT, "%s dimensions must be %s, got %lld",
             least ? "output" : "window", least ? "positive" : "0 or more", (long long)tensor_int(value, i));
    TRY(shapes_input_shape(s, input, &extents));
    NEED(extents.rank < 0 || extents.rank == n, INVALID_ARGUMENT, "size must have %d elements, got %d", n, extents.rank);
    for (int i = 0; extents.rank < 0 && i < n; i++)
        extents.dims[i] = UNKNOWN_DIM;
    extents.rank = n;
    *out = extents;
    return OK;
}

static Status *size_shape(Shapes *s, bool from_tensor) {
    Shape out = s->in[0], size;
    NEED(out.rank < 0 || out.rank == 4, INVALID_ARGUMENT, "images must be 4-dimensional, got %s", shape_text(&out));
    if (from_tensor) {
        size = s->in[1];
        NEED(size.rank < 0 || size.rank == 4, INVALID_ARGUMENT, "original_image must be 4-dimensional, got %s",
             shape_text(&size));
        size = size.rank < 0 ? SHAPE(UNKNOWN_DIM, UNKNOWN_DIM) : SHAPE(size.dims[1], size.dims[2]);
    } else {
        TRY(resize_extents(s, 1, 2, 1, &size));
    }
    if (out.rank < 0)
        out = SHAPE(UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM);
    out.dims[1] = size.dims[0];
    out.dims[2] = size.dims[1];
    NEED(out.dims[1] != 0 && out.dims[2] != 0, INVALID_ARGUMENT, "output dimensions must be positive");
    if (shape_is_known(&out))
        TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}
Status *resize_shape(Shapes *s) {
    return size_shape(s, false);
}
Status *resize_grad_shape(Shapes *s) {
    return size_shape(s, true);
}

Status *resize_scale(const Prepare *p, int64_t in, int64_t out, float *out_scale) {
    const AttrValue *half = node_attr_find(p->node, "half_pixel_centers");
    bool align = node_bool(p->node, "align_corners");
    NEED(!align || !half || !half->b, INVALID_ARGUMENT,
         "If half_pixel_centers is True, align_corners must be False.");
    NEED(in > 0 && out > 0, INVALID_ARGUMENT, "images must have a height and a width");
    NEED(in < 1 << 24, INVALID_ARGUMENT, "images are too large: %lld", (long long)in);
    *out_scale = align && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    return OK;
}

// Places are computed once per step size, in float as TensorFlow does: the same rounding gives the same pixels.
// half_pixel_centers takes the middle of a pixel for its place; align_corners maps the corner pixels onto each other.
static void find_places(const Node *node, bool nearest, int64_t in, int64_t out, Place *places) {
    bool align = node_bool(node, "align_corners"), half = node_bool(node, "half_pixel_centers");
    float scale = align && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    for (int64_t i = 0; i < out; i++) {
        float at = half ? ((float)i + 0.5f) * scale : (float)i * scale;
        if (nearest) {
            int64_t place = (int64_t)(align ? roundf(at) : floorf(at));
            places[i].low = max_i64(0, min_i64(place, in - 1));
            continue;
        }
        at -= half ? 0.5f : 0;
        float whole = floorf(at);
        places[i] = (Place){max_i64(0, min_i64((int64_t)whole, in - 1)),
                            max_i64(0, min_i64((int64_t)ceilf(at), in - 1)), at - whole};
    }
}

// `large`: the tensor that places point into; `small`: the one that has a place for each element.
static Status *plan_resize(Prepare *p, const Shape *large, const Shape *small, bool nearest, Resize *own) {
    bool align = node_bool(p->node, "align_corners"), half = node_bool(p->node, "half_pixel_centers");
    NEED(!align || !half, INVALID_ARGUMENT, "If half_pixel_centers is True, align_corners must be False.");
    NEED(large->dims[1] > 0 && large->dims[2] > 0 && small->dims[1] > 0 && small->dims[2] > 0, INVALID_ARGUMENT,
         "images must have a height and a width, got %s and %s", shape_text(large), shape_text(small));
    *own = (Resize){.batch = small->dims[0], .in_h = large->dims[1], .in_w = large->dims[2], .out_h = small->dims[1],
                    .out_w = small->dims[2], .channels = small->dims[3], .nearest = nearest};
    NEED(own->in_h < 1 << 24 && own->in_w < 1 << 24, INVALID_ARGUMENT, "images are too large: %s", shape_text(large));
    own->rows = arena_alloc(p->arena, (size_t)own->out_h * sizeof(Place));
    own->columns = arena_alloc(p->arena, (size_t)own->out_w * sizeof(Place));
    NEED_MEMORY(own->rows && own->columns);
    find_places(p->node, nearest, own->in_h, own->out_h, own->rows);
    find_places(p->node, nearest, own->in_w, own->out_w, own->columns);
    p->cost = kernel_cost(shape_count(small), nearest ? 500 : 1000, 0);
    return OK;
}

// Output rows are shared out in pieces, each with three rows of scratch: one read, two spread.
static Status *bilinear_prepare(Prepare *p) {
    enum { PIECES = 16 };
    Resize *own = p->own;
    TRY(plan_resize(p, &p->in[0]->shape, &p->out[0]->shape, false, own));
    DType dtype = p->in[0]->dtype;
    own->casts = dtype != DT_float;
    own->size = dtype_size(dtype);
    NEED(!own->casts || cast_find(dtype, DT_float, &own->to_float), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(dtype));
    own->unit_rows = max_i64(1, div_up(own->out_h, PIECES));
    own->units = own->batch * div_up(own->out_h, own->unit_rows);
    own->row_floats = (size_t)(max_i64(own->in_w, own->out_w) * own->channels);
    size_t bytes;
    NEED(mul_size(own->row_floats * 3 * sizeof(float), (size_t)own->units, &bytes), RESOURCE_EXHAUSTED,
         "too many elements");
    p->scratch = bytes;
    return OK;
}

// ---------------------------------------- bilinear

typedef struct {
    const Resize *own;
    const char *in;
    char *out;
    float *scratch;
} Work;

// Row y of an image, spread over the output's width.
static void spread_row(const Work *work, int64_t n, int64_t y, float *own_row, float *out) {
    const Resize *own = work->own;
    int64_t c = own->channels;
    const char *at = work->in + (size_t)((n * own->in_h + y) * own->in_w * c) * own->size;
    const float *row = (const float *)(const void *)at;
    if (own->casts) {
        cast_run(&own->to_float, at, own_row, own->in_w * c);
        row = own_row;
    }
    for (int64_t x = 0; x < own->out_w; x++) {
        const Place *place = &own->columns[x];
        const float *a = row + place->low * c, *b = row + place->high * c;
        float part = place->part, *to = out + x * c;
        for (int64_t i = 0; i < c; i++)
            to[i] = a[i] + (b[i] - a[i]) * part;
    }
}

static void blend(const float *restrict a, const float *restrict b, float part, float *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + (b[i] - a[i]) * part;
}

static void bilinear_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Resize *own = work->own;
    int64_t pieces = div_up(own->out_h, own->unit_rows), width = own->out_w * own->channels;
    for (int64_t unit = first; unit < last; unit++) {
        float *memory = work->scratch + (size_t)unit * own->row_floats * 3;
        float *spread[2] = {memory + own->row_floats, memory + 2 * own->row_floats};
        int64_t held[2] = {-1, -1}, n = unit / pieces, y = unit % pieces * own->unit_rows;
        for (int64_t end = min_i64(own->out_h, y + own->unit_rows); y < end; y++) {
            const Place *place = &own->rows[y];
            int64_t wanted[2] = {place->low, place->high};
            if (held[0] != wanted[0] && held[1] == wanted[0]) {  // the lower row of before is the upper one now
                float *row = spread[0];
                spread[0] = spread[1], spread[1] = row;
                held[1] = held[0], held[0] = wanted[0];
            }
            for (int i = 0; i < 2; i++)
                if (held[i] != wanted[i] && (i == 0 || wanted[1] != wanted[0])) {
                    spread_row(work, n, wanted[i], memory, spread[i]);
                    held[i] = wanted[i];
                }
            blend(spread[0], wanted[1] == wanted[0] ? spread[0] : spread[1], place->part,
                  (float *)(void *)work->out + (n * own->out_h + y) * width, width);
        }
    }
}

static Status *bilinear_run(Kernel *k) {
    const Resize *own = k->own;
    Work work = {own, k->in[0]->data, k->out[0]->data, k->scratch};
    if (own->units && own->channels)
        kernel_parallel(k, own->units, max_i64(1, own->unit_rows * own->out_w * own->channels), bilinear_units, &work);
    return OK;
}

// ---------------------------------------- gradient of bilinear: dy shared out among four pixels

// Sums are of double where the output is, else of float.
static Status *bilinear_grad_prepare(Prepare *p) {
    Resize *own = p->own;
    TRY(plan_resize(p, &p->out[0]->shape, &p->in[0]->shape, false, own));
    DType dtype = p->out[0]->dtype;
    own->casts_back = dtype != DT_float && dtype != DT_double;
    own->size = dtype == DT_double ? sizeof(double) : sizeof(float);
    NEED(!own->casts_back || cast_find(DT_float, dtype, &own->from_float), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(dtype));
    p->scratch = own->casts_back ? (size_t)shape_count(&p->out[0]->shape) * sizeof(float) : 0;
    return OK;
}

static void add_corner(const Resize *own, const float *dy, float down, float across, char *dx) {
    if (own->size == sizeof(double))
        for (int64_t i = 0; i < own->channels; i++)
            ((double *)(void *)dx)[i] += (double)(dy[i] * down * across);
    else
        for (int64_t i = 0; i < own->channels; i++)
            ((float *)(void *)dx)[i] += dy[i] * down * across;
}

// One thread per image: neighbouring places add to the same pixels, and sums in a fixed order are the same for any
// number of threads.
static void bilinear_grad_images(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Resize *own = work->own;
    size_t pixel = (size_t)own->channels * own->size, image = (size_t)(own->in_h * own->in_w) * pixel;
    for (int64_t n = first; n < last; n++) {
        const float *dy = (const float *)(const void *)work->in + n * own->out_h * own->out_w * own->channels;
        char *dx = work->out + (size_t)n * image;
        memset(dx, 0, image);
        for (int64_t y = 0; y < own->out_h; y++)
            for (int64_t x = 0; x < own->out_w; x++, dy += own->channels) {
                const Place *row = &own->rows[y], *column = &own->columns[x];
                for (int corner = 0; corner < 4; corner++) {
                    int64_t at = (corner & 2 ? row->high : row->low) * own->in_w +
                        (corner & 1 ? column->high : column->low);
                    add_corner(own, dy, corner & 2 ? row->part : 1 - row->part,
                               corner & 1 ? column->part : 1 - column->part, dx + (size_t)at * pixel);
                }
            }
    }
}

static Status *bilinear_grad_run(Kernel *k) {
    const Resize *own = k->own;
    int64_t n = tensor_count(k->out[0]);
    Work work = {own, k->in[0]->data, own->casts_back ? k->scratch : k->out[0]->data, NULL};
    if (n)
        kernel_parallel(k, own->batch, max_i64(1, 4 * own->out_h * own->out_w * own->channels), bilinear_grad_images,
                        &work);
    if (n && own->casts_back)
        cast_run(&own->from_float, k->scratch, k->out[0]->data, n);
    return OK;
}

// ---------------------------------------- nearest

static Status *nearest_prepare(Prepare *p) {
    Resize *own = p->own;
    TRY(plan_resize(p, &p->in[0]->shape, &p->out[0]->shape, true, own));
    own->size = dtype_size(p->out[0]->dtype);
    return OK;
}

static void nearest_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Resize *own = work->own;
    size_t pixel = (size_t)own->channels * own->size, row = (size_t)own->out_w * pixel;
    for (int64_t y = first; y < last; y++) {
        int64_t n = y / own->out_h, from = own->rows[y % own->out_h].low;
        const char *in = work->in + (size_t)((n * own->in_h + from) * own->in_w) * pixel;
        char *out = work->out + (size_t)y * row;
        if (y > first && y % own->out_h && own->rows[y % own->out_h - 1].low == from) {
            memcpy(out, out - row, row);
            continue;
        }
        for (int64_t x = 0; x < own->out_w; x++)
            memcpy(out + (size_t)x * pixel, in + (size_t)own->columns[x].low * pixel, pixel);
    }
}

static Status *nearest_run(Kernel *k) {
    const Resize *own = k->own;
    Work work = {own, k->in[0]->data, k->out[0]->data, NULL};
    if (own->channels)
        kernel_parallel(k, own->batch * own->out_h, max_i64(1, own->out_w * own->channels / 4), nearest_rows, &work);
    return OK;
}

// Sums are of double where the output is, else of float.
static Status *nearest_grad_prepare(Prepare *p) {
    Resize *own = p->own;
    DType dtype = p->out[0]->dtype, compute = dtype == DT_double ? DT_double : DT_float;
    TRY(plan_resize(p, &p->out[0]->shape, &p->in[0]->shape, true, own));
    own->casts = own->casts_back = dtype != compute;
    own->size = dtype_size(compute);
    NEED(!own->casts || (cast_find(dtype, DT_float, &own->to_float) && cast_find(DT_float, dtype, &own->from_float)),
         UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    own->row_floats = (size_t)shape_count(&p->in[0]->shape);
    p->scratch = own->casts ? (own->row_floats + (size_t)shape_count(&p->out[0]->shape)) * sizeof(float) : 0;
    return OK;
}

static Status *nearest_grad_run(Kernel *k) {
    const Resize *own = k->own;
    int64_t c = own->channels, n = tensor_count(k->out[0]);
    const char *dy = k->in[0]->data;
    char *dx = k->out[0]->data;
    if (own->casts) {
        cast_run(&own->to_float, dy, k->scratch, (int64_t)own->row_floats);
        dy = k->scratch;
        dx = (char *)((float *)k->scratch + own->row_floats);
    }
    memset(dx, 0, (size_t)n * own->size);
    for (int64_t y = 0; y < own->batch * own->out_h && c; y++)
        for (int64_t x = 0; x < own->out_w; x++, dy += (size_t)c * own->size) {
            int64_t row = y / own->out_h * own->in_h + own->rows[y % own->out_h].low;
            char *to = dx + (size_t)((row * own->in_w + own->columns[x].low) * c) * own->size;
            for (int64_t i = 0; i < c; i++)
                if (own->size == sizeof(double))
                    ((double *)(void *)to)[i] += ((const double *)(const void *)dy)[i];
                else
                    ((float *)(void *)to)[i] += ((const float *)(const void *)dy)[i];
        }
    if (own->casts && n)
        cast_run(&own->from_float, dx, k->out[0]->data, n);
    return OK;
}

// ---------------------------------------- schemas

static void bilinear_formula(Formula *f) {
    DType type = output_type(f->x[0]);
    if (type == DT_float || type == DT_half || type == DT_bfloat16 || type == DT_double)
        f->dx[0] = Like("ResizeBilinearGrad", f->dy[0], f->x[0]);
}
static void nearest_formula(Formula *f) {
    f->dx[0] = Like("ResizeNearestNeighborGrad", f->dy[0], Slice(ShapeOf(f->x[0]), Ints(1), Ints(2)));
}
static void nearest_grad_formula(Formula *f) {
    f->dx[0] = Like("ResizeNearestNeighbor", f->dy[0], Slice(ShapeOf(f->x[0]), Ints(1), Ints(2)));
}

#define CENTERS "align_corners: bool = false; half_pixel_centers: bool = false"
#define RESIZE .own_size = sizeof(Resize)
// ---------------------------------------- for devices that compile

// Where each place of the larger side is read from: what find_places says, as vectors.
typedef struct {
    HloValue low, high, part;
    HloValue matrix;           // [out, in]: the weights
} PlaceWords;

static COLD Status *place_words(Hlo *h, bool nearest, int64_t in, int64_t out, bool matrix, PlaceWords *w) {
    NEED(in > 0 && out > 0 && in < 1 << 24 && (!matrix || in * out < 1 << 24), UNIMPLEMENTED, "images of %lld by %lld", (long long)in,
         (long long)out);
    AUTO(arena) Arena arena = {0};
    Place *places = ARENA_ARRAY(&arena, Place, out);
    int32_t *low = ARENA_ARRAY(&arena, int32_t, out), *high = ARENA_ARRAY(&arena, int32_t, out);
    float *part = ARENA_ARRAY(&arena, float, out), *weights = ARENA_ARRAY(&arena, float, matrix ? in * out : 1);
    NEED_MEMORY(places && low && high && part && weights);
    find_places(h->node, nearest, in, out, places);
    for (int64_t i = 0; i < out; i++) {
        low[i] = (int32_t)places[i].low;
        high[i] = nearest ? low[i] : (int32_t)places[i].high;
        part[i] = nearest ? 0 : places[i].part;
        if (matrix) {
            weights[i * in + low[i]] += 1 - part[i];
            weights[i * in + high[i]] += part[i];
        }
    }
    if (matrix) {
        w->matrix = hlo_floats(h, weights, SHAPE(out, in));
        return h->status;
    }
    w->low = hlo_tensor(h, &(Tensor){.data = low, .dtype = DT_int32, .shape = SHAPE(out)});
    w->high = hlo_tensor(h, &(Tensor){.data = high, .dtype = DT_int32, .shape = SHAPE(out)});
    w->part = hlo_floats(h, part, SHAPE(out));
    return h->status;
}

// Columns, then rows: between two of them, or the nearest.
static COLD Status *resize_hlo(Hlo *h, bool nearest) {
    HloValue x = hlo_in(h, 0);
    const Shape *out = hlo_out_shape(h, 0);
    NEED(shape_is_known(out), UNIMPLEMENTED, "the size is not known");
    x = nearest ? x : hlo_cast(h, x, DT_float);
    for (int axis = 2; axis > 0; axis--) {
        PlaceWords w;
        TRY(h->status);
        TRY(place_words(h, nearest, x->shape.dims[axis], out->dims[axis], false, &w));
        HloValue low = hlo_take(h, x, w.low, axis, 0);
        if (!nearest)
            low = hlo_add(h, low, hlo_mul(h, hlo_sub(h, hlo_take(h, x, w.high, axis, 0), low), hlo_along(h, w.part, low, axis)));
        x = low;
    }
    return hlo_out(h, 0, x);
}

// Each gradient goes back by the weights: products with the transposed matrices.
static COLD Status *resize_grad_hlo(Hlo *h, bool nearest) {
    HloValue dy = hlo_cast(h, hlo_in(h, 0), DT_float);
    const Shape *out = hlo_out_shape(h, 0);
    PlaceWords rows, columns;
    TRY(h->status);
    NEED(shape_is_known(out) && dtype_is_float(hlo_out_type(h, 0)), UNIMPLEMENTED, "the size is not known, or no floats");
    TRY(place_words(h, nearest, out->dims[1], dy->shape.dims[1], true, &rows));
    TRY(place_words(h, nearest, out->dims[2], dy->shape.dims[2], true, &columns));
    Shape none = {0}, one = SHAPE(1), first = SHAPE(0);
    HloValue dx = hlo_dot(h, hlo_dot(h, dy, rows.matrix, none, none, one, first), columns.matrix, none, none, one, first);
    return hlo_out(h, 0, hlo_cast(h, hlo_transpose(h, dx, SHAPE(0, 2, 3, 1)), hlo_out_type(h, 0)));
}

static COLD Status *bilinear_hlo(Hlo *h) {
    return resize_hlo(h, false);
}
static COLD Status *nearest_hlo(Hlo *h) {
    return resize_hlo(h, true);
}
static COLD Status *bilinear_grad_hlo(Hlo *h) {
    return resize_grad_hlo(h, false);
}
static COLD Status *nearest_grad_hlo(Hlo *h) {
    return resize_grad_hlo(h, true);
}

const Op op_ResizeBilinear = {
    .signature =
        "ResizeBilinear(images: T, size: int32) -> resized_images: float; "
        "T: {int8, uint8, int16, uint16, int32, int64, floats, bfloat16}; " CENTERS,
    .doc = "Pictures of another size, each pixel between its four neighbours.", .shape = resize_shape, .host = BIT(1),
    .grad = bilinear_formula, .prepare = bilinear_prepare, .cpu = ANY_TYPE(bilinear_run), .same_rows = 1, RESIZE,
    .hlo = bilinear_hlo,
};
const Op op_ResizeBilinearGrad = {
    .signature =
        "ResizeBilinearGrad(grads: float, original_image: T) -> output: T; T: {float, bfloat16, half, double}; "
                 CENTERS,
    .doc = "Gradient of ResizeBilinear.", .shape = resize_grad_shape, .prepare = bilinear_grad_prepare,
    .cpu = ANY_TYPE(bilinear_grad_run), .same_rows = 1, RESIZE, .hlo = bilinear_grad_hlo,
};
const Op op_ResizeNearestNeighbor = {
    .signature = "ResizeNearestNeighbor(images: T, size: int32) -> resized_images: T; T: {int8, uint8, int16, uint16, "
                 "int32, int64, half, float, double, bfloat16}; " CENTERS,
    .doc = "Pictures of another size, each pixel its nearest neighbour.", .shape = resize_shape, .host = BIT(1),
    .grad = nearest_formula, .prepare = nearest_prepare, .cpu = ANY_TYPE(nearest_run), .same_rows = 1, RESIZE,
    .hlo = nearest_hlo,
};
const Op op_ResizeNearestNeighborGrad = {
    .signature = "ResizeNearestNeighborGrad(grads: T, size: int32) -> output: T; T: {uint8, int8, int32, half, float, "
                 "double, bfloat16}; " CENTERS,
    .doc = "Gradient of ResizeNearestNeighbor.", .shape = resize_shape, .host = BIT(1), .grad = nearest_grad_formula,
    .prepare = nearest_grad_prepare, .cpu = ANY_TYPE(nearest_grad_run), .same_rows = 1, RESIZE, .hlo = nearest_grad_hlo,
};
