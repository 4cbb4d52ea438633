// Files — whole files, packed or not, and the two kinds that hold one tensor: NumPy's .npy and IDX.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli.h"

bool can_write(const char *path) {
    char folder[4096];
    struct stat info;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    errno = is_folder ? EISDIR : 0;
    bool can = !is_folder && (access(path, W_OK) == 0 || (errno == ENOENT && access(slash ? folder : ".", W_OK) == 0));
    if (!can)
        fail("%s: can't be written: %s", path, strerror(errno));
    return can;
}

// ---------------------------------------- bytes

static char *read_stream(gzFile file, const char *path, size_t *size) {
    size_t room = 1 << 16, n = 0;
    char *bytes = malloc(room);
    while (bytes) {
        int got = gzread(file, bytes + n, (unsigned)(room - n));
        if (got < 0) {
            int code;
            const char *why = gzerror(file, &code);
            fail("%s: %s", path, code == Z_ERRNO ? strerror(errno) : why);
            free(bytes);
            return NULL;
        }
        if (got == 0)
            break;
        n += (size_t)got;
        if (room - n < 1 << 15) {
            room *= 2;
            char *more = realloc(bytes, room);
            if (!more)
                free(bytes);
            bytes = more;
        }
    }
    if (!bytes)
        fail("%s: out of memory", path);
    // A packed file that was cut off reads to its last byte and only then says so.
    int code = Z_OK;
    gzerror(file, &code);
    if (bytes && code == Z_BUF_ERROR) {
        fail("%s: is truncated: the packed data ends early", path);
        free(bytes);
        return NULL;
    }
    *size = n;
    return bytes;
}

char *read_file(const char *path, size_t *size) {
    if (!*path) {
        fail("the name of a file is empty");
        return NULL;
    }
    errno = 0;
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(0, "rb") : gzopen(path, "rb");
    if (!file) {
        fail("%s: %s", path, errno ? strerror(errno) : "cannot be opened");
        return NULL;
    }
    char *bytes = read_stream(file, path, size);
    gzclose(file);
    return bytes;
}

bool write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    bool done = file && fwrite(bytes, 1, size, file) == size;
    if (file && file != stdout)
        done = fclose(file) == 0 && done;
    if (!done)
        fail("%s: %s", path, strerror(errno));
    return done;
}

static TF_Tensor *make_tensor(const char *path, TF_DataType dtype, const int64_t *dims, int rank, const char *bytes,
                              size_t have) {
    size_t need = TF_DataTypeSize(dtype);
    for (int i = 0; i < rank; i++) {
        if (dims[i] && need > SIZE_MAX / 2 / (size_t)dims[i]) {
            fail("%s: is malformed: its dimensions are too large", path);
            return NULL;
        }
        need *= (size_t)dims[i];
    }
    if (have < need) {
        fail("%s: is truncated: %zu bytes of data expected, %zu found", path, need, have);
        return NULL;
    }
    TF_Tensor *tensor = TF_AllocateTensor(dtype, dims, rank, need);
    if (!tensor)
        fail("%s: out of memory", path);
    else if (need)
        memcpy(TF_TensorData(tensor), bytes, need);
    return tensor;
}

// ---------------------------------------- npy

static const struct {
    char kind, size;
    TF_DataType dtype;
} NPY_TYPES[] = {
    {'f', 4, TF_FLOAT}, {'f', 8, TF_DOUBLE}, {'f', 2, TF_HALF},   {'i', 1, TF_INT8},   {'i', 2, TF_INT16},
    {'i', 4, TF_INT32}, {'i', 8, TF_INT64},  {'u', 1, TF_UINT8},  {'u', 2, TF_UINT16}, {'u', 4, TF_UINT32},
    {'u', 8, TF_UINT64}, {'b', 1, TF_BOOL},  {'c', 8, TF_COMPLEX64},
};
enum { N_NPY_TYPES = sizeof NPY_TYPES / sizeof *NPY_TYPES };

static TF_DataType npy_type(const char *descr) {
    const char *at = strstr(descr, "'descr':");
    at = at ? strchr(at + 8, '\'') : NULL;
    if (!at || at[1] == '>')
        return (TF_DataType)0;
    if (strncmp(at + 1, "<c16", 4) == 0)
        return TF_COMPLEX128;
    for (int i = 0; i < N_NPY_TYPES; i++)
        if (at[2] == NPY_TYPES[i].kind && at[3] == '0' + NPY_TYPES[i].size && at[4] == '\'')
            return NPY_TYPES[i].dtype;
    return (TF_DataType)0;
}

TF_Tensor *npy_tensor(const char *path, const char *bytes, size_t size) {
    size_t at = 10, length = size >= 10 ? (size_t)(unsigned char)bytes[8] | (size_t)(unsigned char)bytes[9] << 8 : 0;
    if (size >= 12 && bytes[6] >= 2) {
        length |= (size_t)(unsigned char)bytes[10] << 16 | (size_t)(unsigned char)bytes[11] << 24;
        at = 12;
    }
    char header[4096];
    if (length >= sizeof header || size < at + length) {
        fail("%s: is no complete .npy file", path);
        return NULL;
    }
    memcpy(header, bytes + at, length);
    header[length] = 0;
    TF_DataType dtype = npy_type(header);
    const char *shape = strstr(header, "'shape':");
    shape = shape ? strchr(shape, '(') : NULL;
    if (!dtype || !shape || strstr(header, "'fortran_order': True")) {
        fail("%s: an array of this type or order can't be read", path);
        return NULL;
    }
    int64_t dims[8];
    int rank = 0;
    for (shape++; *shape && *shape != ')' && rank < 8;) {
        char *end;
        long long dim = strtoll(shape, &end, 10);
        if (end == shape || dim < 0)
            break;
        dims[rank++] = dim;
        for (shape = end; *shape == ',' || *shape == ' ';)
            shape++;
    }
    if (*shape != ')') {
        fail("%s: its shape can't be read", path);
        return NULL;
    }
    return make_tensor(path, dtype, dims, rank, bytes + at + length, size - at - length);
}

