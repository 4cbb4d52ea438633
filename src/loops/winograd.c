// Winograd — see winograd.h. The walk over tiles, blocks and chunks of channels; level/winograd.c has the arithmetic.
//
// A block of tiles is transformed, multiplied with the transformed filter, one product for each of the 36 (64) points,
// and transformed back while it is in the second cache. Tiles at the image's end read zeros beyond it; short tiles are
// made where an image ends with one or two rows or columns.
#include "loops/winograd.h"

#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"
#include "loops/tuning.h"

enum { MOST_POINTS = 64, MOST_TAPS = 25, TILE = 4 };

static const WinogradTransforms *transforms_of(const WinogradPlan *plan) {
    const WinogradTable *loops = loops_table()->winograd;
    return plan->taps == 9 ? loops->of_3 : loops->of_5;
}

// Where transformed tiles lie: [point][vector of channels][tile][lanes].
typedef struct {
    int64_t point, block;
} Layout;

// `tiles` tiles of `channels` channels. An odd number of lines between points spreads them over the caches' sets.
static Layout layout_of(int lanes, int64_t channels, int64_t tiles) {
    int64_t point = div_up(channels, lanes) * tiles * lanes;
    return (Layout){.point = (int64_t)round_up((size_t)point, 32) + 16, .block = tiles * lanes};
}

static Layout packed_layout(const WinogradPlan *plan, int lanes) {  // block: from a panel to the next
    int64_t panel = plan->in_c * 2 * lanes;
    return (Layout){.point = (int64_t)round_up((size_t)(div_up(plan->out_c, 2 * lanes) * panel), 32) + 16,
                    .block = panel};
}

// ---------------------------------------- plan

enum { MOST_CUTS = 16 };

// A multiple of 12, which the products' rows of 6 and 12 divide.
static int64_t block_of(int64_t bytes, int points, int64_t channels) {
    int64_t tiles = bytes / (points * (int64_t)sizeof(float) * channels) / 12 * 12;
    return min_i64(TUNED_WINOGRAD_MOST, max_i64(TUNED_WINOGRAD_LEAST, tiles));
}

static void plan_forward(WinogradPlan *p, int lanes, int threads) {
    p->chunk_in = p->in_c;
    p->chunks_in = 1;
    p->chunks_out = div_up(p->out_c, TUNED_WINOGRAD_CHUNK);
    p->chunk_out = (int64_t)round_up((size_t)div_up(p->out_c, p->chunks_out), 2 * (size_t)lanes);
    p->chunks_out = div_up(p->out_c, p->chunk_out);
    p->block = block_of(TUNED_WINOGRAD_BLOCK, p->points, p->in_c + p->chunk_out);
    if (threads > 1)
        p->block = min_i64(p->block, max_i64(12, div_up(p->tiles, 2 * threads)));
    p->block = max_i64(1, min_i64(p->block, p->tiles));
    p->units = div_up(p->tiles, p->block) * p->chunks_out;
    Layout in = layout_of(lanes, p->in_c, p->block), out = layout_of(lanes, p->chunk_out, p->block);
    p->scratch = (size_t)(p->points * (in.point + out.point) + (int64_t)round_up((size_t)p->in_c, 16)) * sizeof(float);
    p->packed = (size_t)(p->points * packed_layout(p, lanes).point) * sizeof(float);
    p->pack_units = div_up(p->in_c, lanes);
}

static int64_t gradient_cut(int64_t channels, int lanes, int64_t *chunks) {
    int64_t most = max_i64(1, div_up(channels, TUNED_WINOGRAD_GRADIENT_CHUNK));
    int64_t chunk = (int64_t)round_up((size_t)div_up(channels, most), (size_t)lanes);
    *chunks = div_up(channels, chunk);
    return chunk;
}

