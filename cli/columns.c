// Columns — see columns.h.
#include "columns.h"

#include <dirent.h>
#include <errno.h>
#include <zlib.h>

#include "columns_internal.h"

TF_Tensor *column_rows(const Column *column, const int32_t *order, int64_t n) {
    const TF_Tensor *from = column->tensor;
    int64_t dims[16];
    int rank = TF_NumDims(from);
    size_t row = TF_Dim(from, 0) ? TF_TensorByteSize(from) / (size_t)TF_Dim(from, 0) : 0;
    bool text = TF_TensorType(from) == TF_STRING;
    for (int i = 0; i < rank && i < 16; i++)
        dims[i] = i ? TF_Dim(from, i) : n;
    TF_Tensor *out = TF_AllocateTensor(TF_TensorType(from), dims, rank, row * (size_t)n);
    if (!out) {
        fail("out of memory for a batch of '%s'", column->name);
        return NULL;
    }
    char *to = TF_TensorData(out);
    const char *data = TF_TensorData(from);
    size_t words = row / sizeof(TF_TString);
    for (int64_t i = 0; i < n; i++) {
        const char *at = data + row * (size_t)order[i];
        for (size_t j = 0; text && j < words; j++) {
            const TF_TString *string = (const TF_TString *)(const void *)at + j;
            TF_TString *copy = (TF_TString *)(void *)to + (size_t)i * words + j;
            TF_StringInit(copy);
            TF_StringCopy(copy, TF_StringGetDataPointer(string), TF_StringGetSize(string));
        }
        if (!text && row)
            memcpy(to + row * (size_t)i, at, row);
    }
    return out;
}

bool columns_add(Columns *columns, const char *name, TF_Tensor *tensor) {
    const char *why = !tensor                          ? "can't be read"
                      : columns->n == MOST_EDGES       ? "is one column too many"
                      : columns->any_shape             ? NULL
                      : TF_NumDims(tensor) < 1         ? "has no rows"
                      : columns->n && TF_Dim(tensor, 0) != columns->rows ? "has another number of rows than the column before it"
                                                                         : NULL;
    if (why) {
        fail("%s: '%s' %s", columns->path, name, why);
        if (tensor)
            TF_DeleteTensor(tensor);
        return false;
    }
    Column *column = &columns->columns[columns->n++];
    snprintf(column->name, sizeof column->name, "%s", name);
    column->tensor = tensor;
    columns->rows = TF_NumDims(tensor) ? TF_Dim(tensor, 0) : 1;
    return true;
}

TF_Tensor *strings_new(int64_t rows, int64_t each) {
    int64_t dims[] = {rows, each}, n = rows * each;
    TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, dims, each == 1 ? 1 : 2, (size_t)n * sizeof(TF_TString));
    for (int64_t i = 0; tensor && i < n; i++)
        TF_StringInit((TF_TString *)TF_TensorData(tensor) + i);
    return tensor;
}

void columns_clear(Columns *columns) {
    for (int i = 0; i < columns->n; i++)
        TF_DeleteTensor(columns->columns[i].tensor);
    *columns = (Columns){0};
}

Column *columns_find(Columns *columns, const char *name) {
    Hint hint = {.wanted = name};
    char list[1024] = "";
    for (int i = 0; i < columns->n; i++) {
        if (strcmp(columns->columns[i].name, name) == 0)
            return &columns->columns[i];
        hint_offer(&hint, columns->columns[i].name);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", columns->columns[i].name);
    }
    if (*hint.best)
        fail("%s has no column '%s'%s", columns->path, name, hint_text(&hint));
    else
        fail("%s has no column '%s'; there are %s", columns->path, name, list);
    return NULL;
}

// ---------------------------------------- folders

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// What is in a folder, sorted, but for what begins with a point. -1 after a message.
static int list_folder(const char *path, char ***out) {
    DIR *folder = opendir(path);
    char **names = NULL;
    int n = 0, room = 0;
    if (!folder) {
        fail("%s: %s", path, strerror(errno));
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        if (n == room) {
            char **more = realloc(names, (size_t)(room = 2 * room + 64) * sizeof *names);
            if (!more)
                break;
            names = more;
        }
        names[n++] = strdup(entry->d_name);
    }
    closedir(folder);
    if (n)
        qsort(names, (size_t)n, sizeof *names, by_name);
    *out = names;
    return n;
}

