// Move — the copy engine and the views that ops mean. See move.h.
//
// Transpose, slice, broadcast, tile, reverse and their gradients are all one copy between two sets of strides. It is
// normalised (dimensions sorted by where they write, neighbours joined), and what is left innermost decides how it
// runs: memcpy of runs, fills, blocks transposed in registers, or element by element.
#include "loops/move.h"

#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"
#include "loops/tuning.h"

enum { COPY_RUNS, COPY_STRIDED, COPY_REPEAT, COPY_TRANSPOSED };

typedef struct { uint64_t a, b; } Pair;
typedef struct { uint64_t a, b, c; } Triple;

static bool swaps_better(const CopyPlan *p, int i, int j) {
    int64_t a = p->to[i] < 0 ? -p->to[i] : p->to[i], b = p->to[j] < 0 ? -p->to[j] : p->to[j];
    return a < b;
}

static void swap_dims(CopyPlan *p, int i, int j) {
    int64_t d = p->dims[i], f = p->from[i], t = p->to[i];
    p->dims[i] = p->dims[j], p->from[i] = p->from[j], p->to[i] = p->to[j];
    p->dims[j] = d, p->from[j] = f, p->to[j] = t;
}

// The innermost dimension is the one that writes neighbours; dimensions that go on where their inner neighbour ends
// join. Writing in order matters more than reading: a line that is written in parts is fetched first.
static void normalise(CopyPlan *p) {
    for (int i = 1; i < p->rank; i++)
        for (int j = i; j > 0 && swaps_better(p, j - 1, j); j--)
            swap_dims(p, j - 1, j);
    int n = 0;
    for (int i = 0; i < p->rank; i++) {
        if (n > 0 && p->from[n - 1] == p->from[i] * p->dims[i] && p->to[n - 1] == p->to[i] * p->dims[i]) {
            p->dims[n - 1] *= p->dims[i];
            p->from[n - 1] = p->from[i], p->to[n - 1] = p->to[i];
            continue;
        }
        p->dims[n] = p->dims[i], p->from[n] = p->from[i], p->to[n] = p->to[i];
        n++;
    }
    p->rank = n;
}

void copy_prepare(int rank, const int64_t *dims, const int64_t *from, const int64_t *to, size_t size, CopyPlan *plan) {
    CopyPlan p = {.size = size};
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= dims[i];
        if (dims[i] != 1)
            p.dims[p.rank] = dims[i], p.from[p.rank] = from[i], p.to[p.rank] = to[i], p.rank++;
    }
    *plan = p;
    if (count == 0)
        return;
    normalise(&p);
    if (p.rank == 0)
        p.rank = 1, p.dims[0] = 1, p.from[0] = p.to[0] = 1;
    int last = p.rank - 1;
    p.kind = p.to[last] != 1 ? COPY_STRIDED : p.from[last] == 1 ? COPY_RUNS : p.from[last] == 0 ? COPY_REPEAT
        : COPY_STRIDED;
    int64_t inner = p.dims[last];
    if (p.kind == COPY_STRIDED && p.to[last] == 1)
        for (int i = 0; i < last; i++)
            if (p.from[i] == 1 && p.dims[i] >= 4) {
                // The dimension that reads neighbours comes next to the innermost: blocks of both.
                for (int j = i; j + 1 < last; j++)
                    swap_dims(&p, j, j + 1);
                p.kind = COPY_TRANSPOSED;
                break;
            }
    if (p.kind == COPY_TRANSPOSED)
        inner *= p.dims[last - 1];
    p.outer = count / inner;
    // A transpose of two dimensions alone is cut into strips of the one that is read.
    p.per_unit = max_i64(1, TUNED_MOVE_UNIT / max_i64(1, inner * (int64_t)size));
    if (p.kind == COPY_TRANSPOSED && p.outer < 8 && p.dims[last - 1] >= 256) {
        int64_t strips = min_i64(64, p.dims[last - 1] / 64);
        p.per_unit = -strips;
        p.units = p.outer * strips;
    } else {
        p.units = div_up(p.outer, p.per_unit);
    }
    *plan = p;
}

