// millrace inspect — what is in a model.
#include "cli.h"

static const char ABOUT[] =
    "Tells what a model takes and gives, of which operations it is made, and what of it can't run here. MODEL is a "
    "GraphDef file (.pb) or the folder of a SavedModel.\n";

static const Option OPTIONS[] = {
    {"nodes", NULL, "also every node", 'n'},
    {"json", NULL, "as JSON", 'j'},
    {0}};

static const char EXAMPLES[] =
    "millrace inspect fashion.pb\n"
    "millrace inspect --nodes --json fashion.pb\n";

enum { MOST_OPS = 4096 };

typedef struct {
    const char *op;
    int n;
    bool runs;
} Count;

typedef struct {
    Count ops[MOST_OPS];
    int n_ops, nodes;
    double constant_bytes;
} Census;

static int by_count(const void *a, const void *b) {
    const Count *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : strcmp(x->op, y->op);
}

static void count(Census *census, TF_Operation *node) {
    const char *op = TF_OperationOpType(node);
    int i = 0;
    while (i < census->n_ops && strcmp(census->ops[i].op, op) != 0)
        i++;
    if (i == census->n_ops && i < MOST_OPS) {
        mr_op_info info = {.struct_size = sizeof info};
        census->ops[census->n_ops++] = (Count){op, 0, mr_op_find(op, &info) && info.has_kernel};
    }
    if (i < MOST_OPS)
        census->ops[i].n++;
    census->nodes++;
    if (strcmp(op, "Const") == 0) {
        TF_Status *status = TF_NewStatus();
        TF_Tensor *value = NULL;
        TF_OperationGetAttrTensor(node, "value", &value, status);
        census->constant_bytes += value ? (double)TF_TensorByteSize(value) : 0;
        TF_DeleteTensor(value);
        TF_DeleteStatus(status);
    }
}

static void print_edge(const Model *model, TF_Output edge, bool json, bool first) {
    const char *dtype = mr_dtype_name(TF_OperationOutputType(edge));
    if (!json) {
        printf("    %-24s %s %s\n", edge_name(edge), dtype, edge_shape(model, edge));
        return;
    }
    printf("%s{\"name\": ", first ? "" : ", ");
    print_json_text(edge_name(edge));
    printf(", \"dtype\": \"%s\", \"shape\": \"%s\"}", dtype, edge_shape(model, edge));
}

static void print_inputs(const Model *model, bool json) {
    size_t at = 0;
    bool first = true;
    printf(json ? ", \"inputs\": [" : "  inputs\n");
    for (TF_Operation *node; (node = TF_GraphNextOperation(model->graph, &at));)
        if (strncmp(TF_OperationOpType(node), "Placeholder", 11) == 0) {
            print_edge(model, (TF_Output){node, 0}, json, first);
            first = false;
        }
    printf(json ? "]" : "");
}

static void print_signature(const Model *model, bool json) {
    printf(json ? ", \"signature\": {" : model->n_ends ? "  signature\n" : "");
    for (int i = 0; i < model->n_ends; i++) {
        const ModelEnd *end = &model->ends[i];
        if (!json) {
            printf("    %-24s %s %s\n", end->name, end->is_output ? "given by" : "taken by", end->edge);
            continue;
        }
        printf("%s", i ? ", " : "");
        print_json_text(end->name);
        printf(": {\"output\": %s, \"edge\": ", end->is_output ? "true" : "false");
        print_json_text(end->edge);
        putchar('}');
    }
    printf(json ? "}" : "");
}

static void print_outputs(const Model *model, bool json) {
    TF_Output ends[MOST_EDGES];
    int n = model_ends(model, ends, MOST_EDGES);
    printf(json ? ", \"outputs\": [" : "  outputs\n");
    for (int i = 0; i < n; i++)
        print_edge(model, ends[i], json, i == 0);
    printf(json ? "]" : "");
}

