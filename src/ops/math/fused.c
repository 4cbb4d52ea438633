// _Fused — a chain of elementwise ops that the planner joined (plan/fuse.c): one pass over memory instead of one per
// op.
//
// A program for loops/tile.c. Its loops are those that the ops have alone, so the bits are the same; rows that repeat
// and uniform constants are read as such.
#include <stddef.h>

#include "loops/move.h"
#include "loops/tile.h"
#include "loops/tuning.h"
#include "ops/math/elementwise.h"

typedef struct {
    TileProgram *program;          // kept from one prepare to the next, which lays the inputs anew
    int64_t cost;                  // ns
    int64_t *offsets;              // of inputs that are spread into scratch first; -1: read where they are
    CopyPlan **spread;             // how; NULL where it is not spread
} Fused;

// Operands are written as three integers a step: i >= 0 is input i, i < 0 the result of step -1 - i. The third is a
// choice's condition.
static TileOperand operand_of(int64_t code) {
    return code >= 0 ? (TileOperand){false, (int16_t)code} : (TileOperand){true, (int16_t)(-1 - code)};
}

// Trailing dimensions of the output, all else 1: a row that repeats.
static bool is_row(const Shape *in, const Shape *out) {
    bool inside = true;
    for (int i = 0; i < in->rank; i++) {
        int64_t mine = in->dims[in->rank - 1 - i], whole = out->dims[out->rank - 1 - i];
        if (inside && mine != whole)
            inside = false;
        if (!inside && mine != 1)
            return false;
    }
    return true;
}

// A constant that is the same all over is read as a scalar.
static bool is_uniform(const Tensor *value) {
    size_t size = value ? dtype_size(value->dtype) : 0, bytes = value ? tensor_bytes(value) : 0;
    return size && bytes >= size && !memcmp(value->data, (const char *)value->data + size, bytes - size);
}

static Status *prepare_input(Prepare *p, Fused *fused, int i) {
    const Shape *in = &p->in[i]->shape, *out = &p->out[0]->shape;
    TileInput *input = &fused->program->inputs[i];
    int64_t count = shape_count(in), whole = fused->program->count;
    fused->offsets[i] = -1;
    *input = (TileInput){0};
    bool one = count == 1 || is_uniform(output_constant(p->node->inputs[i]));
    input->stride = !one && count == whole;
    if (one || count == whole)
        return OK;
    if (is_row(in, out)) {
        input->period = count;
        return OK;
    }
    size_t size = dtype_size(p->in[i]->dtype);
    input->stride = 1;
    fused->offsets[i] = (int64_t)p->scratch;
    p->scratch += round_up((size_t)whole * size, BUFFER_ALIGNMENT);
    fused->spread[i] = ARENA_NEW(p->arena, CopyPlan);
    NEED_MEMORY(fused->spread[i]);
    copy_broadcast(in, out, size, fused->spread[i]);
    return OK;
}

static Status *find_loop(Str name, DType dtype, TileStep *step, int32_t *picoseconds) {
    if (str_is(name, "Select") || str_is(name, "SelectV2")) {
        uint8_t size = (uint8_t)dtype_size(dtype);
        step->loop = (ElementwiseLoop){.in_size = size, .out_size = size, .arity = 2};
        step->select = elementwise_select(size);
        *picoseconds += TUNED_SIMPLE;
        return OK;
    }
    const ElementwiseOp *op = str_is(name, "AddN") ? &elementwise_Add : elementwise_named(name);
    NEED(elementwise_find(op, dtype, &step->loop), INTERNAL, "no loop for %.*s",
         STR_ARGS(name));
    *picoseconds += elementwise_picoseconds(op, &step->loop);
    return OK;
}

static Status *make_program(Prepare *p, TileProgram **out) {
    const AttrValue *ops = node_list(p->node, "ops"), *args = node_list(p->node, "args");
    NEED(p->n_in <= TILE_INPUTS && ops->n <= TILE_STEPS && args->n == 3 * ops->n, INTERNAL, "malformed chain");
    // A graph of a million nodes has as many chains, mostly short ones: 80 bytes a step, where 32 would take 2.5 KB.
    TileProgram *program =
        arena_alloc(p->lasting, offsetof(TileProgram, steps) + (size_t)ops->n * sizeof program->steps[0]);
    NEED_MEMORY(program);
    program->n_inputs = (int16_t)p->n_in;
    program->n_steps = (int16_t)ops->n;
    for (int s = 0; s < ops->n; s++) {
        TileStep *step = &program->steps[s];
        TRY(find_loop(ops->ss[s], p->out[0]->dtype, step, &program->picoseconds));
        step->a = operand_of(args->is[3 * s]);
        step->b = operand_of(args->is[3 * s + 1]);
        step->c = operand_of(args->is[3 * s + 2]);
    }
    tile_program_registers(program);
    *out = program;
    return OK;
}

static Status *fused_prepare(Prepare *p) {
    Fused *fused = p->own;
    TileProgram *program = p->persistent;
    if (!program)
        TRY(make_program(p, &program));
    p->persistent = program;
    fused->program = program;
    program->count = shape_count(&p->out[0]->shape);
    fused->offsets = ARENA_ARRAY(p->arena, int64_t, p->n_in);
    fused->spread = ARENA_ARRAY(p->arena, CopyPlan *, p->n_in);
    NEED_MEMORY(fused->offsets && fused->spread);
    for (int i = 0; i < p->n_in; i++)
        TRY(prepare_input(p, fused, i));
    int64_t bytes = program->count * (int64_t)dtype_size(p->out[0]->dtype);
    for (int i = 0; i < p->n_in; i++)
        bytes += program->count * (int64_t)dtype_size(p->in[i]->dtype);
    p->cost = fused->cost = kernel_cost(program->count, program->picoseconds, bytes);
    return OK;
}

typedef struct {
    Kernel *k;
    const void *inputs[TILE_INPUTS];
    _Atomic int64_t faults;
} Work;

static void fused_range(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Fused *fused = work->k->own;
    int64_t faults = tile_program_run(fused->program, work->inputs, work->k->out[0]->data, first, last);
    if (faults)
        atomic_fetch_add(&work->faults, faults);
}

static Status *fused_run(Kernel *k) {
    const Fused *fused = k->own;
    Work work = {.k = k};
    for (int i = 0; i < k->n_in; i++) {
        work.inputs[i] = k->in[i]->data;
        if (fused->offsets[i] >= 0) {
            char *spread = (char *)k->scratch + fused->offsets[i];
            copy_run(fused->spread[i], k->in[i]->data, spread, 0, fused->spread[i]->units);
            work.inputs[i] = spread;
        }
    }
    kernel_share(k, fused->program->count, fused->cost, fused_range, &work);
    NEED(work.faults == 0, INVALID_ARGUMENT, "Integer division by zero");
    return OK;
}

const Op op__Fused = {
    .signature = "_Fused(inputs: Tin) -> output: T; Tin: list(type) >= 1; T: type; ops: list(string); args: list(int)",
    .doc = "A chain of elementwise ops, one tile after the other.", .shape = shape_broadcast_all,
    .prepare = fused_prepare, .own_size = sizeof(Fused), .cpu = ANY_TYPE(fused_run), .inplace = BIT(0),
    .flags = OP_NO_GRADIENT,
};