static void strided(const CopyPlan *p, const char *in, char *out) {
    int last = p->rank - 1;
    int64_t n = p->dims[last], f = p->from[last], t = p->to[last];
#define STRIDED(T)                                          \
    do {                                                    \
        const T *a = (const T *)in;                         \
        T *b = (T *)out;                                    \
        for (int64_t i = 0; i < n; i++)                     \
            b[i * t] = a[i * f];                            \
    } while (0)
    switch (p->size) {
    case 1: STRIDED(uint8_t); break;
    case 2: STRIDED(uint16_t); break;
    case 4: STRIDED(uint32_t); break;
    case 8: STRIDED(uint64_t); break;
    case 16: STRIDED(Pair); break;
    default: STRIDED(Triple); break;
    }
}

// By element size: the types don't matter to a copy.
static TransposeFn transpose_of(size_t size) {
    const TransposeFn *all = loops_table()->transpose;
    return size == 1 ? all[0] : size == 2 ? all[1] : size == 4 ? all[2] : size == 8 ? all[3] : size == 16 ? all[4]
        : all[5];
}

// One outer position; of a transposed block rows [begin, end).
static void copy_position(const CopyPlan *p, const char *in, char *out, int64_t begin, int64_t end) {
    int last = p->rank - 1;
    int64_t size = (int64_t)p->size;
    switch (p->kind) {
    case COPY_RUNS: memcpy(out, in, (size_t)p->dims[last] * p->size); break;
    case COPY_REPEAT: fill_run(in, p->size, out, p->dims[last]); break;
    case COPY_TRANSPOSED:
        transpose_of(p->size)(in + begin * size, out + begin * p->to[last - 1] * size, p->dims[last], end - begin,
                              p->from[last], p->to[last - 1]);
        break;
    default: strided(p, in, out); break;
    }
}

void copy_run(const CopyPlan *plan, const void *in, void *out, int64_t first, int64_t last) {
    if (first >= last)
        return;
    int walked = plan->kind == COPY_TRANSPOSED ? plan->rank - 2 : plan->rank - 1;
    bool strips = plan->per_unit < 0;
    int64_t per = strips ? -plan->per_unit : plan->per_unit;
    int64_t position = strips ? first / per : first * per, end = strips ? div_up(last, per)
        : min_i64(plan->outer, last * per);
    int64_t index[COPY_RANK] = {0}, from = plan->offset_from, to = plan->offset_to, rest = position;
    for (int i = walked - 1; i >= 0; i--) {
        index[i] = rest % plan->dims[i];
        rest /= plan->dims[i];
        from += index[i] * plan->from[i], to += index[i] * plan->to[i];
    }
    for (; position < end; position++) {
        int64_t begin_row = 0, end_row = walked + 1 < plan->rank ? plan->dims[walked] : 0;
        if (strips) {
            int64_t rows = end_row, a = max_i64(0, first - position * per), b = min_i64(per, last - position * per);
            begin_row = rows * a / per, end_row = rows * b / per;
        }
        copy_position(plan, (const char *)in + from * (int64_t)plan->size, (char *)out + to * (int64_t)plan->size,
                      begin_row, end_row);
        for (int i = walked - 1; i >= 0; i--) {
            from += plan->from[i], to += plan->to[i];
            if (++index[i] < plan->dims[i])
                break;
            from -= plan->from[i] * plan->dims[i], to -= plan->to[i] * plan->dims[i];
            index[i] = 0;
        }
    }
}

int64_t copy_picoseconds(const CopyPlan *plan) {
    int64_t count = plan->units ? 1 : 0;
    for (int i = 0; i < plan->rank; i++)
        count *= plan->dims[i];
    int64_t each = plan->kind == COPY_STRIDED      ? TUNED_MOVE_STRIDED
                   : plan->kind == COPY_TRANSPOSED ? TUNED_MOVE_TRANSPOSED
                                                   : 0;
    return count * each + plan->outer * TUNED_MOVE_POSITION;
}

