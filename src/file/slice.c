// Slice — see slice.h: parts of tensors in checkpoints, by a start and a length in each dimension, and copies between
// parts that overlap.
#include "file/slice.h"

#include "base/checked.h"

// ---- text

static Str next_part(Str *rest, char separator) {
    const char *at = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
    Str part = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    *rest = at ? (Str){at + 1, rest->n - part.n - 1} : (Str){0};
    return part;
}

static bool parse_extent(Str part, int64_t *start, int64_t *length) {
    if (str_is(part, "-")) {
        *start = 0;
        *length = SLICE_ALL;
        return true;
    }
    Str first = next_part(&part, ',');
    return str_to_int(first, start) && str_to_int(part, length) && *start >= 0 && *length > 0;
}

#define BAD_SLICE(text) \
    FAIL(INVALID_ARGUMENT, "'%.*s' is not a shape and a slice, such as \"4 5 0,2:-\"", STR_ARGS(text))

Status *slice_parse(Str text, Shape *out_whole, Slice *out) {
    int64_t dims[MAX_RANK];
    int rank = 0;
    Str rest = text;
    while (rest.n && memchr(rest.p, ' ', rest.n)) {
        Str part = next_part(&rest, ' ');
        if (rank == MAX_RANK || !str_to_int(part, &dims[rank]) || dims[rank] < 0)
            BAD_SLICE(text);
        rank++;
    }
    Slice slice = {.rank = 0};
    while (rest.n) {
        Str part = next_part(&rest, ':');
        if (slice.rank == rank || !parse_extent(part, &slice.start[slice.rank], &slice.length[slice.rank]))
            BAD_SLICE(text);
        slice.rank++;
    }
    if (slice.rank != rank || rank == 0)
        BAD_SLICE(text);
    Shape whole, own;
    TRY(shape_make(dims, rank, &whole));
    TRY(slice_shape(&slice, &whole, &own));
    *out_whole = whole;
    *out = slice;
    return OK;
}

// ---- geometry

Slice slice_whole(int rank) {
    Slice slice = {.rank = rank};
    for (int i = 0; i < rank; i++)
        slice.length[i] = SLICE_ALL;
    return slice;
}

Status *slice_resolve(const Slice *slice, const Shape *whole, Slice *out) {
    NEED(slice->rank == whole->rank, INVALID_ARGUMENT, "a slice of %d dimensions of a tensor of shape %s", slice->rank,
         shape_text(whole));
    Slice result = *slice;
    for (int i = 0; i < slice->rank; i++) {
        if (slice->length[i] == SLICE_ALL) {
            NEED(slice->start[i] == 0, INVALID_ARGUMENT, "a whole dimension begins at %lld",
                 (long long)slice->start[i]);
            result.length[i] = whole->dims[i];
        }
        NEED(result.start[i] >= 0 && result.length[i] >= 0 && result.start[i] <= whole->dims[i] &&
                 result.length[i] <= whole->dims[i] - result.start[i],
             INVALID_ARGUMENT, "slice [%lld, +%lld) does not lie in dimension %d of shape %s",
             (long long)result.start[i], (long long)result.length[i], i, shape_text(whole));
    }
    *out = result;
    return OK;
}

Status *slice_shape(const Slice *slice, const Shape *whole, Shape *out) {
    Slice resolved;
    TRY(slice_resolve(slice, whole, &resolved));
    return shape_make(resolved.length, resolved.rank, out);
}

// The element of `slice`'s tensor that lies at `place` of the whole.
static int64_t index_in(const Slice *slice, const int64_t *place) {
    int64_t index = 0;
    for (int i = 0; i < slice->rank; i++)
        index = index * slice->length[i] + place[i] - slice->start[i];
    return index;
}

static Status *copy_run(const Tensor *from, int64_t first, const Tensor *to, int64_t at, int64_t n) {
    size_t size = dtype_size(from->dtype);
    Tensor source = *from, target = *to;
    source.data = (char *)from->data + (size_t)first * size;
    target.data = (char *)to->data + (size_t)at * size;
    source.shape = target.shape = SHAPE(n);
    return tensor_copy_elements(&source, &target);
}

Status *slice_copy(const Slice *from_at, const Tensor *from, const Slice *to_at, const Tensor *to,
                   int64_t *out_count) {
    int rank = to_at->rank;
    int64_t first[MAX_RANK + 1] = {0}, end[MAX_RANK + 1], place[MAX_RANK + 1], count = 1;
    for (int i = 0; i < rank; i++) {
        first[i] = max_i64(from_at->start[i], to_at->start[i]);
        end[i] = min_i64(from_at->start[i] + from_at->length[i], to_at->start[i] + to_at->length[i]);
        count *= max_i64(end[i] - first[i], 0);
        place[i] = first[i];
    }
    *out_count = count;
    int64_t run = rank && count ? end[rank - 1] - first[rank - 1] : 1;
    for (int64_t done = 0; done < count; done += run) {
        TRY(copy_run(from, index_in(from_at, place), to, index_in(to_at, place), run));
        for (int i = rank - 2; i >= 0 && ++place[i] == end[i]; i--)
            place[i] = first[i];
    }
    return OK;
}

// ---- keys

// A number as its count of bytes and those, the greatest first: bytewise order is the numbers' order.
static void add_number(Text *out, uint64_t value) {
    int bytes = 0;
    while (bytes < 8 && value >> (8 * bytes))
        bytes++;
    text_char(out, (char)bytes);
    while (bytes--)
        text_char(out, (char)(value >> (8 * bytes)));
}

// 00 and ff are written as pairs, so that the end, 00 01, stands for itself.
static void add_string(Text *out, Str s) {
    for (size_t i = 0; i < s.n; i++) {
        text_char(out, s.p[i]);
        if (s.p[i] == 0)
            text_char(out, (char)0xff);
        else if ((unsigned char)s.p[i] == 0xff)
            text_char(out, 0);
    }
    text_char(out, 0);
    text_char(out, 1);
}

// Seven bits a byte; as many leading one bits (of the value with its sign, inverted for negative ones) as there are
// bytes.
static void add_signed(Text *out, int64_t value) {
    uint64_t size = value < 0 ? ~(uint64_t)value : (uint64_t)value;
    int bits = size ? 64 - __builtin_clzll(size) : 0, bytes = bits / 7 + 1;
    unsigned char buffer[10];
    for (int i = 0; i < 10; i++)
        buffer[9 - i] = (unsigned char)(i < 8 ? (uint64_t)value >> (8 * i) : value < 0 ? 0xff : 0);
    unsigned char *begin = buffer + 10 - bytes;
    unsigned header = 0xffffu << (16 - bytes);  // `bytes` ones, from the top of two bytes
    begin[0] ^= (unsigned char)(header >> 8);
    if (bytes > 1)
        begin[1] ^= (unsigned char)header;
    text_add(out, (Str){(const char *)begin, (size_t)bytes});
}

void slice_key(Str name, const Slice *slice, Text *out) {
    add_number(out, 0);
    add_string(out, name);
    add_number(out, (uint64_t)slice->rank);
    for (int i = 0; i < slice->rank; i++) {
        add_signed(out, slice->start[i]);
        add_signed(out, slice->length[i]);
    }
}
