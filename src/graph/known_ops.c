// Known ops — see known_ops.h.
#include "graph/known_ops.h"

// The assembler reads the file; it looks along the compiler's -I folders.
__asm__(".pushsection .rodata\n"
        ".globl known_ops_first, known_ops_last\n"
        ".hidden known_ops_first, known_ops_last\n"
        "known_ops_first:\n"
        ".incbin \"graph/known_ops.sig\"\n"
        "known_ops_last:\n"
        ".byte 0\n"
        ".popsection\n");
__attribute__((visibility("hidden"))) extern const char known_ops_first[], known_ops_last[];

Str known_op_name(Str line) {
    const char *end = line.n && line.p[0] != '/' ? memchr(line.p, '(', line.n) : NULL;  // a comment has none
    return (Str){line.p, end ? (size_t)(end - line.p) : 0};
}

// The line that holds the byte at `p`.
static Str line_around(const char *p) {
    const char *first = p;
    while (first > known_ops_first && first[-1] != '\n')
        first--;
    const char *end = memchr(p, '\n', (size_t)(known_ops_last - p));
    return (Str){first, (size_t)((end ? end : known_ops_last) - first)};
}

bool known_op_find(Str name, Str *out_line) {
    const char *low = known_ops_first, *high = known_ops_last;  // whole lines
    while (low < high) {
        Str line = line_around(low + (high - low) / 2);
        int order = str_compare(name, known_op_name(line));
        if (order == 0 && name.n) {
            *out_line = line;
            return true;
        }
        if (order < 0)
            high = line.p;
        else
            low = line.p + line.n + 1;
    }
    return false;
}

bool known_op_next(size_t *at, Str *out_line) {
    size_t n = (size_t)(known_ops_last - known_ops_first);
    while (*at < n) {
        Str line = line_around(known_ops_first + *at);
        *at += line.n + 1;
        if (known_op_name(line).n) {
            *out_line = line;
            return true;
        }
    }
    return false;
}
