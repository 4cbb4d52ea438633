// Winograd — convolutions of 3 x 3 and 5 x 5 pixels in steps of 1, with a quarter and a sixth of the multiplications.
//
// F(4x4, 3x3) and F(4x4, 5x5) on NHWC images: tiles of pixels and the filter are transformed, multiplied as 36 or 64
// matrix products over the channels, and transformed back. Against a plain convolution of floats the results differ by
// about 1e-6 (3x3) and 3e-6 (5x5) of their size; a value that isn't finite spreads to the 4 x 4 pixels of its tiles.
// The CPU levels v3 and v4 have it.
//
// oneDNN 2.6 has its own for 3x3 (F(4x4), AVX-512 alone, images in blocks of 16 channels, up to 340 MB of scratch). On
// one thread of Zen 4 it takes 1.07 to 1.9 times as long for VGG's, GoogLeNet's and ResNet's results and gradients of
// inputs, and 0.93 to 1.6 times for gradients of filters, without the reordering to and from blocks.
//
// Bits depend on shape and CPU level alone, not on how units are shared out.
#pragma once
#include "loops/window.h"

typedef struct {
    ConvPass pass;
    // As a forward convolution of `in` to `out` (the gradient of the input reads dy and writes dx). In the pass of the
    // filter `in` is x and `out` is dy.
    int64_t batch, in_h, in_w, in_c, out_h, out_w, out_c, pad_top, pad_left;
    int taps;                            // 9 or 25
    int points;                          // of a tile: 36 or 64
    // Tiles of an image, without a last row and column of short ones, which make two rows or columns. The batch's come
    // in the order: both low and narrow, narrow, whole, low, so that those that have a point follow each other.
    int64_t tiles_h, tiles_w;
    bool low, narrow;                    // there is a row of low tiles, a column of narrow ones
    int64_t first_narrow, first_whole, first_low, tiles;
    int64_t block;                       // tiles that are transformed at a time
    int64_t chunk_in, chunk_out;         // channels of a unit; chunk_in is all of them but in the pass of the filter
    int64_t chunks_in, chunks_out;
    int64_t cuts, cut;                   // filter: of the tiles into partial sums; tiles of one
    int64_t units;
    size_t scratch;                      // bytes per running thread, aligned to 64
    size_t packed;                       // bytes of the packed filter
    int64_t pack_units;
    size_t partial;                      // filter: bytes of the partial sums
    int64_t finish_units;                // filter: 0 where there are none
} WinogradPlan;

// False where the shape is another than 3 x 3 or 5 x 5 with stride, dilation and groups of 1, or this CPU level has no
// loops.
bool winograd_prepare(ConvPass pass, const WindowShape *shape, int threads, WinogradPlan *plan);
// Whether it is clearly faster than what multiplies directly.
bool winograd_pays(const WinogradPlan *plan);

// Forward and input: lays out units [first, last) of [0, pack_units) of the filter, HWIO; valid for this shape of a
// filter, pass and CPU level, whatever the images are.
void winograd_pack(const WinogradPlan *plan, const float *filter, float *packed, int64_t first, int64_t last);
// out (y or dx) of in (x or dy). Each output gets its bias (NULL: none), then is cut at 0 if `relu`.
void winograd_run(const WinogradPlan *plan, const float *in, const float *packed, const float *bias, bool relu,
                  float *out, void *scratch, int64_t first, int64_t last);
// d_filter of x and dy: all units, then units [first, last) of [0, finish_units) sum what they left in `partial`.
void winograd_filter(const WinogradPlan *plan, const float *x, const float *dy, float *d_filter, float *partial,
                     void *scratch, int64_t first, int64_t last);
void winograd_filter_finish(const WinogradPlan *plan, float *d_filter, const float *partial, int64_t first,
                            int64_t last);
