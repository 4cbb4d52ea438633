// Tile program — see tile.h.
#include "loops/tile.h"

#include "base/checked.h"

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

enum { REGISTER_BYTES = TILE_ELEMENTS * 8 };  // of the types that are fused: at most a double

static Operand operand(const TileProgram *program, const void *const *inputs, const char *registers, TileOperand which,
                       size_t size, int64_t at) {
    if (which.is_step)
        return (Operand){registers + program->steps[which.index].to * REGISTER_BYTES, 1};
    const TileInput *input = &program->inputs[which.index];
    int64_t from = input->period ? at % input->period : at * input->stride;
    return (Operand){(const char *)inputs[which.index] + (size_t)from * size, input->period ? 1 : input->stride};
}

int64_t tile_program_run(const TileProgram *program, const void *const *inputs, void *out, int64_t first,
                         int64_t last) {
    int64_t faults = 0;
    // A chain seldom needs more than three: 12 KiB of this thread's stack.
    char registers[(program->n_registers + 1) * REGISTER_BYTES] __attribute__((aligned(64)));
    for (int64_t at = first, n; at < last; at += n) {
        n = piece_length(program, at, last);
        for (int s = 0; s < program->n_steps; s++) {
            const TileStep *step = &program->steps[s];
            Operand a = operand(program, inputs, registers, step->a, step->loop.in_size, at);
            Operand b = step->loop.arity == 2 ? operand(program, inputs, registers, step->b, step->loop.in_size, at) : a;
            char *to = s + 1 < program->n_steps ? registers + step->to * REGISTER_BYTES : (char *)out + (size_t)at * step->loop.out_size;
            faults += elementwise_run(&step->loop, a.p, b.p, to, n, a.stride, b.stride);
        }
    }
    return faults;
}

// The last step that reads the result of step s.
static int last_reader(const TileProgram *program, int s) {
    int last = s;
    for (int r = s + 1; r < program->n_steps; r++)
        if ((program->steps[r].a.is_step && program->steps[r].a.index == s) ||
            (program->steps[r].b.is_step && program->steps[r].b.index == s))
            last = r;
    return last;
}

void tile_program_registers(TileProgram *program) {
    int busy_until[TILE_STEPS] = {0};
    program->n_registers = 0;
    for (int s = 0; s + 1 < program->n_steps; s++) {
        int r = 0;
        while (r < program->n_registers && busy_until[r] >= s)
            r++;
        if (r == program->n_registers)
            program->n_registers++;
        busy_until[r] = last_reader(program, s);
        program->steps[s].to = (int16_t)r;
    }
}
