// Saved slices test — what is written comes back, whole, in parts and from several files; what is damaged is refused.
#include "file/folder_test.h"
#include "file/saved_slices.h"

static void add(SavedSlicesWriter *writer, const char *name, const char *value) {
    AUTO(tensor) Tensor t = tensor(value);
    Slice whole = slice_whole(t.shape.rank);
    GOOD(saved_slices_add(writer, str_of(name), &t.shape, &whole, &t));
}

static void add_slice(SavedSlicesWriter *writer, const char *name, const char *at, const char *value) {
    AUTO(tensor) Tensor t = tensor(value);
    Shape whole;
    Slice slice;
    GOOD(slice_parse(str_of(at), &whole, &slice));
    GOOD(saved_slices_add(writer, str_of(name), &whole, &slice, &t));
}

static Code refused(SavedSlicesWriter *writer, const char *name, const char *at, const char *value) {
    AUTO(tensor) Tensor t = tensor(value);
    Shape whole;
    Slice slice;
    GOOD(slice_parse(str_of(at), &whole, &slice));
    AUTO(status) Status *status = saved_slices_add(writer, str_of(name), &whole, &slice, &t);
    return status_code(status);
}

static const char *const VALUES[] = {
    "[1.5 -2 3]", "double [[1.25 2]]", "half [1 2.5]", "[true false true]", "[\"\" \"a longer string than fits inside\"]",
    "complex64 [1+2i 3]", "complex128 4-1i", "int8 [-128 127]", "int16 [-5]", "int32 [[1] [-2147483648]]", "int64 -7",
    "uint8 [255 0]", "uint16 [65535]", "zeros[0 3]", "[7 7 7 7]",
};
enum { N_VALUES = sizeof VALUES / sizeof *VALUES };

START_TEST(every_type_comes_back) {
    AUTO(SavedSlicesWriter) SavedSlicesWriter writer = SAVED_SLICES_WRITER_NONE;
    char name[16];
    for (int i = 0; i < N_VALUES; i++) {
        snprintf(name, sizeof name, "v%d", i);
        add(&writer, name, VALUES[i]);
    }
    GOOD(saved_slices_write(&writer, in_folder("all")));
    AUTO(SavedSlicesReader) SavedSlicesReader reader = {0};
    GOOD(saved_slices_open(in_folder("al?"), &reader));
    for (int i = 0; i < N_VALUES; i++) {
        snprintf(name, sizeof name, "v%d", i);
        AUTO(tensor) Tensor got = {0};
        GOOD(saved_slices_read(&reader, str_of(name), NULL, &got));
        same(&got, VALUES[i]);
    }
    Tensor none;
    BAD(NOT_FOUND, saved_slices_read(&reader, STR("v"), NULL, &none));
}
END_TEST

