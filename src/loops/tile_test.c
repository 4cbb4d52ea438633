// Tests of tile.h: random programs against the same ops run one by one over whole arrays.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/tile.h"

ELEMENTWISE(FloorDiv);
ELEMENTWISE(GreaterEqual);
ELEMENTWISE(Neg);

static uint32_t seed = 3;
static int random_below(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

enum { COUNT = 5003 };

static void check_program(DType dtype, int n_steps, int n_inputs) {
    static const ElementwiseOp *const unary[] = {&elementwise_Neg, &elementwise_Square, &elementwise_Conj};
    static const ElementwiseOp *const binary[] = {&elementwise_Add, &elementwise_Sub, &elementwise_Mul};
    size_t size = dtype_size(dtype);
    TileProgram program = {.n_steps = (int16_t)n_steps, .n_inputs = (int16_t)n_inputs, .count = COUNT};
    char *data[TILE_INPUTS], *full[TILE_INPUTS], *results[TILE_STEPS];
    for (int i = 0; i < n_inputs; i++) {
        int way = random_below(4);
        int64_t period = way == 2 ? 1 + random_below(40) : 300 + random_below(900);
        program.inputs[i] = (TileInput){.stride = way != 1, .period = way >= 2 ? period : 0};
        data[i] = malloc(COUNT * size), full[i] = malloc(COUNT * size);
        for (size_t k = 0; k < COUNT * size; k++)
            data[i][k] = (char)(dtype_is_integer(dtype) ? random_below(256) : 0);
        for (int64_t k = 0; k < COUNT; k++) {
            if (dtype == DT_float)
                ((float *)data[i])[k] = (float)random_below(3) - 1;
            if (dtype == DT_complex128)
                ((double *)data[i])[2 * k] = random_below(3) - 1, ((double *)data[i])[2 * k + 1] = random_below(2);
        }
        for (int64_t k = 0; k < COUNT; k++)
            memcpy(full[i] + (size_t)k * size,
                   data[i] + (size_t)(way == 0 ? k : way == 1 ? 0 : k % period) * size, size);
    }
    for (int s = 0; s < n_steps; s++) {
        TileStep *step = &program.steps[s];
        bool two = random_below(3) > 0;
        ck_assert(elementwise_find(two ? binary[random_below(3)] : unary[random_below(3)], dtype, &step->loop) ||
                  elementwise_find(&elementwise_Neg, dtype, &step->loop));
        TileOperand *operands[2] = {&step->a, &step->b};
        for (int k = 0; k < 2; k++) {
            bool earlier = s > 0 && random_below(2);
            *operands[k] = (TileOperand){earlier, (int16_t)(earlier ? s - 1 - random_below(s < 3 ? s : 3)
                                                            : random_below(n_inputs))};
        }
        if (s > 0)
            step->a = (TileOperand){true, (int16_t)(s - 1)};
        results[s] = malloc(COUNT * size);
        const char *a = step->a.is_step ? results[step->a.index] : full[step->a.index];
        const char *b = step->b.is_step ? results[step->b.index] : full[step->b.index];
        elementwise_run(&step->loop, a, b, results[s], COUNT, 1, 1);
    }
    char *out = malloc(COUNT * size);
    const void *inputs[TILE_INPUTS];
    for (int i = 0; i < n_inputs; i++) inputs[i] = data[i];
    tile_program_registers(&program);
    tile_program_run(&program, inputs, out, 1234, COUNT);
    tile_program_run(&program, inputs, out, 0, 1234);
    ck_assert_msg(memcmp(out, results[n_steps - 1], COUNT * size) == 0, "%s, %d steps, %d inputs", dtype_name(dtype),
                  n_steps, n_inputs);
    free(out);
    for (int i = 0; i < n_inputs; i++) free(data[i]), free(full[i]);
    for (int s = 0; s < n_steps; s++) free(results[s]);
}

START_TEST(programs_do_what_their_ops_do) {
    static const DType types[] = {DT_int32, DT_int8, DT_int64, DT_uint16, DT_complex128};
    for (int round = 0; round < 150; round++) {
        check_program(types[round % 5], 1 + random_below(round % 10 == 0 ? TILE_STEPS : 7),
                      1 + random_below(round % 7 == 0 ? TILE_INPUTS : 4));
        check_program(DT_float, 1 + random_below(3), 1 + random_below(4));
    }
}
END_TEST

START_TEST(faults_are_counted_and_nothing_is_nothing) {
    TileProgram program = {.n_steps = 1, .n_inputs = 2, .count = 4, .inputs = {{.stride = 1}, {.stride = 0}}};
    ck_assert(elementwise_find(&elementwise_FloorDiv, DT_int32, &program.steps[0].loop));
    program.steps[0].b.index = 1;
    int32_t a[4] = {1, 2, 3, 4}, zero = 0, out[4];
    const void *inputs[2] = {a, &zero};
    ck_assert_int_gt(tile_program_run(&program, inputs, out, 0, 4), 0);
    ck_assert_int_eq(tile_program_run(&program, inputs, out, 2, 2), 0);
}
END_TEST

// |x| where the bools of an input hold, each in its own layout, and else -|x|: what isn't chosen may be NaN.
START_TEST(choices_take_bools_of_inputs_and_of_steps) {
    static const TileInput layouts[] = {{.stride = 1}, {.stride = 0}, {.stride = 1, .period = 7},
                                        {.stride = 1, .period = 901}};
    static float x[COUNT], out[COUNT];
    static bool which[COUNT];
    float zero = 0;
    for (int i = 0; i < COUNT; i++) {
        x[i] = i % 11 == 5 ? NAN : (float)random_below(100) - 50;
        which[i] = random_below(2);
    }
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        TileProgram program = {.n_steps = 5, .n_inputs = 3, .count = COUNT, .inputs = {{.stride = 1}, {0}, layouts[l]}};
        TileStep *step = program.steps;
        ck_assert(elementwise_find(&elementwise_GreaterEqual, DT_float, &step[0].loop));
        ck_assert(elementwise_find(&elementwise_Neg, DT_float, &step[1].loop));
        ck_assert(elementwise_find(&elementwise_Neg, DT_float, &step[3].loop));
        step[0].b = (TileOperand){false, 1};
        for (int s = 2; s < 5; s += 2) {
            step[s].loop = (ElementwiseLoop){.in_size = 4, .out_size = 4, .arity = 2};
            step[s].select = elementwise_select(4);
        }
        step[2].b = (TileOperand){true, 1};
        step[2].c = (TileOperand){true, 0};
        step[3].a = step[4].a = (TileOperand){true, 2};
        step[4].b = (TileOperand){true, 3};
        step[4].c = (TileOperand){false, 2};
        tile_program_registers(&program);
        const void *inputs[3] = {x, &zero, which};
        tile_program_run(&program, inputs, out, 777, COUNT);
        tile_program_run(&program, inputs, out, 0, 777);
        for (int i = 0; i < COUNT; i++) {
            bool holds = which[layouts[l].period ? i % layouts[l].period : i * layouts[l].stride];
            float wanted = x[i] >= 0 ? x[i] : -x[i];
            wanted = holds ? wanted : -wanted;
            ck_assert_msg(isnan(x[i]) ? isnan(out[i]) : out[i] == wanted, "layout %zu, element %d", l, i);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tile");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, programs_do_what_their_ops_do);
    tcase_add_test(tests, choices_take_bools_of_inputs_and_of_steps);
    tcase_add_test(tests, faults_are_counted_and_nothing_is_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