static void free_list(char **names, int n) {
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

typedef struct {
    char **paths;
    int64_t *labels;
    int64_t n, room;
} Pictures;

static bool pictures_add(Pictures *pictures, const char *folder, const char *name, int64_t label) {
    if (pictures->n == pictures->room) {
        pictures->room = 2 * pictures->room + 256;
        char **paths = realloc(pictures->paths, (size_t)pictures->room * sizeof *paths);
        pictures->paths = paths ? paths : pictures->paths;
        int64_t *labels = realloc(pictures->labels, (size_t)pictures->room * sizeof *labels);
        pictures->labels = labels ? labels : pictures->labels;
        if (!paths || !labels)
            return false;
    }
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (!path)
        return false;
    snprintf(path, room, "%s/%s", folder, name);
    pictures->labels[pictures->n] = label;
    pictures->paths[pictures->n++] = path;
    return true;
}

static bool find_pictures(const char *path, Pictures *out) {
    char **classes = NULL;
    int n = list_folder(path, &classes), label = 0;
    bool done = n >= 0;
    for (int i = 0; i < n && done; i++) {
        char folder[4200], **files = NULL;
        snprintf(folder, sizeof folder, "%s/%s", path, classes[i]);
        if (!model_is_folder(folder))
            continue;
        int m = list_folder(folder, &files);
        for (int j = 0; j < m && done; j++)
            done = pictures_add(out, folder, files[j], label);
        done = done && m >= 0;
        label++;
        free_list(files, m);
    }
    free_list(classes, n);
    if (done && !out->n)
        fail("%s: holds neither IDX files nor folders of pictures, one for each class", path);
    return done && out->n;
}

static bool read_pictures(Columns *columns, const Pictures *pictures) {
    TF_Tensor *images = strings_new(pictures->n, 1), *paths = strings_new(pictures->n, 1);
    TF_Tensor *labels = TF_AllocateTensor(TF_INT64, &pictures->n, 1, (size_t)pictures->n * sizeof(int64_t));
    bool done = images && paths && labels;
    for (int64_t i = 0; i < pictures->n && done; i++) {
        size_t size;
        char *bytes = read_file(pictures->paths[i], &size);
        if ((done = bytes != NULL))
            TF_StringCopy((TF_TString *)TF_TensorData(images) + i, bytes, size);
        TF_StringCopy((TF_TString *)TF_TensorData(paths) + i, pictures->paths[i], strlen(pictures->paths[i]));
        ((int64_t *)TF_TensorData(labels))[i] = pictures->labels[i];
        free(bytes);
    }
    if (done)
        return columns_add(columns, "image", images) && columns_add(columns, "label", labels) &&
               columns_add(columns, "path", paths);
    TF_DeleteTensor(images);
    TF_DeleteTensor(labels);
    TF_DeleteTensor(paths);
    return false;
}

// The four files of a data set in the manner of MNIST: those to learn from.
static bool read_idx_part(Columns *columns, const char *part, const char *name, bool *there) {
    char path[4200];
    *there = true;
    for (int packed = 0; packed < 2; packed++) {
        snprintf(path, sizeof path, "%s/train-%s-ubyte%s", columns->path, part, packed ? ".gz" : "");
        FILE *file = fopen(path, "rb");
        if (!file)
            continue;
        fclose(file);
        return columns_add(columns, name, read_tensor(path));
    }
    return *there = false;
}

static bool read_folder(Columns *columns) {
    bool there;
    if (read_idx_part(columns, "images-idx3", "image", &there))
        return read_idx_part(columns, "labels-idx1", "label", &there);
    if (there)
        return false;
    Pictures pictures = {0};
    bool done = find_pictures(columns->path, &pictures) && read_pictures(columns, &pictures);
    for (int64_t i = 0; i < pictures.n; i++)
        free(pictures.paths[i]);
    free(pictures.paths);
    free(pictures.labels);
    return done;
}

// ---------------------------------------- npz

static uint32_t u16(const char *p) {
    return (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8;
}

static uint64_t u32(const char *p) {
    return u16(p) | (uint64_t)u16(p + 2) << 16;
}

static char *inflate_entry(const char *bytes, uint64_t packed, uint64_t size) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)packed, .avail_out = (uInt)size};
    char *out = packed <= UINT32_MAX && size <= UINT32_MAX && size / 1100 <= packed ? malloc(size + 1) : NULL;
    if (!out)
        return NULL;
    z.next_out = (Bytef *)out;
    bool done = inflateInit2(&z, -15) == Z_OK;
    if (done) {
        done = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == size;
        inflateEnd(&z);
    }
    if (done)
        return out;
    free(out);
    return NULL;
}

