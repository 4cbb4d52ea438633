// LoopTable of this level: what the loops of one CPU level are found by.
//
// Some loops gain nothing from 512 bits, or nothing from 256, and take theirs from a lower level (INTEGER_LEVEL,
// COMPLEX_LEVEL): each level costs tens of kilobytes.
#include "loops/level/table.h"
extern const ElementwiseFn LEVEL(loop_table_f32)[], INTEGER_LEVEL(loop_table_f64)[], INTEGER_LEVEL(loop_table_i32)[],
    INTEGER_LEVEL(loop_table_i64)[], INTEGER_LEVEL(loop_table_u32)[], INTEGER_LEVEL(loop_table_u64)[],
    COMPLEX_LEVEL(loop_table_c64)[], COMPLEX_LEVEL(loop_table_c128)[], INTEGER_LEVEL(loop_table_b8)[];
extern const SelectFn LEVEL(loop_selects)[5];
extern const SixteenTable LEVEL(loop_sixteen);
extern const ConvertFn INTEGER_LEVEL(loop_casts)[CAST_TYPES][CAST_TYPES];
extern const FoldLoops LEVEL(loop_folds_f32)[], LEVEL(loop_folds_f64)[], INTEGER_LEVEL(loop_folds_i32)[],
    INTEGER_LEVEL(loop_folds_i64)[], INTEGER_LEVEL(loop_folds_u32)[], INTEGER_LEVEL(loop_folds_u64)[],
    COMPLEX_LEVEL(loop_folds_c64)[], COMPLEX_LEVEL(loop_folds_c128)[], INTEGER_LEVEL(loop_folds_b8)[];
extern const ArgLoops LEVEL(loop_args_f32), LEVEL(loop_args_f64), INTEGER_LEVEL(loop_args_i32),
    INTEGER_LEVEL(loop_args_i64), INTEGER_LEVEL(loop_args_u32), INTEGER_LEVEL(loop_args_u64),
    INTEGER_LEVEL(loop_args_b8);
extern const DotsFn LEVEL(loop_dots)[2];
extern const TransposeFn LEVEL(loop_transposes)[6];
extern const GemmFn LEVEL(loop_gemms)[TYPES];
extern const GemmPackFn LEVEL(loop_gemm_packs)[2];
extern const int8_t LEVEL(loop_gemm_panels)[2];
extern void LEVEL(loop_philox)(const uint32_t *key, const uint32_t *counter, uint64_t skip, int64_t blocks,
                               uint32_t *out);
extern void (*const LEVEL(loop_ffts)[2])(const FftPass *pass, const void *re, const void *im, void *to_re, void *to_im);
extern const SoftmaxTable LEVEL(loop_softmaxes);
extern const WindowTable LEVEL(loop_windows);
extern const WinogradTable LEVEL(loop_winograd);

const LoopTable LEVEL(loops) = {
    .level = LOOPS_LEVEL,
    .elementwise = {LEVEL(loop_table_f32), INTEGER_LEVEL(loop_table_f64), INTEGER_LEVEL(loop_table_i32),
                    INTEGER_LEVEL(loop_table_i64),
                    INTEGER_LEVEL(loop_table_u32), INTEGER_LEVEL(loop_table_u64),
                    COMPLEX_LEVEL(loop_table_c64), COMPLEX_LEVEL(loop_table_c128),
                    INTEGER_LEVEL(loop_table_b8)},
    .select = LEVEL(loop_selects),
    .sixteen = &LEVEL(loop_sixteen),
    .cast = INTEGER_LEVEL(loop_casts),
    .fold = {LEVEL(loop_folds_f32), LEVEL(loop_folds_f64), INTEGER_LEVEL(loop_folds_i32), INTEGER_LEVEL(loop_folds_i64),
             INTEGER_LEVEL(loop_folds_u32), INTEGER_LEVEL(loop_folds_u64), COMPLEX_LEVEL(loop_folds_c64),
             COMPLEX_LEVEL(loop_folds_c128), INTEGER_LEVEL(loop_folds_b8)},
    .arg = {&LEVEL(loop_args_f32), &LEVEL(loop_args_f64), &INTEGER_LEVEL(loop_args_i32), &INTEGER_LEVEL(loop_args_i64),
            &INTEGER_LEVEL(loop_args_u32), &INTEGER_LEVEL(loop_args_u64), [TYPE_BOOL] = &INTEGER_LEVEL(loop_args_b8)},
    .dots = LEVEL(loop_dots),
    .transpose = LEVEL(loop_transposes),
    .fft = LEVEL(loop_ffts),
    .gemm = LEVEL(loop_gemms),
    .gemm_pack = LEVEL(loop_gemm_packs),
    .gemm_panel = LEVEL(loop_gemm_panels),
    .softmax = &LEVEL(loop_softmaxes),
    .window = &LEVEL(loop_windows),
    .winograd = &LEVEL(loop_winograd),
    .philox = LEVEL(loop_philox),
};
