// Jpeg — see jpeg.h. Errors of the library come back by longjmp: nothing of ours is between `guarded` and it but state that
// lies in a struct.
#include "file/jpeg.h"

#include <stdio.h>
#include <stdlib.h>

#if __has_include(<jpeglib.h>)
#include <jerror.h>
#include <jpeglib.h>
#endif

#ifdef LIBJPEG_TURBO_VERSION

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>

#if JPEG_LIB_VERSION >= 80
#define LIBRARY "libjpeg.so.8"
#else
#define LIBRARY "libjpeg.so.62"
#endif

#define JPEG_FUNCTIONS(F)                                                                                             \
    F(jpeg_std_error) F(jpeg_CreateDecompress) F(jpeg_CreateCompress) F(jpeg_destroy) F(jpeg_abort)                   \
    F(jpeg_read_header) F(jpeg_calc_output_dimensions) F(jpeg_start_decompress) F(jpeg_read_scanlines)                \
    F(jpeg_skip_scanlines) F(jpeg_crop_scanline) F(jpeg_finish_decompress) F(jpeg_resync_to_restart)                  \
    F(jpeg_set_defaults) F(jpeg_set_quality) F(jpeg_simple_progression) F(jpeg_start_compress) F(jpeg_write_marker)   \
    F(jpeg_write_scanlines) F(jpeg_finish_compress)

static struct {
    bool there;
#define F(function) __typeof__(function) *function;
    JPEG_FUNCTIONS(F)
#undef F
} turbo;

// Opened at run time: a program that reads no pictures needs no libjpeg.
static void open_library(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return;
#define F(function)                                       \
    *(void **)&turbo.function = dlsym(handle, #function); \
    if (!turbo.function)                                  \
        return;
    JPEG_FUNCTIONS(F)
#undef F
    turbo.there = true;
}

static Status *need_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    NEED(turbo.there, UNIMPLEMENTED, "JPEG: " LIBRARY " is not there (libjpeg-turbo)");
    return OK;
}

// ---------------------------------------- errors

typedef struct {
    struct jpeg_error_mgr base;       // first: the library knows only this
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
} Trap;

// The library must not return from an error, so it jumps back to guarded().
static void trap_error(j_common_ptr jpeg) {
    Trap *trap = (Trap *)jpeg->err;
    trap->base.format_message(jpeg, trap->text);
    longjmp(trap->back, 1);
}
static void trap_message(j_common_ptr jpeg) {
    (void)jpeg;
}
static struct jpeg_error_mgr *trap_set(Trap *trap) {
    struct jpeg_error_mgr *base = turbo.jpeg_std_error(&trap->base);
    base->error_exit = trap_error;
    base->output_message = trap_message;
    return base;
}

// False where the library stopped it.
static bool guarded(Trap *trap, void (*fn)(void *arg), void *arg) {
    if (setjmp(trap->back))
        return false;
    fn(arg);
    return true;
}

// ---------------------------------------- reading

// Scans that a progressive file may have; with more its pixels must cost it bytes. A scan of twelve bytes goes over the whole
// picture.
enum { FREE_SCANS = 20, PIXELS_PER_BYTE = 1024, SCANNED_PER_BYTE = 4096, ROWS = 8 };
enum { MOST_REREADS = 4096 };    // a group of ten blocks takes at most 2,080 bytes

typedef struct {
    struct jpeg_decompress_struct jpeg;
    Trap trap;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    Str bytes;
    const JpegOptions *options;
    const PictureSink *sink;
    Status *status;       // what is not the library's
    const char *wrong;    // what it does not see
    const JOCTET *reread; // what was read once more, and how often: a tail of 0xff would be for ever
    int times;
    JSAMPLE *line;        // a row that can't be written where it belongs
    uint8_t *out;
    int64_t height, width, channels;
    int64_t read;         // rows that are there
} Reader;

static void source_begin(j_decompress_ptr jpeg) {
    const Reader *reader = jpeg->client_data;
    jpeg->src->next_input_byte = (const JOCTET *)reader->bytes.p;
    jpeg->src->bytes_in_buffer = reader->bytes.n;
}

