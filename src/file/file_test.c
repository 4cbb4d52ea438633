// File tests — checksums, snappy, tables and checkpoints: what is written comes back, what is damaged is refused.
#include "file/bundle.h"
#include "file/crc32c.h"
#include "file/folder_test.h"
#include "file/snappy.h"

START_TEST(checksums) {
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283u);
    ck_assert_uint_eq(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
    unsigned char zeros[32] = {0};
    ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8a9136aau);
    ck_assert_uint_eq(crc32c_mask(0), 0xa282ead8u);
}
END_TEST

START_TEST(snappy) {
    AUTO(text) Text out = {0};
    GOOD(snappy_decode((Str){"\x0a\x04" "ab\x11\x02", 6}, 100, &out));  // "ab", then 8 bytes from 2 back
    ck_assert_str_eq(out.p, "ababababab");
    BAD(DATA_LOSS, snappy_decode((Str){"\x0a\x04" "ab\x11\x03", 6}, 100, &out));  // from before the beginning
    BAD(DATA_LOSS, snappy_decode((Str){"\x0a\x04" "ab", 4}, 100, &out));          // shorter than it says
    BAD(DATA_LOSS, snappy_decode((Str){"\x02\x0c" "ab", 4}, 100, &out));          // longer than it says
    BAD(DATA_LOSS, snappy_decode((Str){"\xff\xff\xff\x7f\x04" "ab", 7}, 100, &out));
    BAD(DATA_LOSS, snappy_decode((Str){"\xff\xff\xff\x7f\x04" "ab", 7}, (size_t)1 << 30, &out));  // more than it can
    BAD(DATA_LOSS, snappy_decode((Str){"", 0}, 100, &out));
}
END_TEST

START_TEST(table_of_many) {
    enum { N = 30000 };
    AUTO(arena) Arena arena = {0};
    TableEntry *entries = ARENA_ARRAY(&arena, TableEntry, N);
    for (int i = 0; i < N; i++)
        entries[i] = (TableEntry){str_format(&arena, "layer/%05d/kernel", i), str_format(&arena, "%d", i * 7)};
    DiskWriter writer = DISK_WRITER_NONE;
    GOOD(disk_writer_open(&writer, in_folder("table")));
    GOOD(table_write(&writer, entries, N));
    GOOD(disk_writer_commit(&writer));
    AUTO(text) Text bytes = {0};
    GOOD(disk_read(in_folder("table"), &bytes));
    Table table;
    GOOD(table_read(text_str(&bytes), STR("table"), &table));
    ck_assert_uint_eq(table.entries.n, N);
    for (int i = 0; i < N; i += 111) {
        const TableEntry *found = table_find(&table, entries[i].key);
        ck_assert(found && str_equal(found->value, entries[i].value));
    }
    ck_assert_ptr_null(table_find(&table, STR("layer/0")));
    table_clear(&table);
    for (size_t at = 0; at < bytes.n; at += 997) {  // any damage is found, nothing is read outside
        bytes.p[at] ^= 0x10;
        Status *status = table_read(text_str(&bytes), STR("table"), &table);
        if (!status)
            table_clear(&table);
        ck_assert_msg(status || at >= bytes.n - 48, "byte %zu", at);
        status_free(status);
        bytes.p[at] ^= 0x10;
    }
    for (size_t n = 0; n < bytes.n; n += 4999)
        BAD(DATA_LOSS, table_read((Str){bytes.p, n}, STR("table"), &table));
}
END_TEST

static void save(const char *name) {
    BundleWriter writer;
    AUTO(tensor) Tensor f = tensor("[[1 2] [3 4]]"), s = tensor("[\"\" \"abc\" \"\\0\\xff\"]");
    AUTO(tensor) Tensor e = tensor("int32 zeros[0 3]"), half = tensor("half 1.5");
    AUTO(tensor) Tensor low = tensor("[[1 2 3] [4 5 6]]"), high = tensor("[[7 8 9]]");
    Shape whole = SHAPE(3, 3);
    Slice first = {2, {0, 0}, {2, SLICE_ALL}}, last = {2, {2, 0}, {1, SLICE_ALL}};
    GOOD(bundle_writer_open(in_folder(name), &writer));
    GOOD(bundle_add(&writer, STR("f"), &f));
    GOOD(bundle_add(&writer, STR("dir/s"), &s));
    GOOD(bundle_add(&writer, STR("e"), &e));
    GOOD(bundle_add(&writer, STR("half"), &half));
    BAD(INVALID_ARGUMENT, bundle_add(&writer, STR("f"), &f));
    GOOD(bundle_add_slice(&writer, STR("cut"), &whole, &first, &low));
    BAD(INVALID_ARGUMENT, bundle_add_slice(&writer, STR("cut"), &whole, &first, &high));
    GOOD(bundle_add_slice(&writer, STR("cut"), &whole, &last, &high));
    GOOD(bundle_commit(&writer));
}

