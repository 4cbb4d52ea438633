// Text — lines for people, broken between words at the width of the terminal.
#define _GNU_SOURCE
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

enum { PLAIN_WIDTH = 80, LEAST_WIDTH = 20, TERM_COLUMN = 26, NARROW = 60 };

int columns_of(FILE *file) {
    const char *given = getenv("COLUMNS");
    char *end = NULL;
    long columns = given ? strtol(given, &end, 10) : 0;
    if (given && end != given && !*end && columns > 0 && columns < INT_MAX)
        return (int)columns;
    struct winsize size = {0};
    if (!isatty(fileno(file)))
        return 0;
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : PLAIN_WIDTH;
}

int text_width(FILE *file) {
    int columns = columns_of(file);
    return !columns ? PLAIN_WIDTH : columns < LEAST_WIDTH ? LEAST_WIDTH : columns;
}

int letters(const char *text, size_t n) {
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;   // of UTF-8 the first bytes
    return count;
}

static size_t blanks(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && text[i] == ' ')
        i++;
    return i;
}

static size_t word(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && text[i] != ' ' && text[i] != '\n')
        i++;
    return i;
}

// Blanks are kept within a line and dropped where it is broken; a word that is too long for any line stays whole.
static void wrap(FILE *out, const char *text, size_t n, int at, int indent, int width) {
    bool empty = at <= indent, broken = false;   // nothing in this line yet; it is a further one
    for (const char *end = text + n; text < end;) {
        size_t gap = blanks(text, (size_t)(end - text)), length = word(text + gap, (size_t)(end - text) - gap);
        bool line_ends = text + gap < end && !length;
        if (line_ends || (length && !empty && at + (int)gap + letters(text + gap, length) > width)) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            empty = broken = true;
        }
        if (length) {
            at += broken && empty ? 0 : fprintf(out, "%*s", (int)gap, "");
            fwrite(text + gap, 1, length, out);
            at += letters(text + gap, length);
            empty = false;
        }
        text += gap + length + line_ends;
    }
    fputc('\n', out);
}

void print_wrapped(FILE *out, const char *text, size_t n, int at, int indent) {
    wrap(out, text, n, at, indent, text_width(out));
}

void print_text_list(FILE *out, int indent, const char *format, va_list args) {
    char *text = NULL;
    int n = vasprintf(&text, format, args), columns = columns_of(out);
    if (n < 0)
        return;
    wrap(out, text, (size_t)n, 0, indent, !columns ? INT_MAX : text_width(out));
    free(text);
}

void print_text(FILE *out, int indent, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_text_list(out, indent, format, args);
    va_end(args);
}

void print_item(FILE *out, const char *term, const char *text, size_t n) {
    int column = text_width(out) < NARROW ? 8 : TERM_COLUMN, at = fprintf(out, "  %s", term);
    if (at + 2 > column) {
        fprintf(out, "\n%*s", column, "");
        at = column;
    } else {
        at += fprintf(out, "%*s", column - at, "");
    }
    print_wrapped(out, text, n, at, column);
}
