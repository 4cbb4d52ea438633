// Profile — see profile.h.
//
// Fields by their numbers. RunMetadata: statistics 1. StepStats: devices 1. DeviceStepStats: device 1, nodes 2.
// NodeExecStats: name 1, outputs 7, label 8, thread 10, start 13, end after the start 16 (both ns). NodeOutput:
// description 3; of it allocation 4; of that bytes 1.
#include "profile.h"

#include <errno.h>

#include "cli.h"
#include "wire.h"

// In quotes. Names of nodes hold letters, digits and _.-/> alone.
static void write_text(FILE *file, Bytes text) {
    putc('"', file);
    for (const unsigned char *c = text.at; c < text.end; c++) {
        if (*c == '"' || *c == '\\')
            putc('\\', file);
        if (*c >= ' ')
            putc(*c, file);
    }
    putc('"', file);
}

// "name = Op(inputs)"
static Bytes op_of(Bytes label) {
    Bytes op = label;
    while (op.at < op.end && *op.at++ != '=')
        continue;
    op.at += op.at < op.end;
    const unsigned char *end = op.at;
    while (end < op.end && *end != '(')
        end++;
    return (Bytes){op.at, end};
}

static void write_event(FILE *file, Bytes node, int device, int64_t began) {
    Bytes label = wire_find(node, 8), output = wire_find(wire_find(wire_find(node, 7), 3), 4);
    int64_t start = (int64_t)wire_integer(node, 13, 0) - began;
    fprintf(file, ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %llu, \"ts\": %.3f, \"dur\": %.3f, \"name\": ", device,
            (unsigned long long)wire_integer(node, 10, 0), (double)start * 1e-3,
            (double)wire_integer(node, 16, 0) * 1e-3);
    write_text(file, op_of(label));
    fprintf(file, ", \"args\": {\"node\": ");
    write_text(file, wire_find(node, 1));
    fprintf(file, ", \"call\": ");
    write_text(file, label);
    fprintf(file, ", \"bytes\": %llu}}", (unsigned long long)wire_integer(output, 1, 0));
}

static int64_t first_start(Bytes devices) {
    int64_t first = INT64_MAX;
    for (Field device; wire_next(&devices, &device);)
        for (Field node; device.number == 1 && wire_next(&device.bytes, &node);) {
            int64_t start = node.number == 2 ? (int64_t)wire_integer(node.bytes, 13, 0) : INT64_MAX;
            first = start < first ? start : first;
        }
    return first;
}

static void write_all(FILE *file, Bytes devices) {
    int64_t began = first_start(devices);
    fprintf(file, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    int n = 0;
    for (Field device; wire_next(&devices, &device);) {
        if (device.number != 1)
            continue;
        fprintf(file, "%s\n{\"ph\": \"M\", \"pid\": %d, \"name\": \"process_name\", \"args\": {\"name\": ", n ? "," : "", n);
        write_text(file, wire_find(device.bytes, 1));
        fprintf(file, "}}");
        for (Field node; wire_next(&device.bytes, &node);)
            if (node.number == 2)
                write_event(file, node.bytes, n, began);
        n++;
    }
    fprintf(file, "\n]}\n");
}

bool profile_write(const char *path, const TF_Buffer *metadata) {
    const unsigned char *data = metadata->data;
    FILE *file = fopen(path, "w");
    if (!file) {
        fail("%s: %s", path, strerror(errno));
        return false;
    }
    write_all(file, wire_find((Bytes){data, data + metadata->length}, 1));
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    if (!written)
        fail("%s: %s", path, strerror(errno));
    return written;
}
