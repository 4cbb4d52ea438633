// Staging — see staging.h.
#include "ops/nn/staging.h"

#include "base/checked.h"

enum { CAST_UNIT = 4096, NS_PER_CAST_UNIT = 1500, NS_PER_MOVE_UNIT = 1000 };

DType staging_float(DType dtype) {
    return dtype == DT_half || dtype == DT_bfloat16 ? DT_float : dtype;
}

static size_t reserve(Prepare *p, size_t bytes) {
    size_t at = round_up(p->scratch, 64);
    p->scratch = at + bytes;
    return at;
}

static Status *plan_stage(DType from, DType to, int64_t count, Stage *out) {
    Stage stage = {.casts = from != to, .from_size = dtype_size(from), .to_size = dtype_size(to), .count = count};
    if (stage.casts)
        NEED(cast_find(from, to, &stage.cast), UNIMPLEMENTED, "no kernel for type %s",
             dtype_name(dtype_size(from) < dtype_size(to) ? from : to));
    size_t bytes;
    NEED(mul_size((size_t)count, 16, &bytes), RESOURCE_EXHAUSTED, "too many elements: %lld", (long long)count);
    *out = stage;
    return OK;
}

Status *stage_input(Prepare *p, DType dtype, DType compute, const Shape *shape, bool planes, Stage *out) {
    Stage stage;
    TRY(plan_stage(dtype, compute, shape_count(shape), &stage));
    size_t n = (size_t)stage.count;
    if (planes && stage.count) {
        stage.moves = true;
        Shape flat = SHAPE(shape->dims[0], shape->dims[1], shape_span(shape, 2, shape->rank), 1);
        copy_transpose(&flat, (const int[]){0, 2, 3, 1}, stage.from_size, &stage.move);
        stage.at_moved = reserve(p, n * stage.from_size);
        p->reordered += (int64_t)(n * stage.from_size);
    }
    if (stage.casts)
        stage.at_cast = reserve(p, n * stage.to_size);
    *out = stage;
    return OK;
}

Status *stage_output(Prepare *p, DType dtype, DType compute, const Shape *shape, bool planes, Stage *out) {
    Stage stage;
    TRY(plan_stage(compute, dtype, shape_count(shape), &stage));
    size_t n = (size_t)stage.count;
    if (planes && stage.count) {
        Shape pixels = SHAPE(shape->dims[0], shape_span(shape, 2, shape->rank), 1, shape->dims[1]);
        stage.moves = true;
        copy_transpose(&pixels, (const int[]){0, 3, 1, 2}, stage.to_size, &stage.move);
        stage.at_moved = reserve(p, n * stage.to_size);
        p->reordered += (int64_t)(n * stage.to_size);
    }
    if (stage.casts)
        stage.at_cast = reserve(p, n * stage.from_size);
    *out = stage;
    return OK;
}

// ---------------------------------------- while the kernel runs

typedef struct {
    const Stage *stage;
    const char *from;
    char *to;
} Work;

static void cast_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Stage *stage = work->stage;
    int64_t begin = first * CAST_UNIT, end = min_i64(last * CAST_UNIT, stage->count);
    cast_run(&stage->cast, work->from + (size_t)begin * stage->from_size, work->to + (size_t)begin * stage->to_size,
             end - begin);
}

static void move_units(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    copy_run(&work->stage->move, work->from, work->to, first, last);
}

static void run_cast(const Stage *stage, Kernel *k, const void *from, void *to) {
    Work work = {stage, from, to};
    kernel_parallel(k, div_up(stage->count, CAST_UNIT), NS_PER_CAST_UNIT, cast_units, &work);
}

static void run_move(const Stage *stage, Kernel *k, const void *from, void *to) {
    Work work = {stage, from, to};
    kernel_parallel(k, stage->move.units, NS_PER_MOVE_UNIT, move_units, &work);
}

const void *stage_load(const Stage *stage, Kernel *k, const void *data) {
    if (stage->moves) {
        run_move(stage, k, data, (char *)k->scratch + stage->at_moved);
        data = (char *)k->scratch + stage->at_moved;
    }
    if (stage->casts) {
        run_cast(stage, k, data, (char *)k->scratch + stage->at_cast);
        data = (char *)k->scratch + stage->at_cast;
    }
    return data;
}

void *stage_target(const Stage *stage, const Kernel *k, void *data) {
    if (stage->casts)
        return (char *)k->scratch + stage->at_cast;
    return stage->moves ? (char *)k->scratch + stage->at_moved : data;
}

void stage_store(const Stage *stage, Kernel *k, void *data) {
    void *before_move = stage->moves ? (char *)k->scratch + stage->at_moved : data;
    if (stage->casts)
        run_cast(stage, k, (char *)k->scratch + stage->at_cast, before_move);
    if (stage->moves)
        run_move(stage, k, before_move, data);
}