static void check(BundleReader *reader, const char *name, const Slice *slice, const char *wanted) {
    BundleEntry entry;
    AUTO(tensor) Tensor got = {0};
    GOOD(bundle_find(reader, str_of(name), &entry));
    GOOD(bundle_read(reader, str_of(name), &entry, slice, &got));
    same(&got, wanted);
}

START_TEST(bundle_round_trip) {
    save("ckpt");
    BundleReader reader;
    GOOD(bundle_open(in_folder("ckpt"), &reader));
    check(&reader, "f", NULL, "[[1 2] [3 4]]");
    check(&reader, "dir/s", NULL, "[\"\" \"abc\" \"\\0\\xff\"]");
    check(&reader, "e", NULL, "int32 zeros[0 3]");
    check(&reader, "half", NULL, "half 1.5");
    check(&reader, "cut", NULL, "[[1 2 3] [4 5 6] [7 8 9]]");
    Slice part = {2, {1, 1}, {2, 2}};
    check(&reader, "cut", &part, "[[5 6] [8 9]]");
    Slice column = {2, {0, 1}, {SLICE_ALL, 1}};
    check(&reader, "f", &column, "[[2] [4]]");
    BundleEntry entry;
    BAD(NOT_FOUND, bundle_find(&reader, STR("nothing"), &entry));
    BAD(NOT_FOUND, bundle_find(&reader, STR(""), &entry));
    bundle_close(&reader);
    BAD(NOT_FOUND, bundle_open(in_folder("none"), &reader));
}
END_TEST

START_TEST(bundle_damaged) {
    save("damaged");
    int fd;
    uint64_t size;
    GOOD(disk_open(in_folder("damaged.data-00000-of-00001"), &fd, &size));
    disk_close(fd);
    FILE *file = fopen(path, "r+b");
    fputc(0x55, file);
    fclose(file);
    BundleReader reader;
    BundleEntry entry;
    Tensor got;
    GOOD(bundle_open(in_folder("damaged"), &reader));
    GOOD(bundle_find(&reader, STR("f"), &entry));
    BAD(DATA_LOSS, bundle_read(&reader, STR("f"), &entry, NULL, &got));
    check(&reader, "half", NULL, "half 1.5");
    bundle_close(&reader);
    in_folder("damaged.data-00000-of-00001");
    ck_assert_int_eq(truncate(path, 3), 0);
    GOOD(bundle_open(in_folder("damaged"), &reader));
    GOOD(bundle_find(&reader, STR("f"), &entry));
    BAD(OUT_OF_RANGE, bundle_read(&reader, STR("f"), &entry, NULL, &got));
    bundle_close(&reader);
}
END_TEST

START_TEST(dropped_writer_leaves_nothing) {
    save("old");
    BundleWriter writer;
    AUTO(tensor) Tensor f = tensor("[9 9]");
    GOOD(bundle_writer_open(in_folder("old"), &writer));
    GOOD(bundle_add(&writer, STR("f"), &f));
    bundle_writer_drop(&writer);
    DiskPaths paths = {0};
    GOOD(disk_match(in_folder("old*"), &paths));
    ck_assert_uint_eq(paths.paths.n, 2);
    disk_paths_clear(&paths);
    BundleReader reader;
    GOOD(bundle_open(in_folder("old"), &reader));
    check(&reader, "f", NULL, "[[1 2] [3 4]]");
    bundle_close(&reader);
}
END_TEST