START_TEST(slices_of_two_files_make_a_whole) {
    AUTO(SavedSlicesWriter) SavedSlicesWriter one = SAVED_SLICES_WRITER_NONE, two = SAVED_SLICES_WRITER_NONE;
    add_slice(&one, "v", "3 2 0,1:-", "[[1 2]]");
    add_slice(&two, "v", "3 2 1,2:0,1", "[[3] [5]]");
    add_slice(&two, "v", "3 2 1,2:1,1", "[[4] [6]]");
    ck_assert_int_eq(refused(&two, "v", "3 2 2,1:-", "[[5 6]]"), INVALID_ARGUMENT);        // overlaps
    ck_assert_int_eq(refused(&two, "v", "4 2 3,1:-", "[[5 6]]"), INVALID_ARGUMENT);        // of another whole
    ck_assert_int_eq(refused(&two, "v", "3 2 0,1:-", "double [[1 2]]"), INVALID_ARGUMENT);
    ck_assert_int_eq(refused(&two, "w", "3 2 0,2:-", "[[1 2]]"), INVALID_ARGUMENT);        // of another shape
    ck_assert_int_eq(refused(&two, "w", "3 2 0,1:-", "bfloat16 [[1 2]]"), UNIMPLEMENTED);
    GOOD(saved_slices_write(&one, in_folder("part-0")));
    GOOD(saved_slices_write(&two, in_folder("part-1")));
    AUTO(SavedSlicesReader) SavedSlicesReader reader = {0}, half = {0};
    AUTO(tensor) Tensor whole = {0}, column = {0}, row = {0};
    GOOD(saved_slices_open(in_folder("part-*"), &reader));
    GOOD(saved_slices_read(&reader, STR("v"), NULL, &whole));
    same(&whole, "[[1 2] [3 4] [5 6]]");
    Shape shape;
    Slice slice;
    GOOD(slice_parse(STR("3 2 -:1,1"), &shape, &slice));
    GOOD(saved_slices_read(&reader, STR("v"), &slice, &column));
    same(&column, "[[2] [4] [6]]");
    GOOD(slice_parse(STR("3 2 0,1:-"), &shape, &slice));
    GOOD(saved_slices_open(in_folder("part-0"), &half));
    GOOD(saved_slices_read(&half, STR("v"), &slice, &row));
    same(&row, "[[1 2]]");
    Tensor none;
    BAD(INVALID_ARGUMENT, saved_slices_read(&half, STR("v"), NULL, &none));
    SavedSlicesReader missing;
    BAD(NOT_FOUND, saved_slices_open(in_folder("nothing*"), &missing));
}
END_TEST

// Reads all that is in the file; only ever a status.
static Status *read_everything(Str file) {
    AUTO(SavedSlicesReader) SavedSlicesReader reader = {0};
    TRY(saved_slices_open(file, &reader));
    for (int i = 0; i < 3; i++) {
        AUTO(tensor) Tensor got = {0};
        TRY(saved_slices_read(&reader, str_of((const char *[]){"v", "words", "w"}[i]), NULL, &got));
    }
    return OK;
}

START_TEST(every_damaged_byte_is_noticed) {
    AUTO(SavedSlicesWriter) SavedSlicesWriter writer = SAVED_SLICES_WRITER_NONE;
    add_slice(&writer, "v", "3 2 0,1:-", "[[1 2]]");
    add_slice(&writer, "v", "3 2 1,2:-", "[[3 4] [5 6]]");
    add(&writer, "words", "[\"ab\" \"c\"]");
    add(&writer, "w", "int64 [1 2 3]");
    GOOD(saved_slices_write(&writer, in_folder("whole")));
    GOOD(read_everything(in_folder("whole")));
    AUTO(text) Text bytes = {0};
    GOOD(disk_read(in_folder("whole"), &bytes));
    int noticed = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        bytes.p[i] = (char)(bytes.p[i] ^ 0x41);
        DiskWriter file = DISK_WRITER_NONE;
        GOOD(disk_writer_open(&file, in_folder("damaged")));
        GOOD(disk_write(&file, bytes.p, bytes.n));
        GOOD(disk_writer_commit(&file));
        AUTO(status) Status *status = read_everything(in_folder("damaged"));
        noticed += status != OK;
        bytes.p[i] = (char)(bytes.p[i] ^ 0x41);
    }
    // All but the filling of the footer and the block of filters, which nobody reads.
    ck_assert_int_ge(noticed, (int)bytes.n - 64);
}
END_TEST

static void make_folder(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void) {
    DiskPaths paths = {0};
    GOOD(disk_match(in_folder("*"), &paths));
    for (size_t i = 0; i < paths.paths.n; i++)
        disk_remove(str_of(paths.paths.p[i]));
    disk_paths_clear(&paths);
    disk_remove_directory(str_of(folder));
}

int main(void) {
    Suite *suite = suite_create("saved slices");
    TCase *cases = tcase_create("saved slices");
    suite_add_tcase(suite, cases);
    tcase_add_unchecked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, every_type_comes_back);
    tcase_add_test(cases, slices_of_two_files_make_a_whole);
    tcase_add_test(cases, every_damaged_byte_is_noticed);
    return run_suite(suite);
}
