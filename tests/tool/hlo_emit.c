// hlo_emit — prints StableHLO modules of GraphDefs, one after the other, for hlo_parity.py, which runs them.
//
// A request: the length of a GraphDef (uint32), its bytes, the length of a text, and the text, a line each:
//     feed NAME:INDEX DIMS          a value from outside (DIMS "2,3", "" for a scalar)
//     variable NAME DIMS            the variable of that node has a value of that shape
//     fetch NAME:INDEX              target NAME
// The answer: the length of a text, and the text: "error CODE MESSAGE", or lines that say what @main takes and gives, an
// empty line and the module:
//     input INDEX | variable NAME | stream NAME BLOCKS | constant DTYPE DIMS HEX
//     output INDEX | assigned NAME | checked CODE MESSAGE
#include <stdio.h>
#include <stdlib.h>

#include "device/binding.h"
#include "graph/graph_def.h"
#include "hlo/module.h"
#include "ops/all_ops.h"

enum { MOST = 256 };

typedef struct {
    Graph *graph;
    Arena arena;
    HloInput inputs[MOST];
    HloVariable variables[MOST];
    Node *variable_nodes[MOST];
    Output outputs[MOST];
    Node **members;
    int n_inputs, n_variables, n_outputs, n_members;
} Request;

static DeviceSet devices;

static Status *compute(void *context, const Node *node, const Tensor *const *in, Tensor *out) {
    (void)context;
    AUTO(arena) Arena arena = {0};
    Binding binding;
    TRY(binding_init(&binding, node, devices.devices[0], &arena));
    Tensor **ins = ARENA_ARRAY(&arena, Tensor *, node->n_inputs), **outs = ARENA_ARRAY(&arena, Tensor *, node->n_outputs);
    NEED_MEMORY(ins && outs);
    for (int i = 0; i < node->n_inputs; i++)
        ins[i] = (Tensor *)in[i];
    for (int i = 0; i < node->n_outputs; i++)
        outs[i] = &out[i];
    StepContext step = {.threads = 1, .deadline = NO_DEADLINE};
    Kernel kernel = {.in = ins, .out = outs, .n_in = binding.n_in, .n_out = binding.n_out, .node = node, .step = &step};
    Prepared prepared = {0};
    Status *status = invoke(&binding, &prepared, &kernel, 0);
    prepared_clear(&prepared);
    for (int i = 0; i < node->n_outputs && status; i++)
        tensor_clear(&out[i]);
    return status;
}

// ---------------------------------------- requests

static Status *shape_of(char *dims, Shape *out) {
    *out = SCALAR_SHAPE;
    for (char *at = strtok(dims, ","); at; at = strtok(NULL, ",")) {
        NEED(out->rank < MAX_RANK, INVALID_ARGUMENT, "too many dimensions");
        out->dims[out->rank++] = atoll(at);
    }
    return OK;
}

static Status *output_of(Request *r, char *name, Output *out) {
    char *colon = strrchr(name, ':');
    int index = colon ? atoi(colon + 1) : 0;
    Node *node = graph_find(r->graph, (Str){name, colon ? (size_t)(colon - name) : strlen(name)});
    NEED(node && (!colon || index < node->n_outputs), NOT_FOUND, "no output %s", name);
    *out = (Output){node, index};
    return OK;
}

static bool is_variable(const Node *node) {
    return str_is(node->type->name, "VarHandleOp") || str_is(node->type->name, "VariableV2") ||
           str_is(node->type->name, "Variable");
}

static Status *read_line(Request *r, char *line) {
    char *name = strchr(line, ' '), *dims = name ? strchr(name + 1, ' ') : NULL;
    NEED(name && r->n_inputs < MOST && r->n_outputs < MOST, INVALID_ARGUMENT, "malformed line %s", line);
    *name++ = 0;
    if (dims)
        *dims++ = 0;
    Output edge;
    TRY(output_of(r, name, &edge));
    edge.node->mark = 1;
    if (!strcmp(line, "fetch")) {
        r->outputs[r->n_outputs++] = edge;
    } else if (!strcmp(line, "feed")) {
        Shape shape;
        TRY(shape_of(dims ? dims : "", &shape));
        edge.node->mark = 0;
        r->inputs[r->n_inputs++] = (HloInput){.edge = edge, .variable = -1, .dtype = output_base_type(edge), .shape = shape};
    } else if (!strcmp(line, "variable")) {
        edge.node->mark = 0;
        for (int i = 0; i < r->n_variables; i++)
            if (r->variable_nodes[i] == edge.node)
                TRY(shape_of(dims ? dims : "", &r->variables[i].shape));
    }
    return OK;
}

static bool is_fed(const Request *r, const Node *node) {
    for (int i = 0; i < r->n_inputs; i++)
        if (r->inputs[i].edge.node == node)
            return true;
    return false;
}