// ---- views ----

static void row_major(const Shape *shape, int64_t *step) {
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        step[i] = stride;
        stride *= shape->dims[i];
    }
}

void copy_transpose(const Shape *in, const int *perm, size_t size, CopyPlan *plan) {
    int64_t step[MAX_RANK], dims[MAX_RANK], from[MAX_RANK], to[MAX_RANK], stride = 1;
    row_major(in, step);
    for (int i = in->rank - 1; i >= 0; i--) {
        dims[i] = in->dims[perm[i]], from[i] = step[perm[i]], to[i] = stride;
        stride *= dims[i];
    }
    copy_prepare(in->rank, dims, from, to, size, plan);
}

void copy_slice(const Shape *in, const int64_t *begin, const int64_t *stride, const Shape *out, size_t size,
                CopyPlan *plan) {
    int64_t step[MAX_RANK], from[MAX_RANK], to[MAX_RANK], offset = 0;
    row_major(in, step);
    row_major(out, to);
    for (int i = 0; i < in->rank; i++) {
        from[i] = step[i] * stride[i];
        offset += step[i] * begin[i];
    }
    copy_prepare(in->rank, out->dims, from, to, size, plan);
    plan->offset_from = offset;
}

void copy_into_slice(const Shape *in, const int64_t *begin, const int64_t *stride, const Shape *out, size_t size,
                     CopyPlan *plan) {
    int64_t step[MAX_RANK], from[MAX_RANK], to[MAX_RANK], offset = 0;
    row_major(in, step);
    row_major(out, from);
    for (int i = 0; i < in->rank; i++) {
        to[i] = step[i] * stride[i];
        offset += step[i] * begin[i];
    }
    copy_prepare(in->rank, out->dims, from, to, size, plan);
    plan->offset_to = offset;
}

void copy_broadcast(const Shape *in, const Shape *out, size_t size, CopyPlan *plan) {
    int64_t from[MAX_RANK], to[MAX_RANK], stride = 1;
    row_major(out, to);
    for (int i = out->rank - 1, j = in->rank - 1; i >= 0; i--, j--) {
        int64_t extent = j >= 0 ? in->dims[j] : 1;
        from[i] = extent == 1 ? 0 : stride;
        stride *= extent;
    }
    copy_prepare(out->rank, out->dims, from, to, size, plan);
}

// Two dimensions for each: the repetition, which reads again from the start, and the extent.
void copy_tile(const Shape *in, const int64_t *multiples, size_t size, CopyPlan *plan) {
    int64_t dims[COPY_RANK], from[COPY_RANK], to[COPY_RANK], read = 1, write = 1;
    for (int i = in->rank - 1; i >= 0; i--) {
        dims[2 * i + 1] = in->dims[i], from[2 * i + 1] = read, to[2 * i + 1] = write;
        dims[2 * i] = multiples[i], from[2 * i] = 0, to[2 * i] = write * in->dims[i];
        read *= in->dims[i], write *= in->dims[i] * multiples[i];
    }
    copy_prepare(2 * in->rank, dims, from, to, size, plan);
}

// Negative strides, from the last element on.
void copy_reverse(const Shape *in, uint32_t axes, size_t size, CopyPlan *plan) {
    int64_t from[MAX_RANK], to[MAX_RANK], offset = 0;
    row_major(in, to);
    for (int i = 0; i < in->rank; i++) {
        bool backwards = axes >> i & 1;
        from[i] = backwards ? -to[i] : to[i];
        offset += backwards ? to[i] * (in->dims[i] - 1) : 0;
    }
    copy_prepare(in->rank, in->dims, from, to, size, plan);
    plan->offset_from = offset;
}
