// Census — see census.h.
//
// Fields by their numbers. GraphDef: nodes 1, library 2; a library's functions 1. FunctionDef: signature 1 (its name
// 1), nodes 3. NodeDef: name 1, op 2, attributes 5. AttrValue: list 1 (functions 9), text 2, type 6, shape 7, tensor 8,
// function 10 (its name 1). TensorProto: dtype 1, shape 2, strings 8. A shape: dimensions 2 (size 1), unknown rank 3.
#include "census.h"

static int by_name(const void *a, const void *b) {
    const FunctionPart *x = a, *y = b;
    size_t n = (size_t)(x->name.end - x->name.at), m = (size_t)(y->name.end - y->name.at);
    int order = n && m ? memcmp(x->name.at, y->name.at, n < m ? n : m) : 0;
    return order ? order : (n > m) - (n < m);
}

static int by_count(const void *a, const void *b) {
    const Count *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->op, y->op);
}

static FunctionPart *find_function(const Census *census, Bytes name) {
    FunctionPart key = {.name = name};
    return census->n_functions
               ? bsearch(&key, census->functions, (size_t)census->n_functions, sizeof key, by_name)
               : NULL;
}

static void reach(Census *census, Bytes name) {
    FunctionPart *function = find_function(census, name);
    if (function && !function->reached) {
        function->reached = true;
        census->n_reached++;
    }
}

// ---------------------------------------- tensors

static int64_t elements(Bytes shape) {
    int64_t n = 1;
    Field dim;
    if (wire_integer(shape, 3, 0))
        return 0;
    while (wire_next(&shape, &dim))
        if (dim.number == 2 && __builtin_mul_overflow(n, (int64_t)wire_integer(dim.bytes, 1, 0), &n))
            return 0;
    return n < 0 ? 0 : n;
}

static void add_amount(Amount *amount, int64_t n, TF_DataType dtype, double bytes) {
    amount->n++;
    amount->elements += n;
    amount->bytes += dtype == TF_STRING ? bytes : (double)n * (double)TF_DataTypeSize(dtype);
}

static void add_constant(Census *census, Bytes tensor) {
    Field field;
    double strings = 0;
    for (Bytes rest = tensor; wire_next(&rest, &field);)
        strings += field.number == 8 ? (double)(field.bytes.end - field.bytes.at) : 0;
    add_amount(&census->constants, elements(wire_find(tensor, 2)), (TF_DataType)wire_integer(tensor, 1, 0), strings);
}

static void add_variable(Census *census, Bytes node) {
    Bytes shape = wire_find(wire_value(node, 5, "shape"), 7);
    add_amount(&census->variables, elements(shape), (TF_DataType)wire_integer(wire_value(node, 5, "dtype"), 6, 0), 0);
}

const char *wire_shape(Bytes shape) {
    static char texts[8][256];
    static int next;
    char *text = texts[next++ % 8];
    Field dim;
    size_t n = (size_t)snprintf(text, sizeof texts[0], "[");
    if (wire_integer(shape, 3, 0))
        return strcpy(text, "?");
    while (wire_next(&shape, &dim) && n < sizeof texts[0] - 24) {
        int64_t size = (int64_t)wire_integer(dim.bytes, 1, 0);
        if (dim.number == 2 && size < 0)
            n += (size_t)snprintf(text + n, sizeof texts[0] - n, n > 1 ? " ?" : "?");
        else if (dim.number == 2)
            n += (size_t)snprintf(text + n, sizeof texts[0] - n, n > 1 ? " %lld" : "%lld", (long long)size);
    }
    snprintf(text + n, sizeof texts[0] - n, "]");
    return text;
}

// ---------------------------------------- nodes

