// Einsum — sums of products of one or two tensors by labelled dimensions: "bij,bjk->bik".
//
// A composed op: diagonals, sums, transposes and one BatchMatMulV2. Labels are letters; the dimensions of an ellipsis
// get labels of their own, numbers counted from its right end, so that they broadcast as NumPy does. Labels of both
// inputs and the output are batches, those of both inputs alone are summed, the rest are rows and columns. So its
// gradient is an einsum, too.
#include "ops/op.h"

// Of one operand: each of its dimensions has one.
enum { MOST_LABELS = MAX_RANK };

typedef struct {
    int n;
    char label[MOST_LABELS + 1];
    int ellipsis;               // where it is among the labels; -1: none
    int dots;                   // dimensions that it stands for
} Labels;

typedef struct {
    Labels in[2], out;
    int n_in;
} Equation;

static int find(const Labels *labels, char label) {
    for (int i = 0; i < labels->n; i++)
        if (labels->label[i] == label)
            return i;
    return -1;
}

static bool has(const Labels *labels, char label) {
    return find(labels, label) >= 0;
}

static void add(Labels *labels, char label) {
    labels->label[labels->n++] = label;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Labels of one operand of `rank` dimensions; of the output, whose ellipsis has `dots`, with rank -1.
static Status *read_labels(Str text, int rank, int dots, Labels *out) {
    int letters = 0;
    bool ellipsis = false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '.') {
            NEED(!ellipsis && i + 2 < text.n && text.p[i + 1] == '.' && text.p[i + 2] == '.', INVALID_ARGUMENT,
                 "an ellipsis is three dots, once: '%.*s'", STR_ARGS(text));
            ellipsis = true;
            i += 2;
        } else if (text.p[i] != ' ') {
            NEED(is_letter(text.p[i]), INVALID_ARGUMENT, "labels must be letters, got '%c'", text.p[i]);
            letters++;
        }
    }
    if (rank >= 0)
        dots = rank - letters;
    NEED(dots >= 0 && (ellipsis || dots == 0 || rank < 0), INVALID_ARGUMENT,
         "Expected input with rank %s%d for '%.*s' but got rank %d", ellipsis ? "at least " : "", letters,
         STR_ARGS(text), rank);
    dots = ellipsis ? dots : 0;
    NEED(letters + dots <= MOST_LABELS, INVALID_ARGUMENT, "at most %d dimensions", MOST_LABELS);
    *out = (Labels){.ellipsis = -1, .dots = dots};
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '.') {
            out->ellipsis = out->n;
            for (int d = dots; d > 0; d--)
                add(out, (char)d);
            i += 2;
        } else if (text.p[i] != ' ') {
            add(out, text.p[i]);
        }
    }
    return OK;
}

static Str part(Str text, size_t from, size_t to) {
    return (Str){text.p + from, to - from};
}

// False in *known where an input's rank isn't known and its labels don't tell.
static Status *read_equation(Str text, const Shape *const *in, int n_in, Equation *out, bool *known) {
    size_t arrow = 0, comma = text.n;
    int arrows = 0, wanted = 1;
    for (size_t i = 0; i + 1 < text.n; i++)
        if (text.p[i] == '-' && text.p[i + 1] == '>') {
            arrow = i;
            arrows++;
        }
    NEED(arrows == 1, INVALID_ARGUMENT, "Expecting exactly one '->' in einsum equation: %.*s", STR_ARGS(text));
    for (size_t i = 0; i < arrow; i++)
        if (text.p[i] == ',') {
            comma = comma < i ? comma : i;
            wanted++;
        }
    NEED(wanted <= 2, INVALID_ARGUMENT, "Expecting 1 or 2 input subscripts in equation '%.*s' but got: %d",
         STR_ARGS(text), wanted);
    NEED(wanted == n_in, INVALID_ARGUMENT, "Expected %d inputs but got: %d", wanted, n_in);
    *out = (Equation){.n_in = n_in};
    Str texts[2] = {part(text, 0, n_in == 2 ? comma : arrow), n_in == 2 ? part(text, comma + 1, arrow) : STR("")};
    int dots = 0;
    *known = true;
    for (int i = 0; i < n_in; i++) {
        *known &= in[i]->rank >= 0 || !memchr(texts[i].p, '.', texts[i].n);
        TRY(read_labels(texts[i], in[i]->rank, 0, &out->in[i]));
        dots = out->in[i].dots > dots ? out->in[i].dots : dots;
    }
    TRY(read_labels(part(text, arrow + 2, text.n), -1, dots, &out->out));
    for (int i = 0; i < out->out.n; i++) {
        char label = out->out.label[i];
        NEED(has(&out->in[0], label) || (n_in == 2 && has(&out->in[1], label)), INVALID_ARGUMENT,
             "Einsum output '%.*s' has a label that is in no input", STR_ARGS(text));
        NEED(find(&out->out, label) == i, UNIMPLEMENTED, "a label of the output that is repeated: %.*s",
             STR_ARGS(text));
    }
    return OK;
}

