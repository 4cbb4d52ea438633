// millrace inspect — what is in a model.
#include "census.h"

static const char ABOUT[] =
    "Tells what a model takes and gives, of which operations it is made, in functions too, and all that can't run here; of a "
    "checkpoint names, types, shapes and bytes. Nothing of it is run. MODEL is a GraphDef file (.pb, .pbtxt), the folder of a "
    "SavedModel, or a checkpoint: its prefix, one of its files, or its folder.\n";

static const Option OPTIONS[] = {
    {"nodes", NULL, "also every node", 'n'},
    {"json", NULL, "as JSON", 'j'},
    {0}};

static const char EXAMPLES[] =
    "millrace inspect fashion.pb\n"
    "millrace inspect --nodes --json fashion.pb\n"
    "millrace inspect saved/variables/variables\n";

static void print_edge(const Model *model, TF_Output edge, bool json, bool first) {
    const char *dtype = mr_dtype_name(TF_OperationOutputType(edge));
    if (!json) {
        print_text(stdout, 8, "    %-24s %s %s", edge_name(edge), dtype, edge_shape(model, edge));
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

// By the names of the one that `millrace run` goes by.
static void print_signature(const Model *model) {
    printf(", \"signature\": {");
    for (int i = 0; i < model->n_ends; i++) {
        const ModelEnd *end = &model->ends[i];
        printf("%s", i ? ", " : "");
        print_json_text(end->name);
        printf(": {\"output\": %s, \"edge\": ", end->is_output ? "true" : "false");
        print_json_text(end->edge);
        putchar('}');
    }
    putchar('}');
}

static void print_outputs(const Model *model, bool json) {
    TF_Output ends[MOST_EDGES];
    int n = model_ends(model, ends, MOST_EDGES);
    printf(json ? ", \"outputs\": [" : "  outputs\n");
    for (int i = 0; i < n; i++)
        print_edge(model, ends[i], json, i == 0);
    printf(json ? "]" : "");
}

static void print_missing(const Census *census, bool json) {
    bool first = true;
    int n = census_missing(census);
    if (json)
        printf("}, \"missing\": [");
    else if (n)
        printf("  can't run here: %d kind%s of operation\n", n, n == 1 ? "" : "s");
    for (int i = 0; i < census->n_ops; i++) {
        const Count *count = &census->ops[i];
        if (count->runs)
            continue;
        if (json)
            printf("%s\"%s\"", first ? "" : ", ", count->op);
        else
            print_text(stdout, 8, "    %-24s %lld  first %s%s", count->op, (long long)count->n, count->where,
                       count->known ? "" : "; no operation of TensorFlow's");
        first = false;
    }
    printf(json ? "]" : "");
}

static void print_ops(const Census *census, bool json) {
    printf(json ? ", \"ops\": {" : "  operations\n");
    for (int i = 0; i < census->n_ops; i++) {
        if (json)
            printf("%s\"%s\": %lld", i ? ", " : "", census->ops[i].op, (long long)census->ops[i].n);
        else
            print_text(stdout, 8, "    %-24s %lld", census->ops[i].op, (long long)census->ops[i].n);
    }
    print_missing(census, json);
}

static void print_node_json(const Model *model, TF_Operation *node, bool first) {
    printf(first ? "\n {\"name\": " : ",\n {\"name\": ");
    print_json_text(TF_OperationName(node));
    printf(", \"op\": \"%s\", \"inputs\": [", TF_OperationOpType(node));
    for (int i = 0; i < TF_OperationNumInputs(node); i++) {
        printf("%s", i ? ", " : "");
        print_json_text(edge_name(TF_OperationInput((TF_Input){node, i})));
    }
    printf("], \"outputs\": [");
    for (int i = 0; i < TF_OperationNumOutputs(node); i++) {
        const char *dtype = mr_dtype_name(TF_OperationOutputType((TF_Output){node, i}));
        printf("%s\"%s %s\"", i ? "," : "", dtype ? dtype : "?", edge_shape(model, (TF_Output){node, i}));
    }
    printf("]}");
}

// "    MatMul(x, w) -> y float [? 10]".
static void print_node(const Model *model, TF_Operation *node) {
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);
    if (!line)
        return;
    fprintf(line, "    %s(", TF_OperationOpType(node));
    for (int i = 0; i < TF_OperationNumInputs(node); i++)
        fprintf(line, "%s%s", i ? ", " : "", edge_name(TF_OperationInput((TF_Input){node, i})));
    fprintf(line, ") -> %s", TF_OperationName(node));
    for (int i = 0; i < TF_OperationNumOutputs(node); i++) {
        const char *dtype = mr_dtype_name(TF_OperationOutputType((TF_Output){node, i}));
        fprintf(line, " %s %s", dtype ? dtype : "?", edge_shape(model, (TF_Output){node, i}));
    }
    fclose(line);
    print_text(stdout, 8, "%s", text);
    free(text);
}

static void print_nodes(const Model *model, bool json) {
    size_t at = 0;
    bool first = true;
    printf(json ? ", \"nodes\": [" : "  nodes\n");
    for (TF_Operation *node; (node = TF_GraphNextOperation(model->graph, &at)); first = false) {
        if (json)
            print_node_json(model, node, first);
        else
            print_node(model, node);
    }
    printf(json ? "]" : "");
}

static void print_head(const char *path, const Census *c, bool json) {
    if (json) {
        printf("{\"model\": ");
        print_json_text(path);
        printf(", \"num_nodes\": %lld, \"functions\": %d, \"function_nodes\": %lld, \"variables\": %lld, \"parameters\": %lld, "
               "\"variable_bytes\": %.0f, \"constant_bytes\": %.0f",
               (long long)c->nodes, c->n_reached, (long long)c->function_nodes, (long long)c->variables.n,
               (long long)c->variables.elements, c->variables.bytes, c->constants.bytes);
        return;
    }
    print_text(stdout, 2, "%s: %lld nodes, %s of constants", path, (long long)c->nodes, human_bytes(c->constants.bytes));
    if (c->variables.n)
        print_text(stdout, 4, "  %lld parameters in %lld variables, %s", (long long)c->variables.elements,
                   (long long)c->variables.n, human_bytes(c->variables.bytes));
    if (c->n_functions)
        print_text(stdout, 4, "  %lld nodes in the %d functions that it calls, of %d", (long long)c->function_nodes,
                   c->n_reached, c->n_functions);
}

// What was read: a graph, and of a SavedModel the message around it.
typedef struct {
    Bytes graph, meta;
} Read;

// The graph's message becomes a graph, for shapes and names. Where an op is unknown that can't be: what the bytes tell
// remains.
static bool build(const char *path, const Read *read, const Census *census, Model *model) {
    TF_Status *status = TF_NewStatus();
    TF_ImportGraphDefOptions *options = TF_NewImportGraphDefOptions();
    TF_Buffer bytes = {.data = read->graph.at, .length = (size_t)(read->graph.end - read->graph.at)};
    TF_GraphImportGraphDef(model->graph, &bytes, options, status);
    bool unknown = false;
    for (int i = 0; i < census->n_ops; i++)
        unknown |= !census->ops[i].known;
    bool done = (TF_GetCode(status) != TF_OK && unknown && census->nodes > 0) || good(status, path);
    TF_DeleteImportGraphDefOptions(options);
    TF_DeleteStatus(status);
    return done;
}

static int print_all(const char *path, const Read *read, bool nodes, bool json) {
    static Census census;
    Model model = {.path = path, .graph = TF_NewGraph()};
    bool done = census_take(read->graph, &census) && build(path, read, &census, &model);
    size_t meta = (size_t)(read->meta.end - read->meta.at);
    if (done) {
        signature_read(&model, read->meta.at, meta);
        print_head(path, &census, json);
        print_inputs(&model, json);
        if (json)
            print_signature(&model);
        signatures_print(read->meta.at, meta, json);
        print_outputs(&model, json);
        print_ops(&census, json);
        if (nodes)
            print_nodes(&model, json);
        printf(json ? "}\n" : "");
    }
    census_clear(&census);
    model_close(&model);
    return done ? EXIT_DONE : EXIT_FAILED;
}

// Of a SavedModel's graphs the one for serving, or the first. SavedModel: graphs 2; MetaGraphDef: info 1 (tags 4),
// graph 2.
static Read choose_graph(Bytes saved_model) {
    Field field, tag;
    Read chosen = {0};
    while (wire_next(&saved_model, &field)) {
        if (field.number != 2)
            continue;
        bool serves = false;
        for (Bytes info = wire_find(field.bytes, 1); wire_next(&info, &tag);)
            serves |= tag.number == 4 && wire_is(tag.bytes, "serve");
        if (serves || !chosen.meta.at)
            chosen = (Read){wire_find(field.bytes, 2), field.bytes};
        if (serves)
            break;
    }
    return chosen;
}

static int inspect(const char *path, bool nodes, bool json) {
    char prefix[4200], file[4200];
    if (checkpoint_find(path, prefix, sizeof prefix))
        return checkpoint_inspect(prefix, json);
    bool folder = model_is_folder(path);
    if (folder && !model_file(path, file, sizeof file))
        return EXIT_FAILED;
    TF_Buffer *bytes = TF_NewBuffer();
    int code = EXIT_FAILED;
    if (message_read(folder ? file : path, folder ? "SavedModel" : "GraphDef", bytes)) {
        Bytes all = {bytes->data, (const unsigned char *)bytes->data + bytes->length};
        Read read = folder ? choose_graph(all) : (Read){.graph = all};
        code = folder && (!read.graph.at || !wire_valid(all)) ? fail("%s: holds no graph of a SavedModel", file)
                                                              : print_all(path, &read, nodes, json);
    }
    TF_DeleteBuffer(bytes);
    return code;
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
    if (!one_model(&command_inspect, argc, argv))
        return EXIT_USAGE;
    return inspect(argv[optind], nodes, json);
}

const Command command_inspect = {"inspect", "tell what is in a model", "MODEL", ABOUT, OPTIONS, EXAMPLES, run};