// The bytes are over. Where the decoder stands within a block it is told to wait, which ends the picture there; with
// `recover` it is told to go on: it reads the group's bytes again, or finds an end that the file lacks.
static boolean source_more(j_decompress_ptr jpeg) {
    static const JOCTET end[2] = {0xff, JPEG_EOI};
    Reader *reader = jpeg->client_data;
    struct jpeg_source_mgr *source = jpeg->src;
    bool recover = reader->options && reader->options->recover;
    if (source->bytes_in_buffer) {
        reader->times = source->next_input_byte == reader->reread ? reader->times + 1 : 0;
        reader->reread = source->next_input_byte;
        if (reader->times > MOST_REREADS)
            ERREXIT(jpeg, JERR_INPUT_EOF);
        return recover ? TRUE : FALSE;
    }
    if (source->next_input_byte == end || !recover || source->next_input_byte == (const JOCTET *)reader->bytes.p)
        ERREXIT(jpeg, JERR_INPUT_EOF);
    WARNMS(jpeg, JWRN_JPEG_EOF);
    source->next_input_byte = end;
    source->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void source_skip(j_decompress_ptr jpeg, long n) {
    struct jpeg_source_mgr *source = jpeg->src;
    if (n < 0)
        return;
    if ((size_t)n > source->bytes_in_buffer) {
        source->bytes_in_buffer = 0;
        (void)source_more(jpeg);
        return;
    }
    source->next_input_byte += n;
    source->bytes_in_buffer -= (size_t)n;
}

static void source_end(j_decompress_ptr jpeg) {
    (void)jpeg;
}

// Against pictures of a few bytes that cost minutes: many scans over a large empty image.
static void watch_scans(j_common_ptr common) {
    j_decompress_ptr jpeg = (j_decompress_ptr)common;
    const Reader *reader = jpeg->client_data;
    double scanned = (double)jpeg->input_scan_number * jpeg->image_width * jpeg->image_height;
    if (jpeg->input_scan_number > FREE_SCANS && scanned > (double)SCANNED_PER_BYTE * (double)reader->bytes.n)
        ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

static void read_header(void *arg) {
    Reader *reader = arg;
    j_decompress_ptr jpeg = &reader->jpeg;
    turbo.jpeg_CreateDecompress(jpeg, JPEG_LIB_VERSION, sizeof *jpeg);
    reader->source = (struct jpeg_source_mgr){
        .init_source = source_begin, .fill_input_buffer = source_more, .skip_input_data = source_skip,
        .resync_to_restart = turbo.jpeg_resync_to_restart, .term_source = source_end,
    };
    reader->progress.progress_monitor = watch_scans;
    jpeg->src = &reader->source;
    jpeg->progress = &reader->progress;
    if (turbo.jpeg_read_header(jpeg, TRUE) != JPEG_HEADER_OK)
        ERREXIT(jpeg, JERR_NO_SOI);
}

static bool window_fits(const JpegOptions *options, int64_t height, int64_t width) {
    return options->crop_height > 0 && options->crop_width > 0 && options->crop_y >= 0 && options->crop_x >= 0 &&
        options->crop_y + options->crop_height <= height && options->crop_x + options->crop_width <= width;
}

// Colours, size and method; false with `wrong` set.
static bool choose(Reader *reader) {
    j_decompress_ptr jpeg = &reader->jpeg;
    const JpegOptions *options = reader->options;
    reader->channels = options->channels ? options->channels : min_i64(jpeg->num_components, 3);
    bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = reader->channels == 1 ? JCS_GRAYSCALE : cmyk ? JCS_CMYK : JCS_RGB;
    jpeg->do_fancy_upsampling = options->fancy_upscaling ? TRUE : FALSE;
    jpeg->scale_num = 1;
    jpeg->scale_denom = (unsigned)options->ratio;
    jpeg->dct_method = options->accurate ? JDCT_ISLOW : JDCT_IFAST;
    turbo.jpeg_calc_output_dimensions(jpeg);
    int64_t pixels = (int64_t)jpeg->output_width * jpeg->output_height;
    reader->wrong = reader->channels == 2                                         ? "two channels"
        : pixels <= 0                                                             ? "no pixels"
        : pixels * jpeg->num_components >= 1 << 29                                ? "too large"
        : !picture_fits((int64_t)jpeg->image_width * jpeg->image_height, reader->bytes.n, PIXELS_PER_BYTE)
        ? "more pixels than its bytes can hold"
        : options->crops && !window_fits(options, jpeg->output_height, jpeg->output_width) ? "the window is not inside"
                                                                                           : NULL;
    return !reader->wrong;
}

static void crop(Reader *reader) {
    j_decompress_ptr jpeg = &reader->jpeg;
    const JpegOptions *options = reader->options;
    JDIMENSION x = (JDIMENSION)options->crop_x, width = (JDIMENSION)options->crop_width;
    turbo.jpeg_crop_scanline(jpeg, &x, &width);  // begins at a block's edge, to the left of what is asked for
    if (turbo.jpeg_skip_scanlines(jpeg, (JDIMENSION)options->crop_y) != (JDIMENSION)options->crop_y)
        ERREXIT(jpeg, JERR_INPUT_EOF);
    reader->height = options->crop_height;
    reader->width = options->crop_width;
}

// TensorFlow's conversion; Adobe's files have their colours inverted.
static void rgb_of_cmyk(const JSAMPLE *in, uint8_t *out, int64_t n, bool inverted) {
    for (int64_t i = 0; i < n; i++, in += 4, out += 3)
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)(inverted ? in[3] * in[c] / 255 : (255 - in[3]) * (255 - in[c]) / 255);
}

// The next rows to where they belong; 0: the bytes are over.
static JDIMENSION read_some(Reader *reader, uint8_t *out, int64_t left) {
    j_decompress_ptr jpeg = &reader->jpeg;
    int64_t stride = reader->width * reader->channels;
    if (!reader->line) {
        JSAMPROW rows[ROWS];
        for (int i = 0; i < ROWS; i++)
            rows[i] = out + min_i64(i, left - 1) * stride;
        return turbo.jpeg_read_scanlines(jpeg, rows, (JDIMENSION)min_i64(left, ROWS));
    }
    JDIMENSION n = turbo.jpeg_read_scanlines(jpeg, &reader->line, 1);
    const JSAMPLE *from = reader->line + (jpeg->output_width - reader->width) * jpeg->output_components;
    if (n && jpeg->out_color_space == JCS_CMYK)
        rgb_of_cmyk(from, out, reader->width, jpeg->saw_Adobe_marker);
    else if (n)
        memcpy(out, from, (size_t)stride);
    return n;
}

static void read_rows(Reader *reader) {
    size_t stride = (size_t)(reader->width * reader->channels);
    while (reader->read < reader->height) {
        JDIMENSION n = read_some(reader, reader->out + (size_t)reader->read * stride, reader->height - reader->read);
        if (!n)
            break;
        reader->read += n;
    }
    bool recover = reader->options->recover;
    for (int64_t y = reader->read; y < reader->height; y++)
        if (recover && y)
            memcpy(reader->out + (size_t)y * stride, reader->out + (size_t)(y - 1) * stride, stride);
        else
            memset(reader->out + (size_t)y * stride, 0, stride);
}

static void read_picture(void *arg) {
    Reader *reader = arg;
    j_decompress_ptr jpeg = &reader->jpeg;
    read_header(reader);
    if (!choose(reader))
        return;
    turbo.jpeg_start_decompress(jpeg);
    reader->height = jpeg->output_height;
    reader->width = jpeg->output_width;
    if (reader->options->crops)
        crop(reader);
    bool cmyk = jpeg->out_color_space == JCS_CMYK;
    if (jpeg->output_components != (cmyk ? 4 : reader->channels))
        ERREXIT(jpeg, JERR_CONVERSION_NOTIMPL);
    if (cmyk || reader->width != (int64_t)jpeg->output_width) {
        reader->line = malloc((size_t)jpeg->output_width * (size_t)jpeg->output_components);
        if (!reader->line)
            ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    }
    PictureShape shape = {1, reader->height, reader->width, reader->channels};
    reader->status = reader->sink->room(reader->sink->arg, shape, (void **)&reader->out);
    if (reader->status)
        return;
    read_rows(reader);
    // The rest is not decoded: whether something behind the picture is wrong does not matter.
    if (!reader->options->crops && jpeg->output_scanline == jpeg->output_height)
        turbo.jpeg_finish_decompress(jpeg);
}

static Reader *reader_new(Str bytes) {
    Reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->bytes = bytes;
    reader->jpeg.err = trap_set(&reader->trap);
    reader->jpeg.client_data = reader;
    return reader;
}
static void reader_free(Reader *reader) {
    turbo.jpeg_destroy((j_common_ptr)&reader->jpeg);
    free(reader->line);
    free(reader);
}

static Status *reader_verdict(Reader *reader, bool done) {
    TRY(reader->status);
    NEED(done, INVALID_ARGUMENT, "invalid JPEG data or crop window (size %zu): %s", reader->bytes.n, reader->trap.text);
    NEED(!reader->wrong, INVALID_ARGUMENT, "invalid JPEG data or crop window (size %zu): %s", reader->bytes.n,
         reader->wrong);
    float least = reader->options ? reader->options->acceptable_fraction : 0;
    if (reader->options && !reader->options->recover && reader->read < reader->height) {
        float part = (float)reader->read / (float)reader->height;
        NEED(!(part < (least < 1 ? least : 1)), INVALID_ARGUMENT,
             "invalid JPEG data (size %zu): %lld of %lld rows", reader->bytes.n, (long long)reader->read,
             (long long)reader->height);
    }
    return OK;
}

Status *jpeg_decode(Str bytes, const JpegOptions *options, const PictureSink *sink) {
    TRY(need_library());
    Reader *reader = reader_new(bytes);
    NEED_MEMORY(reader);
    reader->options = options;
    reader->sink = sink;
    bool done = guarded(&reader->trap, read_picture, reader);
    Status *status = reader_verdict(reader, done);
    reader_free(reader);
    return status;
}

static void read_shape(void *arg) {
    Reader *reader = arg;
    read_header(reader);
    turbo.jpeg_calc_output_dimensions(&reader->jpeg);
}

Status *jpeg_shape(Str bytes, PictureShape *out) {
    TRY(need_library());
    Reader *reader = reader_new(bytes);
    NEED_MEMORY(reader);
    bool done = guarded(&reader->trap, read_shape, reader);
    PictureShape shape = {1, reader->jpeg.output_height, reader->jpeg.output_width, reader->jpeg.output_components};
    Status *status = reader_verdict(reader, done);
    reader_free(reader);
    TRY(status);
    *out = shape;
    return OK;
}

// ---------------------------------------- writing

enum { FIRST_ROOM = 4096 };

typedef struct {
    struct jpeg_compress_struct jpeg;
    Trap trap;
    struct jpeg_destination_mgr target;
    const JpegSettings *settings;
    const uint8_t *pixels;
    PictureShape shape;
    Text *out, packet;
} Writer;

static void target_open(Writer *writer) {
    if (!text_reserve(writer->out, writer->out->n ? writer->out->n : FIRST_ROOM))
        ERREXIT1(&writer->jpeg, JERR_OUT_OF_MEMORY, 0);
    writer->target.next_output_byte = (JOCTET *)writer->out->p + writer->out->n;
    writer->target.free_in_buffer = writer->out->room - writer->out->n - 1;
}
static void target_begin(j_compress_ptr jpeg) {
    target_open(jpeg->client_data);
}
static boolean target_full(j_compress_ptr jpeg) {
    Writer *writer = jpeg->client_data;
    writer->out->n = writer->out->room - 1;
    target_open(writer);
    return TRUE;
}
static void target_end(j_compress_ptr jpeg) {
    Writer *writer = jpeg->client_data;
    writer->out->n = (size_t)((char *)writer->target.next_output_byte - writer->out->p);
    writer->out->p[writer->out->n] = 0;
}

static void set_up(Writer *writer) {
    j_compress_ptr jpeg = &writer->jpeg;
    const JpegSettings *settings = writer->settings;
    turbo.jpeg_CreateCompress(jpeg, JPEG_LIB_VERSION, sizeof *jpeg);
    writer->target = (struct jpeg_destination_mgr){
        .init_destination = target_begin, .empty_output_buffer = target_full, .term_destination = target_end,
    };
    jpeg->dest = &writer->target;
    jpeg->image_width = (JDIMENSION)writer->shape.width;
    jpeg->image_height = (JDIMENSION)writer->shape.height;
    jpeg->input_components = (int)writer->shape.channels;
    jpeg->in_color_space = writer->shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    turbo.jpeg_set_defaults(jpeg);
    jpeg->optimize_coding = settings->optimised ? TRUE : FALSE;
    jpeg->density_unit = (UINT8)settings->density_unit;
    jpeg->X_density = (UINT16)settings->x_density;
    jpeg->Y_density = (UINT16)settings->y_density;
    turbo.jpeg_set_quality(jpeg, settings->quality, TRUE);
    if (settings->progressive)
        turbo.jpeg_simple_progression(jpeg);
    for (int i = 0; settings->full_chroma && i < jpeg->num_components; i++)
        jpeg->comp_info[i].h_samp_factor = jpeg->comp_info[i].v_samp_factor = 1;
}

static void write_picture(void *arg) {
    static const char name[] = "http://ns.adobe.com/xap/1.0/";  // with its NUL in front of the metadata
    Writer *writer = arg;
    j_compress_ptr jpeg = &writer->jpeg;
    set_up(writer);
    turbo.jpeg_start_compress(jpeg, TRUE);
    if (writer->settings->xmp.n) {
        text_add(&writer->packet, (Str){name, sizeof name});
        text_add(&writer->packet, writer->settings->xmp);
        if (writer->packet.failed)
            ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
        if (writer->packet.n > 65533)
            ERREXIT(jpeg, JERR_BAD_LENGTH);
        turbo.jpeg_write_marker(jpeg, JPEG_APP0 + 1, (const JOCTET *)writer->packet.p, (unsigned)writer->packet.n);
    }
    size_t stride = (size_t)(writer->shape.width * writer->shape.channels);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW rows[ROWS];
        JDIMENSION n = (JDIMENSION)min_i64(ROWS, jpeg->image_height - jpeg->next_scanline);
        for (JDIMENSION i = 0; i < n; i++)  // the library only reads them
            rows[i] = (JSAMPROW)(uintptr_t)(writer->pixels + (jpeg->next_scanline + i) * stride);
        turbo.jpeg_write_scanlines(jpeg, rows, n);
    }
    turbo.jpeg_finish_compress(jpeg);
}

