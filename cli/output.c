// Output — JSON text, tensors, sizes for people, pictures in a terminal.
#include <math.h>
#include <unistd.h>

#include "cli.h"

bool has_terminal(FILE *file) {
    const char *term = getenv("TERM");
    return isatty(fileno(file)) && term && strcmp(term, "dumb") != 0;
}

void print_json_text(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

void print_json_number(double value, int places) {
    if (isfinite(value))
        printf("%.*f", places, value);
    else
        printf("\"%s\"", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

void print_tensor(const TF_Tensor *tensor, int style) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *text = TF_NewBuffer();
    mr_tensor_print(tensor, style, text, status);
    if (good(status, "printing a tensor"))
        fwrite(text->data, 1, text->length, stdout);
    TF_DeleteBuffer(text);
    TF_DeleteStatus(status);
}

const char *human_bytes(double bytes) {
    static char texts[8][32];
    static int next;
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char *text = texts[next++ % 8];
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, sizeof texts[0], unit ? "%.1f %s" : "%.0f %s", bytes, UNITS[unit]);
    return text;
}

// ---------------------------------------- pictures

typedef struct {
    const unsigned char *pixels;
    int height, width, side;   // a character stands for `side` pixels in a row, and 2 x `side` rows
} Picture;

// The mean of a square of pixels, in units of `side`; 0 below the picture.
static int shade(const Picture *p, int row, int column) {
    int sum = 0, n = 0;
    for (int y = row * p->side; y < (row + 1) * p->side && y < p->height; y++)
        for (int x = column * p->side; x < (column + 1) * p->side && x < p->width; x++, n++)
            sum += p->pixels[y * p->width + x];
    return n ? sum / n : 0;
}

// The upper half block has the upper pixels' colour, what is behind it the lower ones'.
static void draw_shades(const Picture *p, int line, int columns) {
    for (int x = 0; x < columns; x++)
        printf("\033[38;5;%d;48;5;%dm▀", 232 + shade(p, 2 * line, x) * 23 / 255, 232 + shade(p, 2 * line + 1, x) * 23 / 255);
    printf("\033[0m");
}

static void draw_letters(const Picture *p, int line, int columns) {
    static const char SHADES[] = " .:-=+*#%@";
    bool last = (2 * line + 1) * p->side >= p->height;
    for (int x = 0; x < columns; x++) {
        int upper = shade(p, 2 * line, x), lower = last ? upper : shade(p, 2 * line + 1, x);
        putchar(SHADES[(upper + lower) * 9 / 510]);
    }
}

static int pixels_per_letter(int width) {
    int room = text_width(stdout);
    return (width + room - 1) / room;
}

int drawn_width(int width) {
    int side = pixels_per_letter(width);
    return (width + side - 1) / side;
}

void draw_images(const unsigned char *const *pictures, int n, int height, int width, int cell) {
    int side = pixels_per_letter(width), columns = drawn_width(width);
    bool colours = has_terminal(stdout);
    for (int line = 0; line * 2 * side < height; line++) {
        for (int i = 0; i < n; i++) {
            Picture picture = {pictures[i], height, width, side};
            (colours ? draw_shades : draw_letters)(&picture, line, columns);
            if (i + 1 < n)
                printf("%*s", cell - columns, "");
        }
        putchar('\n');
    }
}