static Status *einsum_shape(Shapes *s) {
    Equation e;
    bool known;
    const Shape *in[2] = {&s->in[0], &s->in[s->n_in - 1]};
    TRY(read_equation(node_str(s->node, "equation"), in, s->n_in, &e, &known));
    if (!known)
        return OK;
    int64_t extents[128];
    for (int i = 0; i < 128; i++)
        extents[i] = UNKNOWN_DIM;
    for (int i = 0; i < s->n_in; i++)
        for (int d = 0; d < e.in[i].n && s->in[i].rank >= 0; d++) {
            int64_t *extent = &extents[(int)e.in[i].label[d]], found = s->in[i].dims[d];
            bool dot = e.in[i].label[d] <= MOST_LABELS;
            if (found < 0 || (dot && *extent >= 0 && found == 1))
                continue;
            NEED(*extent < 0 || *extent == found || (dot && *extent == 1), INVALID_ARGUMENT,
                 "Expected dimension %lld at axis %d of the input shaped %s but got dimension %lld", (long long)*extent,
                 d, shape_text(&s->in[i]), (long long)found);
            *extent = found;
        }
    s->out[0] = (Shape){.rank = e.out.n};
    for (int d = 0; d < e.out.n; d++)
        s->out[0].dims[d] = extents[(int)e.out.label[d]];
    return shape_check(&s->out[0]);
}

// ---------------------------------------- what it stands for

static Output axes_of(Formula *f, const int64_t *axes, int n) {
    return formula_ints(f, axes, n, DT_int32);
}

// Repeated labels become one: their dimensions are brought to the end, and the diagonal is taken.
static Output without_repeats(Formula *f, Output x, Labels *labels) {
    for (int i = 0; i < labels->n; i++)
        for (int j = i + 1; j < labels->n; j++) {
            if (labels->label[i] != labels->label[j])
                continue;
            int64_t perm[MOST_LABELS];
            Labels rest = {.ellipsis = -1};
            for (int d = 0; d < labels->n; d++)
                if (d != i && d != j) {
                    perm[rest.n] = d;
                    add(&rest, labels->label[d]);
                }
            perm[rest.n] = i;
            perm[rest.n + 1] = j;
            x = MatrixDiagPart(Transpose(x, axes_of(f, perm, labels->n)));
            add(&rest, labels->label[i]);
            *labels = rest;
            return without_repeats(f, x, labels);
        }
    return x;
}

// Labels that nobody else wants are summed away.
static Output summed(Formula *f, Output x, Labels *labels, const Labels *other, const Labels *out) {
    int64_t axes[MOST_LABELS];
    int n = 0;
    Labels rest = {.ellipsis = -1};
    for (int d = 0; d < labels->n; d++) {
        if (has(out, labels->label[d]) || (other && has(other, labels->label[d])))
            add(&rest, labels->label[d]);
        else
            axes[n++] = d;
    }
    *labels = rest;
    return n ? Sum(x, axes_of(f, axes, n), false) : x;
}

static Output arranged(Formula *f, Output x, const Labels *from, const Labels *to) {
    int64_t perm[MOST_LABELS];
    bool moves = false;
    for (int d = 0; d < to->n; d++) {
        perm[d] = find(from, to->label[d]);
        moves |= perm[d] != d;
    }
    return moves ? Transpose(x, axes_of(f, perm, to->n)) : x;
}

static void append(Labels *to, const Labels *more) {
    for (int i = 0; i < more->n; i++)
        add(to, more->label[i]);
}

static Output some_of(Formula *f, Output shape, int from, int n) {
    return Slice(shape, Ints(from), Ints(n));
}

// x as [batches ..., rows, columns], where its first `batch` dimensions are the batches and the next `rows` the rows.
static Output as_matrices(Formula *f, Output x, int batch, int rows, int columns) {
    Output shape = ShapeOf(x);
    Output pieces[] = {some_of(f, shape, 0, batch), Prod(some_of(f, shape, batch, rows), Int(0), true),
                       Prod(some_of(f, shape, batch + rows, columns), Int(0), true)};
    return Reshape(x, Concat(pieces, 3, Int(0)));
}

static Output product(Formula *f, Equation *e, Output a, Output b) {
    Labels batch = {.ellipsis = -1}, left = batch, right = batch, middle = batch;
    for (int d = 0; d < e->in[0].n; d++) {
        char label = e->in[0].label[d];
        bool shared = has(&e->in[1], label);
        add(!shared ? &left : has(&e->out, label) ? &batch : &middle, label);
    }
    for (int d = 0; d < e->in[1].n; d++)
        if (!has(&e->in[0], e->in[1].label[d]))
            add(&right, e->in[1].label[d]);
    Labels of_a = batch, of_b = batch, of_c = batch;
    append(&of_a, &left);
    append(&of_a, &middle);
    append(&of_b, &middle);
    append(&of_b, &right);
    append(&of_c, &left);
    append(&of_c, &right);
    a = arranged(f, a, &e->in[0], &of_a);
    b = arranged(f, b, &e->in[1], &of_b);
    Output rows = some_of(f, ShapeOf(a), batch.n, left.n), columns = some_of(f, ShapeOf(b), batch.n + middle.n,
                                                                             right.n);
    Output c = BatchMatMul(as_matrices(f, a, batch.n, left.n, middle.n), as_matrices(f, b, batch.n, middle.n, right.n),
                           false, false);
    Output pieces[] = {some_of(f, ShapeOf(c), 0, batch.n), rows, columns};
    return arranged(f, Reshape(c, Concat(pieces, 3, Int(0))), &of_c, &e->out);
}

