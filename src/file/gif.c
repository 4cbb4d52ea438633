// Gif — see gif.h. The format is little more than LZW; giflib would read all frames before any size could be refused.
//
// Frames are kept as indices until the extents of all are known. Only whole ones count: what is kept was paid for in bytes.
#include "file/gif.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"

enum { MOST_BITS = 12, CODES = 1 << MOST_BITS, NO_CODE = -1, NO_COLOR = -1 };
enum { PIXELS_PER_BYTE = 4096 };  // a code of 12 bits is 4,095 pixels at most

typedef struct {
    Str colors;              // three bytes each
    int64_t left, top, width, height;
    int transparent;         // index, or NO_COLOR
    uint8_t *indices;        // [height][width]
} Frame;
typedef VEC(Frame) Frames;

typedef struct {
    Cursor in;
    Str colors;              // of frames without their own
    int transparent;         // of the frame to come
    bool marked;             // the first block of the kind counts
    Frames frames;
} Gif;

typedef enum { BLOCK, LAST_BLOCK, NO_BLOCK } Block;

static bool read_byte(Cursor *in, int *out) {
    Str byte;
    if (!cursor_bytes(in, 1, &byte))
        return false;
    *out = (uint8_t)byte.p[0];
    return true;
}

// The next block of at most 255 bytes, or the empty one behind the last, or that the file ends before.
static Block next_block(Cursor *in, Str *out) {
    int n;
    if (!read_byte(in, &n) || (n && !cursor_bytes(in, (size_t)n, out)))
        return NO_BLOCK;
    return n ? BLOCK : LAST_BLOCK;
}

// ---------------------------------------- LZW

typedef struct {
    Cursor *in;
    Str block;               // the rest of the present one
    uint32_t bits;
    int n_bits;
    int16_t prefix[CODES];
    uint8_t suffix[CODES], first[CODES];
    uint16_t length[CODES];
} Codes;


// Codes lie across the borders of blocks, low bits first.
static int next_code(Codes *codes, int size) {
    while (codes->n_bits < size) {
        if (!codes->block.n && next_block(codes->in, &codes->block) != BLOCK)
            return NO_CODE;
        codes->bits |= (uint32_t)(uint8_t)codes->block.p[0] << codes->n_bits;
        codes->n_bits += 8;
        codes->block = (Str){codes->block.p + 1, codes->block.n - 1};
    }
    int code = (int)(codes->bits & ((1u << size) - 1));
    codes->bits >>= size;
    codes->n_bits -= size;
    return code;
}

// Writes the pixels that a code stands for, from behind, as a chain of prefixes gives them; those beyond the room are
// dropped.
static void put_code(const Codes *codes, int code, uint8_t *out, int64_t room) {
    for (int64_t i = codes->length[code] - 1; i >= 0; i--, code = codes->prefix[code])
        if (i < room)
            out[i] = codes->suffix[code];
}

// False where the codes end, or make no sense, before all n pixels are there.
static bool unpack(Codes *codes, int first_size, uint8_t *out, int64_t n) {
    int clear = 1 << first_size, stop = clear + 1, next = stop + 1, size = first_size + 1, last = NO_CODE;
    for (int i = 0; i < clear; i++) {
        codes->prefix[i] = 0;
        codes->suffix[i] = codes->first[i] = (uint8_t)i;
        codes->length[i] = 1;
    }
    for (int64_t done = 0; done < n;) {
        int code = next_code(codes, size);
        if (code == clear) {
            next = stop + 1;
            size = first_size + 1;
            last = NO_CODE;
            continue;
        }
        if (code == NO_CODE || code == stop || code > next || (code == next && (last == NO_CODE || next == CODES)) ||
            (last == NO_CODE && code > stop))
            return false;
        if (last != NO_CODE && next < CODES) {
            codes->prefix[next] = (int16_t)last;
            codes->first[next] = codes->first[last];
            codes->suffix[next] = codes->first[code == next ? last : code];
            codes->length[next] = (uint16_t)(codes->length[last] + 1);
            next++;
            if (next == 1 << size && size < MOST_BITS)
                size++;
        }
        put_code(codes, code, out + done, n - done);
        done += codes->length[code];
        last = code;
    }
    return true;
}

// ---------------------------------------- the parts of a file

static bool read_colors(Cursor *in, int packed, Str *out) {
    return !(packed & 0x80) || cursor_bytes(in, 3u << ((packed & 7) + 1), out);
}

static bool read_header(Gif *gif) {
    Str stamp, screen;
    return cursor_bytes(&gif->in, 6, &stamp) && str_starts(stamp, STR("GIF")) && cursor_bytes(&gif->in, 7, &screen) &&
        read_colors(&gif->in, screen.p[4], &gif->colors);
}

// Of extensions only the one that names a transparent colour matters.
static bool read_extension(Gif *gif) {
    int kind;
    Str block;
    Block found = NO_BLOCK;
    if (!read_byte(&gif->in, &kind))
        return false;
    while ((found = next_block(&gif->in, &block)) == BLOCK)
        if (kind == 0xf9 && !gif->marked) {
            gif->marked = true;
            gif->transparent = block.n == 4 && (block.p[0] & 1) ? (uint8_t)block.p[3] : NO_COLOR;
        }
    return found == LAST_BLOCK;
}

static int64_t read_extent(Str bytes, size_t at) {
    return (uint8_t)bytes.p[at] | (uint8_t)bytes.p[at + 1] << 8;
}

