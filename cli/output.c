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

// Two rows of pixels share one line of characters: the upper half block has the upper pixel's colour.
static void draw_shades(const unsigned char *pixels, int height, int width) {
    for (int y = 0; y < height; y += 2) {
        for (int x = 0; x < width; x++) {
            int upper = pixels[y * width + x], lower = y + 1 < height ? pixels[(y + 1) * width + x] : 0;
            printf("\033[38;5;%d;48;5;%dm▀", 232 + upper * 23 / 255, 232 + lower * 23 / 255);
        }
        printf("\033[0m\n");
    }
}

static void draw_letters(const unsigned char *pixels, int height, int width) {
    static const char SHADES[] = " .:-=+*#%@";
    for (int y = 0; y < height; y += 2) {
        for (int x = 0; x < width; x++) {
            int upper = pixels[y * width + x], lower = y + 1 < height ? pixels[(y + 1) * width + x] : upper;
            putchar(SHADES[(upper + lower) * 9 / 510]);
        }
        putchar('\n');
    }
}

void draw_image(const unsigned char *pixels, int height, int width) {
    if (has_terminal(stdout))
        draw_shades(pixels, height, width);
    else
        draw_letters(pixels, height, width);
}