static Count *find_count(Census *census, Bytes op) {
    for (int i = 0; i < census->n_ops; i++)
        if (wire_is(op, census->ops[i].op))
            return &census->ops[i];
    if (census->n_ops == MOST_OPS)
        return NULL;
    Count *count = &census->ops[census->n_ops++];
    mr_op_info info = {.struct_size = sizeof info};
    *count = (Count){0};
    wire_text(op, count->op, sizeof count->op);
    count->known = mr_op_find(count->op, &info);
    count->runs = count->known && info.has_kernel;
    return count;
}

static void count_op(Census *census, Bytes node, Bytes op, Bytes function) {
    Count *count = find_count(census, op);
    if (!count || count->n++)
        return;
    char name[160], inside[128];
    snprintf(count->where, sizeof count->where, "%s%s%s", wire_text(function, inside, sizeof inside),
             function.at ? "/" : "", wire_text(wire_find(node, 1), name, sizeof name));
}

static void reach_attributes(Census *census, Bytes node) {
    Field field, listed;
    while (wire_next(&node, &field)) {
        if (field.number != 5)
            continue;
        Bytes value = wire_find(field.bytes, 2), list = wire_find(value, 1);
        Bytes function = wire_find(wire_find(value, 10), 1);
        if (function.at)
            reach(census, function);
        while (wire_next(&list, &listed))
            if (listed.number == 9)
                reach(census, wire_find(listed.bytes, 1));
    }
}

static void count_node(Census *census, Bytes node, Bytes function) {
    Bytes op = wire_find(node, 2);
    reach_attributes(census, node);
    if (find_function(census, op)) {
        reach(census, op);
        return;
    }
    count_op(census, node, op, function);
    if (wire_is(op, "Const"))
        add_constant(census, wire_find(wire_value(node, 5, "value"), 8));
    else if (wire_is(op, "VarHandleOp") || wire_is(op, "VariableV2") || wire_is(op, "Variable"))
        add_variable(census, node);
}

static int64_t count_nodes(Census *census, Bytes message, uint64_t number, Bytes function) {
    Field field;
    int64_t n = 0;
    while (wire_next(&message, &field))
        if (field.number == number) {
            count_node(census, field.bytes, function);
            n++;
        }
    return n;
}

// ---------------------------------------- functions

static bool list_functions(Census *census, Bytes library) {
    Field field;
    int n = 0;
    for (Bytes rest = library; wire_next(&rest, &field);)
        n += field.number == 1 && n < MOST_FUNCTIONS;
    census->functions = calloc((size_t)n + 1, sizeof *census->functions);
    if (!census->functions) {
        fail("out of memory for %d functions", n);
        return false;
    }
    while (census->n_functions < n && wire_next(&library, &field))
        if (field.number == 1)
            census->functions[census->n_functions++] =
                (FunctionPart){wire_find(wire_find(field.bytes, 1), 1), field.bytes, false};
    qsort(census->functions, (size_t)n, sizeof *census->functions, by_name);
    return true;
}

// What is reached and not counted yet, until nothing more is reached.
static void count_functions(Census *census) {
    bool *counted = calloc((size_t)census->n_functions + 1, sizeof *counted);
    for (bool more = true; more && counted;) {
        more = false;
        for (int i = 0; i < census->n_functions; i++) {
            const FunctionPart *f = &census->functions[i];
            if (!f->reached || counted[i])
                continue;
            counted[i] = more = true;
            census->function_nodes += count_nodes(census, f->function, 3, f->name);
        }
    }
    free(counted);
}

bool census_take(Bytes graph_def, Census *out) {
    memset(out, 0, sizeof *out);
    if (!list_functions(out, wire_find(graph_def, 2)))
        return false;
    out->nodes = count_nodes(out, graph_def, 1, (Bytes){0});
    count_functions(out);
    qsort(out->ops, (size_t)out->n_ops, sizeof *out->ops, by_count);
    return true;
}

void census_clear(Census *census) {
    free(census->functions);
    census->functions = NULL;
}

int census_missing(const Census *census) {
    int n = 0;
    for (int i = 0; i < census->n_ops; i++)
        n += !census->ops[i].runs;
    return n;
}