// All that the fetches and targets (which are marked) need, in order.
static Status *find_members(Request *r) {
    size_t n = r->graph->nodes.n;
    Node **order = ARENA_ARRAY(&r->arena, Node *, n);
    NEED_MEMORY(order);
    TRY(graph_order(r->graph, order, &n));
    for (size_t i = n; i-- > 0;) {
        bool goes_on = order[i]->mark && !is_fed(r, order[i]);
        for (int k = 0; k < order[i]->n_inputs && goes_on; k++)
            order[i]->inputs[k].node->mark = 1;
        for (int k = 0; k < order[i]->n_controls && goes_on; k++)
            order[i]->controls[k]->mark = 1;
    }
    r->members = order;
    for (size_t i = 0; i < n; i++) {
        Node *node = order[i];
        if (!node->mark || is_fed(r, node) || is_variable(node))
            continue;
        NEED(hlo_emits(node), UNIMPLEMENTED, "{{node %.*s}} (%.*s): no member", NODE_ARGS(node));
        r->members[r->n_members++] = node;
    }
    return OK;
}

static Status *read_request(Request *r, Str def, char *text) {
    AUTO(import_results) ImportResults results = {0};
    TRY(graph_new(&r->graph));
    TRY(graph_import(r->graph, def, NULL, &results));
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        Node *node = r->graph->nodes.p[i];
        node->mark = 0;
        if (!is_variable(node) || r->n_variables == MOST || r->n_inputs == MOST)
            continue;
        r->inputs[r->n_inputs++] = (HloInput){.edge = {node, 0}, .variable = r->n_variables};
        r->variables[r->n_variables] = (HloVariable){node_type(node, "dtype"), UNKNOWN_SHAPE};
        r->variable_nodes[r->n_variables++] = node;
    }
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        TRY(read_line(r, line));
    return find_members(r);
}

// ---------------------------------------- answers

static void put_dims(Text *out, const Shape *shape) {
    for (int i = 0; i < shape->rank; i++)
        text_format(out, "%s%lld", i ? "," : "", (long long)shape->dims[i]);
}

static void put_argument(Text *out, const Request *r, const HloArgument *a) {
    if (a->kind == HLO_INPUT) {
        text_format(out, "input %.*s:%d\n", STR_ARGS(r->inputs[a->index].edge.node->name), (int)r->inputs[a->index].edge.index);
    } else if (a->kind == HLO_VARIABLE) {
        text_format(out, "variable %.*s\n", STR_ARGS(r->variable_nodes[a->index]->name));
    } else if (a->kind == HLO_STREAM) {
        text_format(out, "stream %.*s %llu\n", STR_ARGS(a->node->name), (unsigned long long)a->blocks);
    } else {
        text_format(out, "constant %s ", dtype_name(a->dtype));
        put_dims(out, &a->shape);
        text_char(out, ' ');
        for (size_t i = 0; i < tensor_bytes(&a->constant); i++)
            text_format(out, "%02x", ((const unsigned char *)a->constant.data)[i]);
        text_char(out, '\n');
    }
}

static void put_result(Text *out, const Request *r, const HloResult *result) {
    if (result->kind == HLO_OUTPUT)
        text_format(out, "output %d %s ", (int)result->index, dtype_name(result->dtype));
    else if (result->kind == HLO_ASSIGNED)
        text_format(out, "assigned %.*s %s ", STR_ARGS(r->variable_nodes[result->index]->name), dtype_name(result->dtype));
    else
        text_format(out, "checked %d %s", (int)result->code, result->message);
    if (result->kind != HLO_CHECKED)
        put_dims(out, &result->shape);
    text_char(out, '\n');
}

static Status *answer(Str def, char *text, Text *out) {
    Request *r = calloc(1, sizeof *r);
    NEED_MEMORY(r);
    AUTO(hlo_module) HloModule module = {0};
    Status *status = read_request(r, def, text);
    HloSpec spec = {.members = r->members, .n_members = r->n_members, .inputs = r->inputs, .n_inputs = r->n_inputs,
                    .variables = r->variables, .n_variables = r->n_variables, .outputs = r->outputs,
                    .n_outputs = r->n_outputs, .compute = compute};
    if (!status)
        status = hlo_module(&spec, &module);
    for (int i = 0; i < module.n_arguments; i++)
        put_argument(out, r, &module.arguments[i]);
    for (int i = 0; i < module.n_results; i++)
        put_result(out, r, &module.results[i]);
    text_char(out, '\n');
    text_add(out, text_str(&module.text));
    if (r->graph)
        graph_release(r->graph);
    arena_clear(&r->arena);
    free(r);
    return status;
}

static char *read_block(uint32_t *n) {
    if (fread(n, sizeof *n, 1, stdin) != 1 || *n > 1u << 30)
        return NULL;
    char *block = malloc(*n + 1);
    if (!block || fread(block, 1, *n, stdin) != *n) {
        free(block);
        return NULL;
    }
    block[*n] = 0;
    return block;
}

int main(void) {
    op_table_set(all_ops, all_rewrites);
    AUTO(status) Status *status = device_set_init(&devices, LOCAL_TASK, NULL, 0);
    uint32_t n_def, n_text;
    for (char *def; !status && (def = read_block(&n_def)) != NULL;) {
        char *text = read_block(&n_text);
        if (!text)
            return 2;
        AUTO(text) Text out = {0};
        Status *failed = answer((Str){def, n_def}, text, &out);
        if (failed) {
            text_clear(&out);
            text_format(&out, "error %d %s", (int)status_code(failed), status_message(failed));
        }
        status_free(failed);
        uint32_t n = (uint32_t)out.n;
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(out.p, 1, out.n, stdout);
        fflush(stdout);
        free(def);
        free(text);
    }
    device_set_clear(&devices);
    return status ? 1 : 0;
}
