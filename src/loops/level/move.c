// Transposes of blocks, by element size.
//
// A block is read by rows into an array that the compiler keeps in registers, and written by rows: both sides touch
// whole cache lines. The rest at the edges goes element by element.
#include "loops/level/table.h"

typedef struct { uint64_t a, b; } Pair;
typedef struct { uint64_t a, b, c; } Triple;

// out[j * to + i] = in[i * from + j]: reads rows and writes rows of a block that fits in registers or L1.
#define TRANSPOSE(name, T, SIDE)                                                                        \
    static void name(const void *in, void *out, int64_t rows, int64_t columns, int64_t from, int64_t to) { \
        const T *p = in;                                                                                \
        T *o = out;                                                                                     \
        int64_t whole_rows = rows / SIDE * SIDE, whole_columns = columns / SIDE * SIDE;                 \
        for (int64_t i = 0; i < whole_rows; i += SIDE)                                                  \
            for (int64_t j = 0; j < whole_columns; j += SIDE) {                                         \
                T block[SIDE][SIDE];                                                                    \
                for (int a = 0; a < SIDE; a++)                                                          \
                    for (int b = 0; b < SIDE; b++)                                                      \
                        block[b][a] = p[(i + a) * from + j + b];                                        \
                for (int b = 0; b < SIDE; b++)                                                          \
                    memcpy(&o[(j + b) * to + i], block[b], sizeof block[b]);                            \
            }                                                                                           \
        for (int64_t i = 0; i < rows; i++)                                                              \
            for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)                      \
                o[j * to + i] = p[i * from + j];                                                        \
    }
TRANSPOSE(transpose_1, uint8_t, 16)
TRANSPOSE(transpose_2, uint16_t, 16)
TRANSPOSE(transpose_4, uint32_t, 16)
TRANSPOSE(transpose_8, uint64_t, 8)
TRANSPOSE(transpose_16, Pair, 4)
TRANSPOSE(transpose_24, Triple, 4)

const TransposeFn LEVEL(loop_transposes)[6] = {transpose_1, transpose_2, transpose_4, transpose_8, transpose_16,
                                               transpose_24};
