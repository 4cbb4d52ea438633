// Curve — see curve.h.
#define _GNU_SOURCE
#include "curve.h"

#include <math.h>

#include "cli.h"

bool curve_add(Curve *curve, CurvePoint point) {
    if (curve->n == curve->room) {
        int room = curve->room ? 2 * curve->room : 256;
        CurvePoint *points = realloc(curve->points, (size_t)room * sizeof *points);
        if (!points) {
            fail("out of memory for the curve");
            return false;
        }
        *curve = (Curve){points, curve->n, room};
    }
    if (isfinite(point.loss) && isfinite(point.right))   // what diverged has no place
        curve->points[curve->n++] = point;
    return true;
}

void curve_clear(Curve *curve) {
    free(curve->points);
    *curve = (Curve){0};
}

// ---------------------------------------- what both pictures show

// One of the two numbers over all points, and its bounds.
typedef struct {
    const Curve *curve;
    const char *title;
    bool is_loss;
    double least, most, end;   // `end`: the last epoch
} Panel;

static double value_of(const Panel *panel, int i) {
    const CurvePoint *point = &panel->curve->points[i];
    return panel->is_loss ? point->loss : 100 * point->right;
}

static Panel panel_of(const Curve *curve, bool is_loss) {
    Panel panel = {curve, is_loss ? "loss" : "accuracy in %", is_loss, INFINITY, -INFINITY, 0};
    for (int i = 0; i < curve->n; i++) {
        panel.least = fmin(panel.least, value_of(&panel, i));
        panel.most = fmax(panel.most, value_of(&panel, i));
        panel.end = fmax(panel.end, curve->points[i].epoch);
    }
    if (panel.most - panel.least < 1e-9)
        panel.most = panel.least + 1e-9;
    return panel;
}

// From 0, on the left and at the bottom, to 1.
static double across(const Panel *panel, int i) {
    return panel->end > 0 ? panel->curve->points[i].epoch / panel->end : 0;
}

static double up(const Panel *panel, int i) {
    return (value_of(panel, i) - panel->least) / (panel->most - panel->least);
}

// ---------------------------------------- in the terminal

enum { ROWS = 8, MOST_COLUMNS = 160, LABEL = 8 };   // LABEL: columns in front of a panel

typedef struct {
    unsigned char dots[ROWS][MOST_COLUMNS];   // of Braille, two across and four down
    bool tested[ROWS][MOST_COLUMNS];
    int columns;
} Canvas;

