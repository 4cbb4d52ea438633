// Picture test — image files come back as they were written, damaged ones give a status, and none takes memory that its size
// does not account for.
#include <stdlib.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "file/bmp.h"
#include "file/gif.h"
#include "file/jpeg.h"
#include "file/png.h"

enum { HEIGHT = 13, WIDTH = 21, MOST = 1 << 26 };

// What a decoder is given: memory, at most MOST of it.
typedef struct {
    PictureShape shape;
    uint8_t *samples;
    size_t size;         // of a sample
    int rooms;
} Album;

static Status *room(void *arg, PictureShape shape, void **out) {
    Album *album = arg;
    int64_t n = shape.frames * shape.height * shape.width * shape.channels;
    ck_assert_int_eq(album->rooms++, 0);
    ck_assert_int_gt(n, 0);
    ck_assert_int_le(n, MOST);
    album->shape = shape;
    *out = album->samples = malloc((size_t)n * album->size);
    return OK;
}
static void album_clear(Album *album) {
    free(album->samples);
    *album = (Album){.size = album->size};
}

typedef Status *DecodeFn(Str bytes, const PictureSink *sink);

static Status *read_jpeg(Str bytes, const PictureSink *sink) {
    JpegOptions options = {.ratio = 1, .accurate = true, .fancy_upscaling = true, .acceptable_fraction = 0.1f};
    return jpeg_decode(bytes, &options, sink);
}
static Status *read_recovering(Str bytes, const PictureSink *sink) {
    JpegOptions options = {.ratio = 1, .recover = true, .crops = true, .crop_y = 2, .crop_x = 3, .crop_height = 5, .crop_width = 4};
    return jpeg_decode(bytes, &options, sink);
}
static Status *read_png(Str bytes, const PictureSink *sink) {
    return png_decode(bytes, 4, 16, sink);
}
static Status *read_bmp(Str bytes, const PictureSink *sink) {
    return bmp_decode(bytes, 3, sink);
}
static Status *read_gif(Str bytes, const PictureSink *sink) {
    return gif_decode(bytes, true, sink);
}

static void fill(uint8_t *samples, int channels) {
    for (int i = 0; i < HEIGHT * WIDTH * channels; i++)
        samples[i] = (uint8_t)(i * i / 7 + i % channels * 40);
}

// Each byte changed in two ways, and the file cut at each length. How many of them were refused.
static int damage(Text *file, DecodeFn *decode, size_t size) {
    int refused = 0;
    Album album = {.size = size};
    PictureSink sink = {room, &album};
    GOOD(decode(text_str(file), &sink));
    album_clear(&album);
    for (size_t i = 0; i < 3 * file->n; i++) {
        size_t at = i % file->n;
        char mask = i < file->n ? 0x41 : (char)0xff;
        Str bytes = i < 2 * file->n ? text_str(file) : (Str){file->p, at};
        file->p[at] ^= mask;
        Status *status = decode(bytes, &sink);
        file->p[at] ^= mask;
        refused += status != NULL;
        status_free(status);
        album_clear(&album);
    }
    return refused;
}

START_TEST(png_comes_back) {
    uint8_t samples[HEIGHT * WIDTH * 4];
    for (int channels = 1; channels <= 4; channels++) {
        AUTO(text) Text file = {0};
        Album album = {.size = 1};
        PictureSink sink = {room, &album};
        fill(samples, channels);
        GOOD(png_encode(samples, (PictureShape){1, HEIGHT, WIDTH, channels}, 8, -1, &file));
        GOOD(png_decode(text_str(&file), 0, 8, &sink));
        ck_assert_int_eq(album.shape.channels, channels);
        ck_assert_int_eq(memcmp(album.samples, samples, (size_t)(HEIGHT * WIDTH * channels)), 0);
        album_clear(&album);
        // Every chunk that matters has a checksum.
        ck_assert_int_gt(damage(&file, read_png, 2), (int)file.n);
    }
}
END_TEST

