// Rows — pads, concatenation, gathering, one-hot and fills: whole runs of bytes. See move.h.
//
// None of it knows a type: elements are as many bytes as they have. What costs is memory, so runs are copied whole and
// lines of large tables are asked for ahead.
#include <string.h>

#include "base/checked.h"
#include "loops/move.h"
#include "loops/tuning.h"

typedef uint64_t Sixteen __attribute__((vector_size(16), aligned(1), may_alias));
typedef struct { uint64_t a, b, c; } Triple;

// Sixteen bytes at a time, of elements of 2 to 16, in plain x86-64 code: what is stored bounds a fill, not the number
// of instructions.
static void fill_sixteens(Sixteen v, char *out, size_t bytes) {
    for (; bytes >= 64; bytes -= 64, out += 64)
        for (size_t i = 0; i < 64; i += 16)
            *(Sixteen *)(out + i) = v;
    for (; bytes >= 16; bytes -= 16, out += 16)
        *(Sixteen *)out = v;
    const char *rest = (const char *)&v;
    for (; bytes; bytes--)
        *out++ = *rest++;
}

// The element as often as it fits.
static Sixteen sixteen_of(const void *value, size_t size) {
    uint16_t two = 0;
    uint32_t four = 0;
    uint64_t eight = 0;
    Sixteen v;
    switch (size) {
    case 2: memcpy(&two, value, 2), eight = two * 0x0001000100010001u; break;
    case 4: memcpy(&four, value, 4), eight = four * 0x0000000100000001u; break;
    case 8: memcpy(&eight, value, 8); break;
    default: memcpy(&v, value, 16); return v;
    }
    return (Sixteen){eight, eight};
}

void fill_run(const void *value, size_t size, void *out, int64_t n) {
    if (n <= 0)
        return;
    bool large = (size_t)n * size >= TUNED_FILL_CALL;
    if (size == 1 || (large && !memcmp(value, (const char *)value + 1, size - 1))) {
        memset(out, *(const unsigned char *)value, (size_t)n * size);
        return;
    }
    // 24 bytes, a string: they do not repeat every sixteen.
    if (size == sizeof(Triple)) {
        for (int64_t i = 0; i < n; i++)
            memcpy((Triple *)out + i, value, sizeof(Triple));
        return;
    }
    fill_sixteens(sixteen_of(value, size), out, (size_t)n * size);
}

// The position inside [0, extent) that a padded position shows; -1: the constant.
static int64_t mirrored(PadMode mode, int64_t at, int64_t extent) {
    if (at >= 0 && at < extent)
        return at;
    if (mode == PAD_CONSTANT || extent <= 0)
        return -1;
    int64_t edge = mode == PAD_SYMMETRIC ? 1 : 0;
    int64_t source = at < 0 ? -at - edge : 2 * (extent - 1) - at + edge;
    // Clamped: a pad wider than the extent was refused before, this keeps the address inside.
    return max_i64(0, min_i64(extent - 1, source));
}

int64_t pad_rows(const Shape *in, const int64_t *before, const int64_t *after) {
    int64_t rows = 1;
    for (int i = 0; i + 1 < in->rank; i++)
        rows *= before[i] + in->dims[i] + after[i];
    return in->rank > 0 && before[in->rank - 1] + in->dims[in->rank - 1] + after[in->rank - 1] == 0 ? 0 : rows;
}

static void pad_row(PadMode mode, const char *from, char *to, int64_t before, int64_t extent, int64_t after,
                    const void *value, size_t size) {
    if (mode == PAD_CONSTANT) {
        fill_run(value, size, to, before);
        fill_run(value, size, to + (size_t)(before + extent) * size, after);
    } else {
        for (int64_t i = 0; i < before; i++)
            memcpy(to + (size_t)i * size, from + (size_t)mirrored(mode, i - before, extent) * size, size);
        for (int64_t i = 0; i < after; i++)
            memcpy(to + (size_t)(before + extent + i) * size, from + (size_t)mirrored(mode, extent + i, extent) * size,
                   size);
    }
    if (extent > 0)
        memcpy(to + (size_t)before * size, from, (size_t)extent * size);
}

