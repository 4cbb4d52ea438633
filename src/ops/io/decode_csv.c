// DecodeCSV — records of fields between delimiters (RFC 4180) as one tensor for each column.
#include "base/number.h"
#include "base/vec.h"
#include "ops/string/strings.h"

typedef struct {
    char delimiter;
    bool quotes;
    Str missing;                 // what stands for a field that isn't there, beside the empty one
    const AttrValue *columns;    // those that are wanted, ascending; empty: all
} CsvOwn;

static Status *csv_prepare(Prepare *p) {
    CsvOwn *own = p->own;
    Str delimiter = node_str(p->node, "field_delim");
    NEED(delimiter.n == 1, INVALID_ARGUMENT, "field_delim should be only 1 char");
    own->delimiter = *delimiter.p;
    own->quotes = node_bool(p->node, "use_quote_delim");
    own->missing = node_str(p->node, "na_value");
    own->columns = node_list(p->node, "select_cols");
    NEED(!own->columns->n || own->columns->n == p->n_out, INVALID_ARGUMENT, "select_cols should match output size");
    for (int i = 0; i < own->columns->n; i++) {
        NEED(own->columns->is[i] >= 0, INVALID_ARGUMENT, "select_cols should be non-negative indices");
        NEED(!i || own->columns->is[i - 1] < own->columns->is[i], INVALID_ARGUMENT,
             "select_cols should be strictly increasing indices");
    }
    return OK;
}

static Status *csv_shape(Shapes *s) {
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = s->in[0];
    return OK;
}

// ---------------------------------------- fields

typedef struct {
    const CsvOwn *own;
    Str record;
    size_t at;
    Text plain;                  // of a quoted field in which quotes stand
} CsvWalk;

static Status *plain_field(CsvWalk *w, Str *out) {
    const char *p = w->record.p;
    size_t first = w->at;
    for (; w->at < w->record.n && p[w->at] != w->own->delimiter; w->at++)
        NEED((!w->own->quotes || p[w->at] != '"') && p[w->at] != '\n' && p[w->at] != '\r', INVALID_ARGUMENT,
             "Unquoted fields cannot have quotes/CRLFs inside");
    *out = (Str){p + first, w->at - first};
    w->at++;
    return OK;
}

// Ends with a quote in front of a delimiter or at the end; inside, two quotes stand for one.
static Status *quoted_field(CsvWalk *w, Str *out) {
    const char *p = w->record.p;
    size_t last = w->record.n - 1, first = w->at;
    bool is_whole = true;
    w->plain.n = 0;
    while (w->at < last && (p[w->at] != '"' || p[w->at + 1] != w->own->delimiter)) {
        if (p[w->at] != '"') {
            w->at++;
            continue;
        }
        NEED(p[w->at + 1] == '"', INVALID_ARGUMENT, "Quote inside a string has to be escaped by another quote");
        text_add(&w->plain, (Str){p + first, w->at + 1 - first});
        w->at += 2;
        first = w->at;
        is_whole = false;
    }
    NEED(w->at <= last && p[w->at] == '"' && (w->at == last || p[w->at + 1] == w->own->delimiter), INVALID_ARGUMENT,
         "Quoted field has to end with quote followed by delim or end");
    *out = (Str){p + first, w->at - first};
    if (!is_whole) {
        text_add(&w->plain, *out);
        NEED_MEMORY(!w->plain.failed);
        *out = text_str(&w->plain);
    }
    w->at += 2;
    return OK;
}

// The next field, if there is one; newlines in front of it are passed over.
static Status *next_field(CsvWalk *w, Str *out, bool *out_found) {
    while (w->at < w->record.n && (w->record.p[w->at] == '\n' || w->record.p[w->at] == '\r'))
        w->at++;
    *out_found = w->at < w->record.n;
    if (!*out_found) {
        // Behind a delimiter at the end is one more, and that is empty.
        *out_found = w->record.n && w->at == w->record.n && w->record.p[w->at - 1] == w->own->delimiter;
        w->at++;
        *out = (Str){"", 0};
        return OK;
    }
    if (!w->own->quotes || w->record.p[w->at] != '"')
        return plain_field(w, out);
    w->at++;
    return quoted_field(w, out);
}

// ---------------------------------------- values

