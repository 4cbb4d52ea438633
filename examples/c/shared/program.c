// Program — see program.h.
#define _GNU_SOURCE
#include "program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void quit(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void check(TF_Status *status) {
    if (TF_GetCode(status) != TF_OK)
        quit("%s", TF_Message(status));
}

const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strncmp(argv[i], "--", 2) && !strcmp(argv[i] + 2, name))
            return argv[i + 1];
    return otherwise;
}

double option_number(int argc, char **argv, const char *name, double otherwise) {
    const char *text = option(argc, argv, name, NULL);
    char *end = NULL;
    double value = text ? strtod(text, &end) : otherwise;
    if (text && (end == text || *end))
        quit("--%s takes a number, not '%s'", name, text);
    return value;
}

enum { WIDTH = 80, TEXT_COLUMN = 18 };

// The words of a text behind what stands at column `at` already.
static void print_words(const char *text, int at, int indent) {
    for (size_t n, first = 1; *text; text += n + (text[n] == ' '), first = 0) {
        n = strcspn(text, " ");
        if (!first && at + 1 + (int)n > WIDTH)
            at = printf("\n%*s%.*s", indent, "", (int)n, text) - 1;
        else
            at += printf("%s%.*s", first ? "" : " ", (int)n, text);
    }
    printf("\n");
}

static void print_help(const char *program, const char *about, const Option *options) {
    printf("usage: %s%s\n\n", program, options->name ? " [--OPTION VALUE ...]" : "");
    print_words(about, 0, 0);
    printf("\n");
    for (const Option *o = options; o->name; o++) {
        int n = printf("  --%s %s", o->name, o->value);
        n += printf("%*s", n < TEXT_COLUMN ? TEXT_COLUMN - n : 2, "");
        print_words(o->text, n, TEXT_COLUMN);
    }
}

void check_options(int argc, char **argv, const char *about, const Option *options) {
    const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0];
    for (int i = 1; i < argc; i += 2) {
        const Option *option = options;
        if (!strcmp(argv[i], "--help")) {
            print_help(program, about, options);
            exit(output_written());
        }
        while (option->name && (strncmp(argv[i], "--", 2) != 0 || strcmp(argv[i] + 2, option->name) != 0))
            option++;
        if (option->name && i + 1 < argc)
            continue;
        fprintf(stderr, "%s: %s%s%s\nTry: %s --help\n", program, argv[i], option->name ? " lacks its value, " : " is no option",
                option->name ? option->value : "", program);
        exit(2);
    }
}

double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ConfigProto: intra_op_parallelism_threads is field 2, inter_op_parallelism_threads field 5.
TF_Session *session_new(TF_Graph *graph, int threads) {
    TF_Status *status = TF_NewStatus();
    TF_SessionOptions *options = TF_NewSessionOptions();
    unsigned char config[] = {0x10, (unsigned char)threads, 0x28, (unsigned char)threads};
    if (threads > 0 && threads < 128)
        TF_SetConfig(options, config, sizeof config, status);
    check(status);
    TF_Session *session = TF_NewSession(graph, options, status);
    check(status);
    TF_DeleteSessionOptions(options);
    TF_DeleteStatus(status);
    return session;
}

void session_delete(TF_Session *session) {
    TF_Status *status = TF_NewStatus();
    TF_DeleteSession(session, status);
    TF_DeleteStatus(status);
}

void session_step(TF_Session *session, const TF_Output *feeds, TF_Tensor *const *values, int n,
                  const TF_Output *fetches, double *numbers, int n_fetches, const TF_Operation *target) {
    TF_Tensor *results[8] = {NULL};
    TF_Status *status = TF_NewStatus();
    TF_SessionRun(session, NULL, feeds, values, n, fetches, results, n_fetches, &target, target != NULL, NULL, status);
    check(status);
    for (int i = 0; i < n_fetches; i++) {
        numbers[i] = *(const float *)TF_TensorData(results[i]);
        TF_DeleteTensor(results[i]);
    }
    TF_DeleteStatus(status);
}

TF_Tensor *session_fetch(TF_Session *session, const TF_Output *feeds, TF_Tensor *const *values, int n,
                         TF_Output fetch) {
    TF_Tensor *result = NULL;
    TF_Status *status = TF_NewStatus();
    TF_SessionRun(session, NULL, feeds, values, n, &fetch, &result, 1, NULL, 0, NULL, status);
    check(status);
    TF_DeleteStatus(status);
    return result;
}

TF_Tensor *tensor_of(TF_DataType dtype, int rank, const int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    TF_Tensor *tensor = TF_AllocateTensor(dtype, dims, rank, count * TF_DataTypeSize(dtype));
    if (!tensor)
        quit("no memory for a tensor of %zu elements", count);
    return tensor;
}

void file_save(const char *path, const void *data, size_t length) {
    FILE *file = fopen(path, "wbe");
    if (!file || fwrite(data, 1, length, file) != length)
        quit("%s: can't be written", path);
    file_close(file, path);
}

void file_close(FILE *file, const char *path) {
    bool failed = file && ferror(file);
    if (file && (fclose(file) || failed))
        quit("%s: can't be written", path);
}

int output_written(void) {
    if (fflush(stdout) || ferror(stdout))
        quit("what was to be told can't be written");
    return 0;
}

void graph_save(TF_Graph *graph, const char *path) {
    TF_Status *status = TF_NewStatus();
    TF_Buffer *bytes = TF_NewBuffer();
    TF_GraphToGraphDef(graph, bytes, status);
    check(status);
    file_save(path, bytes->data, bytes->length);
    TF_DeleteBuffer(bytes);
    TF_DeleteStatus(status);
}
