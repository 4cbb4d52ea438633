// Shape — see shape.h. Every product of extents is checked once, when a shape is made; what is multiplied later can't
// overflow.
#include "tensor/shape.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"

bool shape_is_known(const Shape *shape) {
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0)
            return false;
    return shape->rank >= 0;
}

Status *shape_check(const Shape *shape) {
    NEED(shape->rank >= UNKNOWN_RANK && shape->rank <= MAX_RANK, INVALID_ARGUMENT,
         "a shape has 0 to %d dimensions, got %d", MAX_RANK, shape->rank);
    int64_t product = 1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t d = shape->dims[i];
        NEED(d >= UNKNOWN_DIM, INVALID_ARGUMENT, "dimension %d is %lld, expected >= 0 (or -1 for unknown)", i,
             (long long)d);
        // Zeros are passed over: [0, 2^40, 2^40] is as absurd as without the 0, and a slice of it would not be empty.
        NEED(d <= 1 || mul_i64(product, d, &product), INVALID_ARGUMENT,
             "shape %s has more elements than 2^63", shape_text(shape));
    }
    return OK;
}

Status *shape_make(const int64_t *dims, int64_t rank, Shape *out) {
    NEED(rank >= UNKNOWN_RANK && rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has 0 to %d dimensions, got %lld",
         MAX_RANK, (long long)rank);
    Shape shape = {.rank = (int32_t)rank};
    for (int i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    TRY(shape_check(&shape));
    *out = shape;
    return OK;
}

bool shape_compatible(const Shape *a, const Shape *b) {
    if (a->rank < 0 || b->rank < 0)
        return true;
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] && a->dims[i] >= 0 && b->dims[i] >= 0)
            return false;
    return true;
}

Status *shape_merge(const Shape *a, const Shape *b, Shape *out) {
    NEED(shape_compatible(a, b), INVALID_ARGUMENT, "Shapes must be equal, but are %s and %s", shape_text(a),
         shape_text(b));
    Shape merged = a->rank < 0 ? *b : *a;
    for (int i = 0; a->rank >= 0 && b->rank >= 0 && i < merged.rank; i++)
        if (merged.dims[i] < 0)
            merged.dims[i] = b->dims[i];
    TRY(shape_check(&merged));  // what each left open may be too much together
    *out = merged;
    return OK;
}

Status *shape_broadcast(const Shape *a, const Shape *b, Shape *out) {
    if (a->rank < 0 || b->rank < 0) {
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    Shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < shape.rank; i++) {
        int ai = i - (shape.rank - a->rank), bi = i - (shape.rank - b->rank);
        int64_t x = ai < 0 ? 1 : a->dims[ai], y = bi < 0 ? 1 : b->dims[bi];
        // An unknown extent beside 1 may be anything; beside n > 1 it must be 1 or n, so the result is n.
        if (x == y || y == 1)
            shape.dims[i] = x;
        else if (x == 1)
            shape.dims[i] = y;
        else if (x < 0 || y < 0)
            shape.dims[i] = x < 0 ? y : x;
        else
            FAIL(INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", shape_text(a), shape_text(b));
    }
    TRY(shape_check(&shape));
    *out = shape;
    return OK;
}

int64_t shape_count(const Shape *shape) {
    if (shape->rank < 0)
        return -1;
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return -1;
        empty |= shape->dims[i] == 0;
        if (__builtin_mul_overflow(product, shape->dims[i] ? shape->dims[i] : 1, &product))
            product = INT64_MAX;
    }
    return empty ? 0 : product;
}

Status *shape_bytes(const Shape *shape, DType dtype, size_t *out) {
    int64_t count = shape_count(shape);
    NEED(count >= 0, INVALID_ARGUMENT, "shape %s is not fully known", shape_text(shape));
    size_t bytes;
    NEED(mul_size((size_t)count, dtype_size(dtype), &bytes) && bytes <= INT64_MAX, RESOURCE_EXHAUSTED,
         "a tensor of type %s and shape %s is too large", dtype_name(dtype), shape_text(shape));
    *out = bytes;
    return OK;
}

Status *shape_axis(int64_t axis, int rank, int *out) {
    NEED(axis >= -(int64_t)rank && axis < rank, INVALID_ARGUMENT, "axis %lld is outside [%d, %d)", (long long)axis,
         -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return OK;
}

int64_t shape_span(const Shape *shape, int first, int last) {
    int64_t product = 1;
    for (int i = first; i < last; i++)
        product *= shape->dims[i];
    return product;
}

void shape_print(Text *text, const Shape *shape) {
    if (shape->rank < 0) {
        text_add(text, STR("<unknown>"));
        return;
    }
    text_char(text, '[');
    for (int i = 0; i < shape->rank; i++) {
        if (i)
            text_char(text, ',');
        if (shape->dims[i] < 0)
            text_char(text, '?');
        else
            text_format(text, "%lld", (long long)shape->dims[i]);
    }
    text_char(text, ']');
}

// The texts of one thread. On the heap: a library that is opened late has a few hundred bytes of thread-local memory.
typedef struct {
    char texts[8][MAX_RANK * 21 + 16];
    unsigned turn;
} ShapeTexts;

static pthread_key_t texts_key;
static pthread_once_t texts_once = PTHREAD_ONCE_INIT;
static bool texts_keyed;

static void make_texts_key(void) {
    texts_keyed = pthread_key_create(&texts_key, free) == 0;
}

static ShapeTexts *own_texts(void) {
    pthread_once(&texts_once, make_texts_key);
    ShapeTexts *own = texts_keyed ? pthread_getspecific(texts_key) : NULL;
    if (own || !texts_keyed)
        return own;
    own = calloc(1, sizeof *own);
    if (own && pthread_setspecific(texts_key, own)) {
        free(own);
        own = NULL;
    }
    return own;
}

// For messages: eight texts in turn, so that one message may name several shapes.
const char *shape_text(const Shape *shape) {
    ShapeTexts *own = shape->rank < 0 || shape->rank > MAX_RANK ? NULL : own_texts();
    if (!own)
        return "<unknown>";
    char *at = own->texts[own->turn++ % 8], *end = at + sizeof own->texts[0];
    char *start = at;
    at += snprintf(at, (size_t)(end - at), "[");
    for (int i = 0; i < shape->rank; i++) {
        const char *comma = i ? "," : "";
        at += shape->dims[i] < 0 ? snprintf(at, (size_t)(end - at), "%s?", comma)
                                 : snprintf(at, (size_t)(end - at), "%s%lld", comma, (long long)shape->dims[i]);
    }
    snprintf(at, (size_t)(end - at), "]");
    return start;
}