static void print_ops(const Census *census, bool json) {
    bool first = true;
    printf(json ? ", \"ops\": {" : "  operations\n");
    for (int i = 0; i < census->n_ops; i++)
        printf(json ? "%s\"%s\": %d" : "%s    %-24s %d\n", i && json ? ", " : "", census->ops[i].op, census->ops[i].n);
    printf(json ? "}, \"missing\": [" : "");
    for (int i = 0; i < census->n_ops; i++) {
        if (census->ops[i].runs)
            continue;
        printf(json ? "%s\"%s\"" : first ? "  can't run here\n%s    %s\n" : "%s    %s\n", first || !json ? "" : ", ",
               census->ops[i].op);
        first = false;
    }
    printf(json ? "]" : "");
}

static void print_node(const Model *model, TF_Operation *node, bool json, bool first) {
    printf(json ? "%s{\"name\": " : "%s", json && !first ? ",\n " : json ? "\n " : "    ");
    if (json)
        print_json_text(TF_OperationName(node));
    printf(json ? ", \"op\": \"%s\", \"inputs\": [" : "%s(", TF_OperationOpType(node));
    for (int i = 0; i < TF_OperationNumInputs(node); i++) {
        printf("%s", i ? ", " : "");
        const char *name = edge_name(TF_OperationInput((TF_Input){node, i}));
        if (json)
            print_json_text(name);
        else
            printf("%s", name);
    }
    printf(json ? "], \"outputs\": [" : ") -> %s", TF_OperationName(node));
    for (int i = 0; i < TF_OperationNumOutputs(node); i++) {
        TF_Output edge = {node, i};
        const char *dtype = mr_dtype_name(TF_OperationOutputType(edge));
        printf(json ? "%s\"%s %s\"" : "%s %s %s", i ? "," : "", dtype ? dtype : "?", edge_shape(model, edge));
    }
    printf(json ? "]}" : "\n");
}

static void print_nodes(const Model *model, bool json) {
    size_t at = 0;
    bool first = true;
    printf(json ? ", \"nodes\": [" : "  nodes\n");
    for (TF_Operation *node; (node = TF_GraphNextOperation(model->graph, &at)); first = false)
        print_node(model, node, json, first);
    printf(json ? "]" : "");
}

static int inspect(const char *path, bool nodes, bool json) {
    Model model;
    static Census census;
    if (!model_open(path, 0, &model))
        return EXIT_FAILED;
    size_t at = 0;
    for (TF_Operation *node; (node = TF_GraphNextOperation(model.graph, &at));)
        count(&census, node);
    qsort(census.ops, (size_t)census.n_ops, sizeof *census.ops, by_count);
    if (json) {
        printf("{\"model\": ");
        print_json_text(path);
        printf(", \"num_nodes\": %d, \"constant_bytes\": %.0f", census.nodes, census.constant_bytes);
    } else {
        printf("%s: %d nodes, %s of constants\n", path, census.nodes, human_bytes(census.constant_bytes));
    }
    print_inputs(&model, json);
    print_signature(&model, json);
    print_outputs(&model, json);
    print_ops(&census, json);
    if (nodes)
        print_nodes(&model, json);
    printf(json ? "}\n" : "");
    model_close(&model);
    return EXIT_DONE;
}

static int run(int argc, char **argv) {
    bool json = false, nodes = false;
    int option;
    while ((option = next_option(&command_inspect, argc, argv)) != -1) {
        if (option == 'h')
            return EXIT_DONE;
        if (option == '?')
            return EXIT_USAGE;
        json |= option == 'j';
        nodes |= option == 'n';
    }
    if (argc - optind != 1)
        return misuse(&command_inspect, "one model is expected");
    return inspect(argv[optind], nodes, json);
}

const Command command_inspect = {"inspect", "tell what is in a model", "MODEL", ABOUT, OPTIONS, EXAMPLES, run};
