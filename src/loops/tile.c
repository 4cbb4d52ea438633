// Tile program — see tile.h: an interpreter whose instructions are loops over a tile.
//
// Registers are places of one buffer on the stack; the tile is as long as they leave room for. A short row that repeats
// is laid out in the buffer often enough to be read across its end. A register serves again once the last step that
// reads it has run (linear-scan allocation; at most 32 steps, so searching is fine).
#include "loops/tile.h"

#include <string.h>

#include "base/checked.h"
#include "loops/tuning.h"

typedef struct {
    const TileProgram *program;
    int64_t tile;                      // elements of a register
    size_t register_bytes;
    const char *repeated[TILE_INPUTS]; // rows laid out in the buffer; NULL: read where it is
    size_t input_size[TILE_INPUTS];    // of an element
    char *buffer;
} Layout;

static size_t widest_result(const TileProgram *program) {
    size_t size = 1;
    for (int s = 0; s + 1 < program->n_steps; s++)
        size = program->steps[s].loop.out_size > size ? program->steps[s].loop.out_size : size;
    return size;
}

// The size of an input's elements is that of the step that reads it.
static size_t input_size(const TileProgram *program, int input) {
    for (int s = 0; s < program->n_steps; s++) {
        const TileStep *step = &program->steps[s];
        if ((!step->a.is_step && step->a.index == input) ||
            (step->loop.arity == 2 && !step->b.is_step && step->b.index == input))
            return step->loop.in_size;
        if (step->select && !step->c.is_step && step->c.index == input)
            return sizeof(bool);
    }
    return 0;
}

static bool is_short(const TileProgram *program, int input) {
    return program->inputs[input].period > 0 && program->inputs[input].period < TUNED_REPEAT_PERIOD;
}

static void lay_out(Layout *layout, const void *const *inputs, int64_t count) {
    const TileProgram *program = layout->program;
    size_t result = widest_result(program), each = (size_t)program->n_registers * result, spare = 0;
    for (int i = 0; i < program->n_inputs; i++) {
        size_t size = layout->input_size[i] = input_size(program, i);
        if (is_short(program, i)) {
            each += size;
            spare += (size_t)program->inputs[i].period * size + 64;
        }
    }
    int64_t tile = TILE_BYTES / (int64_t)result;
    spare += (size_t)program->n_registers * 64;
    if (each && (size_t)tile * each + spare > TUNED_TILE_ROOM)
        tile = spare < TUNED_TILE_ROOM ? (int64_t)((TUNED_TILE_ROOM - spare) / each) : 0;
    layout->tile = max_i64(1, tile);
    layout->register_bytes = round_up((size_t)layout->tile * result, 64);
    char *next = layout->buffer + (size_t)program->n_registers * layout->register_bytes;
    for (int i = 0; i < program->n_inputs && tile > 1; i++) {
        if (!is_short(program, i))
            continue;
        size_t size = layout->input_size[i], row = (size_t)program->inputs[i].period * size;
        size_t bytes = (size_t)min_i64(layout->tile, count) * size + row;
        layout->repeated[i] = next;
        memcpy(next, inputs[i], row);
        // Doubling: each copy is as long as all before it.
        for (size_t done = row; done < bytes;) {
            size_t more = done < bytes - done ? done : bytes - done;
            memcpy(next + done, next, more);
            done += more;
        }
        next += round_up((size_t)layout->tile * size + row, 64);
    }
}

typedef struct {
    const char *p;
    int64_t stride;
} Operand;

// Where input i lies at element `at` of the output.
static Operand input_at(const Layout *layout, const void *const *inputs, int i, int64_t at) {
    const TileInput *input = &layout->program->inputs[i];
    const char *base = layout->repeated[i] ? layout->repeated[i] : inputs[i];
    int64_t from = input->period ? at % input->period : at * input->stride;
    return (Operand){base + from * (int64_t)layout->input_size[i], input->period ? 1 : input->stride};
}

static inline Operand operand(const Layout *layout, const Operand *inputs, TileOperand which) {
    if (which.is_step)
        return (Operand){layout->buffer + (size_t)layout->program->steps[which.index].to * layout->register_bytes, 1};
    return inputs[which.index];
}

// Elements from `at` on in which no row that is read where it is ends.
static int64_t piece_length(const Layout *layout, int64_t at, int64_t last) {
    const TileProgram *program = layout->program;
    int64_t n = min_i64(last - at, layout->tile);
    for (int i = 0; i < program->n_inputs; i++)
        if (program->inputs[i].period && !layout->repeated[i])
            n = min_i64(n, program->inputs[i].period - at % program->inputs[i].period);
    return n;
}

int64_t tile_program_run(const TileProgram *program, const void *const *inputs, void *out, int64_t first,
                         int64_t last) {
    _Alignas(64) char buffer[TUNED_TILE_ROOM + TILE_STEPS * 64];
    Layout layout = {.program = program, .buffer = buffer};
    int64_t faults = 0;
    if (first >= last)
        return 0;
    lay_out(&layout, inputs, last - first);
    for (int64_t at = first, n; at < last; at += n) {
        n = piece_length(&layout, at, last);
        Operand here[TILE_INPUTS];
        for (int i = 0; i < program->n_inputs; i++)
            here[i] = input_at(&layout, inputs, i, at);
        for (int s = 0; s < program->n_steps; s++) {
            const TileStep *step = &program->steps[s];
            Operand a = operand(&layout, here, step->a);
            Operand b = step->loop.arity == 2 ? operand(&layout, here, step->b) : a;
            bool inner = s + 1 < program->n_steps;
            char *to = inner ? buffer + (size_t)step->to * layout.register_bytes
                             : (char *)out + (size_t)at * step->loop.out_size;
            if (step->select) {
                Operand c = operand(&layout, here, step->c);
                step->select((const bool *)c.p, a.p, b.p, to, n, c.stride, a.stride, b.stride);
            } else {
                faults += elementwise_run(&step->loop, a.p, b.p, to, n, a.stride, b.stride);
            }
        }
    }
    return faults;
}

// The last step that reads the result of step s.
static int last_reader(const TileProgram *program, int s) {
    int last = s;
    for (int r = s + 1; r < program->n_steps; r++)
        if ((program->steps[r].a.is_step && program->steps[r].a.index == s) ||
            (program->steps[r].b.is_step && program->steps[r].b.index == s) ||
            (program->steps[r].select && program->steps[r].c.is_step && program->steps[r].c.index == s))
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
