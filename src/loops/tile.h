// Tile program — a chain of elementwise ops as one loop: tile by tile through all steps, in memory that stays in L1.
//
// A chain of n ops over tensors of a megabyte moves 2n megabytes; as a program it moves what goes in and what comes
// out.
#pragma once
#include "loops/elementwise.h"

enum { TILE_INPUTS = 16, TILE_STEPS = 32, TILE_BYTES = 4096 };  // bytes of a step's result at a time

// Where an operand comes from: an input, or the result of an earlier step.
typedef struct {
    bool is_step;
    int16_t index;
} TileOperand;

typedef struct {
    ElementwiseLoop loop;
    SelectFn select;       // NULL: the loop; else a where the elements of c hold, which are bools, and b elsewhere
    TileOperand a, b, c;   // b is ignored by unary ops, c by all that choose nothing
    int16_t to;            // the register of its result; set by tile_program_registers
} TileStep;

// How an input is laid over the output: element i of the output reads element `i * stride` (0 or 1), or, where `period`
// is given, element i % period (a row that repeats).
typedef struct {
    int8_t stride;
    int64_t period;        // 0: none
} TileInput;

typedef struct {
    TileInput inputs[TILE_INPUTS];
    int16_t n_steps, n_inputs, n_registers;
    int32_t picoseconds;   // of an element, roughly; the caller's
    int64_t count;         // elements of the output
    TileStep steps[TILE_STEPS];  // the first n_steps; memory behind them isn't needed
} TileProgram;

// Gives every step but the last a register, used again once its readers have run.
void tile_program_registers(TileProgram *program);

// Computes elements [first, last) of the output, which the last step gives. `inputs` are their first elements. Returns
// the faults. The output may be an input that is walked with stride 1.
int64_t tile_program_run(const TileProgram *program, const void *const *inputs, void *out, int64_t first, int64_t last);