// Each save has data files of its own; those of the one before are gone behind it.
START_TEST(over_another) {
    for (int i = 0; i < 3; i++) {
        save("over");
        DiskPaths paths = {0};
        GOOD(disk_match(in_folder("over.data*"), &paths));
        ck_assert_uint_eq(paths.paths.n, i % 2 + 1);
        disk_paths_clear(&paths);
        GOOD(bundle_verify(in_folder("over")));
    }
}
END_TEST

START_TEST(merges) {
    static const char *const values[] = {"[1 2]", "[3]"};
    Shape whole = SHAPE(3);
    Slice slices[] = {{1, {0}, {2}}, {1, {2}, {1}}};
    for (int i = 0; i < 2; i++) {
        BundleWriter writer;
        AUTO(tensor) Tensor part = tensor(values[i]);
        GOOD(bundle_writer_open(in_folder(i ? "parts/b" : "parts/a"), &writer));
        GOOD(bundle_add(&writer, i ? STR("own b") : STR("own a"), &part));
        GOOD(bundle_add_slice(&writer, STR("cut"), &whole, &slices[i], &part));
        GOOD(bundle_commit(&writer));
    }
    AUTO(arena) Arena arena = {0};
    Str prefixes[3];
    prefixes[0] = str_copy(&arena, in_folder("parts/a"));
    prefixes[1] = str_copy(&arena, in_folder("parts/b"));
    prefixes[2] = str_copy(&arena, in_folder("parts/none"));
    BAD(NOT_FOUND, bundle_merge(prefixes, 3, in_folder("merged"), false));
    GOOD(bundle_merge(prefixes, 3, in_folder("merged"), true));
    BundleReader reader;
    GOOD(bundle_open(in_folder("merged"), &reader));
    ck_assert_int_eq(reader.n_shards, 2);
    check(&reader, "cut", NULL, "[1 2 3]");
    check(&reader, "own b", NULL, "[3]");
    bundle_close(&reader);
    DiskPaths paths = {0};
    GOOD(disk_match(in_folder("parts/*"), &paths));
    ck_assert_uint_eq(paths.paths.n, 0);
    disk_paths_clear(&paths);
}
END_TEST

START_TEST(slice_texts) {
    Shape whole;
    Slice slice;
    GOOD(slice_parse(STR("4 5 0,2:-"), &whole, &slice));
    ck_assert(slice.rank == 2 && slice.length[0] == 2 && slice.length[1] == SLICE_ALL && whole.dims[1] == 5);
    static const char *const bad[] = {"4", "4 5 0,2", "4 3,2", "4 -1,2", "4 0,0", "x -", "4 0;2", "4 5 -:-:-",
                                      "4 9223372036854775807,9223372036854775807"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        BAD(INVALID_ARGUMENT, slice_parse(str_of(bad[i]), &whole, &slice));
}
END_TEST

// The keys sort as the numbers do, through every length of the code.
START_TEST(slice_keys) {
    static const int64_t numbers[] = {0, 1, 63, 64, 8191, 8192, 1 << 20, 1ll << 27, 1ll << 34, 1ll << 41, 1ll << 48,
                                      1ll << 55, 1ll << 62, INT64_MAX};
    AUTO(text) Text before = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        Slice slice = {1, {numbers[i]}, {SLICE_ALL}};
        AUTO(text) Text key = {0};
        slice_key(STR("v"), &slice, &key);
        ck_assert(i == 0 || str_compare(text_str(&before), text_str(&key)) < 0);
        before.n = 0;
        text_add(&before, text_str(&key));
    }
    AUTO(text) Text key = {0};
    Slice slice = {1, {64}, {SLICE_ALL}};
    slice_key(STR("a\0b"), &slice, &key);
    ck_assert(str_equal(text_str(&key), STR("\0a\0\xff" "b\0\1\1\1\xc0\x40\x7f")));
}
END_TEST

int main(void) {
    if (!mkdtemp(folder))
        return 2;
    Suite *suite = suite_create("file");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, checksums);
    tcase_add_test(tests, snappy);
    tcase_add_test(tests, table_of_many);
    tcase_add_test(tests, bundle_round_trip);
    tcase_add_test(tests, bundle_damaged);
    tcase_add_test(tests, dropped_writer_leaves_nothing);
    tcase_add_test(tests, over_another);
    tcase_add_test(tests, merges);
    tcase_add_test(tests, slice_texts);
    tcase_add_test(tests, slice_keys);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