void pad_run(PadMode mode, const Shape *in, const int64_t *before, const int64_t *after, const void *value, size_t size,
             const void *from, void *to, int64_t first, int64_t last) {
    if (in->rank == 0) {
        memcpy(to, from, size);
        return;
    }
    int inner = in->rank - 1;
    int64_t width = before[inner] + in->dims[inner] + after[inner];
    if (mode != PAD_CONSTANT && in->dims[inner] == 0)
        return;
    for (int64_t row = first; row < last; row++) {
        int64_t rest = row, source = 0, step = in->dims[inner];
        bool constant = false;
        for (int i = inner - 1; i >= 0; i--) {
            int64_t extent = before[i] + in->dims[i] + after[i];
            int64_t at = mirrored(mode, rest % extent - before[i], in->dims[i]);
            rest /= extent;
            constant |= at < 0;
            source += at * step;
            step *= in->dims[i];
        }
        char *out = (char *)to + (size_t)(row * width) * size;
        if (constant)
            fill_run(value, size, out, width);
        else
            pad_row(mode, (const char *)from + (size_t)source * size, out, before[inner], in->dims[inner],
                    after[inner], value, size);
    }
}

// A short copy without a call where its length is one of the usual ones.
static inline void copy_bytes(void *to, const void *from, size_t bytes) {
    switch (bytes) {
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 16: memcpy(to, from, 16); break;
    default: memcpy(to, from, bytes); break;
    }
}

void concat_run(const void *const *in, const size_t *row_bytes, int n, void *out, int64_t first, int64_t last) {
    size_t width = 0, at = 0;
    for (int i = 0; i < n; i++)
        width += row_bytes[i];
    for (int i = 0; i < n; i++) {
        size_t bytes = row_bytes[i];
        for (int64_t row = first; row < last && bytes; row++)
            copy_bytes((char *)out + (size_t)row * width + at, (const char *)in[i] + (size_t)row * bytes, bytes);
        at += bytes;
    }
}

void split_run(const void *in, void *const *out, const size_t *row_bytes, int n, int64_t first, int64_t last) {
    size_t width = 0, at = 0;
    for (int i = 0; i < n; i++)
        width += row_bytes[i];
    for (int i = 0; i < n; i++) {
        size_t bytes = row_bytes[i];
        for (int64_t row = first; row < last && bytes && out[i]; row++)
            copy_bytes((char *)out[i] + (size_t)row * bytes, (const char *)in + (size_t)row * width + at, bytes);
        at += bytes;
    }
}

static inline int64_t index_at(const void *indices, DType index, int64_t i) {
    switch (index) {
    case DT_int32: return ((const int32_t *)indices)[i];
    case DT_uint8: return ((const uint8_t *)indices)[i];
    case DT_int8: return ((const int8_t *)indices)[i];
    case DT_int16: return ((const int16_t *)indices)[i];
    default: return ((const int64_t *)indices)[i];
    }
}

enum { LINE = 64 };

// Rows of a large table lie anywhere: the first lines of one are asked for while others are copied.
static inline void ask_for(const char *row, size_t bytes) {
    for (size_t i = 0; i < bytes && i < TUNED_PREFETCH_LINES * LINE; i += LINE)
        __builtin_prefetch(row + i);
}

int64_t gather_rows(const void *in, int64_t extent, size_t row_bytes, const void *indices, DType index, int64_t count,
                    void *out, int64_t first, int64_t last) {
    int64_t bad = -1;
    if (first >= last)
        return bad;
    int64_t place = first % count;
    const char *table = (const char *)in + (size_t)(first / count * extent) * row_bytes;
    char *to = (char *)out + (size_t)first * row_bytes;
    for (int64_t at = first; at < last; at++, to += row_bytes) {
        int64_t i = index_at(indices, index, place);
        if (row_bytes >= LINE && place + TUNED_PREFETCH_READ < count) {
            int64_t next = index_at(indices, index, place + TUNED_PREFETCH_READ);
            if (next >= 0 && next < extent)
                ask_for(table + (size_t)next * row_bytes, row_bytes);
        }
        if (i >= 0 && i < extent) {
            copy_bytes(to, table + (size_t)i * row_bytes, row_bytes);
        } else {
            bad = bad < 0 ? place : bad;
            memset(to, 0, row_bytes);
        }
        if (++place == count) {
            place = 0;
            table += (size_t)extent * row_bytes;
        }
    }
    return bad;
}

void one_hot_run(const void *indices, DType index, int64_t depth, int64_t inner, const void *on, const void *off,
                 size_t size, void *out, int64_t first, int64_t last) {
    char *block = (char *)out + (size_t)(first * depth * inner) * size;
    fill_run(off, size, block, (last - first) * depth * inner);
    for (int64_t o = first; o < last; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t d = index_at(indices, index, o * inner + i);
            if (d >= 0 && d < depth)
                memcpy((char *)out + (size_t)((o * depth + d) * inner + i) * size, on, size);
        }
}