START_TEST(jpeg_comes_back) {
    uint8_t samples[HEIGHT * WIDTH * 3];
    fill(samples, 3);
    for (int way = 0; way < 4; way++) {
        AUTO(text) Text file = {0};
        JpegSettings settings = {.quality = 100, .progressive = way & 1, .optimised = way & 2, .full_chroma = true,
                                 .density_unit = 1, .x_density = 300, .y_density = 300, .xmp = STR("words")};
        Album album = {.size = 1};
        PictureSink sink = {room, &album};
        PictureShape shape;
        GOOD(jpeg_encode(samples, (PictureShape){1, HEIGHT, WIDTH, 3}, &settings, &file));
        GOOD(jpeg_shape(text_str(&file), &shape));
        ck_assert_int_eq(shape.height, HEIGHT);
        GOOD(read_jpeg(text_str(&file), &sink));
        for (int i = 0; i < HEIGHT * WIDTH * 3; i++)
            ck_assert_int_le(abs(album.samples[i] - samples[i]), 24);
        album_clear(&album);
        ck_assert_int_gt(damage(&file, read_jpeg, 1), 0);
        ck_assert_int_gt(damage(&file, read_recovering, 1), 0);
    }
}
END_TEST

START_TEST(jpeg_refuses_what_it_cannot_write) {
    uint8_t samples[3] = {0};
    char words[70000] = {0};
    AUTO(text) Text file = {0};
    JpegSettings settings = {.quality = 50, .xmp = {words, sizeof words}};
    Status *status = jpeg_encode(samples, (PictureShape){1, 1, 1, 3}, &settings, &file);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

START_TEST(damaged_bmp_is_refused) {
    AUTO(text) Text file = {0};
    text_add(&file, STR("BM\x6e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x03\0\0\0\x02\0\0\0\x01\0\x18\0\0\0\0\0\0\0\0\0"));
    for (int i = 0; i < 54 - 38 + 24; i++)
        text_char(&file, (char)i);
    ck_assert_int_gt(damage(&file, read_bmp, 1), (int)file.n);
}
END_TEST

START_TEST(damaged_gif_is_refused) {
    AUTO(text) Text file = {0};
    text_add(&file, STR("GIF89a\x02\0\x02\0\x81\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c!\xf9\x04\x01\0\0\x02\0"
                        ",\0\0\0\0\x02\0\x02\0\x00\x02\x03\x84\x34\x05\0;"));
    ck_assert_int_gt(damage(&file, read_gif, 1), (int)file.n / 2);
}
END_TEST

// A header that claims what its file cannot hold gets no memory: `room` would see it.
START_TEST(claims_are_checked) {
    static const Str files[] = {
        STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x40\0\0\0\x40\0\x08\x06\0\0\0\xa2\x2b\x9d\x5c"),
        STR("GIF89a\xff\xff\xff\xff\x80\0\0\x01\x02\x03\x04\x05\x06,\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0;"),
        STR("BM\x6e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\xff\x3f\0\0\xff\x3f\0\0\x01\0\x18\0\0\0\0\0\0\0\0\0"),
        STR("\xff\xd8\xff\xc0\0\x11\x08\x40\0\x40\0\x03\x01\x11\0\x02\x11\0\x03\x11\0\xff\xda\0\x0c\x03\x01\0\x02\0\x03\0\0\x3f\0"),
    };
    static DecodeFn *const decoders[] = {read_png, read_gif, read_bmp, read_jpeg};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        Album album = {.size = 2};
        PictureSink sink = {room, &album};
        Status *status = decoders[i](files[i], &sink);
        ck_assert_ptr_nonnull(status);
        ck_assert_int_eq(album.rooms, 0);
        status_free(status);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("picture");
    TCase *cases = tcase_create("picture");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, png_comes_back);
    tcase_add_test(cases, jpeg_comes_back);
    tcase_add_test(cases, jpeg_refuses_what_it_cannot_write);
    tcase_add_test(cases, damaged_bmp_is_refused);
    tcase_add_test(cases, damaged_gif_is_refused);
    tcase_add_test(cases, claims_are_checked);
    return run_suite(suite);
}
