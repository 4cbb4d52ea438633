// StringFormat — tensors put into a text as TensorFlow shows them: the edges of each dimension, a row on a line.
#include <locale.h>
#include <stdio.h>

#include "base/number.h"
#include "ops/string/strings.h"
#include "tensor/literal.h"

typedef struct {
    Str template_text, placeholder;
    int64_t shown;    // at each end of a dimension; < 0: all
} FormatOwn;

static Status *format_prepare(Prepare *p) {
    FormatOwn *own = p->own;
    *own = (FormatOwn){node_str(p->node, "template"), node_str(p->node, "placeholder"), node_int(p->node, "summarize")};
    NEED(own->placeholder.n, INVALID_ARGUMENT, "an empty placeholder");
    int64_t places = 0;
    for (Str rest = own->template_text; rest.n;) {
        bool here = str_starts(rest, own->placeholder);
        size_t step = here ? own->placeholder.n : 1;
        places += here;
        rest = (Str){rest.p + step, rest.n - step};
    }
    NEED(places == p->n_in, INVALID_ARGUMENT,
         "num placeholders in template and num inputs must match: %lld vs. %d", (long long)places, p->n_in);
    return OK;
}

// As few digits as come back, of two numbers of digits.
static void add_real(Text *out, double value, bool wide) {
    char text[40];
    double back = 0;
    snprintf(text, sizeof text, "%.*g", wide ? 15 : 6, value);
    const char *point = localeconv()->decimal_point;
    char *at = *point && !point[1] ? strchr(text, *point) : NULL;
    if (at)
        *at = '.';
    bool same = str_to_double(str_of(text), &back) && (wide ? back == value : (float)back == (float)value);
    if (!same && value == value) {
        snprintf(text, sizeof text, "%.*g", wide ? 17 : 9, value);
        at = *point && !point[1] ? strchr(text, *point) : NULL;
        if (at)
            *at = '.';
    }
    text_add(out, str_of(text));
}

static void add_element(Text *out, const Tensor *t, int64_t i) {
    Tensor element = *t;
    element.shape = SCALAR_SHAPE;
    element.data = (char *)t->data + (size_t)i * dtype_size(t->dtype);
    switch (t->dtype) {
    case DT_float: add_real(out, *(const float *)element.data, false); break;
    case DT_double: add_real(out, *(const double *)element.data, true); break;
    case DT_half: add_real(out, half_to_float(*(const Half *)element.data), false); break;
    case DT_bfloat16: add_real(out, bfloat16_to_float(*(const Bfloat16 *)element.data), false); break;
    case DT_bool: text_char(out, *(const bool *)element.data ? '1' : '0'); break;
    case DT_string:
        text_char(out, '"');
        text_add(out, string_at(t, i));
        text_char(out, '"');
        break;
    default: literal_print(out, &element, &(LiteralStyle){.untyped = true});
    }
}

// What lies between two parts of dimension `d`: a space, or a line for each dimension inside, and the brackets' indent.
static void add_gap(Text *out, int d, int rank) {
    if (d == rank - 1) {
        text_char(out, ' ');
        return;
    }
    for (int i = d; i < rank - 1; i++)
        text_char(out, '\n');
    for (int i = 0; i <= d; i++)
        text_char(out, ' ');
}

// Elements from `first` on, of dimension d and those inside. At most MAX_RANK deep.
static void add_part(Text *out, const Tensor *t, int d, int64_t first, int64_t shown) {
    if (d == t->shape.rank) {
        add_element(out, t, first);
        return;
    }
    int64_t n = t->shape.dims[d], step = shape_span(&t->shape, d + 1, t->shape.rank);
    bool cut = shown >= 0 && n - shown > shown;
    text_char(out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i)
            add_gap(out, d, t->shape.rank);
        if (cut && i == shown) {
            text_add(out, STR("..."));
            i = n - shown - 1;
            continue;
        }
        add_part(out, t, d + 1, first + i * step, shown);
    }
    text_char(out, ']');
}

static Status *format_run(Kernel *k) {
    const FormatOwn *own = k->own;
    AUTO(text) Text text = {0};
    int next = 0;
    for (Str rest = own->template_text; rest.n;) {
        bool here = next < k->n_in && str_starts(rest, own->placeholder);
        size_t step = here ? own->placeholder.n : 1;
        if (here)
            add_part(&text, k->in[next++], 0, 0, own->shown);
        else
            text_char(&text, rest.p[0]);
        rest = (Str){rest.p + step, rest.n - step};
    }
    return string_put_text(k->out[0], 0, &text);
}

static Status *format_shape(Shapes *s) {
    Str text = node_str(s->node, "template"), placeholder = node_str(s->node, "placeholder");
    int places = 0;
    for (Str rest = text; rest.n && placeholder.n;) {
        bool here = str_starts(rest, placeholder);
        size_t step = here ? placeholder.n : 1;
        places += here;
        rest = (Str){rest.p + step, rest.n - step};
    }
    NEED(places == s->n_in, INVALID_ARGUMENT, "num placeholders in template and num inputs must match: %d vs. %d",
         places, s->n_in);
    return shape_scalar(s);
}

const Op op_StringFormat = {
    .signature = "StringFormat(inputs: T) -> output: string; T: list(type) >= 0; template: string = \"%s\"; "
                 "placeholder: string = \"%s\"; summarize: int = 3",
    .doc = "The template with each placeholder replaced by a tensor as text.", .shape = format_shape,
    .prepare = format_prepare, .own_size = sizeof(FormatOwn), .cpu = ANY_TYPE(format_run), .flags = OP_NO_GRADIENT,
};
