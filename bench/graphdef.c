// GraphDef — see graphdef.h. Field numbers are those of graph.proto, node_def.proto, attr_value.proto, tensor.proto.
#include "graphdef.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { VARINT = 0, LENGTH = 2, FIXED32 = 5 };

static void put(Bytes *b, const void *data, size_t n) {
    if (b->size + n > b->room) {
        b->room = (b->size + n) * 2;
        b->data = realloc(b->data, b->room);
        if (!b->data)
            exit(2);
    }
    if (n)
        memcpy(b->data + b->size, data, n);
    b->size += n;
}

static void put_varint(Bytes *b, uint64_t value) {
    unsigned char byte[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        byte[n++] = (unsigned char)(value | 128);
    byte[n++] = (unsigned char)value;
    put(b, byte, n);
}

static void put_number(Bytes *b, unsigned field, int64_t value) {
    put_varint(b, field << 3 | VARINT);
    put_varint(b, (uint64_t)value);
}

static void put_part(Bytes *b, unsigned field, const void *data, size_t n) {
    put_varint(b, field << 3 | LENGTH);
    put_varint(b, n);
    put(b, data, n);
}

static void put_taken(Bytes *b, unsigned field, Bytes *part) {
    put_part(b, field, part->data, part->size);
    free(part->data);
    *part = (Bytes){0};
}

static void put_dim(Bytes *shape, int64_t size) {
    Bytes dim = {0};
    put_number(&dim, 1, size);
    put_taken(shape, 2, &dim);
}

static void put_attribute(GraphDef *g, const char *name, size_t n, Bytes *value) {
    Bytes entry = {0};
    put_part(&entry, 1, name, n);
    put_taken(&entry, 2, value);
    put_taken(&g->node, 5, &entry);
}

static int dtype_of(const char *word, size_t n) {
    static const struct {
        const char *name;
        int dtype;
    } all[] = {{"float", TF_FLOAT}, {"int32", TF_INT32}, {"int64", TF_INT64}, {"bool", TF_BOOL},
               {"resource", TF_RESOURCE}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strlen(all[i].name) == n && !memcmp(all[i].name, word, n))
            return all[i].dtype;
    fprintf(stderr, "bench: no type %.*s\n", (int)n, word);
    exit(2);
}

static void write_numbers(Bytes *value, const char *word, bool shape) {
    Bytes list = {0};
    for (const char *p = word + 1; *p && *p != ']' && *p != '>';) {
        char *end = (char *)p + strcspn(p, ",]>");
        int64_t number = isalpha((unsigned char)*p) ? dtype_of(p, (size_t)(end - p)) : strtoll(p, NULL, 10);
        if (isalpha((unsigned char)*p))
            put_number(&list, 6, number);
        else if (shape)
            put_dim(&list, number);
        else
            put_number(&list, 3, number);
        p = *end == ',' ? end + 1 : end;
    }
    put_taken(value, shape ? 7 : 1, &list);
}

static void write_value(Bytes *value, const char *word, size_t n) {
    if (*word == '\'')
        put_part(value, 2, word + 1, n - 2);
    else if (*word == '[' || *word == '<')
        write_numbers(value, word, *word == '<');
    else if (!strncmp(word, "true", 4) || !strncmp(word, "false", 5))
        put_number(value, 5, *word == 't');
    else if ((isdigit((unsigned char)*word) || *word == '-') && memchr(word, '.', n)) {
        float number = strtof(word, NULL);
        put_varint(value, 4 << 3 | FIXED32);
        put(value, &number, 4);
    } else if (isdigit((unsigned char)*word) || *word == '-')
        put_number(value, 3, strtoll(word, NULL, 10));
    else
        put_number(value, 6, dtype_of(word, n));
}

static void finish_node(GraphDef *g) {
    if (g->node.size)
        put_taken(&g->bytes, 1, &g->node);
}

static void begin_node(GraphDef *g, const char *name, const char *op) {
    finish_node(g);
    put_part(&g->node, 1, name, strlen(name));
    put_part(&g->node, 2, op, strlen(op));
}

void node(GraphDef *g, const char *name, const char *op, const char *inputs, const char *attributes) {
    begin_node(g, name, op);
    for (const char *p = inputs; *p;) {
        size_t n = strcspn(p, " ");
        put_part(&g->node, 3, p, n);
        p += n + strspn(p + n, " ");
    }
    for (const char *p = attributes; *p;) {
        size_t key = strcspn(p, "=");
        const char *word = p + key + 1;
        size_t n = strcspn(word, " ");
        Bytes value = {0};
        write_value(&value, word, n);
        put_attribute(g, p, key, &value);
        p = word + n + strspn(word + n, " ");
    }
}

void node_printed(GraphDef *g, const char *op, const char *attributes, const char *name_and_inputs, ...) {
    char text[512];
    va_list args;
    va_start(args, name_and_inputs);
    vsnprintf(text, sizeof text, name_and_inputs, args);
    va_end(args);
    char *bar = strchr(text, '|');
    if (bar)
        *bar = 0;
    node(g, text, op, bar ? bar + 1 : "", attributes);
}

void node_const(GraphDef *g, const char *name, int dtype, int rank, const int64_t *dims, const void *data,
                size_t bytes) {
    begin_node(g, name, "Const");
    Bytes shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < rank; i++)
        put_dim(&shape, dims[i]);
    put_number(&tensor, 1, dtype);
    put_taken(&tensor, 2, &shape);
    put_part(&tensor, 4, data, bytes);
    put_number(&type, 6, dtype);
    put_taken(&value, 8, &tensor);
    put_attribute(g, "dtype", 5, &type);
    put_attribute(g, "value", 5, &value);
}

void node_float(GraphDef *g, const char *name, float value) {
    node_const(g, name, TF_FLOAT, 0, NULL, &value, sizeof value);
}

void node_int32(GraphDef *g, const char *name, int32_t value) {
    node_const(g, name, TF_INT32, 0, NULL, &value, sizeof value);
}

void node_weights(GraphDef *g, const char *name, int rank, const int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    float *data = malloc(count * sizeof *data);
    if (!data)
        exit(2);
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = ((float)(state >> 8) / (float)(1 << 24) - 0.5f) * 0.2f;
    }
    node_const(g, name, TF_FLOAT, rank, dims, data, count * sizeof *data);
    free(data);
}

bool graphdef_read(GraphDef *g, const char *file) {
    const char *folder = getenv("BENCH_GRAPHS");
    char path[4096], part[65536];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", file);
    FILE *in = fopen(path, "rbe");
    if (!in)
        return false;
    for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;)
        put(&g->bytes, part, n);
    fclose(in);
    g->whole = true;
    return true;
}

void graphdef_finish(GraphDef *g) {
    if (g->whole)
        return;
    finish_node(g);
    Bytes versions = {0};
    put_number(&versions, 1, 1000);    // producer: recent enough for every op's present meaning
    put_taken(&g->bytes, 4, &versions);
}

void graphdef_clear(GraphDef *g) {
    free(g->bytes.data);
    free(g->node.data);
    *g = (GraphDef){0};
}
