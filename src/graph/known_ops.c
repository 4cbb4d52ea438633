// Known ops — see known_ops.h: the signatures of TensorFlow's ops that have no kernel here, so that any graph imports.
//
// One line of text an op, sorted by name, compressed in the library and unpacked at the first question. Lines are views
// into that text, which stays as long as the process.
#include "graph/known_ops.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <zlib.h>

// The assembler reads the file that the build has packed, and another as it is; it looks along the compiler's -I
// folders.
__asm__(".pushsection .rodata\n"
        ".globl known_ops_packed, known_ops_packed_end\n"
        ".hidden known_ops_packed, known_ops_packed_end\n"
        "known_ops_packed:\n"
        ".incbin \"known_ops.sig.gz\"\n"
        "known_ops_packed_end:\n"
        ".byte 0\n"
        ".globl known_rules, known_rules_end\n"
        ".hidden known_rules, known_rules_end\n"
        "known_rules:\n"
        ".incbin \"graph/construction.rules\"\n"
        "known_rules_end:\n"
        ".byte 0\n"
        ".popsection\n");
__attribute__((visibility("hidden"))) extern const char known_ops_packed[], known_ops_packed_end[];
__attribute__((visibility("hidden"))) extern const char known_rules[], known_rules_end[];

// Its first four bytes are the length of the text behind them. Made once, kept as long as the process: lines are views.
static _Atomic(char *) unpacked;

static char *unpack(void) {
    size_t packed = (size_t)(known_ops_packed_end - known_ops_packed);
    uint32_t n;
    memcpy(&n, known_ops_packed + packed - sizeof n, sizeof n);  // gzip says it at the end
    char *bytes = malloc(sizeof n + n);
    if (!bytes)
        return NULL;
    memcpy(bytes, &n, sizeof n);
    z_stream stream = {.next_in = (Bytef *)known_ops_packed, .avail_in = (uInt)packed,
                       .next_out = (Bytef *)bytes + sizeof n, .avail_out = n};
    int result = inflateInit2(&stream, 16 + MAX_WBITS);  // the form of gzip
    if (result == Z_OK) {
        result = inflate(&stream, Z_FINISH);
        inflateEnd(&stream);
    }
    if (result == Z_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

bool known_ops_read(void) {
    if (atomic_load_explicit(&unpacked, memory_order_acquire))
        return true;
    char *none = NULL, *bytes = unpack();
    if (bytes && !atomic_compare_exchange_strong(&unpacked, &none, bytes))
        free(bytes);  // another thread was faster
    return bytes != NULL;
}

static Str known_text(void) {
    if (!known_ops_read())
        return (Str){"", 0};
    const char *bytes = atomic_load_explicit(&unpacked, memory_order_acquire);
    uint32_t n;
    memcpy(&n, bytes, sizeof n);
    return (Str){bytes + sizeof n, n};
}

Str known_op_name(Str line) {
    size_t n = 0;
    while (n < line.n && line.p[n] != '(' && line.p[n] != ':' && line.p[n] != '/')  // a comment has none
        n++;
    return (Str){line.p, n < line.n ? n : 0};
}

// The line of the text that holds the byte at `p`.
static Str line_around(Str text, const char *p) {
    const char *first = p, *last = text.p + text.n;
    while (first > text.p && first[-1] != '\n')
        first--;
    const char *end = memchr(p, '\n', (size_t)(last - p));
    return (Str){first, (size_t)((end ? end : last) - first)};
}

// Without the rule that stands behind it.
static Str signature_in(Str line) {
    for (size_t i = 0; i + 4 < line.n; i++)
        if (line.p[i + 1] == '=' && memcmp(line.p + i, " => ", 4) == 0)
            return (Str){line.p, i};
    return line;
}

Str known_op_rule(Str signature) {
    Str text = known_text();
    const char *at = signature.p + signature.n, *last = text.p + text.n;
    const char *end = last - at > 4 && memcmp(at, " => ", 4) == 0 ? memchr(at, '\n', (size_t)(last - at)) : NULL;
    return end ? (Str){at + 4, (size_t)(end - at - 4)} : (Str){0};
}

// Lines are sorted by their names.
static bool line_find(Str text, Str name, Str *out) {
    const char *low = text.p, *high = text.p + text.n;  // whole lines
    while (low < high && name.n) {
        Str line = line_around(text, low + (high - low) / 2);
        int order = str_compare(name, known_op_name(line));
        if (order == 0) {
            *out = line;
            return true;
        }
        if (order < 0)
            high = line.p;
        else
            low = line.p + line.n + 1;
    }
    return false;
}

bool known_op_find(Str name, Str *out_line) {
    Str line;
    bool found = line_find(known_text(), name, &line);
    if (found)
        *out_line = signature_in(line);
    return found;
}

Str construction_rule(Str name) {
    Str line, text = {known_rules, (size_t)(known_rules_end - known_rules)};
    return line_find(text, name, &line) ? (Str){line.p + name.n + 1, line.n - name.n - 1} : (Str){0};
}

bool known_op_next(size_t *at, Str *out_line) {
    Str text = known_text();
    while (*at < text.n) {
        Str line = line_around(text, text.p + *at);
        *at += line.n + 1;
        if (known_op_name(line).n) {
            *out_line = signature_in(line);
            return true;
        }
    }
    return false;
}
