// Columns out of rows — CSV, and TFRecords of Examples.
#include <math.h>

#include "columns_internal.h"
#include "wire.h"

// ---------------------------------------- csv

typedef struct {
    char **cells;
    size_t n, room;
} Cells;

static bool cells_add(Cells *cells, char *cell) {
    if (cells->n == cells->room) {
        size_t room = cells->room ? 2 * cells->room : 1024;
        char **more = realloc(cells->cells, room * sizeof *more);
        if (!more)
            return false;
        *cells = (Cells){more, cells->n, room};
    }
    cells->cells[cells->n++] = cell;
    return true;
}

// The cell that begins at `*at` gets a NUL behind it; what came behind it: a comma, a newline, or 0.
static char next_cell(char **at, char **cell) {
    char *p = *at, *to;
    *cell = to = p;
    if (*p == '"') {
        p++;
        while (*p && (*p != '"' || p[1] == '"')) {
            p += *p == '"';
            *to++ = *p++;
        }
        p += *p == '"';
    }
    while (*p && *p != ',' && *p != '\n')
        *to++ = *p++;
    char end = *p;
    *at = p + (end != 0);
    if (to > *cell && to[-1] == '\r')
        to--;
    *to = 0;
    return end;
}

// All cells in a row; the width is that of the first line. False after a message.
static bool split(const Columns *columns, char *text, Cells *cells, size_t *width) {
    size_t line = 1, in_line = 0;
    *width = 0;
    for (char *at = text; *at;) {
        char *cell, end = next_cell(&at, &cell);
        if (!cells_add(cells, cell)) {
            fail("%s: out of memory", columns->path);
            return false;
        }
        in_line++;
        if (end == ',')
            continue;
        *width = *width ? *width : in_line;
        if (in_line != *width) {
            fail("%s: line %zu has %zu cells, the first %zu", columns->path, line, in_line, *width);
            return false;
        }
        in_line = 0;
        line++;
    }
    if (cells->n < 2 * *width)
        fail("%s: has no rows", columns->path);
    return *width && cells->n >= 2 * *width;
}

static TF_Tensor *csv_column(const Cells *cells, size_t width, size_t column) {
    int64_t rows = (int64_t)(cells->n / width) - 1;
    bool numbers = true;
    for (int64_t i = 0; i < rows && numbers; i++) {
        char *cell = cells->cells[(size_t)(i + 1) * width + column], *end;
        strtod(cell, &end);
        numbers = end != cell && !*end;
    }
    TF_Tensor *tensor = numbers ? TF_AllocateTensor(TF_FLOAT, &rows, 1, (size_t)rows * sizeof(float)) : strings_new(rows, 1);
    for (int64_t i = 0; i < rows && tensor; i++) {
        const char *cell = cells->cells[(size_t)(i + 1) * width + column];
        if (numbers)
            ((float *)TF_TensorData(tensor))[i] = strtof(cell, NULL);
        else
            TF_StringCopy((TF_TString *)TF_TensorData(tensor) + i, cell, strlen(cell));
    }
    return tensor;
}

bool csv_read(Columns *columns, char *text, size_t n) {
    Cells cells = {0};
    size_t width = 0;
    if (n == 0 || memchr(text, 0, n - 1)) {
        fail("%s: is no text", columns->path);
        return false;
    }
    if (text[n - 1] != '\n' && text[n - 1] != 0) {  // a last line without its end
        fail("%s: its last line has no end", columns->path);
        return false;
    }
    text[n - 1] = 0;
    bool done = split(columns, text, &cells, &width);
    for (size_t i = 0; i < width && done; i++)
        done = columns_add(columns, cells.cells[i], csv_column(&cells, width, i));
    free(cells.cells);
    return done;
}

// ---------------------------------------- Examples

static uint32_t crc32c(const unsigned char *p, size_t n) {
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        table[i] = c;
    }
    uint32_t crc = ~0u;
    while (n--)
        crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static bool is_intact(const char *bytes, size_t n) {
    uint32_t told;
    memcpy(&told, bytes + n, sizeof told);
    return crc32c((const unsigned char *)bytes, n) == told;
}

// The next record of the file; false at its end and, after a message, where it is damaged (`*good` is false then).
static bool next_record(const char *path, const char *file, size_t n, size_t *at, Bytes *out, bool *good) {
    uint64_t length;
    if (*at == n)
        return false;
    *good = n - *at >= 16 && is_intact(file + *at, 8);
    if (*good) {
        memcpy(&length, file + *at, sizeof length);
        *good = length <= n - *at - 16 && is_intact(file + *at + 12, (size_t)length);
    }
    if (!*good) {
        fail("%s: the record at byte %zu is damaged", path, *at);
        return false;
    }
    const unsigned char *begin = (const unsigned char *)file + *at + 12;
    *out = (Bytes){begin, begin + length};
    *at += 16 + (size_t)length;
    return true;
}

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

// A feature of all records: its kind, how many values each has, and where they go.
typedef struct {
    char name[128];
    int kind;
    int64_t each;
    TF_Tensor *tensor;
} Feature;

