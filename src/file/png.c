// Png — see png.h. The library's errors come back by longjmp, as in jpeg.c.
#include "file/png.h"

#if __has_include(<png.h>)

#include <dlfcn.h>
#include <png.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libpng16.so.16"

#define PNG_FUNCTIONS(F)                                                                                              \
    F(png_create_read_struct) F(png_create_write_struct) F(png_create_info_struct) F(png_destroy_read_struct)         \
    F(png_destroy_write_struct) F(png_get_error_ptr) F(png_get_io_ptr) F(png_error) F(png_set_read_fn)                \
    F(png_read_info) F(png_get_IHDR) F(png_get_valid) F(png_get_channels) F(png_get_rowbytes)                         \
    F(png_set_tRNS_to_alpha) F(png_set_add_alpha) F(png_set_strip_alpha) F(png_set_strip_16) F(png_set_packing)       \
    F(png_set_interlace_handling) F(png_set_swap) F(png_set_palette_to_rgb) F(png_set_expand_gray_1_2_4_to_8)         \
    F(png_set_rgb_to_gray) F(png_set_gray_to_rgb) F(png_read_update_info) F(png_read_row) F(png_read_end)             \
    F(png_set_write_fn) F(png_set_compression_level) F(png_set_compression_mem_level) F(png_set_IHDR)                 \
    F(png_write_info) F(png_write_row) F(png_write_end)

static struct {
    bool there;
#define F(function) __typeof__(function) *function;
    PNG_FUNCTIONS(F)
#undef F
} lib;

static void open_library(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return;
#define F(function)                                     \
    *(void **)&lib.function = dlsym(handle, #function); \
    if (!lib.function)                                  \
        return;
    PNG_FUNCTIONS(F)
#undef F
    lib.there = true;
}

static Status *need_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    NEED(lib.there, UNIMPLEMENTED, "PNG: " LIBRARY " is not there (libpng)");
    return OK;
}

typedef struct {
    png_structp png;
    png_infop info;
    jmp_buf back;
    char text[160];
    Status *status;      // what is not the library's
    Str left;            // to be read
    const PictureSink *sink;
    PictureShape shape;
    int bits, passes;
    bool widens;         // the file has 8 bits, and 16 are wanted
    uint8_t *out;
    const uint8_t *in;   // to be written
    int compression;
    Text *text_out;
} Picture;

static void on_error(png_structp png, png_const_charp text) {
    Picture *picture = lib.png_get_error_ptr(png);
    snprintf(picture->text, sizeof picture->text, "%s", text);
    longjmp(picture->back, 1);
}
static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static bool guarded(Picture *picture, void (*fn)(Picture *picture)) {
    if (setjmp(picture->back))
        return false;
    fn(picture);
    return true;
}

// ---------------------------------------- reading

enum { SAMPLES_PER_BYTE = 1040 };  // deflate makes at most 1,032 bytes of one

static void read_bytes(png_structp png, png_bytep out, size_t n) {
    Picture *picture = lib.png_get_io_ptr(png);
    if (n > picture->left.n)
        lib.png_error(png, "it ends too early");
    memcpy(out, picture->left.p, n);
    picture->left = (Str){picture->left.p + n, picture->left.n - n};
}

// What is asked of the library so that rows come out as they are wanted.
static void set_transforms(Picture *picture, int depth, int color) {
    png_structp png = picture->png;
    bool transparent = lib.png_get_valid(png, picture->info, PNG_INFO_tRNS) != 0;
    bool alpha = color & PNG_COLOR_MASK_ALPHA, grey = !(color & PNG_COLOR_MASK_COLOR);
    int64_t *channels = &picture->shape.channels;
    if (!*channels && color == PNG_COLOR_TYPE_PALETTE)
        *channels = transparent ? 4 : 3;
    else if (!*channels)
        *channels = lib.png_get_channels(png, picture->info);
    if (*channels % 2 == 0 && !alpha && transparent)
        lib.png_set_tRNS_to_alpha(png);
    else if (*channels % 2 == 0 && !alpha)
        lib.png_set_add_alpha(png, (1u << depth) - 1, PNG_FILLER_AFTER);
    else if (*channels % 2 && (alpha || transparent))
        lib.png_set_strip_alpha(png);
    if (depth > 8 && picture->bits <= 8)
        lib.png_set_strip_16(png);
    picture->widens = depth <= 8 && picture->bits == 16;
    lib.png_set_packing(png);
    picture->passes = lib.png_set_interlace_handling(png);
    if (picture->bits > 8)
        lib.png_set_swap(png);
    if (color == PNG_COLOR_TYPE_PALETTE)
        lib.png_set_palette_to_rgb(png);
    if (grey && depth < 8)
        lib.png_set_expand_gray_1_2_4_to_8(png);
    if (*channels < 3 && !grey)
        lib.png_set_rgb_to_gray(png, 1, 0.299, 0.587);
    else if (*channels >= 3 && grey)
        lib.png_set_gray_to_rgb(png);
    lib.png_read_update_info(png, picture->info);
}

