// TimeTable — see time_table.h. Fields by their numbers, as in profile.c.
#include "time_table.h"

#include <errno.h>

#include "cli.h"
#include "wire.h"

// ---------------------------------------- gathering

// The row of that name, made where there is none; NULL after a message.
static TimeRow *row_of(TimeTable *table, const char *name) {
    for (int i = 0; i < table->n; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    if (table->n == table->room) {
        int room = table->room ? table->room * 2 : 64;
        TimeRow *rows = realloc(table->rows, (size_t)room * sizeof *rows);
        if (!rows) {
            fail("out of memory");
            return NULL;
        }
        table->rows = rows;
        table->room = room;
    }
    TimeRow *row = &table->rows[table->n++];
    *row = (TimeRow){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

// "name = Op(inputs)"
static void op_of(Bytes label, char *out, size_t room) {
    char text[512];
    wire_text(label, text, sizeof text);
    const char *equals = strstr(text, " = ");
    const char *op = equals ? equals + 3 : text;
    snprintf(out, room, "%.*s", (int)strcspn(op, "("), op);
}

static void layer_of(Bytes name, int depth, char *out, size_t room) {
    char text[512];
    wire_text(name, text, sizeof text);
    char *end = strrchr(text, '/');
    if (!end) {
        snprintf(out, room, "(top)");
        return;
    }
    *end = 0;
    char *at = text;
    for (int i = 0; i < depth && at; i++)
        at = strchr(at + (i > 0), '/');
    if (depth && at)
        *at = 0;
    snprintf(out, room, "%.*s", (int)room - 1, text);
}

static double bytes_of(Bytes node) {
    double bytes = 0;
    for (Field output; wire_next(&node, &output);)
        if (output.number == 7)
            bytes += (double)wire_integer(wire_find(wire_find(output.bytes, 3), 4), 1, 0);
    return bytes;
}

static bool add_node(TimeReport *report, Bytes node, int depth) {
    char op[128], layer[128];
    double seconds = (double)wire_integer(node, 16, 0) * 1e-9, bytes = bytes_of(node);
    op_of(wire_find(node, 8), op, sizeof op);
    layer_of(wire_find(node, 1), depth, layer, sizeof layer);
    TimeRow *rows[] = {row_of(&report->ops, op), row_of(&report->layers, layer)};
    for (int i = 0; i < 2; i++) {
        if (!rows[i])
            return false;
        rows[i]->seconds += seconds;
        rows[i]->bytes += bytes;
        rows[i]->calls++;
    }
    report->busy += seconds;
    return true;
}

bool time_report_add(TimeReport *report, const TF_Buffer *metadata, int depth) {
    const unsigned char *data = metadata->data;
    Bytes devices = wire_find((Bytes){data, data + metadata->length}, 1);
    report->runs++;
    for (Field device; wire_next(&devices, &device);)
        for (Field node; device.number == 1 && wire_next(&device.bytes, &node);)
            if (node.number == 2 && !add_node(report, node.bytes, depth))
                return false;
    return true;
}

static int by_time(const void *a, const void *b) {
    double x = ((const TimeRow *)a)->seconds, y = ((const TimeRow *)b)->seconds;
    return (x < y) - (x > y);
}

void time_report_sort(TimeReport *report) {
    if (report->ops.n)
        qsort(report->ops.rows, (size_t)report->ops.n, sizeof(TimeRow), by_time);
    if (report->layers.n)
        qsort(report->layers.rows, (size_t)report->layers.n, sizeof(TimeRow), by_time);
}

void time_report_clear(TimeReport *report) {
    free(report->ops.rows);
    free(report->layers.rows);
    *report = (TimeReport){0};
}

// ---------------------------------------- as text

static double share_of(const TimeReport *report, const TimeRow *row) {
    return report->busy > 0 ? row->seconds / report->busy * 100 : 0;
}

static double rate_of(const TimeRow *row) {
    return row->seconds > 0 ? row->bytes / row->seconds : 0;
}

static void print_table(const TimeReport *report, const TimeTable *table, const char *head, const Roofline *roof, int most) {
    printf("\n%9s  %6s  %9s  %10s  %9s  %5s  %s\n", "ms a run", "share", "calls", "given", "GB/s", "roof", head);
    for (int i = 0; i < table->n && i < most; i++) {
        const TimeRow *row = &table->rows[i];
        printf("%9.4f  %5.1f%%  %9.1f  %10s  %9.2f  %4.0f%%  %s\n", row->seconds / report->runs * 1e3, share_of(report, row),
               (double)row->calls / report->runs, human_bytes(row->bytes / report->runs), rate_of(row) * 1e-9,
               roof->bytes > 0 ? rate_of(row) / roof->bytes * 100 : 0, row->name);
    }
    if (table->n > most)
        printf("%9s  and %d more\n", "", table->n - most);
}

void time_report_print(const TimeReport *report, const Roofline *roof, int most) {
    print_text(stdout, 2, "%d runs of %.3f ms; kernels take %.3f ms of each, on all threads together", report->runs,
               report->seconds / report->runs * 1e3, report->busy / report->runs * 1e3);
    print_text(stdout, 2, "this machine at best: %.1f GB/s from memory, %.1f GFLOP/s in a product of floats",
               roof->bytes * 1e-9, roof->flops * 1e-9);
    print_table(report, &report->ops, "op", roof, most);
    print_table(report, &report->layers, "layer", roof, most);
}

static void json_table(const TimeReport *report, const TimeTable *table) {
    printf("[");
    for (int i = 0; i < table->n; i++) {
        const TimeRow *row = &table->rows[i];
        printf("%s{\"name\": ", i ? ", " : "");
        print_json_text(row->name);
        printf(", \"ms\": %.6f, \"share\": %.3f, \"calls\": %.2f, \"bytes\": %.0f}", row->seconds / report->runs * 1e3,
               share_of(report, row), (double)row->calls / report->runs, row->bytes / report->runs);
    }
    printf("]");
}

void time_report_json(const TimeReport *report, const Roofline *roof) {
    printf("{\"runs\": %d, \"run_ms\": %.6f, \"kernels_ms\": %.6f, \"bytes_per_second\": %.4g, \"flops\": %.4g, \"ops\": ",
           report->runs, report->seconds / report->runs * 1e3, report->busy / report->runs * 1e3, roof->bytes, roof->flops);
    json_table(report, &report->ops);
    printf(", \"layers\": ");
    json_table(report, &report->layers);
    printf("}\n");
}

// ---------------------------------------- as a picture

enum { BARS = 14, LINE = 20, WIDE = 900, NAMES = 300, TOP = 64 };

static void svg_text(FILE *file, double x, double y, const char *anchor, const char *text) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", file);
        else
            putc(*text, file);
    fputs("</text>\n", file);
}

static void svg_bars(FILE *file, const TimeReport *report, const TimeTable *table, const char *head, double top) {
    double most = table->n ? table->rows[0].seconds : 1;
    svg_text(file, NAMES, top, "end", head);
    for (int i = 0; i < table->n && i < BARS; i++) {
        const TimeRow *row = &table->rows[i];
        double y = top + (i + 1) * LINE, width = most > 0 ? row->seconds / most * (WIDE - NAMES - 190) : 0;
        char text[160];
        svg_text(file, NAMES, y, "end", row->name);
        fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"#4477aa\"/>\n", NAMES + 8, y - 12, width,
                LINE - 5);
        snprintf(text, sizeof text, "%.3f ms, %.1f %%, %.1f GB/s", row->seconds / report->runs * 1e3, share_of(report, row),
                 rate_of(row) * 1e-9);
        svg_text(file, NAMES + 14 + width, y, "start", text);
    }
}

static int bars_of(const TimeTable *table) {
    return table->n < BARS ? table->n : BARS;
}

bool time_report_svg(const TimeReport *report, const Roofline *roof, const char *title, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) {
        fail("%s: %s", path, strerror(errno));
        return false;
    }
    double middle = TOP + (bars_of(&report->ops) + 2) * LINE, height = middle + (bars_of(&report->layers) + 1) * LINE;
    char text[256];
    fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" font-family=\"sans-serif\" "
                  "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", WIDE, height);
    snprintf(text, sizeof text, "%.120s: %.3f ms a run", title, report->seconds / report->runs * 1e3);
    svg_text(file, 16, 22, "start", text);
    snprintf(text, sizeof text, "this machine at best: %.1f GB/s, %.1f GFLOP/s", roof->bytes * 1e-9, roof->flops * 1e-9);
    svg_text(file, 16, 40, "start", text);
    svg_bars(file, report, &report->ops, "op", TOP);
    svg_bars(file, report, &report->layers, "layer", middle);
    fputs("</svg>\n", file);
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    if (!written)
        fail("%s: %s", path, strerror(errno));
    return written;
}
