// Tile program — see tile.h.
#include "loops/tile.h"

#include "base/checked.h"

// Results of steps: at most 16 bytes an element. 32 registers of 1,024 floats are 128 KiB; chains are seldom longer than
// six steps, and a register is used again once its reader has run only if the planner says so, which it does not yet.
typedef struct {
    char bytes[TILE_STEPS][TILE_ELEMENTS * 8] __attribute__((aligned(64)));
} Registers;

static _Thread_local Registers registers;

typedef struct {
    const char *p;
    int64_t stride;
} Operand;

// One piece of a tile in which no repeating row wraps around.
static int64_t piece_length(const TileProgram *program, int64_t at, int64_t last) {
    int64_t n = min_i64(last - at, TILE_ELEMENTS);
    for (int i = 0; i < program->n_inputs; i++)
        if (program->inputs[i].period)
            n = min_i64(n, program->inputs[i].period - at % program->inputs[i].period);
    return n;
}

static Operand operand(const TileProgram *program, const void *const *inputs, TileOperand which, size_t size,
                       int64_t at) {
    if (which.is_step)
        return (Operand){registers.bytes[which.index], 1};
    const TileInput *input = &program->inputs[which.index];
    int64_t from = input->period ? at % input->period : at * input->stride;
    return (Operand){(const char *)inputs[which.index] + (size_t)from * size, input->period ? 1 : input->stride};
}

int64_t tile_program_run(const TileProgram *program, const void *const *inputs, void *out, int64_t first,
                         int64_t last) {
    int64_t faults = 0;
    for (int64_t at = first, n; at < last; at += n) {
        n = piece_length(program, at, last);
        for (int s = 0; s < program->n_steps; s++) {
            const TileStep *step = &program->steps[s];
            Operand a = operand(program, inputs, step->a, step->loop.in_size, at);
            Operand b = step->loop.arity == 2 ? operand(program, inputs, step->b, step->loop.in_size, at) : a;
            char *to = s + 1 < program->n_steps ? registers.bytes[s] : (char *)out + (size_t)at * step->loop.out_size;
            faults += elementwise_run(&step->loop, a.p, b.p, to, n, a.stride, b.stride);
        }
    }
    return faults;
}