static void read_header(Picture *picture) {
    picture->png = lib.png_create_read_struct(PNG_LIBPNG_VER_STRING, picture, on_error, on_warning);
    picture->info = picture->png ? lib.png_create_info_struct(picture->png) : NULL;
    if (!picture->info) {
        picture->status = OUT_OF_MEMORY;
        return;
    }
    size_t bytes = picture->left.n;
    png_uint_32 width, height;
    int depth, color;
    lib.png_set_read_fn(picture->png, picture, read_bytes);
    lib.png_read_info(picture->png, picture->info);
    lib.png_get_IHDR(picture->png, picture->info, &width, &height, &depth, &color, NULL, NULL, NULL);
    int64_t row = (int64_t)lib.png_get_rowbytes(picture->png, picture->info);
    bool fits = width < 1 << 27 && height < 1 << 27 && (int64_t)width * height < 1 << 29;
    if (!fits || !picture_fits((row + 1) * height, bytes, SAMPLES_PER_BYTE))
        picture->status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "PNG size too large: %u by %u in %zu bytes",
                                     (unsigned)width, (unsigned)height, bytes);
    picture->shape.width = width;
    picture->shape.height = height;
    if (!picture->status)
        set_transforms(picture, depth, color);
}

static void widen(uint8_t *row, int64_t n) {
    for (int64_t i = n - 1; i >= 0; i--)
        row[2 * i] = row[2 * i + 1] = row[i];
}

static void read_rows(Picture *picture) {
    size_t row = (size_t)(picture->shape.width * picture->shape.channels) * (size_t)picture->bits / 8;
    size_t made = lib.png_get_rowbytes(picture->png, picture->info);
    if (made > row)
        lib.png_error(picture->png, "its rows are too long");
    for (int pass = 0; pass < picture->passes; pass++)
        for (int64_t y = 0; y < picture->shape.height; y++)
            lib.png_read_row(picture->png, picture->out + (size_t)y * row, NULL);
    lib.png_read_end(picture->png, picture->info);
    for (int64_t y = 0; picture->widens && y < picture->shape.height; y++)
        widen(picture->out + (size_t)y * row, picture->shape.width * picture->shape.channels);
}

static void read_picture(Picture *picture) {
    read_header(picture);
    if (!picture->status)
        picture->status = picture->sink->room(picture->sink->arg, picture->shape, (void **)&picture->out);
    if (!picture->status)
        read_rows(picture);
}

Status *png_decode(Str bytes, int channels, int bits, const PictureSink *sink) {
    TRY(need_library());
    Picture *picture = calloc(1, sizeof *picture);
    NEED_MEMORY(picture);
    picture->left = bytes;
    picture->sink = sink;
    picture->bits = bits;
    picture->shape = (PictureShape){.frames = 1, .channels = channels};
    bool done = guarded(picture, read_picture);
    Status *status = picture->status;
    if (!done && !status)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "invalid PNG data (size %zu): %s", bytes.n,
                            picture->text);
    lib.png_destroy_read_struct(&picture->png, &picture->info, NULL);
    free(picture);
    return status;
}

// ---------------------------------------- writing

static void write_bytes(png_structp png, png_bytep bytes, size_t n) {
    const Picture *picture = lib.png_get_io_ptr(png);
    text_add(picture->text_out, (Str){(const char *)bytes, n});
}
static void write_nothing(png_structp png) {
    (void)png;
}

static void write_picture(Picture *picture) {
    static const int colors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
    const PictureShape *shape = &picture->shape;
    picture->png = lib.png_create_write_struct(PNG_LIBPNG_VER_STRING, picture, on_error, on_warning);
    picture->info = picture->png ? lib.png_create_info_struct(picture->png) : NULL;
    if (!picture->info) {
        picture->status = OUT_OF_MEMORY;
        return;
    }
    lib.png_set_write_fn(picture->png, picture, write_bytes, write_nothing);
    lib.png_set_compression_level(picture->png, picture->compression < 0 ? -1 : picture->compression);
    lib.png_set_compression_mem_level(picture->png, 9);
    lib.png_set_IHDR(picture->png, picture->info, (png_uint_32)shape->width, (png_uint_32)shape->height, picture->bits,
                     colors[shape->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                     PNG_FILTER_TYPE_DEFAULT);
    lib.png_write_info(picture->png, picture->info);
    if (picture->bits > 8)
        lib.png_set_swap(picture->png);
    size_t row = (size_t)(shape->width * shape->channels) * (size_t)picture->bits / 8;
    for (int64_t y = 0; y < shape->height; y++)
        lib.png_write_row(picture->png, picture->in + (size_t)y * row);
    lib.png_write_end(picture->png, NULL);
}

Status *png_encode(const void *samples, PictureShape shape, int bits, int compression, Text *out) {
    TRY(need_library());
    NEED(shape.width > 0 && shape.height > 0 && shape.width <= INT32_MAX && shape.height <= INT32_MAX, INVALID_ARGUMENT,
         "PNG encoding failed: %lld by %lld pixels", (long long)shape.height, (long long)shape.width);
    NEED(shape.channels >= 1 && shape.channels <= 4, INVALID_ARGUMENT, "PNG encoding failed: %lld channels",
         (long long)shape.channels);
    Picture *picture = calloc(1, sizeof *picture);
    NEED_MEMORY(picture);
    picture->in = samples;
    picture->shape = shape;
    picture->bits = bits;
    picture->compression = compression;
    picture->text_out = out;
    bool done = guarded(picture, write_picture);
    Status *status = picture->status;
    if (!done && !status)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "PNG encoding failed: %s", picture->text);
    lib.png_destroy_write_struct(&picture->png, &picture->info);
    free(picture);
    return status;
}

#else

Status *png_decode(Str bytes, int channels, int bits, const PictureSink *sink) {
    (void)bytes, (void)channels, (void)bits, (void)sink;
    FAIL(UNIMPLEMENTED, "PNG: built without the headers of libpng");
}
Status *png_encode(const void *samples, PictureShape shape, int bits, int compression, Text *out) {
    (void)samples, (void)shape, (void)bits, (void)compression, (void)out;
    FAIL(UNIMPLEMENTED, "PNG: built without the headers of libpng");
}

#endif