Status *jpeg_encode(const uint8_t *pixels, PictureShape shape, const JpegSettings *settings, Text *out) {
    TRY(need_library());
    NEED(shape.height > 0 && shape.width > 0 && shape.height * shape.width < 1 << 29, INVALID_ARGUMENT,
         "JPEG encoding failed: %lld by %lld pixels", (long long)shape.height, (long long)shape.width);
    Writer *writer = calloc(1, sizeof *writer);
    NEED_MEMORY(writer);
    writer->jpeg.err = trap_set(&writer->trap);
    writer->jpeg.client_data = writer;
    writer->settings = settings;
    writer->pixels = pixels;
    writer->shape = shape;
    writer->out = out;
    bool done = guarded(&writer->trap, write_picture, writer);
    Status *status = done ? OK : status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "JPEG encoding failed: %s", writer->trap.text);
    turbo.jpeg_destroy((j_common_ptr)&writer->jpeg);
    text_clear(&writer->packet);
    free(writer);
    return status;
}

#else

#define WITHOUT FAIL(UNIMPLEMENTED, "JPEG: built without the headers of libjpeg-turbo")

Status *jpeg_decode(Str bytes, const JpegOptions *options, const PictureSink *sink) {
    (void)bytes, (void)options, (void)sink;
    WITHOUT;
}
Status *jpeg_shape(Str bytes, PictureShape *out) {
    (void)bytes, (void)out;
    WITHOUT;
}
Status *jpeg_encode(const uint8_t *pixels, PictureShape shape, const JpegSettings *settings, Text *out) {
    (void)pixels, (void)shape, (void)settings, (void)out;
    WITHOUT;
}

#endif