// One entry of the archive's list: its array becomes a column.
static bool read_entry(Columns *columns, const char *file, size_t n, const char *at) {
    uint64_t packed = u32(at + 20), size = u32(at + 24), start = u32(at + 42);
    uint32_t method = u16(at + 10), name_n = u16(at + 28);
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(name_n < 100 ? name_n : 100), at + 46);
    char *dot = strrchr(name, '.');
    if (dot)
        *dot = 0;
    uint64_t data = start + 30 <= n ? start + 30 + u16(file + start + 26) + u16(file + start + 28) : n + 1;
    if (data > n || packed > n - data || (method != 0 && method != 8) || (method == 0 && packed != size)) {
        fail("%s: the array '%s' is damaged, or larger than 4 GB", columns->path, name);
        return false;
    }
    char *bytes = method ? inflate_entry(file + data, packed, size) : NULL;
    if (method && !bytes) {
        fail("%s: the array '%s' is damaged", columns->path, name);
        return false;
    }
    TF_Tensor *tensor = npy_tensor(columns->path, bytes ? bytes : file + data, size);
    free(bytes);
    return tensor && columns_add(columns, name, tensor);
}

bool npz_read(Columns *columns, const char *file, size_t n) {
    size_t end = n >= 22 ? n - 22 : 0;
    while (end > 0 && memcmp(file + end, "PK\5\6", 4) != 0 && n - end < 66000)
        end--;
    if (n < 22 || memcmp(file + end, "PK\5\6", 4) != 0) {
        fail("%s: is no archive of arrays, or is cut off", columns->path);
        return false;
    }
    uint64_t at = u32(file + end + 16);
    uint32_t count = u16(file + end + 10);
    for (uint32_t i = 0; i < count; i++) {
        if (at + 46 > n || memcmp(file + at, "PK\1\2", 4) != 0 || at + 46 + u16(file + at + 28) > n) {
            fail("%s: the list of its arrays is damaged", columns->path);
            return false;
        }
        if (!read_entry(columns, file, n, file + at))
            return false;
        at += 46 + u16(file + at + 28) + u16(file + at + 30) + u16(file + at + 32);
    }
    return columns->n > 0;
}

// ---------------------------------------- which it is

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

static bool read_one(Columns *columns) {
    const char *path = columns->path;
    if (model_is_folder(path))
        return read_folder(columns);
    size_t n;
    char *file = read_file(path, &n);
    bool done = file != NULL;
    if (done && n >= 4 && memcmp(file, "PK", 2) == 0)
        done = npz_read(columns, file, n);
    else if (done && (ends_with(path, ".csv") || ends_with(path, ".csv.gz")))
        done = csv_read(columns, file, n);
    else if (done && strstr(path, "tfrecord"))
        done = examples_parse(columns, file, n);
    else if (done)
        done = columns_add(columns, "x", read_tensor(path));
    free(file);
    return done;
}

bool columns_read(const char *path, Columns *out) {
    Columns columns = {.path = path};
    bool done = read_one(&columns);
    if (done && (columns.rows < 1 || columns.rows > INT32_MAX)) {
        fail("%s: has %lld rows", path, (long long)columns.rows);
        done = false;
    }
    if (done)
        *out = columns;
    else
        columns_clear(&columns);
    return done;
}