static Status *equation_of(Formula *f, Equation *e) {
    bool known;
    const Shape *in[2] = {output_shape(f->x[0]), output_shape(f->x[f->n_x - 1])};
    TRY(read_equation(node_str(f->node, "equation"), in, f->n_x, e, &known));
    NEED(known, UNIMPLEMENTED, "an ellipsis needs an input of known rank");
    return OK;
}

static void einsum_expand(Formula *f) {
    Equation e;
    Status *status = equation_of(f, &e);
    if (status) {
        formula_fail(f, status);
        return;
    }
    Output x[2];
    for (int i = 0; i < f->n_x; i++)
        x[i] = without_repeats(f, f->x[i], &e.in[i]);
    for (int i = 0; i < f->n_x; i++)
        x[i] = summed(f, x[i], &e.in[i], f->n_x == 2 ? &e.in[!i] : NULL, &e.out);
    f->results[0] = f->n_x == 2 ? product(f, &e, x[0], x[1]) : arranged(f, x[0], &e.in[0], &e.out);
}

// ---------------------------------------- gradient

static void text_labels(Text *text, const Labels *labels) {
    for (int i = 0; i <= labels->n; i++) {
        if (i == labels->ellipsis)
            text_add(text, STR("..."));
        if (i < labels->n && is_letter(labels->label[i]))
            text_char(text, labels->label[i]);
    }
}

static Status *can_differentiate(const Equation *e, int i) {
    const Labels *in = &e->in[i];
    for (int d = 0; d < in->n; d++)
        NEED(find(in, in->label[d]) == d, UNIMPLEMENTED, "the gradient of Einsum with a repeated label");
    bool wide = in->dots < e->out.dots;
    NEED(in->ellipsis < 0 || (e->out.ellipsis >= 0 && (in->ellipsis == 0 || !wide)), UNIMPLEMENTED,
         "the gradient of Einsum with this ellipsis");
    NEED(in->ellipsis >= 0 || e->out.dots == 0 || in->n == 0 || e->n_in == 2, UNIMPLEMENTED,
         "the gradient of Einsum with this ellipsis");
    return OK;
}

// "out,other->in", without the labels of the input that were summed away: those get the gradient by broadcasting.
static Output gradient(Formula *f, const Equation *e, int i) {
    const Labels *in = &e->in[i], *other = e->n_in == 2 ? &e->in[!i] : NULL;
    Labels kept = {.ellipsis = -1};
    int64_t gone[MOST_LABELS];
    int n_gone = 0;
    for (int d = 0; d < in->n; d++) {
        if (d == in->ellipsis)
            kept.ellipsis = kept.n;
        if (has(&e->out, in->label[d]) || (other && has(other, in->label[d])))
            add(&kept, in->label[d]);
        else
            gone[n_gone++] = d;
    }
    if (in->ellipsis == in->n)
        kept.ellipsis = kept.n;
    AUTO(text) Text text = {0};
    text_labels(&text, &e->out);
    if (other) {
        text_char(&text, ',');
        text_labels(&text, other);
    }
    text_add(&text, STR("->"));
    text_labels(&text, &kept);
    Output from[2] = {f->dy[0], other ? Conj(f->x[!i]) : NONE};
    Output dx = formula_of_list(f, "Einsum", from, e->n_in, ATTRS({"equation", ATTR_OF_STRING(text_str(&text))}));
    for (int j = 0; j < n_gone; j++)
        dx = ExpandDims(dx, Int(gone[j]));
    return n_gone ? BroadcastTo(dx, ShapeOf(f->x[i])) : in->dots ? SumTo(dx, f->x[i]) : dx;
}

static void einsum_grad(Formula *f) {
    Equation e;
    Status *status = equation_of(f, &e);
    for (int i = 0; i < f->n_x && !status; i++)
        status = can_differentiate(&e, i);
    if (status) {
        formula_fail(f, status);
        return;
    }
    for (int i = 0; i < f->n_x; i++)
        f->dx[i] = gradient(f, &e, i);
}

const Op op_Einsum = {
    .signature = "Einsum(inputs: N * T) -> output: T; equation: string; N: int >= 1; T: type",
    .doc = "Sums of products of one or two tensors, by labelled dimensions.", .shape = einsum_shape,
    .grad = einsum_grad,
    .expand = einsum_expand,
};