static void plan_filter(WinogradPlan *p, int lanes) {
    p->chunk_in = gradient_cut(p->in_c, lanes, &p->chunks_in);
    p->chunk_out = gradient_cut(p->out_c, lanes, &p->chunks_out);
    int64_t chunks = p->chunks_in * p->chunks_out;
    p->block = max_i64(1, min_i64(p->tiles, block_of(TUNED_WINOGRAD_GRADIENT, p->points, p->chunk_in + p->chunk_out)));
    // Cuts of one length, and an even number of them: 3 units, or a short last one, would leave a second thread idle.
    p->cuts = max_i64(1, min_i64(MOST_CUTS / chunks, p->tiles / (2 * p->block)));
    p->cuts = p->cuts > 1 ? p->cuts / 2 * 2 : 1;
    p->cut = max_i64(1, div_up(p->tiles, p->cuts));
    p->block = max_i64(1, div_up(p->cut, max_i64(1, (p->cut + p->block / 2) / p->block)));
    p->cuts = max_i64(1, div_up(p->tiles, p->cut));
    p->units = chunks * p->cuts;
    Layout in = layout_of(lanes, p->chunk_in, p->block), out = layout_of(lanes, p->chunk_out, p->block);
    int64_t sums = layout_of(lanes, p->chunk_out, p->chunk_in).point, zeros = max_i64(p->chunk_in, p->chunk_out);
    p->scratch = (size_t)(p->points * (in.point + out.point + sums) + zeros) * sizeof(float);
    p->finish_units = p->cuts > 1 ? p->taps * p->in_c : 0;
    p->partial = (size_t)((p->cuts - 1) * p->taps * p->in_c * p->out_c) * sizeof(float);
}

// Only steps of 1 without dilation: other convolutions don't share products between neighbouring pixels.
bool winograd_prepare(ConvPass pass, const WindowShape *s, int threads, WinogradPlan *plan) {
    int lanes = loops_table()->winograd->lanes;
    bool square = (s->filter_h == 3 || s->filter_h == 5) && s->filter_w == s->filter_h;
    if (!lanes || !square || s->filter_d || s->stride_h != 1 || s->stride_w != 1 || s->dilation_h != 1 ||
        s->dilation_w != 1 || s->groups != 1 || s->in_c < 1 || s->out_c < 1)
        return false;
    WinogradPlan p = {.pass = pass, .batch = s->batch, .in_h = s->in_h, .in_w = s->in_w, .in_c = s->in_c,
                      .out_h = s->out_h, .out_w = s->out_w, .out_c = s->out_c, .pad_top = s->pad_top,
                      .pad_left = s->pad_left, .cuts = 1};
    p.taps = (int)(s->filter_h * s->filter_w);
    p.points = p.taps == 9 ? 36 : 64;
    if (pass == CONV_INPUT) {  // dx is dy, padded the other way, with the filter turned round
        p.in_h = s->out_h, p.in_w = s->out_w, p.in_c = s->out_c, p.out_h = s->in_h, p.out_w = s->in_w,
            p.out_c = s->in_c;
        p.pad_top = s->filter_h - 1 - s->pad_top, p.pad_left = s->filter_w - 1 - s->pad_left;
    }
    p.low = p.taps == 9 && (p.out_h % 4 == 1 || p.out_h % 4 == 2);
    p.narrow = p.taps == 9 && (p.out_w % 4 == 1 || p.out_w % 4 == 2);
    p.tiles_h = div_up(p.out_h, TILE) - p.low;
    p.tiles_w = div_up(p.out_w, TILE) - p.narrow;
    p.first_narrow = p.low && p.narrow ? p.batch : 0;
    p.first_whole = p.first_narrow + (p.narrow ? p.batch * p.tiles_h : 0);
    p.first_low = p.first_whole + p.batch * p.tiles_h * p.tiles_w;
    p.tiles = p.first_low + (p.low ? p.batch * p.tiles_w : 0);
    if (pass == CONV_FILTER)
        plan_filter(&p, lanes);
    else
        plan_forward(&p, lanes, threads);
    p.scratch = round_up(p.scratch, 64);
    *plan = p;
    return true;
}

