// FileStream and Record: every coding, every place to end early, every byte damaged.
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "file/record.h"

enum { BIG = 700000 };

static void check_fails(Status *status, Code code, const char *word) {
    ck_assert_int_eq(status_code(status), code);
    ck_assert_ptr_nonnull(strstr(status_message(status), word));
    status_free(status);
}

static Str big_bytes(void) {
    static char bytes[BIG];
    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (char)(i * i / 7 >> (i & 3));
    return (Str){bytes, BIG};
}

static Text deflated(Str bytes, int window) {
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    Text out = {0};
    ck_assert(text_reserve(&out, deflateBound(&z, bytes.n)));
    z.next_in = (Bytef *)(uintptr_t)bytes.p;
    z.avail_in = (uInt)bytes.n;
    z.next_out = (Bytef *)out.p;
    z.avail_out = (uInt)deflateBound(&z, bytes.n);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.n = z.total_out;
    deflateEnd(&z);
    return out;
}

// A frame of literals.
static void add_frame(Str bytes, Text *out) {
    Text block = {0};
    size_t left = bytes.n;
    do {
        text_char(&block, (char)((left & 127) | (left > 127 ? 128 : 0)));
        left >>= 7;
    } while (left);
    for (size_t at = 0; at < bytes.n; at += 60) {
        size_t n = bytes.n - at < 60 ? bytes.n - at : 60;
        text_char(&block, (char)((n - 1) << 2));
        text_add(&block, (Str){bytes.p + at, n});
    }
    for (int shift = 24; shift >= 0; shift -= 8)
        text_char(out, (char)(block.n >> shift));
    text_add(out, text_str(&block));
    text_clear(&block);
}

static Text coded(Str bytes, FileCoding coding) {
    Text out = {0};
    Str first = {bytes.p, bytes.n / 2}, second = {bytes.p + bytes.n / 2, bytes.n - bytes.n / 2};
    if (coding == CODING_NONE)
        text_add(&out, bytes);
    if (coding == CODING_ZLIB)
        out = deflated(bytes, MAX_WBITS);
    if (coding == CODING_GZIP) {
        out = deflated(first, MAX_WBITS + 16);
        Text more = deflated(second, MAX_WBITS + 16);
        text_add(&out, text_str(&more));
        text_clear(&more);
    }
    if (coding == CODING_SNAPPY) {
        add_frame(first, &out);
        add_frame(second, &out);
    }
    ck_assert(!out.failed);
    return out;
}

static void check_all(FileStream *stream, Str expected) {
    Str some;
    uint64_t skipped;
    GOOD(file_stream_peek(stream, 10, &some));
    ck_assert_uint_eq(some.n, 10);
    GOOD(file_stream_take(stream, 300000, &some));
    ck_assert(str_equal(some, (Str){expected.p, 300000}));
    GOOD(file_stream_skip(stream, 299990, &skipped));
    ck_assert_uint_eq(skipped, 299990);
    ck_assert_uint_eq(file_stream_position(stream), 599990);
    GOOD(file_stream_take(stream, UINT64_MAX, &some));
    ck_assert(str_equal(some, (Str){expected.p + 599990, expected.n - 599990}));
    GOOD(file_stream_take(stream, 1, &some));
    ck_assert_uint_eq(some.n, 0);
    GOOD(file_stream_skip(stream, 5, &skipped));
    ck_assert_uint_eq(skipped, 0);
    file_stream_free(stream);
}

