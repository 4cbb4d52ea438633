// Curve — how loss and accuracy went during a training: drawn in the terminal, and as SVG.
#pragma once
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    double epoch, loss, right;
    bool tested;               // on what is not learned; else running means of what is
} CurvePoint;

typedef struct {
    CurvePoint *points;
    int n, room;
} Curve;

bool curve_add(Curve *curve, CurvePoint point);   // false after a message
void curve_clear(Curve *curve);
// Two panels, as wide as the terminal, 72 columns at most: dots of Braille in a terminal, stars elsewhere; an o for what
// was tested. Nothing for less than two points.
void curve_draw(const Curve *curve);
bool curve_save(const Curve *curve, const char *path);   // as SVG; false after a message