static uint64_t varint_at(const unsigned char **p, const unsigned char *end) {
    uint64_t value = 0;
    for (int shift = 0; *p < end && shift < 64; shift += 7) {
        unsigned char byte = *(*p)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return value;
}

// Stores value `i` of row `row`, if there is a tensor.
static void store(const Feature *f, int64_t row, int64_t i, Bytes bytes, uint64_t bits) {
    if (!f->tensor || i >= f->each)
        return;
    void *data = TF_TensorData(f->tensor);
    int64_t at = row * f->each + i;
    uint32_t narrow = (uint32_t)bits;
    if (f->kind == BYTES_LIST)
        TF_StringCopy((TF_TString *)data + at, (const char *)bytes.at, (size_t)(bytes.end - bytes.at));
    else if (f->kind == FLOAT_LIST)
        memcpy((float *)data + at, &narrow, sizeof narrow);
    else
        ((int64_t *)data)[at] = (int64_t)bits;
}

// Numbers come one by one or packed. How many there are.
static int64_t take_list(const Feature *f, int64_t row, Bytes list) {
    Field value;
    int64_t n = 0;
    for (;;) {
        bool packed = list.at < list.end && (*list.at & 7) == 2;
        if (!wire_next(&list, &value))
            return n;
        const unsigned char *p = value.bytes.at;
        if (!packed && f->kind == FLOAT_LIST)
            value.bytes.end += 4;   // that wire_next has passed over
        if (f->kind == BYTES_LIST || (!packed && f->kind == INT64_LIST)) {
            store(f, row, n++, value.bytes, value.integer);
        } else if (f->kind == FLOAT_LIST) {
            for (; value.bytes.end - p >= 4; p += 4) {
                uint32_t bits;
                memcpy(&bits, p, sizeof bits);
                store(f, row, n++, value.bytes, bits);
            }
        } else {
            while (p < value.bytes.end)
                store(f, row, n++, value.bytes, varint_at(&p, value.bytes.end));
        }
    }
}

static Bytes features_of(Bytes example) {
    return wire_find(example, 1);
}

// The features of the first record are those of all.
static int find_features(Bytes example, Feature *out) {
    Bytes features = features_of(example);
    Field entry, kind;
    int n = 0;
    while (n < MOST_EDGES && wire_next(&features, &entry)) {
        Bytes feature = wire_find(entry.bytes, 2);
        if (entry.number != 1 || !wire_next(&feature, &kind))
            continue;
        Feature *f = &out[n++];
        *f = (Feature){.kind = (int)kind.number};
        wire_text(wire_find(entry.bytes, 1), f->name, sizeof f->name);
        f->each = take_list(f, 0, kind.bytes);
    }
    return n;
}

static bool make_room(Feature *f, int64_t rows) {
    int64_t dims[] = {rows, f->each};
    size_t bytes = (size_t)(rows * f->each) * (f->kind == FLOAT_LIST ? 4 : 8);
    if (f->kind == BYTES_LIST)
        f->tensor = strings_new(rows, f->each);
    else
        f->tensor = TF_AllocateTensor(f->kind == FLOAT_LIST ? TF_FLOAT : TF_INT64, dims, f->each == 1 ? 1 : 2, bytes);
    return f->tensor != NULL;
}

static bool take_row(const char *path, const Feature *features, int n, int64_t row, Bytes example) {
    for (int i = 0; i < n; i++) {
        Field kind = {0};
        Bytes feature = wire_value(features_of(example), 1, features[i].name);
        bool there = wire_next(&feature, &kind) && (int)kind.number == features[i].kind;
        int64_t found = there ? take_list(&features[i], row, kind.bytes) : 0;
        if (found != features[i].each) {
            fail("%s: '%s' has %lld values in record %lld and %lld in the first: one number of them is expected", path,
                 features[i].name, (long long)found, (long long)row + 1, (long long)features[i].each);
            return false;
        }
    }
    return true;
}

static bool read_rows(Columns *columns, const char *file, size_t n, Feature *features, int n_features) {
    Bytes record;
    bool good = true;
    size_t at = 0;
    for (int64_t row = 0; good && next_record(columns->path, file, n, &at, &record, &good); row++)
        good = take_row(columns->path, features, n_features, row, record);
    for (int i = 0; i < n_features; i++) {
        if (good)
            good = columns_add(columns, features[i].name, features[i].tensor);
        else
            TF_DeleteTensor(features[i].tensor);
    }
    return good;
}

bool examples_parse(Columns *columns, const char *file, size_t n) {
    Feature features[MOST_EDGES];
    Bytes record;
    bool good = true;
    int n_features = 0;
    int64_t rows = 0;
    for (size_t at = 0; next_record(columns->path, file, n, &at, &record, &good); rows++)
        if (rows == 0)
            n_features = find_features(record, features);
    if (good && (!rows || !n_features)) {
        fail("%s: holds no Examples", columns->path);
        good = false;
    }
    int made = 0;
    while (good && made < n_features)
        good = make_room(&features[made++], rows);
    if (good)
        return read_rows(columns, file, n, features, n_features);
    for (int i = 0; i < made; i++)
        if (features[i].tensor)
            TF_DeleteTensor(features[i].tensor);
    return false;
}