// In floating-point operations at the speed of products, which direct convolutions also reach: a channel of a tile
// costs 500 to transform (4.6 ns), a pair of channels of the filter 700, and 3,000 where the result goes to memory.
bool winograd_pays(const WinogradPlan *plan) {
    double pair = (double)plan->in_c * (double)plan->out_c, tiles = (double)plan->tiles;
    if (plan->in_c < 16 || plan->out_c < 16)
        return false;
    double direct = 2.0 * plan->taps * (double)(plan->batch * plan->out_h * plan->out_w) * pair;
    double points = plan->points * (double)(plan->first_low - plan->first_whole) + 16.0 * (double)plan->first_narrow +
                    24.0 * (double)(plan->first_whole - plan->first_narrow + plan->tiles - plan->first_low);
    double products = 2 * points * pair, transforms = 14.0 * plan->points * tiles * (double)(plan->in_c + plan->out_c);
    double filter = (pair * plan->points * sizeof(float) > 8e6 && plan->pass != CONV_FILTER ? 3000 : 700) * pair *
        plan->taps / 9;
    return 1.15 * (products + transforms + filter) < direct;
}

// ---------------------------------------- filters

// Rows [first, last), at most 8, of a panel from output channel c on. The filter lies as [taps][out_c][in_c] and is
// turned round.
static void pack_turned(const WinogradPlan *plan, const float *filter, int64_t c, int64_t first, int64_t last,
                        float *panel, Layout layout) {
    const LoopTable *loops = loops_table();
    int64_t width = 2 * loops->winograd->lanes, n = min_i64(width, plan->out_c - c);
    float turned[MOST_TAPS][8][32];
    for (int t = 0; t < plan->taps; t++)
        loops->transpose[2](filter + ((plan->taps - 1 - t) * plan->out_c + c) * plan->in_c + first, turned[t], n,
                            last - first, plan->in_c, 32);
    for (int64_t k = first; k < last; k++) {
        const float *taps[MOST_TAPS];
        for (int t = 0; t < plan->taps; t++)
            taps[t] = turned[t][k - first];
        transforms_of(plan)->filter_row(taps, n, panel + k * width, layout.point, layout.block);
    }
}

void winograd_pack(const WinogradPlan *plan, const float *filter, float *packed, int64_t first, int64_t last) {
    int64_t lanes = loops_table()->winograd->lanes, in_c = plan->in_c, out_c = plan->out_c;
    Layout layout = packed_layout(plan, (int)lanes);
    int64_t begin = first * lanes, end = min_i64(in_c, last * lanes);
    if (plan->pass == CONV_INPUT) {
        for (int64_t k = begin; k < end; k += 8)
            for (int64_t c = 0; c < out_c; c += 2 * lanes)
                pack_turned(plan, filter, c, k, min_i64(end, k + 8), packed + c / (2 * lanes) * layout.block, layout);
        return;
    }
    for (int64_t k = begin; k < end; k++) {
        const float *taps[MOST_TAPS];
        for (int t = 0; t < plan->taps; t++)
            taps[t] = filter + (t * in_c + k) * out_c;
        transforms_of(plan)->filter_row(taps, out_c, packed + k * 2 * lanes, layout.point, layout.block);
    }
}

// ---------------------------------------- tiles

typedef struct {
    int64_t n, y, x;  // image, and where in it the tile's output begins
    bool low, narrow;
} Place;

static Place place_of(const WinogradPlan *plan, int64_t tile) {
    Place place = {.low = tile >= plan->first_low || tile < plan->first_narrow, .narrow = tile < plan->first_whole};
    int64_t h = place.low ? 1 : plan->tiles_h, w = place.narrow ? 1 : plan->tiles_w;
    tile -= tile >= plan->first_low     ? plan->first_low
            : tile >= plan->first_whole  ? plan->first_whole
            : tile >= plan->first_narrow ? plan->first_narrow
                                         : 0;
    place.n = tile / (h * w);
    place.y = (place.low ? plan->tiles_h : tile / w % h) * TILE;
    place.x = (place.narrow ? plan->tiles_w : tile % w) * TILE;
    return place;
}

// The tiles of [from, to) that have a point.
typedef struct {
    int64_t from, to;
} Range;

static Range range_of(const WinogradPlan *plan, int point, int64_t from, int64_t to) {
    bool in_low = point / 6 < 3 || point / 6 > 4, in_narrow = point % 6 < 3 || point % 6 > 4;
    int64_t first = !in_narrow ? plan->first_whole : !in_low ? plan->first_narrow : 0;
    int64_t last = in_low ? plan->tiles : plan->first_low;
    return (Range){max_i64(from, first), min_i64(to, last)};
}