static void put_dot(Canvas *canvas, double x, double y) {
    static const unsigned char BITS[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int column = (int)(x * (2 * canvas->columns - 1) + 0.5), row = (int)((1 - y) * (4 * ROWS - 1) + 0.5);
    canvas->dots[row / 4][column / 2] |= BITS[row % 4][column % 2];
}

// The line between neighbours, point by point, and the tested points.
static void fill_canvas(Canvas *canvas, const Panel *panel) {
    int before = -1;
    for (int i = 0; i < panel->curve->n; i++) {
        double x = across(panel, i), y = up(panel, i);
        if (panel->curve->points[i].tested) {
            canvas->tested[(int)((1 - y) * (ROWS - 1) + 0.5)][(int)(x * (canvas->columns - 1) + 0.5)] = true;
            continue;
        }
        enum { STEPS = 64 };
        for (int s = 0; s <= STEPS && before >= 0; s++)
            put_dot(canvas, across(panel, before) + (x - across(panel, before)) * s / STEPS,
                    up(panel, before) + (y - up(panel, before)) * s / STEPS);
        put_dot(canvas, x, y);
        before = i;
    }
}

static void print_cell(const Canvas *canvas, int row, int column, bool braille) {
    int dots = canvas->dots[row][column];
    if (canvas->tested[row][column])
        putchar('o');
    else if (dots && braille)   // U+2800 and the dots
        printf("\xe2%c%c", 0xa0 | dots >> 6, 0x80 | (dots & 0x3f));
    else
        putchar(dots ? '*' : ' ');
}

static void draw_panel(const Panel *panel, int columns, bool braille) {
    Canvas canvas = {.columns = columns};
    fill_canvas(&canvas, panel);
    printf("%*s%s\n", LABEL, "", panel->title);
    for (int row = 0; row < ROWS; row++) {
        int last = columns - 1;   // no blanks at the end of a line
        while (last >= 0 && !canvas.dots[row][last] && !canvas.tested[row][last])
            last--;
        if (row == 0 || row == ROWS - 1)
            printf("%*.*f |", LABEL - 2, panel->is_loss ? 3 : 1, row ? panel->least : panel->most);
        else
            printf("%*s |", LABEL - 2, "");
        for (int column = 0; column <= last; column++)
            print_cell(&canvas, row, column, braille);
        putchar('\n');
    }
    printf("%*s+", LABEL - 1, "");
    for (int column = 0; column < columns; column++)
        putchar('-');
    char end[40];
    snprintf(end, sizeof end, "epoch %.3g", panel->end);
    printf("\n%*s0%*s\n", LABEL, "", columns - 1, end);
}

void curve_draw(const Curve *curve) {
    int columns = text_width(stdout);
    columns = (columns > 72 ? 72 : columns) - LABEL;
    if (curve->n < 2)
        return;
    Panel loss = panel_of(curve, true), right = panel_of(curve, false);
    draw_panel(&loss, columns, has_terminal(stdout));
    draw_panel(&right, columns, has_terminal(stdout));
    print_text(stdout, LABEL, "%*s%s learned (running mean), o tested", LABEL, "", has_terminal(stdout) ? "⠒" : "*");
}

// ---------------------------------------- as SVG

enum { PANEL_WIDTH = 520, PANEL_HEIGHT = 180, LEFT = 60, TOP = 40, PANEL_STEP = 260 };

static void write_line(FILE *file, const Panel *panel, int top) {
    fprintf(file, "<polyline points=\"");
    const char *gap = "";
    for (int i = 0; i < panel->curve->n; i++) {
        if (panel->curve->points[i].tested)
            continue;
        fprintf(file, "%s%.1f,%.1f", gap, LEFT + PANEL_WIDTH * across(panel, i), top + PANEL_HEIGHT * (1 - up(panel, i)));
        gap = " ";
    }
    fprintf(file, "\" fill=\"none\" stroke=\"#1d4ed8\" stroke-width=\"1.4\"/>\n");
    for (int i = 0; i < panel->curve->n; i++)
        if (panel->curve->points[i].tested)
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#c2410c\"/>\n", LEFT + PANEL_WIDTH * across(panel, i),
                    top + PANEL_HEIGHT * (1 - up(panel, i)));
}

static void write_panel(FILE *file, const Panel *panel, int top) {
    int places = panel->is_loss ? 3 : 1, bottom = top + PANEL_HEIGHT;
    fprintf(file, "<text x=\"%d\" y=\"%d\">%s</text>\n", LEFT, top - 12, panel->title);
    fprintf(file, "<path d=\"M%d,%dV%dH%d\" fill=\"none\" stroke=\"#888\"/>\n", LEFT, top, bottom, LEFT + PANEL_WIDTH);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.*f</text>\n", LEFT - 6, top + 4, places, panel->most);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.*f</text>\n", LEFT - 6, bottom + 4, places, panel->least);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">0</text>\n", LEFT, bottom + 18);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">epoch %.3g</text>\n", LEFT + PANEL_WIDTH, bottom + 18,
            panel->end);
    write_line(file, panel, top);
}

bool curve_save(const Curve *curve, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return fail("out of memory for the curve") == EXIT_DONE;
    fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 540\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"600\" height=\"540\" fill=\"white\"/>\n");
    for (int i = 0; i < 2 && curve->n; i++) {
        Panel panel = panel_of(curve, i == 0);
        write_panel(file, &panel, TOP + i * PANEL_STEP);
    }
    fprintf(file, "<text x=\"%d\" y=\"530\" fill=\"#1d4ed8\">learned (running mean)</text>\n"
                  "<text x=\"%d\" y=\"530\" fill=\"#c2410c\">tested</text>\n</svg>\n", LEFT, LEFT + 180);
    bool done = fclose(file) == 0 && write_file(path, text, size);
    free(text);
    return done;
}
