// TimeTable — where the time and the bytes of traced runs went, by op and by layer: as text, JSON and SVG.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"

typedef struct {
    char name[128];
    double seconds, bytes;   // bytes: of what it gave
    int64_t calls;
} TimeRow;

typedef struct {
    TimeRow *rows;
    int n, room;
} TimeTable;

// What this machine does at best, by the library itself: bytes read from memory, floating-point operations, a second.
typedef struct {
    double bytes, flops;
} Roofline;

typedef struct {
    TimeTable ops, layers;   // a layer is the scope of a name: what stands before its last /
    double seconds, busy;    // of all runs as the caller saw them, and of all nodes together
    int runs;
} TimeReport;

// Adds the nodes of a RunMetadata; false after a message. A layer's name ends behind `depth` words; 0: it is whole.
bool time_report_add(TimeReport *report, const TF_Buffer *metadata, int depth);
void time_report_sort(TimeReport *report);
void time_report_clear(TimeReport *report);
void time_report_print(const TimeReport *report, const Roofline *roof, int most);
void time_report_json(const TimeReport *report, const Roofline *roof);
bool time_report_svg(const TimeReport *report, const Roofline *roof, const char *title, const char *path);
// Runs a product and a sum, 0.2 seconds; false after a message.
bool roofline_measure(int threads, Roofline *out);