START_TEST(every_coding_gives_the_bytes) {
    Str bytes = big_bytes();
    for (int coding = CODING_NONE; coding <= CODING_SNAPPY; coding++) {
        Text text = coded(bytes, (FileCoding)coding);
        FileStream *stream;
        GOOD(file_stream_of(text_str(&text), (FileCoding)coding, &stream));
        check_all(stream, bytes);
        char path[] = "/tmp/file_stream_XXXXXX";
        int fd = mkstemp(path);
        ck_assert(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
        GOOD(file_stream_open(str_of(path), (FileCoding)coding, &stream));
        check_all(stream, bytes);
        close(fd);
        unlink(path);
        text_clear(&text);
    }
}
END_TEST

START_TEST(codings_have_names) {
    FileCoding coding;
    GOOD(file_coding_find(STR("GZIP"), &coding));
    ck_assert_int_eq(coding, CODING_GZIP);
    GOOD(file_coding_find(STR(""), &coding));
    ck_assert_int_eq(coding, CODING_NONE);
    check_fails(file_coding_find(STR("gzip"), &coding), INVALID_ARGUMENT, "gzip");
    FileStream *stream;
    check_fails(file_stream_open(STR("/dev/null/none"), CODING_NONE, &stream), FAILED_PRECONDITION, "none");
}
END_TEST

START_TEST(lines_end_at_newlines) {
    FileStream *stream;
    GOOD(file_stream_of(STR("a\n\nb\r\n\r\r\nlast\r"), CODING_NONE, &stream));
    const char *const lines[] = {"a", "", "b", "\r", "last"};
    Str line;
    bool found;
    for (int i = 0; i < 5; i++) {
        GOOD(file_stream_line(stream, &line, &found));
        ck_assert(found && str_is(line, lines[i]));
    }
    GOOD(file_stream_line(stream, &line, &found));
    ck_assert(!found);
    file_stream_free(stream);
}
END_TEST

START_TEST(a_line_may_be_longer_than_the_buffer) {
    Str bytes = big_bytes();
    Text text = {0};
    for (size_t i = 0; i < bytes.n; i++)
        text_char(&text, bytes.p[i] == '\n' ? 'x' : bytes.p[i]);
    text_add(&text, STR("\nz"));
    Text packed = coded(text_str(&text), CODING_GZIP);
    FileStream *stream;
    GOOD(file_stream_of(text_str(&packed), CODING_GZIP, &stream));
    Str line;
    bool found;
    GOOD(file_stream_line(stream, &line, &found));
    ck_assert(found && line.n >= BIG - 1);
    GOOD(file_stream_line(stream, &line, &found));
    ck_assert(found && str_is(line, "z"));
    file_stream_free(stream);
    text_clear(&packed);
    text_clear(&text);
}
END_TEST

// Reads to the end or to the first error: how many records came.
static Status *read_records(Str bytes, FileCoding coding, int *out_count) {
    AUTO(file_stream) FileStream *stream = NULL;
    TRY(file_stream_of(bytes, coding, &stream));
    *out_count = 0;
    for (bool found = true;;) {
        Str record;
        TRY(record_read(stream, &record, &found));
        if (!found)
            return OK;
        ++*out_count;
    }
}

START_TEST(records_come_back) {
    Text text = {0};
    record_write(STR("one"), &text);
    record_write(STR(""), &text);
    record_write(big_bytes(), &text);
    for (int coding = CODING_NONE; coding <= CODING_SNAPPY; coding++) {
        Text packed = coded(text_str(&text), (FileCoding)coding);
        int count;
        GOOD(read_records(text_str(&packed), (FileCoding)coding, &count));
        ck_assert_int_eq(count, 3);
        text_clear(&packed);
    }
    text_clear(&text);
}
END_TEST

START_TEST(damage_is_data_loss) {
    Text text = {0};
    record_write(STR("the first record"), &text);
    record_write(STR("the second"), &text);
    size_t first = 16 + 16;
    for (int coding = CODING_NONE; coding <= CODING_SNAPPY; coding++) {
        Text packed = coded(text_str(&text), (FileCoding)coding);
        int count;
        for (size_t n = 1; n < packed.n; n++) {
            Status *status = read_records((Str){packed.p, n}, (FileCoding)coding, &count);
            if (coding == CODING_NONE)
                ck_assert_int_eq(status_code(status), n == first ? CODE_OK : DATA_LOSS);
            ck_assert(!status || status_code(status) == DATA_LOSS);
            status_free(status);
        }
        for (size_t i = 0; i < packed.n; i++) {
            packed.p[i] ^= 0x55;
            Status *status = read_records(text_str(&packed), (FileCoding)coding, &count);
            if (coding == CODING_NONE)
                ck_assert_int_eq(status_code(status), DATA_LOSS);
            ck_assert(!status || status_code(status) == DATA_LOSS || status_code(status) == RESOURCE_EXHAUSTED);
            status_free(status);
            packed.p[i] ^= 0x55;
        }
        text_clear(&packed);
    }
    text_clear(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("file_stream");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_coding_gives_the_bytes);
    tcase_add_test(tests, codings_have_names);
    tcase_add_test(tests, lines_end_at_newlines);
    tcase_add_test(tests, a_line_may_be_longer_than_the_buffer);
    tcase_add_test(tests, records_come_back);
    tcase_add_test(tests, damage_is_data_loss);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