// Where height x width pixels from (top, left) begin in an image; `outside` for those beyond it.
static void find_pixels(const float *image, int64_t h, int64_t w, int64_t channels, int64_t top, int64_t left,
                        int height, int width, const float *outside, const float **pixels) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, pixels++) {
            bool inside = top + y >= 0 && top + y < h && left + x >= 0 && left + x < w;
            *pixels = inside ? image + ((top + y) * w + left + x) * channels : outside;
        }
}

// Transforms tiles [from, to) of channels [c, c + n) of the images read.
static void transform_images(const WinogradPlan *plan, const float *in, int64_t c, int64_t n, int64_t from, int64_t to,
                             const float *zeros, float *out, Layout layout) {
    int lanes = loops_table()->winograd->lanes;
    for (int64_t tile = from; tile < to; tile++, out += lanes) {
        Place at = place_of(plan, tile);
        int side = plan->taps == 9 ? 6 : 8;
        const float *pixels[MOST_POINTS], *image = in + at.n * plan->in_h * plan->in_w * plan->in_c + c;
        find_pixels(image, plan->in_h, plan->in_w, plan->in_c, at.y - plan->pad_top, at.x - plan->pad_left,
                    at.low ? 4 : side, at.narrow ? 4 : side, zeros, pixels);
        transforms_of(plan)->image_tile(pixels, at.low, at.narrow, n, out, layout.point, layout.block);
    }
}

static void transform_gradients(const WinogradPlan *plan, const float *dy, int64_t c, int64_t n, int64_t from,
                                int64_t to, const float *zeros, float *out, Layout layout) {
    int lanes = loops_table()->winograd->lanes;
    for (int64_t tile = from; tile < to; tile++, out += lanes) {
        Place at = place_of(plan, tile);
        const float *pixels[TILE * TILE], *image = dy + at.n * plan->out_h * plan->out_w * plan->out_c + c;
        find_pixels(image, plan->out_h, plan->out_w, plan->out_c, at.y, at.x, at.low ? 2 : TILE,
                    at.narrow ? 2 : TILE, zeros, pixels);
        transforms_of(plan)->gradient_tile(pixels, at.low, at.narrow, n, out, layout.point, layout.block);
    }
}

static void transform_results(const WinogradPlan *plan, const float *in, Layout layout, int64_t c, int64_t n,
                              int64_t from, int64_t to, const float *bias, bool relu, float *out) {
    int lanes = loops_table()->winograd->lanes;
    for (int64_t tile = from; tile < to; tile++, in += lanes) {
        Place at = place_of(plan, tile);
        float *pixels[TILE * TILE], *image = out + at.n * plan->out_h * plan->out_w * plan->out_c + c;
        find_pixels(image, plan->out_h, plan->out_w, plan->out_c, at.y, at.x, TILE, TILE, NULL,
                    (const float **)pixels);
        transforms_of(plan)->result_tile(in, at.low, at.narrow, layout.point, layout.block, n, bias, relu, pixels);
    }
}

// ---------------------------------------- passes

void winograd_run(const WinogradPlan *plan, const float *in, const float *packed, const float *bias, bool relu,
                  float *out, void *scratch, int64_t first, int64_t last) {
    const WinogradTable *loops = loops_table()->winograd;
    int lanes = loops->lanes;
    Layout images = layout_of(lanes, plan->in_c, plan->block), results = layout_of(lanes, plan->chunk_out, plan->block);
    Layout filters = packed_layout(plan, lanes);
    float *a = scratch, *c = a + plan->points * images.point, *zeros = c + plan->points * results.point;
    memset(zeros, 0, (size_t)plan->in_c * sizeof *zeros);
    int64_t before = -1;  // the block whose images are in a
    for (int64_t unit = first; unit < last; unit++) {
        int64_t block = unit / plan->chunks_out, chunk = unit % plan->chunks_out * plan->chunk_out;
        int64_t from = block * plan->block, to = min_i64(plan->tiles, from + plan->block);
        int64_t n = min_i64(plan->chunk_out, plan->out_c - chunk);
        if (block != before)
            transform_images(plan, in, 0, plan->in_c, from, to, zeros, a, images);
        before = block;
        for (int point = 0; point < plan->points; point++) {
            Range range = range_of(plan, point, from, to);
            if (range.from < range.to)
                loops->products(a + point * images.point + (range.from - from) * lanes, images.block,
                                range.to - range.from, plan->in_c,
                                packed + point * filters.point + chunk / (2 * lanes) * filters.block, div_up(n, lanes),
                                c + point * results.point + (range.from - from) * lanes, results.block);
        }
        transform_results(plan, c, results, chunk, n, from, to, bias ? bias + chunk : NULL, relu, out);
    }
}

