// One pass of a Fourier transform: fft.h says how things lie, fft_rows.h is the code, included for each type.
#include "loops/level/table.h"

#define T float
#define NAME f32
#include "loops/level/fft_rows.h"
#undef T
#undef NAME
#define T double
#define NAME f64
#include "loops/level/fft_rows.h"
#undef T
#undef NAME

void (*const LEVEL(loop_ffts)[2])(const FftPass *pass, const void *re, const void *im, void *to_re, void *to_im) =
    {f32_pass,
                                                                                                           f64_pass};