// Rows come in four passes where the frame is interlaced.
static bool untangle(Frame *frame) {
    static const int64_t offsets[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    uint8_t *rows = malloc((size_t)(frame->width * frame->height)), *from = frame->indices;
    if (!rows)
        return false;
    for (int pass = 0; pass < 4; pass++)
        for (int64_t y = offsets[pass]; y < frame->height; y += steps[pass], from += frame->width)
            memcpy(rows + y * frame->width, from, (size_t)frame->width);
    free(frame->indices);
    frame->indices = rows;
    return true;
}

// The pixels of a frame and what follows them, up to the block that ends it.
static bool read_indices(Gif *gif, Frame *frame) {
    int64_t n = frame->width * frame->height;
    int size;
    Str rest;
    Block found = BLOCK;
    if (!read_byte(&gif->in, &size) || size < 1 || size > 8 || n <= 0 ||
        !picture_fits(n, cursor_left(&gif->in), PIXELS_PER_BYTE))
        return false;
    Codes *codes = calloc(1, sizeof *codes);
    frame->indices = malloc((size_t)n);
    bool whole = false;
    if (codes && frame->indices) {
        codes->in = &gif->in;
        whole = unpack(codes, size, frame->indices, n);
    }
    free(codes);
    while (whole && found == BLOCK)
        found = next_block(&gif->in, &rest);
    return whole && found == LAST_BLOCK;
}

static bool read_frame(Gif *gif) {
    Str place;
    Frame frame = {.colors = gif->colors, .transparent = gif->transparent};
    if (!cursor_bytes(&gif->in, 9, &place))
        return false;
    frame.left = read_extent(place, 0);
    frame.top = read_extent(place, 2);
    frame.width = read_extent(place, 4);
    frame.height = read_extent(place, 6);
    bool interlaced = place.p[8] & 0x40;
    gif->transparent = NO_COLOR;
    gif->marked = false;
    if (!read_colors(&gif->in, place.p[8], &frame.colors) || !read_indices(gif, &frame) ||
        (interlaced && !untangle(&frame)) || !vec_push(&gif->frames, frame)) {
        free(frame.indices);
        return false;
    }
    return true;
}

// As many frames as there are. What is wrong behind them is no error.
static void read_frames(Gif *gif) {
    int kind;
    bool more = true;
    while (more && read_byte(&gif->in, &kind))
        more = kind == ',' ? read_frame(gif) : kind == '!' && read_extension(gif);
}

// ---------------------------------------- drawing

static Status *draw(const Frame *frame, int64_t height, int64_t width, bool first, uint8_t *canvas) {
    int64_t bottom = min_i64(frame->top + frame->height, height), right = min_i64(frame->left + frame->width, width);
    int colors = (int)(frame->colors.n / 3);
    NEED(frame->colors.n, INVALID_ARGUMENT, "missing color map");
    for (int64_t y = frame->top; y < bottom; y++) {
        const uint8_t *in = frame->indices + (y - frame->top) * frame->width;
        uint8_t *out = canvas + (y * width + frame->left) * 3;
        for (int64_t x = frame->left; x < right; x++, in++, out += 3) {
            if (*in == frame->transparent) {
                if (first)
                    memset(out, 0, 3);
                continue;
            }
            NEED(*in < colors, INVALID_ARGUMENT, "found color index %d outside of color map range %d", *in, colors);
            memcpy(out, frame->colors.p + 3 * *in, 3);
        }
    }
    return OK;
}

static Status *draw_all(const Gif *gif, size_t bytes, bool animated, const PictureSink *sink) {
    PictureShape shape = {.frames = animated ? (int64_t)gif->frames.n : 1, .channels = 3};
    for (size_t i = 0; i < gif->frames.n; i++) {
        shape.width = max_i64(shape.width, gif->frames.p[i].width);
        shape.height = max_i64(shape.height, gif->frames.p[i].height);
    }
    int64_t pixels = shape.width * shape.height;
    NEED(picture_fits(pixels * shape.frames, bytes, PIXELS_PER_BYTE), RESOURCE_EXHAUSTED,
         "%lld frames of %lld by %lld pixels in a GIF file of %zu bytes", (long long)shape.frames,
         (long long)shape.height, (long long)shape.width, bytes);
    uint8_t *out;
    TRY(sink->room(sink->arg, shape, (void **)&out));
    for (int64_t i = 0; i < shape.frames; i++, out += 3 * pixels) {
        if (i)
            memcpy(out, out - 3 * pixels, (size_t)(3 * pixels));
        else
            memset(out, 0, (size_t)(3 * pixels));
        TRY(status_prefix(draw(&gif->frames.p[i], shape.height, shape.width, i == 0, out), "frame %lld", (long long)i));
    }
    return OK;
}

Status *gif_decode(Str bytes, bool animated, const PictureSink *sink) {
    Gif gif = {.in = cursor_of(bytes.p, bytes.n), .transparent = NO_COLOR};
    NEED(read_header(&gif), INVALID_ARGUMENT, "Invalid GIF data (size %zu): no header", bytes.n);
    read_frames(&gif);
    Status *status = OK;
    if (!gif.frames.n)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "does not contain any whole image");
    else
        status = draw_all(&gif, bytes.n, animated, sink);
    for (size_t i = 0; i < gif.frames.n; i++)
        free(gif.frames.p[i].indices);
    vec_clear(&gif.frames);
    return status_prefix(status, "Invalid GIF data (size %zu)", bytes.n);
}