char *npy_bytes(const char *path, const TF_Tensor *tensor, size_t *out_size) {
    char descr[8] = "", shape[256] = "", header[512];
    TF_DataType dtype = TF_TensorType(tensor);
    for (int i = 0; i < N_NPY_TYPES; i++)
        if (NPY_TYPES[i].dtype == dtype)
            snprintf(descr, sizeof descr, "%c%c%d", NPY_TYPES[i].size == 1 ? '|' : '<', NPY_TYPES[i].kind,
                     NPY_TYPES[i].size);
    if (dtype == TF_COMPLEX128)
        strcpy(descr, "<c16");
    if (!*descr) {
        fail("%s: tensors of %s have no .npy form", path, mr_dtype_name(dtype));
        return NULL;
    }
    int rank = TF_NumDims(tensor);
    for (int i = 0; i < rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape),
                 i == 0 && rank == 1 ? "%lld," : i ? ", %lld" : "%lld", (long long)TF_Dim(tensor, i));
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
    size_t bytes = TF_TensorByteSize(tensor), size = 10 + (size_t)padded + bytes;
    char *file = malloc(size);
    if (!file) {
        fail("%s: out of memory", path);
        return NULL;
    }
    static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    memcpy(file, magic, sizeof magic);
    file[8] = (char)(padded & 0xff);
    file[9] = (char)(padded >> 8);
    memset(file + 10, ' ', (size_t)padded);
    memcpy(file + 10, header, (size_t)n);
    file[10 + padded - 1] = '\n';
    if (bytes)
        memcpy(file + 10 + padded, TF_TensorData(tensor), bytes);
    *out_size = size;
    return file;
}

bool write_npy(const char *path, const TF_Tensor *tensor) {
    size_t size;
    char *file = npy_bytes(path, tensor, &size);
    bool done = file && write_file(path, file, size);
    free(file);
    return done;
}

// ---------------------------------------- IDX

// Two zero bytes, the type (8: unsigned bytes), the number of dimensions; each extent in four bytes, highest first.
static TF_Tensor *read_idx(const char *path, const char *bytes, size_t size) {
    int rank = size >= 4 ? (unsigned char)bytes[3] : 0;
    if (size < 4 || bytes[0] || bytes[1] || bytes[2] != 8 || rank < 1 || rank > 8) {
        fail("%s: is neither .npy nor an IDX file of bytes", path);
        return NULL;
    }
    if (size < 4 + 4 * (size_t)rank) {
        fail("%s: is truncated: its dimensions are missing", path);
        return NULL;
    }
    int64_t dims[8];
    for (int i = 0; i < rank; i++) {
        const unsigned char *at = (const unsigned char *)bytes + 4 + 4 * i;
        dims[i] = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
    }
    size_t header = 4 + 4 * (size_t)rank;
    return make_tensor(path, TF_UINT8, dims, rank, bytes + header, size - header);
}

// ---------------------------------------- either, and a part of it

TF_Tensor *slice_tensor(const char *path, TF_Tensor *tensor, int64_t first, int64_t last) {
    int rank = TF_NumDims(tensor);
    int64_t dims[8], n = rank ? TF_Dim(tensor, 0) : 0;
    if (rank < 1 || first < 0 || last > n || first > last) {
        fail("%s: the range [%lld:%lld] is not within the %lld there are", path, (long long)first, (long long)last,
             (long long)n);
        TF_DeleteTensor(tensor);
        return NULL;
    }
    for (int i = 0; i < rank; i++)
        dims[i] = TF_Dim(tensor, i);
    dims[0] = last - first;
    size_t one = n ? TF_TensorByteSize(tensor) / (size_t)n : 0;
    TF_Tensor *part = TF_AllocateTensor(TF_TensorType(tensor), dims, rank, one * (size_t)(last - first));
    if (part && one)
        memcpy(TF_TensorData(part), (char *)TF_TensorData(tensor) + one * (size_t)first, one * (size_t)(last - first));
    TF_DeleteTensor(tensor);
    return part;
}

// "[2]" or "[0:2]" at the end of the name; the name without it in `plain`.
static bool find_range(const char *path, char *plain, size_t room, long long *first, long long *last) {
    snprintf(plain, room, "%s", path);
    char *bracket = strrchr(plain, '[');
    size_t n = strlen(plain);
    if (!bracket || n == 0 || plain[n - 1] != ']')
        return false;
    int parts = sscanf(bracket, "[%lld:%lld]", first, last);
    if (parts == 1)
        *last = *first + 1;
    if (parts >= 1)
        *bracket = 0;
    return parts >= 1;
}

TF_Tensor *read_tensor(const char *path) {
    char plain[4096];
    long long first, last;
    bool part = find_range(path, plain, sizeof plain, &first, &last);
    size_t size;
    char *bytes = read_file(plain, &size);
    if (!bytes)
        return NULL;
    bool npy = size >= 10 && memcmp(bytes, "\x93NUMPY", 6) == 0;
    TF_Tensor *tensor = npy ? npy_tensor(plain, bytes, size) : read_idx(plain, bytes, size);
    free(bytes);
    return tensor && part ? slice_tensor(plain, tensor, first, last) : tensor;
}