static Str trimmed(Str s) {
    while (s.n && (*s.p == ' ' || (*s.p >= '\t' && *s.p <= '\r')))
        s = (Str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
        s.n--;
    return s;
}

static bool to_int(Str s, int64_t *out) {
    s = trimmed(s);
    if (s.n > 1 && *s.p == '+' && s.p[1] != '-' && s.p[1] != '+')
        s = (Str){s.p + 1, s.n - 1};
    return str_to_int(s, out);
}

// False where the text is no value of the type.
static bool set_value(const Tensor *out, int64_t i, Str field) {
    int64_t whole;
    switch (out->dtype) {
    case DT_int32:
        if (!to_int(field, &whole) || whole < INT32_MIN || whole > INT32_MAX)
            return false;
        ((int32_t *)out->data)[i] = (int32_t)whole;
        return true;
    case DT_int64: return to_int(field, (int64_t *)out->data + i);
    case DT_float: return str_to_float(trimmed(field), (float *)out->data + i);
    case DT_double: return str_to_double(trimmed(field), (double *)out->data + i);
    default: return tstring_assign((TString *)out->data + i, field);
    }
}

static Status *put_field(Kernel *k, int column, int64_t row, Str field) {
    const Tensor *out = k->out[column], *fallback = k->in[1 + column];
    const CsvOwn *own = k->own;
    if (field.n && !str_equal(field, own->missing)) {
        NEED(set_value(out, row, field), INVALID_ARGUMENT, "Field %d in record %lld is not a valid %s: %.*s", column,
             (long long)row, dtype_name(out->dtype), STR_ARGS(field));
        return OK;
    }
    NEED(tensor_count(fallback), INVALID_ARGUMENT, "Field %d is required but missing in record %lld!", column,
         (long long)row);
    size_t size = dtype_size(out->dtype);
    if (out->dtype == DT_string)
        return string_put(out, row, string_at(fallback, 0));
    memcpy((char *)out->data + (size_t)row * size, fallback->data, size);
    return OK;
}

static Status *decode_record(Kernel *k, CsvWalk *w, int64_t row) {
    const AttrValue *columns = w->own->columns;
    int n = 0;
    bool found = w->record.n > 0;
    for (int64_t at = 0; found; at++) {
        Str field;
        TRY(next_field(w, &field, &found));
        if (!found)
            break;
        if (columns->n && columns->is[n] != at)
            continue;
        if (n < k->n_out)
            TRY(put_field(k, n, row, field));
        n++;
        if (n == columns->n)
            break;
    }
    NEED(n == k->n_out, INVALID_ARGUMENT, "Expect %d fields but have %d in record %lld", k->n_out, n, (long long)row);
    return OK;
}

typedef struct {
    Kernel *k;
    int64_t rows, parts;
    Status **status;             // of each part
} CsvWork;

static void decode_parts(void *arg, int64_t first, int64_t last) {
    CsvWork *work = arg;
    for (int64_t part = first; part < last; part++) {
        CsvWalk w = {.own = work->k->own};
        int64_t end = work->rows * (part + 1) / work->parts;
        for (int64_t row = work->rows * part / work->parts; row < end && !work->status[part]; row++) {
            w.record = string_at(work->k->in[0], row);
            w.at = 0;
            work->status[part] = decode_record(work->k, &w, row);
        }
        text_clear(&w.plain);
    }
}

static Status *csv_run(Kernel *k) {
    enum { PARTS_MOST = 32, LEAST = 64, FIELD_NS = 40 };
    for (int i = 0; i < k->n_out; i++) {
        const Shape *shape = &k->in[1 + i]->shape;
        NEED(shape->rank <= 1, INVALID_ARGUMENT, "Each record default should be at most rank 1");
        NEED(shape_count(shape) < 2, INVALID_ARGUMENT, "There should only be 1 default per field but field %d has %lld",
             i, (long long)shape_count(shape));
    }
    Status *status[PARTS_MOST] = {0}, *first = OK;
    CsvWork work = {k, tensor_count(k->in[0]), 0, status};
    work.parts = max_i64(1, min_i64(PARTS_MOST, work.rows / LEAST));
    kernel_parallel(k, work.parts, work.rows * k->n_out * FIELD_NS / work.parts + 1, decode_parts, &work);
    for (int64_t i = 0; i < work.parts; i++) {
        if (first)
            status_free(status[i]);
        else
            first = status[i];
    }
    return first;
}

const Op op_DecodeCSV = {
    .signature = "DecodeCSV(records: string, record_defaults: OUT_TYPE) -> output: OUT_TYPE; "
                 "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: string = \",\"; "
                 "use_quote_delim: bool = true; na_value: string = \"\"; select_cols: list(int) = []",
    .doc = "The columns of CSV records; a default without elements says that the column must not be empty.",
    .shape = csv_shape, .prepare = csv_prepare, .own_size = sizeof(CsvOwn), .cpu = ANY_TYPE(csv_run),
    .flags = OP_NO_GRADIENT,
};
