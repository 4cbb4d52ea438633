// Checks — assertions, printing, and other ops that say something about a value while it passes.
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "ops/op.h"
#include "tensor/literal.h"

// ---------------------------------------- Assert

typedef struct {
    int64_t shown;   // elements of each value; < 0: all
} ShowOwn;

static Status *show_prepare(Prepare *p) {
    ((ShowOwn *)p->own)->shown = node_int(p->node, "summarize");
    return OK;
}

// "[1 2 3...]": the first elements, as TensorFlow shows them.
static void show(Text *out, const Tensor *value, int64_t most) {
    int64_t count = tensor_count(value), n = most < 0 ? count : min_i64(count, most);
    text_char(out, '[');
    for (int64_t i = 0; i < n; i++) {
        Tensor element = *value;
        element.shape = SCALAR_SHAPE;
        element.data = (char *)value->data + (size_t)i * dtype_size(value->dtype);
        if (i)
            text_char(out, ' ');
        if (value->dtype == DT_string)
            text_add(out, tstring_str(element.data));
        else
            literal_print(out, &element, &(LiteralStyle){.untyped = true});
    }
    text_add(out, n < count ? STR("...]") : STR("]"));
}

static Status *assert_run(Kernel *k) {
    if (*(const bool *)k->in[0]->data)
        return OK;
    AUTO(text) Text text = {0};
    for (int i = 1; i < k->n_in; i++) {
        show(&text, k->in[i], ((const ShowOwn *)k->own)->shown);
        text_char(&text, ' ');
    }
    FAIL(INVALID_ARGUMENT, "assertion failed: %.*s", STR_ARGS(text_str(&text)));
}

const Op op_Assert = {
    .signature = "Assert(condition: bool, data: T); T: list(type) >= 1; summarize: int = 3; stateful",
    .doc = "Fails, showing the data, unless the condition is true.", .needs = "scalar(condition)", .shape = shape_none,
    .prepare = show_prepare, .own_size = sizeof(ShowOwn), .cpu = ANY_TYPE(assert_run), .flags = OP_NO_GRADIENT,
};

// A library does not end its program: the step fails instead.
static Status *abort_run(Kernel *k) {
    Str message = node_str(k->node, "error_msg");
    FAIL(ABORTED, "Abort_op intentional failure; %.*s", STR_ARGS(message));
}

const Op op_Abort = {
    .signature = "Abort(); error_msg: string = \"\"; exit_without_error: bool = false",
    .doc = "Fails whenever it runs.", .shape = shape_none, .cpu = ANY_TYPE(abort_run),
    .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

// ---------------------------------------- Print

typedef struct {
    _Atomic int64_t calls;
} PrintNode;

static Status *print_open(Opening *o) {
    (void)o;
    return OK;
}

static Status *print_run(Kernel *k) {
    PrintNode *state = k->state;
    int64_t first_n = node_int(k->node, "first_n");
    if (first_n >= 0 && state && atomic_fetch_add(&state->calls, 1) >= first_n)
        return OK;
    AUTO(text) Text text = {0};
    text_add(&text, node_str(k->node, "message"));
    for (int i = 1; i < k->n_in; i++)
        show(&text, k->in[i], ((const ShowOwn *)k->own)->shown);
    text_char(&text, '\n');
    NEED_MEMORY(!text.failed);
    fwrite(text.p, 1, text.n, stderr);
    return OK;
}

static Status *first_shape(Shapes *s) {
    s->out[0] = s->in[0];
    return OK;
}

static void print_grad(Formula *f) {
    f->dx[0] = f->dy[0];
}

const Op op_Print = {
    .signature = "Print(input: T, data: U) -> output: T; T: type; U: list(type) >= 0; message: string = \"\"; "
                 "first_n: int = -1; summarize: int = 3; stateful",
    .doc = "The input; shows the data on the standard error stream.", .shape = first_shape, .grad = print_grad,
    .prepare = show_prepare, .own_size = sizeof(ShowOwn), .open = print_open, .state_size = sizeof(PrintNode),
    .alias = BIT(0), .cpu = ANY_TYPE(print_run),
};

static Status *print_2_run(Kernel *k) {
    Str text = tstring_str(k->in[0]->data), end = node_str(k->node, "end");
    Str stream = node_str(k->node, "output_stream");
    if (str_starts(stream, STR("log("))) {
        LogLevel level = str_is(stream, "log(error)") ? LOG_ERROR : str_is(stream, "log(info)") ? LOG_INFO
            : LOG_WARNING;
        log_write(level, "%.*s", STR_ARGS(text));
        return OK;
    }
    bool file = str_starts(stream, STR("file://"));
    NEED(file || str_is(stream, "stdout") || str_is(stream, "stderr"), INVALID_ARGUMENT,
         "Unknown output stream: %.*s", STR_ARGS(stream));
    FILE *out = str_is(stream, "stdout") ? stdout : stderr;
    if (file) {
        AUTO(arena) Arena arena = {0};
        char *path = arena_copy(&arena, stream.p + 7, stream.n - 7);
        NEED_MEMORY(path);
        out = fopen(path, "ae");
        NEED(out, NOT_FOUND, "can't append to %s", path);
    }
    size_t put = fwrite(text.p, 1, text.n, out) + fwrite(end.p, 1, end.n, out);
    bool failed = file ? fclose(out) != 0 : fflush(out) != 0;
    NEED(!failed && put == text.n + end.n, DATA_LOSS, "can't write to %.*s", STR_ARGS(stream));
    return OK;
}

const Op op_PrintV2 = {
    .signature = "PrintV2(input: string); output_stream: string = \"stderr\"; end: string = \"\\n\"; stateful",
    .doc = "Writes a string to a standard stream, the log, or the end of a file.", .needs = "scalar(input)",
    .shape = shape_none, .cpu = ANY_TYPE(print_2_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- others

static Status *timestamp_run(Kernel *k) {
    *(double *)k->out[0]->data = (double)clock_wall() / 1e6;
    return OK;
}

const Op op_Timestamp = {
    .signature = "Timestamp() -> ts: double; stateful", .doc = "Seconds since 1970.", .shape = shape_scalar,
    .cpu = ANY_TYPE(timestamp_run), .flags = OP_NO_GRADIENT,
};

const Op op_GuaranteeConst = {
    .signature = "GuaranteeConst(input: T) -> output: T; T: type; stateful",
    .doc = "The input, which its user promises not to change.", .shape = shape_unchanged,
    .cpu = ANY_TYPE(kernel_nothing),
    .alias = BIT(0), .flags = OP_CHEAP | OP_NO_GRADIENT,
};