// Sums over tiles [from, to) of the products of chunks of channels; then their gradient of the filter.
static void filter_unit(const WinogradPlan *plan, const float *x, const float *dy, float *out, float *scratch,
                        int64_t ci, int64_t co, int64_t from, int64_t to) {
    const WinogradTable *loops = loops_table()->winograd;
    int lanes = loops->lanes;
    int64_t in = min_i64(plan->chunk_in, plan->in_c - ci), n = min_i64(plan->chunk_out, plan->out_c - co);
    Layout images = layout_of(lanes, plan->chunk_in, plan->block);
    Layout gradients = layout_of(lanes, plan->chunk_out, plan->block);
    Layout sums = layout_of(lanes, plan->chunk_out, plan->chunk_in);
    int64_t row = div_up(n, lanes) * lanes;
    float *a = scratch, *b = a + plan->points * images.point, *c = b + plan->points * gradients.point;
    float *zeros = c + plan->points * sums.point;
    memset(zeros, 0, (size_t)max_i64(plan->chunk_in, plan->chunk_out) * sizeof *zeros);
    bool begun[MOST_POINTS] = {false};
    for (int64_t tile = from; tile < to; tile += plan->block) {
        int64_t end = min_i64(to, tile + plan->block);
        transform_images(plan, x, ci, in, tile, end, zeros, a, images);
        transform_gradients(plan, dy, co, n, tile, end, zeros, b, gradients);
        for (int point = 0; point < plan->points; point++) {
            Range range = range_of(plan, point, tile, end);
            if (range.from >= range.to)
                continue;
            int64_t skip = (range.from - tile) * lanes;
            loops->gradient_products(a + point * images.point + skip, images.block, in,
                                     b + point * gradients.point + skip, gradients.block, div_up(n, lanes),
                                     range.to - range.from, c + point * sums.point, row, begun[point]);
            begun[point] = true;
        }
    }
    for (int point = 0; point < plan->points; point++)
        if (!begun[point])
            memset(c + point * sums.point, 0, (size_t)sums.point * sizeof *c);
    for (int64_t i = 0; i < in; i++) {
        float *taps[MOST_TAPS];
        for (int t = 0; t < plan->taps; t++)
            taps[t] = out + (t * plan->in_c + ci + i) * plan->out_c + co;
        transforms_of(plan)->filter_gradient_row(c + i * row, sums.point, n, taps);
    }
}

void winograd_filter(const WinogradPlan *plan, const float *x, const float *dy, float *d_filter, float *partial,
                     void *scratch, int64_t first, int64_t last) {
    for (int64_t unit = first; unit < last; unit++) {
        int64_t cut = unit % plan->cuts, chunk = unit / plan->cuts;
        int64_t ci = chunk / plan->chunks_out * plan->chunk_in, co = chunk % plan->chunks_out * plan->chunk_out;
        float *out = cut ? partial + (cut - 1) * plan->taps * plan->in_c * plan->out_c : d_filter;
        filter_unit(plan, x, dy, out, scratch, ci, co, cut * plan->cut, min_i64(plan->tiles, (cut + 1) * plan->cut));
    }
}

void winograd_filter_finish(const WinogradPlan *plan, float *d_filter, const float *partial, int64_t first,
                            int64_t last) {
    int64_t n = (last - first) * plan->out_c, at = first * plan->out_c;
    for (int64_t cut = 1; cut < plan->cuts; cut++, partial += plan->taps * plan->in_c * plan->out_c)
        loops_table()->window->add_channels[0](partial + at, d_filter + at, n, 1);
}
